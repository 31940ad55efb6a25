#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "device/cuda/api/cublaslt.h"
#include "device/cuda/api/cudnn.h"
#include "judge/trial.h"

struct kg_baseline {
    const kg_task *task;
    kg_precision precision;
    kg_session *session;
    bool file;  // a candidate's file, not a library
    char *name, *settings;
};

typedef struct {
    const char *name;    // as --baseline takes it
    const char *device;  // kind of device it runs on
    bool python;
    const char *language;  // loader
    const char *settings;
} kind;

static const kind kinds[] = {
    {"onednn", "cpu", false, "baseline", "oneDNN, all cores, primitive made before timing"},
    {"openblas", "cpu", false, "baseline", "OpenBLAS, all cores"},
    {"cublaslt", "cuda", false, "baseline", "cuBLASLt's first proposal, workspace up to 64 MiB"},
    {"cudnn", "cuda", false, "baseline", "cuDNN, fastest of its own search, workspace up to 64 MiB"},
    {"torch-eager", "cuda", true, "torch", "PyTorch eager, cudnn.benchmark on, no_grad"},
    {"torch-compile", "cuda", true, "torch", "torch.compile max-autotune-no-cudagraphs, cudnn.benchmark on, no_grad"},
};

static const kind *find_kind(const char *name) {
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i].name, name) == 0) return &kinds[i];
    return NULL;
}

static bool has_torch(kg_launcher *l) {
    const char *info = kg_launcher_python_info(l, NULL);
    json_t *j = info ? json_loads(info, 0, NULL) : NULL;
    // A torch built for the CPU alone ("2.4.0+cpu") is none for a GPU.
    const char *version = json_string_value(json_object_get(j, "torch"));
    bool yes = version && !strstr(version, "+cpu");
    json_decref(j);
    return yes;
}

static bool has_library(const char *name) {
    kg_cublaslt_api lt;
    kg_cudnn_api dnn;
    return strcmp(name, "cudnn") == 0 ? kg_cudnn_open(&dnn, NULL) == 0 : kg_cublaslt_open(&lt, NULL) == 0;
}

int kg_baseline_known(const char *name, kg_error *err) {
    if (strcmp(name, "auto") == 0 || strcmp(name, "none") == 0 || find_kind(name) || access(name, F_OK) == 0) return 0;
    return kg_fail(err, KG_ERR_USAGE,
                   "baseline %s: neither a file nor one of auto, none, torch-eager, torch-compile, onednn, openblas, "
                   "cublaslt, cudnn",
                   name);
}

bool kg_baseline_named(const kg_judge *j) {
    return strcmp(j->o.baseline, "auto") != 0 && strcmp(j->o.baseline, "none") != 0;
}

enum { AUTOMATIC = 2 };

// What `auto` tries here, best first; `why` gets what it cannot try.
static size_t automatic(const kg_trial *t, const kind *out[AUTOMATIC], kg_text *why) {
    const kg_task *task = t->task;
    size_t n = 0;
    bool cpu = strcmp(t->judge->info.kind, "cpu") == 0;
    if (cpu && task->cpu_baseline) out[n++] = find_kind(task->cpu_baseline);
    if (!cpu && task->torch_baseline && has_torch(t->judge->launcher)) out[n++] = find_kind("torch-eager");
    if (!cpu && task->cuda_baseline && has_library(task->cuda_baseline)) out[n++] = find_kind(task->cuda_baseline);
    if (n) return n;
    if (cpu) kg_text_add(why, "no library on the CPU has %s", task->name);
    else if (!task->torch_baseline && !task->cuda_baseline) kg_text_add(why, "no library has %s", task->name);
    else if (task->torch_baseline) kg_text_add(why, "PyTorch has %s, no Python here has it: see --python", task->name);
    else kg_text_add(why, "%s has %s, and is not here", task->cuda_baseline, task->name);
    return 0;
}

