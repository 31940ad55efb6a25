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
    "  kgate task show softmax -f json      the same, PyTorch's callable, the cases' names\n"
    "  kgate task new softmax --lang c      writes softmax.c: it compiles, is right, and slow\n"
    "  kgate task new softmax --lang triton -o my.py\n"
    "\n"
    "A kernel in PTX can be judged, but there is none to start from.\n";

static json_t *as_json(const kg_task *t) {
    char *label = kg_task_label(t);
    json_t *o =
        json_pack("{s:s, s:s, s:s?, s:s?, s:s?, s:s?}", "task", label, "suite", t->suite, "category", t->category,
                  "signature", t->signature, "summary", t->summary, "torch_baseline", t->torch_baseline);
    free(label);
    return o;
}

// Names of the correctness cases, as --case takes them, and of the sizes that are timed, as records have them.
static json_t *case_names(const kg_task *t, kg_case_level level) {
    json_t *names = json_array();
    kg_cases cases;
    if (kg_task_cases(t, level, &cases, NULL)) return names;
    for (size_t i = 0; i < cases.n; i++) json_array_append_new(names, json_string(cases.items[i].name));
    kg_cases_free(&cases);
    return names;
}

// Takes v.
static void print_json(json_t *v, FILE *to) {
    json_dumpf(v, to, JSON_INDENT(2));
    fputc('\n', to);
    json_decref(v);
}

// Names stand whole, because they are what is typed; what a task computes gets what is left of the line.
static void print_line(const kg_task *t, FILE *to) {
    enum { WIDTH = 100 };
    char *label = kg_task_label(t),
         *head = kg_format("%-30s %-5s %-14s ", label, t->suite, t->category ? t->category : "-");
    size_t used = kg_columns(head);
    char *summary = kg_shorten_end(t->summary ? t->summary : "", used < WIDTH ? WIDTH - used : 0);
    fprintf(to, "%s%s\n", head, summary);
    free(summary);
    free(head);
    free(label);
}

static int list(FILE *to, bool json) {
    json_t *all = json_array();
    for (size_t i = 0; i < kg_task_count(); i++) {
        if (json) json_array_append_new(all, as_json(kg_task_at(i)));
        else print_line(kg_task_at(i), to);
    }
    if (json) print_json(json_incref(all), to);
    json_decref(all);
    return 0;
}

static int show(const kg_options *o, const char *name, FILE *to, kg_error *err) {
    const kg_task *t = kg_task_find(name);
    if (!t) return kg_cli_unknown_task("", name, err);
    char *described = kg_task_describe(t);
    if (!strcmp(o->format, "json")) {
        json_t *v = as_json(t);
        json_object_set_new(v, "description", json_string(described));
        json_object_set_new(v, "cases",
                            json_pack("{s:o, s:o, s:o}", "quick", case_names(t, KG_CASES_QUICK), "full",
                                      case_names(t, KG_CASES_FULL), "float64", case_names(t, KG_CASES_FLOAT64)));
        json_object_set_new(
            v, "timed",
            json_pack("{s:o, s:o}", "cpu", case_names(t, KG_TIMED_CPU), "cuda", case_names(t, KG_TIMED_CUDA)));
        print_json(v, to);
    } else fputs(described, to);
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
    static const char *const table[][2] = {
        {"c", "c"}, {"cuda", "cu"}, {"triton", "py"}, {"tilelang", "py"}, {"python", "py"}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (!strcmp(language, table[i][0])) return table[i][1];
    return NULL;
}

// gap22/relu is written to gap22_relu.c.
static char *file_name(const char *label, const char *ending) {
    char *path = kg_format("%s.%s", label, ending);
    for (char *p = path; *p; p++)
        if (*p == '/') *p = '_';
    return path;
}

static int new (const kg_options *o, const char *name, kg_error *err) {
    const kg_task *t = kg_task_find(name);
    if (!t) return kg_cli_unknown_task("", name, err);
    if (kg_option_given(o, "format"))
        return kg_fail(err, KG_ERR_USAGE, "--format %s: a new kernel is source: leave it out", o->format);
    if (!o->language)
        return kg_fail(err, KG_ERR_USAGE, "task new %s: say which language: --lang c, cuda, triton, tilelang or python",
                       name);
    if (o->output && kg_task_skeleton_check_path(o->language, o->output, err)) return -1;
    char *source = kg_task_skeleton(t, o->language, err);
    if (!source) return -1;
    char *label = kg_task_label(t);
    char *path = o->output ? kg_strdup(o->output) : file_name(label, extension(o->language));
    kg_options only_database = {.db = o->db};
    int result = 0;
    if (!strcmp(path, "-")) fputs(source, stdout);
    else if (kg_cli_may_write(&only_database, path, err)) result = -1;
    else if (!(result = write_new(path, source, o->force, err)))
        kg_cli_note("wrote %s: right and slow; judge it with: kgate run --task %s %s", path, label, path);
    free(label);
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
        return kg_fail(err, KG_ERR_USAGE,
                       "task %s: use: list, show NAME, or new NAME --lang c|cuda|triton|tilelang|python", what);
    kg_options without_args = *o;  // names of tasks, not files
    without_args.n_args = 0;
    kg_output *out;
    if (kg_cli_output(&without_args, &out, err)) return -1;
    FILE *to = kg_output_stream(out);
    int result = listed ? list(to, !strcmp(o->format, "json")) : show(o, o->args[1], to, err);
    if (result) kg_output_leave(out);
    return kg_output_close(out, result ? NULL : err) ? -1 : result;
}

static int task(kg_options *o) {
    kg_error err = {0};
    return dispatch(o, &err) ? kg_cli_error(&err) : 0;
}

const kg_command kg_task_command = {"task",
                                    "[list] | show NAME | new NAME --lang c|cuda|triton|tilelang|python [-o FILE]",
                                    text, "listing output skeleton force", task};
