// Compares our declarations in src/device/cuda/api/ with NVIDIA's own headers. Built only where they are installed; a
// mismatch does not compile.
#include <cublasLt.h>
#include <cuda.h>
#include <nvrtc.h>
#if __has_include(<cudnn.h>)
#include <cudnn.h>
#endif
#if __has_include(<cupti_pmsampling.h>)
#include <cupti_pmsampling.h>
#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_target.h>
#define HAVE_CUPTI
#endif

#include "device/cuda/api/cublaslt_abi.h"
#include "device/cuda/api/cuda_abi.h"
#include "device/cuda/api/cudnn.h"
#include "device/cuda/api/cupti_abi.h"

#define SAME_SIZE(a, b)       _Static_assert(sizeof(a) == sizeof(b), #a)
#define SAME(a, b)            _Static_assert((long long)(a) == (long long)(b), #a)
#define SAME_AT(a, fa, b, fb) _Static_assert(offsetof(a, fa) == offsetof(b, fb), #a "." #fa)

SAME_SIZE(kcu_result, CUresult);
SAME_SIZE(kcu_device, CUdevice);
SAME_SIZE(kcu_ptr, CUdeviceptr);
SAME_SIZE(kcu_mem_handle, CUmemGenericAllocationHandle);
SAME_SIZE(kcu_mem_location, CUmemLocation);
SAME_SIZE(kcu_mem_prop, CUmemAllocationProp);
SAME_AT(kcu_mem_prop, requested_handle_types, CUmemAllocationProp, requestedHandleTypes);
SAME_AT(kcu_mem_prop, location, CUmemAllocationProp, location);
SAME_AT(kcu_mem_prop, win32_meta, CUmemAllocationProp, win32HandleMetaData);
SAME_AT(kcu_mem_prop, flags, CUmemAllocationProp, allocFlags);
SAME_SIZE(kcu_mem_access, CUmemAccessDesc);
SAME_AT(kcu_mem_access, flags, CUmemAccessDesc, flags);

