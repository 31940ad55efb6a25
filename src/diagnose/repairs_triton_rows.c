// A row that a Triton kernel holds in one block is streamed: a loop over blocks of it for every reduction, one for what
// is stored. The kernel stays for short rows; long ones go to a copy of it.
#include <stdlib.h>
#include <string.h>

#include "diagnose/repair.h"

#define MOST       KG_TRITON_MOST
#define STATEMENTS 64
#define NAMES      64

typedef struct {
    TSNode node;
    bool vector;  // what it sets, or stores, has an element a column
    bool store;
    char *text;  // with its reductions replaced
} statement;

typedef struct {
    const kg_syntax *s;
    TSNode definition, body, lanes;  // lanes: column = tl.arange(0, BLOCK)
    char *kernel, *column, *block, *bound, *start;
    char *vectors[NAMES];  // names with an element a column
    size_t n_vectors;
    statement all[STATEMENTS];
    size_t n;
    kg_text out, names;
    char **why;
} row;

static void free_row(row *x) {
    for (size_t i = 0; i < x->n_vectors; i++) free(x->vectors[i]);
    for (size_t i = 0; i < x->n; i++) free(x->all[i].text);
    free(x->kernel), free(x->column), free(x->block), free(x->bound), free(x->start);
    kg_text_free(&x->out);
    kg_text_free(&x->names);
}

// ---- what has an element a column -----------------------------------------------------------------------------------

static bool is_vector(const row *x, TSNode identifier) {
    for (size_t i = 0; i < x->n_vectors; i++)
        if (kg_node_says(x->s, identifier, x->vectors[i])) return true;
    return false;
}

static bool vector_in(const row *x, TSNode n);

// tl.sum(e), tl.max(e, 0), tl.min(e, axis=0) of a vector: its name, static; NULL: something else.
static const char *reduction(const row *x, TSNode n) {
    static const char *const names[] = {"sum", "max", "min"};
    if (!kg_node_is(n, "call") || !kg_node_is(kg_field_of(n, "function"), "attribute")) return NULL;
    const TSNode f = kg_field_of(n, "function"), arguments = kg_field_of(n, "arguments");
    if (!kg_node_says(x->s, kg_field_of(f, "object"), "tl") || !kg_children(arguments)) return NULL;
    for (size_t i = 0; i < 3; i++)
        if (kg_node_says(x->s, kg_field_of(f, "attribute"), names[i]))
            return vector_in(x, kg_child(arguments, 0)) ? names[i] : NULL;
    return NULL;
}

static bool vector_in(const row *x, TSNode n) {
    if (kg_node_is(n, "identifier")) return is_vector(x, n);
    if (kg_node_is(n, "keyword_argument")) return vector_in(x, kg_field_of(n, "value"));
    if (kg_node_is(n, "attribute")) return vector_in(x, kg_field_of(n, "object"));
    if (reduction(x, n)) return false;
    for (uint32_t i = 0; i < kg_children(n); i++)
        if (vector_in(x, kg_child(n, i))) return true;
    return false;
}

