// What a serial loop of a TileLang kernel carries from turn to turn.
#include <stdlib.h>
#include <string.h>

#include "diagnose/serial.h"

#define MOST 64

void kg_serial_free(kg_serial *x) {
    for (size_t i = 0; i < x->n; i++) {
        kg_carried *c = &x->carries[i];
        free(c->name), free(c->dtype), free(c->by), free(c->all);
        free(c->place), free(c->place_dtype), free(c->place_by), free(c->place_all);
    }
    free(x->k), free(x->bound), free(x->first), free(x->width), free(x->lane), free(x->block);
    kg_edits_free(&x->inner);
}

char *kg_first_element(const kg_syntax *s, TSNode n) {
    if (!kg_node_is(n, "subscript") || kg_children(n) != 2) return NULL;
    const TSNode value = kg_field_of(n, "value"), index = kg_field_of(n, "subscript");
    return kg_node_is(value, "identifier") && kg_node_says(s, index, "0") ? kg_node_text(s, value) : NULL;
}

static bool is_first_of(const kg_syntax *s, TSNode n, const char *name) {
    char *of = kg_first_element(s, n);
    const bool is = of && !strcmp(of, name);
    free(of);
    return is;
}

// f(a, b) of tilelang.language: its two arguments.
static bool calls(const kg_serial *x, TSNode n, const char *f, TSNode *a, TSNode *b) {
    if (!kg_node_is(n, "call")) return false;
    const TSNode function = kg_field_of(n, "function"), arguments = kg_field_of(n, "arguments");
    char *name = kg_format("%s.%s", x->t, f);
    const bool is = kg_node_says(x->s, function, name) && kg_children(arguments) == (b ? 2 : 1);
    free(name);
    if (is) *a = kg_child(arguments, 0);
    if (is && b) *b = kg_child(arguments, 1);
    return is;
}

// name = T.alloc_*((shape), dtype) in the kernel: its arguments. `where`: a pattern of the allocating function.
static TSNode allocation(const kg_serial *x, const char *name, const char *where) {
    char *query = kg_format(
        "((assignment left: (identifier) @a right: (call function: (attribute attribute: (identifier) @b) arguments: "
        "(argument_list) @at)) (#eq? @a \"%s\") (#match? @b \"^alloc_(%s)$\"))",
        name, where);
    const TSNode found = kg_first(x->s, x->kernel, query);
    free(query);
    return found;
}

// The dtype of an accumulator of one element; owned. NULL: it is none.
static char *dtype_of(const kg_serial *x, const char *name) {
    const TSNode arguments = allocation(x, name, "local|fragment");
    if (ts_node_is_null(arguments) || kg_children(arguments) != 2) return NULL;
    char *shape = kg_node_text(x->s, kg_child(arguments, 0)), *dtype = NULL;
    if (!strcmp(shape, "(1,)") || !strcmp(shape, "[1]")) dtype = kg_node_text(x->s, kg_child(arguments, 1));
    free(shape);
    return dtype;
}

static int carry(kg_serial *x, char *name, kg_fold how) {
    char *dtype = dtype_of(x, name);
    for (size_t i = 0; i < x->n && dtype; i++)
        if (!strcmp(x->carries[i].name, name) || (x->carries[i].place && !strcmp(x->carries[i].place, name))) {
            free(dtype);
            free(name);
            return kg_not_repaired(x->why, "the loop changes one value in two places");
        }
    if (!dtype || x->n == KG_CARRIES) {
        kg_not_repaired(x->why, "the loop carries %s, which is no T.alloc_local or T.alloc_fragment of one element",
                        name);
        free(name);
        free(dtype);
        return -1;
    }
    x->carries[x->n++] = (kg_carried){.name = name, .dtype = dtype, .how = how};
    return 0;
}

// v[0] += e, v[0] = v[0] + e, v[0] = T.max(v[0], e).
static int folds(kg_serial *x, TSNode inner) {
    char *name = kg_first_element(x->s, kg_field_of(inner, "left"));
    const TSNode right = kg_field_of(inner, "right");
    TSNode a, b;
    if (!name) return kg_not_repaired(x->why, "the loop stores, or carries a value that is no v[0]");
    if (kg_node_is(inner, "augmented_assignment")) {
        if (kg_node_says(x->s, kg_field_of(inner, "operator"), "+=")) return carry(x, name, KG_FOLD_SUM);
    } else if (kg_node_is(right, "binary_operator") && kg_node_says(x->s, kg_field_of(right, "operator"), "+")) {
        if (is_first_of(x->s, kg_field_of(right, "left"), name) || is_first_of(x->s, kg_field_of(right, "right"), name))
            return carry(x, name, KG_FOLD_SUM);
    } else if (calls(x, right, "max", &a, &b) && (is_first_of(x->s, a, name) || is_first_of(x->s, b, name))) {
        return carry(x, name, KG_FOLD_MAX);
    } else if (calls(x, right, "min", &a, &b) && (is_first_of(x->s, a, name) || is_first_of(x->s, b, name))) {
        return carry(x, name, KG_FOLD_MIN);
    }
    free(name);
    return kg_not_repaired(x->why, "the loop carries a value that is no sum, maximum or minimum");
}

