// JUnit XML, as CI servers read it: a test case a candidate. A failure is what does not meet the gate's requirement;
// without a gate, every verdict but efficient and right. What was not judged is skipped.
// The element that holds the counts comes first, so the cases are kept until the end.
#include <stdlib.h>
#include <string.h>

#include "report/internal.h"

typedef struct {
    FILE *to;
    kg_text cases;
    size_t tests, failures, skipped;
    kg_requirement requirement;  // its verdict is NULL without a gate
    double seconds;
} junit;

static void *open_junit(FILE *to, bool color) {
    (void)color;
    junit *j = kg_alloc(sizeof *j);
    j->to = to;
    return j;
}

// kg_safe leaves no character that XML 1.0 cannot hold (section 2.2) but U+FFFE and U+FFFF.
static void add_escaped(kg_text *t, const char *s) {
    char *safe = kg_safe(s);
    for (const char *p = safe; *p; p++) {
        if (*p == '&') kg_text_add(t, "&amp;");
        else if (*p == '<') kg_text_add(t, "&lt;");
        else if (*p == '>') kg_text_add(t, "&gt;");
        else if (*p == '"') kg_text_add(t, "&quot;");
        else if (!strncmp(p, "\xEF\xBF\xBE", 3) || !strncmp(p, "\xEF\xBF\xBF", 3)) kg_text_add(t, "?"), p += 2;
        else kg_text_add_bytes(t, p, 1);
    }
    free(safe);
}

static void add_attribute(kg_text *t, const char *name, const char *value) {
    kg_text_add(t, " %s=\"", name);
    add_escaped(t, value);
    kg_text_add(t, "\"");
}

// Takes why.
static void add_failure(junit *j, const json_t *r, const char *verdict, char *why) {
    const char *class_name = kg_field_text(r, "class"), *replay = kg_field_text(r, "correctness.worst.replay");
    char *message = class_name ? kg_format("%s (%s)", verdict, class_name) : kg_strdup(verdict);
    kg_text_add(&j->cases, "\n      <failure");
    add_attribute(&j->cases, "type", verdict);
    add_attribute(&j->cases, "message", message);
    kg_text_add(&j->cases, ">");
    add_escaped(&j->cases, why);
    if (replay && !strcmp(verdict, "incorrect")) {
        kg_text_add(&j->cases, "\nreplay: ");
        add_escaped(&j->cases, replay);
    }
    kg_text_add(&j->cases, "</failure>\n    ");
    free(message);
    free(why);
}

static void begin_case(junit *j, const char *class_name, const char *name) {
    j->tests++;
    kg_text_add(&j->cases, "    <testcase");
    add_attribute(&j->cases, "classname", class_name);
    add_attribute(&j->cases, "name", name);
}

// Why it counts as a failure; NULL when it does not.
static char *failure_of(const junit *j, const json_t *r, const char *verdict) {
    if (j->requirement.verdict) return kg_unmet(&j->requirement, r);
    if (verdict && (!strcmp(verdict, "efficient") || !strcmp(verdict, "right"))) return NULL;
    char *why = kg_why(r);
    return why ? why : kg_strdup("");
}

static int add_case(void *self, const json_t *r) {
    junit *j = self;
    const char *verdict = kg_field_text(r, "verdict"), *task = kg_field_text(r, "task");
    const char *suite = kg_field_text(r, "suite"), *path = kg_field_text(r, "candidate.path");
    const char *slash = task ? strchr(task, '/') : NULL;  // gap22/relu: its suite is said apart
    if (slash) task = slash + 1;
    double seconds = kg_field_number(r, "seconds");
    char *class_name = kg_format("%s%s%s", suite ? suite : "", suite ? "." : "", task ? task : "unknown");
    begin_case(j, class_name, path ? path : "-");
    if (!isnan(seconds)) {
        kg_text_add(&j->cases, " time=\"%.3f\"", seconds);
        j->seconds += seconds;
    }
    kg_text_add(&j->cases, ">");
    char *why = failure_of(j, r, verdict);
    if (why) {
        j->failures++;
        add_failure(j, r, verdict ? verdict : "no verdict", why);
    }
    kg_text_add(&j->cases, "</testcase>\n");
    free(class_name);
    return 0;
}

static int skip_case(void *self, const char *path, const char *task, const char *why) {
    junit *j = self;
    j->skipped++;
    begin_case(j, task ? task : "unknown", path);
    kg_text_add(&j->cases, "><skipped");
    add_attribute(&j->cases, "message", why);
    kg_text_add(&j->cases, "/></testcase>\n");
    return 0;
}

static void require(void *self, const kg_requirement *q) { ((junit *)self)->requirement = *q; }

static int close_junit(void *self) {
    junit *j = self;
    fprintf(j->to,
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n"
            "  <testsuite name=\"kgate\" tests=\"%zu\" failures=\"%zu\" errors=\"0\" skipped=\"%zu\" time=\"%.3f\">\n%s"
            "  </testsuite>\n</testsuites>\n",
            j->tests, j->failures, j->skipped, j->seconds, j->cases.data ? j->cases.data : "");
    kg_text_free(&j->cases);
    free(j);
    return 0;
}

const kg_writer kg_junit_writer = {"junit", open_junit, add_case, close_junit, skip_case, require};
