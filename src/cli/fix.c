// kgate fix: repairs that are mechanical, each judged before it is offered.
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/fixing.h"
#include "cli/judging.h"

static const char text[] =
    "Repairs slow candidates where the cause is one that a mechanical change removes: a serial loop goes\n"
    "in blocks, two passes become one, a conversion moves into the kernel, blocks and warps are tuned.\n"
    "Judges each candidate, tries the repairs that answer its findings, judges each beside what was there\n"
    "before, and prints the patch of those that pay. A repair is not offered, and why is said, when the\n"
    "kernel would not stay right on every case, gains nothing beyond the interval, or loses at any timed\n"
    "size. Source that it does not understand is left alone.\n"
    "\n"
    "What it knows (docs/findings.md says what each does):\n"
    "  C          c-parallel-loops\n"
    "  CUDA C++   cuda-vector-loads\n"
    "  Triton     convert-in-kernel store-native triton-blocks triton-stream-row triton-fuse-passes\n"
    "             triton-grouped-order triton-autotune triton-warps triton-stages\n"
    "  TileLang   store-native tilelang-reduce tilelang-threads\n"
    "\n"
    "  kgate fix layer_norm.py                the patch, and times before and after\n"
    "  kgate fix --apply layer_norm.py        writes it into the file\n"
    "  kgate fix --format json list.jsonl     everything, for a program\n"
    "\n"
    "Exits 0 when all were judged, whether something was repaired or not.\n";

static const char *now;  // the candidate at hand, for progress; set by this command's one thread
static void on_progress(const char *what) { kg_progress("%s: %s", now, what); }
static void on_judging(const char *what, void *ctx) {
    (void)ctx;
    if (!kg_cli_noted(what)) kg_progress("%s: %s", now, what);
}

static void print_verdict(const char *when, const json_t *record, FILE *to) {
    const json_t *p = json_object_get(record, "performance");
    const double lre = kg_field_number(p, "lre"), util = kg_field_number(p, "utilization");
    const char *why = kg_field_text(record, "correctness.why"), *class_name = kg_field_text(record, "class");
    fprintf(to, "  %-7s %s", when, kg_field_text(record, "verdict"));
    if (class_name && strcmp(class_name, "none") != 0) fprintf(to, " (%s)", class_name);
    if (!isnan(lre)) fprintf(to, ", LRE %.3g", lre);
    if (!isnan(util)) fprintf(to, ", utilisation %.3g%%", 100 * util);
    if (!why) why = kg_field_text(record, "error");  // of what does not build there is no case
    char *said = why ? kg_safe(why) : NULL;
    if (said) fprintf(to, ": %s", said);
    free(said);
    fputc('\n', to);
}

static const json_t *case_named(const json_t *record, const char *name) {
    size_t i;
    json_t *c;
    json_array_foreach(json_object_get(json_object_get(record, "performance"), "cases"), i,
                       c) if (kg_field_text(c, "case") && !strcmp(kg_field_text(c, "case"), name)) return c;
    return NULL;
}

static void print_times(const json_t *before, const json_t *after, FILE *to) {
    size_t i;
    json_t *c;
    json_array_foreach(json_object_get(json_object_get(after, "performance"), "cases"), i, c) {
        const json_t *was = case_named(before, kg_field_text(c, "case"));
        const double new = kg_field_number(c, "time_us"), old = kg_field_number(was, "time_us");
        if (!isnan(old) && new > 0)
            fprintf(to, "    %-44.44s %12.2f us -> %11.2f us  %6.2fx\n", kg_field_text(c, "case"), old, new, old / new);
        else fprintf(to, "    %-44.44s    not timed -> %11.2f us\n", kg_field_text(c, "case"), new);
    }
}

