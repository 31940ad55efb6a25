// The table: a row as soon as it is known, within 100 columns; below it, why each candidate is not efficient.
#include <stdlib.h>
#include <string.h>

#include "report/internal.h"

#define NOTE_LINES 3  // a reason needs its numbers; more than this is explain's

// Widths are fixed so that rows need not wait for each other. They and seven blanks make 100.
static const struct {
    const char *title;
    int width;
    bool right, middle;  // numbers stand right; names are shortened in the middle
} columns[] = {
    {"task", 17, false, true},      {"candidate", 22, false, true}, {"verdict", 9, false, false},
    {"precision", 9, false, false}, {"time", 8, true, false},       {"LRE", 5, true, false},
    {"util", 4, true, false},       {"class", 19, false, false},
};
enum { COLUMNS = sizeof columns / sizeof *columns, VERDICT = 2 };
static const char *const known[] = {"efficient", "slow", "right", "incorrect", "tampered", "broken"};
enum { KNOWN = sizeof known / sizeof *known };

typedef struct {
    FILE *to;
    bool color;
    size_t rows, counts[KNOWN];
    double seconds;
    bool timed;
    char **notes, **commands;  // commands: what repeats a wrong case, or NULL
    size_t n_notes, n_inefficient;
} table;

static void *open_table(FILE *to, bool color) {
    table *t = kg_alloc(sizeof *t);
    t->to = to;
    t->color = color;
    return t;
}

// Cells are text of ours or from outside; NULL and "" are shown as "-".
static void print_row(table *t, const char *const cells[COLUMNS], const char *color) {
    kg_text line = {0};
    for (size_t i = 0; i < COLUMNS; i++) {
        char *safe = kg_safe(cells[i] && *cells[i] ? cells[i] : "-");
        size_t width = (size_t)columns[i].width;
        char *cell = (columns[i].middle ? kg_shorten_middle : kg_shorten_end)(safe, width);
        int pad = (int)(width - kg_columns(cell));
        bool paint = i == VERDICT && *color;
        kg_text_add(&line, "%s%*s%s%s%s", i ? " " : "", columns[i].right ? pad : 0, "", paint ? color : "", cell,
                    paint ? "\033[0m" : "");
        if (!columns[i].right && i + 1 < COLUMNS) kg_text_add(&line, "%*s", pad, "");
        free(cell);
        free(safe);
    }
    fprintf(t->to, "%s\n", line.data);
    kg_text_free(&line);
}

static void print_titles(table *t) {
    const char *cells[COLUMNS];
    for (size_t i = 0; i < COLUMNS; i++) cells[i] = columns[i].title;
    print_row(t, cells, "");
}

static char *command_of(const json_t *r, const char *verdict) {
    const char *replay = kg_field_text(r, "correctness.worst.replay");
    return replay && !strcmp(verdict, "incorrect") ? kg_wrap_command(replay, 2, NOTE_LINES) : NULL;
}

static void keep_note(table *t, const json_t *r) {
    const char *path = kg_field_text(r, "candidate.path"), *verdict = kg_field_text(r, "verdict");
    char *why = kg_why(r);
    if (why) t->n_inefficient++;
    else why = kg_unscreened(r);
    char *part = kg_restriction(r), *both = part && why ? kg_format("%s; %s", part, why)
                                            : part      ? kg_strdup(part)
                                                        : NULL;
    if (both) {
        free(why);
        why = both;
    }
    free(part);
    if (!why || !verdict) {
        free(why);
        return;
    }
    char *name = kg_safe(path ? path : "-"), *head = kg_shorten_middle(name, 30);
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

static int add_row(void *self, const json_t *r) {
    table *t = self;
    const char *verdict = kg_field_text(r, "verdict");
    char *time = kg_show_time(kg_table_time(r)), *lre = kg_show_ratio(kg_field_number(r, "performance.lre"));
    char *util = kg_show_share(kg_field_number(r, "performance.utilization"));
    const char *cells[COLUMNS] = {kg_field_text(r, "task"),
                                  kg_field_text(r, "candidate.path"),
                                  verdict,
                                  kg_field_text(r, "correctness.precision"),
                                  time,
                                  lre,
                                  util,
                                  kg_field_text(r, "class")};
    double seconds = kg_field_number(r, "seconds");
    if (!t->rows) print_titles(t);
    print_row(t, cells, kg_color_of(verdict ? verdict : "", t->color));
    count(t, verdict);
    keep_note(t, r);
    if (!isnan(seconds)) t->seconds += seconds;
    t->timed |= *time != 0;
    free(time);
    free(lre);
    free(util);
    return fflush(t->to) ? -1 : 0;
}

static void print_summary(const table *t) {
    fprintf(t->to, "%zu candidate%s:", t->rows, t->rows == 1 ? "" : "s");
    const char *separator = " ";
    for (size_t i = 0; i < KNOWN; i++) {
        if (!t->counts[i]) continue;
        fprintf(t->to, "%s%s%zu %s%s", separator, kg_color_of(known[i], t->color), t->counts[i], known[i],
                KG_COLOR_END(t->color));
        separator = ", ";
    }
    fprintf(t->to, "; %.1f s.%s\n", t->seconds, t->timed ? " Time: longest timed case." : "");
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
        print_summary(t);
        if (t->n_inefficient)
            fprintf(t->to, "`kgate explain FILE` says all about one, with the command that repeats a wrong case.\n");
    }
    free(t->notes);
    free(t->commands);
    free(t);
    return 0;
}

const kg_writer kg_table_writer = {"table", open_table, add_row, close_table, NULL, NULL};
