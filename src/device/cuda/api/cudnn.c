#include "device/cuda/api/cudnn.h"

#include "device/cuda/api/library.h"

int kg_cudnn_open(kg_cudnn_api *a, kg_error *err) {
    static const char *const names[] = {"libcudnn.so.9", "libcudnn.so.8", "libcudnn.so", NULL};
    void *library;
    if (kg_cuda_library_open(names, &library, err) != 0) return -1;
    const kg_cuda_symbol symbols[] = {
        {&a->version, "cudnnGetVersion"},
        {&a->create, "cudnnCreate"},
        {&a->destroy, "cudnnDestroy"},
        {&a->tensor_create, "cudnnCreateTensorDescriptor"},
        {&a->tensor_destroy, "cudnnDestroyTensorDescriptor"},
        {&a->tensor_set, "cudnnSetTensorNdDescriptor"},
        {&a->filter_create, "cudnnCreateFilterDescriptor"},
        {&a->filter_destroy, "cudnnDestroyFilterDescriptor"},
        {&a->filter_set, "cudnnSetFilterNdDescriptor"},
        {&a->conv_create, "cudnnCreateConvolutionDescriptor"},
        {&a->conv_destroy, "cudnnDestroyConvolutionDescriptor"},
        {&a->conv_set, "cudnnSetConvolutionNdDescriptor"},
        {&a->conv_set_groups, "cudnnSetConvolutionGroupCount"},
        {&a->conv_set_math, "cudnnSetConvolutionMathType"},
        {&a->find, "cudnnFindConvolutionForwardAlgorithmEx"},
        {&a->convolve, "cudnnConvolutionForward"},
        {&a->add, "cudnnAddTensor"},
    };
    return kg_cuda_library_resolve(library, "libcudnn", symbols, sizeof symbols / sizeof *symbols, err);
}