// e > v[0] or v[0] < e (KG_FOLD_LARGER), the reverse (KG_FOLD_SMALLER); e.
static bool compares(const kg_serial *x, TSNode n, const char *name, kg_fold *out, TSNode *e) {
    if (!kg_node_is(n, "comparison_operator") || kg_children(n) != 2) return false;
    const TSNode left = kg_child(n, 0), right = kg_child(n, 1);
    const bool over = kg_node_says(x->s, ts_node_child(n, 1), ">"),
               below = kg_node_says(x->s, ts_node_child(n, 1), "<");
    const bool flipped = is_first_of(x->s, left, name);
    if (!(over || below) || (!flipped && !is_first_of(x->s, right, name))) return false;
    *out = over != flipped ? KG_FOLD_LARGER : KG_FOLD_SMALLER;
    *e = flipped ? right : left;
    return true;
}

// T.isnan(e), or T.isnan(e) and not T.isnan(v[0]).
static bool asks_for_nan(const kg_serial *x, TSNode n, TSNode e, const char *name) {
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
static int notes_place(kg_serial *x, TSNode assignment, kg_carried *c) {
    TSNode right = kg_field_of(assignment, "right"), a, b;
    char *name = kg_first_element(x->s, kg_field_of(assignment, "left"));
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
static int chooses(kg_serial *x, TSNode branch) {
    const TSNode body = kg_field_of(branch, "consequence"), condition = kg_bare(kg_field_of(branch, "condition"));
    TSNode compared = condition, nan = {0}, e;
    if (!ts_node_is_null(kg_field_of(branch, "alternative")))
        return kg_not_repaired(x->why, "the loop has a branch with an else");
    if (kg_node_is(condition, "boolean_operator") && kg_node_says(x->s, kg_field_of(condition, "operator"), "or")) {
        compared = kg_bare(kg_field_of(condition, "left"));
        nan = kg_field_of(condition, "right");
    }
    kg_carried *c = NULL;
    for (uint32_t i = 0; i < kg_children(body); i++) {
        const TSNode st = kg_child(body, i), set = kg_child(st, 0);
        if (kg_node_is(st, "comment")) continue;
        if (!kg_node_is(st, "expression_statement") || !kg_node_is(set, "assignment"))
            return kg_not_repaired(x->why, "the branch does more than keep a value");
        if (c) {
            if (notes_place(x, set, c)) return -1;
            continue;
        }
        char *name = kg_first_element(x->s, kg_field_of(set, "left"));
        kg_fold which = KG_FOLD_SUM;
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

static int read_statements(kg_serial *x) {
    for (uint32_t i = 0; i < kg_children(x->body); i++) {
        const TSNode st = kg_child(x->body, i), inner = kg_child(st, 0);
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
static int read_buffers(kg_serial *x) {
    kg_captures found[MOST];
    const size_t n = kg_matches(x->s, x->body, "(subscript value: (identifier) @a) @at", found, MOST);
    size_t by_row = 0, elsewhere = 0;
    for (size_t i = 0; i < n; i++) {
        const TSNode at = *kg_captured(&found[i], "at");
        char *name = kg_node_text(x->s, *kg_captured(&found[i], "a"));
        const TSNode held = allocation(x, name, "local|fragment|var");
        free(name);
        size_t counted = 0;
        for (uint32_t k = 1; k < kg_children(at); k++) counted += kg_uses(x->s, kg_child(at, k), x->k);
        if (!counted) continue;
        if (ts_node_is_null(held)) {
            elsewhere++;
            continue;
        }
        char *shape = kg_node_text(x->s, kg_child(held, 0));
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

// How often the values stand where reading the statements expects them: twice in `v = v + e`, ...
static int all_understood(kg_serial *x) {
    for (size_t k = 0; k < x->n; k++) {
        const kg_carried *c = &x->carries[k];
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
        if (kg_uses(x->s, x->body, c->name) != 2u - augmented + (asked && c->how >= KG_FOLD_LARGER) ||
            (c->place && kg_uses(x->s, x->body, c->place) != 1))
            return kg_not_repaired(x->why, "what the loop carries goes into more than its own reduction");
    }
    return 0;
}

// Statements that one line holds, or that go on within a string, cannot be moved line by line.
static bool line_by_line(const kg_serial *x) {
    const TSNode first = kg_child(x->body, 0);
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
static bool read_bounds(kg_serial *x, TSNode arguments) {
    const uint32_t n = kg_children(arguments);
    if (n < 1 || n > 2 || kg_node_is(kg_child(arguments, n - 1), "keyword_argument")) return false;
    if (n == 2 && !kg_node_says(x->s, kg_child(arguments, 0), "0")) {
        if (!kg_node_is(kg_child(arguments, 0), "integer")) return false;
        x->first = kg_node_text(x->s, kg_child(arguments, 0));
    }
    const TSNode bound = kg_child(arguments, n - 1);
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

int kg_serial_read(kg_serial *x, TSNode range) {
    if (!ts_node_eq(ts_node_parent(x->loop), x->kernel))
        return kg_not_repaired(x->why,
                               "the loop stands in another loop or branch, which threads may walk by themselves");
    if (!read_bounds(x, range))
        return kg_not_repaired(x->why, "the loop goes in blocks already, or has bounds that are not understood");
    if (!line_by_line(x)) return kg_not_repaired(x->why, "the loop is not written line by line");
    return read_statements(x) || all_understood(x) || read_buffers(x) ? -1 : 0;
}
