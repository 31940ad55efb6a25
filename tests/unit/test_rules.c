// Every rule of src/diagnose has a kernel that triggers it and one that nearly does, in tests/rules/RULE/:
// trigger.EXT and near_miss.EXT, where EXT says the language; in more than one, if need be. Facts that the rule asks
// for are in facts.json, of both; trigger.json and near_miss.json hold those in which the two differ. Machine code:
// trigger.ptx, near_miss.ptx. Where the time goes: trigger.profile, near_miss.profile, a line "LINE SAMPLES" each.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
//
#include <cmocka.h>

#include "diagnose/internal.h"

static char *in_folder(const char *rule, const char *file) {
    return kg_format("%s/tests/rules/%s/%s", KG_SOURCE_DIR, rule, file);
}

// The facts' names are the object's, which the caller frees when they are no longer used; NULL: no such file.
static json_t *add_facts(kg_facts *f, const char *rule, const char *file) {
    char *path = in_folder(rule, file);
    json_t *o = access(path, R_OK) ? NULL : json_load_file(path, 0, NULL), *v;
    const char *name;
    if (!access(path, R_OK)) assert_non_null(o);
    json_object_foreach(o, name, v) kg_facts_set(f, name, json_number_value(v));
    free(path);
    return o;
}

// NULL: no such file.
static kg_profile *profile_of(const char *rule, const char *name) {
    char *file = kg_format("%s.profile", name), *path = in_folder(rule, file);
    FILE *f = fopen(path, "r");
    kg_profile *p = f ? kg_alloc(sizeof *p + 1000 * sizeof *p->samples) : NULL;
    unsigned line, samples;
    while (f && fscanf(f, "%u %u", &line, &samples) == 2)
        for (; samples && p->n < 1000; samples--) p->samples[p->n++] = (kg_sample){1, 1, {{line, line}}};
    if (f) fclose(f);
    free(path);
    free(file);
    return p;
}

typedef struct {
    const char *ext;
    kg_language language;
} language;
// Last: of no source, facts alone.
static const language languages[] = {{"triton.py", KG_LANG_TRITON},
                                     {"tilelang.py", KG_LANG_TILELANG},
                                     {"python.py", KG_LANG_PYTHON},
                                     {"cu", KG_LANG_CUDA},
                                     {"c", KG_LANG_C},
                                     {NULL, KG_LANG_UNKNOWN}};
#define LANGUAGES (sizeof languages / sizeof *languages)

static bool has_source(const kg_rule *r, const char *name, const language *l) {
    char *leaf = kg_format("%s.%s", name, l->ext), *path = in_folder(r->id, leaf);
    const bool there = access(path, R_OK) == 0;
    free(leaf);
    free(path);
    return there;
}

// What the rule says of this kernel; NULL when it is silent. *there: any file of the name was found.
static char *say(kg_diagnoser *d, const kg_rule *r, const char *name, const language *l, bool *there) {
    kg_subject s = {.language = l->language, .source = "", .only = r->id};
    kg_facts facts = {0};
    char *text = NULL, *said = NULL, *file = kg_format("%s.json", name);
    json_t *shared = add_facts(&facts, r->id, "facts.json"), *own = add_facts(&facts, r->id, file);
    char *json = in_folder(r->id, file);
    *there = !access(json, R_OK);
    if (l->ext && has_source(r, name, l)) {
        char *source = kg_format("%s.%s", name, l->ext), *at = in_folder(r->id, source);
        assert_int_equal(kg_read_file(at, 1 << 20, &text, &s.len, NULL), 0);
        s.source = text;
        *there = true;
        free(source);
        free(at);
    }
    char *ptx = NULL, *leaf = kg_format("%s.ptx", name), *path = in_folder(r->id, leaf);
    size_t n = 0;
    if (!access(path, R_OK)) {
        assert_int_equal(kg_read_file(path, 1 << 20, &ptx, &n, NULL), 0);
        kg_facts_from_ptx(&facts, ptx, n);
        *there = true;
    }
    s.facts = &facts;
    kg_profile *profile = profile_of(r->id, name);
    s.profile = profile;
    bool explained;
    json_t *found = kg_diagnose(d, &s, &explained), *f = json_array_get(found, 0);
    kg_profile_free(profile);
    if (f)
        said = kg_format("line %d: %s [%s] -> %s", (int)json_integer_value(json_object_get(f, "line")),
                         json_string_value(json_object_get(f, "message")),
                         json_string_value(json_object_get(f, "evidence")),
                         json_string_value(json_object_get(f, "change")));
    json_decref(found);
    kg_facts_free(&facts);
    json_decref(shared);
    json_decref(own);
    free(text);
    free(ptx);
    free(leaf);
    free(path);
    free(json);
    free(file);
    return said;
}

