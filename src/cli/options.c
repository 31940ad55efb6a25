// Every option once: its name, what it takes, what it does, and how its value is checked.
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "judge/judge.h"
#include "judge/scope.h"

typedef struct {
    const char *name;
    char letter;        // 0: none
    const char *value;  // what the help calls its value; NULL: a flag
    const char *help;
    int (*set)(kg_options *o, const char *value, kg_error *err);
    const char *key;  // what commands call it where the same name means something else elsewhere; NULL: its name
} option;

static int bad(kg_error *err, const char *name, const char *value, const char *todo) {
    return kg_fail(err, KG_ERR_USAGE, "--%s %s: %s", name, value, todo);
}

static int number(const char *name, const char *value, double lo, double hi, double *out, kg_error *err) {
    char *end;
    errno = 0;
    double x = strtod(value, &end);
    if (end == value || *end || errno || !(x >= lo && x <= hi))
        return kg_fail(err, KG_ERR_USAGE, "--%s %s: give a number from %g to %g", name, value, lo, hi);
    *out = x;
    return 0;
}

static int whole(const char *name, const char *value, long lo, long hi, long *out, kg_error *err) {
    char *end;
    errno = 0;
    long x = strtol(value, &end, 0);
    if (end == value || *end || errno || x < lo || x > hi)
        return kg_fail(err, KG_ERR_USAGE, "--%s %s: give a whole number from %ld to %ld", name, value, lo, hi);
    *out = x;
    return 0;
}

static int one_of(const char *name, const char *value, const char *const *choices, kg_error *err) {
    kg_text t = {0};
    for (size_t i = 0; choices[i]; i++) {
        if (!strcmp(value, choices[i])) {
            kg_text_free(&t);
            return 0;
        }
        kg_text_add(&t, "%s%s", !i ? "" : choices[i + 1] ? ", " : " or ", choices[i]);
    }
    kg_fail(err, KG_ERR_USAGE, "--%s %s: use %s", name, value, t.data);
    kg_text_free(&t);
    return -1;
}

#define TEXT_SETTER(fn, field)                                       \
    static int fn(kg_options *o, const char *value, kg_error *err) { \
        (void)err;                                                   \
        o->field = value;                                            \
        return 0;                                                    \
    }
#define FLAG_SETTER(fn, field)                                       \
    static int fn(kg_options *o, const char *value, kg_error *err) { \
        (void)value, (void)err;                                      \
        o->field = true;                                             \
        return 0;                                                    \
    }
TEXT_SETTER(set_task, task)
TEXT_SETTER(set_output, output)
TEXT_SETTER(set_db, db)
TEXT_SETTER(set_python, python)
TEXT_SETTER(set_case, case_only)
TEXT_SETTER(set_labels, labels)
FLAG_SETTER(set_no_db, no_db)
FLAG_SETTER(set_resume, resume)
FLAG_SETTER(set_check_only, check_only)
FLAG_SETTER(set_profile, profile)
FLAG_SETTER(set_force, force)
FLAG_SETTER(set_apply, apply)
FLAG_SETTER(set_help, help)

static int set_scope(kg_options *o, const char *value, kg_error *err) {
    kg_scope unused;
    o->scope = value;
    return kg_scope_parse(value, &unused, err);
}

static int set_device(kg_options *o, const char *value, kg_error *err) {
    static const char *const kinds[] = {"auto", "cpu", "cuda", "opencl", NULL};
    size_t n = strcspn(value, ":");
    o->device = value;
    for (size_t i = 0; kinds[i]; i++) {
        if (strlen(kinds[i]) != n || strncmp(kinds[i], value, n) != 0) continue;
        if (!value[n]) return 0;
        size_t digits = strspn(value + n + 1, "0123456789");
        if (i >= 2 && digits > 0 && digits < 5 && !value[n + 1 + digits]) return 0;
    }
    return bad(err, "device", value, "use auto, cpu, cuda or cuda:N");
}

