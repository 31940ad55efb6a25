// One record in words: what was judged, what came out, what each number and screen means.
#include <stdlib.h>
#include <string.h>

#include "report/internal.h"

static const char *or_unknown(const char *s) { return s ? s : "unknown"; }

// Which result this is: the same file has another one after every run.
static void which(const json_t *r, FILE *to) {
    const char *id = kg_field_text(r, "id");
    char *when = kg_when(r);
    if (id || when)
        kg_wrap(to, 0, "result %s%s%s%s", id ? id : "(not stored)", when ? ", judged " : "", when ? when : "",
                when ? " UTC" : "");
    free(when);
}

static void head(const json_t *r, FILE *to, bool color) {
    const char *verdict = kg_field_text(r, "verdict"), *class_name = kg_field_text(r, "class");
    const char *meaning = verdict ? kg_verdict_meaning(verdict) : NULL;
    const char *language = kg_field_text(r, "candidate.language"), *entry = kg_field_text(r, "candidate.entry");
    kg_wrap(to, 0, "%s: %s%s%s%s%s", or_unknown(kg_field_text(r, "task")),
            or_unknown(kg_field_text(r, "candidate.path")), language ? ", " : "", language ? language : "",
            entry ? ", entry " : "", entry ? entry : "");
    which(r, to);
    char *name = kg_safe(or_unknown(verdict));
    fprintf(to, "%s%s%s", kg_color_of(name, color), name, KG_COLOR_END(color));
    fprintf(to, "%s%s\n", meaning ? ": " : "", meaning ? meaning : "");
    free(name);
    char *class_meaning = kg_class_meaning(r);
    if (class_meaning) kg_wrap(to, 0, "class %s: %s", class_name, class_meaning);
    free(class_meaning);
    char *part = kg_restriction(r);
    if (part) kg_wrap(to, 0, "%s", part);
    free(part);
    char *why = kg_why(r);
    if (why) kg_wrap(to, 0, "why: %s", why);
    free(why);
}

static void device(const json_t *r, FILE *to) {
    const char *name = kg_field_text(r, "device.name"), *notes = kg_field_text(r, "device.notes");
    if (!name) return;
    fputs("\nDevice\n", to);
    kg_wrap(to, 2, "%s (%s, driver %s)", name, or_unknown(kg_field_text(r, "device.kind")),
            or_unknown(kg_field_text(r, "device.driver")));
    if (notes) kg_wrap(to, 2, "%s", notes);
}

static void build(const json_t *r, FILE *to) {
    const char *log = kg_field_text(r, "build.log");
    bool failed = kg_field_is(r, "build.ok", false);
    if (!failed && !(log && *log)) return;
    fprintf(to, "\nBuild%s\n", failed ? " failed" : "");
    for (int lines = 0; log && *log && lines < 20; lines++) {
        int n = (int)strcspn(log, "\n");
        if (n) kg_wrap(to, 2, "%.*s", n, log);
        log += n + (log[n] == '\n');
    }
}

static void correctness(const json_t *r, FILE *to) {
    const json_t *c = kg_field(r, "correctness");
    double cases = kg_field_number(c, "cases"), failed = kg_field_number(c, "failed");
    double error = kg_field_number(c, "worst.error_over_bound");
    const char *precision = kg_precision_of(r), *worst = kg_field_text(c, "worst.case");
    const char *replay = kg_field_text(c, "worst.replay"), *why = kg_field_text(c, "why");
    if (!replay) replay = kg_field_text(r, "replay");
    if (!c) return;
    fputs("\nCorrectness\n", to);
    if (!isnan(cases) && !isnan(failed))
        kg_wrap(to, 2, "%.0f case%s, %.0f without a right answer.", cases, cases == 1 ? "" : "s", failed);
    size_t i;
    json_t *left_out;
    json_array_foreach(kg_field(c, "not_checked"), i, left_out)
        kg_wrap(to, 2, "Not checked: %s: %s", or_unknown(kg_field_text(left_out, "case")),
                or_unknown(kg_field_text(left_out, "why")));
    if (why && worst) kg_wrap(to, 2, "Case %s: %s", worst, why);
    else if (why) kg_wrap(to, 2, "%s", why);
    if (worst && !isnan(error))
        kg_wrap(to, 2, "Largest error: %.3g of what rounding allows (1 is the limit), in case %s.", error, worst);
    const char *reading = kg_field_text(c, "reading");
    if (reading) kg_wrap(to, 2, "The task's text leaves its design open; this one: %s.", reading);
    const double asked = kg_field_number(c, "public.asked.rmse"), rmse = kg_field_number(c, "public.worst.rmse");
    if (!isnan(asked) && !isnan(rmse))
        kg_wrap(to, 2,
                "A public benchmark compares with the answer without quantisation, and asks rmse %g, l1_relative %g, "
                "cosine_sim %g: met in %.0f of %.0f cases, at worst rmse %.3g. It decides nothing here.",
                asked, kg_field_number(c, "public.asked.l1_relative"), kg_field_number(c, "public.asked.cosine_sim"),
                kg_field_number(c, "public.met"), kg_field_number(c, "public.cases"), rmse);
    if (precision)
        kg_wrap(to, 2, "It works at %s precision: the best rung of the ladder that its errors fit.", precision);
    char *command = replay ? kg_wrap_command(replay, 4, 9) : NULL;
    if (command) fprintf(to, "  Replay:\n%s\n", command);
    else if (replay) kg_wrap(to, 2, "Replay: %s", replay);
    free(command);
}