// Why the rule's kernels in this language are not what they should be; NULL: they are. What it said is printed.
static const char *fault(kg_diagnoser *d, const kg_rule *r, const language *l) {
    bool has_trigger, has_miss;
    char *trigger = say(d, r, "trigger", l, &has_trigger), *miss = say(d, r, "near_miss", l, &has_miss);
    const char *why = !has_trigger ? "no trigger"
                      : !has_miss  ? "no near miss"
                      : !trigger   ? "silent on its trigger"
                      : miss       ? "speaks on its near miss"
                                   : NULL;
    // A text that names what no query captured, or a fact that nobody knows.
    if (!why && strpbrk(trigger, "$")) why = "names a capture that is not there";
    if (!why && strstr(trigger, "?")) why = "names a fact that is not known";
    if (why) printf("%s: %s: %s\n", r->id, why, miss ? miss : trigger ? trigger : "");
    else if (getenv("SHOW")) printf("%s: %s\n", r->id, trigger);
    free(trigger);
    free(miss);
    return why;
}

static void each_has_its_kernels(void **state) {
    (void)state;
    kg_diagnoser *d = kg_diagnoser_open();
    size_t bad = 0, n = 0;
    for (size_t t = 0; kg_rule_tables(t); t++) {
        for (size_t i = 0; i < kg_rule_tables(t)->n; i++, n++) {
            const kg_rule *r = &kg_rule_tables(t)->rules[i];
            size_t asked = 0;
            for (const language *l = languages; l < languages + LANGUAGES; l++) {
                if (l->ext ? !has_source(r, "trigger", l) : asked > 0) continue;
                bad += fault(d, r, l) != NULL;
                asked++;
            }
        }
    }
    kg_diagnoser_close(d);
    printf("%zu rules\n", n);
    assert_int_equal(bad, 0);
}

static void queries_compile_and_names_are_their_own(void **state) {
    (void)state;
    for (size_t t = 0; kg_rule_tables(t); t++) {
        for (size_t i = 0; i < kg_rule_tables(t)->n; i++) {
            const kg_rule *r = &kg_rule_tables(t)->rules[i];
            for (int l = KG_LANG_UNKNOWN; l <= KG_LANG_PYTHON; l++) {
                kg_error err = {0};
                kg_rule_queries q;
                const kg_grammar g = kg_grammar_of((kg_language)l);
                if (!(r->languages & KG_IN(l)) || g == KG_GRAMMAR_NONE || !r->path[0]) continue;
                if (kg_rule_compile(r, g, &q, &err)) fail_msg("%s: %s", r->id, err.text);
                kg_rule_queries_free(&q);
            }
            assert_non_null(r->message);
            assert_non_null(r->change);
            assert_true(r->path[0] || r->when[0].fact);
            for (size_t u = 0; kg_rule_tables(u); u++)
                for (size_t k = 0; k < kg_rule_tables(u)->n; k++)
                    if (&kg_rule_tables(u)->rules[k] != r)
                        assert_string_not_equal(kg_rule_tables(u)->rules[k].id, r->id);
        }
    }
}

// docs/findings.md lists every rule as it is here: "- `id`: cause; where; condition, condition. Change."
static char *entry_of(const kg_rule *r) {
    static const char *const causes[] = {
        [KG_CAUSE_AUTHORING] = "authoring", [KG_CAUSE_TUNING] = "tuning", [KG_CAUSE_HAZARD] = "hazard"};
    kg_text t = {0};
    kg_text_add(&t, "- `%s`: %s;", r->id, causes[r->cause]);
    for (size_t i = 0; i < sizeof languages / sizeof *languages; i++)
        if (r->languages & KG_IN(languages[i].language))
            kg_text_add(&t, " %s", kg_language_name(languages[i].language));
    if (!r->languages) kg_text_add(&t, " any");
    kg_text_add(&t, r->when[0].fact ? ";" : "");
    for (size_t i = 0; i < KG_WHEN && r->when[i].fact; i++)
        kg_text_add(&t, "%s %s %c %g", i ? "," : "", r->when[i].fact, r->when[i].is, r->when[i].value);
    kg_text_add(&t, ". %s.", r->change);
    return t.data;
}

