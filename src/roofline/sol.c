#include <math.h>
#include <stddef.h>

#include "roofline/roofline.h"

const char *kg_bound_name(kg_bound b) {
    return b == KG_BOUND_MEMORY ? "memory" : b == KG_BOUND_COMPUTE ? "compute" : "latency";
}

// Reads and writes at their own rates where both were measured, else at the copy's.
static double memory_seconds(const kg_work *w, const kg_ceilings *c) {
    double bytes = w->bytes_read + w->bytes_written;
    double rate = c->copy_bytes_s;
    // A kernel that only reads, or only writes, is held to that rate: it may be above the copy's.
    if (bytes > 0 && w->bytes_read > 0.95 * bytes && c->read_bytes_s > 0) rate = c->read_bytes_s;
    if (bytes > 0 && w->bytes_written > 0.95 * bytes && c->write_bytes_s > 0) rate = c->write_bytes_s;
    return rate > 0 ? bytes / rate : NAN;
}

// The unit that these operations may run on when the answer needs only this precision.
static kg_unit unit_for(kg_unit u, kg_precision precision, kg_dtype dtype) {
    if (u != KG_U_FP32) return u;
    if (precision == KG_PREC_TF32) return KG_U_TF32;
    (void)dtype;
    return u;
}

kg_sol kg_roofline_sol(const kg_work *w, const kg_ceilings *c, kg_precision precision, kg_dtype dtype) {
    kg_sol s = {.memory_s = memory_seconds(w, c), .launch_s = c->launch_s, .unit = KG_U_FP32};
    for (int u = 0; u < 8; u++) {
        double rate = c->ops_s[unit_for((kg_unit)u, precision, dtype)];
        if (w->ops[u] <= 0 || !(rate > 0)) continue;
        // Different units work side by side: the busiest decides.
        double t = w->ops[u] / rate;
        if (t > s.compute_s) {
            s.compute_s = t;
            s.unit = (kg_unit)u;
        }
    }
    double work = fmax(isnan(s.memory_s) ? 0 : s.memory_s, s.compute_s);
    if (work <= 0 && !(s.launch_s > 0)) return s.seconds = NAN, s;
    s.bound = s.compute_s > (isnan(s.memory_s) ? 0 : s.memory_s) ? KG_BOUND_COMPUTE : KG_BOUND_MEMORY;
    s.seconds = work;
    if (s.launch_s > 0 && s.launch_s > s.seconds) s.seconds = s.launch_s;
    if (s.launch_s > 0 && work < 2 * s.launch_s) s.bound = KG_BOUND_LATENCY;
    return s;
}

// Half of what the roofline asks, and only where that cannot be beaten honestly: when the tensors do not fit the
// last-level cache (what was written may stay there, so its size is taken off), or by arithmetic.
double kg_roofline_floor(const kg_work *w, const kg_ceilings *c, double cache_bytes, bool cold) {
    double best = fmax(fmax(c->read_bytes_s, c->write_bytes_s), c->copy_bytes_s);
    // Cold: everything read comes from memory, what is written may stay in the cache. Hot: all of it may.
    double kept = cold ? fmin(w->bytes_written, cache_bytes) : cache_bytes;
    double bytes = w->bytes_read + w->bytes_written - kept;
    double floor = bytes > 0 && best > 0 ? bytes / (1.25 * best) : 0;
    // Arithmetic may run on any unit the answer's precision allows, so the fastest rate measured is the limit.
    double ops = 0, fastest = 0;
    for (int u = 0; u < 8; u++) {
        if (u != KG_U_SPECIAL && u != KG_U_INT) ops += w->ops[u];
        if (c->ops_s[u] > fastest) fastest = c->ops_s[u];
    }
    if (fastest > 0) floor = fmax(floor, ops / (1.25 * fastest) / 4);  // a fast algorithm may save up to 4x (Winograd)
    return floor;
}
