// The part of CUPTI's binary interface that counts hardware events of a whole device. Checked against the real headers
// by tests/cuda/abi_check.c. Every structure says its own size, by which the library knows its version: KCP_SIZE, up to
// its last field. Source: CUPTI manual, 13.0, chapters "CUPTI PM Sampling API" and "CUPTI Profiler Host API".
#ifndef KG_CUPTI_ABI_H
#define KG_CUPTI_ABI_H

#include <stddef.h>
#include <stdint.h>

#define KCP_SIZE(type, last) (offsetof(type, last) + sizeof(((type *)0)->last))

typedef int kcp_result;                        // CUptiResult; 0 is success
typedef struct kcp_host_st *kcp_host;          // CUpti_Profiler_Host_Object *
typedef struct kcp_sampling_st *kcp_sampling;  // CUpti_PmSampling_Object *

enum {
    KCP_PM_SAMPLING = 1,
    KCP_TRIGGER_SYSCLK = 0,  // the interval is in cycles
    KCP_TRIGGER_TIME = 1,    // in nanoseconds; not on Turing and GA100
    KCP_KEEP_OLDEST = 0,
    KCP_DECODE_FULL = 1  // the image is; there is more to decode
};

typedef struct {
    size_t size;
    void *priv;
} kcp_initialize;

typedef struct {
    size_t size;
    void *priv;
    size_t device;
    const char *chip;  // out: "GH100"
} kcp_chip;

// ---- on the host: what a chip counts, and how
// -------------------------------------------------------------------------

typedef struct {
    size_t size;
    void *priv;
    int profiler;  // KCP_PM_SAMPLING
    const char *chip;
    const uint8_t *availability;  // may be NULL
    kcp_host host;                // out
} kcp_host_open;

typedef struct {
    size_t size;
    void *priv;
    kcp_host host;
} kcp_host_close;

typedef struct {
    size_t size;
    void *priv;
    kcp_host host;
    const char **metrics;
    size_t n;
} kcp_add_metrics;

typedef struct {
    size_t size;
    void *priv;
    kcp_host host;
    size_t bytes;  // out
} kcp_image_size;

typedef struct {
    size_t size;
    void *priv;
    kcp_host host;
    size_t bytes;
    uint8_t *image;  // written
} kcp_image;

typedef struct {
    size_t size;
    void *priv;
    size_t bytes;
    uint8_t *image;
    size_t passes;  // out
} kcp_passes;

typedef struct {
    size_t size;
    void *priv;
    kcp_host host;
    const uint8_t *data;
    size_t bytes;
    size_t sample;
    const char **metrics;
    size_t n;
    double *values;  // written
} kcp_evaluate;

// ---- on the device
// ----------------------------------------------------------------------------------------------------

typedef struct {
    size_t size;
    void *priv;
    size_t device;
    size_t bytes;    // in and out
    uint8_t *image;  // NULL: asks for bytes
} kcp_availability;

typedef struct {
    size_t size;
    void *priv;
    size_t device;
    kcp_sampling sampling;  // out
} kcp_enable;

typedef struct {
    size_t size;
    void *priv;
    kcp_sampling sampling;
} kcp_sampler;  // of disable, start and stop

typedef struct {
    size_t size;
    void *priv;
    kcp_sampling sampling;
    size_t bytes;
    const uint8_t *image;
    size_t buffer_bytes;
    uint64_t interval;
    int trigger, append;
} kcp_configure;

typedef struct {
    size_t size;
    void *priv;
    kcp_sampling sampling;
    const char **metrics;
    size_t n;
    uint32_t most_samples;
    size_t bytes;  // out
} kcp_data_size;

typedef struct {
    size_t size;
    void *priv;
    kcp_sampling sampling;
    size_t bytes;
    uint8_t *data;
} kcp_data_clear;

typedef struct {
    size_t size;
    void *priv;
    kcp_sampling sampling;
    uint8_t *data;
    size_t bytes;
    int stop_reason;   // out
    uint8_t overflow;  // out: samples were lost
} kcp_decode;

typedef struct {
    size_t size;
    void *priv;
    const uint8_t *data;
    size_t bytes;
    size_t total, populated, completed;  // out
} kcp_data_info;

typedef struct {
    size_t size;
    void *priv;
    kcp_sampling sampling;
    const uint8_t *data;
    size_t bytes;
    size_t sample;
    uint64_t start, end;  // out, nanoseconds
} kcp_sample_info;

#endif
