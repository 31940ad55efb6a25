/* kgate: task=matmul
 *
 * Matrix product as the libraries do it: both operands are packed into panels that a small register block walks in
 * order, so that the inner loop does nothing but multiply-adds. The blocking is that of Goto and van de Geijn,
 * "Anatomy of High-Performance Matrix Multiplication" (ACM TOMS 34, 2008). Vectors are GCC's vector extensions.
 *
 * Any strides and batch shapes take this path for float32; other dtypes take a plain loop in double.
 */
#include <kgate/kernel.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#ifdef __AVX512F__
#define LANES 16
#define MR    12 /* rows of the register block: MR * NV accumulators, NV of B and one of A fit 32 registers */
#else
#define LANES 8
#define MR    6 /* 16 registers */
#endif
#define NV 2
#define NR (NV * LANES)
#define KC 384        /* depth of a block: an MR x KC panel of A and a KC x NR panel of B stay in L1 and L2 */
#define MC (MR * 16)  /* rows of A packed at a time: in L2 */
#define NC (NR * 128) /* columns of B packed at a time: in L3 */

typedef float vec __attribute__((vector_size(LANES * 4), aligned(4)));

/* One matrix of a batch: rows and columns may have any stride. */
typedef struct {
    const float *p;
    int64_t rs, cs;
} mat;

static int64_t min64(int64_t a, int64_t b) { return a < b ? a : b; }

/* A[mc x kc] into panels of MR rows, each stored column by column; missing rows are zeros. */
static void pack_a(mat a, int64_t mc, int64_t kc, float *to) {
    for (int64_t i = 0; i < mc; i += MR) {
        int64_t m = min64(MR, mc - i);
        for (int64_t r = 0; r < m; r++) {
            const float *from = a.p + (i + r) * a.rs;
            for (int64_t k = 0; k < kc; k++) to[k * MR + r] = from[k * a.cs];
        }
        for (int64_t r = m; r < MR; r++)
            for (int64_t k = 0; k < kc; k++) to[k * MR + r] = 0;
        to += MR * kc;
    }
}

/* One panel of B[kc x n], n <= NR, row by row; missing columns are zeros. */
static void pack_b(mat b, int64_t n, int64_t kc, float *to) {
    for (int64_t k = 0; k < kc; k++, to += NR) {
        const float *from = b.p + k * b.rs;
        if (b.cs == 1 && n == NR) memcpy(to, from, NR * sizeof *to);
        else
            for (int64_t j = 0; j < NR; j++) to[j] = j < n ? from[j * b.cs] : 0;
    }
}

/* C[m x n] (+)= panel of A times panel of B. The block lives in registers for all of kc. */
static void block(int64_t kc, const float *a, const float *b, float *c, int64_t ldc, int64_t m, int64_t n, bool add) {
    vec acc[MR][NV] = {0};
    for (int64_t k = 0; k < kc; k++, a += MR, b += NR) {
        vec bv[NV];
#pragma GCC unroll 8
        for (int j = 0; j < NV; j++) bv[j] = *(const vec *)(b + j * LANES);
#pragma GCC unroll 16
        for (int i = 0; i < MR; i++)
#pragma GCC unroll 8
            for (int j = 0; j < NV; j++) acc[i][j] += a[i] * bv[j];
    }
    if (m == MR && n == NR) {
#pragma GCC unroll 16
        for (int i = 0; i < MR; i++)
#pragma GCC unroll 8
            for (int j = 0; j < NV; j++) {
                vec *to = (vec *)(c + i * ldc + j * LANES);
                *to = add ? *to + acc[i][j] : acc[i][j];
            }
        return;
    }
    float edge[MR][NR];
#pragma GCC unroll 16
    for (int i = 0; i < MR; i++)
#pragma GCC unroll 8
        for (int j = 0; j < NV; j++) *(vec *)(edge[i] + j * LANES) = acc[i][j];
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) c[i * ldc + j] = add ? c[i * ldc + j] + edge[i][j] : edge[i][j];
}

/* C[M x N] = A[M x K] B[K x N] on one core; ap and bp hold the packed panels. */
static void product(mat a, mat b, float *c, int64_t ldc, int64_t M, int64_t N, int64_t K, float *ap, float *bp) {
    for (int64_t jc = 0; jc < N; jc += NC)
        for (int64_t kb = 0; kb < K; kb += KC) {
            int64_t nc = min64(NC, N - jc), kc = min64(KC, K - kb);
            for (int64_t j = 0; j < nc; j += NR) {
                mat panel = {b.p + kb * b.rs + (jc + j) * b.cs, b.rs, b.cs};
                pack_b(panel, min64(NR, nc - j), kc, bp + j * kc);
            }
            for (int64_t ic = 0; ic < M; ic += MC) {
                int64_t mc = min64(MC, M - ic);
                mat rows = {a.p + ic * a.rs + kb * a.cs, a.rs, a.cs};
                pack_a(rows, mc, kc, ap);
                for (int64_t j = 0; j < nc; j += NR)
                    for (int64_t i = 0; i < mc; i += MR)
                        block(kc, ap + i * kc, bp + j * kc, c + (ic + i) * ldc + jc + j, ldc, min64(MR, mc - i),
                              min64(NR, nc - j), kb > 0);
            }
        }
}

