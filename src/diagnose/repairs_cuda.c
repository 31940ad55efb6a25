// Repairs of CUDA C++: an elementwise kernel moves sixteen bytes a thread where all its addresses allow it.
#include <stdlib.h>
#include <string.h>

#include "diagnose/repair.h"

#define MOST   64
#define ARRAYS 8

// A pointer that the body takes at [i].
typedef struct {
    char *name;
    bool read, written, always;  // always: whatever happens, before its end
} array;

typedef struct {
    const kg_syntax *s;
    TSNode function, body;     // of the kernel
    TSNode from, last;         // what is replaced, to the end of last
    TSNode first, one_by_one;  // first: the statement, or all of a block's, that works on an element
    char *i, *i_type, *n, *type, *begin;
    array arrays[ARRAYS];
    size_t n_arrays;
    bool strides;  // a loop over the grid already: the launch stays
    kg_edits *out;
    char **why;
} scalar;

static void free_scalar(scalar *x) {
    for (size_t k = 0; k < x->n_arrays; k++) free(x->arrays[k].name);
    free(x->i), free(x->i_type), free(x->n), free(x->type), free(x->begin);
}

// Without blanks, parentheses and casts to wider integers; owned.
static char *plain(const kg_syntax *s, TSNode n) {
    static const char *const casts[] = {"int64_t", "size_t", "long long", "long", "unsigned", "int"};
    char *text = kg_node_text(s, n);
    for (size_t k = 0; k < sizeof casts / sizeof *casts; k++) {
        char *cast = kg_format("(%s)", casts[k]);
        for (char *at; (at = strstr(text, cast));) memmove(at, at + strlen(cast), strlen(at + strlen(cast)) + 1);
        free(cast);
    }
    size_t kept = 0;
    for (size_t k = 0; text[k]; k++)
        if (!strchr(" \t\n()", text[k])) text[kept++] = text[k];
    text[kept] = '\0';
    return text;
}

static bool is_one_of(const kg_syntax *s, TSNode n, const char *const *texts) {
    char *text = plain(s, n);
    bool is = false;
    for (; *texts; texts++) is |= !strcmp(text, *texts);
    free(text);
    return is;
}

static const char *const of_thread[] = {"blockIdx.x*blockDim.x+threadIdx.x", "blockDim.x*blockIdx.x+threadIdx.x",
                                        "threadIdx.x+blockIdx.x*blockDim.x", "threadIdx.x+blockDim.x*blockIdx.x", NULL};
static const char *const of_grid[] = {"gridDim.x*blockDim.x", "blockDim.x*gridDim.x", NULL};

// int i = blockIdx.x * blockDim.x + threadIdx.x
static bool read_index(scalar *x, TSNode declaration) {
    const TSNode d = kg_field_of(declaration, "declarator"), name = kg_field_of(d, "declarator");
    if (!kg_node_is(declaration, "declaration") || !kg_node_is(d, "init_declarator") ||
        !kg_node_is(name, "identifier") || !is_one_of(x->s, kg_field_of(d, "value"), of_thread))
        return false;
    x->i = kg_node_text(x->s, name);
    x->i_type = kg_node_text(x->s, kg_field_of(declaration, "type"));
    return true;
}

// i < n or i >= n, n a name.
static bool compares(scalar *x, TSNode condition, const char *operator) {
    while (kg_node_is(condition, "condition_clause") || kg_node_is(condition, "parenthesized_expression"))
        condition = kg_child(condition, 0);
    const TSNode right = kg_field_of(condition, "right");
    if (!kg_node_is(condition, "binary_expression") || !kg_node_says(x->s, kg_field_of(condition, "left"), x->i) ||
        !kg_node_says(x->s, kg_field_of(condition, "operator"), operator) || !kg_node_is(right, "identifier"))
        return false;
    x->n = kg_node_text(x->s, right);
    return true;
}

