// kgate explain: results in words. A result may be an id, a file of records, or a candidate judged now.
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"

static const char text[] =
    "Says in words what a result means: the numbers, the screens, the findings and what to change.\n"
    "\n"
    "A result is explained as it is stored, by its id: the first column of `kgate run` and `kgate\n"
    "results`. A candidate is judged anew every time, as `kgate run` does: its numbers differ a little\n"
    "from those before. The options are for that judging; -o, --format and --db serve both.\n"
    "\n"
    "  kgate explain k3jd7a      a stored result; a beginning of its id will do\n"
    "  kgate explain out.jsonl   records that `kgate run --format json` or `jsonl` wrote\n"
    "  kgate explain softmax.c   a candidate: judged now, and stored as another result\n";

static bool is_record(const json_t *v) { return json_object_get(v, "verdict") && json_object_get(v, "candidate"); }

// Records of a file, one after the other: a JSON array, one object, or an object a line. 0 when it holds none.
static size_t explain_file(const char *path, kg_report *report) {
    FILE *f = fopen(path, "re");
    size_t n = 0, i;
    json_t *v, *item;
    while (f && (v = json_loadf(f, JSON_DISABLE_EOF_CHECK, NULL))) {
        if (json_is_array(v)) json_array_foreach(v, i, item) {
                if (is_record(item)) n++, kg_report_add(report, item);
            }
        else if (is_record(v)) n++, kg_report_add(report, v);
        json_decref(v);
        if (!n) break;
    }
    if (f) fclose(f);
    return n;
}

static bool may_hold_records(const char *path) {
    const char *dot = strrchr(path, '.');
    return dot && (!strcmp(dot, ".json") || !strcmp(dot, ".jsonl")) && !access(path, R_OK);
}

static int explain_id(const kg_options *o, const char *id, kg_report *report, kg_error *err) {
    kg_database *s;
    if (!*id) return kg_fail(err, KG_ERR_USAGE, "'': an empty name: give a result's id, or a file");
    if (kg_cli_store(o, true, &s, err)) return -1;
    json_t *record = kg_store_get(s, id, err);
    kg_store_close(s);
    if (!record) return -1;
    kg_report_add(report, record);
    json_decref(record);
    return 0;
}

// A name with a dot or a slash is a path, even when nothing is there: ids have neither.
static bool is_path(const char *arg) { return !strcmp(arg, "-") || !access(arg, F_OK) || strpbrk(arg, "./") != NULL; }

static int explain_one(const kg_options *o, char *arg, kg_report *report) {
    kg_error err = {0};
    kg_options one = *o;
    if (may_hold_records(arg) && explain_file(arg, report)) return 0;
    if (!is_path(arg)) return explain_id(o, arg, report, &err) ? kg_cli_error(&err) : 0;
    one.args = &arg;
    one.n_args = 1;
    return kg_cli_judge(&one, "explain", report, NULL, &err);
}

static int explain(kg_options *o) {
    kg_error err = {0};
    kg_output *out;
    kg_report *report;
    int worst = 0;
    if (!o->n_args) {
        kg_fail(&err, KG_ERR_USAGE, "nothing to explain: give a result's id, a file of records, or a candidate");
        return kg_cli_error(&err);
    }
    const char *format = kg_option_given(o, "format") ? o->format : "words";
    if (kg_cli_output(o, &out, &err)) return kg_cli_error(&err);
    FILE *to = kg_output_stream(out);
    if (kg_report_open(format, to, kg_cli_color(to), &report, &err)) return kg_cli_error(&err);
    for (size_t i = 0; i < o->n_args; i++) {
        int code = explain_one(o, o->args[i], report);
        if (code > worst) worst = code;
    }
    if (!kg_report_count(report)) kg_output_leave(out);
    kg_report_close(report);
    if (!kg_output_close(out, &err)) return worst;
    return kg_cli_error(&err);
}

const kg_command kg_explain_command = {
    "explain", "[options] RESULT... | CANDIDATE...", text,
    "task device words output db no-db seed case cases scope check-only profile timeout baseline lre-min util-min cache python lang",
    explain};
