// --case NAME: a name that no case has would judge nothing, and nothing judged looks like nothing wrong.
#include <stdlib.h>
#include <string.h>

#include "cli/judging.h"

static bool has(const kg_task *t, kg_case_level level, const char *name) {
    kg_cases cases = {0};
    bool found = false;
    if (kg_task_cases(t, level, &cases, NULL)) return false;
    for (size_t i = 0; i < cases.n; i++) found |= !strcmp(cases.items[i].name, name);
    kg_cases_free(&cases);
    return found;
}

int kg_judging_check_case(const kg_options *o, const kg_task *t, kg_error *err) {
    const char *name = o->case_only;
    const kg_case_level level = o->float64 ? KG_CASES_FLOAT64 : o->full ? KG_CASES_FULL : KG_CASES_QUICK;
    if (!name || has(t, level, name)) return 0;
    bool timed = has(t, KG_TIMED_CPU, name) || has(t, KG_TIMED_CUDA, name);
    if (timed && !o->check_only) return 0;
    char *label = kg_task_label(t);
    char *todo = timed ? kg_strdup("it is a timed size: leave --check-only out")
                 : !o->full && has(t, KG_CASES_FULL, name)
                     ? kg_strdup("it is one of --cases full")
                     : kg_format("`kgate task show %s -f json` names them", label);
    kg_fail(err, KG_ERR_USAGE, "--case '%s': %s has no such case: %s", name, label, todo);
    free(todo);
    free(label);
    return -1;
}
