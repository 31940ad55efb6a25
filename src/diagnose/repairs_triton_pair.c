// What two loops of a Triton kernel over one row have in common, and what each carries.
#include <stdlib.h>
#include <string.h>

#include "diagnose/passes.h"

void kg_pair_free(kg_pair *x) {
    free(x->one.name), free(x->two.name), free(x->start), free(x->bound), free(x->block);
    kg_text_free(&x->names);
}

TSNode kg_tl_arguments(const kg_syntax *s, TSNode n, const char *name) {
    char *f = kg_format("tl.%s", name);
    const bool is = kg_node_is(n, "call") && kg_node_says(s, kg_field_of(n, "function"), f);
    free(f);
    return is ? kg_field_of(n, "arguments") : (TSNode){0};
}

TSNode kg_assignment_in(TSNode n) {
    const TSNode inner = kg_child(n, 0);
    const bool is = kg_node_is(n, "expression_statement") && kg_node_is(inner, "assignment") &&
                    kg_node_is(kg_field_of(inner, "left"), "identifier");
    return is ? inner : (TSNode){0};
}

static bool read_fold(const kg_syntax *s, TSNode statement, kg_pass *out) {
    const TSNode inner = kg_child(statement, 0);
    if (!kg_node_is(statement, "expression_statement") || !kg_node_is(kg_field_of(inner, "left"), "identifier"))
        return false;
    out->fold = inner;
    out->sum = kg_node_is(inner, "augmented_assignment") && kg_node_says(s, kg_field_of(inner, "operator"), "+=");
    out->folded = kg_field_of(inner, "right");
    if (!out->sum) {
        const TSNode arguments =
            kg_node_is(inner, "assignment") ? kg_tl_arguments(s, out->folded, "maximum") : (TSNode){0};
        if (ts_node_is_null(arguments) || kg_children(arguments) != 2 ||
            !kg_same_text(s, kg_child(arguments, 0), kg_field_of(inner, "left")))
            return false;
        out->folded = kg_child(arguments, 1);
    }
    out->name = kg_node_text(s, kg_field_of(inner, "left"));
    return kg_uses(s, out->folded, out->name) == 0;
}

// Assignments, each of a name of its own, and a fold; nothing else.
static bool read_pass(const kg_syntax *s, TSNode loop, kg_pass *out) {
    *out = (kg_pass){.loop = loop, .body = kg_field_of(loop, "body")};
    const uint32_t n = kg_statements(out->body);
    for (uint32_t i = 0; i + 1 < n; i++)
        if (ts_node_is_null(kg_assignment_in(kg_statement(out->body, i)))) return false;
    if (!ts_node_is_null(kg_first(s, loop, "((identifier) @at (#match? @at \"^atomic\"))"))) return false;
    return n && read_fold(s, kg_statement(out->body, n - 1), out);
}

uint32_t kg_pair_common(const kg_pair *x) {
    const uint32_t n = kg_statements(x->one.body), m = kg_statements(x->two.body);
    uint32_t i = 0;
    while (i + 1 < n && i + 1 < m && kg_same_text(x->s, kg_statement(x->one.body, i), kg_statement(x->two.body, i)))
        i++;
    return i;
}

TSNode kg_pass_meant(const kg_pair *x, const kg_pass *p, TSNode n, uint32_t shared) {
    for (int i = 0; i < 8; i++) {
        n = kg_bare(n);
        if (!kg_node_is(n, "identifier")) return n;
        char *name = kg_node_text(x->s, n);
        TSNode next = {0};
        for (uint32_t k = shared; k + 1 < kg_statements(p->body); k++) {
            const TSNode a = kg_assignment_in(kg_statement(p->body, k));
            if (kg_node_says(x->s, kg_field_of(a, "left"), name)) next = kg_field_of(a, "right");
        }
        free(name);
        if (ts_node_is_null(next)) return n;
        n = next;
    }
    return n;
}

bool kg_pass_stays(const kg_pair *x, const kg_pass *p, TSNode n, uint32_t shared) {
    bool same = true;
    for (uint32_t i = shared; i + 1 < kg_statements(p->body); i++) {
        char *name = kg_node_text(x->s, kg_field_of(kg_assignment_in(kg_statement(p->body, i)), "left"));
        same &= !kg_uses(x->s, n, name);
        free(name);
    }
    for (TSNode st = ts_node_next_named_sibling(x->one.loop); !ts_node_eq(st, x->two.loop);
         st = ts_node_next_named_sibling(st)) {
        const TSNode a = kg_assignment_in(st);
        char *name = ts_node_is_null(a) ? NULL : kg_node_text(x->s, kg_field_of(a, "left"));
        same &= !name || !kg_uses(x->s, n, name);
        free(name);
    }
    return same;
}

static bool shared_stay(const kg_pair *x, uint32_t shared) {
    for (uint32_t i = 0; i < shared; i++)
        if (!kg_pass_stays(x, &x->two, kg_statement(x->two.body, i), shared)) return false;
    return true;
}

bool kg_pair_same_value(const kg_pair *x, TSNode of_two, uint32_t shared) {
    const TSNode a = kg_pass_meant(x, &x->one, x->one.folded, shared), b = kg_pass_meant(x, &x->two, of_two, shared);
    return kg_same_text(x->s, a, b) && kg_pass_stays(x, &x->one, a, shared) && kg_pass_stays(x, &x->two, b, shared) &&
           shared_stay(x, shared);
}