static int set_format(kg_options *o, const char *value, kg_error *err) {
    o->format = value;
    return one_of("format", value, (const char *const[]){"table", "json", "jsonl", "csv", "junit", NULL}, err);
}

static int set_seed(kg_options *o, const char *value, kg_error *err) {
    long seed = 0;
    if (whole("seed", value, 1, 0x7FFFFFFFFFFFFFFF, &seed, err)) return -1;
    o->seed = (uint64_t)seed;
    return 0;
}

static int set_cases(kg_options *o, const char *value, kg_error *err) {
    o->float64 = !strcmp(value, "float64");
    o->full = o->float64 || !strcmp(value, "full");
    return one_of("cases", value, (const char *const[]){"quick", "full", "float64", NULL}, err);
}

static int set_cache(kg_options *o, const char *value, kg_error *err) {
    o->hot = !strcmp(value, "hot");
    return one_of("cache", value, (const char *const[]){"cold", "hot", NULL}, err);
}

static int set_require(kg_options *o, const char *value, kg_error *err) {
    o->require = value;
    return one_of("require", value, (const char *const[]){"efficient", "slow", "right", NULL}, err);
}

static int set_timeout(kg_options *o, const char *value, kg_error *err) {
    return number("timeout", value, 0.1, 86400, &o->timeout, err);
}

static int set_jobs(kg_options *o, const char *value, kg_error *err) {
    return whole("jobs", value, 1, 1024, &o->jobs, err);
}

static int set_limit(kg_options *o, const char *value, kg_error *err) {
    return whole("limit", value, 1, 1000000000, &o->limit, err);
}

static int set_lre(kg_options *o, const char *value, kg_error *err) {
    return number("lre-min", value, 0, 100, &o->thresholds.lre_min, err);
}

// "0.3" for both bounds, or "memory=0.3,compute=0.5".
static int set_util(kg_options *o, const char *value, kg_error *err) {
    double *min = o->thresholds.util_min, x = 0;
    if (!strchr(value, '=')) {
        if (number("util-min", value, 0, 1, &x, err)) return -1;
        min[KG_BOUND_MEMORY] = min[KG_BOUND_COMPUTE] = x;
        return 0;
    }
    char *copy = kg_strdup(value), *save = NULL;
    int result = 0;
    for (char *p = strtok_r(copy, ",", &save); p && !result; p = strtok_r(NULL, ",", &save)) {
        bool memory = !strncmp(p, "memory=", 7), compute = !strncmp(p, "compute=", 8);
        if (!memory && !compute) result = bad(err, "util-min", value, "use a number, or memory=X,compute=Y");
        else if (!(result = number("util-min", strchr(p, '=') + 1, 0, 1, &x, err)))
            min[memory ? KG_BOUND_MEMORY : KG_BOUND_COMPUTE] = x;
    }
    free(copy);
    return result;
}

static int set_baseline(kg_options *o, const char *value, kg_error *err) {
    o->baseline = value;
    if (!kg_baseline_known(value, NULL)) return 0;
    return bad(err, "baseline", value,
               "no such file, nor one of auto, none, torch-eager, torch-compile, onednn, openblas, cublaslt, cudnn");
}

static int set_language(kg_options *o, const char *value, kg_error *err) {
    o->language = value;
    if (kg_language_parse(value) != KG_LANG_UNKNOWN) return 0;
    return bad(err, "lang", value, "use c, cuda, ptx, cubin, triton, tilelang or python");
}

// What `task new` can write.
static int set_skeleton(kg_options *o, const char *value, kg_error *err) {
    o->language = value;
    return one_of("lang", value, (const char *const[]){"c", "cuda", "triton", "tilelang", "python", NULL}, err);
}

// What is no list of results: a table to read, or JSON.
static int set_listing(kg_options *o, const char *value, kg_error *err) {
    o->format = value;
    return one_of("format", value, (const char *const[]){"table", "json", NULL}, err);
}

