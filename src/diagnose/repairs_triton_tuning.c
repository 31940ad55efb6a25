// Which blocks of a Triton kernel its launch gives as numbers that a tuner may choose.
#include <stdlib.h>
#include <string.h>

#include "diagnose/tuning.h"

#define MOST KG_TRITON_MOST

void kg_tuning_free(kg_tuning *x) {
    for (size_t i = 0; i < x->n_params; i++) free(x->params[i].name);
    for (size_t i = 0; i < x->n; i++) free(x->blocks[i].name), free(x->blocks[i].value);
    free(x->meta), free(x->kernel);
}

// ---- what the kernel takes ------------------------------------------------------------------------------------------

static bool read_params(kg_tuning *x) {
    const TSNode list = kg_field_of(kg_field_of(x->definition, "definition"), "parameters");
    for (uint32_t i = 0; i < kg_children(list); i++) {
        const TSNode p = kg_child(list, i), type = kg_field_of(p, "type");
        TSNode name = kg_field_of(p, "name");
        if (kg_node_is(p, "comment")) continue;
        if (kg_node_is(p, "identifier")) name = p;
        if (kg_node_is(p, "typed_parameter")) name = kg_child(p, 0);
        if (!kg_node_is(name, "identifier") || x->n_params == KG_TUNED_PARAMS) return false;
        char *said = ts_node_is_null(type) ? kg_strdup("") : kg_node_text(x->s, type);
        x->params[x->n_params++] = (kg_tuned_param){kg_node_text(x->s, name), strstr(said, "constexpr") != NULL, false};
        free(said);
    }
    return true;
}

static kg_tuned_param *param_named(kg_tuning *x, const char *name) {
    for (size_t i = 0; i < x->n_params; i++)
        if (!strcmp(x->params[i].name, name)) return &x->params[i];
    return NULL;
}

// The parameter that an address begins with: base + ..., through the names that hold it. NULL: not found.
static const char *base_of(kg_tuning *x, TSNode n, int depth) {
    while (kg_node_is(n, "binary_operator") || kg_node_is(n, "parenthesized_expression"))
        n = kg_node_is(n, "binary_operator") ? kg_field_of(n, "left") : kg_child(n, 0);
    if (!kg_node_is(n, "identifier") || depth > 8) return NULL;
    char *name = kg_node_text(x->s, n);
    const kg_tuned_param *p = param_named(x, name);
    kg_captures from;
    const bool held = !p && kg_assigned(x->s, x->body, name, &from, 1);
    free(name);
    return p ? p->name : held ? base_of(x, *kg_captured(&from, "at"), depth + 1) : NULL;
}

// ---- the launch -----------------------------------------------------------------------------------------------------

// A number, or a name that one assignment in the file makes a number and that nothing else uses; owned. NULL: neither.
static char *number_of(const kg_tuning *x, TSNode value, size_t uses) {
    if (kg_node_is(value, "integer")) return kg_node_text(x->s, value);
    if (!kg_node_is(value, "identifier")) return NULL;
    kg_captures found[2];
    const TSNode root = ts_tree_root_node(x->s->tree);
    char *name = kg_node_text(x->s, value);
    char *query = kg_format("((assignment left: (identifier) @a right: (integer) @at) (#eq? @a \"%s\"))", name);
    const bool one = kg_matches(x->s, root, query, found, 2) == 1 && kg_uses(x->s, root, name) == uses + 2;
    free(query), free(name);
    return one ? kg_node_text(x->s, *kg_captured(&found[0], "at")) : NULL;
}

// Once a block's size is the tuner's, nothing else may hold it as a number.
static size_t numbers_like(const kg_syntax *s, TSNode in, const char *value) {
    if (kg_node_is(in, "integer")) return kg_node_says(s, in, value);
    size_t n = 0;
    for (uint32_t i = 0; i < kg_children(in); i++) n += numbers_like(s, kg_child(in, i), value);
    return n;
}

static bool steps_by(const kg_tuning *x, const char *name) {
    return kg_stands(x->s, x->body,
                     "((call function: (_) @a arguments: (argument_list (_) (_) . (identifier) @at .)) (#match? @a "
                     "\"range$\"))",
                     name, NULL);
}

