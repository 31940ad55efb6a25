// Runs that go on: what makes two commands the same run, and what the first of them already judged.
#include <stdlib.h>

#include "cli/judging.h"

// All that a verdict depends on, as JSON text with sorted keys; owned by the caller.
static char *settings_of(const kg_options *o) {
    json_t *candidates = json_array();
    for (size_t i = 0; i < o->n_args; i++) json_array_append_new(candidates, json_string(o->args[i]));
    json_t *s = json_pack("{s:o, s:s?, s:s, s:b, s:b, s:b, s:s, s:s?, s:s?, s:s?, s:s?, s:f, s:f, s:f, s:f}",
                          "candidates", candidates, "task", o->task, "device", o->device, "full", o->full, "hot",
                          o->hot, "check_only", o->check_only, "baseline", o->baseline, "python", o->python, "case",
                          o->case_only, "scope", o->scope, "language", o->language, "timeout", o->timeout, "lre_min",
                          o->thresholds.lre_min, "util_min_memory", o->thresholds.util_min[KG_BOUND_MEMORY],
                          "util_min_compute", o->thresholds.util_min[KG_BOUND_COMPUTE]);
    if (o->float64) json_object_set_new(s, "float64", json_true());
    // A fresh seed does not make another run of it; one that was asked for does.
    if (o->seed) json_object_set_new(s, "seed", json_integer((json_int_t)o->seed));
    char *text = s ? json_dumps(s, JSON_COMPACT | JSON_SORT_KEYS) : NULL;
    json_decref(s);
    return text ? text : kg_strdup("{}");
}

int kg_judging_begin(kg_judging *j, const char *command, kg_error *err) {
    if (!j->store) return 0;
    char *settings = settings_of(j->o);
    int result = j->o->resume ? kg_store_unfinished_run(j->store, settings, &j->run, err) : 0;
    j->resumed = j->run != 0;
    if (!result && j->o->resume && !j->run)
        kg_cli_note("nothing to resume: no interrupted run of these settings; starting it");
    if (!result && !j->run) result = kg_store_begin_run(j->store, command, settings, &j->run, err);
    free(settings);
    return result;
}

json_t *kg_judging_kept(kg_judging *j, const kg_candidate *c) {
    const kg_task *t = c->task ? kg_task_find(c->task) : NULL;
    char *label = t ? kg_task_label(t) : NULL;
    json_t *kept = j->resumed ? kg_store_find(j->store, j->run, c->path, c->sha256, label ? label : c->task) : NULL;
    free(label);
    return kept;
}