// if (i < n) ...; or if (i >= n) return; ...; or for (int i = ...; i < n; i += all threads) ...
static int read_form(scalar *x) {
    const TSNode a = kg_statement(x->body, 0), b = kg_statement(x->body, 1), c = kg_statement(x->body, 2);
    if (kg_node_is(a, "for_statement") && ts_node_is_null(b)) {
        const TSNode update = kg_field_of(a, "update");
        if (!read_index(x, kg_field_of(a, "initializer")) || !compares(x, kg_field_of(a, "condition"), "<") ||
            !kg_node_is(update, "assignment_expression") ||
            !kg_node_says(x->s, kg_field_of(update, "operator"), "+=") ||
            !is_one_of(x->s, kg_field_of(update, "right"), of_grid))
            return kg_not_repaired(x->why, "no loop over the whole grid");
        x->strides = true;
        x->from = x->last = a;
        x->first = kg_field_of(a, "body");
        x->begin = kg_strdup("(long long)blockIdx.x * blockDim.x + threadIdx.x");
        return 0;
    }
    if (ts_node_is_null(a) || !read_index(x, a) || !kg_node_is(b, "if_statement") ||
        !ts_node_is_null(kg_field_of(b, "alternative")))
        return kg_not_repaired(x->why, "no kernel of one element a thread");
    x->begin = kg_strdup(x->i);
    x->from = x->last = b;
    if (ts_node_is_null(c) && compares(x, kg_field_of(b, "condition"), "<")) {
        x->first = kg_field_of(b, "consequence");
        return 0;
    }
    TSNode leave = kg_field_of(b, "consequence");
    if (kg_node_is(leave, "compound_statement")) leave = kg_statement(leave, 0);
    if (ts_node_is_null(c) || !compares(x, kg_field_of(b, "condition"), ">=") || !kg_node_says(x->s, leave, "return;"))
        return kg_not_repaired(x->why, "no kernel of one element a thread");
    x->first = c;
    for (uint32_t k = 2; !ts_node_is_null(kg_statement(x->body, k)); k++) x->last = kg_statement(x->body, k);
    return 0;
}

// ---- what the body does ---------------------------------------------------------------------------------------------

static TSNode parameter(const scalar *x, const char *name) {
    const TSNode list = kg_field_of(kg_field_of(x->function, "declarator"), "parameters");
    for (uint32_t k = 0; k < kg_children(list); k++) {
        const TSNode p = kg_child(list, k), d = kg_field_of(p, "declarator");
        if (kg_node_is(p, "parameter_declaration") && kg_node_is(d, "pointer_declarator") && kg_uses(x->s, d, name) &&
            kg_node_is(kg_child(d, kg_children(d) - 1), "identifier"))
            return p;
    }
    return (TSNode){0};
}

static bool in_range(const scalar *x, TSNode n) {
    return ts_node_start_byte(n) >= ts_node_start_byte(x->first) && ts_node_end_byte(n) <= ts_node_end_byte(x->last);
}

// array[i]: the array's name, owned; NULL: something else.
static char *at_index(const scalar *x, TSNode n) {
    if (!kg_node_is(n, "subscript_expression")) return NULL;
    const TSNode of = kg_field_of(n, "argument"), indices = kg_field_of(n, "indices");
    if (!kg_node_is(of, "identifier") || kg_children(indices) != 1 || !kg_node_says(x->s, kg_child(indices, 0), x->i))
        return NULL;
    return kg_node_text(x->s, of);
}

static array *array_named(scalar *x, const char *name) {
    for (size_t k = 0; k < x->n_arrays; k++)
        if (!strcmp(x->arrays[k].name, name)) return &x->arrays[k];
    if (x->n_arrays == ARRAYS) return NULL;
    x->arrays[x->n_arrays] = (array){.name = kg_strdup(name)};
    return &x->arrays[x->n_arrays++];
}

// Whether a statement runs for every element: it is one of the body's own.
static bool unconditional(const scalar *x, TSNode statement) {
    const TSNode above = ts_node_parent(statement);
    return ts_node_eq(statement, x->first) || ts_node_eq(above, x->first) || ts_node_eq(above, x->body);
}

