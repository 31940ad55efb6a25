// A serial reduction of a TileLang kernel goes in blocks that all threads share, with T.reduce_* at its end.
#include <stdlib.h>
#include <string.h>

#include "diagnose/repair.h"

#define MOST 64
typedef enum {
    SUM,     // v[0] += e
    MAX,     // v[0] = T.max(v[0], e)
    MIN,     // v[0] = T.min(v[0], e)
    LARGER,  // if e > v[0]: v[0] = e
    SMALLER  // if e < v[0]: v[0] = e
} how;

// What the loop carries from turn to turn; each lane gets one of its own.
typedef struct {
    char *name, *dtype, *by, *all;
    char *place, *place_dtype, *place_by, *place_all;  // beside LARGER, SMALLER: p[0] = k; NULL: none
    how how;
    bool nan;  // it asks for NaN, which then beats every value
} carried;

#define CARRIES 8
typedef struct {
    const kg_syntax *s;
    TSNode loop, body, kernel;  // kernel: the body of `with T.Kernel(...)`
    const char *t;              // what tilelang.language is called
    char *k, *bound, *first;    // for k in range(first, bound); first: NULL where it is 0
    char *width;                // lanes of a block
    bool whole;                 // the row lies in a fragment: as many lanes as it has elements
    carried carries[CARRIES];
    size_t n;
    char *lane, *block;
    kg_text *names;  // that were made up in this file
    kg_edits inner;  // of the body
    char **why;
} serial;

static void free_serial(serial *x) {
    for (size_t i = 0; i < x->n; i++) {
        carried *c = &x->carries[i];
        free(c->name), free(c->dtype), free(c->by), free(c->all);
        free(c->place), free(c->place_dtype), free(c->place_by), free(c->place_all);
    }
    free(x->k), free(x->bound), free(x->first), free(x->width), free(x->lane), free(x->block);
    kg_edits_free(&x->inner);
}

// v[0]: its name, owned; NULL: something else.
static char *first_element(const kg_syntax *s, TSNode n) {
    if (!kg_node_is(n, "subscript") || ts_node_named_child_count(n) != 2) return NULL;
    const TSNode value = kg_field_of(n, "value"), index = kg_field_of(n, "subscript");
    return kg_node_is(value, "identifier") && kg_node_says(s, index, "0") ? kg_node_text(s, value) : NULL;
}

static bool is_first_of(const kg_syntax *s, TSNode n, const char *name) {
    char *of = first_element(s, n);
    const bool is = of && !strcmp(of, name);
    free(of);
    return is;
}

// f(a, b) of tilelang.language: its two arguments.
static bool calls(const serial *x, TSNode n, const char *f, TSNode *a, TSNode *b) {
    if (!kg_node_is(n, "call")) return false;
    const TSNode function = kg_field_of(n, "function"), arguments = kg_field_of(n, "arguments");
    char *name = kg_format("%s.%s", x->t, f);
    const bool is = kg_node_says(x->s, function, name) && ts_node_named_child_count(arguments) == (b ? 2 : 1);
    free(name);
    if (is) *a = ts_node_named_child(arguments, 0);
    if (is && b) *b = ts_node_named_child(arguments, 1);
    return is;
}

// name = T.alloc_*((shape), dtype) in the kernel: its arguments. `where`: a pattern of the allocating function.
static TSNode allocation(const serial *x, const char *name, const char *where) {
    char *query = kg_format(
        "((assignment left: (identifier) @a right: (call function: (attribute attribute: (identifier) @b) arguments: "
        "(argument_list) @at)) (#eq? @a \"%s\") (#match? @b \"^alloc_(%s)$\"))",
        name, where);
    const TSNode found = kg_first(x->s, x->kernel, query);
    free(query);
    return found;
}

// The dtype of an accumulator of one element; owned. NULL: it is none.
static char *dtype_of(const serial *x, const char *name) {
    const TSNode arguments = allocation(x, name, "local|fragment");
    if (ts_node_is_null(arguments) || ts_node_named_child_count(arguments) != 2) return NULL;
    char *shape = kg_node_text(x->s, ts_node_named_child(arguments, 0)), *dtype = NULL;
    if (!strcmp(shape, "(1,)") || !strcmp(shape, "[1]")) dtype = kg_node_text(x->s, ts_node_named_child(arguments, 1));
    free(shape);
    return dtype;
}

