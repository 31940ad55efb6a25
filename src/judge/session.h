// A session: one runner process, the memory it may see, and the conversation with it.
#ifndef KG_SESSION_H
#define KG_SESSION_H

#include "build/build.h"
#include "device/device.h"
#include "task/task.h"

// How runners are started. One per run of kgate; holds the warm Python parent.
typedef struct kg_launcher kg_launcher;
typedef struct {
    const char *python;      // interpreter; NULL: $KGATE_PYTHON, else python3
    double start_timeout_s;  // importing torch may take seconds
    bool interpret;          // Triton's interpreter, where there is no GPU
} kg_launcher_options;
int kg_launcher_open(const kg_launcher_options *o, kg_launcher **out, kg_error *err);
void kg_launcher_close(kg_launcher *l);
// Starts a runner: native (python == false) or forked from the warm Python parent. *socket: the judge's end, owned.
// *pid: to kill. scratch: the only folder it may write.
int kg_launcher_spawn(kg_launcher *l, bool python, const char *scratch, int *socket, int *pid, kg_error *err);
// The interpreter, where it is not just the python3 that PATH finds; NULL.
const char *kg_launcher_named_python(const kg_launcher *l);
// What the Python side has: JSON text {"python","torch","triton","error"}; owned by the launcher.
const char *kg_launcher_python_info(kg_launcher *l, kg_error *err);
// Has the Python parent import a package (TileLang) before it forks more runners; once is enough.
int kg_launcher_import(kg_launcher *l, const char *package, kg_error *err);
// Kills and reaps a runner; returns a short text on how it ended ("killed by SIGSEGV"), owned by the caller.
char *kg_launcher_reap(kg_launcher *l, int pid, bool kill_first);

typedef struct kg_session kg_session;
typedef struct {
    double timeout_s;    // one step: load, a case's calls, a batch
    size_t flush_bytes;  // 0: hot
    uint64_t secret;     // of what is looked at
    uint64_t seed;       // of what native random kernels get as `seed` (task.h, KG_SEED_PARAM)
} kg_session_options;

int kg_session_open(kg_launcher *l, kg_device *d, bool python, const kg_session_options *o, kg_session **out,
                    kg_error *err);
void kg_session_close(kg_session *s);
// Makes the memory that the largest layout needs and maps it into the runner. Asked again, it replaces the memory
// before.
int kg_session_arenas(kg_session *s, size_t in_bytes, size_t out_bytes, kg_error *err);
// The memory of another session, on the same device, instead of its own, from now until that one is closed or this one
// shares another's: two processes in the same memory are timed alike, whatever pages it got.
int kg_session_share(kg_session *s, kg_session *of, kg_error *err);
// Batches of empty calls, before any candidate code is in the process: what the clocks add by themselves.
int kg_session_calibrate(kg_session *s, kg_error *err);
// JSON array text of what the sandbox holds, as the runner said at start.
const char *kg_session_sandbox(const kg_session *s);

int kg_session_load(kg_session *s, const kg_task *t, const char *language, const char *artifact, const char *entry,
                    const char *launch, bool host_entry, kg_error *err);
const char *kg_session_entry(const kg_session *s);

// How much of a large output the oracle computes: all that a tenth of a second allows, a good sample, or every element
// whatever it costs.
typedef enum { KG_EFFORT_USUAL, KG_EFFORT_LOOK, KG_EFFORT_FULL } kg_effort;

// Lays out `slots` copies of the case's tensors (fewer when memory_limit says so; at least one or KG_ERR_MEMORY), and
// tells the runner. *slots is what was laid out.
int kg_session_case(kg_session *s, const kg_case *c, int *slots, size_t memory_limit, kg_error *err);
// New values on slots [first, first+n): inputs from seed ^ slot, outputs and guards poisoned.
int kg_session_fill(kg_session *s, uint64_t seed, int first, int n, kg_error *err);
int kg_session_call(kg_session *s, int slot, int n, kg_error *err);

typedef struct {
    int calls;
    double *times;     // per call, as the runner says; owned
    double judge_s;    // release to the account's coming, by the judge's clock
    double waited_s;   // of that time, what its thread and ours waited for a processor; NAN unknown
    double crowded_s;  // the most that one of its threads waited meanwhile; NAN unknown
    double host_s;     // enqueueing, per call, as the runner says
    bool held;
} kg_batch;
// One batch of `calls` calls on slots 0..calls-1; the inputs get the values of `seed` behind the hold. Tries held
// first; falls back to unheld for good when the candidate synchronises.
int kg_session_batch(kg_session *s, int calls, uint64_t seed, kg_batch *out, kg_error *err);
void kg_batch_free(kg_batch *b);
// As many calls, on the values that lie there: nothing is filled, made cold, collected or timed.
int kg_session_rerun(kg_session *s, int calls, kg_error *err);
// What calibration found, seconds.
typedef struct {
    double per_call_s, per_batch_s;  // by the judge's clock, of calls that do nothing
    double event_s;                  // by the runner's clock, around nothing: what timing a call adds
    double empty_s;                  // by the runner's clock, of a kernel that does nothing
} kg_overhead;
kg_overhead kg_session_overhead(const kg_session *s);
bool kg_session_synchronises(const kg_session *s);
// Its process was ended by SIGKILL, from within or without.
bool kg_session_killed(const kg_session *s);
// Stops the runner's processes until it is next asked for something: neither its threads that still spin nor work
// hidden in the background disturb what another session times.
void kg_session_pause(kg_session *s);
// Pauses in which the runner's threads worked all the same. A candidate that has itself continued disturbs the
// library's times, or works outside of the clock.
int kg_session_ran_paused(const kg_session *s);
// Processor time of all that is the candidate's, seconds; NAN where it may have processes of its own.
double kg_session_worked(const kg_session *s);
// The last request failed for what the candidate returned, not for want of an answer.
bool kg_session_wrong_result(const kg_session *s);
bool kg_session_is_python(const kg_session *s);
bool kg_session_alive(const kg_session *s);
const char *kg_session_scratch(const kg_session *s);
// One more call of the case, untimed: a Python candidate's compiler leaves the machine code of what it launches in the
// folder, which lies in the scratch.
int kg_session_observe(kg_session *s, const char *folder, kg_error *err);
// Stateful tasks: zeroes the state of every slot and lets the callable start afresh.
int kg_session_reset_state(kg_session *s, kg_error *err);

// Checks outputs on a slot against the oracle.
typedef struct {
    double worst[KG_PREC_NONE];  // largest error/bound at each rung of the ladder
    double error_over_bound;     // at the lowest precision allowed for this case
    char *where;           // "out[3,17]: got 0.5, expected 0.25 (error 1e4 times the bound)"; owned; NULL when right
    const char *reading;   // the allowed reading that the outputs follow, or come nearest to; static; NULL: no choice
    kg_likeness likeness;  // of the first output, where the task has public_limits and the case an output; else NAN
    uint64_t unwritten;    // poison left
    bool guard_broken;     // written past an output
} kg_check;
// seeds: of the calls made on the slot since its state was reset, oldest first. kept:
// what calls of one case share, NULL at the first; freed by the caller. NULL: the call stands alone.
int kg_session_check(kg_session *s, const uint64_t *seeds, int n_seeds, int slot, kg_effort effort, void **kept,
                     kg_check *out, kg_error *err);
void kg_check_free(kg_check *c);

// Whether a batch of so many slots left something beside its outputs, where a session that shares the memory would be
// blamed for it.
int kg_session_wrote_beside(kg_session *s, int slots, bool *beside, kg_error *err);

#endif