static int open_session(kg_trial *t, kg_baseline *b, bool python, kg_error *err) {
    const kg_judge_options *o = &t->judge->o;
    kg_session_options so = {.timeout_s = o->timeout_s < 60 ? 60 : o->timeout_s,
                             .flush_bytes = o->hot ? 0 : t->judge->info.cache_bytes * 2,
                             .seed = t->seed,
                             .secret = t->secret};
    if (kg_session_open(t->judge->launcher, t->judge->device, python, &so, &b->session, err)) return -1;
    // Enough to calibrate with: it is timed in the candidate's memory.
    if (kg_session_arenas(b->session, 0, 0, err)) return -1;
    return kg_session_calibrate(b->session, err);
}

// Whether the library can be asked for this task here at all.
static int check_library(const kg_trial *t, const kind *k, kg_error *err) {
    const char *here = t->judge->info.kind;
    if (strcmp(k->device, here) != 0)
        return kg_fail(err, KG_ERR_CANNOT, "it runs on %s, not on %s: choose another --baseline", k->device, here);
    if (k->python && !t->task->torch_baseline)
        return kg_fail(err, KG_ERR_CANNOT, "PyTorch has no single operation for task %s", t->task->name);
    if (k->python && !has_torch(t->judge->launcher))
        return kg_fail(err, KG_ERR_CANNOT, "no Python here has PyTorch for GPUs: see --python");
    return 0;
}

static int open_library(kg_trial *t, kg_baseline *b, const kind *k, kg_error *err) {
    if (check_library(t, k, err) || open_session(t, b, k->python, err)) return -1;
    bool tf32 = strcmp(k->device, "cuda") == 0 && b->precision == KG_PREC_TF32;
    char *entry = kg_format("%s%s", tf32 ? "tf32:" : "", k->python ? t->task->torch_baseline : "");
    int rc = kg_session_load(b->session, t->task, k->language, k->name, entry, NULL, false, err);
    free(entry);
    b->name = kg_strdup(k->name);
    b->settings = kg_format("%s%s", k->settings, tf32 ? ", tf32 allowed" : "");
    return rc;
}

// What can be said against a file before it is built. The task is the one that it names itself, as it would be judged.
static int check_file(const kg_trial *t, const kg_candidate *c, kg_error *err) {
    const kg_task *own = c->task ? kg_task_find(c->task) : NULL;
    const char *device = kg_language_device(c->language), *here = t->judge->info.kind;
    if (c->problem.code) return kg_fail(err, c->problem.code, "%s", c->problem.text);
    if (c->listed) return kg_fail(err, KG_ERR_USAGE, "not one kernel: name a file");
    if (own && strcmp(own->name, t->task->name) != 0)
        return kg_fail(err, KG_ERR_USAGE, "it is for task %s, not for %s", own->name, t->task->name);
    if (device && strcmp(device, here) != 0)
        return kg_fail(err, KG_ERR_CANNOT, "a %s kernel runs on %s, not on %s", kg_language_name(c->language), device,
                       here);
    return 0;
}

static int load_file(kg_trial *t, kg_baseline *b, const kg_candidate *c, kg_error *err) {
    const bool python = kg_language_is_python(c->language);
    kg_artifact a = {0};
    int rc = open_session(t, b, python, err) ||
             kg_build(c, &t->judge->info, kg_session_scratch(b->session), t->judge->o.timeout_s, &a, err) ||
             kg_session_load(b->session, t->task, kg_language_name(c->language), a.artifact, c->entry, c->launch,
                             a.host_entry, err);
    kg_artifact_free(&a);
    return rc ? -1 : 0;
}

// A candidate as the baseline: A/A comparisons, or one's own last version.
static int open_file(kg_trial *t, kg_baseline *b, const char *path, kg_error *err) {
    char *args[] = {(char *)path};
    kg_candidate_source *source;
    if (kg_candidates_open(args, 1, NULL, &source, err)) return -1;
    kg_candidate c = {0};
    int rc = kg_candidates_next(source, &c) == 1 ? check_file(t, &c, err) || load_file(t, b, &c, err)
                                                 : kg_fail(err, KG_ERR_USAGE, "no kernel in it");
    b->file = true;
    b->name = kg_strdup(path);
    b->settings = kg_strdup("a candidate given with --baseline");
    kg_candidate_free(&c);
    kg_candidates_close(source);
    return rc ? -1 : 0;
}

