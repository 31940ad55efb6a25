#include "screen/screen.h"

#include <math.h>
#include <stddef.h>

kg_thresholds kg_thresholds_default(void) {
    // "Correct but Slow": with one threshold per bound, none of its 22 published points is misplaced.
    return (kg_thresholds){.lre_min = 0.80,
                           .util_min = {[KG_BOUND_MEMORY] = 0.35, [KG_BOUND_COMPUTE] = 0.60, [KG_BOUND_LATENCY] = 0}};
}

const char *kg_screen_name(kg_screen s) { return s == KG_SCREEN_PASS ? "pass" : s == KG_SCREEN_FAIL ? "fail" : NULL; }

kg_screen kg_screen_decide(kg_interval value, double threshold, bool *sure) {
    *sure = !(value.lo < threshold && threshold <= value.hi);
    if (!isfinite(value.mid)) return KG_SCREEN_NONE;
    return value.mid >= threshold ? KG_SCREEN_PASS : KG_SCREEN_FAIL;
}

const char *kg_class_of(kg_screen library, kg_screen roofline, bool explained) {
    // One screen alone: the other is taken to say the same, so that a slow kernel still gets its class.
    if (library == KG_SCREEN_NONE && roofline == KG_SCREEN_NONE) return NULL;
    if (library == KG_SCREEN_NONE) library = roofline;
    if (roofline == KG_SCREEN_NONE) roofline = library;
    if (library == KG_SCREEN_PASS) return roofline == KG_SCREEN_PASS ? "none" : "library-gap";
    if (roofline == KG_SCREEN_PASS) return "library-ahead";
    return explained ? "authoring-defect" : "structural-residual";
}
