// A serial reduction of a TileLang kernel goes in blocks that all threads share, with T.reduce_* at its end.
#include <stdlib.h>
#include <string.h>

#include "diagnose/serial.h"

#define MOST 64
// Every place where a carried value stands becomes the lane's own; any that was not understood is refused.
static void rename_carried(kg_serial *x) {
    kg_captures found[MOST];
    const size_t n = kg_matches(x->s, x->body, "(subscript value: (identifier) @a) @at", found, MOST);
    for (size_t i = 0; i < n; i++) {
        char *name = kg_first_element(x->s, *kg_captured(&found[i], "at"));
        for (size_t k = 0; k < x->n && name; k++) {
            const kg_carried *c = &x->carries[k];
            const char *to = !strcmp(name, c->name) ? c->by : c->place && !strcmp(name, c->place) ? c->place_by : NULL;
            if (to) kg_edit_node(&x->inner, *kg_captured(&found[i], "at"), "%s[%s]", to, x->lane);
        }
        free(name);
    }
}

static char *index_of(const kg_serial *x) {
    return x->first ? kg_format("%s + %s * (%s) + %s", x->first, x->block, x->width, x->lane)
                    : kg_format("%s * (%s) + %s", x->block, x->width, x->lane);
}

static void collect_counters(kg_serial *x, TSNode in, const char *index) {
    for (uint32_t i = 0; i < kg_children(in); i++) {
        const TSNode c = kg_child(in, i);
        if (!kg_node_is(c, "identifier") || !kg_node_says(x->s, c, x->k)) {
            collect_counters(x, c, index);
            continue;
        }
        const bool alone =
            kg_node_is(in, "subscript") || kg_node_is(in, "argument_list") || kg_node_is(in, "assignment");
        kg_edit_node(&x->inner, c, alone ? "%s" : "(%s)", index);
    }
}

// The body for one lane, `deeper` blanks more to the right; owned. NULL: it cannot be moved.
static char *body_of_lane(kg_serial *x, int deeper) {
    const size_t from = kg_line_start(x->s, kg_child(x->body, 0)), to = ts_node_end_byte(x->body);
    rename_carried(x);
    char *index = index_of(x);
    if (x->whole) collect_counters(x, x->body, x->lane);
    else collect_counters(x, x->body, index);
    free(index);
    for (size_t at = from; at < to; at++)
        if ((at == from || x->s->text[at - 1] == '\n') && x->s->text[at] != '\n')
            kg_edit_replace(&x->inner, at, at, "%*s", deeper, "");
    return kg_rewritten(x->s, &x->inner, from, to);
}

static void name_lanes(kg_serial *x) {
    char *lane = kg_format("%s_lane", x->k), *block = kg_format("%s_block", x->k);
    x->lane = kg_new_name(x->s, x->names, lane);
    x->block = kg_new_name(x->s, x->names, block);
    free(lane), free(block);
    for (size_t i = 0; i < x->n; i++) {
        kg_carried *c = &x->carries[i];
        char *made[] = {kg_format("%s_by_lane", c->name), kg_format("%s_of_all", c->name),
                        kg_format("%s_by_lane", c->place ? c->place : ""),
                        kg_format("%s_of_all", c->place ? c->place : "")};
        c->by = kg_new_name(x->s, x->names, made[0]);
        c->all = kg_new_name(x->s, x->names, made[1]);
        if (c->place) c->place_by = kg_new_name(x->s, x->names, made[2]);
        if (c->place) c->place_all = kg_new_name(x->s, x->names, made[3]);
        for (size_t k = 0; k < 4; k++) free(made[k]);
    }
}

static void add_allocation(const kg_serial *x, kg_text *out, const char *in, const char *name, const char *shape,
                           const char *dtype) {
    kg_text_add(out, "%s%s = %s.alloc_fragment((%s,), %s)\n", in, name, x->t, shape, dtype);
}

// Sums begin at 0 in every lane, everything else with the value that the loop began with.
static void add_beginning(const kg_serial *x, kg_text *out, const char *in) {
    bool loop = false;
    for (size_t i = 0; i < x->n; i++) {
        const kg_carried *c = &x->carries[i];
        add_allocation(x, out, in, c->by, x->width, c->dtype);
        add_allocation(x, out, in, c->all, "1", c->dtype);
        if (c->place) add_allocation(x, out, in, c->place_by, x->width, c->place_dtype);
        if (c->place) add_allocation(x, out, in, c->place_all, "1", c->place_dtype);
    }
    for (size_t i = 0; i < x->n; i++) {
        const kg_carried *c = &x->carries[i];
        if (c->how == KG_FOLD_SUM) {
            kg_text_add(out, "%s%s.clear(%s)\n", in, x->t, c->by);
            continue;
        }
        if (!loop) kg_text_add(out, "%sfor %s in %s.Parallel(%s):\n", in, x->lane, x->t, x->width);
        loop = true;
        kg_text_add(out, "%s    %s[%s] = %s[0]\n", in, c->by, x->lane, c->name);
        if (c->place) kg_text_add(out, "%s    %s[%s] = %s[0]\n", in, c->place_by, x->lane, c->place);
    }
}

