// Programs of a Triton product go in groups of tiles, so that what they read stays in the L2 cache.
#include <stdlib.h>
#include <string.h>

#include "diagnose/repair.h"

#define MOST KG_TRITON_MOST

static const int groups[] = {8, 4, 16};

static void add_after(const kg_syntax *s, TSNode statement, kg_edits *out, const char *text) {
    char *indent = kg_indent_of(s, statement);
    const size_t at = ts_node_end_byte(statement);
    kg_edit_replace(out, at, at, "\n%s%s", indent, text);
    free(indent);
}

// x = tl.program_id(0), y = tl.program_id(1): tiles of a grid of two dimensions.
static bool group_two_axes(const kg_syntax *s, TSNode body, size_t variant, kg_edits *out) {
    TSNode axes[2];
    for (int axis = 0; axis < 2; axis++) {
        char *query = kg_format(
            "((expression_statement (assignment left: (identifier) right: (call function: (attribute "
            "attribute: (identifier) @a) arguments: (argument_list) @b))) @at (#eq? @a \"program_id\") "
            "(#match? @b \"^[(](axis *= *)?%d[)]$\"))",
            axis);
        axes[axis] = kg_first(s, body, query);
        free(query);
    }
    if (ts_node_is_null(axes[0]) || ts_node_is_null(axes[1])) return false;
    char *x = kg_node_text(s, kg_field_of(kg_child(axes[0], 0), "left"));
    char *y = kg_node_text(s, kg_field_of(kg_child(axes[1], 0), "left"));
    const int g = groups[variant / 2];
    // Programs start in the order of axis 0 first, so that axis 1 counts the rows of that order.
    char *line =
        variant % 2
            ? kg_format("%s, %s = tl.swizzle2d(%s, %s, tl.num_programs(0), tl.num_programs(1), %d)", x, y, x, y, g)
            : kg_format("%s, %s = tl.swizzle2d(%s, %s, tl.num_programs(1), tl.num_programs(0), %d)", y, x, y, x, g);
    const bool later = ts_node_start_byte(axes[0]) > ts_node_start_byte(axes[1]);
    add_after(s, axes[later ? 0 : 1], out, line);
    free(line);
    free(x);
    free(y);
    return true;
}

// m = pid // columns, n = pid % columns: tiles of a flat grid, row by row.
static bool group_flat(const kg_syntax *s, TSNode body, size_t variant, kg_edits *out) {
    kg_captures row, column;
    if (!kg_matches(
            s, body,
            "(expression_statement (assignment left: (identifier) @a right: (binary_operator left: (identifier) @b "
            "operator: \"//\" right: (identifier) @c))) @at",
            &row, 1))
        return false;
    char *m = kg_node_text(s, *kg_captured(&row, "a")), *pid = kg_node_text(s, *kg_captured(&row, "b"));
    char *columns = kg_node_text(s, *kg_captured(&row, "c"));
    char *query = kg_format(
        "((expression_statement (assignment left: (identifier) @a right: (binary_operator left: "
        "(identifier) @b operator: \"%%\" right: (identifier) @c))) @at (#eq? @b \"%s\") (#eq? @c \"%s\"))",
        pid, columns);
    const bool found = kg_matches(s, body, query, &column, 1) > 0;
    if (found) {
        char *n = kg_node_text(s, *kg_captured(&column, "a"));
        const TSNode a = *kg_captured(&row, "at"), b = *kg_captured(&column, "at");
        char *line = kg_format("%s, %s = tl.swizzle2d(%s, %s, tl.num_programs(0) // %s, %s, %d)", m, n, m, n, columns,
                               columns, groups[variant / 2]);
        add_after(s, ts_node_start_byte(a) > ts_node_start_byte(b) ? a : b, out, line);
        free(line);
        free(n);
    }
    free(query);
    free(m);
    free(pid);
    free(columns);
    return found;
}

