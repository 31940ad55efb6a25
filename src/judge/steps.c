#include "judge/steps.h"

#include "base/base.h"

static const char *const names[KG_STEPS] = {"other",    "start",   "build",   "load",  "calls",    "oracle",
                                            "ceilings", "library", "batches", "looks", "diagnosis"};

void kg_steps_begin(kg_steps *s) { *s = (kg_steps){.since = kg_now()}; }

kg_step kg_steps_to(kg_steps *s, kg_step next) {
    const double now = kg_now();
    const kg_step before = s->now;
    s->spent[before] += now - s->since;
    s->since = now;
    s->now = next;
    return before;
}

json_t *kg_steps_to_json(kg_steps *s) {
    json_t *o = json_object();
    kg_steps_to(s, s->now);
    for (int i = 0; i < KG_STEPS; i++) json_object_set_new(o, names[i], json_real(s->spent[i]));
    return o;
}
