// Repairs of Triton kernels.
#include <stdlib.h>
#include <string.h>

#include "diagnose/repair.h"

#define MOST KG_TRITON_MOST

// The kernels of the file: @b name, @c body, @at with its decorators.
size_t kg_triton_kernels(const kg_syntax *s, kg_captures *out) {
    return kg_matches(s, ts_tree_root_node(s->tree), TRITON_DEFINITION, out, MOST);
}

// kernel[grid](...): @a kernel, @b grid, @c arguments.
size_t kg_triton_launches(const kg_syntax *s, const char *kernel, kg_captures *out) {
    char *query = kg_format(
        "((call function: (subscript value: (identifier) @a subscript: (_) @b) arguments: "
        "(argument_list) @c) @at (#eq? @a \"%s\"))",
        kernel);
    const size_t n = kg_matches(s, ts_tree_root_node(s->tree), query, out, MOST);
    free(query);
    return n;
}

bool kg_triton_has_product(const kg_syntax *s, TSNode in) {
    return !ts_node_is_null(
        kg_first(s, in, "((call function: (attribute attribute: (identifier) @a)) @at (#eq? @a \"dot\"))"));
}

bool kg_triton_is_autotuned(const kg_syntax *s, TSNode definition) {
    return !ts_node_is_null(kg_first(s, definition, "((decorator) @at (#match? @at \"autotune|heuristics\"))"));
}

int kg_triton_each(const kg_syntax *s, kg_triton_repair *one, const void *how, kg_edits *out, char **why) {
    kg_captures kernels[MOST];
    const size_t n = kg_triton_kernels(s, kernels);
    bool made = false;
    for (size_t i = 0; i < n; i++) {
        kg_edits mine = {0};
        char *refusal = NULL;
        // What one kernel's refusal has left behind must not stay.
        if (one(s, &kernels[i], how, &mine, &refusal) == 0) {
            kg_edits_take(out, &mine);
            made = true;
        }
        kg_edits_free(&mine);
        kg_keep_first(why, refusal);
    }
    return kg_repaired(made, why, "no kernel");
}

// name=value in a launch: replaced, or added as its last argument.
static void set_keyword(const kg_syntax *s, TSNode arguments, const char *name, long value, kg_edits *out) {
    const TSNode there = kg_keyword(s, arguments, name);
    if (ts_node_is_null(there)) kg_edit_argument(out, arguments, "%s=%ld", name, value);
    else kg_edit_node(out, there, "%ld", value);
}

// ---- warps, stages --------------------------------------------------------------------------------------------------

static int set_in_launches(const kg_syntax *s, const char *name, long value, kg_edits *out, char **why) {
    kg_captures kernels[MOST], launches[MOST];
    const size_t n = kg_triton_kernels(s, kernels);
    for (size_t i = 0; i < n; i++) {
        if (kg_triton_is_autotuned(s, *kg_captured(&kernels[i], "at"))) continue;
        char *kernel = kg_node_text(s, *kg_captured(&kernels[i], "b"));
        const size_t m = kg_triton_launches(s, kernel, launches);
        for (size_t k = 0; k < m; k++) set_keyword(s, *kg_captured(&launches[k], "c"), name, value, out);
        free(kernel);
    }
    return out->n ? 0 : kg_not_repaired(why, "no kernel without an autotuner is launched as kernel[grid](...)");
}

static int warps(const kg_syntax *s, size_t variant, kg_edits *out, char **why) {
    static const long counts[] = {1, 2, 8, 16, 32};
    return set_in_launches(s, "num_warps", counts[variant], out, why);
}

static int stages(const kg_syntax *s, size_t variant, kg_edits *out, char **why) {
    static const long counts[] = {1, 2, 4, 5};
    if (!kg_triton_has_product(s, ts_tree_root_node(s->tree)))
        return kg_not_repaired(why, "no tl.dot, whose loads stages would overlap");
    return set_in_launches(s, "num_stages", counts[variant], out, why);
}

// ---- a serial loop in blocks ----------------------------------------------------------------------------------------

typedef struct {
    const kg_syntax *s;
    TSNode loop, body;
    char *k, *bound, *mask, *block;
    kg_edits *out;
    char **why;
} serial;

// x = tl.maximum(x, e) or max(x, e): the reduction's name, and e.
static const char *folding(const serial *x, TSNode assignment, TSNode *e) {
    static const char *const names[][2] = {{"maximum", "max"}, {"minimum", "min"}, {"max", "max"}, {"min", "min"}};
    const TSNode right = kg_field_of(assignment, "right"), left = kg_field_of(assignment, "left");
    if (!kg_node_is(right, "call")) return NULL;
    TSNode f = kg_field_of(right, "function"), arguments = kg_field_of(right, "arguments");
    if (kg_node_is(f, "attribute")) f = kg_field_of(f, "attribute");
    char *name = kg_node_text(x->s, left), *called = kg_node_text(x->s, f);
    const char *fold = NULL;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(called, names[i][0])) fold = names[i][1];
    if (fold && kg_children(arguments) == 2) {
        const TSNode first = kg_child(arguments, 0), second = kg_child(arguments, 1);
        if (kg_node_says(x->s, first, name)) *e = second;
        else if (kg_node_says(x->s, second, name)) *e = first;
        else fold = NULL;
    } else {
        fold = NULL;
    }
    free(name);
    free(called);
    return fold;
}

