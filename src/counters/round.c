// One round of counting: the device writes a record at every interval, which the host reads when the work is done.
// Order of the calls as in CUPTI's sample pm_sampling; each round enables sampling anew, because a configuration that
// is changed in place crashes when it is decoded.
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "counters/counters.h"

#define BUFFER_BYTES ((size_t)256 << 20)  // of raw records: some 10 KB each
#define MOST_SAMPLES 2048                 // decoded at a time
#define MOST_DECODES 64

typedef struct {
    const kg_plan *p;
    const kg_round *r;
    const kg_sampling *s;
    kcp_sampling sampling;
    uint8_t *data;  // owned
    size_t bytes;
} counting;

#define CUPTI(c, call, what, err)                                                          \
    do {                                                                                   \
        if ((c)->s->say) (c)->s->say(what);                                                \
        if (kg_cupti_check(&(c)->p->cupti, (c)->p->cupti.call, what, err) != 0) return -1; \
    } while (0)

static int enable(counting *c, kg_error *err) {
    kcp_enable e = {.size = KCP_SIZE(kcp_enable, sampling), .device = c->s->device};
    CUPTI(c, enable(&e), "cuptiPmSamplingEnable", err);
    c->sampling = e.sampling;
    return 0;
}

static void say(const counting *c, const char *what, double number) {
    char *text = kg_format("%s %.9g", what, number);
    if (c->s->say) c->s->say(text);
    free(text);
}

// By time, and on chips that do not have that by the system's clock, which runs at 1 to 2 GHz.
static int configure(counting *c, kg_error *err) {
    kcp_configure conf = {.size = KCP_SIZE(kcp_configure, append),
                          .sampling = c->sampling,
                          .bytes = c->r->bytes,
                          .image = c->r->config,
                          .buffer_bytes = BUFFER_BYTES,
                          .interval = (uint64_t)(c->s->interval_s * 1e9),
                          .trigger = KCP_TRIGGER_TIME,
                          .append = KCP_KEEP_OLDEST};
    const kcp_result by_time = c->p->cupti.configure(&conf);
    if (by_time == 0) return 0;
    say(c, "cuptiPmSamplingSetConfig by time: CUPTI error", by_time);
    conf.trigger = KCP_TRIGGER_SYSCLK;
    CUPTI(c, configure(&conf), "cuptiPmSamplingSetConfig", err);
    return 0;
}

static int make_data(counting *c, kg_error *err) {
    kcp_data_size d = {.size = KCP_SIZE(kcp_data_size, bytes),
                       .sampling = c->sampling,
                       .metrics = (const char **)c->r->metrics,
                       .n = c->r->n,
                       .most_samples = MOST_SAMPLES};
    CUPTI(c, data_size(&d), "cuptiPmSamplingGetCounterDataSize", err);
    c->bytes = d.bytes;
    c->data = kg_alloc(d.bytes);
    return 0;
}

// A sample without a beginning is none: the record before it belongs to another clock or was never written.
static int add_sample(counting *c, size_t i, kg_counts *out, kg_error *err) {
    double values[KG_QUANTITIES] = {0};
    kcp_sample_info info = {.size = KCP_SIZE(kcp_sample_info, end),
                            .sampling = c->sampling,
                            .data = c->data,
                            .bytes = c->bytes,
                            .sample = i};
    kcp_evaluate e = {.size = KCP_SIZE(kcp_evaluate, values),
                      .host = c->r->host,
                      .data = c->data,
                      .bytes = c->bytes,
                      .sample = i,
                      .metrics = (const char **)c->r->metrics,
                      .n = c->r->n,
                      .values = values};
    if (kg_cupti_check(&c->p->cupti, c->p->cupti.sample_info(&info), "cuptiPmSamplingCounterDataGetSampleInfo", err) ||
        kg_cupti_check(&c->p->cupti, c->p->cupti.evaluate(&e), "cuptiProfilerHostEvaluateToGpuValues", err))
        return -1;
    if (info.start == 0 || info.end <= info.start)
        return say(c, "left out: a sample that ends at", (double)info.end), 0;
    for (size_t k = 0; k < c->r->n; k++) out->sums[c->r->of[k]] += values[k] > 0 && isfinite(values[k]) ? values[k] : 0;
    out->samples++;
    return 0;
}

// *more: the image was full.
static int decode(counting *c, kg_counts *out, bool *more, kg_error *err) {
    kcp_data_clear clear = {
        .size = KCP_SIZE(kcp_data_clear, data), .sampling = c->sampling, .bytes = c->bytes, .data = c->data};
    kcp_decode d = {
        .size = KCP_SIZE(kcp_decode, overflow), .sampling = c->sampling, .data = c->data, .bytes = c->bytes};
    kcp_data_info info = {.size = KCP_SIZE(kcp_data_info, completed), .data = c->data, .bytes = c->bytes};
    CUPTI(c, data_clear(&clear), "cuptiPmSamplingCounterDataImageInitialize", err);
    CUPTI(c, decode(&d), "cuptiPmSamplingDecodeData", err);
    if (d.overflow) return kg_fail(err, KG_ERR_MEMORY, "more samples than the device's buffer holds");
    CUPTI(c, data_info(&info), "cuptiPmSamplingGetCounterDataInfo", err);
    for (size_t i = 0; i < info.completed; i++)
        if (add_sample(c, i, out, err)) return -1;
    *more = d.stop_reason == KCP_DECODE_FULL && info.completed > 0;
    return 0;
}

// All of it counts or none.
static int decode_all(counting *c, kg_counts *out, kg_error *err) {
    kg_counts now = {0};
    bool more = true;
    for (int i = 0; i < MOST_DECODES && more; i++)
        if (decode(c, &now, &more, err)) return -1;
    say(c, "samples:", (double)now.samples);
    for (size_t k = 0; k < c->r->n; k++) say(c, c->r->metrics[k], now.sums[c->r->of[k]]);
    if (!now.samples) return kg_fail(err, KG_ERR_CANNOT, "the device wrote no sample");
    out->samples += now.samples;
    for (size_t k = 0; k < c->r->n; k++) out->sums[c->r->of[k]] = now.sums[c->r->of[k]];
    return 0;
}

static int count(counting *c, kg_counts *out, kg_error *err) {
    kcp_sampler s = {.size = KCP_SIZE(kcp_sampler, sampling), .sampling = c->sampling};
    CUPTI(c, start(&s), "cuptiPmSamplingStart", err);
    if (c->s->wait(c->s->ctx)) return kg_fail(err, KG_ERR_CANNOT, "given up");
    // What the last calls did lies in the interval that is under way.
    usleep((useconds_t)(2e6 * c->s->interval_s));
    CUPTI(c, stop(&s), "cuptiPmSamplingStop", err);
    return decode_all(c, out, err);
}

int kg_round_count(const kg_plan *p, const kg_round *r, const kg_sampling *s, kg_counts *out, kg_error *err) {
    counting c = {.p = p, .r = r, .s = s};
    if (enable(&c, err)) return -1;
    int rc;
    if (configure(&c, err)) {
        rc = -1;
        if (err) err->code = KG_ERR_USAGE;
    } else {
        rc = make_data(&c, err) || count(&c, out, err) ? -1 : 0;
    }
    kcp_sampler off = {.size = KCP_SIZE(kcp_sampler, sampling), .sampling = c.sampling};
    p->cupti.disable(&off);
    free(c.data);
    return rc;
}
