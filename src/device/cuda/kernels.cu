// kgate's own device code: values, gathers and rates. Embedded in the program as text (and as PTX where nvcc was there
// at build time), so it includes nothing. Fills follow the recipe at the head of src/base/fill.c bit for bit: integers,
// and single operations rounded to nearest even (the __f..._rn intrinsics are never contracted to multiply-adds).
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;

// The order of kg_dtype and kg_fill_kind in src/base/base.h; kernels.c asserts it.
enum { F64, F32, F16, BF16, I64, I32, I16, I8, U8, BOOL };
enum { ZERO, CONST, NORMAL, UNIFORM, INT, OUTLIERS, SPECIALS, LOGSCALE, TIES, SHUFFLE, CHOICE, POISON };
enum { RAISED = 12, CYCLIC, SYMMETRIC, HERMITIAN, LOWER, UPPER, EXCHANGED, RANK_ONE };

struct fill_args {  // kg_fill_args in kernels.h
    u64 seed, count, int_count;
    double int_first;
    float scale, shift;
    int first_octave;
    u32 octaves, kind, dtype;
    u64 order;
    u32 pairs;
    u32 range, part;
};

__device__ __forceinline__ u64 thread_index() { return (u64)blockIdx.x * blockDim.x + threadIdx.x; }
__device__ __forceinline__ u64 thread_count() { return (u64)gridDim.x * blockDim.x; }

// ---- values -------------------------------------------------------------------------------------
__device__ __forceinline__ void philox(u64 key, u64 counter, u32 high, u32 c[4]) {
    u32 k0 = (u32)key, k1 = (u32)(key >> 32);
    c[0] = (u32)counter, c[1] = (u32)(counter >> 32), c[2] = high, c[3] = 0;
#pragma unroll
    for (int r = 0; r < 10; r++) {
        const u32 h0 = __umulhi(0xD2511F53u, c[0]), l0 = 0xD2511F53u * c[0];
        const u32 h1 = __umulhi(0xCD9E8D57u, c[2]), l1 = 0xCD9E8D57u * c[2];
        c[0] = h1 ^ c[1] ^ k0, c[1] = l1, c[2] = h0 ^ c[3] ^ k1, c[3] = l0;
        k0 += 0x9E3779B9u, k1 += 0xBB67AE85u;
    }
}

__device__ __forceinline__ float draw_normal(u32 w0, u32 w1, float scale, float shift) {
    const u32 s = (w0 & 65535u) + (w0 >> 16) + (w1 & 65535u) + (w1 >> 16);
    const u32 e = (w0 ^ (w1 >> 7)) & 63u;
    const float x = (float)((int)(64u * s + e) - 8388511);
    return __fadd_rn(__fmul_rn(x, scale), shift);
}
__device__ __forceinline__ float draw_normal(const fill_args &a, u32 w0, u32 w1) {
    return draw_normal(w0, w1, a.scale, a.shift);
}

