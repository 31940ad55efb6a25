// Layers of the sandbox. Each is optional: 0 when it holds, -1 when this machine refuses it.
#ifndef KG_SANDBOX_H
#define KG_SANDBOX_H

#include "runner/runner.h"

typedef struct {
    const char *scratch;  // the only folder that stays writable
    bool gpu;             // the device's nodes and /dev/shm stay usable
    bool processes;       // it may start some
} kg_sandbox_plan;

int kg_layer_userns(void);  // an own user namespace: no rights over anybody else's processes
int kg_layer_netns(void);   // no network but an unconfigured loopback
int kg_layer_ipcns(void);
int kg_layer_mountns(const kg_sandbox_plan *p);  // every mount read-only but scratch
int kg_layer_capabilities(void);                 // none left, none to gain
int kg_layer_no_new_privileges(void);
int kg_layer_landlock(const kg_sandbox_plan *p);
int kg_layer_seccomp(const kg_sandbox_plan *p);

#endif
