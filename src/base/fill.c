// Values of tensors as functions of (kind, dtype, seed, storage index). The device ports follow this recipe bit for
// bit. All arithmetic is on integers, or is one float operation rounded to nearest even per step: no fused
// multiply-add, no flushing of denormals, no library functions.
//
// Element i has the two 32-bit words (w0, w1) = words 2(i&1) and 2(i&1)+1 of Philox4x32-10 with
// key = seed and counter = i >> 1 (low 64 bits; the high 64 bits are 0).
//
//   ZERO      0
//   CONST     a, rounded to the dtype
//   NORMAL    s = (w0 & 65535) + (w0 >> 16) + (w1 & 65535) + (w1 >> 16)         18 bits, bell-shaped
//             e = (w0 ^ (w1 >> 7)) & 63                                         six more bits
//             x = (float)((int32)(64 s + e) - 8388511)                          exact
//             value = x * (float)(b / 2421581.7) + (float)a                     two roundings; the quotient in double
//   UNIFORM   value = ((float)(w0 >> 8) * 2^-24) * (float)(b - a) + (float)a    two roundings (1st product exact)
//             Rounding can give b itself, as in PyTorch.
//   INT       a + ((uint64)w0 * n >> 32), n = b - a + 1 <= 2^32                 exact integer
//   OUTLIERS  NORMAL's value, times 1000.0f (one rounding) where ((w0 * 0x9E3779B1 + w1) mod 2^32) >> 26 == 0
//   LOGSCALE  the float with sign bit w1 >> 31, exponent a + ((uint64)w0 * (b - a) >> 32), fraction bits
//             w1 & 0x7fffff; a, b integers, -126 <= a < b <= 128
//   TIES      w0 & 3
//   SHUFFLE   P((i / b) mod a; i mod b, a), 1 <= a <= 2^31; b the stride of the lines. Neighbours on a line are
//             distinct, up to a of them, also where a line of another length ends and the next one begins.
//   CHOICE    P(i mod a; i / a, a) < b, 1 <= a <= 2^31
//             P(x; line, a) is a permutation of 0..a-1. Of w bits, w the least with a <= 2^w, four rounds
//                 x = (x * (k[r] | 1) + (k[r] >> 7)) mod 2^w,  x = x ^ (x >> (w + 1) / 2)
//             permute 0..2^w - 1 (an odd factor, a shift by at least half the bits); they are applied until x < a.
//             k is Philox of key = seed, counter = line, the high 64 bits 1.
//   SPECIALS  NORMAL's value; in float dtypes replaced where (i + (seed >> 32)) mod 8 == 0 (uint64) by entry
//             ((i >> 3) + (seed & 0xffffffff)) mod 9 of the dtype's bit patterns in `specials` below:
//             NaN, inf, -inf, 0, -0, least denormal, -(largest denormal), max, -max
//   RAISED .. EXCHANGED (matrices of order n = |a|): NORMAL's value (mean 0, deviation 1) of element i', where row r
//             and column c of i are i / n mod n and i mod n (of i / 2 where a < 0: parts in turn); i' = i, but for
//             SYMMETRIC, HERMITIAN and EXCHANGED with r < c that of (c, r). Then: + (float)b (one rounding) where
//             c = r (CYCLIC: r + 1 mod n; EXCHANGED: n - 1 - r) and the part is real; HERMITIAN: negated where r < c
//             and the part is imaginary; 0 for imaginary parts on the diagonal of HERMITIAN, LOWER, UPPER; 0 above
//             (LOWER) or below (UPPER) the diagonal.
//   RANK_ONE  u v (one rounding), u NORMAL's value (mean 0, deviation sqrt(b) in double) of words 0 and 1 of counter
//             2^62 + (row of i, counted through all matrices), v that of words 2 and 3 of counter 2^62 + that row - r +
//             c; on the diagonal + (0.875f + (float)(w >> 10) * 2^-24), w = word 0 of counter 2^62 + 2^61 + the row
//   POISON    the bit pattern of `poison` below: a signalling NaN; bytes 0xA5 in other dtypes
//
// The value is then rounded to the dtype: to nearest even (floats); to the nearest integer, ties to even, clamped
// (integers; NaN gives 0); != 0 (bool). All values but INT's, CONST's, SHUFFLE's and CHOICE's are floats; those are
// doubles.
#include <math.h>
#include <string.h>

