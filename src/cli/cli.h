// The command line: one file a command, options by one table.
#ifndef KG_CLI_H
#define KG_CLI_H

#include <stdio.h>

#include "judge/judges.h"
#include "report/report.h"

typedef struct {
    const char *task, *device, *format, *output, *db, *baseline, *python, *case_only, *scope, *require;
    const char *language, *verdict, *labels;
    bool no_db, resume, check_only, profile, full, float64, hot, force, apply, help;
    uint64_t seed;  // 0: fresh
    double timeout;
    long jobs, limit;
    kg_thresholds thresholds;
    uint64_t given;  // by place in the option table: what was on the command line
    char **args;     // what is no option; in argv
    size_t n_args;
} kg_options;

typedef struct {
    const char *name;     // "run"
    const char *usage;    // "[options] CANDIDATE..."
    const char *text;     // what it does, with examples; printed by --help
    const char *options;  // names of the options it knows, separated by blanks
    int (*run)(kg_options *o);
} kg_command;
extern const kg_command kg_run_command, kg_gate_command, kg_task_command, kg_device_command, kg_explain_command,
    kg_results_command, kg_screen_command, kg_fix_command;

// ---- options.c
// 0, or -1 with one line. o->args point into argv.
int kg_options_parse(const kg_command *c, int argc, char **argv, kg_options *o, kg_error *err);
bool kg_option_given(const kg_options *o, const char *name);
void kg_options_help(const kg_command *c, FILE *to);

// ---- output.c
// One line on stderr, "kgate: " before it; returns the exit code of the error and clears it.
int kg_cli_error(kg_error *err);
// "BEFORE NAME: unknown task", with what is near; returns -1.
int kg_cli_unknown_task(const char *before, const char *name, kg_error *err);
void kg_cli_note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
bool kg_cli_noted(const char *progress);  // it was a KG_NOTE, and is written
bool kg_cli_color(FILE *to);
// -o FILE, or stdout. What was in the file stays until the first byte of a result is written, and for good when there
// is none: a command that fails early destroys nothing. What is written is there at once, also after a kill.
typedef struct kg_output kg_output;
int kg_cli_output(const kg_options *o, kg_output **out, kg_error *err);
FILE *kg_output_stream(kg_output *out);
// To be called when nothing came of the command: what is written from here on is dropped, and the file left as it was.
void kg_output_leave(kg_output *out);
int kg_output_close(kg_output *out, kg_error *err);  // frees it
// Refuses a path whose loss would hurt: a candidate, a list, the baseline, the database.
int kg_cli_may_write(const kg_options *o, const char *path, kg_error *err);
// The database that --db, $KGATE_DB or the default names; owned by the caller.
int kg_cli_store(const kg_options *o, bool read_only, kg_database **out, kg_error *err);

// ---- progress.c: a line that is rewritten on a terminal; nothing in a pipe.
void kg_progress(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void kg_progress_clear(void);

// ---- judging.c: what run, gate and explain share.
// Judges every candidate of o->args, adds the records to the report and the store. Returns the exit code. closing: gets
// the lines that are to follow the report on stderr, an array of strings; NULL for a command that is no gate.
int kg_cli_judge(const kg_options *o, const char *command, kg_report *report, json_t *closing, kg_error *err);

#endif
