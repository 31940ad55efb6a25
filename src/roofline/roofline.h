// Work models against measured ceilings: the least time any kernel could take (SOL).
#ifndef KG_ROOFLINE_H
#define KG_ROOFLINE_H

#include "task/task.h"

// Limits measured on one device under one driver. NAN: not measured.
typedef struct {
    double read_bytes_s, write_bytes_s, copy_bytes_s;   // copy counts bytes read plus bytes written
    double ops_s[8];                                    // by kg_unit: KG_U_FP64 ... (multiply-add counts two)
    double launch_s;                                    // floor of one call that does nothing
    double one_core_copy_bytes_s, one_core_fp32_ops_s;  // CPU only
    double cache_bytes_s;  // copy inside the last-level cache, for cases that fit (reported, not used as SOL)
    bool disturbed;        // measured while others kept the processors busy: too low, not to be kept
    char *source;          // how: "kgate 0.1, cuBLASLt 13.1, 2026-11-29"; owned
} kg_ceilings;

typedef enum { KG_BOUND_MEMORY, KG_BOUND_COMPUTE, KG_BOUND_LATENCY } kg_bound;
const char *kg_bound_name(kg_bound b);

typedef struct {
    double seconds;  // the largest of the three below; NAN when the ceilings needed are not measured
    double memory_s, compute_s, launch_s;
    kg_bound bound;
    kg_unit unit;  // when compute-bound: which
} kg_sol;

// precision: the candidate's measured precision; fp32 operations are charged at tf32's rate when it worked in tf32.
// A case within 2x of the launch floor is latency-bound: timed, not screened.
kg_sol kg_roofline_sol(const kg_work *w, const kg_ceilings *c, kg_precision precision, kg_dtype dtype);

// A time below this is impossible (tampered). Not SOL itself: a working set that fits the last-level cache may beat
// device memory, and a measured ceiling may be a few percent low.
double kg_roofline_floor(const kg_work *w, const kg_ceilings *c, double cache_bytes, bool cold);

// JSON text round trip for the store; owned by the caller.
char *kg_ceilings_to_json(const kg_ceilings *c);
int kg_ceilings_from_json(const char *text, kg_ceilings *out, kg_error *err);
// What a device that others use too gave of its rates for a while: 1 is all of them, NAN unknown.
typedef struct {
    double memory, compute;
} kg_grant;
// The ceilings that were in reach then. A view: its source is still c's.
kg_ceilings kg_ceilings_granted(const kg_ceilings *c, kg_grant g);

kg_ceilings kg_ceilings_unknown(void);               // NAN throughout
kg_ceilings kg_ceilings_copy(const kg_ceilings *c);  // owned by the caller
void kg_ceilings_free(kg_ceilings *c);

#endif