// ---- tiles that are computed in place -------------------------------------------------------------------------------

typedef struct {
    char *program, *tiles;  // program // tiles and program % tiles
    kg_captures rows[MOST], columns[MOST];
    size_t n_rows, n_columns;  // the places of the one, the other
    TSNode count;              // how many tiles a row has
    int axis;                  // whose program id it is
} in_place;

static void free_in_place(in_place *x) { free(x->program), free(x->tiles); }

// tl.program_id(0), tl.program_id(axis=0): 0; -1: something else.
static int axis_of(const kg_syntax *s, TSNode n) {
    static const char *const axes[][2] = {{"(0)", "(axis=0)"}, {"(1)", "(axis=1)"}, {"(2)", "(axis=2)"}};
    const TSNode f = kg_node_is(n, "call") ? kg_field_of(n, "function") : n;
    if (!kg_node_is(f, "attribute") || !kg_node_says(s, kg_field_of(f, "attribute"), "program_id")) return -1;
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 2; k++)
            if (kg_node_says(s, kg_field_of(n, "arguments"), axes[i][k])) return i;
    return -1;
}

// What the one assignment of the body gives a name, alone or in `a, b = ..., ...`; null: none, or it is set again.
static TSNode value_of(const kg_syntax *s, TSNode body, TSNode name) {
    kg_captures set[MOST];
    TSNode value = {0};
    size_t found = 0;
    const size_t n = kg_matches(s, body,
                                "[(assignment left: (_) @a right: (_) @at) (augmented_assignment left: (_) @a right: "
                                "(_) @at) (for_statement left: (_) @a right: (_) @at)]",
                                set, MOST);
    for (size_t i = 0; i < n; i++) {
        const TSNode left = *kg_captured(&set[i], "a"), right = *kg_captured(&set[i], "at");
        if (kg_same_text(s, left, name)) value = right, found++;
        if (!kg_node_is(left, "pattern_list")) continue;
        const uint32_t many = kg_children(left);
        const bool each = kg_node_is(right, "expression_list") && kg_children(right) == many;
        for (uint32_t k = 0; k < many; k++) {
            if (!kg_same_text(s, kg_child(left, k), name)) continue;
            value = each ? kg_child(right, k) : (TSNode){0};
            found++;
        }
    }
    return found == 1 && n < MOST ? value : (TSNode){0};
}

static size_t places_of(const kg_syntax *s, TSNode body, const char *sign, const in_place *x, kg_captures *out) {
    char *query = kg_format(
        "((binary_operator left: (_) @a operator: \"%s\" right: (identifier) @b) @at (#eq? @a \"%s\") (#eq? @b \"%s\"))",
        sign, x->program, x->tiles);
    const size_t n = kg_matches(s, body, query, out, MOST);
    free(query);
    return n;
}

// program // tiles and program % tiles, of a program id of which nothing else is made and of a count of tiles.
static bool read_in_place(const kg_syntax *s, TSNode body, in_place *x) {
    kg_captures divided[MOST], ids[MOST];
    const size_t n = kg_matches(
        s, body, "(binary_operator left: [(identifier) (call)] @a operator: \"//\" right: (identifier) @b) @at",
        divided, MOST);
    for (size_t i = 0; i < n && !x->program; i++) {
        const TSNode a = *kg_captured(&divided[i], "a"), b = *kg_captured(&divided[i], "b");
        x->axis = axis_of(s, kg_node_is(a, "identifier") ? value_of(s, body, a) : a);
        const TSNode count = x->axis < 0 ? (TSNode){0} : value_of(s, body, b);
        const TSNode f = kg_node_is(count, "call") ? kg_field_of(count, "function") : count;
        if (!kg_node_is(f, "attribute") || !kg_node_says(s, kg_field_of(f, "attribute"), "cdiv")) continue;
        x->program = kg_node_text(s, a);
        x->tiles = kg_node_text(s, b);
        x->count = count;
    }
    if (!x->program) return false;
    x->n_rows = places_of(s, body, "//", x, x->rows);
    x->n_columns = places_of(s, body, "%", x, x->columns);
    // A batch, say, that is made of the same program id would be another one's.
    const size_t calls = kg_matches(s, body, "(call function: (attribute)) @at", ids, MOST);
    const bool by_name = !strchr(x->program, '(');
    size_t same = 0;
    for (size_t i = 0; i < calls; i++) same += axis_of(s, *kg_captured(&ids[i], "at")) == x->axis;
    const bool alone = by_name ? same == 1 && kg_uses(s, body, x->program) == 1 + x->n_rows + x->n_columns
                               : same == x->n_rows + x->n_columns;
    return alone && x->n_rows && x->n_columns && calls < MOST && x->n_rows < MOST && x->n_columns < MOST;
}