// Of the lanes that hold the largest value the first place.
static void add_place(kg_serial *x, kg_text *out, const char *in, const kg_carried *c) {
    kg_text_add(out, "%sfor %s in %s.Parallel(%s):\n", in, x->lane, x->t, x->width);
    kg_text_add(out, "%s    %s[%s] = %s.if_then_else(%s[%s] == %s[0], %s[%s], %s.max_value(%s))\n", in, c->place_by,
                x->lane, x->t, c->by, x->lane, c->all, c->place_by, x->lane, x->t, c->place_dtype);
    kg_text_add(out, "%s%s.reduce_min(%s, %s, dim=0)\n", in, x->t, c->place_by, c->place_all);
}

// The values (the places) of the lanes that hold NaN, folded to one. Returns its name; owned.
static char *add_where_nan(kg_serial *x, kg_text *out, const char *in, const kg_carried *c, bool place) {
    const char *name = place ? c->place : c->name, *dtype = place ? c->place_dtype : c->dtype;
    char *by = kg_format("%s_nan_by_lane", name), *all = kg_format("%s_nan_of_all", name);
    char *nan = kg_new_name(x->s, x->names, by), *any = kg_new_name(x->s, x->names, all);
    add_allocation(x, out, in, nan, x->width, dtype);
    add_allocation(x, out, in, any, "1", dtype);
    kg_text_add(out, "%sfor %s in %s.Parallel(%s):\n", in, x->lane, x->t, x->width);
    kg_text_add(out, "%s    %s[%s] = %s.if_then_else(%s.isnan(%s[%s]), %s[%s], %s.%s%s))\n", in, nan, x->lane, x->t,
                x->t, c->by, x->lane, place ? c->place_by : c->by, x->lane, x->t, place ? "max_value(" : "cast(0, ",
                dtype);
    kg_text_add(out, "%s%s.reduce_%s(%s, %s, dim=0)\n", in, x->t, place ? "min" : "sum", nan, any);
    free(by), free(all), free(nan);
    return any;
}

// T.reduce_max and T.reduce_min pass NaN over; here it beats every value, and of several the first counts.
static void add_choice_with_nan(kg_serial *x, kg_text *out, const char *in, const kg_carried *c) {
    char *place = c->place ? add_where_nan(x, out, in, c, true) : NULL, *nan = add_where_nan(x, out, in, c, false);
    if (c->place) {
        add_place(x, out, in, c);
        kg_text_add(out, "%s%s[0] = %s.if_then_else(%s[0] < %s.max_value(%s), %s[0], %s[0])\n", in, c->place, x->t,
                    place, x->t, c->place_dtype, place, c->place_all);
    }
    kg_text_add(out, "%s%s[0] = %s.if_then_else(%s.isnan(%s[0]), %s[0], %s[0])\n", in, c->name, x->t, x->t, nan, nan,
                c->all);
    free(place), free(nan);
}

static void add_choice(kg_serial *x, kg_text *out, const char *in, const kg_carried *c) {
    if (c->place) add_place(x, out, in, c);
    kg_text_add(out, "%sif %s[0] %s %s[0]:\n", in, c->all, c->how == KG_FOLD_LARGER ? ">" : "<", c->name);
    kg_text_add(out, "%s    %s[0] = %s[0]\n", in, c->name, c->all);
    if (c->place) kg_text_add(out, "%s    %s[0] = %s[0]\n", in, c->place, c->place_all);
}

static void add_end(kg_serial *x, kg_text *out, const char *in) {
    for (size_t i = 0; i < x->n; i++) {
        const kg_carried *c = &x->carries[i];
        const char *fold = c->how == KG_FOLD_SUM                               ? "sum"
                           : c->how == KG_FOLD_MAX || c->how == KG_FOLD_LARGER ? "max"
                                                                               : "min";
        kg_text_add(out, "%s%s.reduce_%s(%s, %s, dim=0)\n", in, x->t, fold, c->by, c->all);
        if (c->nan) add_choice_with_nan(x, out, in, c);
        else if (c->how >= KG_FOLD_LARGER) add_choice(x, out, in, c);
        else if (c->how == KG_FOLD_SUM) kg_text_add(out, "%s%s[0] += %s[0]\n", in, c->name, c->all);
        else kg_text_add(out, "%s%s[0] = %s.%s(%s[0], %s[0])\n", in, c->name, x->t, fold, c->name, c->all);
    }
}

