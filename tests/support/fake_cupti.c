// A CUPTI that has written five samples, under CUPTI's names; FAKE_CUPTI says what is wrong with it (test_counters.c).
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "device/cuda/api/cupti.h"

#define SAMPLES 5
#define AT_ONCE 2

static struct {
    const char *metrics[8];
    size_t n, decoded, first, here;
    int enables;
} now;

static bool is(const char *what) {
    const char *how = getenv("FAKE_CUPTI");
    return how && strcmp(how, what) == 0;
}

#define FAKE(name, symbol, params)          \
    kcp_result name params __asm__(symbol); \
    kcp_result name params

FAKE(result_name, "cuptiGetResultString", (kcp_result r, const char **text)) { return *text = "FAKE_ERROR", r == 0; }
FAKE(initialize, "cuptiProfilerInitialize", (kcp_initialize * p)) { return 0; }
FAKE(chip_name, "cuptiDeviceGetChipName", (kcp_chip * p)) { return p->chip = "GF100", 0; }
FAKE(availability, "cuptiPmSamplingGetCounterAvailability", (kcp_availability * p)) { return p->bytes = 16, 0; }

FAKE(host_open, "cuptiProfilerHostInitialize", (kcp_host_open * p)) { return p->host = (kcp_host)&now, 0; }
FAKE(host_close, "cuptiProfilerHostDeinitialize", (kcp_host_close * p)) { return 0; }
FAKE(add_metrics, "cuptiProfilerHostConfigAddMetrics", (kcp_add_metrics * p)) {
    now.n = p->n;
    memcpy(now.metrics, p->metrics, p->n * sizeof *p->metrics);
    return 0;
}
FAKE(image_size, "cuptiProfilerHostGetConfigImageSize", (kcp_image_size * p)) { return p->bytes = 16, 0; }
FAKE(image, "cuptiProfilerHostGetConfigImage", (kcp_image * p)) { return memset(p->image, 1, p->bytes), 0; }
FAKE(passes, "cuptiProfilerHostGetNumOfPasses", (kcp_passes * p)) { return p->passes = 1, 0; }

FAKE(enable, "cuptiPmSamplingEnable", (kcp_enable * p)) {
    p->sampling = (kcp_sampling)&now;
    return is("forbidden") || (is("wants-context") && now.enables++ == 0) ? 35 : 0;
}
FAKE(disable, "cuptiPmSamplingDisable", (kcp_sampler * p)) { return 0; }
FAKE(configure, "cuptiPmSamplingSetConfig", (kcp_configure * p)) { return is("one-set") && now.n > 2 ? 8 : 0; }
FAKE(start, "cuptiPmSamplingStart", (kcp_sampler * p)) { return now.decoded = 0, 0; }
FAKE(stop, "cuptiPmSamplingStop", (kcp_sampler * p)) { return 0; }
FAKE(data_size, "cuptiPmSamplingGetCounterDataSize", (kcp_data_size * p)) { return p->bytes = 64, 0; }
FAKE(data_clear, "cuptiPmSamplingCounterDataImageInitialize", (kcp_data_clear * p)) { return 0; }
FAKE(decode, "cuptiPmSamplingDecodeData", (kcp_decode * p)) {
    if (is("crashes")) abort();
    if (is("hangs")) sleep(60);
    const size_t left = is("empty") ? 0 : SAMPLES - now.decoded;
    now.first = now.decoded;
    now.here = left < AT_ONCE ? left : AT_ONCE;
    now.decoded += now.here;
    p->stop_reason = left > AT_ONCE ? KCP_DECODE_FULL : KCP_DECODE_FULL + 1;
    p->overflow = is("lost");
    return 0;
}
FAKE(data_info, "cuptiPmSamplingGetCounterDataInfo", (kcp_data_info * p)) { return p->completed = now.here, 0; }
FAKE(sample_info, "cuptiPmSamplingCounterDataGetSampleInfo", (kcp_sample_info * p)) {
    const size_t i = now.first + p->sample;
    p->start = 1000 * i;
    p->end = i ? p->start + 1000 : UINT64_MAX;
    return 0;
}
FAKE(evaluate, "cuptiProfilerHostEvaluateToGpuValues", (kcp_evaluate * p)) {
    const size_t i = now.first + p->sample;
    for (size_t k = 0; k < p->n; k++) {
        const char *m = p->metrics[k];
        double v = strstr(m, "dram")      ? 1e6
                   : strstr(m, "sectors") ? (i % 2 ? 250000 : NAN)
                   : strstr(m, "warps")   ? 128
                                          : 16;
        p->values[k] = i ? v : 1e18;
    }
    return 0;
}
