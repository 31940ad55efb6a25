// What NVML says about a device, read only: driver version, clocks, what limits them, who else is there.
#ifndef KG_CUDA_NVML_H
#define KG_CUDA_NVML_H

#include "base/base.h"

typedef struct {
    char *driver;  // "580.159.04"; owned, NULL when unknown
    double sm_clock_hz, max_sm_clock_hz, power_limit_w, power_w, temperature_c;  // NAN when unknown
    uint64_t limits;  // reasons that clocks are below the highest, NVML's bits
    int others;       // processes on the device that this one did not start; -1 when unknown
} kg_nvml_reading;

// bus_id as cuDeviceGetPCIBusId gives it. Never fails: what cannot be read stays unknown.
void kg_nvml_read(const char *bus_id, kg_nvml_reading *out);
// One line of what disturbs a measurement now; owned, NULL when nothing does.
char *kg_nvml_notes(const kg_nvml_reading *r);

#endif
