// tree-sitter's queries with the predicates that it leaves to whoever runs them.
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "diagnose/internal.h"

#define MATCH_LIMIT 4096  // states a hostile source may make a query hold
#define EACH_LIMIT  20000
// A page of source takes milliseconds. Whoever writes one that takes longer gets no findings.
#define PATIENCE_S 2.0
#define DEEPEST    1000  // levels of a tree: a query's cursor looks at all that lie above it

typedef enum { EQ, MATCH, ANY_OF } predicate_kind;

typedef struct {
    predicate_kind kind;
    bool negated;
    uint32_t pattern;
    uint32_t capture;
    uint32_t n;            // operands after the capture
    const char **strings;  // of the query; NULL: a capture
    uint32_t *captures;
    regex_t regex;
} predicate;

struct kg_query {
    TSQuery *q;
    predicate *predicates;
    size_t n;
};

extern const TSLanguage *tree_sitter_python(void);
extern const TSLanguage *tree_sitter_cuda(void);

static const TSLanguage *language_of(kg_grammar g) {
    return g == KG_GRAMMAR_PYTHON ? tree_sitter_python() : tree_sitter_cuda();
}

kg_grammar kg_grammar_of(kg_language l) {
    switch (l) {
    case KG_LANG_TRITON:
    case KG_LANG_TILELANG:
    case KG_LANG_PYTHON: return KG_GRAMMAR_PYTHON;
    case KG_LANG_C:
    case KG_LANG_CUDA: return KG_GRAMMAR_CUDA;
    default: return KG_GRAMMAR_NONE;
    }
}

void kg_syntax_free(kg_syntax *s) {
    if (s->tree) ts_tree_delete(s->tree);
    s->tree = NULL;
    free(s->deadline);
    s->deadline = NULL;
}

bool kg_syntax_expired(const kg_syntax *s) { return s->deadline && kg_now() >= *s->deadline; }

void kg_syntax_allow(const kg_syntax *s, double seconds) {
    if (s->deadline) *s->deadline += seconds;
}

static bool too_deep(const kg_syntax *s) {
    TSTreeCursor c = ts_tree_cursor_new(ts_tree_root_node(s->tree));
    int depth = 0, deepest = 0;
    for (bool on = true; on && deepest <= DEEPEST && !kg_syntax_expired(s);) {
        if (ts_tree_cursor_goto_first_child(&c)) {
            if (++depth > deepest) deepest = depth;
            continue;
        }
        while (!ts_tree_cursor_goto_next_sibling(&c) && (on = ts_tree_cursor_goto_parent(&c))) depth--;
    }
    ts_tree_cursor_delete(&c);
    return deepest > DEEPEST || kg_syntax_expired(s);
}

bool kg_syntax_parse(kg_language l, const char *text, size_t len, kg_syntax *out) {
    *out = (kg_syntax){.grammar = kg_grammar_of(l), .text = text, .len = len};
    if (out->grammar == KG_GRAMMAR_NONE || len > (4u << 20)) return false;
    TSParser *p = ts_parser_new();
    ts_parser_set_language(p, language_of(out->grammar));
    out->deadline = kg_alloc(sizeof *out->deadline);
    *out->deadline = kg_now() + PATIENCE_S;
    ts_parser_set_timeout_micros(p, (uint64_t)(PATIENCE_S * 1e6));
    out->tree = ts_parser_parse_string(p, NULL, text, (uint32_t)len);
    ts_parser_delete(p);
    if (!out->tree || too_deep(out)) kg_syntax_free(out);
    return out->tree != NULL;
}

// ---- predicates -----------------------------------------------------------------------------------------------------

static bool parse_kind(const char *name, predicate *p) {
    p->negated = strncmp(name, "not-", 4) == 0;
    if (p->negated) name += 4;
    p->kind = strcmp(name, "eq?") == 0 ? EQ : strcmp(name, "match?") == 0 ? MATCH : ANY_OF;
    return p->kind != ANY_OF || strcmp(name, "any-of?") == 0;
}

// steps: (#name? @capture operand...), n of them.
static int parse_predicate(kg_query *q, uint32_t pattern, const TSQueryPredicateStep *steps, uint32_t n,
                           kg_error *err) {
    uint32_t len;
    predicate p = {.pattern = pattern};
    const char *name = ts_query_string_value_for_id(q->q, steps[0].value_id, &len);
    if (n < 3 || !parse_kind(name, &p) || steps[1].type != TSQueryPredicateStepTypeCapture)
        return kg_fail(err, KG_ERR_INTERNAL, "#%s: an unknown predicate, or not (#name? @capture operand...)", name);
    p.capture = steps[1].value_id;
    p.n = n - 2;
    p.strings = kg_alloc(p.n * sizeof *p.strings);
    p.captures = kg_alloc(p.n * sizeof *p.captures);
    for (uint32_t i = 0; i < p.n; i++) {
        p.captures[i] = steps[i + 2].value_id;
        if (steps[i + 2].type == TSQueryPredicateStepTypeString)
            p.strings[i] = ts_query_string_value_for_id(q->q, steps[i + 2].value_id, &len);
    }
    if (p.kind == MATCH && (!p.strings[0] || regcomp(&p.regex, p.strings[0], REG_EXTENDED | REG_NOSUB))) {
        free(p.strings);
        free(p.captures);
        return kg_fail(err, KG_ERR_INTERNAL, "#%s: no regular expression", name);
    }
    q->predicates = kg_realloc(q->predicates, (q->n + 1) * sizeof *q->predicates);
    q->predicates[q->n++] = p;
    return 0;
}