static int write_blocks(kg_serial *x, kg_edits *out) {
    kg_text t = {0};
    char *in = kg_indent_of(x->s, x->loop), *index;
    if (x->whole) {
        free(x->width);
        x->width = kg_strdup(x->bound);
    }
    name_lanes(x);
    index = index_of(x);
    char *body = body_of_lane(x, x->whole ? 0 : 8);
    add_beginning(x, &t, in);
    if (x->whole) {
        kg_text_add(&t, "%sfor %s in %s.Parallel(%s):\n", in, x->lane, x->t, x->width);
    } else {
        char *left = x->first ? kg_format("%s - %s", x->bound, x->first) : kg_strdup(x->bound);
        kg_text_add(&t, "%sfor %s in %s.serial(%s.ceildiv(%s, %s)):\n", in, x->block, x->t, x->t, left, x->width);
        kg_text_add(&t, "%s    for %s in %s.Parallel(%s):\n", in, x->lane, x->t, x->width);
        kg_text_add(&t, "%s        if %s < %s:\n", in, index, x->bound);
        free(left);
    }
    if (body) kg_text_add(&t, "%s\n", body);
    add_end(x, &t, in);
    t.data[--t.len] = '\0';  // the line's end is there already
    if (body) kg_edit_replace(out, kg_line_start(x->s, x->loop), ts_node_end_byte(x->loop), "%s", t.data);
    kg_text_free(&t);
    free(in), free(index);
    const bool moved = body != NULL;
    free(body);
    return moved ? 0 : kg_not_repaired(x->why, "the loop's body cannot be moved");
}

static int reduce_loop(const kg_syntax *s, const kg_captures *c, TSNode kernel, const char *t, const char *width,
                       kg_text *names, kg_edits *out, char **why) {
    kg_serial x = {.s = s,
                   .loop = *kg_captured(c, "at"),
                   .body = *kg_captured(c, "c"),
                   .kernel = kernel,
                   .t = t,
                   .names = names,
                   .why = why};
    int rc = -1;
    x.k = kg_node_text(s, *kg_captured(c, "a"));
    x.width = kg_strdup(width);
    if (kg_serial_read(&x, *kg_captured(c, "b")) == 0) rc = write_blocks(&x, out);
    kg_serial_free(&x);
    return rc;
}

// with T.Kernel(..., threads=n) as ...: n, or what it is when it is not said; owned. NULL: not one dimension.
static char *threads_of(const kg_syntax *s, TSNode arguments) {
    const TSNode threads = kg_keyword(s, arguments, "threads");
    if (ts_node_is_null(threads)) return kg_strdup("128");
    if (!kg_node_is(threads, "identifier") && !kg_node_is(threads, "integer")) return NULL;
    return kg_node_text(s, threads);
}

static void reduce_kernel(const kg_syntax *s, const kg_captures *c, int lanes, kg_text *names, kg_edits *out,
                          char **why) {
    const TSNode body = *kg_captured(c, "c");
    kg_captures loops[MOST];
    char *t = kg_node_text(s, *kg_captured(c, "a")), *threads = threads_of(s, *kg_captured(c, "b"));
    char *width = !threads ? NULL : lanes == 1 ? kg_strdup(threads) : kg_format("%s * %d", threads, lanes);
    const size_t n =
        kg_matches(s, body,
                   "((for_statement left: (identifier) @a right: (call function: (_) @d arguments: "
                   "(argument_list) @b) body: (block) @c) @at (#match? @d \"^(range|[A-Za-z_]+[.]serial)$\"))",
                   loops, MOST);
    const bool by_thread = !ts_node_is_null(
        kg_first(s, body, "((identifier) @at (#match? @at \"thread_?[Bb]inding|launch_thread|thread_?[Ii]dx\"))"));
    for (size_t i = 0; i < n; i++) {
        char *mine = NULL;
        if (!width) kg_not_repaired(&mine, "the kernel's threads are said by no name or number");
        else if (by_thread) kg_not_repaired(&mine, "the kernel tells its threads apart by itself");
        else reduce_loop(s, &loops[i], body, t, width, names, out, &mine);
        kg_keep_first(why, mine);
    }
    free(t), free(threads), free(width);
}

int kg_tilelang_reduce(const kg_syntax *s, size_t variant, kg_edits *out, char **why) {
    static const int lanes[] = {4, 1, 8};
    kg_captures kernels[MOST];
    kg_text names = {0};
    const size_t n = kg_matches(s, ts_tree_root_node(s->tree), TILELANG_KERNELS, kernels, MOST);
    for (size_t i = 0; i < n; i++) reduce_kernel(s, &kernels[i], lanes[variant], &names, out, why);
    kg_text_free(&names);
    return kg_repaired(out->n > 0, why, "no serial loop in a kernel");
}
