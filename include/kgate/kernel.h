/* What a C or CUDA C++ kernel for kgate includes: <kgate/kernel.h>.
 *
 * A kernel is one function with the task's name, which gets the task's parameters in order and then its outputs,
 * already allocated (destination passing), and for CUDA the stream to launch on:
 *
 *     int softmax(const DLTensor *input, int64_t dim, const char *dtype, DLTensor *out);
 *     extern "C" int softmax(const DLTensor *input, int64_t dim, const char *dtype, DLTensor *out, cudaStream_t s);
 *
 * Tensors are DLPack's struct: data, shape, strides in elements (NULL: contiguous), dtype. Optional values are
 * pointers, NULL for None. A Number where a tensor may stand comes as a 0-dimensional float64 tensor whose data lies
 * in host memory (device.device_type == kDLCPU), on CUDA too: kg_number() reads it. Return 0; anything else is
 * reported as a failed call. `kgate task show NAME` prints a task's exact prototype.
 *
 * Everything below works on the host and inside CUDA kernels.
 */
#ifndef KGATE_KERNEL_H
#define KGATE_KERNEL_H

#ifdef __CUDACC_RTC__
typedef signed char int8_t;
typedef unsigned char uint8_t;
typedef short int16_t;
typedef unsigned short uint16_t;
typedef int int32_t;
typedef unsigned int uint32_t;
typedef long long int64_t;
typedef unsigned long long uint64_t;
#else
#include <stdint.h>
#endif
#ifndef __cplusplus
#include <stdbool.h>
#endif

#ifndef DLPACK_DLPACK_H_
/* DLPack 0.6 (dmlc/dlpack), the part a kernel reads. Layout is fixed by that standard. */
#define DLPACK_DLPACK_H_
#ifdef __cplusplus
extern "C" {
#endif
typedef enum { kDLCPU = 1, kDLCUDA = 2, kDLCUDAHost = 3, kDLOpenCL = 4 } DLDeviceType;
typedef struct {
    DLDeviceType device_type;
    int device_id;
} DLDevice;
typedef enum {
    kDLInt = 0U,
    kDLUInt = 1U,
    kDLFloat = 2U,
    kDLOpaqueHandle = 3U,
    kDLBfloat = 4U,
    kDLComplex = 5U,
    kDLBool = 6U
} DLDataTypeCode;
typedef struct {
    uint8_t code;
    uint8_t bits;
    uint16_t lanes;
} DLDataType;
typedef struct {
    void *data;
    DLDevice device;
    int ndim;
    DLDataType dtype;
    int64_t *shape;
    int64_t *strides;
    uint64_t byte_offset;
} DLTensor;
#ifdef __cplusplus
}
#endif
#endif

typedef struct {
    int64_t n;
    const int64_t *v;
} kg_ints; /* an int or tuple of ints */
typedef struct {
    int64_t n;
    const double *v;
} kg_floats; /* a tuple of floats */

#ifdef __CUDACC__
#define KG_DEVICE_FN __host__ __device__ inline
#else
#define KG_DEVICE_FN static inline
#endif

/* ---- shapes ---- */
KG_DEVICE_FN int64_t kg_elements(const DLTensor *t) {
    int64_t n = 1;
    for (int i = 0; i < t->ndim; i++) n *= t->shape[i];
    return n;
}
/* Length of dimension `dim`, which may count from the end; 1 for a 0-dimensional tensor. */
KG_DEVICE_FN int64_t kg_dim(const DLTensor *t, int64_t dim) {
    return t->ndim == 0 ? 1 : t->shape[dim < 0 ? dim + t->ndim : dim];
}
/* Stride of dimension `dim`, in elements. */
KG_DEVICE_FN int64_t kg_stride(const DLTensor *t, int64_t dim) {
    int64_t n = 1;
    if (t->ndim == 0) return 1;
    if (dim < 0) dim += t->ndim;
    if (t->strides) return t->strides[dim];
    for (int i = t->ndim - 1; i > dim; i--) n *= t->shape[i];
    return n;
}
/* Storage offset, in elements, of the element with this row-major index. */
KG_DEVICE_FN int64_t kg_element(const DLTensor *t, int64_t index) {
    int64_t at = 0;
    if (!t->strides) return index;
    for (int i = t->ndim - 1; i >= 0; i--) {
        at += index % t->shape[i] * t->strides[i];
        index /= t->shape[i];
    }
    return at;
}
KG_DEVICE_FN bool kg_contiguous(const DLTensor *t) {
    int64_t n = 1;
    if (!t->strides) return true;
    for (int i = t->ndim - 1; i >= 0; i--) {
        if (t->shape[i] != 1 && t->strides[i] != n) return false;
        n *= t->shape[i];
    }
    return true;
}
/* Storage offset of the element of t that meets element `index` (row-major) of `shaped` under broadcasting. */
KG_DEVICE_FN int64_t kg_broadcast_element(const DLTensor *t, const DLTensor *shaped, int64_t index) {
    int64_t at = 0;
    for (int i = shaped->ndim - 1, k = t->ndim - 1; i >= 0 && k >= 0; i--, k--) {
        if (t->shape[k] != 1) at += index % shaped->shape[i] * kg_stride(t, k);
        index /= shaped->shape[i];
    }
    return at;
}
/* Storage offset of the first element of line `line` along `dim`: lines are counted row-major over the other
 * dimensions. Step along the line with kg_stride(t, dim). */
