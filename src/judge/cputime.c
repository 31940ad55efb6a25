#include "judge/cputime.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/base.h"

// proc(5): /proc/PID/task/TID/children lists the children that a thread made; absent without CONFIG_PROC_CHILDREN.
static bool thread_is_childless(int pid, const char *tid) {
    char *path = kg_format("/proc/%d/task/%s/children", pid, tid);
    FILE *f = fopen(path, "re");
    free(path);
    if (!f) return false;
    bool none = fgetc(f) == EOF;
    fclose(f);
    return none;
}

static bool is_childless(int pid) {
    char *path = kg_format("/proc/%d/task", pid);
    DIR *d = opendir(path);
    free(path);
    if (!d) return false;
    bool none = true;
    for (struct dirent *e; none && (e = readdir(d));)
        if (e->d_name[0] != '.') none = thread_is_childless(pid, e->d_name);
    closedir(d);
    return none;
}

double kg_cpu_seconds(int pid) {
    clockid_t clock;
    struct timespec t;
    if (pid <= 0 || !is_childless(pid) || clock_getcpuclockid(pid, &clock) || clock_gettime(clock, &t)) return NAN;
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

double kg_cpu_pressure_seconds(void) {
    FILE *f = fopen("/proc/pressure/cpu", "re");
    unsigned long long total;
    if (!f) return NAN;
    int found = fscanf(f, "some avg10=%*f avg60=%*f avg300=%*f total=%llu", &total);
    fclose(f);
    return found == 1 ? 1e-6 * (double)total : NAN;
}
