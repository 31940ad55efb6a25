// CUPTI, opened when present. Not in a process that times anything: once it is there, kernels of some microseconds read
// 2 to 3 % low (an H200, driver 580).
#ifndef KG_CUPTI_H
#define KG_CUPTI_H

#include "base/base.h"
#include "device/cuda/api/cupti_abi.h"

// KG_CUPTI_FN(name in the table, exported symbol, parameters)
#define KG_CUPTI_FUNCTIONS(KG_CUPTI_FN)                                                      \
    KG_CUPTI_FN(result_name, "cuptiGetResultString", (kcp_result r, const char **text))      \
    KG_CUPTI_FN(initialize, "cuptiProfilerInitialize", (kcp_initialize *))                   \
    KG_CUPTI_FN(chip_name, "cuptiDeviceGetChipName", (kcp_chip *))                           \
    KG_CUPTI_FN(host_open, "cuptiProfilerHostInitialize", (kcp_host_open *))                 \
    KG_CUPTI_FN(host_close, "cuptiProfilerHostDeinitialize", (kcp_host_close *))             \
    KG_CUPTI_FN(add_metrics, "cuptiProfilerHostConfigAddMetrics", (kcp_add_metrics *))       \
    KG_CUPTI_FN(image_size, "cuptiProfilerHostGetConfigImageSize", (kcp_image_size *))       \
    KG_CUPTI_FN(image, "cuptiProfilerHostGetConfigImage", (kcp_image *))                     \
    KG_CUPTI_FN(passes, "cuptiProfilerHostGetNumOfPasses", (kcp_passes *))                   \
    KG_CUPTI_FN(evaluate, "cuptiProfilerHostEvaluateToGpuValues", (kcp_evaluate *))          \
    KG_CUPTI_FN(availability, "cuptiPmSamplingGetCounterAvailability", (kcp_availability *)) \
    KG_CUPTI_FN(enable, "cuptiPmSamplingEnable", (kcp_enable *))                             \
    KG_CUPTI_FN(disable, "cuptiPmSamplingDisable", (kcp_sampler *))                          \
    KG_CUPTI_FN(configure, "cuptiPmSamplingSetConfig", (kcp_configure *))                    \
    KG_CUPTI_FN(start, "cuptiPmSamplingStart", (kcp_sampler *))                              \
    KG_CUPTI_FN(stop, "cuptiPmSamplingStop", (kcp_sampler *))                                \
    KG_CUPTI_FN(data_size, "cuptiPmSamplingGetCounterDataSize", (kcp_data_size *))           \
    KG_CUPTI_FN(data_clear, "cuptiPmSamplingCounterDataImageInitialize", (kcp_data_clear *)) \
    KG_CUPTI_FN(decode, "cuptiPmSamplingDecodeData", (kcp_decode *))                         \
    KG_CUPTI_FN(data_info, "cuptiPmSamplingGetCounterDataInfo", (kcp_data_info *))           \
    KG_CUPTI_FN(sample_info, "cuptiPmSamplingCounterDataGetSampleInfo", (kcp_sample_info *))

typedef struct {
#define KG_CUPTI_FIELD(name, symbol, params) kcp_result(*name) params;
    KG_CUPTI_FUNCTIONS(KG_CUPTI_FIELD)
#undef KG_CUPTI_FIELD
} kg_cupti_api;

// KG_ERR_CANNOT when there is none here, or one older than CUDA 12.6, which cannot sample. It stays open.
int kg_cupti_open(kg_cupti_api *a, kg_error *err);
// 0 when r is success; else fails with "what: CUPTI_ERROR_...".
int kg_cupti_check(const kg_cupti_api *a, kcp_result r, const char *what, kg_error *err);

#endif