// Whether the name is known before the loop: then an assignment in it carries a value from turn to turn.
static bool carried(const serial *x, const char *name) {
    char *query = kg_format("((assignment left: (identifier) @at) (#eq? @at \"%s\"))", name);
    kg_captures found[MOST];
    const size_t n = kg_matches(x->s, kg_function_around(x->loop), query, found, MOST);
    bool before = false;
    for (size_t i = 0; i < n; i++)
        before |= ts_node_start_byte(*kg_captured(&found[i], "at")) < ts_node_start_byte(x->loop);
    free(query);
    return before;
}

// `from`, with the mask put into its loads: loads read nothing past the bound.
static void mask_accesses(const serial *x) {
    kg_captures found[MOST];
    const size_t n =
        kg_matches(x->s, x->body,
                   "((call function: (attribute attribute: (identifier) @a) arguments: (argument_list) @b) @at "
                   "(#any-of? @a \"load\" \"store\"))",
                   found, MOST);
    for (size_t i = 0; i < n; i++) {
        const TSNode arguments = *kg_captured(&found[i], "b"), mask = kg_keyword(x->s, arguments, "mask");
        if (!kg_uses(x->s, arguments, x->k)) continue;
        const bool load = kg_node_says(x->s, *kg_captured(&found[i], "a"), "load");
        if (!ts_node_is_null(mask)) {
            char *was = kg_node_text(x->s, mask);
            kg_edit_node(x->out, mask, "(%s) & %s", was, x->mask);
            free(was);
            continue;
        }
        kg_edit_argument(x->out, arguments, "mask=%s%s", x->mask, load ? ", other=0.0" : "");
    }
}

static void fold(const serial *x, TSNode e, const char *reduction, const char *neutral) {
    const size_t from = ts_node_start_byte(e), to = ts_node_end_byte(e);
    kg_edit_replace(x->out, from, from, "tl.%s(tl.where(%s, ", reduction, x->mask);
    kg_edit_replace(x->out, to, to, ", %s))", neutral);
}

static int block_statement(const serial *x, TSNode statement) {
    const TSNode inner = kg_child(statement, 0);
    if (kg_node_is(inner, "call")) {
        const TSNode f = kg_field_of(inner, "function");
        if (kg_node_is(f, "attribute") && kg_node_says(x->s, kg_field_of(f, "attribute"), "store")) return 0;
    }
    if (kg_node_is(inner, "augmented_assignment")) {
        char *name = kg_node_text(x->s, kg_field_of(inner, "left"));
        const bool adds = kg_node_says(x->s, kg_field_of(inner, "operator"), "+="), outer = carried(x, name);
        free(name);
        if (adds && outer) fold(x, kg_field_of(inner, "right"), "sum", "0.0");
        // y *= w of a value that is the turn's own stays what it is.
        if (outer && !adds)
            return kg_not_repaired(x->why, "the loop carries a value that is no sum, maximum or minimum");
        return 0;
    }
    if (!kg_node_is(inner, "assignment"))
        return kg_not_repaired(x->why, "the loop does more than load, fold and store");
    TSNode e = {0};
    const char *reduction = folding(x, inner, &e);
    char *name = kg_node_text(x->s, kg_field_of(inner, "left"));
    const bool outer = carried(x, name);
    free(name);
    if (reduction && outer) fold(x, e, reduction, strcmp(reduction, "max") ? "float(\"inf\")" : "-float(\"inf\")");
    else if (outer) return kg_not_repaired(x->why, "the loop carries a value that is no sum, maximum or minimum");
    return 0;
}

// An `if` whose branches are such statements is allowed: its condition is the same for all turns or else the kernel
// does not compile with blocks, which the judge sees.
static int block_statements(const serial *x, TSNode body) {
    for (uint32_t i = 0; i < kg_children(body); i++) {
        const TSNode st = kg_child(body, i);
        if (kg_node_is(st, "comment")) continue;
        if (kg_node_is(st, "if_statement") && !kg_uses(x->s, kg_field_of(st, "condition"), x->k)) {
            if (ts_node_is_null(kg_field_of(st, "alternative")) &&
                block_statements(x, kg_field_of(st, "consequence")) == 0)
                continue;
            return *x->why ? -1 : kg_not_repaired(x->why, "the loop has a branch with an else");
        }
        if (!kg_node_is(st, "expression_statement"))
            return kg_not_repaired(x->why, "the loop does more than load, fold and store");
        if (block_statement(x, st)) return -1;
    }
    return 0;
}

// range(n) or range(0, n), and k added to an address.
static bool serial_bounds(serial *x, TSNode arguments) {
    const uint32_t n = kg_children(arguments);
    if (n < 1 || n > 2 || (n == 2 && !kg_node_says(x->s, kg_child(arguments, 0), "0"))) return false;
    x->bound = kg_node_text(x->s, kg_child(arguments, n - 1));
    return true;
}