static int read_arrays(scalar *x) {
    kg_captures found[MOST];
    const size_t n = kg_matches(x->s, x->body, "(subscript_expression) @at", found, MOST);
    for (size_t k = 0; k < n; k++) {
        const TSNode at = *kg_captured(&found[k], "at"), above = ts_node_parent(at);
        char *name = in_range(x, at) ? at_index(x, at) : NULL;
        if (!name) continue;
        const TSNode p = parameter(x, name);
        array *a = ts_node_is_null(p) ? NULL : array_named(x, name);
        char *type = ts_node_is_null(p) ? NULL : kg_node_text(x->s, kg_field_of(p, "type"));
        free(name);
        char *whole = ts_node_is_null(p) ? NULL : kg_node_text(x->s, p);
        const bool plain = !whole || !strstr(whole, "volatile");
        free(whole);
        const bool other = type && x->type && strcmp(type, x->type) != 0;
        if (!x->type) x->type = type;
        else free(type);
        if (!a || !plain) return kg_not_repaired(x->why, "an array is no plain parameter of the kernel");
        if (other) return kg_not_repaired(x->why, "the arrays have elements of several types");
        const bool set = kg_node_is(above, "assignment_expression") && ts_node_eq(kg_field_of(above, "left"), at);
        const bool plainly = set && kg_node_says(x->s, kg_field_of(above, "operator"), "=");
        a->written |= set;
        a->read |= !plainly;
        a->always |= plainly && unconditional(x, ts_node_parent(above));
    }
    bool any = false;
    for (size_t k = 0; k < x->n_arrays; k++) any |= x->arrays[k].written;
    return any && n < MOST ? 0 : kg_not_repaired(x->why, "no array is written at the thread's own element");
}

static size_t uses_in_range(const scalar *x, const char *name) {
    size_t n = 0;
    for (uint32_t k = 0; k < kg_children(x->body); k++)
        if (in_range(x, kg_child(x->body, k))) n += kg_uses(x->s, kg_child(x->body, k), name);
    return in_range(x, kg_statement(x->body, 1)) || n ? n : kg_uses(x->s, x->first, name);
}

// What is written beside the arrays must be the body's own variables.
static int writes_its_own(const scalar *x) {
    kg_captures found[MOST];
    const size_t n = kg_matches(
        x->s, x->body, "[(assignment_expression left: (_) @at) (update_expression argument: (_) @at)]", found, MOST);
    for (size_t k = 0; k < n; k++) {
        const TSNode at = *kg_captured(&found[k], "at");
        if (!in_range(x, at)) continue;
        char *array = at_index(x, at), *name = kg_node_text(x->s, at);
        char *query = kg_format(
            "((init_declarator declarator: (identifier) @at) (#eq? @at \"%s\")) ((declaration "
            "declarator: (identifier) @at) (#eq? @at \"%s\"))",
            name, name);
        const TSNode own = array ? at : kg_first(x->s, x->body, query);
        const bool fits = !ts_node_is_null(own) && in_range(x, own) &&
                          (!array || kg_node_is(ts_node_parent(at), "assignment_expression"));
        free(array), free(name), free(query);
        if (!fits) return kg_not_repaired(x->why, "the body writes more than its own elements");
    }
    return n < MOST ? 0 : kg_not_repaired(x->why, "the kernel is long");
}

