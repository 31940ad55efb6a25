// Hardware counters as facts, from the line that kgate-counters prints (src/counters/main.c says what it holds).
#include <jansson.h>
#include <math.h>

#include "diagnose/diagnose.h"

static double number(const json_t *o, const char *name, double least, double most) {
    const json_t *v = json_object_get(o, name);
    const double x = json_is_number(v) ? json_number_value(v) : NAN;
    return x >= least && x <= most ? x : NAN;
}

static void set_known(kg_facts *f, const char *name, double value) {
    if (isfinite(value)) kg_facts_set(f, name, value);
}

void kg_facts_from_counters(kg_facts *f, const char *json, size_t size, double calls, double compulsory) {
    json_t *o = json_loadb(json, size, 0, NULL);
    const double bytes = number(o, "dram_bytes", 0, 1e18) / calls;
    const double warps = number(o, "warps", 1, 1e18), cycles = number(o, "cycles", 1, 1e18);
    const double share = warps / (cycles * number(o, "most_warps", 1, 1024));
    set_known(f, "dram_bytes", bytes);
    if (compulsory > 0) set_known(f, "dram_ratio", bytes / compulsory);
    // What multiprocessors asked for and memory did not have to move.
    const double asked = 32 * number(o, "l2_sectors", 1, 1e18) / calls;
    if (bytes < 1.05 * asked) set_known(f, "l2_hit", fmax(0, 100 * (1 - bytes / asked)));
    if (share <= 1.005) set_known(f, "occupancy", 100 * share);
    json_decref(o);
}