static void rewrite_head(const serial *x, TSNode arguments) {
    const TSNode first = kg_child(x->body, 0);
    char *indent = kg_indent_of(x->s, first);
    kg_edit_node(x->out, kg_field_of(x->loop, "left"), "%s_block", x->k);
    kg_edit_node(x->out, arguments, "(0, %s, %s)", x->bound, x->block);
    const size_t at = ts_node_start_byte(first);
    kg_edit_replace(x->out, at, at, "%s = %s_block + tl.arange(0, %s)\n%s%s = %s < %s\n%s", x->k, x->k, x->block,
                    indent, x->mask, x->k, x->bound, indent);
    free(indent);
}

static int block_loop(const kg_syntax *s, const kg_captures *c, long block, kg_edits *out, char **why) {
    serial x = {.s = s, .loop = *kg_captured(c, "at"), .body = *kg_captured(c, "c"), .out = out, .why = why};
    const TSNode arguments = *kg_captured(c, "b");
    x.k = kg_node_text(s, *kg_captured(c, "a"));
    x.mask = kg_format("%s_in", x.k);
    x.block = kg_format("%ld", block);
    int rc = -1;
    char *added = kg_format("((binary_operator operator: \"+\" (identifier) @at) (#eq? @at \"%s\"))", x.k);
    if (!ts_node_is_null(kg_first(s, x.body, added)) && serial_bounds(&x, arguments)) {
        rewrite_head(&x, arguments);
        rc = block_statements(&x, x.body);
        if (!rc) mask_accesses(&x);
    }
    free(added);
    free(x.k);
    free(x.mask);
    free(x.block);
    free(x.bound);
    return rc;
}

static int blocks(const kg_syntax *s, size_t variant, kg_edits *out, char **why) {
    static const long widths[] = {1024, 256, 4096};
    kg_captures kernels[MOST], loops[MOST];
    const size_t n = kg_triton_kernels(s, kernels);
    for (size_t i = 0; i < n; i++) {
        const size_t m = kg_matches(s, *kg_captured(&kernels[i], "c"),
                                    "((for_statement left: (identifier) @a right: (call function: (_) @d arguments: "
                                    "(argument_list) @b) body: (block) @c) @at (#match? @d \"range$\"))",
                                    loops, MOST);
        for (size_t k = 0; k < m; k++)
            if (block_loop(s, &loops[k], widths[variant], out, why) && *why) return -1;
    }
    return out->n ? 0 : kg_not_repaired(why, "no loop that goes through memory one element a turn");
}

static const kg_repair_rule rules[] = {
    {.info = {.id = "triton-blocks",
              .answers = "triton-serial-loop",
              .languages = KG_IN(KG_LANG_TRITON),
              .variants = 3,
              .what = "the serial loop goes in blocks, each reduced at once"},
     .make = blocks},
    {.info = {.id = "triton-stream-row",
              .answers = "triton-whole-row triton-whole-row-spills spills many-registers",
              .languages = KG_IN(KG_LANG_TRITON),
              .variants = 5,
              .what = "long rows go block by block, a loop for each reduction, instead of in one block"},
     .make = kg_triton_stream_row},
    {.info = {.id = "triton-fuse-passes",
              .answers =
                  "triton-reads-twice triton-whole-row triton-whole-row-spills triton-serial-loop excess-traffic",
              .languages = KG_IN(KG_LANG_TRITON),
              .variants = 1,
              .what = "two loops over a row become one: running maximum and sum, running mean and spread"},
     .make = kg_triton_fuse_passes},
    {.info = {.id = "triton-grouped-order",
              .answers = "triton-row-major-order",
              .languages = KG_IN(KG_LANG_TRITON),
              .variants = 6,
              .what = "programs go in groups, so that blocks stay in the L2 cache"},
     .make = kg_triton_grouped_order},
    {.info = {.id = "triton-autotune",
              .answers = "triton-one-configuration triton-few-configurations triton-tiles-only triton-one-stage "
                         "triton-narrow-reduction triton-small-block triton-reduce-each-turn triton-whole-row "
                         "triton-whole-row-spills",
              .languages = KG_IN(KG_LANG_TRITON),
              .variants = 1,
              .what = "blocks, warps and stages are chosen by @triton.autotune, of those that fit the device"},
     .make = kg_triton_autotune},
    {.info = {.id = "triton-warps",
              .answers = "*",
              .languages = KG_IN(KG_LANG_TRITON),
              .variants = 5,
              .what = "another number of warps a program"},
     .make = warps},
    {.info = {.id = "triton-stages",
              .answers = "triton-one-configuration triton-few-configurations",
              .languages = KG_IN(KG_LANG_TRITON),
              .variants = 4,
              .what = "another number of stages in the loop's pipeline"},
     .make = stages},
};

const kg_repair_table kg_repairs_triton = {rules, sizeof rules / sizeof *rules};