static bool has_lanes_of(const kg_tuning *x, const char *name) {
    return kg_stands(x->s, x->body,
                     "((call function: (attribute attribute: (identifier) @a) arguments: (argument_list (_) . "
                     "(identifier) @at .)) (#eq? @a \"arange\"))",
                     name, NULL);
}

// A size q of the kernel goes with block b: tl.cdiv(q, b), or lanes of b that are compared with q (or, loosely, with
// what is computed from it).
static bool belong(const kg_tuning *x, const char *q, const char *b, bool loosely) {
    kg_captures compared[MOST];
    if (kg_stands(x->s, x->body,
                  "((call function: (attribute attribute: (identifier) @a) arguments: (argument_list . (identifier) "
                  "@b . (identifier) @at .)) (#eq? @a \"cdiv\"))",
                  b, q))
        return true;
    const size_t n = kg_matches(x->s, x->body, "(comparison_operator . (_) @at . (_) @a .)", compared, MOST);
    char *query =
        kg_format("((assignment left: (identifier) @at right: (_) @a) (#match? @a \"arange[(]0, *%s[)]\"))", b);
    kg_captures lanes[MOST];
    const size_t m = kg_matches(x->s, x->body, query, lanes, MOST);
    free(query);
    for (size_t i = 0; i < n; i++) {
        const TSNode with = *kg_captured(&compared[i], "a");
        if (loosely ? !kg_uses(x->s, with, q) : !kg_node_says(x->s, with, q)) continue;
        for (size_t k = 0; k < m; k++) {
            char *name = kg_node_text(x->s, *kg_captured(&lanes[k], "at"));
            const bool used = kg_uses(x->s, *kg_captured(&compared[i], "at"), name) > 0;
            free(name);
            if (used) return true;
        }
    }
    return false;
}

// What the launch gives a parameter; null where it is not said by position or name.
static TSNode given_to(const kg_tuning *x, const char *name) {
    for (uint32_t i = 0; i < kg_children(x->arguments) && i < x->n_params; i++) {
        const TSNode a = kg_child(x->arguments, i);
        if (kg_node_is(a, "list_splat") || kg_node_is(a, "dictionary_splat") || kg_node_is(a, "keyword_argument"))
            break;
        if (!strcmp(x->params[i].name, name)) return a;
    }
    return kg_keyword(x->s, x->arguments, name);
}

// Which parameter the launch gives a text to, by position: what stands before a *splat.
static const char *param_given(kg_tuning *x, TSNode text) {
    const char *only = NULL;
    for (uint32_t i = 0; i < kg_children(x->arguments) && i < x->n_params; i++) {
        const TSNode a = kg_child(x->arguments, i);
        if (kg_node_is(a, "list_splat") || kg_node_is(a, "dictionary_splat") || kg_node_is(a, "keyword_argument"))
            break;
        char *given = kg_node_text(x->s, a);
        if (kg_node_says(x->s, text, given)) only = x->params[i].name;
        free(given);
    }
    return only;
}

// The block that a number or name of the grid's cdiv(size, value) stands for; NULL: none, or more than one.
static kg_tuned_block *block_of(kg_tuning *x, TSNode size, TSNode value) {
    kg_tuned_block *only = NULL, *linked = NULL;
    size_t fits = 0, links = 0;
    const char *q = param_given(x, size);
    char *said = kg_node_text(x->s, value);
    for (size_t i = 0; i < x->n; i++) {
        kg_tuned_block *b = &x->blocks[i];
        if (!kg_node_says(x->s, kg_field_of(b->argument, "value"), said)) continue;
        only = b, fits++;
        if (q && belong(x, q, b->name, false)) linked = b, links++;
    }
    free(said);
    if (links) return links == 1 ? linked : NULL;
    return fits == 1 ? only : NULL;
}

#define CDIV                                                                                                        \
    "((call function: (_) @a arguments: (argument_list . (_) @b . (_) @c .)) @at (#match? @a \"(^|[.])(cdiv|ceil_?" \
    "div)$\"))"