static int carry(serial *x, char *name, how how) {
    char *dtype = dtype_of(x, name);
    for (size_t i = 0; i < x->n && dtype; i++)
        if (!strcmp(x->carries[i].name, name) || (x->carries[i].place && !strcmp(x->carries[i].place, name))) {
            free(dtype);
            free(name);
            return kg_not_repaired(x->why, "the loop changes one value in two places");
        }
    if (!dtype || x->n == CARRIES) {
        kg_not_repaired(x->why, "the loop carries %s, which is no T.alloc_local or T.alloc_fragment of one element",
                        name);
        free(name);
        free(dtype);
        return -1;
    }
    x->carries[x->n++] = (carried){.name = name, .dtype = dtype, .how = how};
    return 0;
}

// v[0] += e, v[0] = v[0] + e, v[0] = T.max(v[0], e).
static int folds(serial *x, TSNode inner) {
    char *name = first_element(x->s, kg_field_of(inner, "left"));
    const TSNode right = kg_field_of(inner, "right");
    TSNode a, b;
    if (!name) return kg_not_repaired(x->why, "the loop stores, or carries a value that is no v[0]");
    if (kg_node_is(inner, "augmented_assignment")) {
        if (kg_node_says(x->s, kg_field_of(inner, "operator"), "+=")) return carry(x, name, SUM);
    } else if (kg_node_is(right, "binary_operator") && kg_node_says(x->s, kg_field_of(right, "operator"), "+")) {
        if (is_first_of(x->s, kg_field_of(right, "left"), name) || is_first_of(x->s, kg_field_of(right, "right"), name))
            return carry(x, name, SUM);
    } else if (calls(x, right, "max", &a, &b) && (is_first_of(x->s, a, name) || is_first_of(x->s, b, name))) {
        return carry(x, name, MAX);
    } else if (calls(x, right, "min", &a, &b) && (is_first_of(x->s, a, name) || is_first_of(x->s, b, name))) {
        return carry(x, name, MIN);
    }
    free(name);
    return kg_not_repaired(x->why, "the loop carries a value that is no sum, maximum or minimum");
}

// e > v[0] or v[0] < e (LARGER), the reverse (SMALLER); e.
static bool compares(const serial *x, TSNode n, const char *name, how *out, TSNode *e) {
    if (!kg_node_is(n, "comparison_operator") || ts_node_named_child_count(n) != 2) return false;
    const TSNode left = ts_node_named_child(n, 0), right = ts_node_named_child(n, 1);
    const bool over = kg_node_says(x->s, ts_node_child(n, 1), ">"),
               below = kg_node_says(x->s, ts_node_child(n, 1), "<");
    const bool flipped = is_first_of(x->s, left, name);
    if (!(over || below) || (!flipped && !is_first_of(x->s, right, name))) return false;
    *out = over != flipped ? LARGER : SMALLER;
    *e = flipped ? right : left;
    return true;
}

// T.isnan(e), or T.isnan(e) and not T.isnan(v[0]).
static bool asks_for_nan(const serial *x, TSNode n, TSNode e, const char *name) {
    TSNode of;
    n = kg_bare(n);
    if (calls(x, n, "isnan", &of, NULL)) return kg_same_text(x->s, of, e);
    if (!kg_node_is(n, "boolean_operator") || !kg_node_says(x->s, kg_field_of(n, "operator"), "and")) return false;
    const TSNode left = kg_bare(kg_field_of(n, "left")), right = kg_bare(kg_field_of(n, "right"));
    if (!calls(x, left, "isnan", &of, NULL) || !kg_same_text(x->s, of, e) || !kg_node_is(right, "not_operator"))
        return false;
    return calls(x, kg_bare(kg_field_of(right, "argument")), "isnan", &of, NULL) && is_first_of(x->s, of, name);
}

// p[0] = k, or T.cast(k, dtype): what is noted beside the largest value is where it stands.
static int notes_place(serial *x, TSNode assignment, carried *c) {
    TSNode right = kg_field_of(assignment, "right"), a, b;
    char *name = first_element(x->s, kg_field_of(assignment, "left"));
    if (calls(x, right, "cast", &a, &b)) right = a;
    if (!name || c->place || !kg_node_is(right, "identifier") || !kg_node_says(x->s, right, x->k)) {
        free(name);
        return kg_not_repaired(x->why, "the branch keeps more than the value and where it stands");
    }
    c->place = name;
    c->place_dtype = dtype_of(x, name);
    return c->place_dtype ? 0
                          : kg_not_repaired(x->why, "%s is no T.alloc_local or T.alloc_fragment of one element", name);
}

