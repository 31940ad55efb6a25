// A folder and the folders in it, in name order.
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "candidate/internal.h"

// Deeper than any project; a bind mount of a folder into itself ends here.
enum { MAX_DEPTH = 64 };

typedef struct {
    char *path;
    struct dirent **names;
    int n, at;
} level;

struct kg_walk {
    level levels[MAX_DEPTH];
    int depth;
    char *unreadable;
};

// Hidden files, caches and a package's own __init__ are no candidates, nor is what runners have in scratch
// (judge/scratch.c), where $TMPDIR lies in the folder.
static int keep(const struct dirent *d) {
    return d->d_name[0] != '.' && strncmp(d->d_name, "__", 2) != 0 && strncmp(d->d_name, "kgate-run-", 10) != 0;
}

static int by_name(const struct dirent **a, const struct dirent **b) { return strcmp((*a)->d_name, (*b)->d_name); }

// Takes path.
static void enter(kg_walk *w, char *path) {
    level *l = w->depth < MAX_DEPTH ? &w->levels[w->depth] : NULL;
    int n = l ? scandir(path, &l->names, keep, by_name) : -1;
    if (n < 0) {
        free(w->unreadable);
        w->unreadable = path;
        return;
    }
    l->path = path;
    l->n = n;
    l->at = 0;
    w->depth++;
}

static void leave(kg_walk *w) {
    level *l = &w->levels[--w->depth];
    for (; l->at < l->n; l->at++) free(l->names[l->at]);
    free(l->names);
    free(l->path);
}

kg_walk *kg_walk_open(const char *folder) {
    kg_walk *w = kg_alloc(sizeof *w);
    size_t n = strlen(folder);
    while (n > 1 && folder[n - 1] == '/') n--;
    enter(w, kg_format("%.*s", (int)n, folder));
    return w;
}

// A folder reached through a link is not entered: links can make circles.
static bool is_folder(const char *path) {
    struct stat st;
    return !lstat(path, &st) && S_ISDIR(st.st_mode);
}

static bool is_candidate(const char *path) {
    struct stat st;
    if (kg_language_by_extension(path) == KG_LANG_UNKNOWN && !kg_path_is_list(path)) return false;
    return stat(path, &st) || S_ISREG(st.st_mode);  // a link to nothing is reported when it is opened
}

char *kg_walk_next(kg_walk *w, char **unreadable) {
    *unreadable = NULL;
    while (w->depth || w->unreadable) {
        if (w->unreadable) {
            *unreadable = w->unreadable;
            w->unreadable = NULL;
            return NULL;
        }
        level *l = &w->levels[w->depth - 1];
        if (l->at == l->n) {
            leave(w);
            continue;
        }
        char *path = kg_format(strcmp(l->path, "/") ? "%s/%s" : "%s%s", l->path, l->names[l->at]->d_name);
        free(l->names[l->at++]);
        if (is_folder(path)) enter(w, path);
        else if (is_candidate(path)) return path;
        else free(path);
    }
    return NULL;
}

void kg_walk_close(kg_walk *w) {
    if (!w) return;
    while (w->depth) leave(w);
    free(w->unreadable);
    free(w);
}
