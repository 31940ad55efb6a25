// Blocks, warps and stages that @triton.autotune chooses.
#include <stdlib.h>
#include <string.h>

#include "diagnose/repair.h"

#define MOST   KG_TRITON_MOST
#define PARAMS 48
#define BLOCKS 3

// A constexpr of the kernel that the launch gives as a number, and that may be another one.
typedef struct {
    char *name, *value;
    TSNode argument;  // name=value in the launch
    size_t in_grid;   // how often the grid has one program a block of it: twice for square tiles
    bool in_range;    // the kernel steps by it
} block;

typedef struct {
    char *name;
    bool constant, size;  // size: what the masks, loops and the grid compare with
} param;

typedef struct {
    const kg_syntax *s;
    TSNode definition, body, launch, grid, arguments;  // grid: the expression; null: no change
    bool lambda;                                       // it is one already, of meta
    char *meta, *kernel;
    param params[PARAMS];
    size_t n_params;
    block blocks[BLOCKS];
    size_t n;
    kg_edits *out;
    char **why;
} tuning;

static void free_tuning(tuning *x) {
    for (size_t i = 0; i < x->n_params; i++) free(x->params[i].name);
    for (size_t i = 0; i < x->n; i++) free(x->blocks[i].name), free(x->blocks[i].value);
    free(x->meta), free(x->kernel);
}

static bool found(const kg_syntax *s, TSNode in, char *query) {
    const bool is = !ts_node_is_null(kg_first(s, in, query));
    free(query);
    return is;
}

// ---- what the kernel takes ------------------------------------------------------------------------------------------

static bool read_params(tuning *x) {
    const TSNode list = kg_field_of(kg_field_of(x->definition, "definition"), "parameters");
    for (uint32_t i = 0; i < ts_node_named_child_count(list); i++) {
        const TSNode p = ts_node_named_child(list, i), type = kg_field_of(p, "type");
        TSNode name = kg_field_of(p, "name");
        if (kg_node_is(p, "comment")) continue;
        if (kg_node_is(p, "identifier")) name = p;
        if (kg_node_is(p, "typed_parameter")) name = ts_node_named_child(p, 0);
        if (!kg_node_is(name, "identifier") || x->n_params == PARAMS) return false;
        char *said = ts_node_is_null(type) ? kg_strdup("") : kg_node_text(x->s, type);
        x->params[x->n_params++] = (param){kg_node_text(x->s, name), strstr(said, "constexpr") != NULL, false};
        free(said);
    }
    return true;
}

static param *param_named(tuning *x, const char *name) {
    for (size_t i = 0; i < x->n_params; i++)
        if (!strcmp(x->params[i].name, name)) return &x->params[i];
    return NULL;
}

// The parameter that an address begins with: base + ..., through the names that hold it. NULL: not found.
static const char *base_of(tuning *x, TSNode n, int depth) {
    while (kg_node_is(n, "binary_operator") || kg_node_is(n, "parenthesized_expression"))
        n = kg_node_is(n, "binary_operator") ? kg_field_of(n, "left") : ts_node_named_child(n, 0);
    if (!kg_node_is(n, "identifier") || depth > 8) return NULL;
    char *name = kg_node_text(x->s, n);
    const param *p = param_named(x, name);
    kg_captures from;
    const bool held = !p && kg_assigned(x->s, x->body, name, &from, 1);
    free(name);
    return p ? p->name : held ? base_of(x, *kg_captured(&from, "at"), depth + 1) : NULL;
}

// ---- the launch -----------------------------------------------------------------------------------------------------

// A number, or a name that one assignment in the file makes a number and that nothing else uses; owned. NULL: neither.
static char *number_of(const tuning *x, TSNode value, size_t uses) {
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
    for (uint32_t i = 0; i < ts_node_named_child_count(in); i++)
        n += numbers_like(s, ts_node_named_child(in, i), value);
    return n;
}

static bool steps_by(const tuning *x, const char *name) {
    return found(
        x->s, x->body,
        kg_format("((call function: (_) @a arguments: (argument_list (_) (_) . (identifier) @at .)) (#match? @a "
                  "\"range$\") (#eq? @at \"%s\"))",
                  name));
}