// What works element by element. Anything else may look at the row as a whole.
static bool by_element(const row *x, TSNode call) {
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

static int elementwise(row *x, TSNode n) {
    if (kg_node_is(n, "subscript") && vector_in(x, n))
        return kg_not_repaired(x->why, "the block has more than one dimension");
    if (kg_node_is(n, "call") && !reduction(x, n) && vector_in(x, n) && !by_element(x, n)) {
        char *f = kg_node_text(x->s, kg_field_of(n, "function"));
        kg_not_repaired(x->why, "%s may look at the whole row at once", f);
        free(f);
        return -1;
    }
    if (reduction(x, n)) {
        const TSNode arguments = kg_field_of(n, "arguments");
        const uint32_t k = kg_children(arguments);
        const TSNode axis = k > 1 ? kg_child(arguments, 1) : (TSNode){0};
        if (k > 2 || (k == 2 && !kg_node_says(x->s, axis, "0") && !kg_node_says(x->s, axis, "axis=0") &&
                      !kg_node_says(x->s, axis, "axis=-1")))
            return kg_not_repaired(x->why, "a reduction is not along axis 0 alone");
    }
    for (uint32_t i = 0; i < kg_children(n); i++)
        if (elementwise(x, kg_child(n, i))) return -1;
    return 0;
}

static size_t reductions_in(const row *x, TSNode n, TSNode *out, size_t most) {
    size_t k = 0;
    for (uint32_t i = 0; i < kg_children(n); i++) k += reductions_in(x, kg_child(n, i), out + k, most - k);
    if (k < most && reduction(x, n)) out[k++] = n;
    return k;
}

// ---- statements -----------------------------------------------------------------------------------------------------

// The names that a statement sets, in order; owned. Returns how many.
static size_t names_set(const row *x, TSNode n, char **out, size_t most) {
    kg_captures found[NAMES];
    const size_t k = kg_matches(
        x->s, n, "[(assignment left: (identifier) @at) (augmented_assignment left: (identifier) @at)]", found, most);
    for (size_t i = 0; i < k; i++) out[i] = kg_node_text(x->s, *kg_captured(&found[i], "at"));
    return k;
}

static int set_vectors(row *x, TSNode n, size_t from) {
    char *names[8];
    const size_t k = names_set(x, n, names, 8);
    int rc = 0;
    for (size_t i = 0; i < k; i++) {
        bool known = false;
        for (size_t v = 0; v < x->n_vectors; v++) known |= !strcmp(x->vectors[v], names[i]);
        // Before it was one number for the whole row.
        for (size_t p = 0; p < from && !known; p++)
            if (!x->all[p].vector && kg_uses(x->s, x->all[p].node, names[i]))
                rc = kg_not_repaired(x->why, "%s is a number first and a block after", names[i]);
        if (!known && x->n_vectors < NAMES) x->vectors[x->n_vectors++] = names[i];
        else free(names[i]);
    }
    return rc;
}

// A number that changes after a block was computed with it would change what is computed again.
static int numbers_stay(row *x, TSNode n, size_t at) {
    char *names[8];
    const size_t k = names_set(x, n, names, 8);
    int rc = 0;
    for (size_t i = 0; i < k; i++) {
        for (size_t v = 0; v < x->n_vectors; v++)
            if (!strcmp(x->vectors[v], names[i])) rc = -1;
        for (size_t p = 0; p < at; p++)
            if (x->all[p].vector && kg_uses(x->s, x->all[p].node, names[i])) rc = -1;
        if (rc && !*x->why) kg_not_repaired(x->why, "%s changes after it was used for a block", names[i]);
        free(names[i]);
    }
    return rc;
}

static bool is_call_of(const row *x, TSNode n, const char *name) {
    return kg_node_is(n, "call") && kg_node_says(x->s, kg_field_of(n, "function"), name);
}

static int read_statement(row *x, TSNode n) {
    statement *st = &x->all[x->n];
    TSNode inner = kg_child(n, 0), some[8];
    *st = (statement){.node = n};
    if (kg_node_is(n, "if_statement")) {
        st->vector = vector_in(x, kg_field_of(n, "consequence"));
        if (vector_in(x, kg_field_of(n, "condition")))
            return kg_not_repaired(x->why, "a branch depends on the row's values");
        if (reductions_in(x, n, some, 8)) return kg_not_repaired(x->why, "a reduction stands in a branch");
        const TSNode alternative = kg_field_of(n, "alternative");
        if (!ts_node_is_null(alternative) && (st->vector || vector_in(x, alternative)))
            return kg_not_repaired(x->why, "a branch has an else");
        if (st->vector && !ts_node_is_null(kg_first(x->s, n, "((identifier) @at (#any-of? @at \"store\" \"return\"))")))
            return kg_not_repaired(x->why, "a store stands in a branch");
        if (st->vector &&
            !ts_node_is_null(kg_first(x->s, n, "[(for_statement) (while_statement) (return_statement)] @at")))
            return kg_not_repaired(x->why, "a branch holds a loop");
    } else if (kg_node_is(n, "expression_statement") && is_call_of(x, inner, "tl.store")) {
        st->store = st->vector = vector_in(x, inner);
    } else if (kg_node_is(n, "expression_statement") &&
               (kg_node_is(inner, "assignment") || kg_node_is(inner, "augmented_assignment"))) {
        if (!kg_node_is(kg_field_of(inner, "left"), "identifier"))
            return kg_not_repaired(x->why, "a statement sets several names at once");
        st->vector = vector_in(x, kg_field_of(inner, "right")) ||
                     (kg_node_is(inner, "augmented_assignment") && vector_in(x, kg_field_of(inner, "left")));
    } else {
        return kg_not_repaired(x->why, "the kernel is no straight line of assignments and stores");
    }
    if (elementwise(x, n)) return -1;
    x->n++;
    if (st->vector) return set_vectors(x, n, x->n - 1);
    return numbers_stay(x, n, x->n - 1);
}

// ---- the streamed kernel --------------------------------------------------------------------------------------------

// The vector statements before `at` that the names in `wanted` need, marked.
static void mark_needed(const row *x, size_t at, TSNode wanted, bool *needed) {
    bool names[NAMES] = {false};
    for (size_t v = 0; v < x->n_vectors; v++) names[v] = kg_uses(x->s, wanted, x->vectors[v]) > 0;
    for (size_t i = at; i-- > 0;) {
        if (!x->all[i].vector || x->all[i].store) continue;
        char *set[8];
        const size_t k = names_set(x, x->all[i].node, set, 8);
        bool wants = needed[i];
        for (size_t v = 0; v < x->n_vectors; v++)
            for (size_t j = 0; j < k; j++) wants |= names[v] && !strcmp(set[j], x->vectors[v]);
        for (size_t j = 0; j < k; j++) free(set[j]);
        if (!wants) continue;
        needed[i] = true;
        for (size_t v = 0; v < x->n_vectors; v++) names[v] |= kg_uses(x->s, x->all[i].node, x->vectors[v]) > 0;
    }
}

static void open_loop(row *x) {
    kg_text_add(&x->out, "    for %s in range(0, %s, %s):\n        %s = %s + tl.arange(0, %s)\n", x->start, x->bound,
                x->block, x->column, x->start, x->block);
}

static void add_marked(row *x, const bool *needed, size_t at) {
    for (size_t i = 0; i < at; i++) {
        if (!needed[i] || ts_node_eq(x->all[i].node, x->lanes)) continue;
        kg_text_add(&x->out, "        ");
        kg_add_deeper(&x->out, x->all[i].text, 4);
        kg_text_add(&x->out, "\n");
    }
}

static bool names_a_vector(const row *x, TSNode n) {
    for (size_t v = 0; v < x->n_vectors; v++)
        if (kg_uses(x->s, n, x->vectors[v])) return true;
    return false;
}

// e.to(T) within n: the last T that can stand before the loop; owned.
static char *converted_to(const row *x, TSNode n) {
    kg_captures found[8];
    const size_t k = kg_matches(
        x->s, n,
        "((call function: (attribute attribute: (identifier) @a) arguments: (argument_list . (_) @at .)) (#eq? @a \"to\"))",
        found, 8);
    for (size_t i = k; i-- > 0;)
        if (!names_a_vector(x, *kg_captured(&found[i], "at"))) return kg_node_text(x->s, *kg_captured(&found[i], "at"));
    return NULL;
}

// The dtype of what is reduced: what it was converted to, else what the pointer loads. Owned; NULL: not known.
static char *dtype_of(const row *x, TSNode e, const bool *needed, size_t at) {
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
        if (!kg_node_is(from, "identifier") || is_vector(x, from)) continue;
        char *pointer = kg_node_text(x->s, from);
        type = kg_format("%s.dtype.element_ty", pointer);
        free(pointer);
    }
    return type;
}

