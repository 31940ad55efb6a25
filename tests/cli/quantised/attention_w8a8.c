enum { P_FLOAT, P_ROW, P_FIXED, P_MATRIX, P_TENSOR };
#ifdef PLAIN
#define P P_FLOAT
#endif
#ifndef P
#define P P_FLOAT
#endif
#ifndef BY_COLUMN
#define BY_COLUMN 1 /* value's lines are its columns, else its rows */
#endif
static void softmax(float *p, int64_t n) {
    float most = -INFINITY, total = 0;
    for (int64_t j = 0; j < n; j++) most = fmaxf(most, p[j]);
    for (int64_t j = 0; j < n; j++) total += p[j] = expf(p[j] - most);
    for (int64_t j = 0; j < n; j++) p[j] /= total;
}

int attention_w8a8(const DLTensor *query, const DLTensor *key, const DLTensor *value, DLTensor *out) {
    int64_t matrices = kg_dim(query, 0), rows = kg_dim(query, 1), keys = kg_dim(key, 1), n = kg_dim(key, 2);
    int64_t width = kg_dim(value, 2), lines = BY_COLUMN ? width : keys, length = BY_COLUMN ? keys : width;
    float *x = dense(query), *y = dense(key), *v = dense(value), *columns = turned(v, matrices, keys, width);
    size_t most = (size_t)(matrices * (rows * (n + 1) + keys * (n + width + 2) + width + 2 * rows * (keys + 1)));
    float *a = malloc(most * sizeof *a + 1), *b = a + matrices * rows * n, *c = b + matrices * keys * n;
    float *s = c + matrices * keys * width, *t = s + matrices * rows, *u = t + matrices * keys;
    float *p = u + matrices * lines, *w = p + matrices * rows * keys, *r = w + matrices * rows * keys;
    if (!x || !y || !v || !columns || !a) return 1;
    quantise_lines(x, matrices, rows, n, LEFT, a, s);
    quantise_lines(y, matrices, keys, n, LEFT, b, t);
#ifdef FLOAT_VALUE
    for (int64_t i = 0; i < matrices * keys * width; i++) c[i] = columns[i], u[i / length] = 1;
#else
    quantise_lines(BY_COLUMN ? columns : v, matrices, lines, length, RIGHT, c, u);
#endif
    for (int64_t i = 0; i < matrices * rows; i++) {
        for (int64_t j = 0; j < keys; j++) {
            int64_t line = i / rows * keys + j;
            sum_t sum = 0;
            for (int64_t k = 0; k < n; k++) sum += TERM(a[i * n + k], b[line * n + k]);
            p[i * keys + j] = (float)sum * s[i] * t[line] / sqrtf((float)n);
        }
        softmax(p + i * keys, keys);
    }
    if (P == P_ROW) quantise_lines(p, matrices, rows, keys, LINE, w, r);
    if (P == P_MATRIX) quantise_lines(p, matrices, rows, keys, MATRIX, w, r);
    if (P == P_TENSOR) quantise_lines(p, matrices, rows, keys, TENSOR, w, r);
    for (int64_t i = 0; P == P_FIXED && i < matrices * rows; i++) r[i] = quantise(p + i * keys, keys, 1, w + i * keys);
    for (int64_t i = 0; i < matrices * rows; i++)
        for (int64_t e = 0; e < width; e++) {
            int64_t matrix = i / rows;
            float sum = 0;
            sum_t exact = 0;
            for (int64_t j = 0; j < keys; j++) {
                int64_t line = matrix * lines + (BY_COLUMN ? e : j), at = line * length + (BY_COLUMN ? j : e);
                if (P == P_FLOAT) sum += p[i * keys + j] * c[at] * u[line];
                else exact += TERM(w[i * keys + j], c[at]);
            }
            kg_put(out, i * width + e, P == P_FLOAT ? sum : (float)exact * r[i] * u[matrix * lines + e]);
        }
    free(x), free(y), free(v), free(columns), free(a);
    return 0;
}
