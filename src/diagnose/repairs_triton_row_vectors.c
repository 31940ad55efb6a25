// What of a Triton kernel has an element a column of its row: by the names that hold such blocks.
#include <string.h>

#include "diagnose/row.h"

bool kg_row_is_vector(const kg_row *x, TSNode identifier) {
    for (size_t i = 0; i < x->n_vectors; i++)
        if (kg_node_says(x->s, identifier, x->vectors[i])) return true;
    return false;
}

// tl.sum(e), tl.max(e, 0), tl.min(e, axis=0) of a vector: its name, static; NULL: something else.
const char *kg_row_reduction(const kg_row *x, TSNode n) {
    static const char *const names[] = {"sum", "max", "min"};
    if (!kg_node_is(n, "call") || !kg_node_is(kg_field_of(n, "function"), "attribute")) return NULL;
    const TSNode f = kg_field_of(n, "function"), arguments = kg_field_of(n, "arguments");
    if (!kg_node_says(x->s, kg_field_of(f, "object"), "tl") || !kg_children(arguments)) return NULL;
    for (size_t i = 0; i < 3; i++)
        if (kg_node_says(x->s, kg_field_of(f, "attribute"), names[i]))
            return kg_row_vector_in(x, kg_child(arguments, 0)) ? names[i] : NULL;
    return NULL;
}

bool kg_row_vector_in(const kg_row *x, TSNode n) {
    if (kg_node_is(n, "identifier")) return kg_row_is_vector(x, n);
    if (kg_node_is(n, "keyword_argument")) return kg_row_vector_in(x, kg_field_of(n, "value"));
    if (kg_node_is(n, "attribute")) return kg_row_vector_in(x, kg_field_of(n, "object"));
    if (kg_row_reduction(x, n)) return false;
    for (uint32_t i = 0; i < kg_children(n); i++)
        if (kg_row_vector_in(x, kg_child(n, i))) return true;
    return false;
}

// What works element by element. Anything else may look at the row as a whole.
static bool by_element(const kg_row *x, TSNode call) {
    static const char *const known[] = {"load",    "where",      "exp",         "exp2",          "log",  "log2",
                                        "sqrt",    "rsqrt",      "abs",         "sin",           "cos",  "floor",
                                        "ceil",    "erf",        "tanh",        "sigmoid",       "fma",  "to",
                                        "maximum", "minimum",    "sqrt_rn",     "div_rn",        "fdiv", "cast",
                                        "store",   "zeros_like", "multiple_of", "max_contiguous"};
    const TSNode f = kg_field_of(call, "function");
    if (!kg_node_is(f, "attribute")) return false;
    const TSNode object = kg_field_of(f, "object"), name = kg_field_of(f, "attribute");
    bool is = false;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) is |= kg_node_says(x->s, name, known[i]);
    const bool method = kg_node_says(x->s, name, "to"),
               library = kg_node_is(object, "identifier") || kg_node_is(object, "attribute");
    return is && (method || library);
}

int kg_row_elementwise(kg_row *x, TSNode n) {
    if (kg_node_is(n, "subscript") && kg_row_vector_in(x, n))
        return kg_not_repaired(x->why, "the block has more than one dimension");
    if (kg_node_is(n, "call") && !kg_row_reduction(x, n) && kg_row_vector_in(x, n) && !by_element(x, n)) {
        char *f = kg_node_text(x->s, kg_field_of(n, "function"));
        kg_not_repaired(x->why, "%s may look at the whole row at once", f);
        free(f);
        return -1;
    }
    if (kg_row_reduction(x, n)) {
        const TSNode arguments = kg_field_of(n, "arguments");
        const uint32_t k = kg_children(arguments);
        const TSNode axis = k > 1 ? kg_child(arguments, 1) : (TSNode){0};
        if (k > 2 || (k == 2 && !kg_node_says(x->s, axis, "0") && !kg_node_says(x->s, axis, "axis=0") &&
                      !kg_node_says(x->s, axis, "axis=-1")))
            return kg_not_repaired(x->why, "a reduction is not along axis 0 alone");
    }
    for (uint32_t i = 0; i < kg_children(n); i++)
        if (kg_row_elementwise(x, kg_child(n, i))) return -1;
    return 0;
}

size_t kg_row_reductions(const kg_row *x, TSNode n, TSNode *out, size_t most) {
    size_t k = 0;
    for (uint32_t i = 0; i < kg_children(n); i++) k += kg_row_reductions(x, kg_child(n, i), out + k, most - k);
    if (k < most && kg_row_reduction(x, n)) out[k++] = n;
    return k;
}

bool kg_row_names_vector(const kg_row *x, TSNode n) {
    for (size_t v = 0; v < x->n_vectors; v++)
        if (kg_uses(x->s, n, x->vectors[v])) return true;
    return false;
}
