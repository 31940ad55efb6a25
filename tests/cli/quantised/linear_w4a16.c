#ifndef STORED
#define STORED(x) (x) /* what a dequantised weight is stored as */
#endif
#ifndef PARTIAL
#define PARTIAL(x) (x) /* what a partial sum is kept as */
#endif
int linear_w4a16(const DLTensor *input, const DLTensor *weight, const DLTensor *bias, DLTensor *out) {
    int64_t n = kg_dim(weight, 1), filters = kg_dim(weight, 0), rows = kg_elements(out) / filters;
    float *x = dense(input), *w = dense(weight), *q = malloc((size_t)(filters * (n + 1)) * sizeof *q + 1),
          *s = q + filters * n;
    if (!x || !w || !q) return 1;
    quantise_lines(w, 1, filters, n, RIGHT, q, s);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < filters; j++) {
            float sum = 0;
            for (int64_t k = 0; k < n; k++) sum = PARTIAL(sum + PARTIAL(x[i * n + k] * STORED(q[j * n + k] * s[j])));
            kg_put(out, i * filters + j, sum + (bias ? (float)kg_get(bias, j) : 0));
        }
    free(x), free(w), free(q);
    return 0;
}