// ---- matrices: draw_matrix of fill.c ----------------------------------------------------------------
__device__ float rank_one(const fill_args &a, u64 row, u64 r, u64 c) {
    const u64 rows = 1ull << 62, diagonal = rows + (1ull << 61);
    u32 left[4], right[4], d[4];
    philox(a.seed, rows + row, 0, left);
    philox(a.seed, rows + row - r + c, 0, right);
    const float x = __fmul_rn(draw_normal(a, left[0], left[1]), draw_normal(a, right[2], right[3]));
    if (r != c) return x;
    philox(a.seed, diagonal + row, 0, d);
    return __fadd_rn(x, __fadd_rn(0.875f, __fmul_rn((float)(int)(d[0] >> 10), 5.9604644775390625e-8f)));
}
__device__ float draw_matrix(const fill_args &a, u64 i) {
    const u64 part = a.pairs ? i & 1 : 0, at = a.pairs ? i >> 1 : i, row = at / a.order, r = row % a.order,
              c = at % a.order;
    if (a.kind == RANK_ONE) return rank_one(a, row, r, c);
    if ((a.kind == LOWER && r < c) || (a.kind == UPPER && r > c)) return 0;
    const bool real_diagonal = a.kind == HERMITIAN || a.kind == LOWER || a.kind == UPPER;
    if (real_diagonal && r == c && part) return 0;
    const bool mirrored = (a.kind == SYMMETRIC || a.kind == HERMITIAN || a.kind == EXCHANGED) && r < c;
    const u64 from = mirrored ? (row - r + c) * a.order + r : at, j = a.pairs ? 2 * from + part : from;
    u32 w[4];
    philox(a.seed, j >> 1, 0, w);
    const float x = draw_normal(w[2 * (j & 1)], w[2 * (j & 1) + 1], a.scale, 0.0f);
    if (part) return mirrored && a.kind == HERMITIAN ? -x : x;
    const u64 raised = a.kind == CYCLIC ? (r + 1) % a.order : a.kind == EXCHANGED ? a.order - 1 - r : r;
    return c == raised ? __fadd_rn(x, a.shift) : x;
}
__device__ __forceinline__ float draw(const fill_args &a, u32 w0, u32 w1) {
    switch (a.kind) {
        case UNIFORM:
            return __fadd_rn(__fmul_rn(__fmul_rn((float)(int)(w0 >> 8), 5.9604644775390625e-8f), a.scale), a.shift);
        case OUTLIERS: {
            const float x = draw_normal(a, w0, w1);
            return (w0 * 0x9E3779B1u + w1) >> 26 == 0 ? __fmul_rn(x, 1000.0f) : x;
        }
        case LOGSCALE: {
            const int e = a.first_octave + (int)__umulhi(w0, a.octaves) + 127;
            return __uint_as_float((w1 & 0x80000000u) | (u32)e << 23 | (w1 & 0x7fffffu));
        }
        case TIES: return (float)(int)(w0 & 3u);
        default: return draw_normal(a, w0, w1);
    }
}

__device__ __forceinline__ u64 half_of(float v) {
    const u32 u = __float_as_uint(v), sign = u >> 16 & 0x8000u, mag = u & 0x7fffffffu;
    const u32 denormal = __float_as_uint(__fadd_rn(__uint_as_float(mag), 0.5f)) - 0x3f000000u;
    const u32 normal = (mag - (112u << 23) + 0xfffu + (mag >> 13 & 1u)) >> 13;
    return sign | (mag >= 0x477ff000u ? 0x7c00u : mag < 0x38800000u ? denormal : normal);
}
__device__ __forceinline__ u64 bfloat_of(float v) {
    const u32 u = __float_as_uint(v);
    return (u16)((u + 0x7fffu + (u >> 16 & 1u)) >> 16);
}
// kg_double_to_16 of <kgate/kernel.h>.
__device__ u64 double_to_16(double v, int bits, int emin, int emax) {
    const u64 x = (u64)__double_as_longlong(v), mag = x & 0x7fffffffffffffffull;
    const u64 sign = x >> 48 & 0x8000, inf = (u64)(emax - emin + 2) << bits;
    const int e = (int)(mag >> 52) - 1023;
    if (e > emax) return sign | inf;
    if (e < emin - bits - 1) return sign;
    const int shift = 52 - bits + (e < emin ? emin - e : 0);
    const u64 m = (mag & 0xfffffffffffffull) | 1ull << 52;
    const u64 rest = m & ((1ull << shift) - 1), half = 1ull << (shift - 1);
    u64 q = m >> shift;
    if (rest > half || (rest == half && (q & 1))) q++;
    return sign | (q + (e < emin ? 0 : (u64)(e - emin) << bits));
}
// Nearest even integer, clamped: kg_store of src/base/dtype.c.
__device__ u64 integer_of(double v, double least, double most, i64 least_int, i64 most_int) {
    v = rint(v);
    if (v <= least) return (u64)least_int;
    if (v >= most) return (u64)most_int;
    return (u64)__double2ll_rn(v);
}
__device__ u64 integer_bits(u32 dtype, double v) {
    switch (dtype) {
        case I64:
            return integer_of(v, -9223372036854775808.0, 9223372036854775807.0, -0x7fffffffffffffffll - 1,
                              0x7fffffffffffffffll);
        case I32: return integer_of(v, -2147483648.0, 2147483647.0, -2147483648ll, 2147483647ll);
        case I16: return integer_of(v, -32768.0, 32767.0, -32768, 32767);
        case I8: return integer_of(v, -128.0, 127.0, -128, 127);
        case U8: return integer_of(v, 0.0, 255.0, 0, 255);
        default: return v != 0;
    }
}
__device__ __forceinline__ u64 float_bits(u32 dtype, float v) {
    switch (dtype) {
        case F32: return __float_as_uint(v);
        case F64: return (u64)__double_as_longlong((double)v);
        case F16: return half_of(v);
        case BF16: return bfloat_of(v);
        default: return integer_bits(dtype, (double)v);
    }
}
__device__ u64 double_bits(u32 dtype, double v) {
    switch (dtype) {
        case F64: return (u64)__double_as_longlong(v);
        case F32: return __float_as_uint(__double2float_rn(v));
        case F16: return double_to_16(v, 10, -14, 15);
        case BF16: return double_to_16(v, 7, -126, 127);
        default: return integer_bits(dtype, v);
    }
}
__device__ __forceinline__ double drawn_integer(const fill_args &a, u32 w0) {
    const u64 k = a.int_count >> 32 ? w0 : __umulhi(w0, (u32)a.int_count);  // a count of 2^32 leaves w0 itself
    return __dadd_rn(a.int_first, (double)k);
}
__device__ u32 permuted(u32 x, u64 seed, u64 line, u32 a) {
    u32 k[4];
    philox(seed, line, 1, k);
    const u32 w = a > 1 ? 32 - (u32)__clz((int)(a - 1)) : 0, mask = (u32)((1ull << w) - 1), shift = (w + 1) / 2;
    do
        for (int r = 0; r < 4; r++) {
            x = (x * (k[r] | 1u) + (k[r] >> 7)) & mask;
            x ^= x >> shift;
        }
    while (x >= a);
    return x;
}

