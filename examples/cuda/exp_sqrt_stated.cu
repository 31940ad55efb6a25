// kgate: task=exp_sqrt
// kgate: launch kernel=exp_sqrt grid=min(ceildiv(numel(out),256),65536) block=256 args=input,out,i64(numel(out)),i32(code(input)),i32(bits(input)),i64(size(input,-1)),i64(size(input,-2)),i64(size(input,-3)),i64(size(input,-4)),i64(size(input,-5)),i64(stride(input,-1)),i64(stride(input,-2)),i64(stride(input,-3)),i64(stride(input,-4)),i64(stride(input,-5)),i64(stride(input,-6))
//
// A kernel without a host function: the comment above says how it is launched, so NVRTC can build it where there is no
// nvcc. Dimensions are counted from the end; those that a tensor lacks have size 1 and stride 0. The root of the
// exponential is taken as exp(x/2), which does not overflow half-way.
#include <kgate/kernel.h>

extern "C" __global__ void exp_sqrt(void *input, void *out, int64_t n, int code, int bits, int64_t n1, int64_t n2, int64_t n3,
                                    int64_t n4, int64_t n5, int64_t s1, int64_t s2, int64_t s3, int64_t s4, int64_t s5,
                                    int64_t s6) {
    DLTensor from = {}, to = {};
    from.data = input;
    from.dtype.code = (uint8_t)code;
    from.dtype.bits = (uint8_t)bits;
    to = from;
    to.data = out;
    if (code != kDLFloat && code != kDLBfloat) to.dtype.code = kDLFloat, to.dtype.bits = 32;  // integers give float32
    const bool plain = code == kDLFloat && bits == 32;
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (int64_t)gridDim.x * blockDim.x) {
        int64_t rest = i, at = i * s1;
        if (n1 != n) {
            at = rest % n1 * s1;
            rest /= n1, at += rest % n2 * s2;
            rest /= n2, at += rest % n3 * s3;
            rest /= n3, at += rest % n4 * s4;
            rest /= n4, at += rest % n5 * s5;
            rest /= n5, at += rest * s6;
        }
        if (plain) ((float *)out)[i] = expf(0.5f * ((const float *)input)[at]);
        else kg_put_at(&to, i, exp(0.5 * kg_get_at(&from, at)));
    }
}
