// kgate-counters: hardware counters of a whole device while another process works on it. This room's own.
#ifndef KG_COUNTERS_H
#define KG_COUNTERS_H

#include "device/cuda/api/cuda_api.h"
#include "device/cuda/api/cupti.h"

typedef enum {
    KG_DRAM_BYTES,  // to and from device memory
    KG_L2_SECTORS,  // of 32 bytes, that multiprocessors ask L2 for, or write there
    KG_WARPS,       // in flight, summed over cycles and multiprocessors
    KG_CYCLES,      // with a warp in flight, summed over multiprocessors
    KG_QUANTITIES
} kg_quantity;

// Quantities that say something together only; bits of a round.
typedef enum { KG_SET_MEMORY, KG_SET_L2, KG_SET_WARPS, KG_SETS } kg_set;

typedef struct {
    kg_cupti_api cupti;
    const char *chip;          // "GH100"
    uint8_t *availability;     // what of it is free to count; owned; NULL: not known
    unsigned rounds[KG_SETS];  // sets that are counted at the same time; 0 past the last
} kg_plan;

// What CUPTI calls what this chip counts, and in how few rounds. p->cupti, p->chip and p->availability are given.
// Fails where it counts none of it.
int kg_plan_make(kg_plan *p, kg_error *err);

// The metrics of one round, scheduled.
typedef struct {
    kcp_host host;
    const char *metrics[KG_QUANTITIES];
    kg_quantity of[KG_QUANTITIES];
    size_t n, bytes;
    uint8_t *config;  // owned
} kg_round;
int kg_round_open(const kg_plan *p, unsigned sets, kg_round *out, kg_error *err);
void kg_round_close(const kg_plan *p, kg_round *r);

typedef struct {
    size_t device;  // CUDA's number
    double interval_s;
    void (*say)(const char *what);  // every step; NULL: nothing
    int (*wait)(void *ctx);         // returns when the work that is counted is done; not 0: give up
    void *ctx;
} kg_sampling;

// What was counted between two moments.
typedef struct {
    double sums[KG_QUANTITIES];  // NAN: not counted
    size_t samples;
} kg_counts;
// Counts one round while s->wait() lasts, and adds it. Fails with KG_ERR_MEMORY where samples were lost, and with
// KG_ERR_USAGE where the device refuses these sets together.
int kg_round_count(const kg_plan *p, const kg_round *r, const kg_sampling *s, kg_counts *out, kg_error *err);

#endif