#include "base/base.h"
#include "base/philox.h"

#define BLOCK 512  // elements drawn at a time; even

static const uint64_t specials[4][9] = {
    [KG_F64] = {0x7ff8000000000000u, 0x7ff0000000000000u, 0xfff0000000000000u, 0, 0x8000000000000000u, 1,
                0x800fffffffffffffu, 0x7fefffffffffffffu, 0xffefffffffffffffu},
    [KG_F32] = {0x7fc00000u, 0x7f800000u, 0xff800000u, 0, 0x80000000u, 1, 0x807fffffu, 0x7f7fffffu, 0xff7fffffu},
    [KG_F16] = {0x7e00, 0x7c00, 0xfc00, 0, 0x8000, 1, 0x83ff, 0x7bff, 0xfbff},
    [KG_BF16] = {0x7fc0, 0x7f80, 0xff80, 0, 0x8000, 1, 0x807f, 0x7f7f, 0xff7f},
};
static const uint64_t poison[4] = {
    [KG_F64] = 0x7ff4a5a5a5a5a5a5u, [KG_F32] = 0x7fa5a5a5u, [KG_F16] = 0x7d5au, [KG_BF16] = 0x7fa5u};

static void put_bits(kg_dtype t, void *data, int64_t i, uint64_t bits) {
    switch (kg_dtype_size(t)) {
    case 8: ((uint64_t *)data)[i] = bits; return;
    case 4: ((uint32_t *)data)[i] = (uint32_t)bits; return;
    default: ((uint16_t *)data)[i] = (uint16_t)bits; return;
    }
}

static bool special_at(kg_dtype t, uint64_t seed, int64_t i, uint64_t *bits) {
    if (!kg_dtype_is_float(t) || ((uint64_t)i + (seed >> 32)) % 8 != 0) return false;
    *bits = specials[t][(((uint64_t)i >> 3) + (seed & 0xffffffffu)) % 9];
    return true;
}

// ---- the kinds: words to a float (or, for INT, to an integer) --------------------------------------
typedef struct {
    float scale, shift;
    int32_t first;
    uint32_t octaves;
    uint64_t order;
    bool pairs;
} params;

bool kg_fill_is_matrix(kg_fill_kind k) { return k >= KG_FILL_RAISED && k <= KG_FILL_RANK_ONE; }

static params params_of(const kg_fill *f) {
    params p = {0};
    p.shift = (float)f->a;
    switch (f->kind) {
    case KG_FILL_UNIFORM: p.scale = (float)(f->b - f->a); break;
    case KG_FILL_LOGSCALE:
        p.first = (int32_t)f->a;
        p.octaves = (uint32_t)((int32_t)f->b - (int32_t)f->a);
        break;
    default: p.scale = (float)(f->b / 2421581.7); break;
    }
    if (kg_fill_is_matrix(f->kind)) {
        p.scale = (float)((f->kind == KG_FILL_RANK_ONE ? sqrt(f->b) : 1) / 2421581.7);
        p.shift = f->kind == KG_FILL_RANK_ONE ? 0 : (float)f->b;
        p.order = (uint64_t)fabs(f->a);
        p.pairs = f->a < 0;
    }
    return p;
}

