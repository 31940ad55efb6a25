// A Triton kernel that holds a row in one block, statement by statement: is it one that can go through the row in
// parts?
#include <stdlib.h>
#include <string.h>

#include "diagnose/row.h"

#define MOST KG_TRITON_MOST

// The names that a statement sets, in order; owned. Returns how many.
size_t kg_row_names_set(const kg_row *x, TSNode n, char **out, size_t most) {
    kg_captures found[KG_ROW_NAMES];
    const size_t k = kg_matches(
        x->s, n, "[(assignment left: (identifier) @at) (augmented_assignment left: (identifier) @at)]", found, most);
    for (size_t i = 0; i < k; i++) out[i] = kg_node_text(x->s, *kg_captured(&found[i], "at"));
    return k;
}

static bool is_block(const kg_row *x, const char *name) {
    bool is = false;
    for (size_t v = 0; v < x->n_vectors; v++) is |= !strcmp(x->vectors[v], name);
    return is;
}

// Whether a statement before the k-th says the name, of those that make blocks or of those that make numbers.
static bool used_before(const kg_row *x, size_t k, bool vectors, const char *name) {
    bool is = false;
    for (size_t p = 0; p < k; p++) is |= x->all[p].vector == vectors && kg_uses(x->s, x->all[p].node, name) > 0;
    return is;
}

static int set_vectors(kg_row *x, TSNode n, size_t from) {
    char *names[8];
    const size_t k = kg_row_names_set(x, n, names, 8);
    int rc = 0;
    for (size_t i = 0; i < k; i++) {
        const bool known = is_block(x, names[i]);
        // Before it was one number for the whole row.
        if (!known && used_before(x, from, false, names[i]))
            rc = kg_not_repaired(x->why, "%s is a number first and a block after", names[i]);
        if (!known && x->n_vectors < KG_ROW_NAMES) x->vectors[x->n_vectors++] = names[i];
        else free(names[i]);
    }
    return rc;
}

// A number that changes after a block was computed with it would change what is computed again.
static int numbers_stay(kg_row *x, TSNode n, size_t at) {
    char *names[8];
    const size_t k = kg_row_names_set(x, n, names, 8);
    int rc = 0;
    for (size_t i = 0; i < k; i++) {
        if (is_block(x, names[i]) || used_before(x, at, true, names[i])) rc = -1;
        if (rc && !*x->why) kg_not_repaired(x->why, "%s changes after it was used for a block", names[i]);
        free(names[i]);
    }
    return rc;
}

static bool is_call_of(const kg_row *x, TSNode n, const char *name) {
    return kg_node_is(n, "call") && kg_node_says(x->s, kg_field_of(n, "function"), name);
}

static int read_statement(kg_row *x, TSNode n) {
    kg_row_statement *st = &x->all[x->n];
    TSNode inner = kg_child(n, 0), some[8];
    *st = (kg_row_statement){.node = n};
    if (kg_node_is(n, "if_statement")) {
        st->vector = kg_row_vector_in(x, kg_field_of(n, "consequence"));
        if (kg_row_vector_in(x, kg_field_of(n, "condition")))
            return kg_not_repaired(x->why, "a branch depends on the row's values");
        if (kg_row_reductions(x, n, some, 8)) return kg_not_repaired(x->why, "a reduction stands in a branch");
        const TSNode alternative = kg_field_of(n, "alternative");
        if (!ts_node_is_null(alternative) && (st->vector || kg_row_vector_in(x, alternative)))
            return kg_not_repaired(x->why, "a branch has an else");
        if (st->vector && !ts_node_is_null(kg_first(x->s, n, "((identifier) @at (#any-of? @at \"store\" \"return\"))")))
            return kg_not_repaired(x->why, "a store stands in a branch");
        if (st->vector &&
            !ts_node_is_null(kg_first(x->s, n, "[(for_statement) (while_statement) (return_statement)] @at")))
            return kg_not_repaired(x->why, "a branch holds a loop");
    } else if (kg_node_is(n, "expression_statement") && is_call_of(x, inner, "tl.store")) {
        st->store = st->vector = kg_row_vector_in(x, inner);
    } else if (kg_node_is(n, "expression_statement") &&
               (kg_node_is(inner, "assignment") || kg_node_is(inner, "augmented_assignment"))) {
        if (!kg_node_is(kg_field_of(inner, "left"), "identifier"))
            return kg_not_repaired(x->why, "a statement sets several names at once");
        st->vector = kg_row_vector_in(x, kg_field_of(inner, "right")) ||
                     (kg_node_is(inner, "augmented_assignment") && kg_row_vector_in(x, kg_field_of(inner, "left")));
    } else {
        return kg_not_repaired(x->why, "the kernel is no straight line of assignments and stores");
    }
    if (kg_row_elementwise(x, n)) return -1;
    x->n++;
    if (st->vector) return set_vectors(x, n, x->n - 1);
    return numbers_stay(x, n, x->n - 1);
}

