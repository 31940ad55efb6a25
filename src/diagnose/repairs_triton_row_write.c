// The kernel that goes through a row in parts: a loop over blocks for every reduction, one for what is stored.
#include <stdlib.h>
#include <string.h>

#include "diagnose/row.h"

// The vector statements before `at` that the names in `wanted` need, marked.
static void mark_needed(const kg_row *x, size_t at, TSNode wanted, bool *needed) {
    bool names[KG_ROW_NAMES] = {false};
    for (size_t v = 0; v < x->n_vectors; v++) names[v] = kg_uses(x->s, wanted, x->vectors[v]) > 0;
    for (size_t i = at; i-- > 0;) {
        if (!x->all[i].vector || x->all[i].store) continue;
        char *set[8];
        const size_t k = kg_row_names_set(x, x->all[i].node, set, 8);
        bool wants = needed[i];
        for (size_t v = 0; v < x->n_vectors; v++)
            for (size_t j = 0; j < k; j++) wants |= names[v] && !strcmp(set[j], x->vectors[v]);
        for (size_t j = 0; j < k; j++) free(set[j]);
        if (!wants) continue;
        needed[i] = true;
        for (size_t v = 0; v < x->n_vectors; v++) names[v] |= kg_uses(x->s, x->all[i].node, x->vectors[v]) > 0;
    }
}

static void open_loop(kg_row *x) {
    kg_text_add(&x->out, "    for %s in range(0, %s, %s):\n        %s = %s + tl.arange(0, %s)\n", x->start, x->bound,
                x->block, x->column, x->start, x->block);
}

static void add_marked(kg_row *x, const bool *needed, size_t at) {
    for (size_t i = 0; i < at; i++) {
        if (!needed[i] || ts_node_eq(x->all[i].node, x->lanes)) continue;
        kg_text_add(&x->out, "        ");
        kg_add_deeper(&x->out, x->all[i].text, 4);
        kg_text_add(&x->out, "\n");
    }
}

// e.to(T) within n: the last T that can stand before the loop; owned.
static char *converted_to(const kg_row *x, TSNode n) {
    kg_captures found[8];
    const size_t k = kg_matches(
        x->s, n,
        "((call function: (attribute attribute: (identifier) @a) arguments: (argument_list . (_) @at .)) (#eq? @a \"to\"))",
        found, 8);
    for (size_t i = k; i-- > 0;)
        if (!kg_row_names_vector(x, *kg_captured(&found[i], "at")))
            return kg_node_text(x->s, *kg_captured(&found[i], "at"));
    return NULL;
}

// The dtype of what is reduced: what it was converted to, else what the pointer loads. Owned; NULL: not known.
static char *dtype_of(const kg_row *x, TSNode e, const bool *needed, size_t at) {
    char *type = converted_to(x, e);
    for (size_t i = at; i-- > 0 && !type;)
        if (needed[i]) type = converted_to(x, x->all[i].node);
    for (size_t i = at + 1; i-- > 0 && !type;) {
        if (i < at && !needed[i]) continue;
        TSNode from =
            kg_first(x->s, i == at ? e : x->all[i].node,
                     "((call function: (attribute attribute: (identifier) @a) arguments: (argument_list . (_) "
                     "@at)) (#eq? @a \"load\"))");
        while (kg_node_is(from, "binary_operator")) from = kg_field_of(from, "left");
        if (!kg_node_is(from, "identifier") || kg_row_is_vector(x, from)) continue;
        char *pointer = kg_node_text(x->s, from);
        type = kg_format("%s.dtype.element_ty", pointer);
        free(pointer);
    }
    return type;
}

