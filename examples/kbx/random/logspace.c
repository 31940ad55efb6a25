// base to evenly spaced powers, counted from the nearer end so that both ends are exact.
#include <kgate/kernel.h>
#include <math.h>

int logspace(const DLTensor *start, const DLTensor *end, int64_t steps, double base, const char *dtype, DLTensor *out) {
    const double from = kg_number(start), to = kg_number(end);
    const double step = steps > 1 ? (to - from) / (double)(steps - 1) : 0;
    (void)dtype;  // out has it
    for (int64_t i = 0; i < steps; i++) {
        const bool first_half = i < steps / 2 || steps == 1;
        kg_put(out, i, pow(base, first_half ? from + step * (double)i : to - step * (double)(steps - 1 - i)));
    }
    return 0;
}
