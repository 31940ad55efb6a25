// Why a kernel is slow, or dangerous: rules over its source, its machine code and what was measured.
#ifndef KG_DIAGNOSE_H
#define KG_DIAGNOSE_H

#include <jansson.h>

#include "candidate/candidate.h"

// Named numbers that rules ask about: what was measured ("utilization"), what the task asks for ("product"), what the
// machine code holds ("spill_bytes"). What is not known is absent.
typedef struct {
    const char *name;  // static
    double value;
} kg_fact;
typedef struct {
    kg_fact *items;  // owned
    size_t n;
} kg_facts;
void kg_facts_set(kg_facts *f, const char *name, double value);       // NAN: as if it were not said
void kg_facts_at_least(kg_facts *f, const char *name, double value);  // the larger of the two
void kg_facts_add(kg_facts *f, const char *name, double value);       // the sum; one that is not known counts as 0
double kg_facts_get(const kg_facts *f, const char *name);             // NAN: not known
void kg_facts_free(kg_facts *f);

// What a candidate's machine code holds, from the PTX or cubin in memory; adds to facts. Bytes may be anything.
void kg_facts_from_ptx(kg_facts *f, const char *text, size_t size);
void kg_facts_from_cubin(kg_facts *f, const void *bytes, size_t size);
// The same from nvdisasm's text; once all is read, what it says takes the place of what PTX said.
void kg_facts_from_sass(kg_facts *f, const char *text, size_t size);
void kg_facts_prefer_sass(kg_facts *f);
// The same of every kernel that a Python candidate's compiler left in its scratch folder.
void kg_facts_from_scratch(kg_facts *f, const char *folder);

// What the device counted while the candidate was called so often, in kgate-counters' words. compulsory: the bytes that
// a call cannot do without; NAN: what was counted does not compare with them. Adds to facts, in percent but for
// dram_ratio and dram_bytes (a call's); of a text that is anything else, nothing.
void kg_facts_from_counters(kg_facts *f, const char *json, size_t size, double calls, double compulsory);

typedef struct {
    uint32_t from, to;  // lines of the source, from 1, both included
} kg_lines;

// Where the time of calls went: parts of it, with the lines of the source that each was spent in, called from or
// inlined into. A sample of a C kernel is one part; all launches of one Triton kernel are one.
#define KG_CHAIN 8
typedef struct {
    double weight;
    uint32_t n;
    kg_lines lines[KG_CHAIN];
} kg_sample;
typedef struct {
    bool launches;  // parts are launches: it says nothing of what is written outside of kernels
    size_t n;
    kg_sample samples[];
} kg_profile;
// Of a C candidate: samples as its runner left them in the folder (runner/loader/sampling.h), and the listing of its
// machine code (kg_list_code), whose source is called `file`. Adds to facts. Owned by the caller: kg_profile_free.
// NULL: too few, or not of that file.
kg_profile *kg_profile_from_scratch(const char *folder, const char *code, const char *file, kg_facts *f);
// Of a Triton candidate: the times of its launches, as its runner left them in the folder (kgate_launches.py). Adds to
// facts. Owned by the caller. NULL: there are none.
kg_profile *kg_launches_from_scratch(const char *folder, kg_facts *f);
void kg_profile_free(kg_profile *p);

typedef struct {
    kg_language language;
    const char *source;
    size_t len;
    const kg_facts *facts;
    const kg_profile *profile;  // NULL: not known
    const char *only;           // the one rule to ask, by its id; NULL: all
} kg_subject;

// Holds the compiled queries of the languages seen so far. One thread at a time.
typedef struct kg_diagnoser kg_diagnoser;
kg_diagnoser *kg_diagnoser_open(void);
void kg_diagnoser_close(kg_diagnoser *d);
// Findings as the record has them, what explains most time first: [{"rule","line","message","evidence","change",
// "cause","explains","basis"}]. What lies where a profile says that no time goes is none. *explained: they explain why
// it misses a screen, by how it is written. Never fails: a source that cannot be parsed has no findings. Owned by the
// caller.
json_t *kg_diagnose(kg_diagnoser *d, const kg_subject *s, bool *explained);

// ---- repairs --------------------------------------------------------------------------------------------------------

// A mechanical change of a source that removes a cause. It may come in variants (block sizes), of which timing says
// which is best; whether the result is right is for the judge to say.
typedef struct {
    const char *id;       // "triton-warps"
    const char *answers;  // ids of the rules whose findings it answers, separated by blanks; "*": any slow kernel
    unsigned languages;   // bit 1 << language
    size_t variants;
    const char *what;  // "programs in groups, so that blocks stay in the L2 cache"
} kg_repair_info;
const kg_repair_info *kg_repair(size_t i);  // in the order they are tried; NULL past the last

// Holds the compiled queries of the repairs made so far. One thread at a time.
typedef struct kg_repairer kg_repairer;
kg_repairer *kg_repairer_open(void);
void kg_repairer_close(kg_repairer *r);
// The changed source; owned by the caller. NULL: it does not fit this source, and *why says so in a line (owned).
char *kg_repair_apply(kg_repairer *r, size_t i, size_t variant, kg_language l, const char *source, size_t len,
                      char **why);
// A unified diff with three lines of context; "" when nothing differs. Owned by the caller.
char *kg_unified_diff(const char *name, const char *before, const char *after);

#endif
