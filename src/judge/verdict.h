// From what was found to one word.
#ifndef KG_VERDICT_H
#define KG_VERDICT_H

#include "judge/trial.h"

typedef struct {
    const char *verdict;  // efficient, slow, incorrect, tampered, broken; or "right" when it was and nothing was timed
    const char *class_name;  // NULL when no screen applies
    kg_screen library, roofline;
    bool sure;               // no interval straddles its threshold
    kg_interval lre, util;   // over the screened sizes
    double speedup;          // over every size with a baseline
    const char *worst_case;  // of the screens that failed, else of the lower one
} kg_verdict;

kg_verdict kg_verdict_of(const kg_trial *t);

#endif