// One pass: `e`, the argument of a reduction, whose text is given, folded block by block. Returns the block's name;
// owned.
static char *add_pass(row *x, const char *f, TSNode e, const char *text, size_t at) {
    bool needed[STATEMENTS] = {false};
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

static char *text_of(const row *x, const kg_edits *edits, TSNode n) {
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
static int add_reductions(row *x, size_t at) {
    TSNode found[8];
    statement *st = &x->all[at];
    kg_edits edits = {0};
    const size_t n = reductions_in(x, st->node, found, 8);
    int rc = n < 8 ? 0 : kg_not_repaired(x->why, "many reductions in one statement");
    for (size_t i = 0; i < n && !rc; i++) {
        const TSNode e = kg_child(kg_field_of(found[i], "arguments"), 0);
        const char *f = reduction(x, found[i]);
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

static void add_stores(row *x) {
    bool needed[STATEMENTS] = {false}, any = false;
    for (size_t i = x->n; i-- > 0;)
        if (x->all[i].store) {
            mark_needed(x, i, x->all[i].node, needed);
            needed[i] = any = true;
        }
    if (!any) return;
    open_loop(x);
    add_marked(x, needed, x->n);
}

static int write_kernel(row *x) {
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

// column = tl.arange(0, BLOCK), the only use of BLOCK; every comparison of column is with the same bound.
static int read_lanes(row *x) {
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

static int read_kernel(row *x) {
    if (read_lanes(x)) return -1;
    for (uint32_t i = 0; i < kg_children(x->body); i++) {
        const TSNode n = kg_child(x->body, i), inner = kg_child(n, 0);
        if (kg_node_is(n, "comment") || (kg_node_is(n, "expression_statement") && kg_node_is(inner, "string")))
            continue;
        if (x->n == STATEMENTS) return kg_not_repaired(x->why, "the kernel is long");
        if (ts_node_eq(n, x->lanes)) {
            x->vectors[x->n_vectors++] = kg_strdup(x->column);
            x->all[x->n++] = (statement){.node = n, .vector = true};
        } else if (read_statement(x, n)) {
            return -1;
        }
    }
    for (size_t i = 0, k = 0; i < x->n; i++) {
        TSNode some[8];
        k += reductions_in(x, x->all[i].node, some, 8);
        if (i + 1 == x->n && !k) return kg_not_repaired(x->why, "the kernel reduces nothing");
    }
    return 0;
}

// ---- kernels --------------------------------------------------------------------------------------------------------

// The definition as it stands, with another name and body, behind it.
static int add_kernel(row *x, const char *streamed, kg_edits *out) {
    const TSNode name = kg_field_of(kg_field_of(x->definition, "definition"), "name");
    kg_edits edits = {0};
    const size_t from = ts_node_start_byte(x->definition), to = ts_node_start_byte(x->body);
    kg_edit_node(&edits, name, "%s", streamed);
    char *head = kg_rewritten(x->s, &edits, from, to);
    kg_edits_free(&edits);
    if (!head || write_kernel(x)) {
        free(head);
        return -1;
    }
    size_t len = strlen(head);
    while (len && head[len - 1] != '\n') len--;  // up to the line on which the body begins
    head[len ? len - 1 : 0] = '\0';
    const size_t at = ts_node_end_byte(x->definition);
    while (x->out.len && x->out.data[x->out.len - 1] == '\n') x->out.data[--x->out.len] = '\0';
    // Further parameters stay below the first.
    char *def = strstr(head, "def ");
    kg_text t = {0};
    kg_text_add(&t, "%.*s", (int)(def ? def - head : 0), head);
    kg_add_deeper(&t, def ? def : head, (int)(strlen(streamed) - strlen(x->kernel)));
    kg_edit_replace(out, at, at, "\n\n\n%s\n%s", t.data, x->out.data);
    kg_text_free(&t);
    free(head);
    return 0;
}

static int stream_kernel(const kg_syntax *s, const kg_captures *kernel, const void *how, kg_edits *out, char **why) {
    kg_captures launches[MOST];
    row x = {.s = s, .definition = *kg_captured(kernel, "at"), .body = *kg_captured(kernel, "c"), .why = why};
    x.kernel = kg_node_text(s, *kg_captured(kernel, "b"));
    const size_t n = kg_triton_launches(s, x.kernel, launches);
    char *wanted = kg_format("%s_streamed", x.kernel), *streamed = kg_new_name(s, &x.names, wanted);
    x.start = kg_uses(s, x.definition, "start") ? kg_new_name(s, &x.names, "start") : kg_strdup("start");
    int rc = -1;
    if (!kg_node_is(ts_node_parent(x.definition), "module"))
        kg_not_repaired(why, "the kernel is defined inside a function");
    else if (kg_triton_is_autotuned(s, x.definition)) kg_not_repaired(why, "an autotuner chooses the block");
    else if (!n) kg_not_repaired(why, "the kernel is not launched as kernel[grid](...)");
    else if (!read_kernel(&x) && !add_kernel(&x, streamed, out)) {
        rc = 0;
        for (size_t i = 0; i < n && !rc; i++)
            rc = kg_triton_split_launch(s, &launches[i], x.kernel, streamed, x.block, how, out, why);
    }
    free(wanted), free(streamed);
    free_row(&x);
    return rc;
}

int kg_triton_stream_row(const kg_syntax *s, size_t variant, kg_edits *out, char **why) {
    static const kg_row_split ways[] = {
        {8192, 4096, 8}, {16384, 8192, 16}, {4096, 4096, 8}, {2048, 2048, 4}, {32768, 8192, 16}};
    return kg_triton_each(s, stream_kernel, &ways[variant], out, why);
}
