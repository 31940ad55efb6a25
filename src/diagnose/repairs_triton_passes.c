// Two loops of a Triton kernel over the same row become one: largest and sum of exponentials (online softmax), mean and
// spread about it (Welford's update in every lane, merged at the end), or two folds that do not need each other.
#include <stdlib.h>
#include <string.h>

#include "diagnose/repair.h"

#define MOST KG_TRITON_MOST

// for start in range(0, bound, block): assignments, and a fold at the end.
typedef struct {
    TSNode loop, body, fold;  // fold: the assignment in the last statement
    TSNode folded;            // what is folded
    char *name;               // into what
    bool sum;                 // name += e; else name = tl.maximum(name, e)
} pass;

typedef struct {
    const kg_syntax *s;
    TSNode body;  // of the kernel
    pass one, two;
    char *start, *bound, *block;
    kg_text names;
    kg_edits *out;
    char **why;
} pair;

static void free_pair(pair *x) {
    free(x->one.name), free(x->two.name), free(x->start), free(x->bound), free(x->block);
    kg_text_free(&x->names);
}

// tl.name(...): its arguments; null when it is something else.
static TSNode arguments_of(const kg_syntax *s, TSNode n, const char *name) {
    char *f = kg_format("tl.%s", name);
    const bool is = kg_node_is(n, "call") && kg_node_says(s, kg_field_of(n, "function"), f);
    free(f);
    return is ? kg_field_of(n, "arguments") : (TSNode){0};
}

// name = e, the only statement of its kind; null when n is something else.
static TSNode assignment_in(TSNode n) {
    const TSNode inner = ts_node_named_child(n, 0);
    const bool is = kg_node_is(n, "expression_statement") && kg_node_is(inner, "assignment") &&
                    kg_node_is(kg_field_of(inner, "left"), "identifier");
    return is ? inner : (TSNode){0};
}

static bool read_fold(const kg_syntax *s, TSNode statement, pass *out) {
    const TSNode inner = ts_node_named_child(statement, 0);
    if (!kg_node_is(statement, "expression_statement") || !kg_node_is(kg_field_of(inner, "left"), "identifier"))
        return false;
    out->fold = inner;
    out->sum = kg_node_is(inner, "augmented_assignment") && kg_node_says(s, kg_field_of(inner, "operator"), "+=");
    out->folded = kg_field_of(inner, "right");
    if (!out->sum) {
        const TSNode arguments =
            kg_node_is(inner, "assignment") ? arguments_of(s, out->folded, "maximum") : (TSNode){0};
        if (ts_node_is_null(arguments) || ts_node_named_child_count(arguments) != 2 ||
            !kg_same_text(s, ts_node_named_child(arguments, 0), kg_field_of(inner, "left")))
            return false;
        out->folded = ts_node_named_child(arguments, 1);
    }
    out->name = kg_node_text(s, kg_field_of(inner, "left"));
    return kg_uses(s, out->folded, out->name) == 0;
}

// Assignments, each of a name of its own, and a fold; nothing else.
static bool read_pass(const kg_syntax *s, TSNode loop, pass *out) {
    *out = (pass){.loop = loop, .body = kg_field_of(loop, "body")};
    const uint32_t n = kg_statements(out->body);
    for (uint32_t i = 0; i + 1 < n; i++)
        if (ts_node_is_null(assignment_in(kg_statement(out->body, i)))) return false;
    if (!ts_node_is_null(kg_first(s, loop, "((identifier) @at (#match? @at \"^atomic\"))"))) return false;
    return n && read_fold(s, kg_statement(out->body, n - 1), out);
}

// How many statements the second pass begins with that the first has too, in the same order.
static uint32_t common(const pair *x) {
    const uint32_t n = kg_statements(x->one.body), m = kg_statements(x->two.body);
    uint32_t i = 0;
    while (i + 1 < n && i + 1 < m && kg_same_text(x->s, kg_statement(x->one.body, i), kg_statement(x->two.body, i)))
        i++;
    return i;
}

// Follows names that only this pass gives, past parentheses.
static TSNode meant(const pair *x, const pass *p, TSNode n, uint32_t shared) {
    for (int i = 0; i < 8; i++) {
        n = kg_bare(n);
        if (!kg_node_is(n, "identifier")) return n;
        char *name = kg_node_text(x->s, n);
        TSNode next = {0};
        for (uint32_t k = shared; k + 1 < kg_statements(p->body); k++) {
            const TSNode a = assignment_in(kg_statement(p->body, k));
            if (kg_node_says(x->s, kg_field_of(a, "left"), name)) next = kg_field_of(a, "right");
        }
        free(name);
        if (ts_node_is_null(next)) return n;
        n = next;
    }
    return n;
}

