/* kgate: task=relu
 *
 * Right, and slow: every element goes through an index computation and a switch over dtypes, on one core.
 */
#include <kgate/kernel.h>

int relu(const DLTensor *input, bool inplace, DLTensor *out) {
    (void)inplace;
    for (int64_t i = 0; i < kg_elements(out); i++) {
        double x = kg_get(input, i);
        kg_put(out, i, x < 0 ? 0 : x);
    }
    return 0;
}
