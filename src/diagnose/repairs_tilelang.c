// Repairs of TileLang kernels.
#include <stdlib.h>

#include "diagnose/repair.h"

#define MOST 64

// The default of a parameter of the function around: null where it has none, or is not a number.
static TSNode default_of(const kg_syntax *s, TSNode in, const char *name) {
    for (TSNode f = ts_node_parent(in); !ts_node_is_null(f); f = ts_node_parent(f)) {
        if (!kg_node_is(f, "function_definition")) continue;
        const TSNode parameters = kg_field_of(f, "parameters");
        for (uint32_t i = 0; i < kg_children(parameters); i++) {
            const TSNode p = kg_child(parameters, i), value = kg_field_of(p, "value");
            if (ts_node_is_null(kg_field_of(p, "name")) || !kg_node_says(s, kg_field_of(p, "name"), name)) continue;
            return kg_node_is(value, "integer") ? value : (TSNode){0};
        }
    }
    return (TSNode){0};
}

static int threads(const kg_syntax *s, size_t variant, kg_edits *out, char **why) {
    static const int counts[] = {256, 512, 1024, 128};
    kg_captures kernels[MOST];
    const size_t n = kg_matches(s, ts_tree_root_node(s->tree), TILELANG_KERNELS, kernels, MOST);
    for (size_t i = 0; i < n; i++) {
        const TSNode arguments = *kg_captured(&kernels[i], "b"), given = kg_keyword(s, arguments, "threads");
        char *text = ts_node_is_null(given) ? NULL : kg_node_text(s, given);
        // Two kernels of one function have one default.
        const TSNode value =
            text && !kg_node_is(given, "integer") ? default_of(s, *kg_captured(&kernels[i], "at"), text) : given;
        bool done = false;
        for (size_t k = 0; k < out->n && text && !ts_node_is_null(value); k++)
            done |= out->items[k].from == ts_node_start_byte(value);
        if (!text) kg_edit_argument(out, arguments, "threads=%d", counts[variant]);
        else if (!ts_node_is_null(value) && !done) kg_edit_node(out, value, "%d", counts[variant]);
        free(text);
    }
    return out->n ? 0 : kg_not_repaired(why, "no kernel whose number of threads is said by a number");
}

static const kg_repair_rule rules[] = {
    {.info = {.id = "tilelang-reduce",
              .answers = "tilelang-serial-loop tilelang-serial-product",
              .languages = KG_IN(KG_LANG_TILELANG),
              .variants = 3,
              .what = "the serial loop goes in blocks that all threads share, and ends in T.reduce_*"},
     .make = kg_tilelang_reduce},
    {.info = {.id = "tilelang-threads",
              .answers = "*",
              .languages = KG_IN(KG_LANG_TILELANG),
              .variants = 4,
              .what = "another number of threads a block"},
     .make = threads},
};

const kg_repair_table kg_repairs_tilelang = {rules, sizeof rules / sizeof *rules};
