// The conversation with kgate-counters, which reads hardware counters in a process of its own.
#ifndef KG_COUNTING_H
#define KG_COUNTING_H

typedef struct {
    char *const *argv, *const *env;  // as kg_process has them
    double limit_s;                  // for all of it
    int (*run)(void *ctx);           // the work that is counted, once a round; not 0: give up
    void *ctx;
} kg_counting;

// What it says in the end, one line; owned by the caller. NULL: it counted nothing, took too long, or talks of
// something else. The process is gone when this returns.
char *kg_count_with(const kg_counting *c);

#endif
