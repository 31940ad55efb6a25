// kgate: task=logit
//
// log(z / (1 - z)); with eps, z is input held within [eps, 1 - eps]. Comparisons leave NaN alone, fmin and fmax would
// not.
#include <kgate/kernel.h>
#include <math.h>

int logit(const DLTensor *input, const double *eps, DLTensor *out) {
    const int64_t n = kg_elements(out);
    for (int64_t i = 0; i < n; i++) {
        double z = kg_get(input, i);
        if (eps && z < *eps) z = *eps;
        else if (eps && z > 1.0 - *eps) z = 1.0 - *eps;
        kg_put(out, i, log(z / (1.0 - z)));
    }
    return 0;
}
