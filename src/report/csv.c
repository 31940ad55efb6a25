// CSV (RFC 4180): a header, a record a line, quotes doubled, CR LF.
#include <stdlib.h>
#include <string.h>

#include "report/internal.h"

// Column and where it stands in the record. Text, numbers and booleans as JSON has them; arrays by their size.
static const struct {
    const char *column, *field;
} columns[] = {
    {"id", "id"},
    {"path", "candidate.path"},
    {"sha256", "candidate.sha256"},
    {"language", "candidate.language"},
    {"entry", "candidate.entry"},
    {"method", "candidate.method"},
    {"round", "candidate.round"},
    {"task", "task"},
    {"suite", "suite"},
    {"category", "category"},
    {"device_kind", "device.kind"},
    {"device", "device.name"},
    {"driver", "device.driver"},
    {"verdict", "verdict"},
    {"class", "class"},
    {"build_ok", "build.ok"},
    {"correct", "correctness.ok"},
    {"cases", "correctness.cases"},
    {"failed", "correctness.failed"},
    {"seed", "correctness.seed"},
    {"precision", "correctness.precision"},
    {"worst_case", "correctness.worst.case"},
    {"error_over_bound", "correctness.worst.error_over_bound"},
    {"replay", "correctness.worst.replay"},
    {"integrity_ok", "integrity.ok"},
    {"violations", "integrity.violations"},
    {"lre", "performance.lre"},
    {"utilization", "performance.utilization"},
    {"speedup", "performance.speedup"},
    {"timed_cases", "performance.cases"},
    {"screen_library", "screens.library"},
    {"screen_roofline", "screens.roofline"},
    {"findings", "findings"},
    {"error", "error"},
    {"started", "started"},
    {"seconds", "seconds"},
};
enum { COLUMNS = sizeof columns / sizeof *columns };

static void put_text(FILE *to, const char *s) {
    if (!s[strcspn(s, ",\"\r\n")]) {
        fputs(s, to);
        return;
    }
    fputc('"', to);
    for (; *s; s++) {
        if (*s == '"') fputc('"', to);
        fputc(*s, to);
    }
    fputc('"', to);
}

static void put_value(FILE *to, const json_t *v) {
    if (json_is_string(v)) put_text(to, json_string_value(v));
    else if (json_is_array(v)) fprintf(to, "%zu", json_array_size(v));
    else if (json_is_number(v) || json_is_boolean(v)) json_dumpf(v, to, KG_JSON_FLAGS);
}

typedef struct {
    FILE *to;
} csv;

static void *open_csv(FILE *to, bool color) {
    (void)color;
    for (size_t i = 0; i < COLUMNS; i++) fprintf(to, "%s%s", i ? "," : "", columns[i].column);
    fputs("\r\n", to);
    csv *self = kg_alloc(sizeof *self);
    self->to = to;
    return self;
}

static int add_row(void *self, const json_t *record) {
    FILE *to = ((csv *)self)->to;
    for (size_t i = 0; i < COLUMNS; i++) {
        if (i) fputc(',', to);
        put_value(to, kg_field(record, columns[i].field));
    }
    fputs("\r\n", to);
    return fflush(to) ? -1 : 0;
}

static int close_csv(void *self) {
    free(self);
    return 0;
}

const kg_writer kg_csv_writer = {"csv", open_csv, add_row, close_csv, NULL, NULL};