__constant__ u64 special_bits[4][9] = {
    {0x7ff8000000000000ull, 0x7ff0000000000000ull, 0xfff0000000000000ull, 0, 0x8000000000000000ull, 1,
     0x800fffffffffffffull, 0x7fefffffffffffffull, 0xffefffffffffffffull},
    {0x7fc00000u, 0x7f800000u, 0xff800000u, 0, 0x80000000u, 1, 0x807fffffu, 0x7f7fffffu, 0xff7fffffu},
    {0x7e00, 0x7c00, 0xfc00, 0, 0x8000, 1, 0x83ff, 0x7bff, 0xfbff},
    {0x7fc0, 0x7f80, 0xff80, 0, 0x8000, 1, 0x807f, 0x7f7f, 0xff7f}};

__device__ __forceinline__ u64 element_bits(const fill_args &a, u64 i, u32 w0, u32 w1) {
    if (a.kind == INT) return double_bits(a.dtype, drawn_integer(a, w0));
    if (a.kind == SHUFFLE)
        return double_bits(a.dtype, (double)permuted((u32)(i / a.part % a.range), a.seed, i % a.part, a.range));
    if (a.kind == CHOICE)
        return double_bits(a.dtype, permuted((u32)(i % a.range), a.seed, i / a.range, a.range) < a.part ? 1.0 : 0.0);
    if (a.kind >= RAISED && a.kind <= RANK_ONE) return float_bits(a.dtype, draw_matrix(a, i));
    if (a.kind == SPECIALS && a.dtype <= BF16 && (i + (a.seed >> 32)) % 8 == 0)
        return special_bits[a.dtype][((i >> 3) + (a.seed & 0xffffffffu)) % 9];
    return float_bits(a.dtype, draw(a, w0, w1));
}

// Two elements a step, as the generator gives them; the base is aligned to 512 bytes, so a pair is one store.
template <typename T, typename P>
__device__ __forceinline__ void fill_as(void *base, const fill_args &a) {
    for (u64 c = thread_index(); 2 * c < a.count; c += thread_count()) {
        u32 w[4];
        philox(a.seed, c, 0, w);
        const T x = (T)element_bits(a, 2 * c, w[0], w[1]);
        if (2 * c + 1 == a.count) {
            ((T *)base)[2 * c] = x;
        } else {
            P pair;
            pair.x = x, pair.y = (T)element_bits(a, 2 * c + 1, w[2], w[3]);
            ((P *)base)[c] = pair;
        }
    }
}
extern "C" __global__ void kg_fill_8(void *base, fill_args a) { fill_as<u8, uchar2>(base, a); }
extern "C" __global__ void kg_fill_16(void *base, fill_args a) { fill_as<u16, ushort2>(base, a); }
extern "C" __global__ void kg_fill_32(void *base, fill_args a) { fill_as<u32, uint2>(base, a); }
extern "C" __global__ void kg_fill_64(void *base, fill_args a) { fill_as<u64, ulonglong2>(base, a); }

