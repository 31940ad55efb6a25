// What the device counts while a slow kernel is called: at the size that decides, with nothing else between the calls.
// They walk through as many slots as a batch has, so that data that no cache holds is read from memory each time.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/process.h"
#include "judge/counting.h"
#include "judge/trial.h"

#define LEAST_S       0.02  // of the device's time: some hundred samples
#define MOST_S        0.3
#define LONG_CALL_S   1.0  // a call that takes longer is not made again for this
#define MOST_SLOTS    32   // as memory.c has laid them out
#define SAMPLES       1000
#define INTERVAL_US   50.0  // between samples, at least
#define LIMIT_S       10.0
#define VALUES_NUMBER ((uint64_t)3 << 61)  // apart from the timed batches'

typedef struct {
    kg_session *s;
    int calls, batches;  // calls of a batch
    bool begun;
} work;

static int run_batches(void *ctx) {
    work *w = ctx;
    w->begun = true;
    for (int i = 0; i < w->batches; i++)
        if (kg_session_rerun(w->s, w->calls, NULL)) return -1;
    return 0;
}

// Values on every slot, and a first batch, which says how long one takes.
static int prepare(kg_trial *t, const kg_case_times *ct, work *w, double *round_s) {
    const double call_s = ct->time.mid;
    int slots = MOST_SLOTS;
    if (kg_session_case(t->session, ct->c, &slots, kg_trial_limit(t, ct->c), NULL) ||
        (ct->c->calls > 1 && kg_session_reset_state(t->session, NULL)))
        return -1;
    const double most = MOST_S / call_s;
    *w = (work){t->session, most < 1 ? 1 : most > slots ? slots : (int)most, 1, false};
    if (kg_session_fill(t->session, kg_trial_batch_seed(t, ct->c, VALUES_NUMBER), 0, w->calls, NULL) ||
        kg_session_rerun(w->s, w->calls, NULL))
        return -1;
    const double start = kg_now();
    if (run_batches(w)) return -1;
    const double batch_s = kg_now() - start;
    w->batches = (int)fmax(1, fmin(ceil(LEAST_S / (call_s * w->calls)), MOST_S / batch_s));
    *round_s = batch_s * w->batches;
    w->begun = false;
    return 0;
}

static char *count(const kg_trial *t, work *w, double round_s) {
    const char *named = kg_launcher_named_python(t->judge->launcher);
    char *folder = kg_install_folder(), *program = kg_format("%s/kgate-counters", folder);
    char *device = kg_format("--device=%d", t->judge->info.ordinal);
    char *interval = kg_format("--interval-us=%.0f", fmax(INTERVAL_US, round_s * 1e6 / SAMPLES));
    char *python = named ? kg_format("KGATE_PYTHON=%s", named) : NULL;
    char *argv[] = {program, device, interval, (char *)"--control-fd=3", NULL}, *env[] = {python, NULL};
    const kg_counting c = {argv, env, LIMIT_S, run_batches, w};
    char *line = kg_count_with(&c);
    free(folder);
    free(program);
    free(device);
    free(interval);
    free(python);
    return line;
}

// As the record has it.
static json_t *counters_part(const kg_case_times *ct, const work *w, const kg_facts *f) {
    static const char *const names[] = {"dram_bytes", "dram_ratio", "l2_hit", "occupancy"};
    json_t *o = json_pack("{s:s,s:i}", "case", ct->c->name, "calls", w->calls * w->batches);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const double value = kg_facts_get(f, names[i]);
        if (isfinite(value)) json_object_set_new(o, names[i], json_real(value));
    }
    return o;
}

void kg_trial_count(kg_trial *t, const kg_case_times *ct, kg_facts *f) {
    work w;
    double round_s;
    if (strcmp(t->judge->info.kind, "cuda") != 0 || !ct || !(ct->time.mid > 0 && ct->time.mid < LONG_CALL_S) ||
        !kg_session_alive(t->session) || t->judge->uncounted || prepare(t, ct, &w, &round_s))
        return;
    char *line = count(t, &w, round_s);
    t->judge->uncounted = !line && !w.begun;
    if (!line) return;
    // Data that the cache holds from one batch to the next says nothing of how often the kernel asks for it.
    const bool cold = ct->bytes * w.calls > (double)t->judge->info.cache_bytes;
    kg_facts_from_counters(f, line, strlen(line), (double)w.calls * w.batches, cold ? ct->bytes : NAN);
    t->counters = counters_part(ct, &w, f);
    free(line);
}
