// Shared by the files of this room only.
#ifndef KG_REPORT_INTERNAL_H
#define KG_REPORT_INTERNAL_H

#include <math.h>

#include "report/report.h"

#define KG_WIDTH 100

// ---- text.c: all owned by the caller.
char *kg_shorten_middle(const char *s, size_t columns);
char *kg_shorten_front(const char *s, size_t columns);
char *kg_shorten_id(const char *s, size_t columns);
// Text to the stream in lines of at most KG_WIDTH columns, each line begun with `indent` blanks.
void kg_wrap(FILE *to, int indent, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
// A command line in lines of at most KG_WIDTH columns, broken before its options and ended so that a shell takes it as
// one; owned by the caller, NULL when it does not fit into so many lines.
char *kg_wrap_command(const char *command, int indent, int lines);

// ---- numbers.c: owned by the caller; "" for NAN.
char *kg_show_time(double us);               // three digits and a unit: "55.3 us", "1.47 ms"
char *kg_show_ratio(double x);               // three digits: "0.953", "12.9", "1293"
char *kg_show_share(double x);               // "35%"
double kg_table_time(const json_t *record);  // longest timed case, us; NAN when none

// ---- words.c
// Why a candidate is not efficient, in one line without its name; owned by the caller. NULL when there is nothing to
// say.
char *kg_why(const json_t *record);
// Of a verdict that is not sure: the intervals and what they were held against; owned by the caller. NULL: it is.
char *kg_doubt(const json_t *record);
// By the screens that were applied, and naming what was compared with; owned by the caller, NULL without a class.
char *kg_class_meaning(const json_t *record);
// "the library (onednn)", "old.c (--baseline)"; owned by the caller.
char *kg_compared_with(const json_t *record);
const char *kg_precision_of(const json_t *record);         // NULL for a wrong kernel: it works at none
char *kg_when(const json_t *record);                       // "2026-11-30 03:52:11"; owned by the caller, or NULL
const char *kg_verdict_meaning(const char *verdict);       // NULL for an unknown one
const char *kg_color_of(const char *verdict, bool color);  // escape sequence, or ""
// "judged in part: --scope f32"; owned by the caller. NULL for the whole schema.
char *kg_restriction(const json_t *record);
// Of a record whose performance.sure is false.
#define KG_UNSURE           "not sure: a threshold lies within the interval, or the machine was busy"
#define KG_COLOR_END(color) ((color) ? "\033[0m" : "")
// The timed case that holds its screens back most: least utilisation and LRE against each other; NULL when none.
const json_t *kg_worst_case(const json_t *record);

// ---- profile.c
void kg_profile_add(json_t *sum, const json_t *record);    // seconds by step, over records
void kg_profile_print(json_t *sum, int indent, FILE *to);  // largest first; nothing when there are none

// ---- one writer a format
typedef struct {
    const char *name;
    void *(*open)(FILE *to, bool color);  // the writer's own state
    int (*add)(void *self, const json_t *record);
    int (*close)(void *self);  // frees self
    // Optional: one that was not judged; what counts as a failure.
    int (*skip)(void *self, const char *path, const char *task, const char *why);
    void (*require)(void *self, const kg_requirement *q);
} kg_writer;
extern const kg_writer kg_table_writer, kg_list_writer, kg_json_writer, kg_jsonl_writer, kg_csv_writer, kg_junit_writer,
    kg_words_writer;

// Options every JSON text is written with: fifteen digits print 55.3 as it was measured, not 55.299999999999997.
#define KG_JSON_FLAGS (JSON_REAL_PRECISION(15) | JSON_ENCODE_ANY)

#endif
