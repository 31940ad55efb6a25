// Enters every layer that this machine allows, widest first, and says which hold.
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/process.h"
#include "runner/sandbox/sandbox.h"

static void note(json_t *holds, const char *name, int failed) {
    if (!failed) json_array_append_new(holds, json_string(name));
}

int kg_sandbox_enter(const char *scratch, const char *device_kind, bool processes, char **holds, kg_error *err) {
    const bool gpu = device_kind && strcmp(device_kind, "cpu") != 0;
    kg_sandbox_plan plan = {.scratch = scratch, .gpu = gpu, .processes = processes};
    if (!scratch || scratch[0] != '/')
        return kg_fail(err, KG_ERR_INTERNAL, "sandbox: scratch `%s` is no absolute path", scratch ? scratch : "");
    json_t *h = json_array();
    note(h, "rlimits", 0);  // kg_sandbox_limits fails when they do not hold
    note(h, "userns", kg_layer_userns());
    note(h, "netns", kg_layer_netns());
    note(h, "ipcns", kg_layer_ipcns());
    note(h, "mountns", kg_layer_mountns(&plan));
    note(h, "no-capabilities", kg_layer_capabilities());
    note(h, "no-new-privileges", kg_layer_no_new_privileges());
    note(h, "landlock", kg_layer_landlock(&plan));
    note(h, "seccomp", kg_layer_seccomp(&plan));
    *holds = json_dumps(h, JSON_COMPACT);
    json_decref(h);
    return *holds ? 0 : kg_fail(err, KG_ERR_MEMORY, "sandbox: out of memory");
}

static void probe_child(const char *dir, int fd) {
    char *holds = NULL;
    if (kg_sandbox_limits("cpu", 0, NULL) == 0 && kg_sandbox_enter(dir, "cpu", true, &holds, NULL) == 0 && holds) {
        ssize_t n = write(fd, holds, strlen(holds));
        (void)n;
    }
    _exit(0);
}

// Entering is the only honest test, so a child enters.
char *kg_sandbox_probe(void) {
    int fds[2];
    kg_text t = {0};
    const char *tmp = getenv("TMPDIR");
    char *dir = kg_format("%s/kgate-probe-XXXXXX", tmp && *tmp ? tmp : "/tmp");
    if (!mkdtemp(dir) || pipe(fds)) {
        rmdir(dir);
        free(dir);
        return kg_strdup("[]");
    }
    pid_t child = fork();
    if (child == 0) probe_child(dir, fds[1]);
    close(fds[1]);
    char buffer[512];
    ssize_t n;
    while (child > 0 && (n = kg_read(fds[0], buffer, sizeof buffer)) > 0) kg_text_add_bytes(&t, buffer, (size_t)n);
    close(fds[0]);
    if (child > 0) kg_wait(child, NULL);
    // Not the child's to remove: it sees the file system that the sandbox shows it.
    rmdir(dir);
    free(dir);
    return t.len ? t.data : kg_strdup("[]");
}