static int set_verdict(kg_options *o, const char *value, kg_error *err) {
    o->verdict = value;
    return one_of("verdict", value,
                  (const char *const[]){"efficient", "slow", "right", "incorrect", "tampered", "broken", NULL}, err);
}

static const option table[] = {
    {"task", 't', "NAME", "the task, whatever the file says", set_task, NULL},
    {"task", 't', "NAME", "only results of this task", set_task, "of-task"},
    {"device", 'd', "DEVICE", "auto, cpu, cuda or cuda:N (auto: by the language)", set_device, NULL},
    {"device", 'd', "DEVICE", "only this one: cpu, cuda or cuda:N", set_device, "of-device"},
    {"format", 'f', "FORMAT", "table, json, jsonl, csv or junit (table)", set_format, NULL},
    {"format", 'f', "FORMAT", "table or json (table)", set_listing, "listing"},
    {"format", 'f', "FORMAT", "instead of words: table, json, jsonl, csv or junit", set_format, "words"},
    {"output", 'o', "FILE", "write there instead of standard output", set_output, NULL},
    {"db", 0, "FILE", "database of results ($KGATE_DB, else ~/.local/share/kgate/kgate.db)", set_db, NULL},
    {"no-db", 0, NULL, "use no database: keep no result", set_no_db, NULL},
    {"seed", 0, "N", "values of the inputs; replays a run (default: fresh)", set_seed, NULL},
    {"case", 0, "NAME", "only this case; with --seed, the replay of a failure", set_case, NULL},
    {"cases", 0, "SET", "quick, full, or float64: the full ones in float64 (quick)", set_cases, NULL},
    {"scope", 0, "LIST", "only such cases: f32,f16,contiguous,nonempty,finite,small,...", set_scope, NULL},
    {"check-only", 0, NULL, "judge whether it is right, and do not time it", set_check_only, NULL},
    {"profile", 0, NULL, "say where the seconds of a judgement went", set_profile, NULL},
    {"timeout", 0, "SECONDS", "for one step of a candidate: build, load, a case, a batch (60)", set_timeout, NULL},
    {"jobs", 'j', "N", "bound on parallel compilation; judging is one at a time (1)", set_jobs, NULL},
    {"baseline", 0, "NAME", "compare with auto, none, a kernel's file, torch-eager, onednn, ... (auto)", set_baseline,
     NULL},
    {"lre-min", 0, "X", "library screen: least library time / candidate time (0.80)", set_lre, NULL},
    {"util-min", 0, "X", "roofline screen: a number, or memory=X,compute=Y (0.35, 0.60)", set_util, NULL},
    {"cache", 0, "STATE", "cold or hot inputs in timed calls (cold)", set_cache, NULL},
    {"python", 0, "PROGRAM", "interpreter of Python candidates ($KGATE_PYTHON, else python3)", set_python, NULL},
    {"lang", 'l', "LANGUAGE", "what it is written in: c, cuda, ptx, cubin, triton, tilelang or python", set_language,
     NULL},
    {"lang", 'l', "LANGUAGE", "what to write: c, cuda, triton, tilelang or python", set_skeleton, "skeleton"},
    {"resume", 0, NULL, "go on with the last interrupted run of the same settings", set_resume, NULL},
    {"require", 0, "VERDICT", "efficient; slow or right: right and honest is enough (efficient)", set_require, NULL},
    {"verdict", 0, "VERDICT", "only results with this verdict", set_verdict, NULL},
    {"limit", 'n', "N", "at most so many, newest first (50)", set_limit, NULL},
    {"apply", 0, NULL, "write what pays into the file, instead of only printing it", set_apply, NULL},
    {"labels", 0, "FILE", "CSV with the columns file and label: clean, or else slow", set_labels, NULL},
    {"force", 0, NULL, "write over a file that is there", set_force, NULL},
    {"help", 'h', NULL, "this text", set_help, NULL},
};
enum { OPTIONS = sizeof table / sizeof *table };

