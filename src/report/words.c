// Verdicts, classes and reasons in words.
#include <stdlib.h>
#include <string.h>

#include "report/internal.h"

static const struct {
    const char *name, *color, *meaning;
} verdicts[] = {
    {"efficient", "\033[32m", "right, honest, and no screen fails"},
    {"slow", "\033[33m", "right and honest, but a screen fails"},
    {"right", "\033[32m", "right and honest; it was not timed"},
    {"incorrect", "\033[31m", "at least one case has a wrong answer or none"},
    {"tampered", "\033[35m", "what it reported or did cannot be true, or reached for what is not its own"},
    {"broken", "\033[31m", "it does not build, crashes, hangs or exceeds a limit"},
};

// What the library is called stands between the two halves.
typedef struct {
    const char *name, *before, *after;
} class_words;

static const class_words classes[] = {
    {"none", "both screens pass, beside ", ""},
    {"library-gap", "it keeps up with ", ", yet both are far from what the device can do: there is headroom"},
    {"library-ahead", "it is near the roofline and still behind ", ": the work model or another algorithm explains it"},
    {"authoring-defect", "it is behind the roofline and ", ", and a finding below names the cause in the source"},
    {"structural-residual", "it is behind the roofline and ",
     ", and no finding explains it: code generation or tuning"},
};

const char *kg_verdict_meaning(const char *verdict) {
    for (size_t i = 0; i < sizeof verdicts / sizeof *verdicts; i++)
        if (!strcmp(verdict, verdicts[i].name)) return verdicts[i].meaning;
    return NULL;
}

const char *kg_color_of(const char *verdict, bool color) {
    for (size_t i = 0; color && i < sizeof verdicts / sizeof *verdicts; i++)
        if (!strcmp(verdict, verdicts[i].name)) return verdicts[i].color;
    return "";
}

// Where one screen alone could be applied, the class is what that one says: the other must not be spoken of.
static const class_words library_alone[] = {
    {"none", "it keeps up with ", "; there is no limit to compare with"},
    {"authoring-defect", "it is behind ", ", and a finding below names the cause in the source"},
    {"structural-residual", "it is behind ",
     " (there is no limit to compare with), and no finding explains it: code generation or tuning"},
};
static const class_words roofline_alone[] = {
    {"none", "the roofline screen passes; no library was measured", NULL},
    {"authoring-defect", "it is behind the roofline, and a finding below names the cause in the source", NULL},
    {"structural-residual",
     "it is behind the roofline (no library was measured), and no finding explains it: code generation or tuning",
     NULL},
};

static const class_words *words_of(const char *name, const class_words *list, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (!strcmp(name, list[i].name)) return &list[i];
    return NULL;
}
#define WORDS(name, list) words_of(name, list, sizeof list / sizeof *list)

char *kg_class_meaning(const json_t *record) {
    const char *name = kg_field_text(record, "class");
    bool library = kg_field_text(record, "screens.library"), roofline = kg_field_text(record, "screens.roofline");
    const class_words *w = NULL;
    if (name && library != roofline) w = library ? WORDS(name, library_alone) : WORDS(name, roofline_alone);
    if (name && !w) w = WORDS(name, classes);
    if (!w) return NULL;
    char *with = kg_compared_with(record);
    char *text = w->after ? kg_format("%s%s%s", w->before, with, w->after) : kg_strdup(w->before);
    free(with);
    return text;
}

char *kg_compared_with(const json_t *record) {
    const char *first = NULL, *settings = kg_field_text(record, "performance.baseline_settings");
    size_t i;
    json_t *c;
    json_array_foreach(kg_field(record, "performance.cases"), i, c) {
        const char *name = kg_field_text(c, "baseline");
        if (first && name && strcmp(name, first) != 0) return kg_strdup("the libraries");
        if (name) first = name;
    }
    if (!first) return kg_strdup("the library");
    // A kernel's file is no library, and its settings say where it came from.
    if (settings && strstr(settings, "--baseline")) return kg_format("%s (--baseline)", first);
    return kg_format("the library (%s)", first);
}

const char *kg_precision_of(const json_t *record) {
    return kg_field_is(record, "correctness.ok", true) ? kg_field_text(record, "correctness.precision") : NULL;
}

char *kg_when(const json_t *record) {
    const char *started = kg_field_text(record, "started");
    if (!started) return NULL;
    char *when = kg_strdup(started);
    if (strlen(when) >= 19 && when[10] == 'T') when[10] = ' ', when[19] = 0;
    return when;
}

