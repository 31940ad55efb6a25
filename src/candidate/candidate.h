// From what the user typed to candidates: files, folders, JSON Lines, standard input.
#ifndef KG_CANDIDATE_H
#define KG_CANDIDATE_H

#include "base/base.h"

typedef enum {
    KG_LANG_UNKNOWN,
    KG_LANG_C,
    KG_LANG_CUDA,
    KG_LANG_PTX,
    KG_LANG_CUBIN,
    KG_LANG_OPENCL,
    KG_LANG_TRITON,
    KG_LANG_TILELANG,
    KG_LANG_PYTHON
} kg_language;
const char *kg_language_name(kg_language l);  // "c", "cuda", "ptx", "cubin", "opencl", "triton", "tilelang", "python"
// "cpu", "cuda", "opencl": the kind of device that runs it; NULL when any device does (plain Python).
kg_language kg_language_parse(const char *name);  // KG_LANG_UNKNOWN when it is no such name
const char *kg_language_device(kg_language l);
bool kg_language_is_python(kg_language l);  // what the Python runner loads: Triton, TileLang, any callable

typedef struct {
    char *path;    // as the user can find it: "dir/x.c", "list.jsonl:17", "-"
    char *file;    // readable file that holds the source; NULL when source came inline
    char *source;  // the bytes; NUL-terminated after source_len; owned
    size_t source_len;
    char sha256[65];  // of the source
    kg_language language;
    char *task;    // from --task, else "kgate: task=NAME", else the JSON line, else the file's stem; NULL: none found
    char *entry;   // "kgate: entry=NAME"; NULL: kernel_function, the task's name or its signature's
    char *launch;  // PTX, cubin, NVRTC: everything after "kgate: launch"; NULL
    char *method, *round;  // from JSON lines; NULL
    kg_error problem;      // set: this one cannot be judged, and why (unreadable, empty, binary, malformed line)
    bool listed;           // came from a folder or a list (a missing device skips it), not named one by one
    bool malformed;        // a line of a list that is no candidate at all: no JSON object, or above the limit
} kg_candidate;
void kg_candidate_free(kg_candidate *c);
// A candidate from text in memory, called `name` in records; task and language may be NULL and KG_LANG_UNKNOWN.
void kg_candidate_from_text(const char *name, const char *task, kg_language language, const char *source,
                            kg_candidate *c);

// Finds candidates one after the other without holding all of them: a 10,000-line list costs one line's memory.
typedef struct kg_candidate_source kg_candidate_source;
int kg_candidates_open(char *const *args, size_t n, const char *task_override, kg_candidate_source **out,
                       kg_error *err);
// --lang: what every candidate is written in, whatever its name says. KG_LANG_UNKNOWN: told from each one.
void kg_candidates_set_language(kg_candidate_source *s, kg_language l);
// 1: *out is set (free it), 0: no more. A bad line or file gives a candidate with `problem` set, never an end.
int kg_candidates_next(kg_candidate_source *s, kg_candidate *out);
// Whether the next one is at hand: not so where whoever writes into a pipe may wait for a verdict first.
bool kg_candidates_at_hand(const kg_candidate_source *s);
void kg_candidates_close(kg_candidate_source *s);
// Whether judging this argument reads the file at this path: itself, as a list, or in a folder. Writing there would
// destroy it.
bool kg_candidate_reads(const char *arg, const char *path);

#endif