// Whether it is the same in both loops: no name in it is one that the pass sets in a way of its own (the `shared`
// statements are the same in both), or that changes between them.
static bool stays(const pair *x, const pass *p, TSNode n, uint32_t shared) {
    bool same = true;
    for (uint32_t i = shared; i + 1 < kg_statements(p->body); i++) {
        char *name = kg_node_text(x->s, kg_field_of(assignment_in(kg_statement(p->body, i)), "left"));
        same &= !kg_uses(x->s, n, name);
        free(name);
    }
    for (TSNode st = ts_node_next_named_sibling(x->one.loop); !ts_node_eq(st, x->two.loop);
         st = ts_node_next_named_sibling(st)) {
        const TSNode a = assignment_in(st);
        char *name = ts_node_is_null(a) ? NULL : kg_node_text(x->s, kg_field_of(a, "left"));
        same &= !name || !kg_uses(x->s, n, name);
        free(name);
    }
    return same;
}

static bool shared_stay(const pair *x, uint32_t shared) {
    for (uint32_t i = 0; i < shared; i++)
        if (!stays(x, &x->two, kg_statement(x->two.body, i), shared)) return false;
    return true;
}

// What both loops fold, or the difference of it, is the same value.
static bool same_value(const pair *x, TSNode of_two, uint32_t shared) {
    const TSNode a = meant(x, &x->one, x->one.folded, shared), b = meant(x, &x->two, of_two, shared);
    return kg_same_text(x->s, a, b) && stays(x, &x->one, a, shared) && stays(x, &x->two, b, shared) &&
           shared_stay(x, shared);
}

// For a statement of its own: an expression that goes on over lines needs parentheses.
static char *whole_text(const kg_syntax *s, TSNode n) {
    char *text = kg_node_text(s, n);
    if (!strchr(text, '\n')) return text;
    char *wrapped = kg_format("(%s)", text);
    free(text);
    return wrapped;
}

// The statement between the passes that first sets a name; null: none.
static TSNode set_between(const pair *x, const char *name) {
    for (TSNode n = ts_node_next_named_sibling(x->one.loop); !ts_node_eq(n, x->two.loop);
         n = ts_node_next_named_sibling(n)) {
        const TSNode a = assignment_in(n);
        if (!ts_node_is_null(a) && kg_node_says(x->s, kg_field_of(a, "left"), name)) return n;
    }
    return (TSNode){0};
}

static size_t uses_between(const pair *x, size_t from, size_t to, const char *name) {
    size_t n = 0;
    for (uint32_t i = 0; i < ts_node_named_child_count(x->body); i++) {
        const TSNode st = ts_node_named_child(x->body, i);
        if (ts_node_start_byte(st) >= from && ts_node_end_byte(st) <= to) n += kg_uses(x->s, st, name);
    }
    return n;
}

// name = tl.zeros(...) or tl.full(...), the last before `loop`: the statement; null: none, or it needs what comes
// between.
static TSNode beginning(const pair *x, const char *name, TSNode loop) {
    TSNode found = {0};
    for (TSNode n = ts_node_prev_named_sibling(loop); !ts_node_is_null(n) && ts_node_is_null(found);
         n = ts_node_prev_named_sibling(n)) {
        const TSNode a = assignment_in(n);
        if (!ts_node_is_null(a) && kg_node_says(x->s, kg_field_of(a, "left"), name)) found = n;
        else if (kg_node_is(n, "for_statement") && kg_uses(x->s, n, name)) return found;
    }
    if (ts_node_is_null(found)) return found;
    const TSNode right = kg_field_of(assignment_in(found), "right");
    if (ts_node_is_null(arguments_of(x->s, right, "zeros"))) return (TSNode){0};
    return found;
}

static bool before(TSNode a, TSNode b) { return ts_node_start_byte(a) < ts_node_start_byte(b); }

