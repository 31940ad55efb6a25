// kgate screen calibrate: thresholds of the two screens from kernels whose state is known.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "screen/calibrate.h"

static const char text[] =
    "  kgate run --format jsonl -o study.jsonl examples/gap22/triton\n"
    "  kgate screen calibrate --labels examples/gap22/labels.csv study.jsonl\n"
    "\n"
    "Finds the thresholds that tell slow kernels from good ones best, one for LRE and one per bound for\n"
    "utilisation, on kernels that somebody labelled: LABELS.csv has the columns file and label (clean, or\n"
    "else slow). A file of points (.csv: operator, bound, lre, utilization, label) needs no labels. Says\n"
    "what each threshold misplaces, what it does for operators it has not seen (each is left out in\n"
    "turn), and what one threshold for all bounds would cost. It changes nothing: give --lre-min and\n"
    "--util-min to use what it finds.\n";

static const struct {
    const char *name;
    kg_screened_by by;
    kg_bound bound;
} screens[] = {{"library: LRE", KG_BY_LRE, KG_ANY_BOUND},
               {"roofline: utilisation, memory", KG_BY_UTILIZATION, KG_BOUND_MEMORY},
               {"roofline: utilisation, compute", KG_BY_UTILIZATION, KG_BOUND_COMPUTE},
               {"one for all bounds", KG_BY_UTILIZATION, KG_ANY_BOUND}};
enum { SCREENS = sizeof screens / sizeof *screens };

static json_t *real(double x) { return isfinite(x) ? json_real(x) : json_null(); }

static json_t *counted(const kg_confusion *c) {
    return json_pack("{s:o,s:o,s:I,s:I,s:I,s:I}", "precision", real(kg_precision_rate(c)), "recall",
                     real(kg_recall_rate(c)), "flagged_slow", (json_int_t)c->flagged_slow, "missed_slow",
                     (json_int_t)c->missed_slow, "flagged_good", (json_int_t)c->flagged_good, "passed_good",
                     (json_int_t)c->passed_good);
}

static double default_of(size_t i) {
    const kg_thresholds t = kg_thresholds_default();
    if (screens[i].by == KG_BY_LRE) return t.lre_min;
    return screens[i].bound == KG_ANY_BOUND ? NAN : t.util_min[screens[i].bound];
}

static json_t *curve(const kg_points *p, size_t i) {
    json_t *list = json_array();
    for (int k = 1; k <= 24; k++) {
        const double at = 0.05 * k;
        const kg_confusion c = kg_confuse(p->items, p->n, screens[i].by, screens[i].bound, at);
        json_t *point = counted(&c);
        json_object_set_new(point, "threshold", real(at));
        json_array_append_new(list, point);
    }
    return list;
}

static json_t *fitted(const kg_points *p, size_t i) {
    const kg_fit f = kg_fit_threshold(p->items, p->n, screens[i].by, screens[i].bound);
    const kg_confusion left_out = kg_leave_one_out(p->items, p->n, screens[i].by, screens[i].bound);
    const kg_confusion now = kg_confuse(p->items, p->n, screens[i].by, screens[i].bound, default_of(i));
    return json_pack("{s:s,s:I,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o}", "screen", screens[i].name, "points", (json_int_t)f.n,
                     "threshold", real(f.threshold), "lo", real(f.lo), "hi", real(f.hi), "fit", counted(&f.at),
                     "left_out", counted(&left_out), "default", real(default_of(i)), "by_default",
                     isfinite(default_of(i)) ? counted(&now) : json_null(), "curve", curve(p, i));
}

