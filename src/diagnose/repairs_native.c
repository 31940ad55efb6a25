// Repairs of C.
#include <stdlib.h>
#include <string.h>

#include "diagnose/repair.h"

// Loops that no other loop holds.
static bool outermost(TSNode loop) {
    for (TSNode p = ts_node_parent(loop); !ts_node_is_null(p); p = ts_node_parent(p))
        if (kg_node_is(p, "for_statement") || kg_node_is(p, "while_statement") || kg_node_is(p, "do_statement"))
            return false;
    return true;
}

// Declared within `loop`, so that every thread has its own.
static bool declared_inside(const kg_syntax *s, TSNode loop, const char *name) {
    kg_captures found[64];
    const size_t n = kg_matches(s, loop,
                                "[(declaration declarator: (init_declarator declarator: (_) @at)) (declaration "
                                "declarator: (identifier) @at) (declaration declarator: (array_declarator declarator: "
                                "(identifier) @at))]",
                                found, 64);
    for (size_t i = 0; i < n; i++) {
        const TSNode d = *kg_captured(&found[i], "at");
        char *text = kg_node_text(s, d);
        const char *bare = text + strspn(text, "* ");
        const bool same =
            strcmp(bare, name) == 0 || (strncmp(bare, name, strlen(name)) == 0 && bare[strlen(name)] == '[');
        free(text);
        if (same) return true;
    }
    return false;
}

// What the loop changes by name must be its own; through pointers and calls it writes what its counter picks, and the
// judge sees whether that is so.
static int writes_only_its_own(const kg_syntax *s, TSNode loop, char **why) {
    kg_captures found[128];
    const size_t n = kg_matches(s, loop,
                                "[(assignment_expression left: (identifier) @at) (update_expression argument: "
                                "(identifier) @at)]",
                                found, 128);
    for (size_t i = 0; i < n; i++) {
        char *name = kg_node_text(s, *kg_captured(&found[i], "at"));
        const bool own = declared_inside(s, loop, name);
        if (!own) kg_not_repaired(why, "the loop changes %s, which is declared outside of it", name);
        free(name);
        if (!own) return -1;
    }
    return 0;
}

static int parallel_loops(const kg_syntax *s, size_t variant, kg_edits *out, char **why) {
    (void)variant;
    kg_captures loops[64];
    const TSNode root = ts_tree_root_node(s->tree);
    if (!ts_node_is_null(kg_first(s, root, "((preproc_call) @at (#match? @at \"pragma omp\"))")))
        return kg_not_repaired(why, "it uses OpenMP already");
    const size_t n = kg_matches(s, root, "(for_statement initializer: (declaration) body: (_)) @at", loops, 64);
    size_t made = 0;
    for (size_t i = 0; i < n; i++) {
        const TSNode loop = *kg_captured(&loops[i], "at");
        char *mine = NULL;
        if (!outermost(loop)) continue;
        // Only what works on the outputs is worth threads.
        if (ts_node_is_null(kg_first(s, loop, "((identifier) @at (#match? @at \"^kg_put\"))"))) continue;
        if (!ts_node_is_null(kg_first(s, loop, "[(break_statement) (return_statement) (goto_statement)] @at"))) {
            // A break of an inner loop or switch would do; telling them apart is not worth it here.
            kg_not_repaired(&mine, "the loop is left by break, return or goto");
        } else if (writes_only_its_own(s, loop, &mine) == 0) {
            char *indent = kg_indent_of(s, loop);
            kg_edit_replace(out, kg_line_start(s, loop), kg_line_start(s, loop), "%s#pragma omp parallel for\n",
                            indent);
            free(indent);
            made++;
        }
        kg_keep_first(why, mine);
    }
    return kg_repaired(made, why, "no outermost loop over the outputs");
}

static const kg_repair_rule rules[] = {
    {.info = {.id = "c-parallel-loops",
              .answers = "*",
              .languages = KG_IN(KG_LANG_C),
              .variants = 1,
              .what = "the outermost loops over the outputs run on all cores"},
     .make = parallel_loops},
};

const kg_repair_table kg_repairs_native = {rules, sizeof rules / sizeof *rules};