// if e > v[0]: v[0] = e, and p[0] = k.
static int chooses(serial *x, TSNode branch) {
    const TSNode body = kg_field_of(branch, "consequence"), condition = kg_bare(kg_field_of(branch, "condition"));
    TSNode compared = condition, nan = {0}, e;
    if (!ts_node_is_null(kg_field_of(branch, "alternative")))
        return kg_not_repaired(x->why, "the loop has a branch with an else");
    if (kg_node_is(condition, "boolean_operator") && kg_node_says(x->s, kg_field_of(condition, "operator"), "or")) {
        compared = kg_bare(kg_field_of(condition, "left"));
        nan = kg_field_of(condition, "right");
    }
    carried *c = NULL;
    for (uint32_t i = 0; i < ts_node_named_child_count(body); i++) {
        const TSNode st = ts_node_named_child(body, i), set = ts_node_named_child(st, 0);
        if (kg_node_is(st, "comment")) continue;
        if (!kg_node_is(st, "expression_statement") || !kg_node_is(set, "assignment"))
            return kg_not_repaired(x->why, "the branch does more than keep a value");
        if (c) {
            if (notes_place(x, set, c)) return -1;
            continue;
        }
        char *name = first_element(x->s, kg_field_of(set, "left"));
        how which = SUM;
        const bool fits = name && compares(x, compared, name, &which, &e) &&
                          kg_same_text(x->s, kg_field_of(set, "right"), e) &&
                          (ts_node_is_null(nan) || asks_for_nan(x, nan, e, name));
        if (!fits) {
            free(name);
            return kg_not_repaired(x->why, "the branch keeps something else than the largest or smallest value");
        }
        if (carry(x, name, which)) return -1;
        c = &x->carries[x->n - 1];
        c->nan = !ts_node_is_null(nan);
    }
    return c ? 0 : kg_not_repaired(x->why, "the branch keeps nothing");
}

static int read_statements(serial *x) {
    for (uint32_t i = 0; i < ts_node_named_child_count(x->body); i++) {
        const TSNode st = ts_node_named_child(x->body, i), inner = ts_node_named_child(st, 0);
        if (kg_node_is(st, "comment")) continue;
        if (kg_node_is(st, "if_statement")) {
            if (chooses(x, st)) return -1;
            continue;
        }
        if (!kg_node_is(st, "expression_statement"))
            return kg_not_repaired(x->why, kg_node_is(st, "for_statement") ? "the loop holds another loop"
                                                                           : "the loop does more than reduce");
        // A name for a value of this turn stays one.
        const bool sets = kg_node_is(inner, "assignment");
        if (sets && kg_node_is(kg_field_of(inner, "left"), "identifier")) continue;
        if (!sets && !kg_node_is(inner, "augmented_assignment"))
            return kg_not_repaired(x->why, "the loop does more than reduce");
        if (folds(x, inner)) return -1;
    }
    return x->n ? 0 : kg_not_repaired(x->why, "the loop reduces nothing");
}

// A fragment is spread over the threads: lane by lane it can be read, not at any place.
static int read_buffers(serial *x) {
    kg_captures found[MOST];
    const size_t n = kg_matches(x->s, x->body, "(subscript value: (identifier) @a) @at", found, MOST);
    size_t by_row = 0, elsewhere = 0;
    for (size_t i = 0; i < n; i++) {
        const TSNode at = *kg_captured(&found[i], "at");
        char *name = kg_node_text(x->s, *kg_captured(&found[i], "a"));
        const TSNode held = allocation(x, name, "local|fragment|var");
        free(name);
        size_t counted = 0;
        for (uint32_t k = 1; k < ts_node_named_child_count(at); k++)
            counted += kg_uses(x->s, ts_node_named_child(at, k), x->k);
        if (!counted) continue;
        if (ts_node_is_null(held)) {
            elsewhere++;
            continue;
        }
        char *shape = kg_node_text(x->s, ts_node_named_child(held, 0));
        char *tuple = kg_format("(%s,)", x->bound), *list = kg_format("[%s]", x->bound);
        const bool row = (!strcmp(shape, tuple) || !strcmp(shape, list)) && !x->first &&
                         kg_node_says(x->s, kg_field_of(at, "subscript"), x->k);
        free(shape), free(tuple), free(list);
        if (!row) return kg_not_repaired(x->why, "the loop goes through a part of what a fragment holds");
        by_row++;
    }
    if (by_row && elsewhere) return kg_not_repaired(x->why, "the loop reads a fragment beside memory");
    x->whole = by_row > 0;
    return by_row + elsewhere ? 0 : kg_not_repaired(x->why, "the loop reads nothing at its own counter");
}

