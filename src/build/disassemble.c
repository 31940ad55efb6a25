// nvdisasm on the machine code that was built.
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/process.h"
#include "build/internal.h"

#define TEXT_BYTES   ((size_t)16 << 20)
#define MEMORY_BYTES ((size_t)4 << 30)

int kg_disassemble(const void *cubin, size_t size, const char *scratch, double timeout_s, char **text) {
    const kg_build_job j = {.scratch = scratch};
    char *tool = kg_find_cuda_tool("nvdisasm"), *path = NULL;
    kg_process_result r = {0};
    int failed = !tool || kg_build_write(&j, "disassembled.cubin", cubin, size, &path, NULL);
    if (!failed) {
        char *argv[] = {tool, "-c", path, NULL}, *env[] = {"LC_ALL=C", NULL};
        const kg_process p = {.argv = argv, .env = env, .folder = scratch, .control = -1, .memory_bytes = MEMORY_BYTES};
        failed = kg_process_run(&p, timeout_s, TEXT_BYTES, &r, NULL) || r.timed_out || !WIFEXITED(r.status) ||
                 WEXITSTATUS(r.status) != 0;
        unlink(path);
    }
    if (failed) free(r.output);
    else *text = r.output;
    free(path);
    free(tool);
    return failed ? -1 : 0;
}