static bool knows(const kg_command *c, const option *o) {
    const char *key = o->key ? o->key : o->name;
    size_t n = strlen(key);
    if (!strcmp(key, "help")) return true;
    for (const char *p = c->options; (p = strstr(p, key)); p += n)
        if ((p == c->options || p[-1] == ' ') && (p[n] == ' ' || !p[n])) return true;
    return false;
}

bool kg_option_given(const kg_options *o, const char *name) {
    bool given = false;
    for (size_t i = 0; i < OPTIONS; i++) given |= !strcmp(table[i].name, name) && o->given >> i & 1;
    return given;
}

void kg_options_help(const kg_command *c, FILE *to) {
    fprintf(to, "usage: kgate %s %s\n\n%s\noptions:\n", c->name, c->usage, c->text);
    for (size_t i = 0; i < OPTIONS; i++) {
        const option *p = &table[i];
        if (!knows(c, p)) continue;
        char *left = p->letter
                         ? kg_format("-%c, --%s%s%s", p->letter, p->name, p->value ? " " : "", p->value ? p->value : "")
                         : kg_format("    --%s%s%s", p->name, p->value ? " " : "", p->value ? p->value : "");
        fprintf(to, "  %-23s %s\n", left, p->help);
        free(left);
    }
}

static int set_option(const kg_command *c, size_t i, const char *value, kg_options *o, kg_error *err) {
    if (o->given >> i & 1 && table[i].value)
        return kg_fail(err, KG_ERR_USAGE, "--%s %s: given twice: say it once", table[i].name, value);
    if (table[i].value && !*value)
        return kg_fail(err, KG_ERR_USAGE, "--%s: its value is empty: `kgate %s --help`", table[i].name, c->name);
    o->given |= UINT64_C(1) << i;
    return table[i].set(o, value, err);
}

static int unknown(const kg_command *c, int code, char **argv, kg_error *err) {
    const char *word = argv[optind - 1];
    char letter[3] = {'-', (char)optopt, 0};
    bool is_letter = optopt && strncmp(word, "--", 2) != 0;
    return kg_fail(err, KG_ERR_USAGE, "%s: %s: `kgate %s --help` lists the options", is_letter ? letter : word,
                   code == ':' ? "needs a value" : "no such option here, or not a clear one", c->name);
}

int kg_options_parse(const kg_command *c, int argc, char **argv, kg_options *o, kg_error *err) {
    struct option longs[OPTIONS + 1] = {0};
    int place[OPTIONS], n = 0, code, at = 0;
    kg_text letters = {0};
    kg_text_add(&letters, ":");
    for (int i = 0; i < OPTIONS; i++) {
        if (!knows(c, &table[i])) continue;
        longs[n] = (struct option){table[i].name, table[i].value ? required_argument : no_argument, NULL, 256 + i};
        place[n++] = i;
        if (table[i].letter) kg_text_add(&letters, "%c%s", table[i].letter, table[i].value ? ":" : "");
    }
    memset(o, 0, sizeof *o);
    *o = (kg_options){.device = "auto",
                      .format = "table",
                      .baseline = "auto",
                      .require = "efficient",
                      .timeout = 60,
                      .jobs = 1,
                      .limit = 50,
                      .thresholds = kg_thresholds_default()};
    int result = 0;
    opterr = 0;
    while (!result && (code = getopt_long(argc, argv, letters.data, longs, &at)) != -1) {
        int i = code - 256;
        for (int k = 0; k < n && code < 256; k++)
            if (table[place[k]].letter == code) i = place[k];
        result = i >= 0 ? set_option(c, (size_t)i, optarg ? optarg : "", o, err) : unknown(c, code, argv, err);
    }
    kg_text_free(&letters);
    o->args = argv + optind;
    o->n_args = (size_t)(argc - optind);
    return result;
}
