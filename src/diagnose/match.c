// Where a rule's path matches in a source.
#include <math.h>
#include <string.h>

#include "diagnose/internal.h"

static int compile(const char *text, kg_grammar g, kg_query **out, kg_error *err) {
    if (!text) return 0;
    *out = kg_query_compile(g, text, err);
    return *out ? 0 : -1;
}

int kg_rule_compile(const kg_rule *r, kg_grammar g, kg_rule_queries *out, kg_error *err) {
    *out = (kg_rule_queries){0};
    int rc = 0;
    for (int i = 0; i < KG_PATH && !rc; i++) rc = compile(r->path[i], g, &out->path[i], err);
    for (int i = 0; i < KG_SIDES && !rc; i++) rc = compile(r->has[i].query, g, &out->has[i], err);
    for (int i = 0; i < KG_SIDES && !rc; i++) rc = compile(r->lacks[i].query, g, &out->lacks[i], err);
    if (rc) kg_rule_queries_free(out);
    return rc;
}

void kg_rule_queries_free(kg_rule_queries *q) {
    for (int i = 0; i < KG_PATH; i++) kg_query_free(q->path[i]);
    for (int i = 0; i < KG_SIDES; i++) kg_query_free(q->has[i]), kg_query_free(q->lacks[i]);
    *q = (kg_rule_queries){0};
}

typedef struct {
    const kg_rule *rule;
    const kg_rule_queries *queries;
    const kg_syntax *syntax;
    const kg_profile *profile;
    TSNode inside[KG_PATH + 1];  // 0: the file, k: what step k - 1 captured
    int step;
    kg_places *out;
} search;

static bool stop_at_first(void *ctx, kg_captures *c) {
    (void)c;
    *(bool *)ctx = true;
    return false;
}

static bool any_inside(const search *x, const kg_query *q, int in, kg_captures *c) {
    bool found = false;
    kg_query_each(q, x->syntax, x->inside[in], c, stop_at_first, &found);
    return found;
}

static bool sides_hold(const search *x, kg_captures *c) {
    for (int i = 0; i < KG_SIDES; i++) {
        if (x->queries->has[i] && !any_inside(x, x->queries->has[i], x->rule->has[i].in, c)) return false;
        if (x->queries->lacks[i] && any_inside(x, x->queries->lacks[i], x->rule->lacks[i].in, c)) return false;
    }
    return true;
}

// Where most of the time goes comes first.
static void add_place(kg_places *p, uint32_t line, double share, const kg_captures *c) {
    size_t at = 0;
    for (size_t i = 0; i < p->n; i++)
        if (p->lines[i] == line) return;
    while (at < p->n && (p->shares[at] > share || (p->shares[at] == share && p->lines[at] < line))) at++;
    if (at == 0) p->first = *c;
    if (p->n == KG_PLACES) return;
    memmove(p->lines + at + 1, p->lines + at, (p->n - at) * sizeof *p->lines);
    memmove(p->shares + at + 1, p->shares + at, (p->n - at) * sizeof *p->shares);
    p->lines[at] = line;
    p->shares[at] = share;
    p->n++;
}

// Where time goes less than this, nothing that is written costs any.
#define COLD 0.05

static bool is_loop(TSNode n) {
    const char *type = ts_node_type(n);
    return !strcmp(type, "for_statement") || !strcmp(type, "while_statement") || !strcmp(type, "do_statement");
}

// The lines of the loop around a place or, outside of all loops, of its function.
static kg_lines around(TSNode at) {
    TSNode n = at;
    while (!is_loop(n) && strcmp(ts_node_type(n), "function_definition") != 0) {
        const TSNode parent = ts_node_parent(n);
        if (ts_node_is_null(parent)) break;
        n = parent;
    }
    return (kg_lines){ts_node_start_point(n).row + 1, ts_node_end_point(n).row + 1};
}

// Whether a decorator says that it is one, as the rules' "(^|[.])jit" has it: @triton.jit, @jit(...).
static bool makes_kernel(const search *x, TSNode decorator) {
    const TSNode said = ts_node_named_child(decorator, 0);
    if (ts_node_is_null(said)) return false;
    const char *text = x->syntax->text + ts_node_start_byte(said);
    const size_t n = ts_node_end_byte(said) - ts_node_start_byte(said);
    return (n >= 3 && memcmp(text, "jit", 3) == 0) || memmem(text, n, ".jit", 4);
}

static bool in_kernel(const search *x, TSNode at) {
    for (TSNode n = at; !ts_node_is_null(n); n = ts_node_parent(n)) {
        if (strcmp(ts_node_type(n), "decorated_definition") != 0) continue;
        for (uint32_t i = 0; i < ts_node_named_child_count(n); i++) {
            const TSNode child = ts_node_named_child(n, i);
            if (!strcmp(ts_node_type(child), "decorator") && makes_kernel(x, child)) return true;
        }
    }
    return false;
}

// A place where all holds; it counts unless no time goes there.
static void found(search *x, TSNode at, const kg_captures *c) {
    double share = 0;
    if (x->profile && (!x->profile->launches || in_kernel(x, at))) {
        const kg_lines lines = around(at);
        share = kg_profile_share(x->profile, &lines, 1);
        if (share < COLD) return;
        if (x->out->n_around < KG_PLACES) x->out->around[x->out->n_around++] = lines;
    }
    add_place(x->out, ts_node_start_point(at).row + 1, share, c);
}

// Whether enough of the time goes to the places found.
static bool hot_enough(const kg_rule *r, const kg_profile *profile, kg_places *p) {
    p->share = profile && p->n_around ? kg_profile_share(profile, p->around, p->n_around) : NAN;
    return r->hot == 0 || p->share >= r->hot;
}

static bool walk(void *ctx, kg_captures *c) {
    search *x = ctx;
    const TSNode *in = kg_captured(c, "in"), *at = kg_captured(c, "at");
    if (!in) in = at;
    if (!in) return true;
    x->inside[++x->step] = *in;
    if (x->step < KG_PATH && x->queries->path[x->step])
        kg_query_each(x->queries->path[x->step], x->syntax, *in, c, walk, x);
    else if (sides_hold(x, c)) found(x, at ? *at : *in, c);
    x->step--;
    return x->out->n < KG_PLACES;
}

bool kg_rule_find(const kg_rule *r, const kg_rule_queries *q, const kg_syntax *s, const kg_profile *profile,
                  kg_places *out) {
    search x = {.rule = r, .queries = q, .syntax = s, .profile = profile, .out = out};
    kg_captures c = {.n = 0};
    out->n = out->n_around = 0;
    x.inside[0] = ts_tree_root_node(s->tree);
    kg_query_each(q->path[0], s, x.inside[0], &c, walk, &x);
    // A query that had no time may have overlooked what the rule must not find.
    if (kg_syntax_expired(s)) return false;
    return out->n > 0 && (!r->at_most || out->n <= r->at_most) && hot_enough(r, profile, out);
}