KG_PHILOX_INLINE float draw_normal(params p, uint32_t w0, uint32_t w1) {
    const uint32_t s = (w0 & 65535u) + (w0 >> 16) + (w1 & 65535u) + (w1 >> 16);
    const uint32_t e = (w0 ^ (w1 >> 7)) & 63u;
    const float x = (float)((int32_t)(64u * s + e) - 8388511);
    return x * p.scale + p.shift;
}
KG_PHILOX_INLINE float draw_uniform(params p, uint32_t w0) {
    return (float)(int32_t)(w0 >> 8) * 0x1p-24f * p.scale + p.shift;
}
KG_PHILOX_INLINE float draw_outlier(params p, uint32_t w0, uint32_t w1) {
    const float x = draw_normal(p, w0, w1);
    return (w0 * 0x9E3779B1u + w1) >> 26 == 0 ? x * 1000.0f : x;
}
KG_PHILOX_INLINE float draw_logscale(params p, uint32_t w0, uint32_t w1) {
    const int32_t e = p.first + (int32_t)((uint64_t)w0 * p.octaves >> 32) + 127;
    union {
        uint32_t u;
        float f;
    } x = {(w1 & 0x80000000u) | (uint32_t)e << 23 | (w1 & 0x7fffffu)};
    return x.f;
}
KG_PHILOX_INLINE void draw(kg_fill_kind kind, params p, int n, const uint32_t *w0, const uint32_t *w1, float *v) {
    switch (kind) {
    case KG_FILL_UNIFORM:
        for (int k = 0; k < n; k++) v[k] = draw_uniform(p, w0[k]);
        return;
    case KG_FILL_OUTLIERS:
        for (int k = 0; k < n; k++) v[k] = draw_outlier(p, w0[k], w1[k]);
        return;
    case KG_FILL_LOGSCALE:
        for (int k = 0; k < n; k++) v[k] = draw_logscale(p, w0[k], w1[k]);
        return;
    case KG_FILL_TIES:
        for (int k = 0; k < n; k++) v[k] = (float)(int32_t)(w0[k] & 3u);
        return;
    default:
        for (int k = 0; k < n; k++) v[k] = draw_normal(p, w0[k], w1[k]);
        return;
    }
}

// ---- matrices -----------------------------------------------------------------------------------------
static float matrix_normal(params p, uint64_t seed, uint64_t i) {
    const kg_philox w = kg_philox4x32(seed, i >> 1, 0);
    p.shift = 0;
    return draw_normal(p, w.v[2 * (i & 1)], w.v[2 * (i & 1) + 1]);
}

static float rank_one(params p, uint64_t seed, uint64_t row, uint64_t r, uint64_t c) {
    const uint64_t rows = (uint64_t)1 << 62, diagonal = rows + ((uint64_t)1 << 61);
    const kg_philox left = kg_philox4x32(seed, rows + row, 0), right = kg_philox4x32(seed, rows + row - r + c, 0);
    const float x = draw_normal(p, left.v[0], left.v[1]) * draw_normal(p, right.v[2], right.v[3]);
    if (r != c) return x;
    return x + (0.875f + (float)(int32_t)(kg_philox4x32(seed, diagonal + row, 0).v[0] >> 10) * 0x1p-24f);
}

static float draw_matrix(kg_fill_kind kind, params p, uint64_t seed, uint64_t i) {
    const uint64_t part = p.pairs ? i & 1 : 0, at = p.pairs ? i >> 1 : i, row = at / p.order, r = row % p.order,
                   c = at % p.order;
    if (kind == KG_FILL_RANK_ONE) return rank_one(p, seed, row, r, c);
    if ((kind == KG_FILL_LOWER && r < c) || (kind == KG_FILL_UPPER && r > c)) return 0;
    const bool real_diagonal = kind == KG_FILL_HERMITIAN || kind == KG_FILL_LOWER || kind == KG_FILL_UPPER;
    if (real_diagonal && r == c && part) return 0;
    const bool symmetric = kind == KG_FILL_SYMMETRIC || kind == KG_FILL_HERMITIAN || kind == KG_FILL_EXCHANGED;
    const bool mirrored = symmetric && r < c;
    const uint64_t from = mirrored ? (row - r + c) * p.order + r : at;
    const float x = matrix_normal(p, seed, p.pairs ? 2 * from + part : from);
    if (part) return mirrored && kind == KG_FILL_HERMITIAN ? -x : x;
    const uint64_t raised = kind == KG_FILL_CYCLIC      ? (r + 1) % p.order
                            : kind == KG_FILL_EXCHANGED ? p.order - 1 - r
                                                        : r;
    return c == raised ? x + p.shift : x;
}

