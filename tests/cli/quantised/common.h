/* Joined in front of each kernel of this folder by test_quantised.py, after the macros that choose a design. */
#include <kgate/kernel.h>
#include <math.h>
#include <stdlib.h>

#ifndef LEVELS
#define LEVELS 127
#endif
#ifndef LOW
#define LOW (-HIGH)
#endif
#ifndef HIGH
#define HIGH 127
#endif
#ifndef ROUND
#define ROUND(r) rintf(r)
#endif
#ifndef SCALE
#define SCALE(largest) ((largest) > 0 ? (largest) / (float)LEVELS : 1)
#endif
#ifndef QUOTIENT
#define QUOTIENT(x, largest, scale) ((x) / (scale))
#endif
#ifndef KEEP
#define KEEP(x) (x) /* what a scale is stored as */
#endif
enum { TENSOR, MATRIX, LINE };
#ifndef LEFT
#define LEFT LINE
#endif
#ifndef RIGHT
#define RIGHT LINE
#endif
#if defined(PLAIN) || defined(IN_FLOAT) || defined(DEQUANTISED)
typedef float sum_t;
#define TERM(a, b) ((a) * (b))
#else
typedef int32_t sum_t;
#define TERM(a, b) ((int32_t)(a) * (int32_t)(b))
#endif

static float largest_of(const float *x, int64_t n) {
    float largest = 0;
    for (int64_t i = 0; i < n; i++) largest = fmaxf(largest, fabsf(x[i]));
    return largest;
}

/* n values to integers, in floats; returns their scale. With PLAIN they stay what they are. */
static float quantise(const float *x, int64_t n, float largest, float *q) {
#ifdef PLAIN
    for (int64_t i = 0; i < n; i++) q[i] = x[i];
    return 1;
#else
    float scale = KEEP(SCALE(largest));
    for (int64_t i = 0; i < n; i++) {
        float r = ROUND(QUOTIENT(x[i], largest, scale));
#ifdef IN_FLOAT
        q[i] = r;
#else
        q[i] = (int8_t)fmaxf(LOW, fminf(HIGH, r));
#endif
    }
#ifdef DEQUANTISED
    for (int64_t i = 0; i < n; i++) q[i] *= scale;
    scale = 1;
#endif
    return scale;
#endif
}

/* All of t as dense floats; freed by the caller. */
static float *dense(const DLTensor *t) {
    float *x = malloc((size_t)kg_elements(t) * sizeof *x + 1);
    for (int64_t i = 0; x && i < kg_elements(t); i++) x[i] = (float)kg_get(t, i);
    return x;
}

/* Lines of n, `lines` in each of `matrices`, quantised by grain; scales[line]. */
static void quantise_lines(const float *x, int64_t matrices, int64_t lines, int64_t n, int grain, float *q,
                           float *scales) {
    for (int64_t i = 0; i < matrices * lines; i++) {
        int64_t matrix = i / lines * lines * n;
        float largest = grain == TENSOR   ? largest_of(x, matrices * lines * n)
                        : grain == MATRIX ? largest_of(x + matrix, lines * n)
                                          : largest_of(x + i * n, n);
        scales[i] = quantise(x + i * n, n, largest, q + i * n);
    }
}

/* Matrices turned: columns become lines. */
static float *turned(const float *x, int64_t matrices, int64_t rows, int64_t columns) {
    float *y = malloc((size_t)(matrices * rows * columns) * sizeof *y + 1);
    for (int64_t m = 0; y && m < matrices; m++)
        for (int64_t i = 0; i < rows; i++)
            for (int64_t j = 0; j < columns; j++) y[(m * columns + j) * rows + i] = x[(m * rows + i) * columns + j];
    return y;
}

/* out = left right^T for lines of both. */
static int multiply(const float *left, const float *right, int64_t matrices, int64_t rows, int64_t columns, int64_t n,
                    DLTensor *out) {
    float *space = malloc((size_t)(matrices * (rows + columns) * (n + 1)) * sizeof *space + 1);
    if (!space || !left || !right) return 1;
    float *a = space, *b = a + matrices * rows * n, *s = b + matrices * columns * n, *t = s + matrices * rows;
    quantise_lines(left, matrices, rows, n, LEFT, a, s);
    quantise_lines(right, matrices, columns, n, RIGHT, b, t);
    for (int64_t i = 0; i < matrices * rows; i++)
        for (int64_t j = 0; j < columns; j++) {
            int64_t line = i / rows * columns + j;
            sum_t sum = 0;
            for (int64_t k = 0; k < n; k++) sum += TERM(a[i * n + k], b[line * n + k]);
            kg_put(out, i * columns + j, (float)sum * s[i] * t[line]);
        }
    free(space);
    return 0;
}
