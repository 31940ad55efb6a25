// Two loops of a Triton kernel over the same row become one: largest and sum of exponentials (online softmax), mean and
// spread about it (Welford's update in every lane, merged at the end), or two folds that do not need each other.
#include <stdlib.h>
#include <string.h>

#include "diagnose/passes.h"

#define MOST KG_TRITON_MOST

// name = tl.zeros(...) goes before the first loop, when it stands behind.
static bool move_beginning(const kg_pair *x, TSNode st) {
    if (ts_node_is_null(st)) return false;
    if (kg_node_before(st, x->one.loop)) return true;
    char *text = kg_node_text(x->s, st), *indent = kg_indent_of(x->s, st);
    const size_t at = kg_line_start(x->s, x->one.loop);
    const bool fits = kg_uses(x->s, st, x->one.name) == 0;
    if (fits) {
        kg_edit_replace(x->out, at, at, "%s%s\n", indent, text);
        kg_pair_drop(x, st);
    }
    free(text), free(indent);
    return fits;
}

// ---- largest, and sum of exponentials -------------------------------------------------------------------------------

static int online(kg_pair *x, uint32_t shared) {
    const kg_syntax *s = x->s;
    const TSNode arguments = kg_tl_arguments(s, kg_pass_meant(x, &x->two, x->two.folded, shared), "exp");
    if (ts_node_is_null(arguments) || kg_children(arguments) != 1) return 1;
    const TSNode d = kg_pass_meant(x, &x->two, kg_child(arguments, 0), shared);
    if (!kg_node_is(d, "binary_operator") || !kg_node_says(s, kg_field_of(d, "operator"), "-")) return 1;
    const TSNode m = kg_field_of(d, "right");
    if (!kg_node_is(m, "identifier") || !kg_pair_same_value(x, kg_field_of(d, "left"), shared)) return 1;
    char *name = kg_node_text(s, m);
    const TSNode set = kg_pair_set(x, name);
    const TSNode largest =
        ts_node_is_null(set) ? set : kg_tl_arguments(s, kg_field_of(kg_assignment_in(set), "right"), "max");
    const bool its = !ts_node_is_null(largest) && kg_node_says(s, kg_child(largest, 0), x->one.name);
    const size_t from = ts_node_start_byte(x->one.loop), to = ts_node_end_byte(x->two.loop);
    if (!its || kg_uses(s, x->body, x->one.name) != 4 || !strcmp(x->one.name, x->two.name) ||
        kg_pair_uses(x, from, to, x->two.name) !=
            1u + kg_node_before(x->one.loop, kg_pair_beginning(x, x->two.name, x->two.loop)) ||
        !move_beginning(x, kg_pair_beginning(x, x->two.name, x->two.loop))) {
        free(name);
        return kg_not_repaired(x->why, "what the loops carry is used in more places");
    }
    char *indent = kg_indent_of(s, x->one.fold);
    char *e = kg_whole_text(s, x->one.folded), *v = kg_new_name(s, &x->names, "value");
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

// ---- folds that do not need each other ------------------------------------------------------------------------------

static int independent(kg_pair *x, uint32_t shared) {
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
    const TSNode zero = kg_pair_beginning(x, x->two.name, x->two.loop);
    const uint32_t uses = 1u + (!ts_node_is_null(zero) && kg_node_before(x->one.loop, zero));
    if (!strcmp(x->one.name, x->two.name) || kg_pair_uses(x, from, to, x->two.name) != uses ||
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
    kg_pair_drop(x, x->two.loop);
    kg_text_free(&t);
    free(in);
    return 0;
}

// ---- pairs ----------------------------------------------------------------------------------------------------------

static int merge(const kg_syntax *s, TSNode body, TSNode first, TSNode second, kg_edits *out, char **why) {
    kg_pair x = {.s = s, .body = body, .out = out, .why = why};
    int rc = kg_pair_read(&x, first, second);
    if (!rc) {
        const uint32_t shared = kg_pair_common(&x);
        if (kg_pair_wanted_later(&x, shared)) {
            rc = kg_not_repaired(why, "what the second loop leaves is used behind it");
        } else {
            rc = !x.two.sum ? 1 : x.one.sum ? kg_pair_welford(&x, shared) : online(&x, shared);
            if (rc > 0) rc = independent(&x, shared);
            if (rc > 0)
                rc = kg_not_repaired(why, "the second loop needs what the first found, in a way that is not known");
        }
    }
    kg_pair_free(&x);
    return rc;
}

static size_t merge_in(const kg_syntax *s, TSNode body, kg_edits *out, char **why) {
    TSNode before_it = {0};
    size_t made = 0;
    for (uint32_t i = 0; i < kg_children(body); i++) {
        const TSNode n = kg_child(body, i);
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
