// Where in a source an edit is made.
#include <stdlib.h>
#include <string.h>

#include "diagnose/repair.h"

char *kg_node_text(const kg_syntax *s, TSNode n) {
    if (ts_node_is_null(n)) return kg_strdup("");
    const uint32_t from = ts_node_start_byte(n), to = ts_node_end_byte(n);
    return kg_format("%.*s", (int)(to - from), s->text + from);
}

bool kg_node_is(TSNode n, const char *type) { return !ts_node_is_null(n) && strcmp(ts_node_type(n), type) == 0; }

bool kg_node_says(const kg_syntax *s, TSNode n, const char *text) {
    if (ts_node_is_null(n)) return false;
    const uint32_t from = ts_node_start_byte(n), to = ts_node_end_byte(n);
    return strlen(text) == to - from && memcmp(s->text + from, text, to - from) == 0;
}

bool kg_same_text(const kg_syntax *s, TSNode a, TSNode b) {
    char *text = kg_node_text(s, b);
    const bool same = kg_node_says(s, a, text);
    free(text);
    return same;
}

TSNode kg_field_of(TSNode n, const char *field) {
    if (ts_node_is_null(n)) return n;
    return ts_node_child_by_field_name(n, field, (uint32_t)strlen(field));
}

TSNode kg_child(TSNode n, uint32_t k) { return ts_node_is_null(n) ? n : ts_node_named_child(n, k); }

uint32_t kg_children(TSNode n) { return ts_node_is_null(n) ? 0 : ts_node_named_child_count(n); }

TSNode kg_bare(TSNode n) {
    while (kg_node_is(n, "parenthesized_expression")) n = kg_child(n, 0);
    return n;
}

uint32_t kg_statements(TSNode block) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < kg_children(block); i++) n += !kg_node_is(kg_child(block, i), "comment");
    return n;
}

TSNode kg_statement(TSNode block, uint32_t k) {
    for (uint32_t i = 0, seen = 0; i < kg_children(block); i++) {
        const TSNode n = kg_child(block, i);
        seen += !kg_node_is(n, "comment");
        if (seen > k) return n;
    }
    return (TSNode){0};
}

bool kg_node_before(TSNode a, TSNode b) { return ts_node_start_byte(a) < ts_node_start_byte(b); }

// What holds definitions, of which each is parsed by itself.
static bool is_list(TSNode n) {
    return kg_node_is(n, "translation_unit") || kg_node_is(n, "declaration_list") ||
           kg_node_is(n, "linkage_specification") || kg_node_is(n, "namespace_definition");
}

static bool is_broken(TSNode n) { return !ts_node_is_null(n) && (ts_node_is_error(n) || ts_node_is_missing(n)); }

// A definition with errors says the name: whatever stands there.
static bool named_in_errors(const kg_syntax *s, TSNode list, const char *name) {
    for (uint32_t i = 0; i < ts_node_child_count(list); i++) {
        const TSNode n = ts_node_child(list, i);
        if (!ts_node_has_error(n)) continue;
        char *text = is_list(n) ? NULL : kg_node_text(s, n);
        const bool named = text ? strstr(text, name) != NULL : named_in_errors(s, n, name);
        free(text);
        if (named) return true;
    }
    return false;
}

bool kg_parsed_around(const kg_syntax *s, TSNode definition, const char *name) {
    if (ts_node_has_error(definition)) return false;
    for (TSNode n = definition; !ts_node_is_null(n); n = ts_node_parent(n)) {
        if (is_broken(n) || (ts_node_has_error(n) && !is_list(n))) return false;
        if (is_broken(ts_node_prev_sibling(n)) || is_broken(ts_node_next_sibling(n))) return false;
    }
    return !named_in_errors(s, ts_tree_root_node(s->tree), name);
}

TSNode kg_function_around(TSNode n) {
    while (!ts_node_is_null(n) && !kg_node_is(n, "function_definition")) n = ts_node_parent(n);
    return n;
}

size_t kg_line_start(const kg_syntax *s, TSNode n) {
    size_t at = ts_node_start_byte(n);
    while (at > 0 && s->text[at - 1] != '\n') at--;
    return at;
}

char *kg_indent_of(const kg_syntax *s, TSNode n) {
    const size_t from = kg_line_start(s, n);
    size_t to = from;
    while (s->text[to] == ' ' || s->text[to] == '\t') to++;
    return kg_format("%.*s", (int)(to - from), s->text + from);
}

