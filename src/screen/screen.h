// The two screens and the classes they make.
#ifndef KG_SCREEN_H
#define KG_SCREEN_H

#include "measure/measure.h"
#include "roofline/roofline.h"

typedef struct {
    double lre_min;      // 0.80
    double util_min[3];  // by kg_bound; memory 0.35, compute 0.60; latency: not screened
} kg_thresholds;
kg_thresholds kg_thresholds_default(void);

typedef enum { KG_SCREEN_PASS, KG_SCREEN_FAIL, KG_SCREEN_NONE } kg_screen;  // NONE: nothing to screen by
const char *kg_screen_name(kg_screen s);                                    // "pass", "fail", NULL

// The interval decides: fail only when the whole interval lies below the threshold is known; when it straddles, the
// middle decides and `sure` is false.
kg_screen kg_screen_decide(kg_interval value, double threshold, bool *sure);

// "none", "library-gap", "library-ahead", "authoring-defect", "structural-residual"; explained: a finding explains
// the gap. NULL when neither screen could be applied.
const char *kg_class_of(kg_screen library, kg_screen roofline, bool explained);

#endif