// column = tl.arange(0, BLOCK), the only use of BLOCK; every comparison of column is with the same bound.
static int read_lanes(kg_row *x) {
    kg_captures found[MOST];
    if (kg_matches(x->s, x->body,
                   "((expression_statement (assignment left: (identifier) @a right: (call function: (_) @b arguments: "
                   "(argument_list . (integer) @d . (identifier) @c .)))) @at (#eq? @b \"tl.arange\") (#eq? @d \"0\"))",
                   found, 2) != 1)
        return kg_not_repaired(x->why, "no block of one dimension over a row");
    x->lanes = *kg_captured(&found[0], "at");
    x->column = kg_node_text(x->s, *kg_captured(&found[0], "a"));
    x->block = kg_node_text(x->s, *kg_captured(&found[0], "c"));
    if (!ts_node_eq(ts_node_parent(x->lanes), x->body) || kg_uses(x->s, x->body, x->block) != 1 ||
        kg_uses(x->s, x->body, "arange") != 1)
        return kg_not_repaired(x->why, "no block of one dimension over a row");
    char *query = kg_format("((comparison_operator . (identifier) @a . (_) @at .) @b (#eq? @a \"%s\"))", x->column);
    const size_t n = kg_matches(x->s, x->body, query, found, MOST);
    free(query);
    for (size_t i = 0; i < n; i++) {
        const TSNode bound = *kg_captured(&found[i], "at");
        if (!kg_node_is(bound, "identifier") ||
            !kg_node_says(x->s, ts_node_child(*kg_captured(&found[i], "b"), 1), "<"))
            return kg_not_repaired(x->why, "a mask is no column < n");
        char *text = kg_node_text(x->s, bound);
        const bool other = x->bound && strcmp(text, x->bound) != 0;
        free(x->bound);
        x->bound = text;
        if (other) return kg_not_repaired(x->why, "columns are compared with more than one bound");
    }
    return x->bound ? 0 : kg_not_repaired(x->why, "no mask says how long the row is");
}

int kg_row_read(kg_row *x) {
    if (read_lanes(x)) return -1;
    for (uint32_t i = 0; i < kg_children(x->body); i++) {
        const TSNode n = kg_child(x->body, i), inner = kg_child(n, 0);
        if (kg_node_is(n, "comment") || (kg_node_is(n, "expression_statement") && kg_node_is(inner, "string")))
            continue;
        if (x->n == KG_ROW_STATEMENTS) return kg_not_repaired(x->why, "the kernel is long");
        if (ts_node_eq(n, x->lanes)) {
            x->vectors[x->n_vectors++] = kg_strdup(x->column);
            x->all[x->n++] = (kg_row_statement){.node = n, .vector = true};
        } else if (read_statement(x, n)) {
            return -1;
        }
    }
    for (size_t i = 0, k = 0; i < x->n; i++) {
        TSNode some[8];
        k += kg_row_reductions(x, x->all[i].node, some, 8);
        if (i + 1 == x->n && !k) return kg_not_repaired(x->why, "the kernel reduces nothing");
    }
    return 0;
}
