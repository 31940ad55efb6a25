// Two records side by side: what changed, and by how much.
#include <stdlib.h>
#include <string.h>

#include "report/internal.h"

enum { NAME = 26, VALUE = 24 };

static void row(FILE *to, const char *name, const char *a, const char *b, const char *change) {
    const char *cells[] = {name, a && *a ? a : "-", b && *b ? b : "-"};
    const int widths[] = {NAME, VALUE, VALUE};
    for (int i = 0; i < 3; i++) {
        char *safe = kg_safe(cells[i]), *cell = kg_shorten_middle(safe, (size_t)widths[i]);
        fprintf(to, "%s%*s ", cell, widths[i] - (int)kg_columns(cell), "");
        free(cell);
        free(safe);
    }
    fprintf(to, "%s\n", change);
}

static void text_row(FILE *to, const char *name, const char *field, const json_t *a, const json_t *b) {
    bool precision = !strcmp(field, "correctness.precision");
    const char *x = precision ? kg_precision_of(a) : kg_field_text(a, field);
    const char *y = precision ? kg_precision_of(b) : kg_field_text(b, field);
    if (x || y) row(to, name, x, y, x && y && !strcmp(x, y) ? "" : "changed");
}

// Takes the shown numbers. The change of a ratio says how much larger the second is.
static void number_row(FILE *to, const char *name, double x, double y, char *(*show)(double)) {
    char *a = show(x), *b = show(y);
    char *change = !isnan(x) && !isnan(y) && x > 0 ? kg_format("x%.3g", y / x) : kg_strdup("");
    if (*a || *b) row(to, name, a, b, change);
    free(a);
    free(b);
    free(change);
}

static const json_t *case_named(const json_t *record, const char *name) {
    size_t i;
    json_t *c;
    json_array_foreach(kg_field(record, "performance.cases"), i, c) {
        const char *n = kg_field_text(c, "case");
        if (n && !strcmp(n, name)) return c;
    }
    return NULL;
}

static void case_rows(const json_t *a, const json_t *b, FILE *to) {
    size_t i;
    json_t *c;
    json_array_foreach(kg_field(a, "performance.cases"), i, c) {
        const char *n = kg_field_text(c, "case");
        if (n)
            number_row(to, n, kg_field_number(c, "time_us"), kg_field_number(case_named(b, n), "time_us"),
                       kg_show_time);
    }
    json_array_foreach(kg_field(b, "performance.cases"), i, c) {
        const char *n = kg_field_text(c, "case");
        if (n && !case_named(a, n)) number_row(to, n, NAN, kg_field_number(c, "time_us"), kg_show_time);
    }
}

void kg_report_diff(const json_t *a, const json_t *b, FILE *to, bool color) {
    (void)color;
    static const char *const texts[][2] = {{"result", "id"},
                                           {"judged (UTC)", "started"},
                                           {"candidate", "candidate.path"},
                                           {"source", "candidate.sha256"},
                                           {"task", "task"},
                                           {"device", "device.name"},
                                           {"driver", "device.driver"},
                                           {"verdict", "verdict"},
                                           {"class", "class"},
                                           {"precision", "correctness.precision"},
                                           {"library screen", "screens.library"},
                                           {"roofline screen", "screens.roofline"}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) text_row(to, texts[i][0], texts[i][1], a, b);
    number_row(to, "error over bound", kg_field_number(a, "correctness.worst.error_over_bound"),
               kg_field_number(b, "correctness.worst.error_over_bound"), kg_show_ratio);
    number_row(to, "LRE", kg_field_number(a, "performance.lre"), kg_field_number(b, "performance.lre"), kg_show_ratio);
    number_row(to, "utilisation", kg_field_number(a, "performance.utilization"),
               kg_field_number(b, "performance.utilization"), kg_show_share);
    case_rows(a, b, to);
}
