// JSON: one array, or a record a line.
#include <stdlib.h>

#include "report/internal.h"

typedef struct {
    FILE *to;
    size_t n;
} stream;

static void *open_lines(FILE *to, bool color) {
    (void)color;
    stream *s = kg_alloc(sizeof *s);
    s->to = to;
    return s;
}

static int add_line(void *self, const json_t *record) {
    stream *s = self;
    int rc = json_dumpf(record, s->to, KG_JSON_FLAGS | JSON_COMPACT);
    return rc || fputc('\n', s->to) == EOF || fflush(s->to) ? -1 : 0;
}

static int close_lines(void *self) {
    free(self);
    return 0;
}

static int add_item(void *self, const json_t *record) {
    stream *s = self;
    fputs(s->n++ ? ",\n" : "[\n", s->to);
    int rc = json_dumpf(record, s->to, KG_JSON_FLAGS | JSON_INDENT(2));
    return rc || fflush(s->to) ? -1 : 0;
}

static int close_array(void *self) {
    stream *s = self;
    int rc = fputs(s->n ? "\n]\n" : "[]\n", s->to) == EOF ? -1 : 0;
    free(s);
    return rc;
}

const kg_writer kg_jsonl_writer = {"jsonl", open_lines, add_line, close_lines, NULL, NULL};
const kg_writer kg_json_writer = {"json", open_lines, add_item, close_array, NULL, NULL};