static int parse_predicates(kg_query *q, kg_error *err) {
    for (uint32_t pattern = 0; pattern < ts_query_pattern_count(q->q); pattern++) {
        uint32_t n, first = 0;
        const TSQueryPredicateStep *steps = ts_query_predicates_for_pattern(q->q, pattern, &n);
        for (uint32_t i = 0; i < n; i++) {
            if (steps[i].type != TSQueryPredicateStepTypeDone) continue;
            if (parse_predicate(q, pattern, steps + first, i - first, err)) return -1;
            first = i + 1;
        }
    }
    return 0;
}

kg_query *kg_query_compile(kg_grammar g, const char *text, kg_error *err) {
    uint32_t offset = 0;
    TSQueryError why = TSQueryErrorNone;
    kg_query *q = kg_alloc(sizeof *q);
    q->q = ts_query_new(language_of(g), text, (uint32_t)strlen(text), &offset, &why);
    if (!q->q) kg_fail(err, KG_ERR_INTERNAL, "a query fails (%d) at '%.40s'", (int)why, text + offset);
    if (q->q && parse_predicates(q, err) == 0) return q;
    kg_query_free(q);
    return NULL;
}

void kg_query_free(kg_query *q) {
    if (!q) return;
    for (size_t i = 0; i < q->n; i++) {
        if (q->predicates[i].kind == MATCH) regfree(&q->predicates[i].regex);
        free(q->predicates[i].strings);
        free(q->predicates[i].captures);
    }
    free(q->predicates);
    if (q->q) ts_query_delete(q->q);
    free(q);
}

typedef struct {
    const char *at;
    size_t len;
} slice;

static slice text_of(const kg_syntax *s, TSNode n) {
    const uint32_t from = ts_node_start_byte(n), to = ts_node_end_byte(n);
    return (slice){s->text + from, to - from};
}

static const TSNode *in_match(const TSQueryMatch *m, uint32_t capture) {
    for (uint16_t i = 0; i < m->capture_count; i++)
        if (m->captures[i].index == capture) return &m->captures[i].node;
    return NULL;
}

// An operand's text. "$name": what an earlier step captured. false: nothing has that name.
static bool operand(const predicate *p, uint32_t i, const kg_syntax *s, const TSQueryMatch *m, const kg_captures *c,
                    slice *out) {
    const char *string = p->strings[i];
    const TSNode *node = !string ? in_match(m, p->captures[i]) : string[0] == '$' ? kg_captured(c, string + 1) : NULL;
    if (node) *out = text_of(s, *node);
    else if (string && string[0] != '$') *out = (slice){string, strlen(string)};
    return node || (string && string[0] != '$');
}

static bool says(const predicate *p, const kg_syntax *s, const TSQueryMatch *m, const kg_captures *c, TSNode node) {
    slice text = text_of(s, node), other;
    if (p->kind == MATCH) {
        char *copy = kg_format("%.*s", (int)(text.len < 4096 ? text.len : 4096), text.at);
        bool found = regexec(&p->regex, copy, 0, NULL, 0) == 0;
        free(copy);
        return found;
    }
    for (uint32_t i = 0; i < p->n; i++)
        if (operand(p, i, s, m, c, &other) && other.len == text.len && memcmp(other.at, text.at, text.len) == 0)
            return true;
    return false;
}

// A capture that an optional part left out meets no positive predicate, and every negated one.
static bool predicates_hold(const kg_query *q, const kg_syntax *s, const TSQueryMatch *m, const kg_captures *c) {
    for (size_t i = 0; i < q->n; i++) {
        const predicate *p = &q->predicates[i];
        if (p->pattern != m->pattern_index) continue;
        const TSNode *node = in_match(m, p->capture);
        if ((node && says(p, s, m, c, *node)) == p->negated) return false;
    }
    return true;
}

// ---- matches --------------------------------------------------------------------------------------------------------

const TSNode *kg_captured(const kg_captures *c, const char *name) {
    const size_t len = strlen(name);
    for (size_t i = c->n; i-- > 0;)
        if (c->items[i].len == len && memcmp(c->items[i].name, name, len) == 0) return &c->items[i].node;
    return NULL;
}

static void push(const kg_query *q, const TSQueryMatch *m, kg_captures *c) {
    for (uint16_t i = 0; i < m->capture_count && c->n < KG_CAPTURES; i++) {
        uint32_t len;
        const char *name = ts_query_capture_name_for_id(q->q, m->captures[i].index, &len);
        c->items[c->n].name = name;
        c->items[c->n].len = len;
        c->items[c->n++].node = m->captures[i].node;
    }
}

static bool too_late(TSQueryCursorState *state) { return kg_syntax_expired(state->payload); }

bool kg_query_each(const kg_query *q, const kg_syntax *s, TSNode node, kg_captures *c, kg_match_fn *each, void *ctx) {
    kg_syntax watched = *s;
    const TSQueryCursorOptions options = {.payload = &watched, .progress_callback = too_late};
    const size_t before = c->n;
    bool go_on = true;
    TSQueryMatch m;
    if (kg_syntax_expired(s)) return true;
    TSQueryCursor *cursor = ts_query_cursor_new();
    ts_query_cursor_set_match_limit(cursor, MATCH_LIMIT);
    ts_query_cursor_exec_with_options(cursor, q->q, node, &options);
    for (int n = 0; go_on && n < EACH_LIMIT && ts_query_cursor_next_match(cursor, &m); n++) {
        if (!predicates_hold(q, s, &m, c)) continue;
        push(q, &m, c);
        go_on = each(ctx, c);
        c->n = before;
    }
    ts_query_cursor_delete(cursor);
    return go_on;
}