// The grid's numbers become the tuner's: meta["BLOCK"].
static int read_grid(kg_tuning *x) {
    kg_captures parts[MOST];
    const size_t n = kg_matches(x->s, x->grid, CDIV, parts, MOST);
    for (size_t i = 0; i < n; i++) {
        const TSNode value = *kg_captured(&parts[i], "c");
        if (!kg_node_is(value, "integer") && !kg_node_is(value, "identifier")) continue;
        kg_tuned_block *b = block_of(x, *kg_captured(&parts[i], "b"), value);
        if (!b) return kg_not_repaired(x->why, "which block a number of the grid stands for is not clear");
        b->in_grid++;
        kg_edit_node(x->out, value, "%s[\"%s\"]", x->meta, b->name);
    }
    return 0;
}

// Everything that holds a block's size is in the grid's cdiv and the launch: counted, so that no other place is missed.
static int nothing_else_holds(kg_tuning *x) {
    kg_captures parts[MOST];
    const TSNode root = ts_tree_root_node(x->s->tree);
    const size_t n = ts_node_is_null(x->grid) ? 0 : kg_matches(x->s, x->grid, CDIV, parts, MOST);
    for (size_t i = 0; i < x->n; i++) {
        const TSNode value = kg_field_of(x->blocks[i].argument, "value");
        if (!kg_node_is(value, "integer")) continue;
        size_t known = 0;
        for (size_t k = 0; k < x->n; k++)
            known += kg_node_says(x->s, kg_field_of(x->blocks[k].argument, "value"), x->blocks[i].value);
        for (size_t k = 0; k < n; k++) known += kg_node_says(x->s, *kg_captured(&parts[k], "c"), x->blocks[i].value);
        if (numbers_like(x->s, root, x->blocks[i].value) != known)
            return kg_not_repaired(x->why, "%s stands elsewhere in the file too: it may be the block's size there",
                                   x->blocks[i].value);
    }
    return 0;
}

static int read_blocks(kg_tuning *x) {
    for (size_t i = 0; i < x->n_params; i++) {
        const char *name = x->params[i].name;
        const TSNode value = kg_keyword(x->s, x->arguments, name);
        if (!x->params[i].constant || ts_node_is_null(value) || !has_lanes_of(x, name)) continue;
        char *said = kg_node_text(x->s, value);
        const size_t in_grid = ts_node_is_null(x->grid) ? 0 : kg_uses(x->s, x->grid, said);
        char *number = number_of(x, value, in_grid);
        free(said);
        const bool stepped = steps_by(x, name);
        if (!number || (!in_grid && !stepped && kg_node_is(value, "identifier"))) {
            free(number);
            continue;
        }
        if (x->n == KG_TUNED_BLOCKS) {
            free(number);
            return kg_not_repaired(x->why, "more than three blocks");
        }
        x->blocks[x->n++] = (kg_tuned_block){
            .name = kg_strdup(name), .value = number, .argument = ts_node_parent(value), .in_range = stepped};
    }
    return x->n ? 0 : kg_not_repaired(x->why, "the launch gives no block as a number");
}

// kernel[grid](...): grid itself, or what one assignment in the same function gave it.
static int find_grid(kg_tuning *x, TSNode grid) {
    x->grid = grid;
    if (kg_node_is(grid, "identifier")) {
        kg_captures set[2];
        const TSNode around = kg_function_around(x->launch);
        char *name = kg_node_text(x->s, grid);
        const size_t n = ts_node_is_null(around) ? 0 : kg_assigned(x->s, around, name, set, 2);
        const bool alone = n == 1 && kg_uses(x->s, around, name) == 2;
        free(name);
        if (!alone) return kg_not_repaired(x->why, "the grid is used, or made, in more than one place");
        x->grid = *kg_captured(&set[0], "at");
    }
    if (kg_node_is(x->grid, "tuple")) return 0;
    return kg_not_repaired(x->why, "the grid is no tuple");
}

static bool same_tensor(const kg_tuning *x, const char *one, const char *other) {
    const TSNode a = given_to(x, one), b = given_to(x, other);
    if (ts_node_is_null(a) || ts_node_is_null(b)) return true;  // not known
    return kg_same_text(x->s, a, b);
}

