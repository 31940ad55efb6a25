// Tables: a row as soon as it is known, within 100 columns. `table` is what a judging command shows, with the reasons
// below it; `list` what the database holds, with dates.
#include <stdlib.h>
#include <string.h>

#include "report/internal.h"

#define NOTE_LINES 3  // a reason needs its numbers; more than this is explain's

// ---- cells: owned by the caller, NULL and "" are shown as "-"

static char *text_cell(const json_t *r, const char *field) {
    const char *s = kg_field_text(r, field);
    return s ? kg_strdup(s) : NULL;
}
static char *cell_id(const json_t *r) { return text_cell(r, "id"); }
static char *cell_task(const json_t *r) { return text_cell(r, "task"); }
static char *cell_path(const json_t *r) { return text_cell(r, "candidate.path"); }
static char *cell_class(const json_t *r) { return text_cell(r, "class"); }
static char *cell_time(const json_t *r) { return kg_show_time(kg_table_time(r)); }
static char *cell_util(const json_t *r) { return kg_show_share(kg_field_number(r, "performance.utilization")); }

static bool unsure(const json_t *r) { return kg_field_is(r, "performance.sure", false); }

static char *cell_verdict(const json_t *r) {
    const char *verdict = kg_field_text(r, "verdict");
    return verdict ? kg_format("%s%s", verdict, unsure(r) ? "?" : "") : NULL;
}

static char *cell_precision(const json_t *r) {
    const char *p = kg_precision_of(r);
    return p ? kg_strdup(p) : NULL;
}

// Five columns: below 0.01 a digit is left, which says enough of a kernel so slow.
static char *cell_lre(const json_t *r) {
    double lre = kg_field_number(r, "performance.lre");
    return lre < 0.00995 ? kg_format(lre < 0.0005 ? "<.001" : "%.3f", lre) : kg_show_ratio(lre);
}

// To the minute: the day and the order are what a list is searched for.
static char *cell_date(const json_t *r) {
    char *when = kg_when(r);
    if (when && strlen(when) > 16) when[16] = 0;
    return when;
}

typedef struct {
    const char *title;
    int width;
    bool right;  // numbers stand right
    char *(*shorten)(const char *s, size_t columns);
    char *(*cell)(const json_t *r);
} column;

// Widths are fixed so that rows need not wait for each other. They and the blanks between them make 100.
static const column judged[] = {
    {"id", 6, false, kg_shorten_id, cell_id},
    {"task", 13, false, kg_shorten_middle, cell_task},
    {"candidate", 18, false, kg_shorten_front, cell_path},
    {"verdict", 10, false, kg_shorten_end, cell_verdict},
    {"precision", 9, false, kg_shorten_end, cell_precision},
    {"time", 8, true, kg_shorten_end, cell_time},
    {"LRE", 5, true, kg_shorten_end, cell_lre},
    {"util", 4, true, kg_shorten_end, cell_util},
    {"class", 19, false, kg_shorten_end, cell_class},
};
static const column kept[] = {
    {"id", 6, false, kg_shorten_id, cell_id},
    {"date (UTC)", 16, false, kg_shorten_end, cell_date},
    {"task", 14, false, kg_shorten_middle, cell_task},
    {"candidate", 19, false, kg_shorten_front, cell_path},
    {"verdict", 10, false, kg_shorten_end, cell_verdict},
    {"LRE", 5, true, kg_shorten_end, cell_lre},
    {"util", 4, true, kg_shorten_end, cell_util},
    {"class", 19, false, kg_shorten_end, cell_class},
};
static const char *const known[] = {"efficient", "slow", "right", "incorrect", "tampered", "broken"};
enum { KNOWN = sizeof known / sizeof *known };

typedef struct {
    FILE *to;
    bool color;
    const column *columns;
    size_t n_columns;
    size_t rows, skipped, counts[KNOWN];
    double seconds;
    bool timed, stored;
    size_t unsure;
    json_t *profile;           // seconds by step
    json_t *baselines;         // names of what was compared with, each once
    char **notes, **commands;  // commands: what repeats a wrong case, or NULL
    size_t n_notes, n_inefficient;
} table;

