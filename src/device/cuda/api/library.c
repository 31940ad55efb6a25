#include "device/cuda/api/library.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <glob.h>
#include <libgen.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/process.h"

extern char **environ;

static void *open_in(const char *folder, const char *name) {
    char *path = kg_format("%s/%s", folder, name);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    free(path);
    return library;
}

static void *open_beside_program(const char *name) {
    char *self = realpath("/proc/self/exe", NULL);
    if (!self) return NULL;
    char *folder = dirname(self);
    void *library = open_in(folder, name);
    if (!library) {
        char *lib = kg_format("%s/../lib", folder);
        library = open_in(lib, name);
        free(lib);
    }
    free(self);
    return library;
}

static void *open_below(const char *home, const char *name) {
    static const char *const folders[] = {"lib64", "extras/CUPTI/lib64"};
    void *library = NULL;
    for (size_t i = 0; i < sizeof folders / sizeof *folders && !library; i++) {
        char *lib = kg_format("%s/%s", home, folders[i]);
        library = open_in(lib, name);
        free(lib);
    }
    return library;
}

static void *open_in_toolkit(const char *name) {
    const char *home = getenv("CUDA_HOME");
    void *library = home ? open_below(home, name) : NULL;
    return library ? library : open_below("/usr/local/cuda", name);
}

static int spawn_python(const char *python, int out) {
    // -I: nothing of the current folder or of PYTHONPATH runs here.
    char *const argv[] = {(char *)python, (char *)"-I", (char *)"-c",
                          (char *)"import sysconfig; print(sysconfig.get_path('purelib'))", NULL};
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    pid_t pid = -1;
    int rc = posix_spawnp(&pid, python, &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    return rc == 0 ? (int)pid : -1;
}

// Where the user's interpreter keeps packages; owned by the caller, NULL when it does not say.
static char *python_packages(void) {
    const char *python = getenv("KGATE_PYTHON");
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return NULL;
    int pid = spawn_python(python && *python ? python : "python3", ends[1]);
    close(ends[1]);
    kg_text text = {0};
    char buffer[512];
    for (ssize_t n; (n = kg_read(ends[0], buffer, sizeof buffer)) > 0;) kg_text_add_bytes(&text, buffer, (size_t)n);
    close(ends[0]);
    if (pid > 0) kg_wait(pid, NULL);
    char *end = text.data ? strchr(text.data, '\n') : NULL;
    if (!end) {
        kg_text_free(&text);
        return NULL;
    }
    *end = 0;
    return text.data;
}

static void *open_in_packages(const char *packages, const char *name) {
    void *library = NULL;
    char *pattern = kg_format("%s/nvidia/*/lib/%s", packages, name);
    glob_t found;
    if (glob(pattern, 0, NULL, &found) == 0) {
        for (size_t i = 0; i < found.gl_pathc && !library; i++)
            library = dlopen(found.gl_pathv[i], RTLD_NOW | RTLD_LOCAL);
        globfree(&found);
    }
    free(pattern);
    return library;
}

int kg_cuda_library_open(const char *const *names, void **library, kg_error *err) {
    *library = NULL;
    for (const char *const *n = names; *n && !*library; n++) {
        *library = dlopen(*n, RTLD_NOW | RTLD_LOCAL);
        if (!*library) *library = open_beside_program(*n);
        if (!*library) *library = open_in_toolkit(*n);
    }
    if (*library) return 0;
    char *packages = python_packages();
    for (const char *const *n = names; packages && *n && !*library; n++) *library = open_in_packages(packages, *n);
    free(packages);
    if (*library) return 0;
    return kg_fail(err, KG_ERR_CANNOT,
                   "no %s here: install the CUDA toolkit or its Python package, or set "
                   "LD_LIBRARY_PATH",
                   names[0]);
}

int kg_cuda_library_resolve(void *library, const char *what, const kg_cuda_symbol *symbols, size_t n, kg_error *err) {
    for (size_t i = 0; i < n; i++) {
        void *p = dlsym(library, symbols[i].symbol);
        if (!p) return kg_fail(err, KG_ERR_CANNOT, "%s lacks %s: another version is needed", what, symbols[i].symbol);
        memcpy(symbols[i].field, &p, sizeof p);
    }
    return 0;
}