// The words of BLOCK elements from an even index on.
KG_PHILOX_INLINE void draw_words(uint64_t seed, uint64_t counter, uint32_t *w0, uint32_t *w1) {
    for (int k = 0; k < BLOCK / 2; k++) {
        const uint64_t at = counter + (uint64_t)k;
        uint32_t c[4] = {(uint32_t)at, (uint32_t)(at >> 32), 0, 0};
        philox_rounds(seed, c);
        w0[2 * k] = c[0];
        w1[2 * k] = c[1];
        w0[2 * k + 1] = c[2];
        w1[2 * k + 1] = c[3];
    }
}

typedef struct {
    uint32_t w0[BLOCK], w1[BLOCK];
    float v[BLOCK];
} block;

KG_PHILOX_INLINE void draw_block(kg_fill_kind kind, params p, uint64_t seed, uint64_t counter, block *b) {
    draw_words(seed, counter, b->w0, b->w1);
    if (kind != KG_FILL_INT) draw(kind, p, BLOCK, b->w0, b->w1, b->v);
}
static void draw_plain(kg_fill_kind kind, params p, uint64_t seed, uint64_t counter, block *b) {
    draw_block(kind, p, seed, counter, b);
}
#if defined(__x86_64__)
__attribute__((target("avx2"))) static void draw_avx2(kg_fill_kind kind, params p, uint64_t seed, uint64_t counter,
                                                      block *b) {
    draw_block(kind, p, seed, counter, b);
}
__attribute__((target("avx512f,avx512vl,avx512dq"))) static void draw_avx512(kg_fill_kind kind, params p, uint64_t seed,
                                                                             uint64_t counter, block *b) {
    draw_block(kind, p, seed, counter, b);
}
#endif
typedef void (*draw_fn)(kg_fill_kind, params, uint64_t, uint64_t, block *);

static draw_fn pick_draw(void) {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq"))
        return draw_avx512;
    if (__builtin_cpu_supports("avx2")) return draw_avx2;
#endif
    return draw_plain;
}

// ---- rounding floats to the dtype -------------------------------------------------------------------
// Nearest even by integer arithmetic; fills never draw a NaN here.
static uint16_t bfloat_of(float v) {
    union {
        float f;
        uint32_t u;
    } x = {v};
    return (uint16_t)((x.u + 0x7fffu + (x.u >> 16 & 1u)) >> 16);
}
// Branch-free so that it vectorises. Normal halves: rebias and round the 13 lost bits. Denormal halves: adding 0.5f
// lines the last bit up with 2^-24, so the float addition does the rounding.
static uint16_t half_of(float v) {
    union {
        float f;
        uint32_t u;
    } x = {v}, d;
    const uint32_t sign = x.u >> 16 & 0x8000u, mag = x.u & 0x7fffffffu;
    union {
        uint32_t u;
        float f;
    } m = {mag};
    d.f = m.f + 0.5f;
    const uint32_t denormal = d.u - 0x3f000000u;
    const uint32_t normal = (mag - (112u << 23) + 0xfffu + (mag >> 13 & 1u)) >> 13;
    const uint32_t r = mag >= 0x477ff000u ? 0x7c00u : mag < 0x38800000u ? denormal : normal;
    return (uint16_t)(sign | r);
}

static void store_floats(kg_dtype t, void *data, int64_t at, const float *v, int n) {
    switch (t) {
    case KG_F32: memcpy((float *)data + at, v, (size_t)n * sizeof *v); return;
    case KG_F64:
        for (int k = 0; k < n; k++) ((double *)data)[at + k] = (double)v[k];
        return;
    case KG_F16:
        for (int k = 0; k < n; k++) ((uint16_t *)data)[at + k] = half_of(v[k]);
        return;
    case KG_BF16:
        for (int k = 0; k < n; k++) ((uint16_t *)data)[at + k] = bfloat_of(v[k]);
        return;
    default:
        for (int k = 0; k < n; k++) kg_store(t, data, at + k, (double)v[k]);
        return;
    }
}