// Runs of space as one: the document's lines are wrapped.
static void unwrap(char *s) {
    char *to = s;
    for (char *from = s; *from; from++)
        if (!(*from == ' ' || *from == '\n')) *to++ = *from;
        else if (to == s || to[-1] != ' ') *to++ = ' ';
    *to = 0;
}

static void the_document_lists_them(void **state) {
    (void)state;
    char *text;
    size_t len, rules = 0, listed = 0, missing = 0;
    assert_int_equal(kg_read_file(KG_SOURCE_DIR "/docs/findings.md", 1 << 20, &text, &len, NULL), 0);
    for (const char *at = text; (at = strstr(at, "\n- `")); at++) listed++;
    unwrap(text);
    for (size_t t = 0; kg_rule_tables(t); t++) {
        for (size_t i = 0; i < kg_rule_tables(t)->n; i++, rules++) {
            char *entry = entry_of(&kg_rule_tables(t)->rules[i]);
            if (!strstr(text, entry)) printf("docs/findings.md lacks: %s\n", entry), missing++;
            free(entry);
        }
    }
    free(text);
    assert_int_equal(missing, 0);
    assert_int_equal(listed, rules);
}

// Bytes that are no program: no findings, and no end of the judge.
static void any_bytes_are_read(void **state) {
    (void)state;
    kg_diagnoser *d = kg_diagnoser_open();
    kg_facts facts = {0};
    kg_facts_set(&facts, "slow", 1);
    uint64_t x = 88172645463325252u;
    for (int n = 0; n < 12; n++) {
        char bytes[512];
        for (size_t i = 0; i < sizeof bytes; i++) {
            x ^= x << 13, x ^= x >> 7, x ^= x << 17;
            bytes[i] = n & 1 ? (char)x : "()[]{}:,.=+*@\n \tdefforinifxy0\"'"[x % 32];
        }
        for (int l = KG_LANG_C; l <= KG_LANG_PYTHON; l++) {
            kg_subject s = {.language = (kg_language)l, .source = bytes, .len = sizeof bytes, .facts = &facts};
            bool explained;
            json_decref(kg_diagnose(d, &s, &explained));
        }
        kg_facts f = {0};
        kg_facts_from_ptx(&f, bytes, sizeof bytes);
        kg_facts_from_cubin(&f, bytes, sizeof bytes);
        kg_facts_free(&f);
    }
    kg_facts_free(&facts);
    kg_diagnoser_close(d);
}

// Nested deeper than any program: a cursor of queries looks at all that lies above it, which would take minutes.
static void depth_costs_findings_and_no_time(void **state) {
    (void)state;
    enum { DEPTH = 20000 };
    char *deep = kg_alloc(DEPTH + 1);
    memset(deep, '(', DEPTH);
    kg_diagnoser *d = kg_diagnoser_open();
    kg_facts facts = {0};
    kg_facts_set(&facts, "slow", 1);
    for (int l = KG_LANG_CUDA; l <= KG_LANG_TRITON; l += KG_LANG_TRITON - KG_LANG_CUDA) {
        kg_subject s = {.language = (kg_language)l, .source = deep, .len = DEPTH, .facts = &facts};
        bool explained;
        json_t *found = kg_diagnose(d, &s, &explained);
        assert_int_equal(json_array_size(found), 0);
        json_decref(found);
    }
    kg_facts_free(&facts);
    kg_diagnoser_close(d);
    free(deep);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(queries_compile_and_names_are_their_own),
        cmocka_unit_test(each_has_its_kernels),
        cmocka_unit_test(the_document_lists_them),
        cmocka_unit_test(any_bytes_are_read),
        cmocka_unit_test(depth_costs_findings_and_no_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