static int read_body(scalar *x) {
    if (!ts_node_is_null(kg_first(x->s, x->body,
                                  "((identifier) @at (#match? @at \"^(__sync|__shfl|__ballot|__any|__all|__activemask|"
                                  "__shared__|__nanosleep|atomic|printf|assert|cg$|asm)\"))")) ||
        !ts_node_is_null(kg_first(x->s, x->body,
                                  "((type_qualifier) @at (#eq? @at \"__shared__\")) (gnu_asm_expression) @at "
                                  "(goto_statement) @at (lambda_expression) @at (pointer_expression) @at")))
        return kg_not_repaired(x->why, "threads work together, or through addresses that are not plain");
    kg_captures leaves[MOST];
    const size_t n =
        kg_matches(x->s, x->body, "[(return_statement) (break_statement) (continue_statement)] @at", leaves, MOST);
    for (size_t k = 0; k < n; k++)
        if (in_range(x, *kg_captured(&leaves[k], "at")))
            return kg_not_repaired(x->why, "the body is left by return or break");
    if (read_arrays(x) || writes_its_own(x)) return -1;
    // Every use of an array is at [i].
    kg_captures found[MOST];
    const size_t m = kg_matches(x->s, x->body, "(subscript_expression) @at", found, MOST);
    for (size_t a = 0; a < x->n_arrays; a++) {
        size_t known = 0;
        for (size_t k = 0; k < m; k++) {
            char *name = in_range(x, *kg_captured(&found[k], "at")) ? at_index(x, *kg_captured(&found[k], "at")) : NULL;
            known += name && !strcmp(name, x->arrays[a].name);
            free(name);
        }
        if (kg_uses(x->s, x->body, x->arrays[a].name) != known)
            return kg_not_repaired(x->why, "%s is used at more than the thread's own element", x->arrays[a].name);
    }
    return 0;
}

// ---- sixteen bytes a thread -----------------------------------------------------------------------------------------

// A name that stands nowhere in the file; owned.
static char *unused(const kg_syntax *s, const char *name) {
    for (int k = 1;; k++) {
        char *made = k == 1 ? kg_strdup(name) : kg_format("%s%d", name, k);
        if (!strstr(s->text, made)) return made;
        free(made);
    }
}

// The bytes of what works on one element, without the braces around.
static void span(const scalar *x, size_t *from, size_t *to) {
    // What stands behind `if (i >= n) return;` begins with its comments.
    const bool behind = !ts_node_eq(x->from, x->last);
    *from = behind ? ts_node_end_byte(x->from) : ts_node_start_byte(x->first);
    while (behind && strchr(" \t\n", x->s->text[*from])) ++*from;
    *to = ts_node_eq(x->from, x->last) ? ts_node_end_byte(x->first) : ts_node_end_byte(x->last);
    if (!kg_node_is(x->first, "compound_statement") || !ts_node_eq(x->from, x->last)) return;
    ++*from, --*to;
    while (*from < *to && strchr(" \t\n", x->s->text[*from])) ++*from;
    while (*to > *from && strchr(" \t\n", x->s->text[*to - 1])) --*to;
}

// The element's statements with array[i] as the lane's.
static char *of_lane(scalar *x, size_t from, size_t to, const char *lane) {
    kg_captures found[MOST];
    kg_edits edits = {0};
    const size_t n = kg_matches(x->s, x->body, "(subscript_expression) @at", found, MOST);
    for (size_t k = 0; k < n; k++) {
        const TSNode at = *kg_captured(&found[k], "at");
        char *name = in_range(x, at) ? at_index(x, at) : NULL;
        if (name) kg_edit_node(&edits, at, "%s_pack.v[%s]", name, lane);
        free(name);
    }
    char *text = kg_rewritten(x->s, &edits, from, to);
    kg_edits_free(&edits);
    return text;
}

static void add_packs(scalar *x, kg_text *t, const char *pack, const char *in, bool store) {
    for (size_t k = 0; k < x->n_arrays; k++) {
        const array *a = &x->arrays[k];
        const bool load = a->read || !a->always;
        if (store && a->written)
            kg_text_add(t, "%s    ((%s<%s> *)%s)[pack] = %s_pack;\n", in, pack, x->type, a->name, a->name);
        else if (!store && load)
            kg_text_add(t, "%s    %s%s<%s> %s_pack = ((const %s<%s> *)%s)[pack];\n", in, a->written ? "" : "const ",
                        pack, x->type, a->name, pack, x->type, a->name);
        else if (!store) kg_text_add(t, "%s    %s<%s> %s_pack;\n", in, pack, x->type, a->name);
    }
}

// Elements of 1, 2, 4 or 8 bytes. Of a type that is not known here the kernel asks.
static bool fills_packs(const char *type) {
    static const char *const known[] = {"float",  "double",        "int",     "unsigned", "__half",  "half",
                                        "int8_t", "__nv_bfloat16", "int16_t", "int32_t",  "int64_t", "uint8_t"};
    bool is = false;
    for (size_t k = 0; k < sizeof known / sizeof *known; k++) is |= !strcmp(type, known[k]);
    return is;
}