static void print_steps(const json_t *steps, FILE *to) {
    size_t i;
    json_t *s;
    json_array_foreach(steps, i, s) {
        const double lre = kg_field_number(s, "lre");
        const char *why = kg_field_text(s, "why");
        fprintf(to, "  %s: ", kg_field_text(s, "repair"));
        if (why) fprintf(to, "not offered: %s\n", why);
        else fprintf(to, "%s; %.2f times as fast as before it\n", kg_field_text(s, "what"), lre);
    }
}

static void print_fix(const json_t *fix, FILE *to) {
    const json_t *after = json_object_get(fix, "after"), *steps = json_object_get(fix, "steps");
    const char *diff = kg_field_text(fix, "diff"), *verdict = kg_field_text(fix, "before.verdict");
    char *path = kg_safe(kg_field_text(fix, "path"));
    fprintf(to, "%s\n", path);
    free(path);
    print_verdict("before", json_object_get(fix, "before"), to);
    if (json_is_object(after))
        print_verdict("after", after, to), print_times(json_object_get(fix, "before"), after, to);
    print_steps(steps, to);
    if (strcmp(verdict ? verdict : "", "slow") != 0)
        fputs(strcmp(verdict ? verdict : "", "efficient") ? "  not right: only a right and slow kernel is repaired\n"
                                                          : "  not slow: nothing to repair\n",
              to);
    else if (!json_array_size(steps)) fputs("  none of the repairs answers what was found\n", to);
    if (*diff) fprintf(to, "\n%s", diff);
    fputc('\n', to);
}

// What was judged is what stands there still.
static bool is_unchanged(const char *path, const char *source) {
    char *there = NULL;
    size_t n = 0;
    const bool same = kg_read_file(path, strlen(source) + 1, &there, &n, NULL) == 0 && n == strlen(source) &&
                      memcmp(there, source, n) == 0;
    free(there);
    return same;
}

// Beside the file first, so that it is whole at every moment.
static int replace(const char *path, const char *source, mode_t mode, kg_error *err) {
    char *beside = kg_format("%s.kgate-fix-XXXXXX", path);
    const int fd = mkostemp(beside, O_CLOEXEC);
    FILE *f = fd >= 0 ? fdopen(fd, "w") : NULL;
    int failed = !f || fputs(source, f) < 0 || fflush(f) || fchmod(fd, mode & 0777) || fsync(fd);
    if (f && fclose(f)) failed = 1;
    if (!failed && rename(beside, path)) failed = 1;
    if (failed) kg_fail(err, KG_ERR_CANNOT, "cannot be written: %s", strerror(errno));
    if (failed && fd >= 0) unlink(beside);
    free(beside);
    return failed ? -1 : 0;
}

static int write_source(const kg_candidate *c, const char *source, kg_error *err) {
    struct stat st;
    char *real = realpath(c->file, NULL);
    int rc;
    if (!real || stat(real, &st)) rc = kg_fail(err, KG_ERR_CANNOT, "cannot be written: %s", strerror(errno));
    else if (!(st.st_mode & 0222))
        rc = kg_fail(err, KG_ERR_CANNOT, "is read-only: the patch is printed, nothing written");
    else if (!is_unchanged(real, c->source))
        rc = kg_fail(err, KG_ERR_CANNOT, "was changed while it was judged: the patch is printed, nothing written");
    else rc = replace(real, source, st.st_mode, err);
    free(real);
    return rc;
}

static int apply(const kg_candidate *c, const json_t *fix, kg_error *err) {
    const char *source = kg_field_text(fix, "source");
    if (!*source) return 0;
    if (!c->file || c->listed) {
        kg_cli_note("%s: in a list: the patch is printed, the list left as it is", c->path);
        return 0;
    }
    if (write_source(c, source, err)) return -1;
    kg_cli_note("%s: repaired", c->file);
    return 0;
}

typedef struct {
    const kg_options *o;
    kg_fixing f;
    json_t *all;
    FILE *to;
    int code;
} command;

static void failed(command *x, kg_error *err) {
    kg_progress_clear();
    const int code = kg_cli_error(err);
    if (code > x->code) x->code = code;
}

