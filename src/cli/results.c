// kgate results list|show|diff.
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

static const char text[] =
    "What `kgate run`, `gate` and `explain` stored. ID is the first column of the tables; a beginning of\n"
    "it will do. Nothing is judged and nothing is written, so a database that others keep can be read.\n"
    "\n"
    "  kgate results                               the newest results, with ids and dates\n"
    "  kgate results --task softmax -n 10          of one task\n"
    "  kgate results --verdict slow --format csv   for a spreadsheet\n"
    "  kgate results show ID                       one in words, as `kgate explain ID`\n"
    "  kgate results show ID --format json         its record\n"
    "  kgate results diff ID ID                    what changed from the first to the second\n";

typedef struct {
    kg_report *report;
    size_t n;
} listing;

static int add(const json_t *record, void *ctx) {
    listing *l = ctx;
    l->n++;
    return kg_report_add(l->report, record);
}

static int list(const kg_options *o, const kg_task *t, kg_database *s, FILE *to, kg_error *err) {
    char *label = t ? kg_task_label(t) : NULL;
    kg_store_filter f = {label, o->verdict, kg_option_given(o, "device") ? o->device : NULL, o->limit};
    listing listed = {0};
    bool table = !strcmp(o->format, "table");
    if (kg_report_open(table ? "list" : o->format, to, kg_cli_color(to), &listed.report, err)) {
        free(label);
        return -1;
    }
    int result = kg_store_list(s, &f, add, &listed, err);
    kg_report_close(listed.report);
    free(label);
    bool any = !f.task && !f.verdict && !f.device;
    if (!result && !listed.n && table) kg_cli_note(any ? "no results yet: `kgate run` stores them" : "no such results");
    return result;
}

static int show(const kg_options *o, kg_database *s, const char *id, FILE *to, kg_error *err) {
    json_t *record = kg_store_get(s, id, err);
    if (!record) return -1;
    int result = 0;
    kg_report *r;
    if (!kg_option_given(o, "format")) kg_report_explain(record, to, kg_cli_color(to));
    else if (!(result = kg_report_open(o->format, to, kg_cli_color(to), &r, err))) {
        kg_report_add(r, record);
        kg_report_close(r);
    }
    json_decref(record);
    return result;
}

static int diff(kg_database *s, const char *a, const char *b, FILE *to, kg_error *err) {
    json_t *x = kg_store_get(s, a, err), *y = x ? kg_store_get(s, b, err) : NULL;
    if (y) kg_report_diff(x, y, to, kg_cli_color(to));
    json_decref(x);
    json_decref(y);
    return y ? 0 : -1;
}

static int dispatch(const kg_options *o, kg_error *err) {
    const char *what = o->n_args ? o->args[0] : "list";
    size_t names = o->n_args ? o->n_args - 1 : 0;
    bool lists = !strcmp(what, "list") && !names, shows = !strcmp(what, "show") && names == 1;
    bool diffs = !strcmp(what, "diff") && names == 2;
    if (!lists && !shows && !diffs)
        return kg_fail(err, KG_ERR_USAGE, "results %s: use: list, show ID, or diff ID ID", what);
    if (diffs && strcmp(o->format, "table") != 0)
        return kg_fail(err, KG_ERR_USAGE, "--format %s: a diff is text: leave it out, or `results show ID --format %s`",
                       o->format, o->format);
    for (size_t i = 1; i < o->n_args; i++)
        if (!*o->args[i])
            return kg_fail(err, KG_ERR_USAGE, "results %s '': an empty id: `kgate results` lists them", what);
    const kg_task *t = o->task ? kg_task_find(o->task) : NULL;
    if (o->task && !t) return kg_cli_unknown_task("--task ", o->task, err);
    kg_database *s;
    kg_output *out;
    if (kg_cli_store(o, true, &s, err)) return -1;
    int result = kg_cli_output(o, &out, err);
    if (!result) {
        FILE *to = kg_output_stream(out);
        result = lists   ? list(o, t, s, to, err)
                 : shows ? show(o, s, o->args[1], to, err)
                         : diff(s, o->args[1], o->args[2], to, err);
        if (result) kg_output_leave(out);
        if (kg_output_close(out, result ? NULL : err)) result = -1;
    }
    kg_store_close(s);
    return result;
}

static int results(kg_options *o) {
    kg_error err = {0};
    return dispatch(o, &err) ? kg_cli_error(&err) : 0;
}

const kg_command kg_results_command = {"results", "[list] | show ID | diff ID ID", text,
                                       "db format output of-task verdict of-device limit", results};