// "7 of 9, 1.00, 0.78": misplaced, precision and recall.
static void print_counts(const json_t *c, FILE *to) {
    const json_int_t wrong =
        json_integer_value(json_object_get(c, "missed_slow")) + json_integer_value(json_object_get(c, "flagged_good"));
    const json_t *precision = json_object_get(c, "precision"), *recall = json_object_get(c, "recall");
    fprintf(to, "  %5lld", (long long)wrong);
    for (int k = 0; k < 2; k++) {
        const json_t *v = k ? recall : precision;
        if (json_is_number(v)) fprintf(to, " %5.2f", json_number_value(v));
        else fputs("     -", to);
    }
}

static void print_table(const json_t *all, FILE *to) {
    size_t i;
    json_t *s;
    fputs(
        "                                                    fitted            left out           default\n"
        "screen                          points threshold  wrong prec. rec.  wrong prec. rec.  wrong prec. rec.\n",
        to);
    json_array_foreach(all, i, s) {
        const json_t *threshold = json_object_get(s, "threshold");
        fprintf(to, "%-32s%6lld", json_string_value(json_object_get(s, "screen")),
                (long long)json_integer_value(json_object_get(s, "points")));
        if (!json_is_number(threshold)) {
            fputs("  points of one label, or none: no threshold\n", to);
            continue;
        }
        fprintf(to, " %9.3f", json_number_value(threshold));
        print_counts(json_object_get(s, "fit"), to);
        print_counts(json_object_get(s, "left_out"), to);
        if (json_is_object(json_object_get(s, "by_default"))) print_counts(json_object_get(s, "by_default"), to);
        fputc('\n', to);
    }
    fputs("\nEvery threshold from LOW to HIGH misplaces the same points:\n", to);
    json_array_foreach(all, i, s) {
        const json_t *lo = json_object_get(s, "lo"), *held = json_object_get(s, "default");
        if (!json_is_number(lo)) continue;
        fprintf(to, "  %-32s %.3f to %.3f", json_string_value(json_object_get(s, "screen")), json_number_value(lo),
                json_number_value(json_object_get(s, "hi")));
        if (json_is_number(held)) fprintf(to, "  (default %.2f)", json_number_value(held));
        fputc('\n', to);
    }
}

static int read_all(const kg_options *o, kg_points *p, kg_error *err) {
    kg_labels *labels = NULL;
    int rc = o->labels ? kg_labels_read(o->labels, &labels, err) : 0;
    for (size_t i = 1; !rc && i < o->n_args; i++) rc = kg_points_read(o->args[i], labels, p, err);
    kg_labels_free(labels);
    if (!rc && !p->n)
        rc = kg_fail(err, KG_ERR_USAGE,
                     "no labelled and screened record in what was given (%zu without a label, %zu "
                     "without a screen)",
                     p->unlabelled, p->unscreened);
    return rc;
}

static int screen(kg_options *o) {
    kg_error err = {0};
    kg_output *out;
    kg_points points = {0};
    if (o->n_args < 2 || strcmp(o->args[0], "calibrate") != 0) {
        kg_fail(&err, KG_ERR_USAGE, "screen: say calibrate, and files of records or points: `kgate screen --help`");
        return kg_cli_error(&err);
    }
    if (read_all(o, &points, &err) || kg_cli_output(o, &out, &err)) {
        kg_points_free(&points);
        return kg_cli_error(&err);
    }
    json_t *all = json_array();
    for (size_t i = 0; i < SCREENS; i++) json_array_append_new(all, fitted(&points, i));
    FILE *to = kg_output_stream(out);
    if (!strcmp(o->format, "json")) json_dumpf(all, to, JSON_INDENT(2) | JSON_REAL_PRECISION(6)), fputc('\n', to);
    else print_table(all, to);
    if (points.unlabelled + points.unscreened)
        kg_cli_note("%zu records have no label and %zu no screen: left out", points.unlabelled, points.unscreened);
    json_decref(all);
    kg_points_free(&points);
    return kg_output_close(out, &err) ? kg_cli_error(&err) : 0;
}

const kg_command kg_screen_command = {"screen", "calibrate [options] FILE...", text, "labels listing output", screen};