static void failed_on(command *x, const kg_candidate *c, kg_error *err) {
    kg_error named = {0};
    kg_fail(&named, err->code, "%s: %s", c->path, err->text);
    kg_error_clear(err);
    failed(x, &named);
}

static bool can_be_judged(command *x, const kg_candidate *c) {
    kg_error err = {0};
    char *unknown = c->task && kg_task_find(c->task) ? NULL : kg_judging_unknown_task(c);
    if (c->problem.code)
        kg_fail(&err, c->problem.code == KG_ERR_CANDIDATE ? KG_ERR_USAGE : c->problem.code, "%s", c->problem.text);
    else if (unknown) kg_fail(&err, KG_ERR_USAGE, "%s", unknown);
    free(unknown);
    if (!err.code && kg_judges_can(x->f.judges, c->language, &err)) return true;
    if (c->listed) kg_cli_note("%s: skipped: %s", c->path, err.text), kg_error_clear(&err);
    else failed(x, &err);
    return false;
}

static void fix_one(command *x, const kg_candidate *c) {
    kg_error err = {0};
    json_t *fix = NULL;
    now = c->path;
    if (!can_be_judged(x, c)) return;
    if (kg_fix_candidate(&x->f, c, &fix, &err)) failed_on(x, c, &err);
    kg_progress_clear();
    if (!fix) return;
    if (!strcmp(x->o->format, "json")) json_array_append(x->all, fix);
    else print_fix(fix, x->to), fflush(x->to);
    if (x->o->apply && apply(c, fix, &err)) failed_on(x, c, &err);
    json_decref(fix);
}

static int fix_all(command *x, kg_error *err) {
    kg_candidate_source *s = NULL;
    kg_database *store = NULL;
    kg_candidate c;
    int rc = kg_candidates_open(x->o->args, x->o->n_args, x->o->task, &s, err);
    if (!rc && !x->o->no_db) rc = kg_cli_store(x->o, false, &store, err);
    const kg_judges_options o = kg_judging_options(x->o, store, on_judging, NULL);
    if (!rc && x->o->language) kg_candidates_set_language(s, kg_language_parse(x->o->language));
    if (!rc) rc = kg_judges_open(&o, &x->f.judges, err);
    x->f.repairer = kg_repairer_open();
    kg_judging_listen(true);
    while (!rc && !kg_interrupted() && kg_candidates_next(s, &c)) {
        fix_one(x, &c);
        kg_candidate_free(&c);
    }
    kg_judging_listen(false);
    if (kg_interrupted()) x->code = 128 + kg_interrupted_by;
    kg_repairer_close(x->f.repairer);
    kg_judges_close(x->f.judges);
    kg_store_close(store);
    kg_candidates_close(s);
    return rc;
}

static int fix(kg_options *o) {
    kg_error err = {0};
    kg_output *out;
    if (!o->n_args) {
        kg_fail(&err, KG_ERR_USAGE, "no candidate: name a file, a folder, a .jsonl list, or -: `kgate fix --help`");
        return kg_cli_error(&err);
    }
    if (kg_cli_output(o, &out, &err)) return kg_cli_error(&err);
    command x = {.o = o,
                 .f = {.baseline = o->baseline, .progress = on_progress},
                 .all = json_array(),
                 .to = kg_output_stream(out)};
    if (fix_all(&x, &err)) failed(&x, &err);
    if (!strcmp(o->format, "json"))
        json_dumpf(x.all, x.to, JSON_INDENT(2) | JSON_REAL_PRECISION(15)), fputc('\n', x.to);
    json_decref(x.all);
    if (kg_output_close(out, &err)) failed(&x, &err);
    return x.code;
}

const kg_command kg_fix_command = {
    "fix", "[options] CANDIDATE...", text,
    "task device listing output db no-db seed cases scope timeout baseline lre-min util-min "
    "cache python lang apply",
    fix};
