/* What a C or CUDA C++ kernel for kgate includes: <kgate/kernel.h>.
 *
 * A kernel is one function with the task's name, which gets the task's parameters in order and then its outputs,
 * already allocated (destination passing), and for CUDA the stream to launch on:
 *
 *     int softmax(const DLTensor *input, int64_t dim, const char *dtype, DLTensor *out);
 *     extern "C" int softmax(const DLTensor *input, int64_t dim, const char *dtype, DLTensor *out, cudaStream_t s);
 *
 * Tensors are DLPack's struct: data, shape, strides in elements (NULL: contiguous), dtype. Optional values are
 * pointers, NULL for None. Return 0; anything else is reported as a failed call. `kgate task show NAME` prints a
 * task's exact prototype.
 */
#ifndef KGATE_KERNEL_H
#define KGATE_KERNEL_H

#include <stdint.h>
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
typedef struct { DLDeviceType device_type; int device_id; } DLDevice;
typedef enum { kDLInt = 0U, kDLUInt = 1U, kDLFloat = 2U, kDLOpaqueHandle = 3U, kDLBfloat = 4U, kDLComplex = 5U, kDLBool = 6U } DLDataTypeCode;
typedef struct { uint8_t code; uint8_t bits; uint16_t lanes; } DLDataType;
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

typedef struct { int64_t n; const int64_t *v; } kg_ints;   /* an int or tuple of ints */
typedef struct { int64_t n; const double *v; } kg_floats;  /* a tuple of floats */

static inline int64_t kg_elements(const DLTensor *t) {
    int64_t n = 1;
    for (int i = 0; i < t->ndim; i++) n *= t->shape[i];
    return n;
}
/* Storage offset, in elements, of the element with this row-major index. */
static inline int64_t kg_element(const DLTensor *t, int64_t index) {
    int64_t at = 0;
    if (!t->strides) return index;
    for (int i = t->ndim - 1; i >= 0; i--) {
        at += index % t->shape[i] * t->strides[i];
        index /= t->shape[i];
    }
    return at;
}
static inline bool kg_contiguous(const DLTensor *t) {
    int64_t n = 1;
    if (!t->strides) return true;
    for (int i = t->ndim - 1; i >= 0; i--) {
        if (t->shape[i] != 1 && t->strides[i] != n) return false;
        n *= t->shape[i];
    }
    return true;
}
#endif