static int write_packs(scalar *x, const char *pack) {
    size_t from, to;
    span(x, &from, &to);
    char *in = kg_indent_of(x->s, x->from), *lane = of_lane(x, from, to, "lane");
    char *body = kg_format("%.*s", (int)(to - from), x->s->text + from);
    // How far the statements move: from where the first stands to one or two levels inside.
    size_t line = from;
    while (line > 0 && x->s->text[line - 1] != '\n') line--;
    size_t blanks = line;
    while (x->s->text[blanks] == ' ') blanks++;
    const int stands = blanks == from ? (int)(from - line) : (int)strlen(in) + 4, level = (int)strlen(in);
    size_t known = 0;
    kg_captures found[MOST];
    const size_t n = kg_matches(x->s, x->body, "(subscript_expression) @at", found, MOST);
    for (size_t k = 0; k < n; k++) {
        char *name = in_range(x, *kg_captured(&found[k], "at")) ? at_index(x, *kg_captured(&found[k], "at")) : NULL;
        known += name != NULL;
        free(name);
    }
    const bool counts = uses_in_range(x, x->i) > known + (ts_node_eq(x->from, x->last) && !x->strides) + 3 * x->strides;
    kg_text t = {0};
    kg_text_add(&t, "// Sixteen bytes a thread where all addresses allow it, the rest one by one.\n");
    kg_text_add(&t, "%sconst int lanes = 16 / sizeof(%s);\n%sconst long long packs = ", in, x->type, in);
    if (!fills_packs(x->type)) kg_text_add(&t, "16 %% sizeof(%s) == 0 && ", x->type);
    kg_text_add(&t, "(");
    for (size_t k = 0; k < x->n_arrays; k++) kg_text_add(&t, "%s(size_t)%s", k ? " | " : "", x->arrays[k].name);
    kg_text_add(&t, ") %% 16 == 0 ? %s / lanes : 0;\n", x->n);
    kg_text_add(&t, "%sconst long long threads = (long long)gridDim.x * blockDim.x;\n", in);
    kg_text_add(&t, "%sfor (long long pack = %s; pack < packs; pack += threads) {\n", in, x->begin);
    add_packs(x, &t, pack, in, false);
    kg_text_add(&t, "#pragma unroll\n%s    for (int lane = 0; lane < lanes; lane++) {\n", in);
    if (counts) kg_text_add(&t, "%s        const %s %s = (%s)(pack * lanes + lane);\n", in, x->i_type, x->i, x->i_type);
    kg_text_add(&t, "%s        ", in);
    if (lane) kg_add_deeper(&t, lane, level + 8 > stands ? level + 8 - stands : 0);
    kg_text_add(&t, "\n%s    }\n", in);
    add_packs(x, &t, pack, in, true);
    kg_text_add(&t, "%s}\n%sfor (long long at = packs * lanes + %s; at < %s; at += threads) {\n", in, in, x->begin,
                x->n);
    kg_text_add(&t, "%s    const %s %s = (%s)at;\n%s    ", in, x->i_type, x->i, x->i_type, in);
    kg_add_deeper(&t, body, level + 4 > stands ? level + 4 - stands : 0);
    kg_text_add(&t, "\n%s}", in);
    if (lane) kg_edit_replace(x->out, ts_node_start_byte(x->from), ts_node_end_byte(x->last), "%s", t.data);
    kg_text_free(&t);
    const bool made = lane != NULL;
    free(in), free(lane), free(body);
    return made ? 0 : kg_not_repaired(x->why, "the body cannot be moved");
}

