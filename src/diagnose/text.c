// A rule's words with what was found put in.
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "diagnose/internal.h"

static bool of_name(char c) { return isalnum((unsigned char)c) || c == '_'; }

// Source as one short line.
static void add_source(kg_text *t, const kg_syntax *s, TSNode node) {
    const uint32_t from = ts_node_start_byte(node), to = ts_node_end_byte(node);
    bool space = false;
    size_t n = 0;
    for (uint32_t i = from; i < to && n < 60; i++) {
        const char c = s->text[i];
        if (isspace((unsigned char)c)) {
            space = n > 0;
            continue;
        }
        if (space) kg_text_add_bytes(t, " ", 1), n++;
        space = false;
        kg_text_add_bytes(t, &c, 1);
        n++;
    }
    if (n >= 60) kg_text_add(t, "...");
}

static const char *add_capture(kg_text *t, const char *at, const kg_captures *c, const kg_syntax *s) {
    size_t n = 0;
    while (of_name(at[1 + n])) n++;
    char *name = kg_format("%.*s", (int)n, at + 1);
    const TSNode *node = c ? kg_captured(c, name) : NULL;
    if (node) add_source(t, s, *node);
    else kg_text_add(t, "$%s", name);
    free(name);
    return at + 1 + n;
}

static const char *add_fact(kg_text *t, const char *at, const kg_facts *facts) {
    const size_t n = strcspn(at + 1, "}");
    char *name = kg_format("%.*s", (int)n, at + 1);
    const double v = kg_facts_get(facts, name);
    if (isnan(v)) kg_text_add(t, "?");
    else kg_text_add(t, fabs(v) >= 1000 && v == floor(v) ? "%.0f" : "%.3g", v);
    free(name);
    return at + 1 + n + (at[1 + n] == '}');
}

char *kg_rule_text(const char *text, const kg_captures *c, const kg_syntax *s, const kg_facts *facts) {
    kg_text t = {0};
    kg_text_add(&t, "%s", "");
    while (*text) {
        if (*text == '$' && of_name(text[1])) text = add_capture(&t, text, c, s);
        else if (*text == '{') text = add_fact(&t, text, facts);
        else kg_text_add_bytes(&t, text++, 1);
    }
    return t.data;
}
