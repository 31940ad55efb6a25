// Repairs one candidate: each repair that fits is tried, judged beside what was there before, and kept when it pays.
#ifndef KG_CLI_FIXING_H
#define KG_CLI_FIXING_H

#include "cli/cli.h"
#include "diagnose/diagnose.h"

typedef struct {
    kg_judges *judges;
    kg_repairer *repairer;
    const char *baseline;  // of the judgements before and after
    void (*progress)(const char *what);
} kg_fixing;

// {"path", "before": record, "steps": [{"repair", "what", "outcome": "kept" or "refused", "why", "lre", "lre_ci"}],
// "after": record or null, "diff", "source"}: the repaired source and what it differs in, "" when nothing is offered.
// Fails as kg_judges_candidate does. *out is owned by the caller.
int kg_fix_candidate(const kg_fixing *f, const kg_candidate *c, json_t **out, kg_error *err);

#endif