// The same bytes everywhere (ZERO, CONST, POISON): word holds the element repeated to eight bytes.
extern "C" __global__ void kg_fill_word(u64 *base, u64 bytes, u64 word) {
    const u64 words = bytes / 8;
    for (u64 i = thread_index(); i < words; i += thread_count()) base[i] = word;
    if (thread_index() < bytes % 8) ((u8 *)(base + words))[thread_index()] = (u8)(word >> 8 * thread_index());
}

// ---- looking at outputs -------------------------------------------------------------------------
template <typename T>
__device__ __forceinline__ void gather_as(const void *base, const i64 *index, u64 n, void *out) {
    for (u64 i = thread_index(); i < n; i += thread_count()) ((T *)out)[i] = ((const T *)base)[index[i]];
}
extern "C" __global__ void kg_gather(const void *base, const i64 *index, u64 n, u32 size, void *out) {
    switch (size) {
        case 1: gather_as<u8>(base, index, n, out); return;
        case 2: gather_as<u16>(base, index, n, out); return;
        case 4: gather_as<u32>(base, index, n, out); return;
        default: gather_as<u64>(base, index, n, out);
    }
}

template <typename T>
__device__ __forceinline__ u64 count_as(const void *base, u64 n, u64 bits) {
    u64 found = 0;
    for (u64 i = thread_index(); i < n; i += thread_count()) found += ((const T *)base)[i] == (T)bits;
    return found;
}
extern "C" __global__ void kg_count_bits(const void *base, u64 n, u32 size, u64 bits, u64 *total) {
    u64 found = size == 1   ? count_as<u8>(base, n, bits)
                : size == 2 ? count_as<u16>(base, n, bits)
                : size == 4 ? count_as<u32>(base, n, bits)
                            : count_as<u64>(base, n, bits);
    for (int d = 16; d; d /= 2) found += __shfl_down_sync(0xffffffffu, found, d);
    if (threadIdx.x % 32 == 0 && found) atomicAdd(total, found);
}

// ---- rates: bandwidth ---------------------------------------------------------------------------
// Each block moves a tile of blockDim.x * TILE vectors of 16 bytes, all loads in flight before the first use.
#define TILE 8
extern "C" __global__ void kg_rate_read(const uint4 *p, u64 vectors, u32 *sink) {
    const u64 at = (u64)blockIdx.x * blockDim.x * TILE + threadIdx.x;
    uint4 v[TILE];
#pragma unroll
    for (int k = 0; k < TILE; k++) v[k] = at + k * blockDim.x < vectors ? __ldcs(p + at + k * blockDim.x) : uint4();
    u32 x = 0;
#pragma unroll
    for (int k = 0; k < TILE; k++) x |= v[k].x ^ v[k].y ^ v[k].z ^ v[k].w;
    if (x == 0xdeadbeefu) *sink = x;  // keeps the loads; the buffer holds no such pattern often enough to matter
}
extern "C" __global__ void kg_rate_write(uint4 *p, u64 vectors, u32 word) {
    const u64 at = (u64)blockIdx.x * blockDim.x * TILE + threadIdx.x;
#pragma unroll
    for (int k = 0; k < TILE; k++)
        if (at + k * blockDim.x < vectors) __stcs(p + at + k * blockDim.x, make_uint4(word, word, word, word));
}
extern "C" __global__ void kg_rate_copy(const uint4 *from, uint4 *to, u64 vectors) {
    const u64 at = (u64)blockIdx.x * blockDim.x * TILE + threadIdx.x;
    uint4 v[TILE];
#pragma unroll
    for (int k = 0; k < TILE; k++) v[k] = at + k * blockDim.x < vectors ? __ldcs(from + at + k * blockDim.x) : uint4();
#pragma unroll
    for (int k = 0; k < TILE; k++)
        if (at + k * blockDim.x < vectors) __stcs(to + at + k * blockDim.x, v[k]);
}
// Inside the cache the streaming hints would hurt.
extern "C" __global__ void kg_rate_copy_cached(const uint4 *from, uint4 *to, u64 vectors) {
    for (u64 i = thread_index(); i < vectors; i += thread_count()) to[i] = from[i];
}
extern "C" __global__ void kg_empty() {}

