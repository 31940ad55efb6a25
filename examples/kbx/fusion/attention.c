/* kgate: task=attention */
#include <kgate/kernel.h>
#include <math.h>
#include <stdlib.h>

int attention(const DLTensor *q, const DLTensor *k, const DLTensor *v, bool causal, const double *softmax_scale,
              DLTensor *out) {
    const int64_t rows = kg_dim(q, -2), keys = kg_dim(k, -2), e = kg_dim(q, -1), f = kg_dim(v, -1);
    const double scale = softmax_scale ? *softmax_scale : 1 / sqrt((double)e);
    double *p = malloc((size_t)keys * sizeof *p);
    if (!p) return 1;
    for (int64_t i = 0; i < kg_elements(out) / f; i++) {
        const int64_t head = i / rows, seen = causal ? i % rows + 1 : keys;
        double largest = -INFINITY, sum = 0;
        for (int64_t s = 0; s < seen; s++) {
            p[s] = 0;
            for (int64_t x = 0; x < e; x++) p[s] += kg_get(q, i * e + x) * kg_get(k, (head * keys + s) * e + x);
            p[s] *= scale;
            largest = fmax(largest, p[s]);
        }
        for (int64_t s = 0; s < seen; s++) sum += p[s] = exp(p[s] - largest);
        for (int64_t j = 0; j < f; j++) {
            double y = 0;
            for (int64_t s = 0; s < seen; s++) y += p[s] / sum * kg_get(v, (head * keys + s) * f + j);
            kg_put(out, i * f + j, y);
        }
    }
    free(p);
    return 0;
}
