// Baselines: the best library implementation of a task, run behind the same loop as a candidate.
//
// A library is a table of three functions. It is opened with dlopen when the judge asks for it, so neither the build
// nor the program needs it. What it does not cover (a dtype, a stride, an argument) it refuses in `prepare` with one
// line; the judge then says that the case has no baseline.
#ifndef KG_BASELINE_H
#define KG_BASELINE_H

#include "runner/runner.h"

typedef struct {
    const char *name;  // "onednn"
    // -1: no such library, not this task, or not this device. The request's entry may be "tf32:", which allows tf32.
    int (*open)(const kg_load_request *r, int threads, void **self, kg_error *err);
    int (*prepare)(void *self, const kg_run_case *c, kg_error *err);
    int (*call)(void *self, int slot, kg_error *err);
    void (*close)(void *self);
} kg_baseline_lib;
extern const kg_baseline_lib kg_baseline_onednn, kg_baseline_openblas;  // CPU
extern const kg_baseline_lib kg_baseline_cublaslt, kg_baseline_cudnn;   // CUDA

// An argument by name; NULL when the task has none of that name, or None or nothing was given for it.
const kg_run_arg *kg_baseline_arg(const kg_run_case *c, const char *name);
// A tensor argument by name; NULL as above, and for a Number.
const kg_run_tensor *kg_baseline_tensor(const kg_run_case *c, const char *name);
int64_t kg_baseline_int(const kg_run_case *c, const char *name, int64_t fallback);
double kg_baseline_float(const kg_run_case *c, const char *name, double fallback);
const char *kg_baseline_text(const kg_run_case *c, const char *name, const char *fallback);
// Entry k of an int or tuple of ints; a bare int stands for every k.
int64_t kg_baseline_entry(const kg_run_case *c, const char *name, int k, int64_t fallback);

// Where the result goes: the first output, or the input itself for an in-place call.
const kg_run_tensor *kg_baseline_out(const kg_run_case *c);
static inline void *kg_baseline_at(const kg_run_tensor *t, int slot) {
    return (char *)t->base + t->offset + (size_t)slot * t->slot_stride;
}
// "onednn: no strided softmax: this case has no baseline"; returns -1.
int kg_baseline_refuse(kg_error *err, const char *library, const char *what);

#endif