static void integrity(const json_t *r, FILE *to) {
    const json_t *violations = kg_field(r, "integrity.violations"), *holds = kg_field(r, "integrity.sandbox");
    size_t i;
    json_t *v;
    kg_text names = {0};
    json_array_foreach(holds, i, v) if (json_is_string(v))
        kg_text_add(&names, "%s%s", i ? ", " : "", json_string_value(v));
    if (names.data || json_array_size(violations)) fputs("\nIntegrity\n", to);
    if (names.data) kg_wrap(to, 2, "Sandbox: %s.", names.data);
    json_array_foreach(violations, i, v)
        kg_wrap(to, 2, "%s: %s", or_unknown(kg_field_text(v, "family")), or_unknown(kg_field_text(v, "evidence")));
    kg_text_free(&names);
}

static void one_case(const json_t *c, FILE *to) {
    double lo = json_number_value(json_array_get(kg_field(c, "ci_us"), 0));
    double hi = json_number_value(json_array_get(kg_field(c, "ci_us"), 1));
    char *time = kg_show_time(kg_field_number(c, "time_us")), *low = kg_show_time(lo), *high = kg_show_time(hi);
    char *base = kg_show_time(kg_field_number(c, "baseline_us")), *sol = kg_show_time(kg_field_number(c, "sol_us"));
    char *lre = kg_show_ratio(kg_field_number(c, "lre")), *util = kg_show_share(kg_field_number(c, "utilization"));
    char *host = kg_show_time(kg_field_number(c, "host_us"));
    kg_text t = {0};
    kg_text_add(&t, "%s: %s", or_unknown(kg_field_text(c, "case")), *time ? time : "not timed");
    if (hi > 0) kg_text_add(&t, " (95%%: %s to %s, %.0f samples)", low, high, kg_field_number(c, "samples"));
    const char *no_baseline = kg_field_text(c, "no_baseline");
    if (no_baseline) kg_text_add(&t, "; no baseline: %s", no_baseline);
    if (*base) kg_text_add(&t, "; %s %s, LRE %s", or_unknown(kg_field_text(c, "baseline")), base, lre);
    if (*sol) kg_text_add(&t, "; limit %s by %s, utilisation %s", sol, or_unknown(kg_field_text(c, "bound")), util);
    if (*host) kg_text_add(&t, "; host %s a call", host);
    kg_wrap(to, 2, "%s", t.data);
    kg_text_free(&t);
    char *owned[] = {time, low, high, base, sol, lre, util, host};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) free(owned[i]);
}

static void performance(const json_t *r, FILE *to) {
    const json_t *cases = kg_field(r, "performance.cases"), *skipped = kg_field(r, "performance.not_screened");
    const json_t *not_timed = kg_field(r, "performance.not_timed");
    const char *settings = kg_field_text(r, "performance.baseline_settings");
    size_t i;
    json_t *c;
    if (!json_array_size(cases) && !json_array_size(not_timed)) return;
    fputs("\nTime\n", to);
    json_array_foreach(cases, i, c) one_case(c, to);
    if (settings) kg_wrap(to, 2, "Baseline: %s", settings);
    json_array_foreach(skipped, i, c) if (json_is_string(c)) kg_wrap(to, 2, "Not screened: %s", json_string_value(c));
    json_array_foreach(not_timed, i, c)
        kg_wrap(to, 2, "Not timed: %s: %s", or_unknown(kg_field_text(c, "case")), or_unknown(kg_field_text(c, "why")));
}

