// kgate task list|show|new.
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"

static const char text[] =
    "  kgate task list                      every task: suite, category, what it computes\n"
    "  kgate task show softmax              signature, arguments, prototypes\n"
    "  kgate task new softmax --lang c      writes softmax.c: it compiles, is right, and slow\n"
    "  kgate task new softmax --lang triton -o my.py\n";

static int unknown(const char *name, kg_error *err) {
    char *near = kg_task_suggest(name);
    kg_fail(err, KG_ERR_USAGE, "%s: unknown task: %s", name, near ? near : "`kgate task list` names all");
    free(near);
    return -1;
}

static void list_json(FILE *to) {
    json_t *all = json_array();
    for (size_t i = 0; i < kg_task_count(); i++) {
        const kg_task *t = kg_task_at(i);
        json_array_append_new(
            all, json_pack("{s:s, s:s, s:s?, s:s?, s:s?}", "task", t->name, "suite", t->suite, "category", t->category,
                           "signature", t->signature, "summary", t->summary));
    }
    json_dumpf(all, to, JSON_INDENT(2));
    fputc('\n', to);
    json_decref(all);
}

static int list(const kg_options *o, FILE *to, kg_error *err) {
    if (!strcmp(o->format, "json")) {
        list_json(to);
        return 0;
    }
    if (strcmp(o->format, "table") != 0)
        return kg_fail(err, KG_ERR_USAGE, "--format %s: a list of tasks is table or json", o->format);
    for (size_t i = 0; i < kg_task_count(); i++) {
        const kg_task *t = kg_task_at(i);
        fprintf(to, "%-30s %-6s %-15s %.46s\n", t->name, t->suite, t->category ? t->category : "-",
                t->summary ? t->summary : "");
    }
    return 0;
}

static int show(const char *name, FILE *to, kg_error *err) {
    const kg_task *t = kg_task_find(name);
    if (!t) return unknown(name, err);
    char *described = kg_task_describe(t);
    fputs(described, to);
    free(described);
    return 0;
}

static int write_new(const char *path, const char *source, bool force, kg_error *err) {
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | (force ? O_TRUNC : O_EXCL), 0666);
    if (fd < 0 && errno == EEXIST)
        return kg_fail(err, KG_ERR_USAGE, "%s: is there already: choose another with -o FILE, or --force", path);
    FILE *f = fd < 0 ? NULL : fdopen(fd, "w");
    bool failed = !f || fputs(source, f) < 0;
    if (f && fclose(f)) failed = true;
    return failed ? kg_fail(err, KG_ERR_CANNOT, "%s: cannot be written: %s", path, strerror(errno)) : 0;
}

static const char *extension(const char *language) {
    static const char *const table[][2] = {{"c", "c"},       {"cuda", "cu"},     {"opencl", "cl"},
                                           {"triton", "py"}, {"tilelang", "py"}, {"python", "py"}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (!strcmp(language, table[i][0])) return table[i][1];
    return NULL;
}

static int new (const kg_options *o, const char *name, kg_error *err) {
    const kg_task *t = kg_task_find(name);
    if (!t) return unknown(name, err);
    if (!o->language || !extension(o->language))
        return kg_fail(err, KG_ERR_USAGE, "kgate task new %s: say which language: --lang c|cuda|opencl|triton|tilelang",
                       name);
    char *source = kg_task_skeleton(t, o->language, err);
    if (!source) return -1;
    char *path = o->output ? kg_strdup(o->output) : kg_format("%s.%s", t->name, extension(o->language));
    int result = 0;
    if (!strcmp(path, "-")) fputs(source, stdout);
    else if (!(result = write_new(path, source, o->force, err)))
        kg_cli_note("wrote %s: right and slow; judge it with: kgate run --task %s %s", path, t->name, path);
    free(path);
    free(source);
    return result;
}

static int dispatch(const kg_options *o, kg_error *err) {
    const char *what = o->n_args ? o->args[0] : "list";
    size_t names = o->n_args ? o->n_args - 1 : 0;
    if (!strcmp(what, "new") && names == 1) return new (o, o->args[1], err);
    bool listed = !strcmp(what, "list") && !names, shown = !strcmp(what, "show") && names == 1;
    if (!listed && !shown)
        return kg_fail(err, KG_ERR_USAGE, "kgate task %s: use: list, show NAME, or new NAME --lang LANGUAGE", what);
    FILE *to;
    if (kg_cli_output(o, &to, err)) return -1;
    int result = listed ? list(o, to, err) : show(o->args[1], to, err);
    return kg_cli_output_close(to, err) ? -1 : result;
}

static int task(kg_options *o) {
    kg_error err = {0};
    return dispatch(o, &err) ? kg_cli_error(&err) : 0;
}

const kg_command kg_task_command = {"task", "list | show NAME | new NAME --lang LANGUAGE [-o FILE]", text,
                                    "format output lang force", task};