static bool has_lanes_of(const tuning *x, const char *name) {
    return found(x->s, x->body,
                 kg_format("((call function: (attribute attribute: (identifier) @a) arguments: (argument_list (_) . "
                           "(identifier) @at .)) (#eq? @a \"arange\") (#eq? @at \"%s\"))",
                           name));
}

// A size q of the kernel goes with block b: tl.cdiv(q, b), or lanes of b that are compared with q (or, loosely, with
// what is computed from it).
static bool belong(const tuning *x, const char *q, const char *b, bool loosely) {
    kg_captures compared[MOST];
    if (found(x->s, x->body,
              kg_format(
                  "((call function: (attribute attribute: (identifier) @a) arguments: (argument_list . (identifier) "
                  "@b . (identifier) @at .)) (#eq? @a \"cdiv\") (#eq? @b \"%s\") (#eq? @at \"%s\"))",
                  q, b)))
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
static TSNode given_to(const tuning *x, const char *name) {
    for (uint32_t i = 0; i < ts_node_named_child_count(x->arguments) && i < x->n_params; i++) {
        const TSNode a = ts_node_named_child(x->arguments, i);
        if (kg_node_is(a, "list_splat") || kg_node_is(a, "dictionary_splat") || kg_node_is(a, "keyword_argument"))
            break;
        if (!strcmp(x->params[i].name, name)) return a;
    }
    return kg_keyword(x->s, x->arguments, name);
}

// Which parameter the launch gives a text to, by position: what stands before a *splat.
static const char *param_given(tuning *x, TSNode text) {
    const char *only = NULL;
    for (uint32_t i = 0; i < ts_node_named_child_count(x->arguments) && i < x->n_params; i++) {
        const TSNode a = ts_node_named_child(x->arguments, i);
        if (kg_node_is(a, "list_splat") || kg_node_is(a, "dictionary_splat") || kg_node_is(a, "keyword_argument"))
            break;
        char *given = kg_node_text(x->s, a);
        if (kg_node_says(x->s, text, given)) only = x->params[i].name;
        free(given);
    }
    return only;
}

// The block that a number or name of the grid's cdiv(size, value) stands for; NULL: none, or more than one.
static block *block_of(tuning *x, TSNode size, TSNode value) {
    block *only = NULL, *linked = NULL;
    size_t fits = 0, links = 0;
    const char *q = param_given(x, size);
    char *said = kg_node_text(x->s, value);
    for (size_t i = 0; i < x->n; i++) {
        block *b = &x->blocks[i];
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
static int read_grid(tuning *x) {
    kg_captures parts[MOST];
    const size_t n = kg_matches(x->s, x->grid, CDIV, parts, MOST);
    for (size_t i = 0; i < n; i++) {
        const TSNode value = *kg_captured(&parts[i], "c");
        if (!kg_node_is(value, "integer") && !kg_node_is(value, "identifier")) continue;
        block *b = block_of(x, *kg_captured(&parts[i], "b"), value);
        if (!b) return kg_not_repaired(x->why, "which block a number of the grid stands for is not clear");
        b->in_grid++;
        kg_edit_node(x->out, value, "%s[\"%s\"]", x->meta, b->name);
    }
    return 0;
}

// Everything that holds a block's size is in the grid's cdiv and the launch: counted, so that no other place is missed.
static int nothing_else_holds(tuning *x) {
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

static int read_blocks(tuning *x) {
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
        if (x->n == BLOCKS) {
            free(number);
            return kg_not_repaired(x->why, "more than three blocks");
        }
        x->blocks[x->n++] =
            (block){.name = kg_strdup(name), .value = number, .argument = ts_node_parent(value), .in_range = stepped};
    }
    return x->n ? 0 : kg_not_repaired(x->why, "the launch gives no block as a number");
}

// kernel[grid](...): grid itself, or what one assignment in the same function gave it.
static int find_grid(tuning *x, TSNode grid) {
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

static bool same_tensor(const tuning *x, const char *one, const char *other) {
    const TSNode a = given_to(x, one), b = given_to(x, other);
    if (ts_node_is_null(a) || ts_node_is_null(b)) return true;  // not known
    return kg_same_text(x->s, a, b);
}

// Trials run the kernel again and again: it must write the same each time.
static int can_run_again(tuning *x) {
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

// ---- configurations -------------------------------------------------------------------------------------------------

typedef struct {
    int blocks[BLOCKS], warps, stages;
} config;

static const config of_product[] = {
    {{128, 256, 64}, 8, 3}, {{256, 128, 64}, 8, 3}, {{128, 256, 64}, 8, 4}, {{128, 128, 64}, 8, 3},
    {{128, 128, 64}, 4, 4}, {{128, 128, 32}, 4, 4}, {{128, 64, 64}, 4, 4},  {{64, 128, 64}, 4, 4},
    {{64, 256, 32}, 4, 4},  {{64, 64, 64}, 4, 4},   {{64, 64, 32}, 4, 5},
};
static const config of_range[] = {
    {{512}, 4, 3},  {{1024}, 4, 3}, {{1024}, 8, 3},  {{2048}, 4, 3},
    {{2048}, 8, 3}, {{4096}, 8, 3}, {{4096}, 16, 3}, {{8192}, 16, 3},
};
static const config of_grid[] = {
    {{512}, 4, 3}, {{1024}, 4, 3}, {{1024}, 8, 3}, {{2048}, 4, 3}, {{2048}, 8, 3}, {{4096}, 8, 3}, {{8192}, 8, 3},
};
static const config of_square[] = {{{16}, 4, 3}, {{32}, 8, 3}, {{64}, 4, 3}, {{64}, 8, 3}, {{128}, 8, 3}};
static const config of_grid_and_range[] = {
    {{16, 128}, 4, 3}, {{32, 128}, 4, 3}, {{32, 256}, 8, 3}, {{16, 256}, 4, 3},
    {{8, 512}, 4, 3},  {{8, 1024}, 8, 3}, {{4, 2048}, 8, 3}, {{64, 64}, 4, 3},
};
static const config of_two_grids[] = {
    {{64, 64}, 4, 3}, {{64, 64}, 8, 3}, {{32, 128}, 4, 3}, {{128, 32}, 4, 3}, {{16, 256}, 4, 3}, {{256, 16}, 4, 3},
};

static const config *configs_for(const tuning *x, size_t *n) {
#define TABLE(t) (*n = sizeof t / sizeof *t, t)
    const bool product = kg_triton_has_product(x->s, x->body);
    const bool first = x->blocks[0].in_grid > 0, second = x->n > 1 && x->blocks[1].in_grid > 0;
    if (product && first && second && (x->n == 2 || (x->blocks[2].in_range && !x->blocks[2].in_grid)))
        return TABLE(of_product);
    if (product || x->n > 2) return NULL;
    if (x->blocks[0].in_grid > 2 || (x->n > 1 && (x->blocks[0].in_grid > 1 || x->blocks[1].in_grid > 1))) return NULL;
    if (x->n == 1) return x->blocks[0].in_grid == 2 ? TABLE(of_square) : first ? TABLE(of_grid) : TABLE(of_range);
    if (first && second) return TABLE(of_two_grids);
    return first && x->blocks[1].in_range ? TABLE(of_grid_and_range) : NULL;
#undef TABLE
}

static void add_config(const tuning *x, kg_text *t, const config *c, const char *warps, const char *stages) {
    kg_text_add(t, "        triton.Config({");
    for (size_t i = 0; i < x->n; i++) {
        kg_text_add(t, "%s\"%s\": ", i ? ", " : "", x->blocks[i].name);
        if (c) kg_text_add(t, "%d", c->blocks[i]);
        else kg_text_add(t, "%s", x->blocks[i].value);
    }
    if (c) kg_text_add(t, "}, num_warps=%d, num_stages=%d),\n", c->warps, c->stages);
    else kg_text_add(t, "}, num_warps=%s, num_stages=%s),\n", warps, stages);
}

// The launch's own configuration is the first already.
static bool is_given(const tuning *x, const config *c, const char *warps, const char *stages) {
    bool same = strtol(warps, NULL, 10) == c->warps && strtol(stages, NULL, 10) == c->stages;
    for (size_t i = 0; i < x->n; i++) same &= strtol(x->blocks[i].value, NULL, 10) == c->blocks[i];
    return same;
}

// Which arguments say how large the problem is: what the grid and loops divide, and masks compare with.
static size_t mark_sizes(tuning *x) {
    size_t n = 0;
    for (size_t i = 0; i < x->n_params; i++) {
        param *p = &x->params[i];
        if (p->constant) continue;
        for (size_t k = 0; k < x->n; k++) {
            const char *b = x->blocks[k].name;
            p->size |=
                belong(x, p->name, b, true) ||
                found(x->s, x->body,
                      kg_format("((call function: (_) @a arguments: (argument_list (_) . (identifier) @b . "
                                "(identifier) @at .)) (#match? @a \"range$\") (#eq? @b \"%s\") (#eq? @at \"%s\"))",
                                p->name, b));
        }
        n += p->size;
    }
    return n;
}

// Shared memory holds the operands' blocks, a stage each; registers the result's.
static void add_pruning(const tuning *x, kg_text *t, const char *name, bool product) {
    const char *joint = "";
    kg_captures dots[MOST];
    const size_t n = kg_matches(
        x->s, x->body, "((call function: (attribute attribute: (identifier) @a)) @at (#eq? @a \"dot\"))", dots, MOST);
    kg_text_add(
        t,
        "def %s(configs, named_args, **given):\n"
        "    \"\"\"Of the configurations those that fit the device; a small problem takes the first, untried.\"\"\"\n"
        "    args = {**named_args, **given}\n"
        "    if ",
        name);
    for (size_t i = 0; i < x->n_params; i++) {
        if (!x->params[i].size) continue;
        kg_text_add(t, "%sargs[\"%s\"]", joint, x->params[i].name);
        joint = " * ";
    }
    kg_text_add(t,
                " < 1 << %d:\n"
                "        return configs[:1]\n"
                "    width = max(a.element_size() for a in args.values() if hasattr(a, \"element_size\"))\n",
                product                            ? 27
                : x->n > 1 || x->blocks[0].in_grid ? 14
                                                   : 12);
    kg_text_add(t, "    fitting = [c for c in configs if ");
    joint = "";
    for (size_t i = 0; i < (product ? 2 : x->n); i++) {
        for (size_t k = 0; k < (x->blocks[i].in_grid > 1 ? x->blocks[i].in_grid : 1); k++) {
            kg_text_add(t, "%sc.kwargs[\"%s\"]", joint, x->blocks[i].name);
            joint = " * ";
        }
    }
    if (n > 1) kg_text_add(t, " * %zu", n);
    kg_text_add(t, " * max(width, 4) <= 512 * 32 * c.num_warps]\n");
    if (product && x->n == 3) {
        kg_text_add(
            t,
            "    driver = triton.runtime.driver.active\n"
            "    shared = driver.utils.get_device_properties(driver.get_current_device())[\"max_shared_mem\"]\n"
            "    fitting = [c for c in fitting if (c.kwargs[\"%s\"] + c.kwargs[\"%s\"]) * c.kwargs[\"%s\"] * width\n"
            "               * c.num_stages <= shared]\n",
            x->blocks[0].name, x->blocks[1].name, x->blocks[2].name);
    }
    kg_text_add(t, "    return fitting or configs[:1]\n\n\n");
}

static void add_decorator(tuning *x, const config *configs, size_t n) {
    kg_text t = {0}, names = {0};
    const bool product = kg_triton_has_product(x->s, x->body);
    const TSNode warps = kg_keyword(x->s, x->arguments, "num_warps"),
                 stages = kg_keyword(x->s, x->arguments, "num_stages");
    char *w = ts_node_is_null(warps) ? kg_strdup("4") : kg_node_text(x->s, warps);
    char *st = ts_node_is_null(stages) ? kg_strdup("3") : kg_node_text(x->s, stages);
    char *wanted = kg_format("configs_of_%s", x->kernel), *prune = kg_new_name(x->s, &names, wanted);
    add_pruning(x, &t, prune, product);
    kg_text_add(&t, "@triton.autotune(\n    configs=[\n");
    add_config(x, &t, NULL, w, st);
    for (size_t i = 0; i < n; i++)
        if (!is_given(x, &configs[i], w, st)) add_config(x, &t, &configs[i], NULL, NULL);
    kg_text_add(&t, "    ],\n    key=[");
    const char *comma = "";
    for (size_t i = 0; i < x->n_params; i++) {
        if (!x->params[i].size) continue;
        kg_text_add(&t, "%s\"%s\"", comma, x->params[i].name);
        comma = ", ";
    }
    kg_text_add(&t, "],\n    prune_configs_by={\"early_config_prune\": %s},\n)\n", prune);
    const size_t at = ts_node_start_byte(x->definition);
    kg_edit_replace(x->out, at, at, "%s", t.data);
    free(w), free(st), free(wanted), free(prune);
    kg_text_free(&t);
    kg_text_free(&names);
}

// A keyword argument goes, with the comma and blanks before it.
static void drop_argument(tuning *x, TSNode argument) {
    const TSNode before = ts_node_prev_named_sibling(argument), after = ts_node_next_named_sibling(argument);
    if (!ts_node_is_null(before))
        kg_edit_replace(x->out, ts_node_end_byte(before), ts_node_end_byte(argument), "%s", "");
    else if (!ts_node_is_null(after))
        kg_edit_replace(x->out, ts_node_start_byte(argument), ts_node_start_byte(after), "%s", "");
    else kg_edit_node(x->out, argument, "%s", "");
}

static void rewrite_launch(tuning *x) {
    for (size_t i = 0; i < x->n; i++) drop_argument(x, x->blocks[i].argument);
    static const char *const chosen[] = {"num_warps", "num_stages"};
    for (size_t i = 0; i < 2; i++) {
        const TSNode value = kg_keyword(x->s, x->arguments, chosen[i]);
        if (!ts_node_is_null(value)) drop_argument(x, ts_node_parent(value));
    }
    bool any = false;
    for (size_t i = 0; i < x->n; i++) any |= x->blocks[i].in_grid > 0;
    if (any) kg_edit_replace(x->out, ts_node_start_byte(x->grid), ts_node_start_byte(x->grid), "lambda %s: ", x->meta);
}

static bool literal_or_absent(const tuning *x, const char *name) {
    const TSNode value = kg_keyword(x->s, x->arguments, name);
    return ts_node_is_null(value) || kg_node_is(value, "integer");
}

// Blocks that the grid does not count and no loop steps by are sizes: they stay.
static void keep_sizes(tuning *x) {
    size_t n = 0;
    for (size_t i = 0; i < x->n; i++) {
        if (x->blocks[i].in_grid || x->blocks[i].in_range) x->blocks[n++] = x->blocks[i];
        else free(x->blocks[i].name), free(x->blocks[i].value);
    }
    x->n = n;
}

static int tune(tuning *x, const kg_captures *launch) {
    size_t n = 0;
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
    const config *configs = x->n ? configs_for(x, &n) : NULL;
    if (!configs) return kg_not_repaired(x->why, "no configurations for these blocks are known");
    if (!mark_sizes(x)) return kg_not_repaired(x->why, "no argument of the kernel is known to be a size");
    add_decorator(x, configs, n);
    rewrite_launch(x);
    return 0;
}

// ---- a list that is there already -----------------------------------------------------------------------------------

#define CONFIGS 8

typedef struct {
    char *blocks;
    long warps, stages;
} tried;

static long number(const kg_syntax *s, TSNode arguments, const char *name, long otherwise) {
    const TSNode value = kg_keyword(s, arguments, name);
    if (ts_node_is_null(value)) return otherwise;
    char *text = kg_node_text(s, value), *end;
    const long n = strtol(text, &end, 10);
    const bool whole = *text && !*end;
    free(text);
    return whole ? n : -1;
}

// triton.Config({...}, num_warps=, num_stages=) and nothing else.
static bool read_config(const kg_syntax *s, TSNode n, tried *out) {
    if (!kg_node_is(n, "call")) return false;
    const TSNode arguments = kg_field_of(n, "arguments");
    const uint32_t count = ts_node_named_child_count(arguments);
    const bool warps = !ts_node_is_null(kg_keyword(s, arguments, "num_warps")),
               stages = !ts_node_is_null(kg_keyword(s, arguments, "num_stages"));
    if (!count || !kg_node_is(ts_node_named_child(arguments, 0), "dictionary")) return false;
    if (count != 1u + warps + stages) return false;
    *out = (tried){NULL, number(s, arguments, "num_warps", 4), number(s, arguments, "num_stages", 3)};
    if (out->warps < 1 || out->stages < 0) return false;
    out->blocks = kg_node_text(s, ts_node_named_child(arguments, 0));
    return true;
}

static bool is_tried(const tried *known, size_t n, const char *blocks, long warps, long stages) {
    for (size_t i = 0; i < n; i++)
        if (!strcmp(known[i].blocks, blocks) && known[i].warps == warps && known[i].stages == stages) return true;
    return false;
}

// Every tile with 4 and 8 warps and 3 and 4 stages; without tl.dot, which stages serve, with 4, 8 and 16 warps.
static size_t add_tried(const kg_syntax *s, const tried *known, size_t n, TSNode first, bool product, kg_edits *out) {
    static const long ways[][2] = {{8, 3}, {4, 3}, {8, 4}, {4, 4}}, plain[][2] = {{8, 3}, {4, 3}, {16, 3}};
    const size_t many = product ? 4 : 3, at = ts_node_start_byte(first);
    char *indent = kg_indent_of(s, first), *call = kg_node_text(s, kg_field_of(first, "function"));
    size_t made = 0;
    for (size_t i = 0; i < n; i++) {
        bool again = false;
        for (size_t k = 0; k < i; k++) again |= !strcmp(known[k].blocks, known[i].blocks);
        for (size_t w = 0; w < many && !again; w++) {
            const long *way = product ? ways[w] : plain[w];
            if (is_tried(known, n, known[i].blocks, way[0], way[1])) continue;
            kg_edit_replace(out, at, at, "%s(%s, num_warps=%ld, num_stages=%ld),\n%s", call, known[i].blocks, way[0],
                            way[1], indent);
            made++;
        }
    }
    free(indent), free(call);
    return made;
}

static int widen(const kg_syntax *s, TSNode definition, TSNode body, kg_edits *out, char **why) {
    tried known[CONFIGS];
    size_t n = 0, made = 0;
    bool read = true;
    TSNode first = {0};
    const TSNode list = kg_first(
        s, definition,
        "((decorator (call function: (_) @a arguments: (argument_list . (list) @at))) (#match? @a \"autotune$\")) "
        "((decorator (call function: (_) @a arguments: (argument_list (keyword_argument name: (identifier) @b "
        "value: (list) @at)))) (#match? @a \"autotune$\") (#eq? @b \"configs\"))");
    if (ts_node_is_null(list))
        return kg_not_repaired(why, "the autotuner's configurations are no list in its decorator");
    for (uint32_t i = 0; i < ts_node_named_child_count(list) && read && n < CONFIGS; i++) {
        const TSNode c = ts_node_named_child(list, i);
        if (kg_node_is(c, "comment")) continue;
        if (n == 0) first = c;
        read = read_config(s, c, &known[n]);
        n += read;
    }
    const bool many = n == CONFIGS;
    if (read && n && !many) made = add_tried(s, known, n, first, kg_triton_has_product(s, body), out);
    for (size_t i = 0; i < n; i++) free(known[i].blocks);
    if (many) return kg_not_repaired(why, "many configurations are tried already");
    if (!read) return kg_not_repaired(why, "a configuration is more than blocks, warps and stages");
    return made ? 0 : kg_not_repaired(why, "warps and stages are tried already");
}

static int tune_kernel(const kg_syntax *s, const kg_captures *kernel, const void *none, kg_edits *out, char **why) {
    (void)none;
    kg_captures launches[MOST];
    const TSNode definition = *kg_captured(kernel, "at");
    tuning x = {.s = s, .definition = definition, .body = *kg_captured(kernel, "c"), .out = out, .why = why};
    kg_text names = {0};
    x.kernel = kg_node_text(s, *kg_captured(kernel, "b"));
    x.meta = kg_new_name(s, &names, "META");
    const size_t n = kg_triton_launches(s, x.kernel, launches);
    int rc = -1;
    if (kg_triton_is_autotuned(s, definition)) rc = widen(s, definition, x.body, out, why);
    else if (n != 1)
        kg_not_repaired(
            why, n ? "the kernel is launched in several places" : "a kernel is not launched as kernel[grid](...)");
    else rc = tune(&x, &launches[0]);
    kg_text_free(&names);
    free_tuning(&x);
    return rc;
}

int kg_triton_autotune(const kg_syntax *s, size_t variant, kg_edits *out, char **why) {
    (void)variant;
    return kg_triton_each(s, tune_kernel, NULL, out, why);
}
