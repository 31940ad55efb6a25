// Source of names and values: NVML API reference manual; the library is opened when present.
#include "device/cuda/nvml.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "device/cuda/api/library.h"

typedef struct nvml_device *nvml_device;
typedef struct {  // nvmlProcessInfo_t, as nvmlDeviceGetComputeRunningProcesses_v3 fills it
    unsigned pid;
    unsigned long long memory;
    unsigned gpu_instance, compute_instance;
} nvml_process;

typedef struct {
    int (*init)(void);
    int (*shutdown)(void);
    int (*driver)(char *text, unsigned n);
    int (*by_bus)(const char *bus, nvml_device *d);
    int (*clock)(nvml_device d, int which, unsigned *mhz);
    int (*max_clock)(nvml_device d, int which, unsigned *mhz);
    int (*power_limit)(nvml_device d, unsigned *mw);
    int (*power)(nvml_device d, unsigned *mw);
    int (*temperature)(nvml_device d, int sensor, unsigned *c);
    int (*reasons)(nvml_device d, unsigned long long *bits);
    int (*processes)(nvml_device d, unsigned *n, nvml_process *p);
} nvml_api;

enum { CLOCK_SM = 1, SENSOR_GPU = 0 };

static int open_nvml(nvml_api *a) {
    static const char *const names[] = {"libnvidia-ml.so.1", NULL};
    void *library;
    if (kg_cuda_library_open(names, &library, NULL) != 0) return -1;
    const kg_cuda_symbol symbols[] = {
        {&a->init, "nvmlInit_v2"},
        {&a->shutdown, "nvmlShutdown"},
        {&a->driver, "nvmlSystemGetDriverVersion"},
        {&a->by_bus, "nvmlDeviceGetHandleByPciBusId_v2"},
        {&a->clock, "nvmlDeviceGetClockInfo"},
        {&a->max_clock, "nvmlDeviceGetMaxClockInfo"},
        {&a->power_limit, "nvmlDeviceGetEnforcedPowerLimit"},
        {&a->power, "nvmlDeviceGetPowerUsage"},
        {&a->temperature, "nvmlDeviceGetTemperature"},
        {&a->reasons, "nvmlDeviceGetCurrentClocksThrottleReasons"},
        {&a->processes, "nvmlDeviceGetComputeRunningProcesses_v3"},
    };
    return kg_cuda_library_resolve(library, "libnvidia-ml", symbols, sizeof symbols / sizeof *symbols, NULL);
}

// Is pid this process or one that it started (within eight generations)?
static bool is_ours(unsigned pid) {
    for (int generation = 0; generation < 8 && pid > 1; generation++) {
        if (pid == (unsigned)getpid()) return true;
        char *path = kg_format("/proc/%u/stat", pid), *text = NULL;
        size_t n = 0;
        int rc = kg_read_file(path, 4096, &text, &n, NULL);
        free(path);
        const char *after = rc == 0 ? strrchr(text, ')') : NULL;  // the name may hold anything
        char state;
        unsigned parent = 0;
        if (!after || sscanf(after + 1, " %c %u", &state, &parent) != 2) parent = 0;
        free(text);
        pid = parent;
    }
    return false;
}

static int count_others(const nvml_api *a, nvml_device d) {
    enum { ROOM = 256 };
    nvml_process *p = kg_alloc(ROOM * sizeof *p);
    unsigned n = ROOM;
    int others = -1;
    if (a->processes(d, &n, p) == 0) {
        others = 0;
        for (unsigned i = 0; i < n && i < ROOM; i++) others += !is_ours(p[i].pid);
    }
    free(p);
    return others;
}

static void read_device(const nvml_api *a, nvml_device d, kg_nvml_reading *out) {
    unsigned v;
    if (a->clock(d, CLOCK_SM, &v) == 0) out->sm_clock_hz = v * 1e6;
    if (a->max_clock(d, CLOCK_SM, &v) == 0) out->max_sm_clock_hz = v * 1e6;
    if (a->power_limit(d, &v) == 0) out->power_limit_w = v * 1e-3;
    if (a->power(d, &v) == 0) out->power_w = v * 1e-3;
    if (a->temperature(d, SENSOR_GPU, &v) == 0) out->temperature_c = v;
    unsigned long long bits;
    if (a->reasons(d, &bits) == 0) out->limits = bits;
    out->others = count_others(a, d);
}

void kg_nvml_read(const char *bus_id, kg_nvml_reading *out) {
    *out = (kg_nvml_reading){NULL, NAN, NAN, NAN, NAN, NAN, 0, -1};
    nvml_api a;
    if (open_nvml(&a) != 0 || a.init() != 0) return;
    char driver[96] = "";
    if (a.driver(driver, sizeof driver) == 0 && *driver) out->driver = kg_strdup(driver);
    nvml_device d;
    if (a.by_bus(bus_id, &d) == 0) read_device(&a, d, out);
    a.shutdown();
}

// Bits that mean clocks are held down from outside; idle, and limits that only another process chose, are left out.
static const struct {
    uint64_t bit;
    const char *words;
} reasons[] = {
    {0x02, "application clocks are set"},
    {0x04, "power cap"},
    {0x08, "hardware slowdown"},
    {0x10, "synchronised with another GPU"},
    {0x20, "too hot (software)"},
    {0x40, "too hot (hardware)"},
    {0x80, "power brake"},
    {0x100, "display clocks are set"},
};

static void add_note(kg_text *t, const char *words) { kg_text_add(t, "%s%s", t->len ? "; " : "", words); }

char *kg_nvml_notes(const kg_nvml_reading *r) {
    kg_text t = {0};
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
        if (r->limits & reasons[i].bit) {
            if (!t.len) kg_text_add(&t, "clocks limited: %s", reasons[i].words);
            else kg_text_add(&t, ", %s", reasons[i].words);
        }
    if (t.len && r->power_limit_w > 0)
        kg_text_add(&t, " (%.0f of %.0f W, %.0f C)", r->power_w, r->power_limit_w, r->temperature_c);
    if (r->others > 0) {
        char *words = kg_format("%d other process%s on this GPU", r->others, r->others == 1 ? "" : "es");
        add_note(&t, words);
        free(words);
    }
    return t.data;
}
