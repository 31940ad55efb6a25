// Repairs of what a Python candidate does around its kernels.
#include <stdlib.h>
#include <string.h>

#include "diagnose/repair.h"

#define LOADS "((call function: (attribute attribute: (identifier) @a)) @at (#eq? @a \"load\"))"

static bool inside_kernel(const kg_syntax *s, TSNode n) {
    kg_captures kernels[32];
    const size_t m = kg_matches(s, ts_tree_root_node(s->tree), TRITON_DEFINITION, kernels, 32);
    for (size_t i = 0; i < m; i++) {
        const TSNode body = *kg_captured(&kernels[i], "c");
        if (ts_node_start_byte(n) >= ts_node_start_byte(body) && ts_node_end_byte(n) <= ts_node_end_byte(body))
            return true;
    }
    return false;
}

// A load that is not converted right there: its parent is no attribute `.to`.
static bool converted(const kg_syntax *s, TSNode load) {
    const TSNode p = ts_node_parent(load);
    return kg_node_is(p, "attribute") && kg_node_says(s, kg_field_of(p, "attribute"), "to");
}

// x.float() before the launch becomes x, and every load in the kernels converts in registers.
static int convert_in_kernel(const kg_syntax *s, size_t variant, kg_edits *out, char **why) {
    (void)variant;
    kg_captures casts[32], kernels[32], loads[64];
    const TSNode root = ts_tree_root_node(s->tree);
    // Two patterns: a predicate is asked of all that its pattern can match.
    size_t n = kg_matches(
               s, root,
               "((call function: (attribute object: (_) @a attribute: (identifier) @b) arguments: "
               "(argument_list) @c) @at (#eq? @b \"float\") (#eq? @c \"()\")) ((call function: (attribute "
               "object: (_) @a attribute: (identifier) @b) arguments: (argument_list . (attribute) @c .)) @at "
               "(#any-of? @b \"to\" \"type\") (#eq? @c \"torch.float32\"))",
               casts, 32),
           made = 0;
    for (size_t i = 0; i < n; i++) {
        const TSNode at = *kg_captured(&casts[i], "at"), object = *kg_captured(&casts[i], "a");
        if (inside_kernel(s, at)) continue;
        char *text = kg_node_text(s, object);
        kg_edit_node(out, at, "%s", text);
        free(text);
        made++;
    }
    if (!made) return kg_not_repaired(why, "nothing is converted to float32 outside of the kernels");
    n = kg_matches(s, root, TRITON_DEFINITION, kernels, 32);
    for (size_t i = 0; i < n; i++) {
        const size_t m = kg_matches(s, *kg_captured(&kernels[i], "c"), LOADS, loads, 64);
        for (size_t k = 0; k < m; k++) {
            const TSNode load = *kg_captured(&loads[k], "at");
            const size_t end = ts_node_end_byte(load);
            if (!converted(s, load)) kg_edit_replace(out, end, end, ".to(tl.float32)");
        }
    }
    return 0;
}

// out = torch.empty(..., dtype=torch.float32) ... return out.to(x.dtype): the output in its own dtype at once.
static int store_native(const kg_syntax *s, size_t variant, kg_edits *out, char **why) {
    (void)variant;
    kg_captures returns[16];
    const TSNode root = ts_tree_root_node(s->tree);
    const size_t n =
        kg_matches(s, root,
                   "(return_statement (call function: (attribute object: (identifier) @a attribute: "
                   "(identifier) @b) arguments: (argument_list . (_) @c .)) @at (#any-of? @b \"to\" \"type\"))",
                   returns, 16);
    for (size_t i = 0; i < n; i++) {
        char *name = kg_node_text(s, *kg_captured(&returns[i], "a")),
             *dtype = kg_node_text(s, *kg_captured(&returns[i], "c"));
        char *query = kg_format(
            "((assignment left: (identifier) @a right: (call function: (attribute attribute: "
            "(identifier) @b) arguments: (argument_list (keyword_argument name: (identifier) @c value: "
            "(attribute) @at)))) (#eq? @a \"%s\") (#match? @b \"^(empty|zeros)\") (#eq? @c \"dtype\") "
            "(#eq? @at \"torch.float32\"))",
            name);
        const TSNode made = kg_first(s, root, query);
        if (!ts_node_is_null(made) && strchr(dtype, '.')) {
            kg_edit_node(out, made, "%s", dtype);
            kg_edit_node(out, *kg_captured(&returns[i], "at"), "%s", name);
        }
        free(query);
        free(name);
        free(dtype);
    }
    return out->n ? 0 : kg_not_repaired(why, "no output is made in float32 and converted when it is returned");
}

static const kg_repair_rule rules[] = {
    {.info = {.id = "convert-in-kernel",
              .answers = "converted-outside",
              .languages = KG_IN(KG_LANG_TRITON),
              .variants = 1,
              .what = "inputs are read in their own dtype and converted in registers"},
     .make = convert_in_kernel},
    {.info = {.id = "store-native",
              .answers = "converted-back",
              .languages = KG_IN(KG_LANG_TRITON) | KG_IN(KG_LANG_TILELANG),
              .variants = 1,
              .what = "the output is written in its own dtype"},
     .make = store_native},
};

const kg_repair_table kg_repairs_python = {rules, sizeof rules / sizeof *rules};