char *kg_restriction(const json_t *record) {
    const char *scope = kg_field_text(record, "scope"), *only = kg_field_text(record, "case_only");
    if (!scope && !only) return NULL;
    return kg_format("judged in part: %s%s%s%s%s", scope ? "--scope " : "", scope ? scope : "",
                     scope && only ? ", " : "", only ? "--case " : "", only ? only : "");
}

// Least value of a field over the cases; those at the launch floor are not screened, so they count only when all are.
static const json_t *least(const json_t *cases, const char *field, bool with_latency) {
    const json_t *found = NULL;
    double value = INFINITY;
    size_t i;
    json_t *c;
    json_array_foreach(cases, i, c) {
        const char *bound = kg_field_text(c, "bound");
        double v = kg_field_number(c, field);
        if (isnan(v) || v >= value || (!with_latency && bound && !strcmp(bound, "latency"))) continue;
        value = v;
        found = c;
    }
    return found;
}

static const json_t *case_named(const json_t *cases, const char *name) {
    size_t i;
    json_t *c;
    json_array_foreach(cases, i, c) {
        const char *n = kg_field_text(c, "case");
        if (n && name && !strcmp(n, name)) return c;
    }
    return NULL;
}

const json_t *kg_worst_case(const json_t *record) {
    const json_t *cases = kg_field(record, "performance.cases");
    const json_t *named = case_named(cases, kg_field_text(record, "performance.worst_case"));
    if (named) return named;
    const char *library = kg_field_text(record, "screens.library");
    bool by_library = library && !strcmp(library, "fail");
    const char *fields[] = {by_library ? "lre" : "utilization", by_library ? "utilization" : "lre"};
    for (int i = 0; i < 4; i++) {
        const json_t *c = least(cases, fields[i % 2], i >= 2);
        if (c) return c;
    }
    return NULL;
}

static void add_number(kg_text *t, const char *before, char *number, const char *after) {
    if (*number) kg_text_add(t, "%s%s%s", before, number, after);
    free(number);
}

// Utilisation is averaged over sizes of both bounds in units of their thresholds: what it is held against is the
// geometric mean of the thresholds.
static double util_threshold(const json_t *r) {
    double sum = 0, n = 0;
    size_t i;
    json_t *c;
    json_array_foreach(kg_field(r, "performance.cases"), i, c) {
        const char *bound = kg_field_text(c, "bound");
        if (!bound || !strcmp(bound, "latency")) continue;
        char *name = kg_format("screens.util_min.%s", bound);
        sum += log(kg_field_number(r, name));
        n++;
        free(name);
    }
    return n > 0 ? exp(sum / n) : NAN;
}

// "; means over the screened sizes: LRE 0.412 < 0.800, utilisation 3.1% < 35%"
static void add_failed_screens(kg_text *t, const json_t *r) {
    const char *library = kg_field_text(r, "screens.library"), *roofline = kg_field_text(r, "screens.roofline");
    bool by_library = library && !strcmp(library, "fail"), by_roofline = roofline && !strcmp(roofline, "fail");
    if (by_library || by_roofline) kg_text_add(t, "; means over the screened sizes:");
    if (by_library) {
        add_number(t, " LRE ", kg_show_ratio(kg_field_number(r, "performance.lre")), "");
        add_number(t, " < ", kg_show_ratio(kg_field_number(r, "screens.lre_min")), "");
    }
    if (by_roofline) {
        add_number(t, by_library ? ", utilisation " : " utilisation ",
                   kg_show_share(kg_field_number(r, "performance.utilization")), "");
        add_number(t, " < ", kg_show_share(util_threshold(r)), "");
    }
}

// The interval where the threshold lies within it.
static void add_interval(kg_text *t, const json_t *r, const char *ci, char *(*show)(double), double held) {
    const json_t *lo = json_array_get(kg_field(r, ci), 0), *hi = json_array_get(kg_field(r, ci), 1);
    if (!(json_number_value(lo) < held && held <= json_number_value(hi))) return;
    char *from = show(json_number_value(lo)), *to = show(json_number_value(hi)), *limit = show(held);
    kg_text_add(t, "%s%s %s to %s, and the threshold is %s", t->len ? "; " : "",
                show == kg_show_share ? "utilisation" : "LRE", from, to, limit);
    free(from);
    free(to);
    free(limit);
}

