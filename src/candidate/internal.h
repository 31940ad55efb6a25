// Shared by the files of this room only.
#ifndef KG_CANDIDATE_INTERNAL_H
#define KG_CANDIDATE_INTERNAL_H

#include <stdio.h>

#include "candidate/candidate.h"

// A source file or a line of a list above this is refused: no kernel is this long, and memory is not for the asking.
#define KG_SOURCE_LIMIT ((size_t)64 << 20)

// ---- language.c
kg_language kg_language_by_extension(const char *path);
// What the bytes look like; hint: what the extension said (a .py file is Triton, TileLang or plain Python).
kg_language kg_language_sniff(const char *source, size_t n, kg_language hint);
bool kg_path_is_list(const char *path);  // ends in .jsonl

// ---- header.c
// Fills what is still NULL of c from the `kgate:` comments of the first 100 lines.
void kg_header_read(const char *text, size_t n, kg_candidate *c);

// ---- text.c
// Bytes to valid UTF-8, invalid ones written as \xNN, so that they can go into a record. Owned by the caller.
char *kg_utf8(const char *bytes, size_t n);
// File name without folders and without its last extension; NULL when nothing is left. Owned by the caller.
char *kg_stem(const char *path);

// ---- file.c
// The candidate that one file is. Never fails: what is wrong is in c->problem.
void kg_candidate_from_file(const char *path, const char *task, kg_language language, bool listed, kg_candidate *c);
void kg_candidate_from_stream(FILE *f, const char *task, kg_language language, kg_candidate *c);
// Hash, language, header, task of a candidate whose path and source are set; problems that the bytes show.
// task: the override, NULL for none. name: what the stem is taken from, NULL when there is no name.
void kg_candidate_finish(kg_candidate *c, const char *task, kg_language language, const char *name);

// A file or a pipe; a pipe that stays silent for some seconds is given up (ETIMEDOUT). NULL and errno on failure.
FILE *kg_open_pipe(const char *path);

// ---- lines.c
typedef struct kg_lines kg_lines;
// Owns f. name: what the paths of its candidates start with. only: the one line wanted, 0 for all.
kg_lines *kg_lines_open(FILE *f, const char *name, size_t only);
int kg_lines_next(kg_lines *l, const char *task, kg_language language, kg_candidate *c);  // 1, or 0 at the end
void kg_lines_close(kg_lines *l);

// ---- walk.c
// The files of a folder and of those in it, in the order of their names: the list of one folder at a time is held.
typedef struct kg_walk kg_walk;
kg_walk *kg_walk_open(const char *folder);
// The next file that may be a candidate (by its extension), or NULL at the end; owned by the caller. unreadable: set to
// the path of a folder that could not be read, owned by the caller, and the walk goes on behind it.
char *kg_walk_next(kg_walk *w, char **unreadable);
void kg_walk_close(kg_walk *w);

#endif
