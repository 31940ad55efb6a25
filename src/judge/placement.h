// Where a runner's threads run, and how long they had to wait for it.
#ifndef KG_PLACEMENT_H
#define KG_PLACEMENT_H

#include <stdbool.h>

// Seconds so far in which thread `tid` of process `pid` could have run and waited for a processor (kernel
// documentation, scheduler/sched-stats.rst). NAN where the kernel does not keep it.
double kg_waited_seconds(int pid, int tid);

// The most that any one thread of the process has waited.
double kg_most_waited_seconds(int pid);
// Processor time of all threads of the process so far. NAN when it cannot be told.
double kg_worked_seconds(int pid);
// Waits until no thread of the process runs any more after a SIGSTOP, at most patience_s.
void kg_wait_stopped(int pid, double patience_s);

// Threads of a pool are bound, each to a processor of its own: left to the kernel, two of them may be woken on one
// processor, where one then spins in a barrier until the other's turn is over: 4 ms in a call of 1 ms. OpenMP's runtime
// does it itself (the launcher asks for it); for other pools it is done here, when there are no more threads than
// processors.
//
// The process's first thread is bound within a timed batch only: threads that it makes inherit its processors.
// (OpenMP's runtime binds it as soon as it is loaded, hence `free` after a load.)
void kg_placement_hold(int pid);
void kg_placement_free(int pid);

#endif
