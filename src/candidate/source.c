// The candidates behind the arguments of the command line, one after the other.
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "candidate/internal.h"

struct kg_candidate_source {
    char **args;
    size_t n, at;
    char *task;
    kg_language language;
    kg_walk *walk;
    kg_lines *lines;
    char *folder;      // the one being walked
    size_t in_folder;  // candidates found in it so far
};

int kg_candidates_open(char *const *args, size_t n, const char *task_override, kg_candidate_source **out,
                       kg_error *err) {
    if (!n) return kg_fail(err, KG_ERR_USAGE, "no candidate: name a file, a folder, a .jsonl list, or - for input");
    kg_candidate_source *s = kg_alloc(sizeof *s);
    s->args = kg_alloc(n * sizeof *s->args);
    s->n = n;
    // A name that begins with a dash is an option to whoever repeats it: "./-x.c" is the same file.
    for (size_t i = 0; i < n; i++)
        s->args[i] = args[i][0] == '-' && args[i][1] ? kg_format("./%s", args[i]) : kg_strdup(args[i]);
    s->task = task_override ? kg_strdup(task_override) : NULL;
    *out = s;
    return 0;
}

void kg_candidates_set_language(kg_candidate_source *s, kg_language l) { s->language = l; }

// "list.jsonl:17", as records name a candidate of a list: the name alone, and the line. 0 when arg is no such thing.
static size_t line_of_list(const char *arg, char **list) {
    const char *colon = strrchr(arg, ':');
    if (!colon || !colon[1] || strspn(colon + 1, "0123456789") != strlen(colon + 1)) return 0;
    char *name = kg_format("%.*s", (int)(colon - arg), arg);
    struct stat st;
    size_t line = strtoul(colon + 1, NULL, 10);
    if (!stat(arg, &st) || !kg_path_is_list(name) || stat(name, &st)) line = 0;
    if (line) *list = name;
    else free(name);
    return line;
}

static int trouble(const char *path, kg_code code, const char *why, kg_candidate *out) {
    memset(out, 0, sizeof *out);
    out->path = kg_utf8(path, strlen(path));
    kg_fail(&out->problem, code, "%s: %s", out->path, why);
    return 1;
}

// A list to read on, or a candidate that says why not.
static int open_list(kg_candidate_source *s, const char *path, size_t only, bool listed, kg_candidate *out) {
    FILE *f = kg_open_pipe(path);
    if (f) {
        s->lines = kg_lines_open(f, path, only);
        return 0;
    }
    trouble(path, errno == ENOENT ? KG_ERR_USAGE : KG_ERR_CANNOT, strerror(errno), out);
    out->listed = listed;
    return 1;
}

// Source, or a list when it begins with a brace: no language does.
static int open_input(kg_candidate_source *s, kg_candidate *out) {
    int c = getc(stdin);
    if (c != EOF) ungetc(c, stdin);
    if (c == '{') {
        s->lines = kg_lines_open(stdin, "-", 0);
        return 0;
    }
    kg_candidate_from_stream(stdin, s->task, s->language, out);
    return 1;
}

static bool same_file(const char *a, const char *b) {
    struct stat x, y;
    return !stat(a, &x) && !stat(b, &y) && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

static bool folder_reads(const char *folder, const char *path) {
    char *unreadable, *file;
    bool found = false;
    kg_walk *w = kg_walk_open(folder);
    while (!found && ((file = kg_walk_next(w, &unreadable)) || unreadable)) {
        found = file && same_file(file, path);
        free(file);
        free(unreadable);
    }
    kg_walk_close(w);
    return found;
}

bool kg_candidate_reads(const char *arg, const char *path) {
    struct stat st;
    char *list = NULL;
    if (stat(path, &st) || !S_ISREG(st.st_mode)) return false;
    if (!stat(arg, &st) && S_ISDIR(st.st_mode)) return folder_reads(arg, path);
    bool reads = same_file(line_of_list(arg, &list) ? list : arg, path);
    free(list);
    return reads;
}

static int open_argument(kg_candidate_source *s, const char *arg, kg_candidate *out) {
    struct stat st;
    char *list = NULL;
    if (!*arg) return trouble("''", KG_ERR_USAGE, "an empty name: give a file, a folder, a .jsonl list, or -", out);
    if (!strcmp(arg, "-")) return open_input(s, out);
    size_t line = line_of_list(arg, &list);
    if (line) {
        int found = open_list(s, list, line, false, out);
        free(list);
        return found;
    }
    if (!stat(arg, &st) && S_ISDIR(st.st_mode)) {
        s->walk = kg_walk_open(arg);
        s->folder = kg_strdup(arg);
        s->in_folder = 0;
        return 0;
    }
    if (kg_path_is_list(arg)) return open_list(s, arg, 0, false, out);
    kg_candidate_from_file(arg, s->task, s->language, false, out);
    return 1;
}

static int leave_folder(kg_candidate_source *s, kg_candidate *out) {
    int found = 0;
    if (!s->in_folder)
        found =
            trouble(s->folder, KG_ERR_USAGE, "no candidate in this folder (.c .cu .ptx .cubin .cl .py .jsonl)", out);
    kg_walk_close(s->walk);
    free(s->folder);
    s->walk = NULL;
    s->folder = NULL;
    return found;
}

static int next_of_folder(kg_candidate_source *s, kg_candidate *out) {
    char *unreadable, *path = kg_walk_next(s->walk, &unreadable);
    if (!path && !unreadable) return leave_folder(s, out);
    s->in_folder++;
    int found = 1;
    if (unreadable) {
        trouble(unreadable, KG_ERR_CANNOT, "this folder cannot be read", out);
        out->listed = true;
    } else if (kg_path_is_list(path)) found = open_list(s, path, 0, true, out);
    else kg_candidate_from_file(path, s->task, s->language, true, out);
    free(path);
    free(unreadable);
    return found;
}

int kg_candidates_next(kg_candidate_source *s, kg_candidate *out) {
    for (;;) {
        if (s->lines) {
            if (kg_lines_next(s->lines, s->task, s->language, out)) return 1;
            kg_lines_close(s->lines);
            s->lines = NULL;
        } else if (s->walk) {
            if (next_of_folder(s, out)) return 1;
        } else if (s->at == s->n) return 0;
        else if (open_argument(s, s->args[s->at++], out)) return 1;
    }
}

bool kg_candidates_at_hand(const kg_candidate_source *s) {
    struct stat st;
    for (size_t i = 0; i < s->n; i++)
        if (!stat(s->args[i], &st) ? !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode) : !strcmp(s->args[i], "-"))
            return false;
    return true;
}

void kg_candidates_close(kg_candidate_source *s) {
    if (!s) return;
    kg_lines_close(s->lines);
    kg_walk_close(s->walk);
    free(s->folder);
    for (size_t i = 0; i < s->n; i++) free(s->args[i]);
    free(s->args);
    free(s->task);
    free(s);
}
