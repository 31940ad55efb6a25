// Child processes in a group of their own, which die with this one.
#ifndef KG_PROCESS_H
#define KG_PROCESS_H

#include <sys/types.h>

#include "base/base.h"

typedef struct {
    char *const *argv;
    char *const *env;     // "NAME=value" beside what this process has; NULL: nothing
    const char *folder;   // working folder; NULL: this one's
    int out;              // stdout and stderr; stdin is /dev/null
    int control;          // becomes descriptor 3; -1: none. No other descriptor is inherited
    bool search_path;     // look for argv[0] in $PATH
    size_t memory_bytes;  // address space it may have; 0: as much as this process
    bool ends_itself;     // it watches its control descriptor, and so may outlive the thread
} kg_process;
// The child is killed when the thread that started it ends, unless it ends_itself. Errors: KG_ERR_CANNOT (not found,
// not executable).
int kg_process_start(const kg_process *p, int *pid, kg_error *err);
// Ends a child's group (when kill_first; otherwise it has patience_s to end by itself) and says how the child ended:
// "killed by SIGSEGV"; owned by the caller.
char *kg_process_end(int pid, bool kill_first, double patience_s);
char *kg_process_describe(int wait_status);  // owned by the caller
// read() and waitpid() that a signal does not end early.
ssize_t kg_read(int fd, void *to, size_t n);
int kg_wait(int pid, int *status);
bool kg_process_is_child(int pid);  // a child of this process, running or not yet waited for

typedef struct {
    char *output;    // stdout and stderr, at most `limit` bytes of it; owned; "" when it said nothing
    int status;      // as waitpid gives it
    bool timed_out;  // killed because the time was over
    double seconds;
} kg_process_result;
// Runs a command to its end or to the end of its time. p->out is not used.
int kg_process_run(const kg_process *p, double timeout_s, size_t limit, kg_process_result *out, kg_error *err);

// The folder that holds what kgate needs at run time (kgate-runner, kgate-counters, include/, python/): $KGATE_LIBEXEC,
// else the program's own. Owned by the caller.
char *kg_install_folder(void);

#endif
