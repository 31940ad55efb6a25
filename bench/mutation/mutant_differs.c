// Can any case tell a mutant from the kernel it was made of? Runs both on the values of every quick and full case and
// compares what they store.
//
//     mutant_differs LIST.jsonl     lines with task, code and honest; writes a line for each: its number, then
//                                   same, "differs CASE" (the first one), "stops CASE" or not-built
//
// A survivor that is the same is equivalent or asks for a case; one that differs is within the bound of every case.
// 0 and -0 count as equal, so do NaNs. Cases past LARGEST elements are left out: they are there for the size alone.
#include <dlfcn.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../tests/support/in_process.h"

#define LARGEST ((int64_t)1 << 16)
#define MOST    1024  // cases of a task
#define SECONDS 20    // for all cases of one kernel
#define SETS    2     // of values a case

static uint64_t mixed(uint64_t hash, uint64_t x) { return (hash ^ x) * 0x100000001b3u ^ hash >> 29; }

static uint64_t hash_of(uint64_t hash, const kg_tensor *t, const void *data) {
    const kg_view v = {kg_tensor_parts(t), data};
    for (int64_t i = 0; i < kg_numel(&v.desc); i++) {
        double x = kg_at(&v, i);
        x = isnan(x) ? NAN : x + 0.0;
        uint64_t bits;
        memcpy(&bits, &x, sizeof bits);
        hash = mixed(hash, bits);
    }
    return hash;
}

static uint64_t case_hash(const kg_task *t, kg_case *c, kg_adapter fn) {
    kg_memory m;
    kg_memory_make(t, c, &m);
    uint64_t hash = 0xcbf29ce484222325u;
    for (int turn = 0; turn < c->calls || turn < SETS; turn++) {
        kg_memory_fill(t, c, &m, turn);
        hash = mixed(hash, (uint64_t)kg_in_process_call(t, c, &m, fn, turn));
        for (int i = 0; i < c->n_outs; i++) hash = hash_of(hash, &c->outs[i], m.outs[i]);
        for (int i = 0; i < c->n_args; i++)
            if (kg_has_memory(&c->args[i])) hash = hash_of(hash, &c->args[i].tensor, m.args[i]);
    }
    kg_memory_free(c, &m);
    return hash | 1;  // 0: not come to
}

// A process of its own: kernels keep static state, mutants write where they should not.
static void all_cases(const kg_task *t, kg_cases *b, kg_adapter fn, uint64_t *hash) {
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        alarm(SECONDS);
        for (size_t i = 0; i < b->n && i < MOST; i++)
            hash[i] = kg_case_is_large(&b->items[i]) || kg_case_largest(&b->items[i]) > LARGEST
                          ? 1
                          : case_hash(t, &b->items[i], fn);
        _exit(0);
    }
    int status;
    waitpid(child, &status, 0);
}

static void compare(int number, const kg_task *t, kg_adapter honest, kg_adapter mutant) {
    kg_cases b;
    const size_t bytes = 2 * MOST * sizeof(uint64_t);
    uint64_t *hash = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (hash == MAP_FAILED || kg_task_cases(t, KG_CASES_FULL, &b, NULL)) {  // full cases begin with the quick ones
        printf("%d not-built\n", number);
        return;
    }
    all_cases(t, &b, honest, hash);
    all_cases(t, &b, mutant, hash + MOST);
    const char *what = "same", *name = "";
    for (size_t i = b.n < MOST ? b.n : MOST; i-- > 0;)
        if (hash[i] && hash[i] != hash[MOST + i]) what = hash[MOST + i] ? "differs" : "stops", name = b.items[i].name;
    printf("%d %s %s\n", number, what, name);
    munmap(hash, bytes);
    kg_cases_free(&b);
}

int main(int argc, char **argv) {
    FILE *f = argc == 2 ? fopen(argv[1], "r") : NULL;
    if (!f) {
        fprintf(stderr, "usage: mutant_differs LIST.jsonl\n");
        return 2;
    }
    // Two folders: a loaded library is known by its path.
    char folders[2][32] = {"/tmp/kg_differs_XXXXXX", "/tmp/kg_differs_XXXXXX"}, *line = NULL;
    if (!mkdtemp(folders[0]) || !mkdtemp(folders[1])) return 3;
    size_t room = 0;
    for (int number = 0; getline(&line, &room, f) > 0; number++) {
        json_t *j = json_loads(line, 0, NULL);
        const kg_task *t = kg_task_find(json_string_value(json_object_get(j, "task")));
        void *handles[2] = {NULL, NULL};
        kg_adapter fn[2] = {NULL, NULL};
        static const char *const keys[2] = {"honest", "code"};
        for (int k = 0; k < 2 && t; k++)
            fn[k] = kg_in_process_build(t, json_string_value(json_object_get(j, keys[k])), folders[k], "-w -fopenmp",
                                        true, &handles[k]);
        if (fn[0] && fn[1]) compare(number, t, fn[0], fn[1]);
        else printf("%d not-built\n", number);
        fflush(stdout);
        for (int k = 0; k < 2; k++)
            if (handles[k]) dlclose(handles[k]);
        json_decref(j);
    }
    free(line);
    fclose(f);
    for (int k = 0; k < 2; k++) rmdir(folders[k]);
    return 0;
}
