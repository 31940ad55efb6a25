// Blocks, warps and stages that @triton.autotune chooses.
#include <stdlib.h>
#include <string.h>

#include "diagnose/tuning.h"

#define MOST KG_TRITON_MOST

// ---- configurations -------------------------------------------------------------------------------------------------

typedef struct {
    int blocks[KG_TUNED_BLOCKS], warps, stages;
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

static const config *configs_for(const kg_tuning *x, size_t *n) {
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

static void add_config(const kg_tuning *x, kg_text *t, const config *c, const char *warps, const char *stages) {
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
static bool is_given(const kg_tuning *x, const config *c, const char *warps, const char *stages) {
    bool same = strtol(warps, NULL, 10) == c->warps && strtol(stages, NULL, 10) == c->stages;
    for (size_t i = 0; i < x->n; i++) same &= strtol(x->blocks[i].value, NULL, 10) == c->blocks[i];
    return same;
}

// Shared memory holds the operands' blocks, a stage each; registers the result's.
static void add_pruning(const kg_tuning *x, kg_text *t, const char *name, bool product) {
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

static void add_decorator(kg_tuning *x, const config *configs, size_t n) {
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
static void drop_argument(kg_tuning *x, TSNode argument) {
    const TSNode before = ts_node_prev_named_sibling(argument), after = ts_node_next_named_sibling(argument);
    if (!ts_node_is_null(before))
        kg_edit_replace(x->out, ts_node_end_byte(before), ts_node_end_byte(argument), "%s", "");
    else if (!ts_node_is_null(after))
        kg_edit_replace(x->out, ts_node_start_byte(argument), ts_node_start_byte(after), "%s", "");
    else kg_edit_node(x->out, argument, "%s", "");
}

static void rewrite_launch(kg_tuning *x) {
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

static int tune(kg_tuning *x, const kg_captures *launch) {
    size_t n = 0;
    bool sized = false;
    if (kg_tuning_read(x, launch)) return -1;
    const config *configs = x->n ? configs_for(x, &n) : NULL;
    if (!configs) return kg_not_repaired(x->why, "no configurations for these blocks are known");
    for (size_t i = 0; i < x->n_params; i++) sized |= x->params[i].size;
    if (!sized) return kg_not_repaired(x->why, "no argument of the kernel is known to be a size");
    add_decorator(x, configs, n);
    rewrite_launch(x);
    return 0;
}

static int tune_kernel(const kg_syntax *s, const kg_captures *kernel, const void *none, kg_edits *out, char **why) {
    (void)none;
    kg_captures launches[MOST];
    const TSNode definition = *kg_captured(kernel, "at");
    kg_tuning x = {.s = s, .definition = definition, .body = *kg_captured(kernel, "c"), .out = out, .why = why};
    kg_text names = {0};
    x.kernel = kg_node_text(s, *kg_captured(kernel, "b"));
    x.meta = kg_new_name(s, &names, "META");
    const size_t n = kg_triton_launches(s, x.kernel, launches);
    int rc = -1;
    if (kg_triton_is_autotuned(s, definition)) rc = kg_triton_widen(s, definition, x.body, out, why);
    else if (n != 1)
        kg_not_repaired(
            why, n ? "the kernel is launched in several places" : "a kernel is not launched as kernel[grid](...)");
    else rc = tune(&x, &launches[0]);
    kg_text_free(&names);
    kg_tuning_free(&x);
    return rc;
}

int kg_triton_autotune(const kg_syntax *s, size_t variant, kg_edits *out, char **why) {
    (void)variant;
    return kg_triton_each(s, tune_kernel, NULL, out, why);
}
