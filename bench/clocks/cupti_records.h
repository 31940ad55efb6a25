// What benchmarks of clocks share: a median, and CUPTI's record of every kernel that ran.
#ifndef BENCH_CUPTI_RECORDS_H
#define BENCH_CUPTI_RECORDS_H

#include <cupti.h>
#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "cuda_check.h"

struct KernelRecord {
    std::string name;
    uint64_t start, end;  // ns
};
static std::vector<KernelRecord> kernel_records;

static void CUPTIAPI buffer_wanted(uint8_t **b, size_t *size, size_t *max) {
    *size = 8 << 20;
    *b = (uint8_t *)aligned_alloc(8, *size);
    *max = 0;
}
static void CUPTIAPI buffer_done(CUcontext, uint32_t, uint8_t *b, size_t, size_t valid) {
    CUpti_Activity *r = nullptr;
    while (cuptiActivityGetNextRecord(b, valid, &r) == CUPTI_SUCCESS) {
        if (r->kind != CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) continue;
        auto *k = (CUpti_ActivityKernel9 *)r;
        kernel_records.push_back({k->name, k->start, k->end});
    }
    free(b);
}

static double median(std::vector<double> v) {
    if (v.empty()) return 0;
    std::sort(v.begin(), v.end());
    return v[v.size() / 2];
}

#endif