// A name that the second loop alone sets must not be wanted behind it.
static bool wanted_later(const pair *x, uint32_t shared) {
    for (uint32_t i = shared; i + 1 < kg_statements(x->two.body); i++) {
        char *name = kg_node_text(x->s, kg_field_of(assignment_in(kg_statement(x->two.body, i)), "left"));
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

static void drop_statement(const pair *x, TSNode st) {
    size_t to = ts_node_end_byte(st);
    if (x->s->text[to] == '\n') to++;
    kg_edit_replace(x->out, kg_line_start(x->s, st), to, "%s", "");
}

// name = tl.zeros(...) goes before the first loop, when it stands behind.
static bool move_beginning(const pair *x, TSNode st) {
    if (ts_node_is_null(st)) return false;
    if (before(st, x->one.loop)) return true;
    char *text = kg_node_text(x->s, st), *indent = kg_indent_of(x->s, st);
    const size_t at = kg_line_start(x->s, x->one.loop);
    const bool fits = kg_uses(x->s, st, x->one.name) == 0;
    if (fits) {
        kg_edit_replace(x->out, at, at, "%s%s\n", indent, text);
        drop_statement(x, st);
    }
    free(text), free(indent);
    return fits;
}

// ---- largest, and sum of exponentials -------------------------------------------------------------------------------

static int online(pair *x, uint32_t shared) {
    const kg_syntax *s = x->s;
    const TSNode arguments = arguments_of(s, meant(x, &x->two, x->two.folded, shared), "exp");
    if (ts_node_is_null(arguments) || ts_node_named_child_count(arguments) != 1) return 1;
    const TSNode d = meant(x, &x->two, ts_node_named_child(arguments, 0), shared);
    if (!kg_node_is(d, "binary_operator") || !kg_node_says(s, kg_field_of(d, "operator"), "-")) return 1;
    const TSNode m = kg_field_of(d, "right");
    if (!kg_node_is(m, "identifier") || !same_value(x, kg_field_of(d, "left"), shared)) return 1;
    char *name = kg_node_text(s, m);
    const TSNode set = set_between(x, name);
    const TSNode largest =
        ts_node_is_null(set) ? set : arguments_of(s, kg_field_of(assignment_in(set), "right"), "max");
    const bool its = !ts_node_is_null(largest) && kg_node_says(s, ts_node_named_child(largest, 0), x->one.name);
    const size_t from = ts_node_start_byte(x->one.loop), to = ts_node_end_byte(x->two.loop);
    if (!its || kg_uses(s, x->body, x->one.name) != 4 || !strcmp(x->one.name, x->two.name) ||
        uses_between(x, from, to, x->two.name) != 1u + before(x->one.loop, beginning(x, x->two.name, x->two.loop)) ||
        !move_beginning(x, beginning(x, x->two.name, x->two.loop))) {
        free(name);
        return kg_not_repaired(x->why, "what the loops carry is used in more places");
    }
    char *indent = kg_indent_of(s, x->one.fold);
    char *e = whole_text(s, x->one.folded), *v = kg_new_name(s, &x->names, "value");
    char *higher = kg_new_name(s, &x->names, "higher"), *base = kg_new_name(s, &x->names, "base");
    const char *most = x->one.name, *total = x->two.name;
    kg_edit_node(x->out, x->one.fold,
                 "%s = %s\n%s%s = tl.maximum(%s, %s)\n%s%s = tl.where(tl.abs(%s) == float(\"inf\"), 0.0, %s)\n"
                 "%s%s = %s * tl.exp(%s - %s) + tl.exp(%s - %s)\n%s%s = %s",
                 v, e, indent, higher, most, v, indent, base, higher, higher, indent, total, total, most, base, v, base,
                 indent, most, higher);
    kg_edit_node(x->out, x->two.loop, "%s *= tl.exp(%s - %s)", total, most, name);
    free(name), free(indent), free(e), free(v), free(higher), free(base);
    return 0;
}

// ---- mean, and squares about it -------------------------------------------------------------------------------------

// tl.where(mask, e, 0.0): the mask and e.
static bool masked(const pair *x, TSNode n, uint32_t shared, TSNode *mask, TSNode *e) {
    const TSNode arguments = arguments_of(x->s, meant(x, &x->two, n, shared), "where");
    if (ts_node_is_null(arguments) || ts_node_named_child_count(arguments) != 3) return false;
    if (!kg_node_says(x->s, ts_node_named_child(arguments, 2), "0.0") &&
        !kg_node_says(x->s, ts_node_named_child(arguments, 2), "0"))
        return false;
    *mask = ts_node_named_child(arguments, 0);
    *e = meant(x, &x->two, ts_node_named_child(arguments, 1), shared);
    return true;
}

static bool is_operation(const pair *x, TSNode n, const char *operator) {
    return kg_node_is(n, "binary_operator") && kg_node_says(x->s, kg_field_of(n, "operator"), operator);
}

// The square of a - mean within the mask, which is put to the difference or to its square: the mask and a - mean.
static bool masked_square(const pair *x, uint32_t shared, TSNode *mask, TSNode *d) {
    TSNode square = meant(x, &x->two, x->two.folded, shared);
    const bool outside = masked(x, square, shared, mask, &square);
    if (!is_operation(x, square, "*") || !kg_same_text(x->s, kg_field_of(square, "left"), kg_field_of(square, "right")))
        return false;
    if (outside) *d = meant(x, &x->two, kg_field_of(square, "left"), shared);
    else if (!masked(x, kg_field_of(square, "left"), shared, mask, d)) return false;
    return is_operation(x, *d, "-");
}

// The one statement between the loops that sets a name; null: none, or several.
static TSNode set_once(const pair *x, const char *name) {
    const TSNode first = set_between(x, name);
    for (TSNode n = ts_node_is_null(first) ? x->two.loop : ts_node_next_named_sibling(first);
         !ts_node_eq(n, x->two.loop); n = ts_node_next_named_sibling(n)) {
        const TSNode a = assignment_in(n);
        if (!ts_node_is_null(a) && kg_node_says(x->s, kg_field_of(a, "left"), name)) return (TSNode){0};
    }
    return first;
}

// tl.sum(total, 0) / bound, or names between the loops that stand for it.
static bool is_mean(const pair *x, TSNode n) {
    for (int i = 0; i < 4; i++) {
        n = kg_bare(n);
        if (kg_node_is(n, "binary_operator") && kg_node_says(x->s, kg_field_of(n, "operator"), "/") &&
            kg_node_says(x->s, kg_field_of(n, "right"), x->bound)) {
            TSNode sum = kg_field_of(n, "left");
            if (kg_node_is(sum, "identifier")) {
                char *name = kg_node_text(x->s, sum);
                const TSNode set = set_once(x, name);
                free(name);
                if (ts_node_is_null(set)) return false;
                sum = kg_field_of(assignment_in(set), "right");
            }
            const TSNode arguments = arguments_of(x->s, sum, "sum");
            return !ts_node_is_null(arguments) && kg_node_says(x->s, ts_node_named_child(arguments, 0), x->one.name);
        }
        if (!kg_node_is(n, "identifier")) return false;
        char *name = kg_node_text(x->s, n);
        const TSNode set = set_once(x, name);
        free(name);
        if (ts_node_is_null(set)) return false;
        n = kg_field_of(assignment_in(set), "right");
    }
    return false;
}

// What a name of the statements that both loops have stands for: its last assignment there.
static TSNode in_both(const pair *x, TSNode n, uint32_t shared) {
    TSNode found = n;
    char *name = kg_node_text(x->s, n);
    for (uint32_t i = 0; i < shared && kg_node_is(n, "identifier"); i++) {
        const TSNode a = assignment_in(kg_statement(x->two.body, i));
        if (kg_node_says(x->s, kg_field_of(a, "left"), name)) found = kg_field_of(a, "right");
    }
    free(name);
    return kg_bare(found);
}

// column < bound, of column = start + tl.arange(0, block): so that each lane sees every block-th column.
static bool is_inside(const pair *x, TSNode mask, uint32_t shared) {
    const TSNode compared = in_both(x, kg_bare(mask), shared);
    if (!kg_node_is(compared, "comparison_operator") || ts_node_named_child_count(compared) != 2 ||
        !kg_node_says(x->s, ts_node_child(compared, 1), "<") ||
        !kg_node_says(x->s, ts_node_named_child(compared, 1), x->bound))
        return false;
    char *lanes = kg_format("%s + tl.arange(0, %s)", x->start, x->block);
    const bool is = kg_node_says(x->s, in_both(x, ts_node_named_child(compared, 0), shared), lanes);
    free(lanes);
    return is;
}

static int welford(pair *x, uint32_t shared) {
    const kg_syntax *s = x->s;
    TSNode mask, d;
    if (!masked_square(x, shared, &mask, &d)) return 1;
    const TSNode mean = kg_field_of(d, "right");
    if (!is_mean(x, mean) || !same_value(x, kg_field_of(d, "left"), shared) || !stays(x, &x->two, mask, shared) ||
        !is_inside(x, mask, shared))
        return 1;
    const TSNode zero = beginning(x, x->one.name, x->one.loop), again = beginning(x, x->two.name, x->two.loop);
    const bool reused = !strcmp(x->one.name, x->two.name);
    const size_t from = ts_node_start_byte(x->one.loop), to = ts_node_start_byte(x->two.loop);
    if (ts_node_is_null(zero) || ts_node_is_null(again) || (reused && before(again, x->one.loop)) ||
        uses_between(x, from, to, x->one.name) != 2u + reused)
        return kg_not_repaired(x->why, "what the loops carry is used in more places");
    char *zeros = kg_node_text(s, kg_field_of(assignment_in(zero), "right")), *in = kg_indent_of(s, x->one.fold);
    char *outer = kg_indent_of(s, x->one.loop), *e = whole_text(s, x->one.folded), *m = whole_text(s, mask);
    char *about = kg_node_text(s, mean);
    char *value_name = kg_new_name(s, &x->names, "value"), *change = kg_new_name(s, &x->names, "change");
    char *center = kg_new_name(s, &x->names, "lane_mean"), *spread = kg_new_name(s, &x->names, "lane_spread");
    char *seen = kg_new_name(s, &x->names, "seen");
    const size_t head = kg_line_start(s, x->one.loop), behind = ts_node_end_byte(x->one.loop);
    kg_edit_replace(x->out, head, head, "%s%s = %s\n%s%s = %s\n", outer, center, zeros, outer, spread, zeros);
    kg_edit_node(x->out, x->one.fold,
                 "%s = %s\n%s%s = tl.where(%s, %s - %s, 0.0)\n%s%s += %s / (%s // %s + 1)\n"
                 "%s%s += %s * tl.where(%s, %s - %s, 0.0)",
                 value_name, e, in, change, m, value_name, center, in, center, change, x->start, x->block, in, spread,
                 change, m, value_name, center);
    kg_edit_replace(x->out, behind, behind,
                    "\n%s%s = (%s - tl.arange(0, %s) + %s - 1) // %s  # columns of each lane\n%s%s = %s * %s", outer,
                    seen, x->bound, x->block, x->block, x->block, outer, x->one.name, center, seen);
    if (!before(again, x->one.loop)) drop_statement(x, again);
    if (!uses_between(x, ts_node_end_byte(zero), from, x->one.name)) drop_statement(x, zero);
    kg_edit_node(x->out, x->two.loop, "%s -= %s\n%s%s = %s + %s * %s * %s", center, about, outer, x->two.name, spread,
                 seen, center, center);
    free(zeros), free(in), free(outer), free(e), free(m), free(about), free(value_name), free(change), free(center);
    free(spread), free(seen);
    return 0;
}

// ---- folds that do not need each other ------------------------------------------------------------------------------

static int independent(pair *x, uint32_t shared) {
    const kg_syntax *s = x->s;
    for (TSNode n = ts_node_next_named_sibling(x->one.loop); !ts_node_eq(n, x->two.loop);
         n = ts_node_next_named_sibling(n)) {
        kg_captures set[MOST];
        const size_t k = kg_matches(
            s, n, "[(assignment left: (identifier) @at) (augmented_assignment left: (identifier) @at)]", set, MOST);
        for (size_t i = 0; i < k; i++) {
            char *name = kg_node_text(s, *kg_captured(&set[i], "at"));
            const bool needed = strcmp(name, x->two.name) != 0 && kg_uses(s, x->two.body, name) > 0;
            free(name);
            if (needed) return 1;
        }
    }
    const size_t from = ts_node_start_byte(x->one.loop), to = ts_node_end_byte(x->two.loop);
    const TSNode zero = beginning(x, x->two.name, x->two.loop);
    const uint32_t uses = 1u + (!ts_node_is_null(zero) && before(x->one.loop, zero));
    if (!strcmp(x->one.name, x->two.name) || uses_between(x, from, to, x->two.name) != uses ||
        kg_uses(s, x->two.body, x->one.name) || !move_beginning(x, zero))
        return kg_not_repaired(x->why, "what the loops carry is used in more places");
    char *in = kg_indent_of(s, x->one.fold);
    kg_text t = {0};
    for (uint32_t i = shared; i < kg_statements(x->two.body); i++) {
        char *text = kg_node_text(s, kg_statement(x->two.body, i));
        kg_text_add(&t, "\n%s%s", in, text);
        free(text);
    }
    const size_t at = ts_node_end_byte(x->one.fold);
    kg_edit_replace(x->out, at, at, "%s", t.data);
    drop_statement(x, x->two.loop);
    kg_text_free(&t);
    free(in);
    return 0;
}

// ---- pairs ----------------------------------------------------------------------------------------------------------

// for start in range(0, bound, block), the same in both.
static bool same_head(pair *x) {
    const TSNode a = kg_field_of(x->one.loop, "right"), b = kg_field_of(x->two.loop, "right");
    if (!kg_same_text(x->s, a, b) ||
        !kg_same_text(x->s, kg_field_of(x->one.loop, "left"), kg_field_of(x->two.loop, "left")))
        return false;
    const TSNode arguments = kg_node_is(a, "call") ? kg_field_of(a, "arguments") : (TSNode){0};
    if (ts_node_is_null(arguments) || ts_node_named_child_count(arguments) != 3 ||
        !kg_node_says(x->s, ts_node_named_child(arguments, 0), "0") ||
        !kg_node_is(ts_node_named_child(arguments, 1), "identifier") ||
        !kg_node_is(ts_node_named_child(arguments, 2), "identifier"))
        return false;
    x->start = kg_node_text(x->s, kg_field_of(x->one.loop, "left"));
    x->bound = kg_node_text(x->s, ts_node_named_child(arguments, 1));
    x->block = kg_node_text(x->s, ts_node_named_child(arguments, 2));
    return true;
}

// Between the loops only assignments: nothing is stored, and nothing branches around what moves.
static bool only_assignments_between(const pair *x) {
    for (TSNode n = ts_node_next_named_sibling(x->one.loop); !ts_node_eq(n, x->two.loop);
         n = ts_node_next_named_sibling(n))
        if (!kg_node_is(n, "comment") && ts_node_is_null(assignment_in(n))) return false;
    return true;
}

static int merge(const kg_syntax *s, TSNode body, TSNode first, TSNode second, kg_edits *out, char **why) {
    pair x = {.s = s, .body = body, .out = out, .why = why};
    int rc = -1;
    const bool read = read_pass(s, first, &x.one) & read_pass(s, second, &x.two);
    if (!read) kg_not_repaired(why, "a loop does more than load and fold");
    else if (!same_head(&x)) kg_not_repaired(why, "the loops do not go over the same blocks");
    else if (!only_assignments_between(&x)) kg_not_repaired(why, "more than assignments stands between the loops");
    else {
        const uint32_t shared = common(&x);
        if (wanted_later(&x, shared)) kg_not_repaired(why, "what the second loop leaves is used behind it");
        else {
            rc = x.two.sum ? (x.one.sum ? welford(&x, shared) : online(&x, shared)) : 1;
            if (rc > 0) rc = independent(&x, shared);
            if (rc > 0)
                rc = kg_not_repaired(why, "the second loop needs what the first found, in a way that is not known");
        }
    }
    free_pair(&x);
    return rc;
}

static size_t merge_in(const kg_syntax *s, TSNode body, kg_edits *out, char **why) {
    TSNode before_it = {0};
    size_t made = 0;
    for (uint32_t i = 0; i < ts_node_named_child_count(body); i++) {
        const TSNode n = ts_node_named_child(body, i);
        if (!kg_node_is(n, "for_statement")) continue;
        if (ts_node_is_null(before_it)) {
            before_it = n;
            continue;
        }
        kg_edits mine = {0};
        char *refusal = NULL;
        const bool merged = merge(s, body, before_it, n, &mine, &refusal) == 0;
        if (merged) kg_edits_take(out, &mine), made++;
        kg_edits_free(&mine);
        kg_keep_first(why, refusal);
        before_it = merged ? (TSNode){0} : n;
    }
    return made;
}

int kg_triton_fuse_passes(const kg_syntax *s, size_t variant, kg_edits *out, char **why) {
    (void)variant;
    kg_captures kernels[MOST];
    size_t made = 0;
    const size_t n = kg_triton_kernels(s, kernels);
    for (size_t i = 0; i < n; i++) made += merge_in(s, *kg_captured(&kernels[i], "c"), out, why);
    return kg_repaired(made, why, "no kernel has two loops");
}
