#include "judge/placement.h"

#include <dirent.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

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

double kg_most_waited_seconds(int pid) {
    char *path = kg_format("/proc/%d/task", pid);
    DIR *d = opendir(path);
    free(path);
    double most = NAN;
    for (struct dirent *e; d && (e = readdir(d));) {
        int tid = atoi(e->d_name);
        if (tid > 0) most = fmax(most, kg_waited_seconds(pid, tid));
    }
    if (d) closedir(d);
    return most;
}

// proc(5): the letter after the name in parentheses, which may hold anything.
static bool stands_still(int pid, int tid) {
    char *path = kg_format("/proc/%d/task/%d/stat", pid, tid), text[256];
    FILE *f = fopen(path, "re");
    free(path);
    if (!f) return true;  // ended
    size_t n = fread(text, 1, sizeof text - 1, f);
    fclose(f);
    text[n] = '\0';
    const char *name_end = strrchr(text, ')');
    return !name_end || strchr("TtZX", name_end[1] ? name_end[2] : 'X');
}

static bool all_stand_still(int pid) {
    char *path = kg_format("/proc/%d/task", pid);
    DIR *d = opendir(path);
    free(path);
    bool still = true;
    for (struct dirent *e; d && still && (e = readdir(d));) {
        int tid = atoi(e->d_name);
        still = tid <= 0 || stands_still(pid, tid);
    }
    if (d) closedir(d);
    return still;
}

void kg_wait_stopped(int pid, double patience_s) {
    double deadline = kg_now() + patience_s;
    while (!all_stand_still(pid) && kg_now() < deadline) sched_yield();
}

double kg_worked_seconds(int pid) {
    clockid_t clock;
    struct timespec t;
    if (pid <= 0 || clock_getcpuclockid(pid, &clock) || clock_gettime(clock, &t)) return NAN;
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

// A machine may have more processors than cpu_set_t holds (1024); there nothing is bound.
static bool processors(int tid, cpu_set_t *set) { return sched_getaffinity(tid, sizeof *set, set) == 0; }

typedef struct {
    int *tid, n;      // those that are not bound, but the first thread
    int bound;        // how many are
    cpu_set_t taken;  // by them
} threads;

static threads list_threads(int pid) {
    threads t = {0};
    char *path = kg_format("/proc/%d/task", pid);
    DIR *d = opendir(path);
    free(path);
    for (struct dirent *e; d && (e = readdir(d));) {
        int tid = atoi(e->d_name);
        cpu_set_t set;
        if (tid <= 0 || tid == pid || !processors(tid, &set)) continue;
        if (CPU_COUNT(&set) == 1) {
            CPU_OR(&t.taken, &t.taken, &set);
            t.bound++;
        } else {
            t.tid = kg_realloc(t.tid, sizeof *t.tid * (size_t)(t.n + 1));
            t.tid[t.n++] = tid;
        }
    }
    if (d) closedir(d);
    return t;
}

// Binds the thread to the first processor of `all` that is not in *taken.
static void bind_thread(int tid, const cpu_set_t *all, cpu_set_t *taken) {
    size_t cpu = 0;
    while (cpu < CPU_SETSIZE && (!CPU_ISSET(cpu, all) || CPU_ISSET(cpu, taken))) cpu++;
    if (cpu == CPU_SETSIZE) return;
    cpu_set_t own;
    CPU_ZERO(&own);
    CPU_SET(cpu, &own);
    CPU_SET(cpu, taken);
    sched_setaffinity(tid, sizeof own, &own);
}

void kg_placement_hold(int pid) {
    cpu_set_t all;
    if (!processors(0, &all) || CPU_COUNT(&all) < 2) return;
    threads t = list_threads(pid);
    // More threads than processors: which of them work is not known, so only OpenMP's stay where its runtime put them.
    bool room = 1 + t.bound + t.n <= CPU_COUNT(&all);
    if (t.bound || (t.n && room)) bind_thread(pid, &all, &t.taken);
    for (int i = 0; room && i < t.n; i++) bind_thread(t.tid[i], &all, &t.taken);
    free(t.tid);
}

void kg_placement_free(int pid) {
    cpu_set_t set;
    if (pid > 0 && processors(0, &set)) sched_setaffinity(pid, sizeof set, &set);
}
