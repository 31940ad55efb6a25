// Which metrics a chip has, and how many of them it counts at the same time: CUPTI's host side says, without a device.
#include <stdlib.h>

#include "counters/counters.h"

typedef struct {
    kg_quantity quantity;
    const char *name;
} metric;

// Left out because they take more than one pass, which sampling does not have: lts__t_sector_hit_rate, and what warps
// wait for (smsp__warps_issue_stalled_*). Sectors a request are among none of CUPTI's metrics for sampling, and
// lts__average_t_sector_hit_rate_realtime reads half of what ncu's hit rate does (25.0 beside 50.1 on an H200).
static const metric sets[KG_SETS][2] = {
    [KG_SET_MEMORY] = {{KG_DRAM_BYTES, "dram__bytes.sum"}},
    [KG_SET_L2] = {{KG_L2_SECTORS, "lts__t_sectors_srcunit_tex.sum"}},
    [KG_SET_WARPS] = {{KG_WARPS, "sm__warps_active.sum"}, {KG_CYCLES, "sm__cycles_active.sum"}},
};

static int schedule(const kg_cupti_api *c, kg_round *r, kg_error *err) {
    kcp_add_metrics add = {.size = KCP_SIZE(kcp_add_metrics, n), .host = r->host, .metrics = r->metrics, .n = r->n};
    kcp_image_size size = {.size = KCP_SIZE(kcp_image_size, bytes), .host = r->host};
    if (kg_cupti_check(c, c->add_metrics(&add), "cuptiProfilerHostConfigAddMetrics", err) ||
        kg_cupti_check(c, c->image_size(&size), "cuptiProfilerHostGetConfigImageSize", err))
        return -1;
    r->bytes = size.bytes;
    r->config = kg_alloc(size.bytes);
    kcp_image image = {.size = KCP_SIZE(kcp_image, image), .host = r->host, .bytes = size.bytes, .image = r->config};
    kcp_passes passes = {.size = KCP_SIZE(kcp_passes, passes), .bytes = size.bytes, .image = r->config};
    if (kg_cupti_check(c, c->image(&image), "cuptiProfilerHostGetConfigImage", err) ||
        kg_cupti_check(c, c->passes(&passes), "cuptiProfilerHostGetNumOfPasses", err))
        return -1;
    return passes.passes == 1
               ? 0
               : kg_fail(err, KG_ERR_CANNOT, "%s and %zu more take %zu passes", r->metrics[0], r->n - 1, passes.passes);
}

int kg_round_open(const kg_plan *p, unsigned which, kg_round *out, kg_error *err) {
    kcp_host_open open = {.size = KCP_SIZE(kcp_host_open, host),
                          .profiler = KCP_PM_SAMPLING,
                          .chip = p->chip,
                          .availability = p->availability};
    *out = (kg_round){0};
    for (int s = 0; s < KG_SETS; s++)
        for (int i = 0; i < 2 && which & 1u << s && sets[s][i].name; i++) {
            out->of[out->n] = sets[s][i].quantity;
            out->metrics[out->n++] = sets[s][i].name;
        }
    if (kg_cupti_check(&p->cupti, p->cupti.host_open(&open), "cuptiProfilerHostInitialize", err)) return -1;
    out->host = open.host;
    if (schedule(&p->cupti, out, err) == 0) return 0;
    kg_round_close(p, out);
    return -1;
}

void kg_round_close(const kg_plan *p, kg_round *r) {
    kcp_host_close close = {.size = KCP_SIZE(kcp_host_close, host), .host = r->host};
    if (r->host) p->cupti.host_close(&close);
    free(r->config);
    *r = (kg_round){0};
}

static bool counts(const kg_plan *p, unsigned which, kg_error *err) {
    kg_round r;
    if (kg_round_open(p, which, &r, err)) return false;
    kg_round_close(p, &r);
    return true;
}

int kg_plan_make(kg_plan *p, kg_error *err) {
    size_t n = 0;
    kg_error why = {0};
    for (int set = 0; set < KG_SETS; set++) {
        const unsigned bit = 1u << set;
        if (!counts(p, bit, &why)) continue;
        if (n && counts(p, p->rounds[n - 1] | bit, NULL)) p->rounds[n - 1] |= bit;
        else p->rounds[n++] = bit;
    }
    if (!n) kg_fail(err, KG_ERR_CANNOT, "%s counts nothing of use: %s", p->chip, why.text);
    kg_error_clear(&why);
    return n ? 0 : -1;
}
