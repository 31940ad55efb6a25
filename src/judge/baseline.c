#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "device/cuda/api/cublaslt.h"
#include "device/cuda/api/cudnn.h"
#include "judge/trial.h"

struct kg_baseline {
    const kg_task *task;
    kg_precision precision;
    size_t in_bytes, out_bytes;
    kg_session *session;
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

// The name that `auto` stands for here; NULL: no library has the operation.
static const char *automatic(const kg_trial *t) {
    if (strcmp(t->judge->info.kind, "cpu") == 0) return t->task->cpu_baseline;
    if (t->task->torch_baseline && has_torch(t->judge->launcher)) return "torch-eager";
    return t->task->cuda_baseline && has_library(t->task->cuda_baseline) ? t->task->cuda_baseline : NULL;
}

static int open_session(kg_trial *t, kg_baseline *b, bool python, kg_error *err) {
    const kg_judge_options *o = &t->judge->o;
    kg_session_options so = {.timeout_s = o->timeout_s < 60 ? 60 : o->timeout_s,
                             .flush_bytes = o->hot ? 0 : t->judge->info.cache_bytes * 2};
    if (kg_session_open(t->judge->launcher, t->judge->device, python, &so, &b->session, err)) return -1;
    kg_trial_arena_bytes(t, &b->in_bytes, &b->out_bytes);
    if (kg_session_arenas(b->session, b->in_bytes, b->out_bytes, err)) return -1;
    return kg_session_calibrate(b->session, err);
}

static int open_library(kg_trial *t, kg_baseline *b, const kind *k, kg_error *err) {
    if (strcmp(k->device, t->judge->info.kind) != 0)
        return kg_fail(err, KG_ERR_USAGE, "baseline %s runs on %s, not on %s: choose another --baseline", k->name,
                       k->device, t->judge->info.kind);
    if (k->python && !t->task->torch_baseline)
        return kg_fail(err, KG_ERR_CANNOT, "PyTorch has no single operation for task %s", t->task->name);
    if (open_session(t, b, k->python, err)) return -1;
    bool tf32 = strcmp(k->device, "cuda") == 0 && b->precision == KG_PREC_TF32;
    char *entry = kg_format("%s%s", tf32 ? "tf32:" : "", k->python ? t->task->torch_baseline : "");
    int rc = kg_session_load(b->session, t->task, k->language, k->name, entry, NULL, false, err);
    free(entry);
    b->name = kg_strdup(k->name);
    b->settings = kg_format("%s%s", k->settings, tf32 ? ", tf32 allowed" : "");
    return rc;
}

// A candidate as the baseline: A/A comparisons, or one's own last version.
static int open_file(kg_trial *t, kg_baseline *b, const char *path, kg_error *err) {
    char *args[] = {(char *)path};
    kg_candidate_source *source;
    if (kg_candidates_open(args, 1, t->task->name, &source, err)) return -1;
    kg_candidate c = {0};
    kg_artifact a = {0};
    int rc = -1;
    bool python = false;
    if (kg_candidates_next(source, &c) != 1) kg_fail(err, KG_ERR_USAGE, "baseline %s: no such file", path);
    else if (c.problem.code) kg_fail(err, c.problem.code, "baseline %s: %s", path, c.problem.text);
    else {
        python = c.language == KG_LANG_TRITON || c.language == KG_LANG_TILELANG || c.language == KG_LANG_PYTHON;
        rc = open_session(t, b, python, err);
    }
    if (!rc) rc = kg_build(&c, &t->judge->info, kg_session_scratch(b->session), t->judge->o.timeout_s, &a, err);
    if (!rc)
        rc = kg_session_load(b->session, t->task, kg_language_name(c.language), a.artifact, c.entry, c.launch,
                             a.host_entry, err);
    b->name = kg_strdup(path);
    b->settings = kg_strdup("a candidate given with --baseline");
    kg_artifact_free(&a);
    kg_candidate_free(&c);
    kg_candidates_close(source);
    return rc;
}

int kg_baseline_get(kg_trial *t, kg_precision precision, kg_baseline **out, kg_error *err) {
    kg_judge *j = t->judge;
    *out = NULL;
    const char *name = strcmp(j->o.baseline, "auto") == 0 ? automatic(t) : j->o.baseline;
    if (!name || strcmp(name, "none") == 0) return 0;
    size_t in, outs;
    kg_trial_arena_bytes(t, &in, &outs);
    kg_baseline *kept = j->baseline;
    if (kept && kept->task == t->task && kept->precision == precision && kg_session_alive(kept->session) &&
        kept->in_bytes >= in && kept->out_bytes >= outs) {
        *out = kept;
        return 0;
    }
    kg_baseline_close(kept);
    j->baseline = NULL;
    kg_baseline *b = kg_alloc(sizeof *b);
    b->task = t->task;
    b->precision = precision;
    const kind *k = find_kind(name);
    if (k ? open_library(t, b, k, err) : open_file(t, b, name, err)) {
        kg_baseline_close(b);
        return -1;
    }
    *out = j->baseline = b;
    return 0;
}

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
