// kgate COMMAND ...: finds the command.
#include <kgate/kgate.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"

static const kg_command *const commands[] = {&kg_run_command,    &kg_gate_command,    &kg_task_command,
                                             &kg_device_command, &kg_explain_command, &kg_results_command,
                                             &kg_screen_command, &kg_fix_command,     NULL};

static const char help[] =
    "kgate judges compute kernels: is it right, is it as fast as it should be, and if not, why.\n"
    "\n"
    "usage: kgate COMMAND [options] ...\n"
    "\n"
    "  run      judge candidates\n"
    "  gate     the same for CI: exits 1 when one is not good enough\n"
    "  task     list the tasks, show one, or start a kernel for one\n"
    "  device   devices here, their measured ceilings, what the sandbox can do\n"
    "  explain  one result in words: the numbers, the screens and what they mean\n"
    "  results  what the database holds: list, show, diff\n"
    "  fix      repairs of slow kernels, judged before they are offered, as a patch\n"
    "  screen   calibrate the screens' thresholds on kernels whose state is known\n"
    "\n"
    "  kgate task new softmax --lang c     write softmax.c, right and slow, to start from\n"
    "  kgate run softmax.c                 judge it; the task is the file's name\n"
    "  kgate run --task softmax my.cu      or said here, or in a comment: // kgate: task=softmax\n"
    "  kgate gate kernels/                 every kernel of a folder, for CI\n"
    "\n"
    "`kgate COMMAND --help` or `kgate help COMMAND` says more; `kgate --version` names this build.\n"
    "Exit codes: 0 done, 1 gate not met, 2 wrong usage, 3 could not judge.\n";

static int no_such_command(const char *word) {
    char *safe = *word ? kg_safe(word) : kg_strdup("''");
    if (word[0] != '-' && !access(word, F_OK))
        fprintf(stderr, "kgate: %s is a file, not a command: kgate run %s\n", safe, safe);
    else
        fprintf(stderr, "kgate: %s: no such command: use run, gate, task, device, explain, results, fix or screen\n",
                safe);
    free(safe);
    return 2;
}

static int help_on(const char *word) {
    for (size_t i = 0; commands[i]; i++) {
        if (strcmp(word, commands[i]->name) != 0) continue;
        kg_options_help(commands[i], stdout);
        return 0;
    }
    return no_such_command(word);
}

int main(int argc, char **argv) {
    const char *word = argc > 1 ? argv[1] : "";
    if (argc < 2) {
        fputs(help, stderr);
        return 2;
    }
    if (!strcmp(word, "help") && argc > 2) return help_on(argv[2]);
    if (!strcmp(word, "--help") || !strcmp(word, "-h") || !strcmp(word, "help")) return fputs(help, stdout) < 0;
    if (!strcmp(word, "--version") || !strcmp(word, "-V")) return puts("kgate " KGATE_VERSION) < 0;
    for (size_t i = 0; commands[i]; i++) {
        if (strcmp(word, commands[i]->name) != 0) continue;
        kg_options o;
        kg_error err = {0};
        if (kg_options_parse(commands[i], argc - 1, argv + 1, &o, &err)) return kg_cli_error(&err);
        if (o.help) {
            kg_options_help(commands[i], stdout);
            return 0;
        }
        return commands[i]->run(&o);
    }
    return no_such_command(word);
}
