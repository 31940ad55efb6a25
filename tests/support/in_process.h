// A C kernel called in this process, with no judge and no sandbox around it: for tests and benches of trusted kernels.
#ifndef KG_IN_PROCESS_H
#define KG_IN_PROCESS_H

#include "task/task.h"

typedef int (*kg_adapter)(void **arguments);

// Compiles a kernel's source for its task in `folder`, -O2; links what `flags` adds. NULL: it does not compile, and the
// compiler has said why (unless quiet). The library is closed with dlclose(*handle).
kg_adapter kg_in_process_build(const kg_task *t, const char *source, const char *folder, const char *flags, bool quiet,
                               void **handle);

// A case's tensors. State is zero at first and stays from call to call.
typedef struct {
    void *args[KG_MAX_ARGS], *outs[KG_MAX_OUTS];
} kg_memory;
bool kg_has_memory(const kg_arg *a);
void kg_memory_make(const kg_task *t, const kg_case *c, kg_memory *m);
void kg_memory_free(const kg_case *c, kg_memory *m);
// Values of call number `turn`, and poison in the outputs.
void kg_memory_fill(const kg_task *t, const kg_case *c, kg_memory *m, int turn);
// What the kernel returned.
int kg_in_process_call(const kg_task *t, kg_case *c, kg_memory *m, kg_adapter fn, int turn);

#endif
