// Records to text: table, json, jsonl, csv, junit, and words (as kg_report_explain). Streams: a record is written as
// soon as it is known where the format allows it.
#ifndef KG_REPORT_H
#define KG_REPORT_H

#include <jansson.h>
#include <stdio.h>

#include "base/base.h"

typedef struct kg_report kg_report;
int kg_report_open(const char *format, FILE *to, bool color, kg_report **out, kg_error *err);
int kg_report_add(kg_report *r, const json_t *record);
int kg_report_close(kg_report *r);  // writes what the format needs at the end; -1 when the stream failed
// `kgate explain`, `kgate results show`: one record in words. Width 100.
void kg_report_explain(const json_t *record, FILE *to, bool color);
void kg_report_diff(const json_t *a, const json_t *b, FILE *to, bool color);

// Text from outside for a terminal or one line of a log: control and format characters become \n, \x1b, \u202e.
// Owned by the caller.
char *kg_safe(const char *s);

#endif
