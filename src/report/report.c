// Formats by name.
#include <stdlib.h>
#include <string.h>

#include "report/internal.h"

struct kg_report {
    const kg_writer *writer;
    void *self;
    FILE *to;
    size_t records;
    bool failed;
};

static const kg_writer *const writers[] = {&kg_table_writer, &kg_list_writer,  &kg_json_writer,  &kg_jsonl_writer,
                                           &kg_csv_writer,   &kg_junit_writer, &kg_words_writer, NULL};

int kg_report_open(const char *format, FILE *to, bool color, kg_report **out, kg_error *err) {
    for (size_t i = 0; writers[i]; i++) {
        if (strcmp(format, writers[i]->name) != 0) continue;
        kg_report *r = kg_alloc(sizeof *r);
        r->writer = writers[i];
        r->to = to;
        r->self = r->writer->open(to, color);
        *out = r;
        return 0;
    }
    return kg_fail(err, KG_ERR_USAGE, "--format %s: unknown: use table, json, jsonl, csv or junit", format);
}

void kg_report_require(kg_report *r, const kg_requirement *q) {
    if (r->writer->require) r->writer->require(r->self, q);
}

size_t kg_report_count(const kg_report *r) { return r->records; }

int kg_report_add(kg_report *r, const json_t *record) {
    r->records++;
    if (r->writer->add(r->self, record)) r->failed = true;
    return r->failed ? -1 : 0;
}

int kg_report_skip(kg_report *r, const char *path, const char *task, const char *why) {
    if (r->writer->skip && r->writer->skip(r->self, path, task, why)) r->failed = true;
    return r->failed ? -1 : 0;
}

int kg_report_close(kg_report *r) {
    bool failed = r->failed;
    if (r->writer->close(r->self)) failed = true;
    if (fflush(r->to) || ferror(r->to)) failed = true;
    free(r);
    return failed ? -1 : 0;
}