// Every place where a carried value stands becomes the lane's own; any that was not understood is refused.
static void rename_carried(serial *x) {
    kg_captures found[MOST];
    const size_t n = kg_matches(x->s, x->body, "(subscript value: (identifier) @a) @at", found, MOST);
    for (size_t i = 0; i < n; i++) {
        char *name = first_element(x->s, *kg_captured(&found[i], "at"));
        for (size_t k = 0; k < x->n && name; k++) {
            const carried *c = &x->carries[k];
            const char *to = !strcmp(name, c->name) ? c->by : c->place && !strcmp(name, c->place) ? c->place_by : NULL;
            if (to) kg_edit_node(&x->inner, *kg_captured(&found[i], "at"), "%s[%s]", to, x->lane);
        }
        free(name);
    }
}

// How often the values stand where reading the statements expects them: twice in `v = v + e`, ...
static int all_understood(serial *x) {
    for (size_t k = 0; k < x->n; k++) {
        const carried *c = &x->carries[k];
        char *query = kg_format(
            "((augmented_assignment left: (subscript value: (identifier) @a)) @at (#eq? @a \"%s\"))", c->name);
        const bool augmented = !ts_node_is_null(kg_first(x->s, x->body, query));
        free(query);
        char *nan = kg_format(
            "((call function: (attribute attribute: (identifier) @a) arguments: (argument_list . "
            "(subscript value: (identifier) @b) .)) @at (#eq? @a \"isnan\") (#eq? @b \"%s\"))",
            c->name);
        const bool asked = !ts_node_is_null(kg_first(x->s, x->body, nan));
        free(nan);
        if (kg_uses(x->s, x->body, c->name) != 2u - augmented + (asked && c->how >= LARGER) ||
            (c->place && kg_uses(x->s, x->body, c->place) != 1))
            return kg_not_repaired(x->why, "what the loop carries goes into more than its own reduction");
    }
    return 0;
}

static char *index_of(const serial *x) {
    return x->first ? kg_format("%s + %s * (%s) + %s", x->first, x->block, x->width, x->lane)
                    : kg_format("%s * (%s) + %s", x->block, x->width, x->lane);
}

