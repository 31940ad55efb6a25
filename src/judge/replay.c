// One command line that shows a case again, from any folder.
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "judge/trial.h"

// What no shell reads as anything else.
#define PLAIN             "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+,:@%"
#define DEFAULT_TIMEOUT_S 60  // the command line's

static bool is_utf8(const char *s) {
    json_t *j = json_string(s);
    json_decref(j);
    return j != NULL;
}

// As one word of a shell. Bytes that a JSON text or a terminal would not carry are escaped, as bash has it.
static void add_word(kg_text *line, const char *word) {
    if (*word && !word[strspn(word, PLAIN)]) {
        kg_text_add(line, " %s", word);
        return;
    }
    bool control = !is_utf8(word);
    for (const char *p = word; *p; p++) control = control || (unsigned char)*p < ' ' || *p == 0x7f;
    kg_text_add(line, control ? " $'" : " '");
    for (const char *p = word; *p; p++)
        if (control && ((unsigned char)*p < ' ' || (unsigned char)*p >= 0x7f))
            kg_text_add(line, "\\x%02x", (unsigned char)*p);
        else if (control && (*p == '\'' || *p == '\\')) kg_text_add(line, "\\%c", *p);
        else if (*p == '\'') kg_text_add(line, "'\\''");
        else kg_text_add(line, "%c", *p);
    kg_text_add(line, "'");
}

// A link keeps its own name: a virtual environment's interpreter finds its packages by it.
static char *absolute(const char *path) {
    if (*path == '/') return kg_strdup(path);
    char *here = getcwd(NULL, 0);
    while (strncmp(path, "./", 2) == 0) path += 2;
    char *whole = here ? kg_format("%s/%s", here, path) : kg_strdup(path);
    free(here);
    return whole;
}

static bool is_file(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

// The candidate as an argument: its file, or its line of a list. NULL when it came through a pipe or from memory.
static char *argument_of(const kg_candidate *c) {
    if (c->file) return is_file(c->file) ? absolute(c->file) : NULL;
    const char *colon = strrchr(c->path, ':');
    char *list = colon ? kg_format("%.*s", (int)(colon - c->path), c->path) : NULL;
    char *argument = list && strcmp(list, "-") != 0 && is_file(list) ? absolute(c->path) : NULL;
    free(list);
    return argument;
}

static bool shows_language(const char *path) {
    static const char *const endings[] = {".c", ".cu", ".ptx", ".cubin", ".cl", ".py"};
    const char *dot = strrchr(path, '.');
    for (size_t i = 0; dot && i < sizeof endings / sizeof *endings; i++)
        if (strcasecmp(dot, endings[i]) == 0) return true;
    return false;
}

static void add_python(kg_text *line, const kg_trial *t) {
    const char *named = kg_launcher_named_python(t->judge->launcher);
    if (!named || !kg_session_is_python(t->session)) return;
    char *program = strchr(named, '/') ? absolute(named) : kg_strdup(named);
    kg_text_add(line, " --python");
    add_word(line, program);
    free(program);
}

char *kg_trial_replay(const kg_trial *t, const kg_case *c) {
    const kg_judge *j = t->judge;
    char *argument = argument_of(t->cand);
    if (!argument) return NULL;
    kg_text line = {0};
    kg_text_add(&line, "kgate run");
    add_word(&line, argument);
    if (!shows_language(argument)) kg_text_add(&line, " --lang %s", kg_language_name(t->cand->language));
    if (t->session) add_python(&line, t);
    char *label = kg_task_label(t->task);
    kg_text_add(&line, " --task %s --device %s", label, j->info.kind);
    free(label);
    if (j->device->ordinal > 0) kg_text_add(&line, ":%d", j->device->ordinal);
    if (j->o.timeout_s != DEFAULT_TIMEOUT_S) kg_text_add(&line, " --timeout %g", j->o.timeout_s);
    kg_text_add(&line, " --seed %llu --cases %s%s --case", (unsigned long long)t->seed,
                j->o.float64 ? "float64" : "full", c->timed ? "" : " --check-only");
    add_word(&line, c->name);
    free(argument);
    return line.data;
}
