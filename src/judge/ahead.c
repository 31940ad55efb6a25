#include "judge/ahead.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "judge/scratch.h"

struct kg_ahead {
    kg_candidate c;  // what a build needs of it, owned
    const kg_device_info *dev;
    double timeout_s;
    kg_scratch scratch;
    pthread_t thread;
    bool started, running;
    kg_artifact artifact;
    int failed;
    kg_error err;
};

static void *build(void *arg) {
    kg_ahead *a = arg;
    a->failed = kg_build(&a->c, a->dev, a->scratch.path, a->timeout_s, &a->artifact, &a->err);
    return NULL;
}

// The others are only copied.
static bool compiles(kg_language l) { return l == KG_LANG_C || l == KG_LANG_CUDA; }

static char *maybe(const char *s) { return s ? kg_strdup(s) : NULL; }

static kg_candidate copy(const kg_candidate *c) {
    kg_candidate k = {.path = maybe(c->path),
                      .source = kg_alloc(c->source_len + 1),
                      .source_len = c->source_len,
                      .language = c->language,
                      .entry = maybe(c->entry),
                      .launch = maybe(c->launch)};
    memcpy(k.source, c->source, c->source_len);
    return k;
}

static bool equal(const char *a, const char *b) { return a && b ? !strcmp(a, b) : a == b; }

static bool same(const kg_candidate *a, const kg_candidate *b) {
    return a->language == b->language && a->source_len == b->source_len && a->path && b->path &&
           !strcmp(a->path, b->path) && equal(a->entry, b->entry) && equal(a->launch, b->launch) && b->source &&
           !memcmp(a->source, b->source, a->source_len);
}

kg_ahead *kg_ahead_plan(const kg_candidate *c, const kg_device_info *dev, double timeout_s) {
    if (c->problem.code || !c->source || !compiles(c->language)) return NULL;
    kg_ahead *a = kg_alloc(sizeof *a);
    a->c = copy(c);
    a->dev = dev;
    a->timeout_s = timeout_s;
    a->scratch.lock = -1;
    return a;
}

void kg_ahead_start(kg_ahead *a) {
    a->running = a->started =
        kg_scratch_make(&a->scratch, NULL) == 0 && pthread_create(&a->thread, NULL, build, a) == 0;
}

void kg_ahead_wait(kg_ahead *a) {
    if (a && a->running) pthread_join(a->thread, NULL);
    if (a) a->running = false;
}

static char *moved(const char *artifact, const char *scratch) {
    const char *name = strrchr(artifact, '/');
    char *to = kg_format("%s/%s", scratch, name ? name + 1 : artifact);
    if (rename(artifact, to) == 0) return to;
    free(to);
    return NULL;
}

bool kg_ahead_take(kg_ahead *a, const kg_candidate *c, const char *scratch, kg_artifact *out, int *failed,
                   kg_error *err) {
    if (!a || !a->started || !same(&a->c, c)) return false;
    kg_ahead_wait(a);
    char *there = a->failed ? NULL : moved(a->artifact.artifact, scratch);
    if (!a->failed && !there) return false;  // built once more, where it is to be
    *out = a->artifact;
    a->artifact = (kg_artifact){0};
    if (there) {
        free(out->artifact);
        out->artifact = there;
    }
    *failed = a->failed;
    a->started = false;
    if (a->failed) kg_fail(err, a->err.code, "%s", a->err.text);
    return true;
}

void kg_ahead_drop(kg_ahead *a) {
    if (!a) return;
    kg_ahead_wait(a);
    kg_artifact_free(&a->artifact);
    kg_error_clear(&a->err);
    kg_scratch_remove(&a->scratch);
    kg_candidate_free(&a->c);
    free(a);
}