static void collect_counters(serial *x, TSNode in, const char *index) {
    for (uint32_t i = 0; i < ts_node_named_child_count(in); i++) {
        const TSNode c = ts_node_named_child(in, i);
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
static char *body_of_lane(serial *x, int deeper) {
    const size_t from = kg_line_start(x->s, ts_node_named_child(x->body, 0)), to = ts_node_end_byte(x->body);
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

static void name_lanes(serial *x) {
    char *lane = kg_format("%s_lane", x->k), *block = kg_format("%s_block", x->k);
    x->lane = kg_new_name(x->s, x->names, lane);
    x->block = kg_new_name(x->s, x->names, block);
    free(lane), free(block);
    for (size_t i = 0; i < x->n; i++) {
        carried *c = &x->carries[i];
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

static void add_allocation(const serial *x, kg_text *out, const char *in, const char *name, const char *shape,
                           const char *dtype) {
    kg_text_add(out, "%s%s = %s.alloc_fragment((%s,), %s)\n", in, name, x->t, shape, dtype);
}

// Sums begin at 0 in every lane, everything else with the value that the loop began with.
static void add_beginning(const serial *x, kg_text *out, const char *in) {
    bool loop = false;
    for (size_t i = 0; i < x->n; i++) {
        const carried *c = &x->carries[i];
        add_allocation(x, out, in, c->by, x->width, c->dtype);
        add_allocation(x, out, in, c->all, "1", c->dtype);
        if (c->place) add_allocation(x, out, in, c->place_by, x->width, c->place_dtype);
        if (c->place) add_allocation(x, out, in, c->place_all, "1", c->place_dtype);
    }
    for (size_t i = 0; i < x->n; i++) {
        const carried *c = &x->carries[i];
        if (c->how == SUM) {
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
static void add_place(serial *x, kg_text *out, const char *in, const carried *c) {
    kg_text_add(out, "%sfor %s in %s.Parallel(%s):\n", in, x->lane, x->t, x->width);
    kg_text_add(out, "%s    %s[%s] = %s.if_then_else(%s[%s] == %s[0], %s[%s], %s.max_value(%s))\n", in, c->place_by,
                x->lane, x->t, c->by, x->lane, c->all, c->place_by, x->lane, x->t, c->place_dtype);
    kg_text_add(out, "%s%s.reduce_min(%s, %s, dim=0)\n", in, x->t, c->place_by, c->place_all);
}

// The values (the places) of the lanes that hold NaN, folded to one. Returns its name; owned.
static char *add_where_nan(serial *x, kg_text *out, const char *in, const carried *c, bool place) {
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
static void add_choice_with_nan(serial *x, kg_text *out, const char *in, const carried *c) {
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

static void add_choice(serial *x, kg_text *out, const char *in, const carried *c) {
    if (c->place) add_place(x, out, in, c);
    kg_text_add(out, "%sif %s[0] %s %s[0]:\n", in, c->all, c->how == LARGER ? ">" : "<", c->name);
    kg_text_add(out, "%s    %s[0] = %s[0]\n", in, c->name, c->all);
    if (c->place) kg_text_add(out, "%s    %s[0] = %s[0]\n", in, c->place, c->place_all);
}

static void add_end(serial *x, kg_text *out, const char *in) {
    for (size_t i = 0; i < x->n; i++) {
        const carried *c = &x->carries[i];
        const char *fold = c->how == SUM ? "sum" : c->how == MAX || c->how == LARGER ? "max" : "min";
        kg_text_add(out, "%s%s.reduce_%s(%s, %s, dim=0)\n", in, x->t, fold, c->by, c->all);
        if (c->nan) add_choice_with_nan(x, out, in, c);
        else if (c->how >= LARGER) add_choice(x, out, in, c);
        else if (c->how == SUM) kg_text_add(out, "%s%s[0] += %s[0]\n", in, c->name, c->all);
        else kg_text_add(out, "%s%s[0] = %s.%s(%s[0], %s[0])\n", in, c->name, x->t, fold, c->name, c->all);
    }
}

static int write_blocks(serial *x, kg_edits *out) {
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

// Statements that one line holds, or that go on within a string, cannot be moved line by line.
static bool line_by_line(const serial *x) {
    const TSNode first = ts_node_named_child(x->body, 0);
    if (ts_node_start_point(first).row == ts_node_start_point(x->loop).row) return false;
    kg_captures found[MOST];
    const size_t n = kg_matches(x->s, x->body, "(string) @at", found, MOST);
    for (size_t i = 0; i < n; i++) {
        const TSNode at = *kg_captured(&found[i], "at");
        if (ts_node_start_point(at).row != ts_node_end_point(at).row) return false;
    }
    return n < MOST;
}

// range(n), range(first, n).
static bool read_bounds(serial *x, TSNode arguments) {
    const uint32_t n = ts_node_named_child_count(arguments);
    if (n < 1 || n > 2 || kg_node_is(ts_node_named_child(arguments, n - 1), "keyword_argument")) return false;
    if (n == 2 && !kg_node_says(x->s, ts_node_named_child(arguments, 0), "0")) {
        if (!kg_node_is(ts_node_named_child(arguments, 0), "integer")) return false;
        x->first = kg_node_text(x->s, ts_node_named_child(arguments, 0));
    }
    const TSNode bound = ts_node_named_child(arguments, n - 1);
    // A loop of a few turns over a window or a tile is not what this is for.
    if (kg_node_is(bound, "integer")) {
        char *text = kg_node_text(x->s, bound);
        const long turns = strtol(text, NULL, 10);
        free(text);
        if (turns < 64) return false;
    } else if (!kg_node_is(bound, "identifier") && !kg_node_is(bound, "attribute") && !kg_node_is(bound, "subscript")) {
        return false;
    }
    x->bound = kg_node_text(x->s, bound);
    return true;
}

static int reduce_loop(const kg_syntax *s, const kg_captures *c, TSNode kernel, const char *t, const char *width,
                       kg_text *names, kg_edits *out, char **why) {
    serial x = {.s = s,
                .loop = *kg_captured(c, "at"),
                .body = *kg_captured(c, "c"),
                .kernel = kernel,
                .t = t,
                .names = names,
                .why = why};
    int rc = -1;
    x.k = kg_node_text(s, *kg_captured(c, "a"));
    x.width = kg_strdup(width);
    if (!ts_node_eq(ts_node_parent(x.loop), kernel))
        kg_not_repaired(why, "the loop stands in another loop or branch, which threads may walk by themselves");
    else if (!read_bounds(&x, *kg_captured(c, "b")))
        kg_not_repaired(why, "the loop goes in blocks already, or has bounds that are not understood");
    else if (!line_by_line(&x)) kg_not_repaired(why, "the loop is not written line by line");
    else if (!read_statements(&x) && !all_understood(&x) && !read_buffers(&x)) rc = write_blocks(&x, out);
    free_serial(&x);
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