char *kg_doubt(const json_t *r) {
    kg_text t = {0};
    if (!kg_field_is(r, "performance.sure", false)) return NULL;
    add_interval(&t, r, "performance.lre_ci", kg_show_ratio, kg_field_number(r, "screens.lre_min"));
    add_interval(&t, r, "performance.utilization_ci", kg_show_share, util_threshold(r));
    char *said = kg_format("not sure: %s", t.len ? t.data : "the machine was busy");
    kg_text_free(&t);
    return said;
}

// One case with its own numbers, then the means that the screens decided by.
static char *why_slow(const json_t *r) {
    kg_text t = {0};
    const char *message = kg_field_text(json_array_get(kg_field(r, "findings"), 0), "message");
    const json_t *c = kg_worst_case(r);
    const char *name = kg_field_text(c, "case"), *baseline = kg_field_text(c, "baseline"),
               *bound = kg_field_text(c, "bound");
    // What does not explain the gap by itself is not said as if it did.
    const char *class_name = kg_field_text(r, "class");
    if (message)
        kg_text_add(&t, "%s%s; ", class_name && !strcmp(class_name, "structural-residual") ? "in part: " : "", message);
    kg_text_add(&t, "worst %s:", name ? name : "case");
    add_number(&t, " ", kg_show_time(kg_field_number(c, "time_us")), "");
    if (baseline && !isnan(kg_field_number(c, "baseline_us"))) {
        add_number(&t, ", ", kg_show_time(kg_field_number(c, "baseline_us")), " in ");
        kg_text_add(&t, "%s", baseline);
        add_number(&t, " (LRE ", kg_show_ratio(kg_field_number(c, "lre")), ")");
    }
    add_number(&t, ", limit ", kg_show_time(kg_field_number(c, "sol_us")), "");
    if (bound) kg_text_add(&t, " by %s", bound);
    add_number(&t, " (utilisation ", kg_show_share(kg_field_number(c, "utilization")), ")");
    add_failed_screens(&t, r);
    return t.data;
}

static char *why_incorrect(const json_t *r) {
    kg_text t = {0};
    const char *why = kg_field_text(r, "correctness.why"), *name = kg_field_text(r, "correctness.worst.case");
    double times = kg_field_number(r, "correctness.worst.error_over_bound");
    double failed = kg_field_number(r, "correctness.failed"), cases = kg_field_number(r, "correctness.cases");
    if (!why) why = kg_field_text(r, "error");
    if (!isnan(failed) && !isnan(cases))
        kg_text_add(&t, "%.0f of %.0f case%s wrong; ", failed, cases, cases == 1 ? "" : "s");
    if (why && name && !strstr(why, name)) kg_text_add(&t, "%s: %s", name, why);
    else if (why) kg_text_add(&t, "%s", why);
    else if (name && !isnan(times)) kg_text_add(&t, "%s: error %.3g times its bound", name, times);
    else kg_text_add(&t, "%s", name ? name : "a wrong answer");
    return t.data;
}

static char *why_tampered(const json_t *r) {
    const json_t *v = json_array_get(kg_field(r, "integrity.violations"), 0);
    const char *family = kg_field_text(v, "family"), *evidence = kg_field_text(v, "evidence");
    if (!family && !evidence) return kg_strdup("no evidence recorded");
    return kg_format("%s%s%s", family ? family : "", family && evidence ? ": " : "", evidence ? evidence : "");
}

// What goes before it names the candidate already.
static const char *without_name(const json_t *r, const char *s) {
    const char *path = kg_field_text(r, "candidate.path");
    size_t n = path ? strlen(path) : 0;
    return n && !strncmp(s, path, n) && !strncmp(s + n, ": ", 2) ? s + n + 2 : s;
}

static char *why_broken(const json_t *r) {
    const char *paths[] = {"error", "correctness.why", "build.log"};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        const char *s = kg_field_text(r, paths[i]);
        if (!s || !*s) continue;
        s = without_name(r, s);
        return kg_format("%.*s", (int)strcspn(s, "\n"), s);
    }
    return kg_strdup("no reason recorded");
}

char *kg_why(const json_t *record) {
    static const struct {
        const char *verdict;
        char *(*why)(const json_t *);
    } reasons[] = {
        {"slow", why_slow}, {"incorrect", why_incorrect}, {"tampered", why_tampered}, {"broken", why_broken}};
    const char *verdict = kg_field_text(record, "verdict");
    for (size_t i = 0; verdict && i < sizeof reasons / sizeof *reasons; i++)
        if (!strcmp(verdict, reasons[i].verdict)) return reasons[i].why(record);
    return NULL;
}