// ---- permutations -----------------------------------------------------------------------------------
typedef struct {
    uint32_t a, b, mask, shift;
    uint64_t seed, line;
    bool keyed;  // key is line's
    kg_philox key;
} shuffler;

static shuffler shuffler_of(const kg_fill *f, uint64_t seed) {
    shuffler s = {.a = (uint32_t)f->a, .b = (uint32_t)f->b, .seed = seed};
    const int w = s.a > 1 ? 32 - __builtin_clz(s.a - 1) : 0;
    s.mask = (uint32_t)(((uint64_t)1 << w) - 1);
    s.shift = (uint32_t)(w + 1) / 2;
    return s;
}

static uint32_t permuted(shuffler *s, uint32_t x, uint64_t line) {
    if (!s->keyed || s->line != line) {
        s->line = line;
        s->key = kg_philox4x32(s->seed, line, 1);
        s->keyed = true;
    }
    do
        for (int r = 0; r < 4; r++) {
            x = (x * (s->key.v[r] | 1u) + (s->key.v[r] >> 7)) & s->mask;
            x ^= x >> s->shift;
        }
    while (x >= s->a);
    return x;
}

// Element i of a SHUFFLE or CHOICE.
static double placed(kg_fill_kind kind, shuffler *s, uint64_t i) {
    if (kind == KG_FILL_SHUFFLE) return permuted(s, (uint32_t)(i / s->b % s->a), i % s->b);
    return permuted(s, (uint32_t)(i % s->a), i / s->a) < s->b;
}

static void fill_placed(const kg_fill *f, kg_dtype t, uint64_t seed, int64_t first, int64_t count, void *data) {
    shuffler s = shuffler_of(f, seed);
    for (int64_t i = 0; i < count; i++) kg_store(t, data, i, placed(f->kind, &s, (uint64_t)(first + i)));
}

static double int_of(const kg_fill *f, uint32_t w0) {
    const uint64_t n = (uint64_t)(f->b - f->a) + 1;
    return f->a + (double)((uint64_t)w0 * n >> 32);
}

// Integer dtypes that hold a..b: without the way through doubles.
#define STORE_AS(type) \
    for (int k = 0; k < n; k++) ((type *)data)[at + k] = (type)((uint64_t)first + ((uint64_t)w0[k] * values >> 32))
static bool holds_all(kg_dtype t, const kg_fill *f) {
    const double bits = 8.0 * (double)kg_dtype_size(t) - (t == KG_U8 ? 0 : 1);
    return !kg_dtype_is_float(t) && t != KG_BOOL && f->a == rint(f->a) && f->b < exp2(bits) &&
           f->a >= (t == KG_U8 ? 0 : -exp2(bits));
}
static void store_ints(const kg_fill *f, kg_dtype t, void *data, int64_t at, const uint32_t *w0, int n) {
    if (!holds_all(t, f)) {
        for (int k = 0; k < n; k++) kg_store(t, data, at + k, int_of(f, w0[k]));
        return;
    }
    const uint64_t values = (uint64_t)(f->b - f->a) + 1;
    const int64_t first = (int64_t)f->a;
    switch (kg_dtype_size(t)) {
    case 8: STORE_AS(uint64_t); return;
    case 4: STORE_AS(uint32_t); return;
    case 2: STORE_AS(uint16_t); return;
    default: STORE_AS(uint8_t); return;
    }
}
#undef STORE_AS

// The same element over and over.
static void repeat(kg_dtype t, const void *element, int64_t count, void *data) {
    uint64_t q = 0;
    memcpy(&q, element, kg_dtype_size(t));
    switch (kg_dtype_size(t)) {
    case 8:
        for (int64_t i = 0; i < count; i++) ((uint64_t *)data)[i] = q;
        return;
    case 4:
        for (int64_t i = 0; i < count; i++) ((uint32_t *)data)[i] = (uint32_t)q;
        return;
    case 2:
        for (int64_t i = 0; i < count; i++) ((uint16_t *)data)[i] = (uint16_t)q;
        return;
    default: memset(data, (int)q, (size_t)count); return;
    }
}

static uint64_t poison_of(kg_dtype t) { return kg_dtype_is_float(t) ? poison[t] : 0xa5a5a5a5a5a5a5a5u; }