static table *open_with(FILE *to, bool color, const column *columns, size_t n) {
    table *t = kg_alloc(sizeof *t);
    *t = (table){.to = to,
                 .color = color,
                 .columns = columns,
                 .n_columns = n,
                 .baselines = json_array(),
                 .profile = json_object()};
    return t;
}

static void *open_table(FILE *to, bool color) { return open_with(to, color, judged, sizeof judged / sizeof *judged); }
static void *open_list(FILE *to, bool color) { return open_with(to, color, kept, sizeof kept / sizeof *kept); }

// One cell of text of ours or from outside. Nothing follows the last column, so it is not filled up.
static void add_cell(kg_text *line, const column *c, const char *text, const char *color, bool last) {
    char *safe = kg_safe(text && *text ? text : "-"), *cell = c->shorten(safe, (size_t)c->width);
    int pad = c->width - (int)kg_columns(cell);
    kg_text_add(line, "%*s%s%s%s%*s%s", c->right ? pad : 0, "", color, cell, *color ? "\033[0m" : "",
                c->right || last ? 0 : pad, "", last ? "" : " ");
    free(cell);
    free(safe);
}

static void print_titles(const table *t) {
    kg_text line = {0};
    for (size_t i = 0; i < t->n_columns; i++)
        add_cell(&line, &t->columns[i], t->columns[i].title, "", i + 1 == t->n_columns);
    fprintf(t->to, "%s\n", line.data);
    kg_text_free(&line);
}

static void print_row(const table *t, const json_t *r) {
    const char *verdict = kg_field_text(r, "verdict");
    kg_text line = {0};
    for (size_t i = 0; i < t->n_columns; i++) {
        const column *c = &t->columns[i];
        char *text = c->cell(r);
        bool paint = c->cell == cell_verdict && verdict;
        add_cell(&line, c, text, paint ? kg_color_of(verdict, t->color) : "", i + 1 == t->n_columns);
        free(text);
    }
    fprintf(t->to, "%s\n", line.data);
    kg_text_free(&line);
}

static char *command_of(const json_t *r, const char *verdict) {
    const char *replay = kg_field_text(r, "correctness.worst.replay");
    return replay && !strcmp(verdict, "incorrect") ? kg_wrap_command(replay, 2, NOTE_LINES) : NULL;
}

// Both, or the one there is; takes both.
static char *joined(char *a, char *b) {
    if (!a || !b) return a ? a : b;
    char *both = kg_format("%s; %s", a, b);
    free(a);
    free(b);
    return both;
}

static void keep_note(table *t, const json_t *r) {
    const char *path = kg_field_text(r, "candidate.path"), *verdict = kg_field_text(r, "verdict");
    char *why = kg_why(r);
    if (why) t->n_inefficient++;
    why = joined(kg_restriction(r), joined(why ? why : kg_unscreened(r), kg_doubt(r)));
    if (!why || !verdict) {
        free(why);
        return;
    }
    char *name = kg_safe(path ? path : "-"), *head = kg_shorten_front(name, 30);
    char *line = kg_format("%s %s: %s", verdict, head, why), *safe = kg_safe(line);
    t->notes = kg_realloc(t->notes, (t->n_notes + 1) * sizeof *t->notes);
    t->commands = kg_realloc(t->commands, (t->n_notes + 1) * sizeof *t->commands);
    t->commands[t->n_notes] = command_of(r, verdict);
    t->notes[t->n_notes++] = kg_shorten_end(safe, NOTE_LINES * KG_WIDTH);
    free(safe);
    free(line);
    free(head);
    free(name);
    free(why);
}

static void count(table *t, const char *verdict) {
    t->rows++;
    for (size_t i = 0; i < KNOWN; i++)
        if (verdict && !strcmp(verdict, known[i])) t->counts[i]++;
}

static void note_baselines(table *t, const json_t *r) {
    size_t i, k;
    json_t *c, *seen;
    json_array_foreach(kg_field(r, "performance.cases"), i, c) {
        const char *name = kg_field_text(c, "baseline");
        bool there = !name;
        json_array_foreach(t->baselines, k, seen) there |= name && !strcmp(name, json_string_value(seen));
        if (!there) json_array_append_new(t->baselines, json_string(name));
    }
}

