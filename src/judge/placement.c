#include "judge/placement.h"

#include <dirent.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/base.h"

double kg_waited_seconds(int pid, int tid) {
    char *path = kg_format("/proc/%d/task/%d/schedstat", pid, tid);
    FILE *f = fopen(path, "re");
    free(path);
    if (!f) return NAN;
    unsigned long long waited;
    int found = fscanf(f, "%*u %llu", &waited);
    fclose(f);
    return found == 1 ? 1e-9 * (double)waited : NAN;
}

// A machine may have more processors than cpu_set_t holds (1024); there nothing is bound.
static bool processors(int tid, cpu_set_t *set) { return sched_getaffinity(tid, sizeof *set, set) == 0; }

static bool has_bound_thread(int pid) {
    char *path = kg_format("/proc/%d/task", pid);
    DIR *d = opendir(path);
    free(path);
    if (!d) return false;
    bool bound = false;
    for (struct dirent *e; !bound && (e = readdir(d));) {
        int tid = atoi(e->d_name);
        cpu_set_t set;
        bound = tid > 0 && tid != pid && processors(tid, &set) && CPU_COUNT(&set) == 1;
    }
    closedir(d);
    return bound;
}

void kg_placement_hold(int pid) {
    cpu_set_t set, first;
    if (!processors(0, &set) || CPU_COUNT(&set) < 2 || !has_bound_thread(pid)) return;
    // The runtime's first place is the first processor of the set that the runner was started with: ours.
    size_t cpu = 0;
    while (!CPU_ISSET(cpu, &set)) cpu++;
    CPU_ZERO(&first);
    CPU_SET(cpu, &first);
    sched_setaffinity(pid, sizeof first, &first);
}

void kg_placement_free(int pid) {
    cpu_set_t set;
    if (pid > 0 && processors(0, &set)) sched_setaffinity(pid, sizeof set, &set);
}
