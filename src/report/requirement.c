// What `kgate gate` asks of a candidate: one answer for the exit code, the closing line and JUnit.
#include <stdlib.h>
#include <string.h>

#include "report/internal.h"

static bool interpreted(const json_t *record) {
    size_t i;
    json_t *l;
    json_array_foreach(kg_field(record, "labels"), i, l) {
        const char *text = json_string_value(l);
        if (text && !strncmp(text, "triton-interpreter", 18)) return true;
    }
    return false;
}

static char *not_timed(const kg_requirement *q, const json_t *record) {
    const char *why = kg_field_text(json_array_get(kg_field(record, "performance.not_timed"), 0), "why");
    if (q->check_only) why = "--check-only";
    else if (interpreted(record)) why = "Triton's interpreter judged it, there is no GPU here";
    return kg_format("right, not timed%s%s; --require right lets it pass", why ? ": " : "", why ? why : "");
}

char *kg_unmet(const kg_requirement *q, const json_t *record) {
    const char *verdict = kg_field_text(record, "verdict");
    if (!verdict) return kg_strdup("no verdict");
    bool right = !strcmp(verdict, "right"), efficient = !strcmp(verdict, "efficient");
    if (efficient || ((right || !strcmp(verdict, "slow")) && strcmp(q->verdict, "efficient") != 0)) return NULL;
    if (right) return not_timed(q, record);
    char *why = kg_why(record), *text = kg_format("%s%s%s", verdict, why ? ": " : "", why ? why : "");
    free(why);
    return text;
}

static bool all_at_the_launch_floor(const json_t *cases) {
    size_t i;
    json_t *c;
    json_array_foreach(cases, i, c) {
        const char *bound = kg_field_text(c, "bound");
        if (!bound || strcmp(bound, "latency") != 0) return false;
    }
    return true;
}

char *kg_unscreened(const json_t *record) {
    const char *library = kg_field_text(record, "screens.library_why");
    const char *roofline = kg_field_text(record, "screens.roofline_why");
    const json_t *cases = kg_field(record, "performance.cases");
    if (!json_array_size(cases) || kg_field(record, "screens.library") || kg_field(record, "screens.roofline"))
        return NULL;
    if (all_at_the_launch_floor(cases)) return kg_strdup("no screen applied: every timed case is at the launch floor");
    if (!library || !roofline) return kg_strdup("no screen applied: nothing to compare with");
    return kg_format("no screen applied: library: %s; roofline: %s", library, roofline);
}
