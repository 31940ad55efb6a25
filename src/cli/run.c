// kgate run, kgate gate.
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

#define JUDGING_OPTIONS                                                                                                         \
    "task device format output db no-db seed case cases scope check-only profile timeout jobs baseline lre-min util-min cache " \
    "python lang resume"

static const char run_text[] =
    "Judges each candidate: is it right, is it honest, is it fast. Exits 0 when all were judged,\n"
    "whatever the verdict, and 2 or 3 when one was not: no such file or task, no kernel, no compiler.\n"
    "Those of a folder or a list that no device or Python here can run are skipped and counted.\n"
    "\n"
    "A candidate is a file (.c .cu .ptx .cubin .py), a folder, a list, or - for standard input. Its task\n"
    "comes from --task, else from a comment `kgate: task=NAME` at its head, else from its file name.\n"
    "\n"
    "A list is a .jsonl file, one JSON object a line: {\"task\", \"code\"} with \"language\", \"method\" and\n"
    "\"round\" where there are any, or KernelBench-X's {\"file\", \"predict\"}. LIST.jsonl:17 is its line 17.\n"
    "A Python candidate needs an interpreter with torch, and with what its kernels are written in, Triton\n"
    "or TileLang: see --python.\n"
    "\n"
    "  kgate run softmax.c                             verdict, time, distance from library and limit\n"
    "  kgate run --format jsonl -o out.jsonl kernels/  one JSON record a candidate\n"
    "  kgate run --python ~/venv/bin/python list.jsonl candidates in Python, of a list\n"
    "  kgate run --baseline old.c new.c                against your own last version\n"
    "  kgate run --resume list.jsonl                   go on after an interruption\n"
    "  kgate run --scope f32,contiguous relu.py        meant for these only; the result says so\n"
    "  kgate run --check-only --cases full relu.cu     right on every case? past 2^31 elements too:\n"
    "                                                  minutes on a CPU, without --scope small\n"
    "  kgate run --seed 71 --case 'f32[3,17]' relu.c   one failure again\n";

static const char gate_text[] =
    "Judges as `kgate run` does, and says on standard error whether --require was met: exits 0 when all\n"
    "meet it, 1 when one does not, 3 (or 2, for a wrong name) when one was not judged and so nothing is\n"
    "decided. For CI. One that was not timed is not efficient.\n"
    "\n"
    "  kgate gate kernels/                             all must be efficient\n"
    "  kgate gate --require slow kernels/              all must be right and honest\n"
    "  kgate gate --check-only --require right k.c     the same, without timing\n"
    "  kgate gate --format junit -o gate.xml kernels/  for the CI server\n"
    "  kgate gate --lre-min 1.0 matmul.cu              at least as fast as the library\n";

static int contradiction(const kg_options *o, const char *a, const char *b, const char *why, kg_error *err) {
    if (!kg_option_given(o, a) || !kg_option_given(o, b)) return 0;
    return kg_fail(err, KG_ERR_USAGE, "--%s with --%s: %s: leave one out", a, b, why);
}

static int check(const kg_options *o, const char *command, kg_error *err) {
    static const char *const of_timing[] = {"lre-min", "util-min", "cache", "baseline"};
    if (!o->n_args)
        return kg_fail(err, KG_ERR_USAGE, "no candidate: name a file, a folder, a .jsonl list, or -: `kgate %s --help`",
                       command);
    for (size_t i = 0; i < sizeof of_timing / sizeof *of_timing; i++)
        if (contradiction(o, "check-only", of_timing[i], "what is not timed has no use for it", err)) return -1;
    if (contradiction(o, "no-db", "resume", "an interrupted run is found in the database", err)) return -1;
    if (contradiction(o, "no-db", "db", "one keeps results and the other does not", err)) return -1;
    return !o->task || kg_task_find(o->task) ? 0 : kg_cli_unknown_task("--task ", o->task, err);
}

static void say_all(const json_t *lines) {
    size_t i;
    json_t *line;
    json_array_foreach(lines, i, line) kg_cli_note("%s", json_string_value(line));
}

static int judge(kg_options *o, const char *command) {
    kg_error err = {0};
    kg_output *out = NULL;
    kg_report *report = NULL;
    if (check(o, command, &err) || kg_cli_output(o, &out, &err)) return kg_cli_error(&err);
    FILE *to = kg_output_stream(out);
    if (kg_report_open(o->format, to, kg_cli_color(to), &report, &err)) return kg_cli_error(&err);
    json_t *closing = !strcmp(command, "gate") ? json_array() : NULL;
    int code = kg_cli_judge(o, command, report, closing, &err);
    if (!kg_report_count(report)) kg_output_leave(out);
    kg_report_close(report);
    if (kg_output_close(out, &err)) {
        int failed = kg_cli_error(&err);
        if (failed > code) code = failed;
    }
    say_all(closing);
    json_decref(closing);
    return code;
}

static int run(kg_options *o) { return judge(o, "run"); }
static int gate(kg_options *o) { return judge(o, "gate"); }

const kg_command kg_run_command = {"run", "[options] CANDIDATE...", run_text, JUDGING_OPTIONS, run};
const kg_command kg_gate_command = {"gate", "[options] CANDIDATE...", gate_text, JUDGING_OPTIONS " require", gate};