// Trials run the kernel again and again: it must write the same each time.
static int can_run_again(kg_tuning *x) {
    kg_captures found[MOST], loads[MOST];
    if (!ts_node_is_null(kg_first(x->s, x->body, "((identifier) @at (#match? @at \"^atomic_\"))")))
        return kg_not_repaired(x->why, "atomic operations would add up over the trials");
    if (!ts_node_is_null(kg_first(x->s, x->body,
                                  "((identifier) @at (#match? @at \"^(inline_asm_elementwise|make_"
                                  "tensor_descriptor|make_block_ptr|device_print)$\"))")))
        return kg_not_repaired(x->why, "what the kernel stores to is not plain");
#define ACCESS(name)                                                                                                 \
    "((call function: (attribute attribute: (identifier) @b) arguments: (argument_list . (_) @at)) (#eq? @b \"" name \
    "\"))"
    const size_t n = kg_matches(x->s, x->body, ACCESS("store"), found, MOST);
    const size_t m = kg_matches(x->s, x->body, ACCESS("load"), loads, MOST);
    for (size_t i = 0; i < n; i++) {
        const char *to = base_of(x, *kg_captured(&found[i], "at"), 0);
        if (!to) return kg_not_repaired(x->why, "what the kernel stores to is not plain");
        for (size_t k = 0; k < m; k++) {
            const char *from = base_of(x, *kg_captured(&loads[k], "at"), 0);
            if (!from || !strcmp(from, to) || same_tensor(x, from, to))
                return kg_not_repaired(x->why, "the kernel reads what it writes: trials would change it");
        }
    }
    return n && n < MOST && m < MOST ? 0 : kg_not_repaired(x->why, "the kernel stores nothing that is understood");
}

// Which arguments say how large the problem is: what the grid and loops divide, and masks compare with.
static void mark_sizes(kg_tuning *x) {
    for (size_t i = 0; i < x->n_params; i++) {
        kg_tuned_param *p = &x->params[i];
        if (p->constant) continue;
        for (size_t k = 0; k < x->n; k++) {
            const char *b = x->blocks[k].name;
            p->size |= belong(x, p->name, b, true) ||
                       kg_stands(x->s, x->body,
                                 "((call function: (_) @a arguments: (argument_list (_) . (identifier) @b . "
                                 "(identifier) @at .)) (#match? @a \"range$\"))",
                                 b, p->name);
        }
    }
}

static bool literal_or_absent(const kg_tuning *x, const char *name) {
    const TSNode value = kg_keyword(x->s, x->arguments, name);
    return ts_node_is_null(value) || kg_node_is(value, "integer");
}

// Blocks that the grid does not count and no loop steps by are sizes: they stay.
static void keep_sizes(kg_tuning *x) {
    size_t n = 0;
    for (size_t i = 0; i < x->n; i++) {
        if (x->blocks[i].in_grid || x->blocks[i].in_range) x->blocks[n++] = x->blocks[i];
        else free(x->blocks[i].name), free(x->blocks[i].value);
    }
    x->n = n;
}

int kg_tuning_read(kg_tuning *x, const kg_captures *launch) {
    x->launch = *kg_captured(launch, "at");
    x->arguments = *kg_captured(launch, "c");
    if (!kg_node_is(ts_node_parent(x->definition), "module"))
        return kg_not_repaired(x->why, "the kernel is defined inside a function");
    if (!read_params(x)) return kg_not_repaired(x->why, "the kernel's parameters are not understood");
    if (!literal_or_absent(x, "num_warps") || !literal_or_absent(x, "num_stages"))
        return kg_not_repaired(x->why, "the launch computes its warps or stages");
    if (!ts_node_is_null(kg_first(x->s, x->arguments, "(comment) @at")))
        return kg_not_repaired(x->why, "the launch has comments between its arguments");
    if (find_grid(x, *kg_captured(launch, "b")) || read_blocks(x) || read_grid(x)) return -1;
    keep_sizes(x);
    if (nothing_else_holds(x) || can_run_again(x)) return -1;
    mark_sizes(x);
    return 0;
}
