// What makes a gate of a run: who does not meet the requirement, the closing line, the exit code.
#include <stdlib.h>
#include <string.h>

#include "cli/judging.h"

void kg_gate_weigh(kg_judging *j, const json_t *record) {
    char *why = kg_unmet(&j->requirement, record);
    const char *path = json_string_value(json_object_get(json_object_get(record, "candidate"), "path"));
    if (why) {
        j->unmet = kg_realloc(j->unmet, (j->n_unmet + 1) * sizeof *j->unmet);
        j->unmet[j->n_unmet++] = kg_format("%s: %s", path ? path : "-", why);
    }
    char *unscreened = why ? NULL : kg_unscreened(record);
    if (unscreened && !j->unscreened++) j->first_unscreened = kg_format("%s: %s", path ? path : "-", unscreened);
    free(unscreened);
    free(why);
}

// What is said last stands below the table, which the report writes at its end.
static void say(const kg_judging *j, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void say(const kg_judging *j, const char *fmt, ...) {
    kg_text t = {0};
    va_list ap;
    va_start(ap, fmt);
    kg_text_addv(&t, fmt, ap);
    va_end(ap);
    json_array_append_new(j->closing, json_string(t.data));
    kg_text_free(&t);
}

static void not_met(const kg_judging *j, const char *also) {
    for (size_t i = 0; i < j->n_unmet && j->judged > 1; i++) say(j, "not met: %s", j->unmet[i]);
    if (j->judged == 1) say(j, "gate not met (--require %s): %s%s", j->requirement.verdict, j->unmet[0], also);
    else
        say(j, "gate not met: %zu of %zu candidates below --require %s%s", j->n_unmet, j->judged,
            j->requirement.verdict, also);
}

static void met(const kg_judging *j) {
    char *unscreened = !j->unscreened
                           ? kg_strdup("")
                           : kg_format("; but %zu unscreened (first: %s)", j->unscreened, j->first_unscreened);
    say(j, "gate met: %zu candidate%s, --require %s%s", j->judged, j->judged == 1 ? "" : "s", j->requirement.verdict,
        unscreened);
    free(unscreened);
}

void kg_gate_close(kg_judging *j) {
    size_t skipped = j->no_device + j->no_task + j->failed + j->malformed, missing = skipped + j->refused;
    if (!j->judged && !skipped) return;  // nothing but errors, and they are said
    char *also = missing ? kg_format("; %zu not judged", missing) : kg_strdup("");
    if (j->n_unmet) {
        not_met(j, also);
        if (j->code != 2) j->code = 1;  // it failed, whatever else could not be judged
    } else if (missing) {
        say(j, "gate not decided: %zu of %zu candidates not judged", missing, missing + j->judged);
        if (j->code < 3 && (j->judged || skipped > j->malformed)) j->code = 3;
    } else met(j);
    free(also);
}
