// A record for what never became a candidate: an empty file, a line that is no JSON.
#include <time.h>

#include "judge/judges.h"

static json_t *text(const char *s) { return s ? json_string(s) : json_null(); }

static json_t *now(void) {
    char stamp[32];
    struct tm tm;
    time_t t = time(NULL);
    strftime(stamp, sizeof stamp, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&t, &tm));
    return json_string(stamp);
}

json_t *kg_record_of_problem(const kg_candidate *c) {
    const kg_task *t = c->task ? kg_task_find(c->task) : NULL;
    json_t *r = json_object(), *candidate = json_object();
    json_object_set_new(r, "schema", json_integer(1));
    json_object_set_new(candidate, "path", text(c->path));
    json_object_set_new(candidate, "sha256", text(c->sha256[0] ? c->sha256 : NULL));
    json_object_set_new(candidate, "language",
                        text(c->language == KG_LANG_UNKNOWN ? NULL : kg_language_name(c->language)));
    json_object_set_new(candidate, "entry", text(c->entry));
    json_object_set_new(candidate, "method", text(c->method));
    json_object_set_new(candidate, "round", text(c->round));
    json_object_set_new(r, "candidate", candidate);
    char *label = t ? kg_task_label(t) : NULL;
    json_object_set_new(r, "task", text(label ? label : c->task));
    free(label);
    json_object_set_new(r, "suite", text(t ? t->suite : NULL));
    json_object_set_new(r, "category", text(t ? t->category : NULL));
    json_object_set_new(r, "verdict", json_string("broken"));
    json_object_set_new(r, "class", json_null());
    json_object_set_new(r, "error", text(c->problem.text));
    json_object_set_new(r, "findings", json_array());
    json_object_set_new(r, "started", now());
    return r;
}