KG_DEVICE_FN int64_t kg_line(const DLTensor *t, int64_t dim, int64_t line) {
    int64_t at = 0;
    if (dim < 0) dim += t->ndim;
    for (int i = t->ndim - 1; i >= 0; i--) {
        if (i == dim) continue;
        at += line % t->shape[i] * kg_stride(t, i);
        line /= t->shape[i];
    }
    return at;
}

/* ---- elements: any dtype to and from double; slow, for first versions and odd cases ---- */
KG_DEVICE_FN double kg_half_to_double(uint16_t h) {
    const int e = h >> 10 & 31;
    const uint64_t sign = (uint64_t)(h >> 15) << 63;
    union {
        uint64_t u;
        double d;
    } x;
    if (e == 0) { /* zero and denormals: m * 2^-24 */
        x.d = (double)(h & 1023) * (1.0 / 16777216.0);
        x.u |= sign;
    } else {
        x.u = sign | (uint64_t)(e == 31 ? 2047 : e - 15 + 1023) << 52 | (uint64_t)(h & 1023) << 42;
    }
    return x.d;
}
KG_DEVICE_FN double kg_bfloat_to_double(uint16_t h) {
    union {
        uint32_t u;
        float f;
    } x;
    x.u = (uint32_t)h << 16;
    return (double)x.f;
}
/* Rounds to nearest even onto a format of `bits` fraction bits and least exponent `emin`, largest exponent `emax`. */
KG_DEVICE_FN uint16_t kg_double_to_16(double v, int bits, int emin, int emax) {
    union {
        double d;
        uint64_t u;
    } x;
    x.d = v;
    const uint16_t sign = (uint16_t)(x.u >> 48 & 0x8000);
    const uint64_t mag = x.u & 0x7fffffffffffffffull, inf = 0x7ff0000000000000ull;
    const uint16_t inf16 = (uint16_t)((emax - emin + 2) << bits);
    if (mag > inf) return (uint16_t)(sign | inf16 | 1 << (bits - 1));
    const int e = (int)(mag >> 52) - 1023;
    if (e > emax) return (uint16_t)(sign | inf16);
    if (e < emin - bits - 1) return sign;
    const int shift = 52 - bits + (e < emin ? emin - e : 0);
    const uint64_t m = (mag & 0xfffffffffffffull) | 1ull << 52;
    uint64_t q = m >> shift;
    const uint64_t rest = m & ((1ull << shift) - 1), half = 1ull << (shift - 1);
    if (rest > half || (rest == half && (q & 1))) q++;
    /* the hidden bit adds one to the exponent field, and so does a carry out of the fraction */
    return (uint16_t)(sign | (uint16_t)(q + (e < emin ? 0 : (uint64_t)(e - emin) << bits)));
}
KG_DEVICE_FN double kg_get_at(const DLTensor *t, int64_t at) {
    const char *p = (const char *)t->data + t->byte_offset + at * (t->dtype.bits / 8);
    switch (t->dtype.code) {
    case kDLFloat:
        if (t->dtype.bits == 64) return *(const double *)p;
        if (t->dtype.bits == 32) return (double)*(const float *)p;
        return kg_half_to_double(*(const uint16_t *)p);
    case kDLBfloat: return kg_bfloat_to_double(*(const uint16_t *)p);
    case kDLInt:
        if (t->dtype.bits == 64) return (double)*(const int64_t *)p;
        if (t->dtype.bits == 32) return *(const int32_t *)p;
        if (t->dtype.bits == 16) return *(const int16_t *)p;
        return *(const int8_t *)p;
    case kDLComplex: return t->dtype.bits == 128 ? *(const double *)p : (double)*(const float *)p; /* the real part */
    default: return *(const uint8_t *)p;
    }
}
KG_DEVICE_FN void kg_put_at(DLTensor *t, int64_t at, double v) {
    char *p = (char *)t->data + t->byte_offset + at * (t->dtype.bits / 8);
    switch (t->dtype.code) {
    case kDLFloat:
        if (t->dtype.bits == 64) *(double *)p = v;
        else if (t->dtype.bits == 32) *(float *)p = (float)v;
        else *(uint16_t *)p = kg_double_to_16(v, 10, -14, 15);
        return;
    case kDLBfloat: *(uint16_t *)p = kg_double_to_16(v, 7, -126, 127); return;
    case kDLInt:
        if (t->dtype.bits == 64) *(int64_t *)p = (int64_t)v;
        else if (t->dtype.bits == 32) *(int32_t *)p = (int32_t)v;
        else if (t->dtype.bits == 16) *(int16_t *)p = (int16_t)v;
        else *(int8_t *)p = (int8_t)v;
        return;
    default: *(uint8_t *)p = t->dtype.code == kDLBool ? v != 0 : (uint8_t)v;
    }
}
/* Complex elements; a real one has the imaginary part 0. */
KG_DEVICE_FN void kg_get_complex_at(const DLTensor *t, int64_t at, double *re, double *im) {
    const char *p = (const char *)t->data + t->byte_offset + at * (t->dtype.bits / 8);
    *re = kg_get_at(t, at);
    *im = 0;
    if (t->dtype.code == kDLComplex)
        *im = t->dtype.bits == 128 ? ((const double *)p)[1] : (double)((const float *)p)[1];
}
KG_DEVICE_FN void kg_put_complex_at(DLTensor *t, int64_t at, double re, double im) {
    char *p = (char *)t->data + t->byte_offset + at * (t->dtype.bits / 8);
    if (t->dtype.bits == 128) {
        ((double *)p)[0] = re;
        ((double *)p)[1] = im;
    } else {
        ((float *)p)[0] = (float)re;
        ((float *)p)[1] = (float)im;
    }
}
KG_DEVICE_FN double kg_get(const DLTensor *t, int64_t index) { return kg_get_at(t, kg_element(t, index)); }
KG_DEVICE_FN void kg_put(DLTensor *t, int64_t index, double v) { kg_put_at(t, kg_element(t, index), v); }
/* Element of t that meets element `index` of `shaped` under broadcasting; a Number meets every element. */
KG_DEVICE_FN double kg_get_broadcast(const DLTensor *t, const DLTensor *shaped, int64_t index) {
    return kg_get_at(t, kg_broadcast_element(t, shaped, index));
}
/* Value of a Number (a 0-dimensional tensor in host memory; inside CUDA skeletons already on the device). */
KG_DEVICE_FN double kg_number(const DLTensor *t) { return kg_get_at(t, 0); }

/* ---- random numbers ---- */
KG_DEVICE_FN uint64_t kg_mix(uint64_t z) {
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ z >> 27) * 0x94d049bb133111ebull;
    return z ^ z >> 31;
}
/* Number i of the stream `seed`, uniform on [0, 1) with 53 bits (SplitMix64: Steele, Lea, Flood, OOPSLA 2014). Random
 * tasks give a kernel a parameter `seed`, another number at every call. */
KG_DEVICE_FN double kg_uniform(int64_t seed, int64_t i) {
    const uint64_t z = kg_mix(kg_mix((uint64_t)seed) + 0x9e3779b97f4a7c15ull * ((uint64_t)i + 1));
    return (double)(int64_t)(z >> 11) * (1.0 / 9007199254740992.0);
}

/* ---- texts ---- */
KG_DEVICE_FN bool kg_same(const char *a, const char *b) {
    if (!a || !b) return a == b;
    while (*a && *a == *b) a++, b++;
    return *a == *b;
}
#endif