static int add_kept(void *self, const json_t *r) {
    table *t = self;
    double seconds = kg_field_number(r, "seconds");
    if (!t->rows) print_titles(t);
    print_row(t, r);
    count(t, kg_field_text(r, "verdict"));
    note_baselines(t, r);
    if (!isnan(seconds)) t->seconds += seconds;
    t->timed |= !isnan(kg_table_time(r));
    t->stored |= kg_field_text(r, "id") != NULL;
    t->unsure += unsure(r);
    kg_profile_add(t->profile, r);
    return fflush(t->to) ? -1 : 0;
}

static int add_judged(void *self, const json_t *r) {
    keep_note(self, r);
    return add_kept(self, r);
}

static int skip_one(void *self, const char *path, const char *task, const char *why) {
    (void)path, (void)task, (void)why;
    ((table *)self)->skipped++;
    return 0;
}

static void print_counts(const table *t, const char *what) {
    const size_t all = t->rows + t->skipped;
    fprintf(t->to, "%zu %s%s:", all, what, all == 1 ? "" : "s");
    const char *separator = " ";
    for (size_t i = 0; i < KNOWN; i++) {
        if (!t->counts[i]) continue;
        fprintf(t->to, "%s%s%zu %s%s", separator, kg_color_of(known[i], t->color), t->counts[i], known[i],
                KG_COLOR_END(t->color));
        separator = ", ";
    }
    if (t->skipped) fprintf(t->to, "%s%zu not judged", separator, t->skipped);
    fprintf(t->to, "; %.1f s.\n", t->seconds);
}

// What the numbers of the columns are of.
static void print_legend(const table *t, const char *time) {
    kg_text names = {0};
    size_t i;
    json_t *name;
    json_array_foreach(t->baselines, i, name) kg_text_add(&names, "%s%s", i ? ", " : "", json_string_value(name));
    if (t->timed)
        kg_wrap(t->to, 0, "%sLRE, util: means over the screened sizes%s%s.", time,
                names.data ? "; LRE and class: beside " : "", names.data ? names.data : "");
    kg_text_free(&names);
}

static void table_free(table *t) {
    json_decref(t->baselines);
    json_decref(t->profile);
    free(t->notes);
    free(t->commands);
    free(t);
}

static int close_table(void *self) {
    table *t = self;
    if (t->n_notes) fputc('\n', t->to);
    for (size_t i = 0; i < t->n_notes; i++) {
        kg_wrap(t->to, 0, "%s", t->notes[i]);
        if (t->commands[i]) fprintf(t->to, "%s\n", t->commands[i]);
        free(t->notes[i]);
        free(t->commands[i]);
    }
    if (t->rows) {
        fputc('\n', t->to);
        print_counts(t, "candidate");
        print_legend(t, "Time: longest timed size. ");
        if (t->unsure) kg_wrap(t->to, 0, "?: %s.", KG_UNSURE);
        kg_profile_print(t->profile, 0, t->to);
        if (t->n_inefficient && t->stored)
            fputs("`kgate explain ID` says all about one as it is stored, with the line that repeats a wrong case.\n",
                  t->to);
        else if (t->n_inefficient)
            fputs("`kgate explain FILE` judges one again and says all about it: nothing was stored.\n", t->to);
    }
    table_free(t);
    return 0;
}

static int close_list(void *self) {
    table *t = self;
    if (t->rows) {
        fputc('\n', t->to);
        print_counts(t, "result");
        print_legend(t, "");
        if (t->unsure) kg_wrap(t->to, 0, "?: %s.", KG_UNSURE);
        fputs("`kgate explain ID` says all about one, `kgate results diff ID ID` what changed between two.\n", t->to);
    }
    table_free(t);
    return 0;
}

const kg_writer kg_table_writer = {"table", open_table, add_judged, close_table, skip_one, NULL};
const kg_writer kg_list_writer = {"list", open_list, add_kept, close_list, NULL, NULL};