char *kg_whole_text(const kg_syntax *s, TSNode n) {
    char *text = kg_node_text(s, n);
    if (!strchr(text, '\n')) return text;
    char *wrapped = kg_format("(%s)", text);
    free(text);
    return wrapped;
}

TSNode kg_pair_set(const kg_pair *x, const char *name) {
    for (TSNode n = ts_node_next_named_sibling(x->one.loop); !ts_node_eq(n, x->two.loop);
         n = ts_node_next_named_sibling(n)) {
        const TSNode a = kg_assignment_in(n);
        if (!ts_node_is_null(a) && kg_node_says(x->s, kg_field_of(a, "left"), name)) return n;
    }
    return (TSNode){0};
}

size_t kg_pair_uses(const kg_pair *x, size_t from, size_t to, const char *name) {
    size_t n = 0;
    for (uint32_t i = 0; i < kg_children(x->body); i++) {
        const TSNode st = kg_child(x->body, i);
        if (ts_node_start_byte(st) >= from && ts_node_end_byte(st) <= to) n += kg_uses(x->s, st, name);
    }
    return n;
}

TSNode kg_pair_beginning(const kg_pair *x, const char *name, TSNode loop) {
    TSNode found = {0};
    for (TSNode n = ts_node_prev_named_sibling(loop); !ts_node_is_null(n) && ts_node_is_null(found);
         n = ts_node_prev_named_sibling(n)) {
        const TSNode a = kg_assignment_in(n);
        if (!ts_node_is_null(a) && kg_node_says(x->s, kg_field_of(a, "left"), name)) found = n;
        else if (kg_node_is(n, "for_statement") && kg_uses(x->s, n, name)) return found;
    }
    if (ts_node_is_null(found)) return found;
    const TSNode right = kg_field_of(kg_assignment_in(found), "right");
    if (ts_node_is_null(kg_tl_arguments(x->s, right, "zeros"))) return (TSNode){0};
    return found;
}

bool kg_pair_wanted_later(const kg_pair *x, uint32_t shared) {
    for (uint32_t i = shared; i + 1 < kg_statements(x->two.body); i++) {
        char *name = kg_node_text(x->s, kg_field_of(kg_assignment_in(kg_statement(x->two.body, i)), "left"));
        bool wanted = false, set = false;
        for (TSNode n = ts_node_next_named_sibling(x->two.loop); !ts_node_is_null(n) && !set;
             n = ts_node_next_named_sibling(n)) {
            char *query = kg_format("((assignment left: (identifier) @at) (#eq? @at \"%s\"))", name);
            const bool sets = !ts_node_is_null(kg_first(x->s, n, query));
            free(query);
            set = sets;
            wanted |= !sets && kg_uses(x->s, n, name) > 0;
        }
        free(name);
        if (wanted) return true;
    }
    return false;
}

void kg_pair_drop(const kg_pair *x, TSNode st) {
    size_t to = ts_node_end_byte(st);
    if (x->s->text[to] == '\n') to++;
    kg_edit_replace(x->out, kg_line_start(x->s, st), to, "%s", "");
}

// for start in range(0, bound, block), the same in both.
static bool same_head(kg_pair *x) {
    const TSNode a = kg_field_of(x->one.loop, "right"), b = kg_field_of(x->two.loop, "right");
    if (!kg_same_text(x->s, a, b) ||
        !kg_same_text(x->s, kg_field_of(x->one.loop, "left"), kg_field_of(x->two.loop, "left")))
        return false;
    const TSNode arguments = kg_node_is(a, "call") ? kg_field_of(a, "arguments") : (TSNode){0};
    if (ts_node_is_null(arguments) || kg_children(arguments) != 3 || !kg_node_says(x->s, kg_child(arguments, 0), "0") ||
        !kg_node_is(kg_child(arguments, 1), "identifier") || !kg_node_is(kg_child(arguments, 2), "identifier"))
        return false;
    x->start = kg_node_text(x->s, kg_field_of(x->one.loop, "left"));
    x->bound = kg_node_text(x->s, kg_child(arguments, 1));
    x->block = kg_node_text(x->s, kg_child(arguments, 2));
    return true;
}

// Between the loops only assignments: nothing is stored, and nothing branches around what moves.
static bool only_assignments_between(const kg_pair *x) {
    for (TSNode n = ts_node_next_named_sibling(x->one.loop); !ts_node_eq(n, x->two.loop);
         n = ts_node_next_named_sibling(n))
        if (!kg_node_is(n, "comment") && ts_node_is_null(kg_assignment_in(n))) return false;
    return true;
}

int kg_pair_read(kg_pair *x, TSNode first, TSNode second) {
    const bool read = read_pass(x->s, first, &x->one) & read_pass(x->s, second, &x->two);
    if (!read) return kg_not_repaired(x->why, "a loop does more than load and fold");
    if (!same_head(x)) return kg_not_repaired(x->why, "the loops do not go over the same blocks");
    if (!only_assignments_between(x)) return kg_not_repaired(x->why, "more than assignments stands between the loops");
    return 0;
}