// A pack is moved by one thread: fewer are needed. The kernel's loops are right with any number of blocks.
static void fewer_blocks(scalar *x, const char *kernel) {
    kg_captures found[MOST];
    const size_t n = kg_matches(x->s, ts_tree_root_node(x->s->tree),
                                "(call_expression function: (_) @a (kernel_call_syntax . (_) @at))", found, MOST);
    for (size_t k = 0; k < n && !x->strides; k++) {
        const TSNode grid = *kg_captured(&found[k], "at");
        char *called = kg_node_text(x->s, *kg_captured(&found[k], "a"));
        called[strcspn(called, "<")] = '\0';
        const bool counted = kg_node_is(grid, "binary_expression") || kg_node_is(grid, "cast_expression");
        if (!strcmp(called, kernel) && counted) {
            kg_edit_replace(x->out, ts_node_start_byte(grid), ts_node_start_byte(grid), "(");
            kg_edit_replace(x->out, ts_node_end_byte(grid), ts_node_end_byte(grid), " + 3) / 4");
        }
        free(called);
    }
}

static int widen(const kg_syntax *s, const kg_captures *kernel, const char *pack, kg_edits *out, char **why) {
    scalar x = {
        .s = s, .function = *kg_captured(kernel, "at"), .body = *kg_captured(kernel, "c"), .out = out, .why = why};
    char *name = kg_node_text(s, *kg_captured(kernel, "b"));
    int rc = 0;
    if (!kg_parsed_around(s, x.function, name))
        rc = kg_not_repaired(why, "%s, or what stands beside or launches it, has parts that are no cuda", name);
    if (!rc) rc = read_form(&x) || read_body(&x) ? -1 : 0;
    static const char *const own[] = {"lanes", "packs", "threads", "pack", "lane", "at"};
    for (size_t k = 0; k < sizeof own / sizeof *own && !rc; k++)
        if (kg_uses(s, x.function, own[k])) rc = kg_not_repaired(why, "the kernel has a name %s of its own", own[k]);
    for (size_t k = 0; k < x.n_arrays && !rc; k++) {
        char *of_pack = kg_format("%s_pack", x.arrays[k].name);
        if (kg_uses(s, x.function, of_pack)) rc = kg_not_repaired(why, "the kernel has a name %s of its own", of_pack);
        free(of_pack);
    }
    if (!rc) rc = write_packs(&x, pack);
    if (!rc) fewer_blocks(&x, name);
    free(name);
    free_scalar(&x);
    return rc;
}

static int vector_loads(const kg_syntax *s, size_t variant, kg_edits *out, char **why) {
    (void)variant;
    kg_captures kernels[MOST];
    TSNode top = {0};
    char *pack = unused(s, "Pack");
    const size_t n = kg_matches(s, ts_tree_root_node(s->tree),
                                "(function_definition \"__global__\" declarator: (function_declarator declarator: "
                                "(identifier) @b) body: (compound_statement) @c) @at",
                                kernels, MOST);
    for (size_t k = 0; k < n; k++) {
        kg_edits mine = {0};
        char *refusal = NULL;
        if (widen(s, &kernels[k], pack, &mine, &refusal) == 0) {
            kg_edits_take(out, &mine);
            if (ts_node_is_null(top)) top = *kg_captured(&kernels[k], "at");
        }
        kg_edits_free(&mine);
        kg_keep_first(why, refusal);
    }
    if (!ts_node_is_null(top)) {
        while (!kg_node_is(ts_node_parent(top), "translation_unit")) top = ts_node_parent(top);
        const size_t at = ts_node_start_byte(top);
        kg_edit_replace(out, at, at, "template <typename T>\nstruct alignas(16) %s {\n    T v[16 / sizeof(T)];\n};\n\n",
                        pack);
    }
    free(pack);
    return kg_repaired(out->n > 0, why, "no kernel");
}

static const kg_repair_rule rules[] = {
    {.info = {.id = "cuda-vector-loads",
              .answers = "cuda-scalar-access cuda-scalar-half narrow-loads narrow-stores",
              .languages = KG_IN(KG_LANG_CUDA),
              .variants = 1,
              .what = "each thread moves 16 bytes at a time where the addresses allow it"},
     .make = vector_loads,
     .beside_errors = true},
};

const kg_repair_table kg_repairs_cuda = {rules, sizeof rules / sizeof *rules};