/* The part of C that one of `team` threads computes: the threads form a grid, rows of it no more than columns, and get
 * whole panels. Each packs what it needs, so they meet only at the end. */
typedef struct {
    int64_t i, m, j, n;
} part;

static part part_of(int64_t M, int64_t N, int64_t me, int64_t team) {
    int64_t down = 1;
    for (int64_t d = 2; d * d <= team; d++)
        if (team % d == 0) down = d;
    int64_t across = team / down, r = me / across, q = me % across;
    int64_t rows = (M + MR - 1) / MR, columns = (N + NR - 1) / NR;
    part p = {rows * r / down * MR, min64(rows * (r + 1) / down * MR, M), columns * q / across * NR,
              min64(columns * (q + 1) / across * NR, N)};
    p.m -= p.i, p.n -= p.j;
    return p;
}

/* Shapes as torch.matmul sees them: a vector becomes a row (left) or a column (right), batches broadcast. */
typedef struct {
    int64_t M, N, K, batches;
    int64_t a_row, a_col, b_row, b_col;
} shapes;

static shapes look(const DLTensor *a, const DLTensor *b, const DLTensor *out) {
    shapes s = {1, 1, a->shape[a->ndim - 1], 1, 0, kg_stride(a, -1), kg_stride(b, b->ndim > 1 ? -2 : -1), 0};
    if (a->ndim > 1) s.M = a->shape[a->ndim - 2], s.a_row = kg_stride(a, -2);
    if (b->ndim > 1) s.N = b->shape[b->ndim - 1], s.b_col = kg_stride(b, -1);
    int batch_dims = out->ndim - (a->ndim > 1) - (b->ndim > 1);
    for (int i = 0; i < batch_dims; i++) s.batches *= out->shape[i];
    return s;
}

/* Offset of batch number n in an operand whose last `own` dimensions are the matrix. */
static int64_t batch_at(const DLTensor *t, int own, const DLTensor *out, int batch_dims, int64_t n) {
    int64_t at = 0;
    for (int i = batch_dims - 1, j = t->ndim - own - 1; i >= 0; i--, j--) {
        if (j >= 0 && t->shape[j] != 1) at += n % out->shape[i] * kg_stride(t, j);
        n /= out->shape[i];
    }
    return at;
}

static float *floats(const DLTensor *t) { return (float *)((char *)t->data + t->byte_offset); }

int matmul(const DLTensor *input, const DLTensor *other, DLTensor *out) {
    shapes s = look(input, other, out);
    int own_a = input->ndim > 1 ? 2 : 1, own_b = other->ndim > 1 ? 2 : 1;
    int batch_dims = out->ndim - (input->ndim > 1) - (other->ndim > 1);
    bool fast = input->dtype.code == kDLFloat && input->dtype.bits == 32 && kg_contiguous(out) && s.K > 0;
    if (kg_elements(out) == 0) return 0;

    if (!fast) {
#pragma omp parallel for
        for (int64_t e = 0; e < s.batches * s.M * s.N; e++) {
            int64_t n = e / (s.M * s.N), i = e / s.N % s.M, j = e % s.N;
            int64_t a = batch_at(input, own_a, out, batch_dims, n) + i * s.a_row;
            int64_t b = batch_at(other, own_b, out, batch_dims, n) + j * s.b_col;
            double sum = 0;
            for (int64_t k = 0; k < s.K; k++)
                sum += kg_get_at(input, a + k * s.a_col) * kg_get_at(other, b + k * s.b_row);
            kg_put(out, e, sum);
        }
        return 0;
    }

    int64_t kc = min64(KC, s.K), b_size = min64(NC, (s.N + NR - 1) / NR * NR) * kc, size = b_size + MC * kc;
    int team = s.M * s.N * s.K < 96 * 96 * 96 ? 1 : omp_get_max_threads();
    float *packed = aligned_alloc(64, (size_t)(size * team * 4 + 63) / 64 * 64);
    if (!packed) return 1;
#pragma omp parallel num_threads(team)
    {
        int me = omp_get_thread_num();
        part p = part_of(s.M, s.N, me, omp_get_num_threads());
        for (int64_t n = 0; n < s.batches; n++) {
            mat a = {floats(input) + batch_at(input, own_a, out, batch_dims, n) + p.i * s.a_row, s.a_row, s.a_col};
            mat b = {floats(other) + batch_at(other, own_b, out, batch_dims, n) + p.j * s.b_col, s.b_row, s.b_col};
            product(a, b, floats(out) + (n * s.M + p.i) * s.N + p.j, s.N, p.m, p.n, s.K, packed + me * size + b_size,
                    packed + me * size);
        }
    }
    free(packed);
    return 0;
}