// k: a library; NULL: the file that was named.
static int open_one(kg_trial *t, kg_precision precision, const kind *k, kg_error *err) {
    kg_judge *j = t->judge;
    kg_baseline *b = kg_alloc(sizeof *b);
    b->task = t->task;
    b->precision = precision;
    if (k ? open_library(t, b, k, err) : open_file(t, b, j->o.baseline, err)) {
        kg_baseline_close(b);
        return -1;
    }
    j->baseline = b;
    return 0;
}

static int open_automatic(kg_trial *t, kg_precision precision, kg_error *err) {
    const kind *kinds_here[AUTOMATIC];
    kg_text why = {0};
    size_t n = automatic(t, kinds_here, &why), i = 0;
    for (kg_error e = {0}; i < n && open_one(t, precision, kinds_here[i], &e); i++) {
        kg_text_add(&why, "%s%s: %s", i ? "; " : "", kinds_here[i]->name, e.text);
        kg_error_clear(&e);
    }
    if (i == n) kg_fail(err, KG_ERR_CANNOT, "%s", why.data);
    kg_text_free(&why);
    return i == n ? -1 : 0;
}

static int open_named(kg_trial *t, kg_precision precision, kg_error *err) {
    const char *name = t->judge->o.baseline;
    kg_error e = {0};
    if (open_one(t, precision, find_kind(name), &e) == 0) return 0;
    kg_fail(err, e.code == KG_ERR_USAGE ? KG_ERR_USAGE : KG_ERR_CANNOT, "baseline %s: %s", name, e.text);
    kg_error_clear(&e);
    return -1;
}

static bool serves(const kg_baseline *b, const kg_trial *t, kg_precision precision) {
    return b && b->task == t->task && (b->file || b->precision == precision) && kg_session_alive(b->session);
}

int kg_baseline_get(kg_trial *t, kg_precision precision, kg_baseline **out, kg_error *err) {
    kg_judge *j = t->judge;
    *out = NULL;
    if (strcmp(j->o.baseline, "none") == 0) return kg_fail(err, KG_ERR_CANNOT, "none was asked for");
    if (!serves(j->baseline, t, precision)) {
        kg_baseline_close(j->baseline);
        j->baseline = NULL;
        if (kg_baseline_named(j) ? open_named(t, precision, err) : open_automatic(t, precision, err)) return -1;
    }
    *out = j->baseline;
    return 0;
}

int kg_baseline_prepare(kg_trial *t, kg_error *err) {
    const char *name = t->judge->o.baseline;
    if (!kg_baseline_named(t->judge) || t->judge->o.check_only || !t->sizes.n) return 0;
    const kind *k = find_kind(name);
    kg_error e = {0};
    if (k && check_library(t, k, &e)) {
        kg_fail(err, e.code, "baseline %s: %s", name, e.text);
        kg_error_clear(&e);
        return -1;
    }
    kg_baseline *b;
    if (k) return 0;  // it is opened when the candidate's precision is known
    if (kg_baseline_get(t, KG_PREC_NONE, &b, err)) return -1;
    if (b) kg_session_pause(b->session);
    return 0;
}

bool kg_baseline_is_file(const kg_baseline *b) { return b->file; }
kg_session *kg_baseline_session(const kg_baseline *b) { return b->session; }
const char *kg_baseline_name(const kg_baseline *b) { return b->name; }
const char *kg_baseline_settings(const kg_baseline *b) { return b->settings; }

void kg_baseline_close(kg_baseline *b) {
    if (!b) return;
    kg_session_close(b->session);
    free(b->name);
    free(b->settings);
    free(b);
}
