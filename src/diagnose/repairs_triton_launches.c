// A launch of a Triton kernel that holds a row in one block: short rows stay there, long ones go to another kernel.
#include <stdlib.h>
#include <string.h>

#include "diagnose/repair.h"

// BLOCK=triton.next_power_of_2(n), or a name that holds it: then the row is in one block.
static bool holds_the_row(const kg_syntax *s, TSNode value) {
    char *text = kg_node_text(s, value);
    bool is = strstr(text, "next_power_of_2") && !strstr(text, "min(");
    if (kg_node_is(value, "identifier")) {
        kg_captures found[2];
        if (kg_assigned(s, ts_tree_root_node(s->tree), text, found, 2) == 1) {
            char *from = kg_node_text(s, *kg_captured(&found[0], "at"));
            is = strstr(from, "next_power_of_2") && !strstr(from, "min(");
            free(from);
        }
    }
    free(text);
    return is;
}

int kg_triton_split_launch(const kg_syntax *s, const kg_captures *launch, const char *kernel, const char *streamed,
                           const char *block_name, const kg_row_split *how, kg_edits *out, char **why) {
    const TSNode call = *kg_captured(launch, "at"), arguments = *kg_captured(launch, "c");
    const TSNode value = kg_keyword(s, arguments, block_name), warps = kg_keyword(s, arguments, "num_warps");
    const size_t from = ts_node_start_byte(call), to = ts_node_end_byte(call);
    if (ts_node_is_null(value) || !holds_the_row(s, value))
        return kg_not_repaired(why, "the launch does not make the block the next power of two of the row");
    char *indent = kg_indent_of(s, call);
    const bool own_line =
        kg_line_start(s, call) + strlen(indent) == from && kg_node_is(ts_node_parent(call), "expression_statement");
    if (!own_line) {
        free(indent);
        return kg_not_repaired(why, "the launch is no statement of its own");
    }
    kg_edits edits = {0};
    kg_edit_node(&edits, *kg_captured(launch, "a"), "%s", streamed);
    kg_edit_node(&edits, value, "%ld", how->block);
    if (!ts_node_is_null(warps)) kg_edit_node(&edits, warps, "%ld", how->warps);
    else {
        const size_t at = ts_node_end_byte(ts_node_parent(value));
        kg_edit_replace(&edits, at, at, ", num_warps=%ld", how->warps);
    }
    char *block = kg_node_text(s, value), *plain = kg_node_text(s, call), *other = kg_rewritten(s, &edits, from, to);
    kg_text t = {0};
    kg_text_add(&t, "if %s <= %ld:\n%s    ", block, how->longest, indent);
    kg_add_deeper(&t, plain, 4);
    kg_text_add(&t, "\n%selse:  # a long row goes block by block\n%s    ", indent, indent);
    // Arguments that stand below the first stay there.
    const bool below = s->text[ts_node_start_byte(arguments) + 1] != '\n';
    if (other) kg_add_deeper(&t, other, 4 + (below ? (int)(strlen(streamed) - strlen(kernel)) : 0));
    kg_edit_replace(out, from, to, "%s", t.data);
    const bool made = other != NULL;
    kg_edits_free(&edits);
    kg_text_free(&t);
    free(block), free(plain), free(other), free(indent);
    return made ? 0 : kg_not_repaired(why, "the launch is not understood");
}