// One pass: `e`, the argument of a reduction, whose text is given, folded block by block. Returns the block's name;
// owned.
static char *add_pass(kg_row *x, const char *f, TSNode e, const char *text, size_t at) {
    bool needed[KG_ROW_STATEMENTS] = {false};
    mark_needed(x, at, e, needed);
    char *type = dtype_of(x, e, needed, at), *wanted = kg_format("row_%s_block", f);
    char *name = type ? kg_new_name(x->s, &x->names, wanted) : NULL;
    free(wanted);
    if (!name) {
        kg_not_repaired(x->why, "the dtype of what is reduced is not known");
        return NULL;
    }
    const bool sum = !strcmp(f, "sum");
    if (sum) kg_text_add(&x->out, "    %s = tl.zeros([%s], %s)\n", name, x->block, type);
    else
        kg_text_add(&x->out, "    %s = tl.full([%s], float(\"%sinf\"), %s)\n", name, x->block,
                    strcmp(f, "max") ? "" : "-", type);
    open_loop(x);
    add_marked(x, needed, at);
    kg_text_add(&x->out, sum ? "        %s += " : "        %s = tl.%simum(%s, ", name, f, name);
    kg_add_deeper(&x->out, text, 4);
    kg_text_add(&x->out, sum ? "\n" : ")\n");
    free(type);
    return name;
}

// An edit takes the place of those inside of it.
static void replace_whole(kg_edits *e, TSNode n, const char *text) {
    size_t kept = 0;
    for (size_t i = 0; i < e->n; i++) {
        if (e->items[i].from >= ts_node_start_byte(n) && e->items[i].to <= ts_node_end_byte(n)) free(e->items[i].text);
        else e->items[kept++] = e->items[i];
    }
    e->n = kept;
    kg_edit_node(e, n, "%s", text);
}

static char *text_of(const kg_row *x, const kg_edits *edits, TSNode n) {
    kg_edits inside = {0};
    for (size_t i = 0; i < edits->n; i++)
        if (edits->items[i].from >= ts_node_start_byte(n) && edits->items[i].to <= ts_node_end_byte(n))
            kg_edit_replace(&inside, edits->items[i].from, edits->items[i].to, "%s", edits->items[i].text);
    char *text = kg_rewritten(x->s, &inside, ts_node_start_byte(n), ts_node_end_byte(n));
    kg_edits_free(&inside);
    return text;
}

// Its reductions as passes before it. In a number's statement the reduction is of the block that the pass leaves; what
// is computed again in every block gets a number.
static int add_reductions(kg_row *x, size_t at) {
    TSNode found[8];
    kg_row_statement *st = &x->all[at];
    kg_edits edits = {0};
    const size_t n = kg_row_reductions(x, st->node, found, 8);
    int rc = n < 8 ? 0 : kg_not_repaired(x->why, "many reductions in one statement");
    for (size_t i = 0; i < n && !rc; i++) {
        const TSNode e = kg_child(kg_field_of(found[i], "arguments"), 0);
        const char *f = kg_row_reduction(x, found[i]);
        bool inner = st->vector;
        for (size_t k = i + 1; k < n; k++)
            inner |= ts_node_start_byte(found[k]) <= ts_node_start_byte(found[i]) &&
                     ts_node_end_byte(found[k]) >= ts_node_end_byte(found[i]);
        char *text = text_of(x, &edits, e), *blocks = add_pass(x, f, e, text, at);
        if (!blocks) {
            rc = -1;
        } else if (inner) {
            char *plain = kg_format("row_%s", f), *number = kg_new_name(x->s, &x->names, plain);
            kg_text_add(&x->out, "    %s = tl.%s(%s, 0)\n", number, f, blocks);
            replace_whole(&edits, found[i], number);
            free(plain), free(number);
        } else {
            replace_whole(&edits, e, blocks);
        }
        free(text), free(blocks);
    }
    if (!rc) st->text = text_of(x, &edits, st->node);
    kg_edits_free(&edits);
    return rc;
}

static void add_stores(kg_row *x) {
    bool needed[KG_ROW_STATEMENTS] = {false}, any = false;
    for (size_t i = x->n; i-- > 0;)
        if (x->all[i].store) {
            mark_needed(x, i, x->all[i].node, needed);
            needed[i] = any = true;
        }
    if (!any) return;
    open_loop(x);
    add_marked(x, needed, x->n);
}

int kg_row_write(kg_row *x) {
    bool numbers = false;
    for (size_t i = 0; i < x->n; i++) {
        if (add_reductions(x, i)) return -1;
        numbers |= strcmp(x->all[i].text, "") != 0;
        if (x->all[i].vector) continue;
        kg_text_add(&x->out, "    ");
        kg_add_deeper(&x->out, x->all[i].text, 0);
        kg_text_add(&x->out, "\n");
    }
    add_stores(x);
    return numbers ? 0 : -1;
}