SAME(KCU_ERROR_OUT_OF_MEMORY, CUDA_ERROR_OUT_OF_MEMORY);
SAME(KCU_ERROR_DEINITIALIZED, CUDA_ERROR_DEINITIALIZED);
SAME(KCU_ERROR_NO_DEVICE, CUDA_ERROR_NO_DEVICE);
SAME(KCU_ERROR_NOT_READY, CUDA_ERROR_NOT_READY);
SAME(KCU_ATTR_WARP_SIZE, CU_DEVICE_ATTRIBUTE_WARP_SIZE);
SAME(KCU_ATTR_MULTIPROCESSOR_THREADS, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
SAME(KCU_ATTR_CLOCK_RATE, CU_DEVICE_ATTRIBUTE_CLOCK_RATE);
SAME(KCU_ATTR_MULTIPROCESSOR_COUNT, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
SAME(KCU_ATTR_L2_CACHE_SIZE, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
SAME(KCU_ATTR_CC_MAJOR, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
SAME(KCU_ATTR_CC_MINOR, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
SAME(KCU_ATTR_VMM_SUPPORTED, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED);
SAME(KCU_ATTR_POSIX_FD_SUPPORTED, CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED);
SAME(KCU_STREAM_NON_BLOCKING, CU_STREAM_NON_BLOCKING);
SAME(KCU_EVENT_DEFAULT, CU_EVENT_DEFAULT);
SAME(KCU_WAIT_VALUE_GEQ, CU_STREAM_WAIT_VALUE_GEQ);
SAME(KCU_WRITE_VALUE_DEFAULT, CU_STREAM_WRITE_VALUE_DEFAULT);
SAME(KCU_HOST_REGISTER_DEVICEMAP, CU_MEMHOSTREGISTER_DEVICEMAP);
SAME(KCU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER);
SAME(KCU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES);
SAME(KCU_FUNC_MAX_DYNAMIC_SHARED_SIZE_BYTES, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
SAME(KCU_MEM_ALLOCATION_PINNED, CU_MEM_ALLOCATION_TYPE_PINNED);
SAME(KCU_MEM_HANDLE_POSIX_FD, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
SAME(KCU_MEM_LOCATION_DEVICE, CU_MEM_LOCATION_TYPE_DEVICE);
SAME(KCU_MEM_GRANULARITY_MINIMUM, CU_MEM_ALLOC_GRANULARITY_MINIMUM);
SAME(KCU_MEM_ACCESS_READ, CU_MEM_ACCESS_FLAGS_PROT_READ);
SAME(KCU_MEM_ACCESS_READWRITE, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);

SAME_SIZE(klt_algo, cublasLtMatmulAlgo_t);
SAME_SIZE(klt_heuristic, cublasLtMatmulHeuristicResult_t);
SAME_AT(klt_heuristic, workspace, cublasLtMatmulHeuristicResult_t, workspaceSize);
SAME_AT(klt_heuristic, state, cublasLtMatmulHeuristicResult_t, state);
SAME(KLT_OP_T, CUBLAS_OP_T);
SAME(KLT_R_32F, CUDA_R_32F);
SAME(KLT_R_64F, CUDA_R_64F);
SAME(KLT_R_16F, CUDA_R_16F);
SAME(KLT_R_16BF, CUDA_R_16BF);
SAME(KLT_R_8I, CUDA_R_8I);
SAME(KLT_R_32I, CUDA_R_32I);
SAME(KLT_R_8F_E4M3, CUDA_R_8F_E4M3);
SAME(KLT_COMPUTE_32F, CUBLAS_COMPUTE_32F);
SAME(KLT_COMPUTE_32F_FAST_TF32, CUBLAS_COMPUTE_32F_FAST_TF32);
SAME(KLT_COMPUTE_64F, CUBLAS_COMPUTE_64F);
SAME(KLT_COMPUTE_32I, CUBLAS_COMPUTE_32I);
SAME(KLT_DESC_TRANSA, CUBLASLT_MATMUL_DESC_TRANSA);
SAME(KLT_DESC_A_SCALE_POINTER, CUBLASLT_MATMUL_DESC_A_SCALE_POINTER);
SAME(KLT_DESC_B_SCALE_POINTER, CUBLASLT_MATMUL_DESC_B_SCALE_POINTER);
SAME(KLT_DESC_FAST_ACCUM, CUBLASLT_MATMUL_DESC_FAST_ACCUM);
SAME(KLT_PREF_MAX_WORKSPACE_BYTES, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES);
SAME(KLT_DESC_TRANSB, CUBLASLT_MATMUL_DESC_TRANSB);
SAME(KLT_DESC_EPILOGUE, CUBLASLT_MATMUL_DESC_EPILOGUE);
SAME(KLT_DESC_BIAS_POINTER, CUBLASLT_MATMUL_DESC_BIAS_POINTER);
SAME(KLT_EPILOGUE_BIAS, CUBLASLT_EPILOGUE_BIAS);
SAME(KLT_LAYOUT_BATCH_COUNT, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT);
SAME(KLT_LAYOUT_BATCH_STEP, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET);
SAME(KLT_PREF_ALIGNMENT_A, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES);
SAME(KLT_PREF_ALIGNMENT_B, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES);
SAME(KLT_PREF_ALIGNMENT_C, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES);
SAME(KLT_PREF_ALIGNMENT_D, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES);

#ifdef CUDNN_VERSION
SAME_SIZE(kdn_perf, cudnnConvolutionFwdAlgoPerf_t);
SAME_AT(kdn_perf, algo, cudnnConvolutionFwdAlgoPerf_t, algo);
SAME_AT(kdn_perf, status, cudnnConvolutionFwdAlgoPerf_t, status);
SAME_AT(kdn_perf, milliseconds, cudnnConvolutionFwdAlgoPerf_t, time);
SAME_AT(kdn_perf, workspace, cudnnConvolutionFwdAlgoPerf_t, memory);
SAME_AT(kdn_perf, math, cudnnConvolutionFwdAlgoPerf_t, mathType);
SAME(KDN_FLOAT, CUDNN_DATA_FLOAT);
SAME(KDN_DOUBLE, CUDNN_DATA_DOUBLE);
SAME(KDN_HALF, CUDNN_DATA_HALF);
SAME(KDN_BFLOAT16, CUDNN_DATA_BFLOAT16);
SAME(KDN_NCHW, CUDNN_TENSOR_NCHW);
SAME(KDN_CROSS_CORRELATION, CUDNN_CROSS_CORRELATION);
SAME(KDN_DEFAULT_MATH, CUDNN_DEFAULT_MATH);
SAME(KDN_TENSOR_OP_MATH, CUDNN_TENSOR_OP_MATH);
SAME(KDN_FMA_MATH, CUDNN_FMA_MATH);
#endif

#ifdef HAVE_CUPTI
SAME(KCP_SIZE(kcp_initialize, priv), CUpti_Profiler_Initialize_Params_STRUCT_SIZE);
SAME_AT(kcp_initialize, priv, CUpti_Profiler_Initialize_Params, pPriv);
SAME(KCP_SIZE(kcp_chip, chip), CUpti_Device_GetChipName_Params_STRUCT_SIZE);
SAME_AT(kcp_chip, device, CUpti_Device_GetChipName_Params, deviceIndex);
SAME_AT(kcp_chip, chip, CUpti_Device_GetChipName_Params, pChipName);
SAME(KCP_SIZE(kcp_host_open, host), CUpti_Profiler_Host_Initialize_Params_STRUCT_SIZE);
SAME_AT(kcp_host_open, profiler, CUpti_Profiler_Host_Initialize_Params, profilerType);
SAME_AT(kcp_host_open, chip, CUpti_Profiler_Host_Initialize_Params, pChipName);
SAME_AT(kcp_host_open, availability, CUpti_Profiler_Host_Initialize_Params, pCounterAvailabilityImage);
SAME_AT(kcp_host_open, host, CUpti_Profiler_Host_Initialize_Params, pHostObject);
SAME(KCP_SIZE(kcp_host_close, host), CUpti_Profiler_Host_Deinitialize_Params_STRUCT_SIZE);
SAME_AT(kcp_host_close, host, CUpti_Profiler_Host_Deinitialize_Params, pHostObject);
SAME(KCP_SIZE(kcp_add_metrics, n), CUpti_Profiler_Host_ConfigAddMetrics_Params_STRUCT_SIZE);
SAME_AT(kcp_add_metrics, host, CUpti_Profiler_Host_ConfigAddMetrics_Params, pHostObject);
SAME_AT(kcp_add_metrics, metrics, CUpti_Profiler_Host_ConfigAddMetrics_Params, ppMetricNames);
SAME_AT(kcp_add_metrics, n, CUpti_Profiler_Host_ConfigAddMetrics_Params, numMetrics);
SAME(KCP_SIZE(kcp_image_size, bytes), CUpti_Profiler_Host_GetConfigImageSize_Params_STRUCT_SIZE);
SAME_AT(kcp_image_size, bytes, CUpti_Profiler_Host_GetConfigImageSize_Params, configImageSize);
SAME(KCP_SIZE(kcp_image, image), CUpti_Profiler_Host_GetConfigImage_Params_STRUCT_SIZE);
SAME_AT(kcp_image, bytes, CUpti_Profiler_Host_GetConfigImage_Params, configImageSize);
SAME_AT(kcp_image, image, CUpti_Profiler_Host_GetConfigImage_Params, pConfigImage);
SAME(KCP_SIZE(kcp_passes, passes), CUpti_Profiler_Host_GetNumOfPasses_Params_STRUCT_SIZE);
SAME_AT(kcp_passes, bytes, CUpti_Profiler_Host_GetNumOfPasses_Params, configImageSize);
SAME_AT(kcp_passes, image, CUpti_Profiler_Host_GetNumOfPasses_Params, pConfigImage);
SAME_AT(kcp_passes, passes, CUpti_Profiler_Host_GetNumOfPasses_Params, numOfPasses);
SAME(KCP_SIZE(kcp_evaluate, values), CUpti_Profiler_Host_EvaluateToGpuValues_Params_STRUCT_SIZE);
SAME_AT(kcp_evaluate, data, CUpti_Profiler_Host_EvaluateToGpuValues_Params, pCounterDataImage);
SAME_AT(kcp_evaluate, bytes, CUpti_Profiler_Host_EvaluateToGpuValues_Params, counterDataImageSize);
SAME_AT(kcp_evaluate, sample, CUpti_Profiler_Host_EvaluateToGpuValues_Params, rangeIndex);
SAME_AT(kcp_evaluate, metrics, CUpti_Profiler_Host_EvaluateToGpuValues_Params, ppMetricNames);
SAME_AT(kcp_evaluate, n, CUpti_Profiler_Host_EvaluateToGpuValues_Params, numMetrics);
SAME_AT(kcp_evaluate, values, CUpti_Profiler_Host_EvaluateToGpuValues_Params, pMetricValues);
SAME(KCP_SIZE(kcp_availability, image), CUpti_PmSampling_GetCounterAvailability_Params_STRUCT_SIZE);
SAME_AT(kcp_availability, device, CUpti_PmSampling_GetCounterAvailability_Params, deviceIndex);
SAME_AT(kcp_availability, bytes, CUpti_PmSampling_GetCounterAvailability_Params, counterAvailabilityImageSize);
SAME_AT(kcp_availability, image, CUpti_PmSampling_GetCounterAvailability_Params, pCounterAvailabilityImage);
SAME(KCP_SIZE(kcp_enable, sampling), CUpti_PmSampling_Enable_Params_STRUCT_SIZE);
SAME_AT(kcp_enable, device, CUpti_PmSampling_Enable_Params, deviceIndex);
SAME_AT(kcp_enable, sampling, CUpti_PmSampling_Enable_Params, pPmSamplingObject);
SAME(KCP_SIZE(kcp_sampler, sampling), CUpti_PmSampling_Disable_Params_STRUCT_SIZE);
SAME_AT(kcp_sampler, sampling, CUpti_PmSampling_Disable_Params, pPmSamplingObject);
SAME(KCP_SIZE(kcp_sampler, sampling), CUpti_PmSampling_Start_Params_STRUCT_SIZE);
SAME_AT(kcp_sampler, sampling, CUpti_PmSampling_Start_Params, pPmSamplingObject);
SAME(KCP_SIZE(kcp_sampler, sampling), CUpti_PmSampling_Stop_Params_STRUCT_SIZE);
SAME_AT(kcp_sampler, sampling, CUpti_PmSampling_Stop_Params, pPmSamplingObject);
SAME(KCP_SIZE(kcp_configure, append), CUpti_PmSampling_SetConfig_Params_STRUCT_SIZE);
SAME_AT(kcp_configure, bytes, CUpti_PmSampling_SetConfig_Params, configSize);
SAME_AT(kcp_configure, image, CUpti_PmSampling_SetConfig_Params, pConfig);
SAME_AT(kcp_configure, buffer_bytes, CUpti_PmSampling_SetConfig_Params, hardwareBufferSize);
SAME_AT(kcp_configure, interval, CUpti_PmSampling_SetConfig_Params, samplingInterval);
SAME_AT(kcp_configure, trigger, CUpti_PmSampling_SetConfig_Params, triggerMode);
SAME_AT(kcp_configure, append, CUpti_PmSampling_SetConfig_Params, hwBufferAppendMode);
SAME(KCP_SIZE(kcp_data_size, bytes), CUpti_PmSampling_GetCounterDataSize_Params_STRUCT_SIZE);
SAME_AT(kcp_data_size, metrics, CUpti_PmSampling_GetCounterDataSize_Params, pMetricNames);
SAME_AT(kcp_data_size, n, CUpti_PmSampling_GetCounterDataSize_Params, numMetrics);
SAME_AT(kcp_data_size, most_samples, CUpti_PmSampling_GetCounterDataSize_Params, maxSamples);
SAME_AT(kcp_data_size, bytes, CUpti_PmSampling_GetCounterDataSize_Params, counterDataSize);
SAME(KCP_SIZE(kcp_data_clear, data), CUpti_PmSampling_CounterDataImage_Initialize_Params_STRUCT_SIZE);
SAME_AT(kcp_data_clear, bytes, CUpti_PmSampling_CounterDataImage_Initialize_Params, counterDataSize);
SAME_AT(kcp_data_clear, data, CUpti_PmSampling_CounterDataImage_Initialize_Params, pCounterData);
SAME(KCP_SIZE(kcp_decode, overflow), CUpti_PmSampling_DecodeData_Params_STRUCT_SIZE);
SAME_AT(kcp_decode, data, CUpti_PmSampling_DecodeData_Params, pCounterDataImage);
SAME_AT(kcp_decode, bytes, CUpti_PmSampling_DecodeData_Params, counterDataImageSize);
SAME_AT(kcp_decode, stop_reason, CUpti_PmSampling_DecodeData_Params, decodeStopReason);
SAME_AT(kcp_decode, overflow, CUpti_PmSampling_DecodeData_Params, overflow);
SAME(KCP_SIZE(kcp_data_info, completed), CUpti_PmSampling_GetCounterDataInfo_Params_STRUCT_SIZE);
SAME_AT(kcp_data_info, data, CUpti_PmSampling_GetCounterDataInfo_Params, pCounterDataImage);
SAME_AT(kcp_data_info, total, CUpti_PmSampling_GetCounterDataInfo_Params, numTotalSamples);
SAME_AT(kcp_data_info, completed, CUpti_PmSampling_GetCounterDataInfo_Params, numCompletedSamples);
SAME(KCP_SIZE(kcp_sample_info, end), CUpti_PmSampling_CounterData_GetSampleInfo_Params_STRUCT_SIZE);
SAME_AT(kcp_sample_info, data, CUpti_PmSampling_CounterData_GetSampleInfo_Params, pCounterDataImage);
SAME_AT(kcp_sample_info, sample, CUpti_PmSampling_CounterData_GetSampleInfo_Params, sampleIndex);
SAME_AT(kcp_sample_info, start, CUpti_PmSampling_CounterData_GetSampleInfo_Params, startTimestamp);
SAME_AT(kcp_sample_info, end, CUpti_PmSampling_CounterData_GetSampleInfo_Params, endTimestamp);
SAME(KCP_PM_SAMPLING, CUPTI_PROFILER_TYPE_PM_SAMPLING);
SAME(KCP_TRIGGER_SYSCLK, CUPTI_PM_SAMPLING_TRIGGER_MODE_GPU_SYSCLK_INTERVAL);
SAME(KCP_TRIGGER_TIME, CUPTI_PM_SAMPLING_TRIGGER_MODE_GPU_TIME_INTERVAL);
SAME(KCP_KEEP_OLDEST, CUPTI_PM_SAMPLING_HARDWARE_BUFFER_APPEND_MODE_KEEP_OLDEST);
SAME(KCP_DECODE_FULL, CUPTI_PM_SAMPLING_DECODE_STOP_REASON_COUNTER_DATA_FULL);
#endif
