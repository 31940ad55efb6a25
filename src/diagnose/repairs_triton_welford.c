// Two loops of a Triton kernel, of a mean and of the squares about it, become one: Welford's update in every lane,
// merged at the end.
#include <stdlib.h>
#include <string.h>

#include "diagnose/passes.h"

// tl.where(mask, e, 0.0): the mask and e.
static bool masked(const kg_pair *x, TSNode n, uint32_t shared, TSNode *mask, TSNode *e) {
    const TSNode arguments = kg_tl_arguments(x->s, kg_pass_meant(x, &x->two, n, shared), "where");
    if (ts_node_is_null(arguments) || kg_children(arguments) != 3) return false;
    if (!kg_node_says(x->s, kg_child(arguments, 2), "0.0") && !kg_node_says(x->s, kg_child(arguments, 2), "0"))
        return false;
    *mask = kg_child(arguments, 0);
    *e = kg_pass_meant(x, &x->two, kg_child(arguments, 1), shared);
    return true;
}

static bool is_operation(const kg_pair *x, TSNode n, const char *operator) {
    return kg_node_is(n, "binary_operator") && kg_node_says(x->s, kg_field_of(n, "operator"), operator);
}

// The square of a - mean within the mask, which is put to the difference or to its square: the mask and a - mean.
static bool masked_square(const kg_pair *x, uint32_t shared, TSNode *mask, TSNode *d) {
    TSNode square = kg_pass_meant(x, &x->two, x->two.folded, shared);
    const bool outside = masked(x, square, shared, mask, &square);
    if (!is_operation(x, square, "*") || !kg_same_text(x->s, kg_field_of(square, "left"), kg_field_of(square, "right")))
        return false;
    if (outside) *d = kg_pass_meant(x, &x->two, kg_field_of(square, "left"), shared);
    else if (!masked(x, kg_field_of(square, "left"), shared, mask, d)) return false;
    return is_operation(x, *d, "-");
}

// The one statement between the loops that sets a name; null: none, or several.
static TSNode set_once(const kg_pair *x, const char *name) {
    const TSNode first = kg_pair_set(x, name);
    for (TSNode n = ts_node_is_null(first) ? x->two.loop : ts_node_next_named_sibling(first);
         !ts_node_eq(n, x->two.loop); n = ts_node_next_named_sibling(n)) {
        const TSNode a = kg_assignment_in(n);
        if (!ts_node_is_null(a) && kg_node_says(x->s, kg_field_of(a, "left"), name)) return (TSNode){0};
    }
    return first;
}

// tl.sum(total, 0) / bound, or names between the loops that stand for it.
static bool is_mean(const kg_pair *x, TSNode n) {
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
                sum = kg_field_of(kg_assignment_in(set), "right");
            }
            const TSNode arguments = kg_tl_arguments(x->s, sum, "sum");
            return !ts_node_is_null(arguments) && kg_node_says(x->s, kg_child(arguments, 0), x->one.name);
        }
        if (!kg_node_is(n, "identifier")) return false;
        char *name = kg_node_text(x->s, n);
        const TSNode set = set_once(x, name);
        free(name);
        if (ts_node_is_null(set)) return false;
        n = kg_field_of(kg_assignment_in(set), "right");
    }
    return false;
}

// What a name of the statements that both loops have stands for: its last assignment there.
static TSNode in_both(const kg_pair *x, TSNode n, uint32_t shared) {
    TSNode found = n;
    char *name = kg_node_text(x->s, n);
    for (uint32_t i = 0; i < shared && kg_node_is(n, "identifier"); i++) {
        const TSNode a = kg_assignment_in(kg_statement(x->two.body, i));
        if (kg_node_says(x->s, kg_field_of(a, "left"), name)) found = kg_field_of(a, "right");
    }
    free(name);
    return kg_bare(found);
}

// column < bound, of column = start + tl.arange(0, block): so that each lane sees every block-th column.
static bool is_inside(const kg_pair *x, TSNode mask, uint32_t shared) {
    const TSNode compared = in_both(x, kg_bare(mask), shared);
    if (!kg_node_is(compared, "comparison_operator") || kg_children(compared) != 2 ||
        !kg_node_says(x->s, ts_node_child(compared, 1), "<") || !kg_node_says(x->s, kg_child(compared, 1), x->bound))
        return false;
    char *lanes = kg_format("%s + tl.arange(0, %s)", x->start, x->block);
    const bool is = kg_node_says(x->s, in_both(x, kg_child(compared, 0), shared), lanes);
    free(lanes);
    return is;
}

int kg_pair_welford(kg_pair *x, uint32_t shared) {
    const kg_syntax *s = x->s;
    TSNode mask, d;
    if (!masked_square(x, shared, &mask, &d)) return 1;
    const TSNode mean = kg_field_of(d, "right");
    if (!is_mean(x, mean) || !kg_pair_same_value(x, kg_field_of(d, "left"), shared) ||
        !kg_pass_stays(x, &x->two, mask, shared) || !is_inside(x, mask, shared))
        return 1;
    const TSNode zero = kg_pair_beginning(x, x->one.name, x->one.loop),
                 again = kg_pair_beginning(x, x->two.name, x->two.loop);
    const bool reused = !strcmp(x->one.name, x->two.name);
    const size_t from = ts_node_start_byte(x->one.loop), to = ts_node_start_byte(x->two.loop);
    if (ts_node_is_null(zero) || ts_node_is_null(again) || (reused && kg_node_before(again, x->one.loop)) ||
        kg_pair_uses(x, from, to, x->one.name) != 2u + reused)
        return kg_not_repaired(x->why, "what the loops carry is used in more places");
    char *zeros = kg_node_text(s, kg_field_of(kg_assignment_in(zero), "right")), *in = kg_indent_of(s, x->one.fold);
    char *outer = kg_indent_of(s, x->one.loop), *e = kg_whole_text(s, x->one.folded), *m = kg_whole_text(s, mask);
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
    if (!kg_node_before(again, x->one.loop)) kg_pair_drop(x, again);
    if (!kg_pair_uses(x, ts_node_end_byte(zero), from, x->one.name)) kg_pair_drop(x, zero);
    kg_edit_node(x->out, x->two.loop, "%s -= %s\n%s%s = %s + %s * %s * %s", center, about, outer, x->two.name, spread,
                 seen, center, center);
    free(zeros), free(in), free(outer), free(e), free(m), free(about), free(value_name), free(change), free(center);
    free(spread), free(seen);
    return 0;
}
