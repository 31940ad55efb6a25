// The untrusted side. kgate-runner is this loop with the native loaders; the Python side loads the same loop as a
// shared object (libkgate-runner.so) and adds its own loader through kg_runner_serve's hooks.
#ifndef KG_RUNNER_H
#define KG_RUNNER_H

#include <jansson.h>

#include "base/base.h"
#include "runner/protocol.h"

#define KG_RUN_MAX_ARGS  24
#define KG_RUN_MAX_OUTS  6
#define KG_RUN_MAX_SLOTS 256

// A tensor argument on a slot is at base + offset + slot * slot_stride.
typedef struct {
    kg_tensor desc;
    void *base;  // arena mapping (host pointer or device address)
    size_t offset, slot_stride;
    bool writable;
} kg_run_tensor;

// One argument as the runner needs it. kind, none, absent, scalar as in task.h's kg_arg (same meaning, JSON names).
typedef struct {
    char *name;
    int kind;  // kg_param_kind
    int role;  // kg_role
    bool optional, nullable, keyword, native_only, listed, none, absent, scalar;
    kg_run_tensor tensor;
    int64_t i;
    double f;
    char *s;
    int n;
    int64_t ints[8];
    double floats[8];
} kg_run_arg;

typedef struct {
    int n_args;
    kg_run_arg args[KG_RUN_MAX_ARGS];
    int n_outs;
    kg_run_tensor outs[KG_RUN_MAX_OUTS];
    int slots;
    int calls;
    bool alias_first_out;
    char *json;  // the packet's "case" object as text, for the Python loader
} kg_run_case;

// Device runtime on the runner's side.
typedef struct kg_rt kg_rt;
typedef struct kg_rt_ops {
    const char *kind;
    int (*open)(int ordinal, kg_control *control, kg_rt **out, kg_error *err);
    void (*close)(kg_rt *rt);
    int (*map)(kg_rt *rt, int fd, size_t bytes, bool writable, void **base, kg_error *err);
    // A batch: begin, then before/after around each call, then end; times waits for the end.
    int (*begin)(kg_rt *rt, int calls, uint32_t seq, bool held, size_t flush_bytes, kg_error *err);
    int (*before)(kg_rt *rt, int i, kg_error *err);
    int (*after)(kg_rt *rt, int i, kg_error *err);
    int (*end)(kg_rt *rt, uint32_t seq, kg_error *err);
    int (*times)(kg_rt *rt, int calls, double *seconds, kg_error *err);  // device seconds per call
    int (*sync)(kg_rt *rt, kg_error *err);
    void *(*stream)(kg_rt *rt);  // CUstream; NULL on the CPU
    bool queues;                 // calls return before they run: `enqueued` can be said before the work is done
    // What `calibrate` puts in a call's place: a kernel that does nothing. NULL: a call of an empty function.
    int (*empty)(kg_rt *rt, kg_error *err);
    // Takes back what map gave, when a session maps other arenas. NULL: it stays mapped.
    void (*unmap)(kg_rt *rt, void *base, size_t bytes);
} kg_rt_ops;
struct kg_rt {
    const kg_rt_ops *ops;
};
extern const kg_rt_ops kg_cpu_rt_ops, kg_cuda_rt_ops;

typedef struct {
    const char *language, *path, *entry, *task, *function, *launch;
    bool host_entry;
    kg_rt *rt;
} kg_load_request;

// A loader per language. self is the loader's own state, made by load.
typedef struct kg_loader {
    const char *language;
    int (*load)(const kg_load_request *r, void **self, char **entry, kg_error *err);
    int (*prepare)(void *self, const kg_run_case *c,
                   kg_error *err);                     // a new case: build the argument values of all slots
    int (*call)(void *self, int slot, kg_error *err);  // must not synchronise on CUDA
    int (*collect)(void *self, int slot,
                   kg_error *err);  // copies results the callable allocated into outs; NULL: none needed
    void (*unload)(void *self);
    // Calls like the others, of which something is written into `folder`: the kernels that are launched
    // (kgate_observe.py), where the time goes (loader/sampling.h). NULL: the judge knows already what there is to know.
    int (*observe)(void *self, int slot, const char *folder, kg_error *err);
} kg_loader;
extern const kg_loader kg_c_loader, kg_cuda_loader, kg_baseline_loader;

// Arguments of a destination-passing entry (C, CUDA C++ with a host function) for all slots, built once so that a call
// costs ffi_call alone. with_stream: the stream is the last argument. Types as task.h's kg_param_kind says.
typedef struct kg_native kg_native;
// The function of a shared object that the request names, else one of the names it may have. *name: owned by the
// caller. NULL: none (KG_ERR_CANDIDATE); `how` is what its language asks for beside a name ("as extern \"C\"", "").
void *kg_native_find(void *library, const kg_load_request *r, const char *how, char **name, kg_error *err);
int kg_native_prepare(const kg_run_case *c, int device_type, int ordinal, bool with_stream, void *stream,
                      kg_native **out, kg_error *err);
int kg_native_call(kg_native *n, int slot, void (*entry)(void), kg_error *err);  // KG_ERR_CANDIDATE unless it returns 0
void kg_native_free(kg_native *n);

// Reads the "case" object of protocol.h; bases: arena mappings by name. Owned by the caller: kg_run_case_free.
typedef struct {
    void *in, *out;
    size_t in_bytes, out_bytes;
} kg_arenas;
int kg_parse_case(const json_t *o, const kg_arenas *a, kg_run_case *out, kg_error *err);
void kg_run_case_free(kg_run_case *c);

// Serves one judge on `socket` until bye or end of file. extra: loaders beside the native ones (NULL-terminated, may be
// NULL). Returns the process's exit status.
int kg_runner_serve(int socket, const kg_loader *const *extra);

// Limits of this process that always hold; memory_bytes 0: no limit on memory.
int kg_sandbox_limits(const char *device_kind, size_t memory_bytes, kg_error *err);
// Sandbox of this process, applied after hello and before any candidate byte is loaded. Fills names of what holds
// ("userns", "netns", "landlock", "seccomp", "rlimits", ...), owned by the caller as one JSON array text.
// processes: whether it may start some.
int kg_sandbox_enter(const char *scratch, const char *device_kind, bool processes, char **holds, kg_error *err);
// What would hold here, without entering: for `kgate device`.
char *kg_sandbox_probe(void);

#endif
