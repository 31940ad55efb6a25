// Where a runner's threads run, and how long they had to wait for it.
#ifndef KG_PLACEMENT_H
#define KG_PLACEMENT_H

#include <stdbool.h>

// Seconds so far in which thread `tid` of process `pid` could have run and waited for a processor (kernel
// documentation, scheduler/sched-stats.rst). NAN where the kernel does not keep it.
double kg_waited_seconds(int pid, int tid);

// OpenMP's runtime binds its threads, each to a processor of its own (the launcher asks for it): left to the kernel,
// two of them may be woken on one processor, where one then spins in a barrier until the other's turn is over: 4 ms in
// a call of 1 ms. It binds the process's first thread too, as soon as it is loaded; every thread made afterwards by
// other means would inherit that. So the first thread stays free, but for a timed batch of a process whose other
// threads are bound.
void kg_placement_hold(int pid);
void kg_placement_free(int pid);

#endif