static void fill_const(kg_dtype t, double value, int64_t count, void *data) {
    uint64_t cell = 0;
    kg_store(t, &cell, 0, value);
    repeat(t, &cell, count, data);
}

static void fill_matrices(const kg_fill *f, kg_dtype t, uint64_t seed, int64_t first, int64_t count, void *data) {
    const params p = params_of(f);
    float v[BLOCK];
    for (int64_t done = 0; done < count; done += BLOCK) {
        const int n = (int)(count - done < BLOCK ? count - done : BLOCK);
        for (int k = 0; k < n; k++) v[k] = draw_matrix(f->kind, p, seed, (uint64_t)(first + done + k));
        store_floats(t, data, done, v, n);
    }
}

static void fill_drawn(const kg_fill *f, kg_dtype t, uint64_t seed, int64_t first, int64_t count, void *data) {
    const params p = params_of(f);
    const draw_fn fn = pick_draw();
    block b;
    for (int64_t done = 0; done < count;) {
        const int64_t i = first + done;
        const int skip = (int)(i & 1);
        const int n = (int)(count - done < BLOCK - skip ? count - done : BLOCK - skip);
        fn(f->kind, p, seed, (uint64_t)i >> 1, &b);
        if (f->kind == KG_FILL_INT) store_ints(f, t, data, done, b.w0 + skip, n);
        else store_floats(t, data, done, b.v + skip, n);
        done += n;
    }
}

void kg_fill_range(const kg_fill *f, kg_dtype t, uint64_t seed, int64_t first, int64_t count, void *data) {
    if (count <= 0) return;
    if (kg_fill_is_matrix(f->kind)) {
        fill_matrices(f, t, seed, first, count, data);
        return;
    }
    switch (f->kind) {
    case KG_FILL_ZERO: memset(data, 0, (size_t)count * kg_dtype_size(t)); return;
    case KG_FILL_POISON: repeat(t, &(uint64_t){poison_of(t)}, count, data); return;
    case KG_FILL_CONST: fill_const(t, f->a, count, data); return;
    case KG_FILL_SHUFFLE:
    case KG_FILL_CHOICE: fill_placed(f, t, seed, first, count, data); return;
    default: fill_drawn(f, t, seed, first, count, data); break;
    }
    uint64_t bits;
    if (f->kind == KG_FILL_SPECIALS)
        for (int64_t i = 0; i < count; i++)
            if (special_at(t, seed, first + i, &bits)) put_bits(t, data, i, bits);
}

bool kg_fill_is_finite(const kg_fill *f) {
    if (kg_fill_is_matrix(f->kind)) return isfinite(f->b);
    return f->kind != KG_FILL_SPECIALS && !(f->kind == KG_FILL_CONST && !isfinite(f->a));
}

double kg_fill_value(const kg_fill *f, kg_dtype t, uint64_t seed, int64_t index) {
    if (f->kind == KG_FILL_ZERO) return 0;
    if (f->kind == KG_FILL_CONST) return f->a;
    if (f->kind == KG_FILL_SHUFFLE || f->kind == KG_FILL_CHOICE) {
        shuffler s = shuffler_of(f, seed);
        return placed(f->kind, &s, (uint64_t)index);
    }
    if (f->kind == KG_FILL_POISON) return kg_load(t, &(uint64_t){poison_of(t)}, 0);
    if (kg_fill_is_matrix(f->kind)) return (double)draw_matrix(f->kind, params_of(f), seed, (uint64_t)index);
    uint64_t bits;
    if (f->kind == KG_FILL_SPECIALS && special_at(t, seed, index, &bits)) return kg_load(t, &bits, 0);
    const kg_philox r = kg_philox4x32(seed, (uint64_t)index >> 1, 0);
    const uint32_t w0 = r.v[2 * (index & 1)], w1 = r.v[2 * (index & 1) + 1];
    if (f->kind == KG_FILL_INT) return int_of(f, w0);
    float v;
    draw(f->kind, params_of(f), 1, &w0, &w1, &v);
    return (double)v;
}
