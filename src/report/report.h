// Records to text: table (of what was judged), list (of what is stored), json, jsonl, csv, junit, and words (as
// kg_report_explain). Streams: a record is written as soon as it is known where the format allows it.
#ifndef KG_REPORT_H
#define KG_REPORT_H

#include <jansson.h>
#include <stdio.h>

#include "base/base.h"

typedef struct kg_report kg_report;
int kg_report_open(const char *format, FILE *to, bool color, kg_report **out, kg_error *err);
int kg_report_add(kg_report *r, const json_t *record);
// One that was given and not judged, and why; only JUnit has a place for it.
int kg_report_skip(kg_report *r, const char *path, const char *task, const char *why);
size_t kg_report_count(const kg_report *r);  // records added
int kg_report_close(kg_report *r);           // writes what the format needs at the end; -1 when the stream failed

// ---- requirement.c: what `kgate gate` asks of a candidate.
typedef struct {
    const char *verdict;  // "efficient"; "slow" or "right": right and honest
    bool check_only;      // nothing was to be timed
} kg_requirement;
// NULL when the record meets it, else why not, in one line without its name; owned by the caller.
char *kg_unmet(const kg_requirement *q, const json_t *record);
// JUnit counts as failures exactly what does not meet this. Without it: all but efficient and right.
void kg_report_require(kg_report *r, const kg_requirement *q);
// Why no screen applied to a candidate that was timed, or NULL when one did; owned by the caller.
char *kg_unscreened(const json_t *record);

// ---- fields.c: reading a record in which anything may be missing, null or of another type.
const json_t *kg_field(const json_t *record, const char *path);        // "performance.lre"; NULL when absent or null
const char *kg_field_text(const json_t *record, const char *path);     // NULL when it is no text
double kg_field_number(const json_t *record, const char *path);        // NAN when it is no number
bool kg_field_is(const json_t *record, const char *path, bool value);  // it is a boolean and equal

// `kgate explain`, `kgate results show`: one record in words. Width 100.
void kg_report_explain(const json_t *record, FILE *to, bool color);
void kg_report_diff(const json_t *a, const json_t *b, FILE *to, bool color);

// Text from outside for a terminal or one line of a log: control and format characters become \n, \x1b, \u202e.
// Owned by the caller.
char *kg_safe(const char *s);
// Of such text: its columns on a terminal; its beginning within so many, "..." where it goes on, owned by the caller.
size_t kg_columns(const char *s);
char *kg_shorten_end(const char *s, size_t columns);

#endif
