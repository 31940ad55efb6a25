// kgate results list|show|diff.
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

static const char text[] =
    "  kgate results                        the newest results\n"
    "  kgate results --verdict slow --format csv\n"
    "  kgate results show ID                one in words, or with --format json its record; a\n"
    "                                       beginning of the id will do\n"
    "  kgate results diff A B               what changed between two\n";

typedef struct {
    kg_report *report;
    size_t n;
} listing;

static int add(const json_t *record, void *ctx) {
    listing *l = ctx;
    l->n++;
    return kg_report_add(l->report, record);
}

// The table has no column for the id, without which nothing can be shown: it stands before the candidate's name.
static int add_with_id(const json_t *record, void *ctx) {
    json_t *shown = json_deep_copy(record), *candidate = json_object_get(shown, "candidate");
    const char *id = json_string_value(json_object_get(record, "id"));
    const char *path = json_string_value(json_object_get(candidate, "path"));
    char *name = kg_format("%s %s", id ? id : "?", path ? path : "-");
    json_object_set_new(candidate, "path", json_string(name));
    int result = add(shown, ctx);
    free(name);
    json_decref(shown);
    return result;
}

static int list(const kg_options *o, const kg_task *t, kg_database *s, FILE *to, kg_error *err) {
    char *label = t ? kg_task_label(t) : NULL;
    kg_store_filter f = {label, o->verdict, kg_option_given(o, "device") ? o->device : NULL, o->limit};
    listing listed = {0};
    if (kg_report_open(o->format, to, kg_cli_color(to), &listed.report, err)) {
        free(label);
        return -1;
    }
    int result = kg_store_list(s, &f, strcmp(o->format, "table") ? add : add_with_id, &listed, err);
    kg_report_close(listed.report);
    free(label);
    if (!result && !listed.n && !strcmp(o->format, "table")) kg_cli_note("no such results");
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
        return kg_fail(err, KG_ERR_USAGE, "results %s: use: list, show ID, or diff A B", what);
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

const kg_command kg_results_command = {"results", "[list] | show ID | diff A B", text,
                                       "db format output task verdict device limit", results};