// i = program // tiles * M + ...: the row and the column of the tile get names, which are put in their places.
static void write_in_place(const kg_syntax *s, const in_place *x, TSNode first, int group, kg_edits *out) {
    kg_text names = {0};
    char *row = kg_new_name(s, &names, "tile_row"), *column = kg_new_name(s, &names, "tile_column");
    char *indent = kg_indent_of(s, first);
    const size_t at = ts_node_start_byte(first);
    kg_edit_replace(out, at, at,
                    "%s, %s = %s // %s, %s %% %s\n%s"
                    "%s, %s = tl.swizzle2d(%s, %s, tl.num_programs(%d) // %s, %s, %d)\n%s",
                    row, column, x->program, x->tiles, x->program, x->tiles, indent, row, column, row, column, x->axis,
                    x->tiles, x->tiles, group, indent);
    for (size_t i = 0; i < x->n_rows; i++) kg_edit_node(out, *kg_captured(&x->rows[i], "at"), "%s", row);
    for (size_t i = 0; i < x->n_columns; i++) kg_edit_node(out, *kg_captured(&x->columns[i], "at"), "%s", column);
    free(row), free(column), free(indent);
    kg_text_free(&names);
}

static bool group_in_place(const kg_syntax *s, TSNode body, size_t variant, kg_edits *out) {
    in_place x = {0};
    bool fits = read_in_place(s, body, &x);
    if (fits) {
        const TSNode row = *kg_captured(&x.rows[0], "at"), column = *kg_captured(&x.columns[0], "at");
        TSNode first = kg_node_before(column, row) ? column : row;
        while (!ts_node_eq(ts_node_parent(first), body)) first = ts_node_parent(first);
        fits = kg_node_before(x.count, first);
        // `m = pid // columns` has a name already.
        for (size_t i = 0; i < x.n_rows; i++)
            fits &= !kg_node_is(ts_node_parent(*kg_captured(&x.rows[i], "at")), "assignment");
        if (fits && variant % 2 == 0) write_in_place(s, &x, first, groups[variant / 2], out);
    }
    free_in_place(&x);
    return fits;
}

int kg_triton_grouped_order(const kg_syntax *s, size_t variant, kg_edits *out, char **why) {
    kg_captures kernels[MOST];
    const size_t n = kg_triton_kernels(s, kernels);
    for (size_t i = 0; i < n; i++) {
        const TSNode body = *kg_captured(&kernels[i], "c");
        const bool done =
            !ts_node_is_null(kg_first(s, body, "((identifier) @at (#match? @at \"[Gg][Rr][Oo][Uu][Pp]|swizzle\"))"));
        if (!kg_triton_has_product(s, body) || done || group_in_place(s, body, variant, out) ||
            group_two_axes(s, body, variant, out))
            continue;
        if (variant % 2 == 0) group_flat(s, body, variant, out);
    }
    return out->n ? 0 : kg_not_repaired(why, "no kernel with tl.dot whose program ids are tiles, row by row");
}