static void screen(const json_t *r, FILE *to, const char *name, const char *value, const char *means) {
    char *field = kg_format("screens.%s", name), *number = kg_show_ratio(kg_field_number(r, value));
    char *why_field = kg_format("screens.%s_why", name);
    const char *result = kg_field_text(r, field), *why = result ? NULL : kg_field_text(r, why_field);
    kg_wrap(to, 2, "%s: %s%s%s%s%s. %s", name, result ? result : "not applied", why ? ": " : "", why ? why : "",
            *number ? ", " : "", number, means);
    free(why_field);
    free(field);
    free(number);
}

static void screens(const json_t *r, FILE *to) {
    char *none = kg_unscreened(r);
    if (none) fputs("\nScreens\n", to), kg_wrap(to, 2, "%s.", none);
    free(none);
    if (!kg_field(r, "screens.library") && !kg_field(r, "screens.roofline")) return;
    fputs("\nScreens (geometric mean over the timed cases above the launch floor)\n", to);
    char *with = kg_compared_with(r);
    char *lre = kg_format("LRE: time of %s, divided by the candidate's; 1 is parity.", with);
    screen(r, to, "library", "performance.lre", lre);
    free(lre);
    free(with);
    screen(r, to, "roofline", "performance.utilization",
           "Utilisation: the least time any kernel could take here, divided by the candidate's; 1 is the limit.");
    const char *ceilings = kg_field_text(r, "performance.ceilings");
    if (ceilings) kg_wrap(to, 2, "Ceilings: %s.", ceilings);
    if (kg_field_is(r, "performance.sure", false)) kg_wrap(to, 2, "%s.", KG_UNSURE);
}

// How much of the time a finding stands for, and what that rests on.
static char *explains(const json_t *f) {
    const double share = kg_field_number(f, "explains");
    const char *basis = kg_field_text(f, "basis"), *cause = kg_field_text(f, "cause");
    if (cause && !strcmp(cause, "hazard")) return kg_strdup(" [no time lost here]");
    if (!isnan(share)) return kg_format(" [about %.0f%% of the time, by a model]", 100 * share);
    return kg_strdup(basis && !strcmp(basis, "text") ? " [by the source's text alone]" : "");
}

static void findings(const json_t *r, FILE *to) {
    const json_t *list = kg_field(r, "findings");
    size_t i;
    json_t *f;
    if (json_array_size(list)) fputs("\nFindings\n", to);
    json_array_foreach(list, i, f) {
        double line = kg_field_number(f, "line");
        char *where = isnan(line) ? kg_strdup("") : kg_format(" (line %.0f)", line), *weight = explains(f);
        const char *evidence = kg_field_text(f, "evidence"), *change = kg_field_text(f, "change");
        kg_wrap(to, 2, "%s%s: %s%s", or_unknown(kg_field_text(f, "rule")), where,
                or_unknown(kg_field_text(f, "message")), weight);
        free(weight);
        if (evidence) kg_wrap(to, 4, "evidence: %s", evidence);
        if (change) kg_wrap(to, 4, "change: %s", change);
        free(where);
    }
}

static void labels(const json_t *r, FILE *to) {
    size_t i;
    json_t *l;
    json_array_foreach(kg_field(r, "labels"), i, l) if (json_is_string(l))
        kg_wrap(to, 0, "label: %s", json_string_value(l));
}

void kg_report_explain(const json_t *record, FILE *to, bool color) {
    head(record, to, color);
    json_t *profile = json_object();
    kg_profile_add(profile, record);
    kg_profile_print(profile, 0, to);
    json_decref(profile);
    labels(record, to);
    device(record, to);
    build(record, to);
    correctness(record, to);
    integrity(record, to);
    performance(record, to);
    screens(record, to);
    findings(record, to);
}

typedef struct {
    FILE *to;
    bool color;
    size_t n;
} words;

static void *open_words(FILE *to, bool color) {
    words *w = kg_alloc(sizeof *w);
    w->to = to;
    w->color = color;
    return w;
}

static int add_words(void *self, const json_t *record) {
    words *w = self;
    if (w->n++) fputc('\n', w->to);
    kg_report_explain(record, w->to, w->color);
    return fflush(w->to) ? -1 : 0;
}

static int close_words(void *self) {
    free(self);
    return 0;
}

const kg_writer kg_words_writer = {"words", open_words, add_words, close_words, NULL, NULL};
