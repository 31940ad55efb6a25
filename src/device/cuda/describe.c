// What a CUDA device is and how it does now.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "device/cuda/cuda_device.h"
#include "device/cuda/nvml.h"

static char *driver_text(const cuda_device *d, const kg_nvml_reading *r) {
    int version = 0;
    d->api.DriverGetVersion(&version);  // 13000 for CUDA 13.0
    if (r->driver) return kg_format("%s (CUDA %d.%d)", r->driver, version / 1000, version % 1000 / 10);
    return kg_format("CUDA %d.%d", version / 1000, version % 1000 / 10);
}

int kg_cuda_describe(kg_device *base, kg_device_info *out, kg_error *err) {
    cuda_device *d = (cuda_device *)base;
    memset(out, 0, sizeof *out);
    if (kg_cuda_enter(d, err) != 0) return -1;
    char name[256] = "";
    int l2 = 0;
    size_t free_bytes = 0, total = 0;
    CUDA_CHECK(d, d->api.DeviceGetName(name, (int)sizeof name, d->dev), "reading the device's name", err);
    CUDA_CHECK(d, d->api.DeviceGetAttribute(&l2, KCU_ATTR_L2_CACHE_SIZE, d->dev), "reading the L2 cache's size", err);
    CUDA_CHECK(d, d->api.MemGetInfo(&free_bytes, &total), "reading free device memory", err);
    kg_nvml_reading r;
    kg_nvml_read(d->bus_id, &r);
    int khz = 0;
    if (isnan(r.sm_clock_hz) && d->api.DeviceGetAttribute(&khz, KCU_ATTR_CLOCK_RATE, d->dev) != 0) khz = 0;
    *out = (kg_device_info){
        .kind = kg_strdup("cuda"),
        .ordinal = base->ordinal,
        .name = kg_strdup(name),
        .driver = driver_text(d, &r),
        .arch = kg_format("sm_%d", d->cc),
        .memory_bytes = total,
        .free_bytes = free_bytes,
        .cache_bytes = (uint64_t)l2,
        .units = d->sms,
        .clock_hz = isnan(r.sm_clock_hz) ? khz * 1e3 : r.sm_clock_hz,
        .notes = kg_nvml_notes(&r),
    };
    free(r.driver);
    return 0;
}