typedef struct {
    kg_captures *out;
    size_t n, most;
} collection;

static bool collect(void *ctx, kg_captures *c) {
    collection *x = ctx;
    x->out[x->n++] = *c;
    return x->n < x->most;
}

// The captures' names are the query's, which may be gone afterwards: they are kept as the literals that ask for them.
static void keep_names(kg_captures *c) {
    static const char *const known[] = {"at", "a", "b", "c", "d", "e", "f", "g"};
    for (size_t i = 0; i < c->n; i++) {
        const char *name = "";
        for (size_t k = 0; k < sizeof known / sizeof *known; k++)
            if (strlen(known[k]) == c->items[i].len && !memcmp(known[k], c->items[i].name, c->items[i].len))
                name = known[k];
        c->items[i].name = name;
    }
}

static void each_match(const kg_syntax *s, TSNode in, const char *query, kg_match_fn *each, void *ctx) {
    kg_captures c = {.n = 0};
    const double start = kg_now();
    const kg_query *q = kg_queries_get(s->queries, s->grammar, query);
    kg_syntax_allow(s, kg_now() - start);
    if (q) kg_query_each(q, s, in, &c, each, ctx);
}

size_t kg_matches(const kg_syntax *s, TSNode in, const char *query, kg_captures *out, size_t most) {
    collection x = {out, 0, most};
    each_match(s, in, query, collect, &x);
    for (size_t i = 0; i < x.n; i++) keep_names(&out[i]);
    return x.n;
}

TSNode kg_first(const kg_syntax *s, TSNode in, const char *query) {
    kg_captures c;
    const TSNode *at = kg_matches(s, in, query, &c, 1) ? kg_captured(&c, "at") : NULL;
    return at ? *at : (TSNode){0};
}

typedef struct {
    const kg_syntax *s;
    const char *at, *b;
    bool found;
} wanted;

static bool stop_at_wanted(void *ctx, kg_captures *c) {
    wanted *x = ctx;
    x->found =
        kg_node_says(x->s, *kg_captured(c, "at"), x->at) && (!x->b || kg_node_says(x->s, *kg_captured(c, "b"), x->b));
    return !x->found;
}

bool kg_stands(const kg_syntax *s, TSNode in, const char *query, const char *at, const char *b) {
    wanted x = {s, at, b, false};
    each_match(s, in, query, stop_at_wanted, &x);
    return x.found;
}

size_t kg_assigned(const kg_syntax *s, TSNode in, const char *name, kg_captures *out, size_t most) {
    char *query = kg_format("((assignment left: (identifier) @a right: (_) @at) (#eq? @a \"%s\"))", name);
    const size_t n = kg_matches(s, in, query, out, most);
    free(query);
    return n;
}

size_t kg_uses(const kg_syntax *s, TSNode in, const char *name) {
    if (ts_node_is_null(in)) return 0;
    TSTreeCursor c = ts_tree_cursor_new(in);
    size_t n = 0;
    for (bool on = true; on;) {
        const TSNode at = ts_tree_cursor_current_node(&c);
        n += kg_node_is(at, "identifier") && kg_node_says(s, at, name);
        if (ts_tree_cursor_goto_first_child(&c)) continue;
        while (!ts_tree_cursor_goto_next_sibling(&c) && (on = ts_tree_cursor_goto_parent(&c))) {}
    }
    ts_tree_cursor_delete(&c);
    return n;
}

TSNode kg_keyword(const kg_syntax *s, TSNode arguments, const char *name) {
    for (uint32_t i = 0; i < kg_children(arguments); i++) {
        const TSNode a = kg_child(arguments, i);
        if (kg_node_is(a, "keyword_argument") && kg_node_says(s, kg_field_of(a, "name"), name))
            return kg_field_of(a, "value");
    }
    return (TSNode){0};
}

char *kg_new_name(const kg_syntax *s, kg_text *taken, const char *name) {
    for (int i = 1;; i++) {
        char *made = i == 1 ? kg_strdup(name) : kg_format("%s%d", name, i), *among = kg_format(" %s ", made);
        const bool used = kg_uses(s, ts_tree_root_node(s->tree), made) || (taken->data && strstr(taken->data, among));
        if (!used) kg_text_add(taken, "%s", among);
        free(among);
        if (!used) return made;
        free(made);
    }
}
