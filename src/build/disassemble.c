// The machine code that was built, as nvdisasm and objdump print it.
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/process.h"
#include "build/internal.h"

#define TEXT_BYTES   ((size_t)16 << 20)
#define MEMORY_BYTES ((size_t)4 << 30)

// argv's words; owned by the caller. NULL: it has none, or not in time.
static char *output_of(char *const *argv, const char *scratch, double timeout_s) {
    char *env[] = {"LC_ALL=C", NULL};
    const kg_process p = {
        .argv = argv, .env = env, .folder = scratch, .control = -1, .search_path = true, .memory_bytes = MEMORY_BYTES};
    kg_process_result r = {0};
    if (kg_process_run(&p, timeout_s, TEXT_BYTES, &r, NULL) == 0 && !r.timed_out && WIFEXITED(r.status) &&
        WEXITSTATUS(r.status) == 0)
        return r.output;
    free(r.output);
    return NULL;
}

int kg_disassemble(const void *cubin, size_t size, const char *scratch, double timeout_s, char **text) {
    const kg_build_job j = {.scratch = scratch};
    char *tool = kg_find_cuda_tool("nvdisasm"), *path = NULL;
    *text = NULL;
    if (tool && kg_build_write(&j, "disassembled.cubin", cubin, size, &path, NULL) == 0) {
        char *argv[] = {tool, "-c", path, NULL};
        *text = output_of(argv, scratch, timeout_s);
        unlink(path);
    }
    free(path);
    free(tool);
    return *text ? 0 : -1;
}

int kg_list_code(const char *object, const char *scratch, double timeout_s, char **text) {
    char *argv[] = {"objdump", "-d", "-l", "--inlines", "--no-show-raw-insn", "-j", ".text", (char *)object, NULL};
    *text = output_of(argv, scratch, timeout_s);
    return *text ? 0 : -1;
}