// ---- rates: arithmetic --------------------------------------------------------------------------
// Independent chains of multiply-adds in registers; `rounds` and the factors come from outside so that nothing folds.
#define CHAINS 8
template <typename T>
__device__ __forceinline__ void chains(T *sink, int rounds, T m, T c) {
    T x[CHAINS];
#pragma unroll
    for (int k = 0; k < CHAINS; k++) x[k] = (T)(threadIdx.x + k);
    for (int r = 0; r < rounds; r++) {
#pragma unroll
        for (int u = 0; u < 16; u++)
#pragma unroll
            for (int k = 0; k < CHAINS; k++) x[k] = x[k] * m + c;
    }
    T s = 0;
#pragma unroll
    for (int k = 0; k < CHAINS; k++) s += x[k];
    if (s == (T)-12345) *sink = s;
}
extern "C" __global__ void kg_rate_fp32(float *sink, int rounds) { chains<float>(sink, rounds, 0.999f, 0.001f); }
extern "C" __global__ void kg_rate_fp64(double *sink, int rounds) { chains<double>(sink, rounds, 0.999, 0.001); }
extern "C" __global__ void kg_rate_int(u32 *sink, int rounds) {
    chains<u32>(sink, rounds, 2654435761u + (u32)rounds, 12345u + (u32)rounds);
}
extern "C" __global__ void kg_rate_special(float *sink, int rounds) {
    float x[CHAINS];
#pragma unroll
    for (int k = 0; k < CHAINS; k++) x[k] = (float)(threadIdx.x + k) * 1e-3f;
    for (int r = 0; r < rounds; r++) {
#pragma unroll
        for (int u = 0; u < 16; u++)
#pragma unroll
            for (int k = 0; k < CHAINS; k++) asm volatile("ex2.approx.ftz.f32 %0, %0;" : "+f"(x[k]));
    }
    float s = 0;
#pragma unroll
    for (int k = 0; k < CHAINS; k++) s += x[k];
    if (s == -12345.0f) *sink = s;
}

// Matrix units without a library: warp-level products with operands in registers, four accumulators a warp. Below the
// warpgroup instructions' rate on Hopper; used where cuBLASLt is absent.
#if __CUDA_ARCH__ >= 800
#define MMA_OPERANDS                                                                                        \
    u32 a[4], b[2];                                                                                         \
    for (int k = 0; k < 4; k++) a[k] = operand ^ (threadIdx.x * 2654435761u & mask) ^ (u32)k;               \
    for (int k = 0; k < 2; k++) b[k] = operand ^ (threadIdx.x * 40503u & mask) ^ (u32)k;
#define MMA_KERNEL(name, instruction, T, constraint)                                                        \
    extern "C" __global__ void name(T *sink, int rounds, u32 operand, u32 mask) {                           \
        MMA_OPERANDS                                                                                        \
        T d[4][4] = {};                                                                                     \
        for (int r = 0; r < rounds; r++) {                                                                  \
            _Pragma("unroll") for (int u = 0; u < 4; u++) _Pragma("unroll") for (int k = 0; k < 4; k++)     \
                asm volatile(instruction " {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"           \
                             : constraint(d[k][0]), constraint(d[k][1]), constraint(d[k][2]),               \
                               constraint(d[k][3])                                                          \
                             : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));           \
        }                                                                                                   \
        T s = 0;                                                                                            \
        for (int k = 0; k < 4; k++) s += d[k][0] + d[k][1] + d[k][2] + d[k][3];                             \
        if (s == (T)-12345) *sink = s;                                                                      \
    }
MMA_KERNEL(kg_mma_bf16, "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32", float, "+f")
MMA_KERNEL(kg_mma_fp16, "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", float, "+f")
MMA_KERNEL(kg_mma_tf32, "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", float, "+f")
MMA_KERNEL(kg_mma_int8, "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32", int, "+r")
#endif
#if __CUDA_ARCH__ >= 890
MMA_KERNEL(kg_mma_fp8, "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32", float, "+f")
#endif

// Eight-bit floats for a product: normal values rounded down to e4m3's three fraction bits. Only rates depend on them.
extern "C" __global__ void kg_to_e4m3(const float *from, u8 *to, u64 n) {
    for (u64 i = thread_index(); i < n; i += thread_count()) {
        const u32 u = __float_as_uint(from[i]);
        int e = (int)(u >> 23 & 255) - 127 + 7;
        e = e < 0 ? 0 : e > 14 ? 14 : e;
        to[i] = (u8)(u >> 24 & 0x80 | (u32)e << 3 | (u >> 20 & 7));
    }
}
