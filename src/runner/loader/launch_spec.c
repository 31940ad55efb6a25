// Reading a stated launch. The grammar is in launch_spec.h; evaluating it is in launch_eval.c.
#include "runner/loader/launch_spec.h"

#include <stdlib.h>
#include <string.h>

#include "runner/loader/launch_tree.h"

#define MAX_TEXT  4096
#define MAX_DEPTH 64

typedef struct {
    const char *text, *at;
    int depth;
    kg_launch_spec *s;
    kg_error *err;
} parser;

static int wrong(parser *p, const char *what) {
    const int n = (int)strcspn(p->at, ";\n");
    return kg_fail(p->err, KG_ERR_CANDIDATE, "kgate: launch: %s at `%.*s`", what, n < 24 ? n : 24, p->at);
}

// ---- letters ------------------------------------------------------------------------------------
static bool is_first(char ch) { return (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') || ch == '_' || ch == '$'; }
static bool is_digit(char ch) { return ch >= '0' && ch <= '9'; }

static char peek(parser *p) {
    while (*p->at == ' ' || *p->at == '\t' || *p->at == '\r') p->at++;
    return *p->at;
}
static bool take(parser *p, char ch) {
    if (peek(p) != ch) return false;
    p->at++;
    return true;
}
static bool at_end(parser *p) {
    const char ch = peek(p);
    return ch == 0 || ch == ';' || ch == '\n' || (ch == '*' && p->at[1] == '/');
}
static size_t word_length(parser *p) {
    size_t n = 0;
    if (!is_first(peek(p))) return 0;
    while (is_first(p->at[n]) || is_digit(p->at[n])) n++;
    return n;
}
static char *take_word(parser *p) {
    const size_t n = word_length(p);
    if (n == 0) return NULL;
    p->at += n;
    return kg_format("%.*s", (int)n, p->at - n);
}

// ---- expressions --------------------------------------------------------------------------------
static int add_node(parser *p, node n) {
    kg_launch_spec *s = p->s;
    if (s->n_nodes == s->node_cap) {
        s->node_cap = s->node_cap ? s->node_cap * 2 : 32;
        s->nodes = kg_realloc(s->nodes, s->node_cap * sizeof *s->nodes);
    }
    s->nodes[s->n_nodes] = n;
    return (int)s->n_nodes++;
}

static int parse_sum(parser *p);

static int parse_number(parser *p) {
    int64_t v = 0;
    while (is_digit(*p->at))
        if (__builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, *p->at++ - '0', &v))
            return wrong(p, "a number too large");
    return add_node(p, (node){.op = OP_NUMBER, .number = v, .a = -1, .b = -1});
}

static const struct {
    const char *name;
    op op;
    int tensor, numbers;
} functions[] = {
    {"numel", OP_NUMEL, 1, 0},     {"ndim", OP_NDIM, 1, 0}, {"size", OP_SIZE, 1, 1},
    {"stride", OP_STRIDE, 1, 1},   {"code", OP_CODE, 1, 0}, {"bits", OP_BITS, 1, 0},
    {"ceildiv", OP_CEILDIV, 0, 2}, {"min", OP_MIN, 0, 2},   {"max", OP_MAX, 0, 2},
};

// After `name(`. Node names are owned by the specification from add_node on.
static int parse_call(parser *p, const char *name) {
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        if (strcmp(functions[i].name, name) != 0) continue;
        node n = {.op = functions[i].op, .a = -1, .b = -1};
        if (functions[i].tensor && !(n.name = take_word(p))) return wrong(p, "a tensor's name is missing");
        const int at = add_node(p, n);
        for (int k = 0; k < functions[i].numbers; k++) {
            if ((functions[i].tensor || k > 0) && !take(p, ',')) return wrong(p, "a comma is missing");
            int *to = k == 0 ? &n.a : &n.b;
            *to = parse_sum(p);
            if (*to < 0) return -1;
        }
        p->s->nodes[at].a = n.a;
        p->s->nodes[at].b = n.b;
        return take(p, ')') ? at : wrong(p, "a closing parenthesis is missing");
    }
    return wrong(p, "an unknown function (numel, ndim, size, stride, code, bits, ceildiv, min, max) before");
}

static int parse_word(parser *p) {
    char *name = take_word(p);
    if (!take(p, '(')) return add_node(p, (node){.op = OP_PARAMETER, .name = name, .a = -1, .b = -1});
    const int at = parse_call(p, name);
    free(name);
    return at;
}

static int parse_atom(parser *p) {
    const char ch = peek(p);
    if (is_digit(ch)) return parse_number(p);
    if (is_first(ch)) return parse_word(p);
    if (!take(p, '(')) return wrong(p, "an expression is missing");
    const int inside = parse_sum(p);
    if (inside < 0) return -1;
    return take(p, ')') ? inside : wrong(p, "a closing parenthesis is missing");
}

// Bounds the recursion through atoms, so that hostile text cannot exhaust the stack.
static int parse_deeper(parser *p) {
    if (p->depth >= MAX_DEPTH) return wrong(p, "an expression nested too deeply");
    p->depth++;
    bool negative = false;
    while (take(p, '-')) negative = !negative;
    const int at = parse_atom(p);
    p->depth--;
    return at < 0 || !negative ? at : add_node(p, (node){.op = OP_NEGATE, .a = at, .b = -1});
}

static int parse_product(parser *p) {
    int left = parse_deeper(p);
    while (left >= 0 && !at_end(p)) {
        const op o = *p->at == '*' ? OP_MULTIPLY : *p->at == '/' ? OP_DIVIDE : *p->at == '%' ? OP_REMAINDER : OP_NUMBER;
        if (o == OP_NUMBER) break;
        p->at++;
        const int right = parse_deeper(p);
        left = right < 0 ? -1 : add_node(p, (node){.op = o, .a = left, .b = right});
    }
    return left;
}

static int parse_sum(parser *p) {
    int left = parse_product(p);
    while (left >= 0 && (peek(p) == '+' || peek(p) == '-')) {
        const op o = *p->at++ == '+' ? OP_ADD : OP_SUBTRACT;
        const int right = parse_product(p);
        left = right < 0 ? -1 : add_node(p, (node){.op = o, .a = left, .b = right});
    }
    return left;
}

// ---- launches -----------------------------------------------------------------------------------
static int parse_dims(parser *p, int *dims, int most) {
    int n = 0;
    do {
        if (n == most) return wrong(p, "too many dimensions");
        if ((dims[n++] = parse_sum(p)) < 0) return -1;
    } while (take(p, ','));
    return 0;
}

static int parse_item(parser *p, item *out) {
    static const struct {
        const char *name;
        item_kind kind;
    } kinds[] = {{"i32", ITEM_I32}, {"i64", ITEM_I64}, {"f32", ITEM_F32}, {"f64", ITEM_F64}};
    if (!(out->name = take_word(p))) return wrong(p, "an argument is missing");
    if (!take(p, '(')) return 0;
    for (size_t i = 0; i < 4; i++) {
        if (strcmp(out->name, kinds[i].name) != 0) continue;
        out->kind = kinds[i].kind;
        free(out->name);
        out->name = NULL;
        if (out->kind == ITEM_I32 || out->kind == ITEM_I64) {
            if ((out->expression = parse_sum(p)) < 0) return -1;
        } else if (!(out->name = take_word(p))) {
            return wrong(p, "a parameter's name is missing");
        }
        return take(p, ')') ? 0 : wrong(p, "a closing parenthesis is missing");
    }
    return wrong(p, "an unknown argument kind (i32, i64, f32, f64) before");
}

static int parse_items(parser *p, launch *l) {
    do {
        if (l->n_items == KG_LAUNCH_MAX_ARGS) return wrong(p, "too many arguments");
        l->items[l->n_items] = (item){.kind = ITEM_TENSOR, .expression = -1};
        if (parse_item(p, &l->items[l->n_items++]) != 0) return -1;
    } while (take(p, ','));
    return 0;
}

static int parse_field(parser *p, launch *l, const char *key) {
    if (!take(p, '=')) return wrong(p, "`=` is missing");
    if (!strcmp(key, "kernel")) {
        free(l->kernel);
        return (l->kernel = take_word(p)) ? 0 : wrong(p, "the kernel's name is missing");
    }
    if (!strcmp(key, "grid")) return parse_dims(p, l->grid, 3);
    if (!strcmp(key, "block")) return parse_dims(p, l->block, 3);
    if (!strcmp(key, "smem")) return parse_dims(p, &l->smem, 1);
    if (!strcmp(key, "args")) return l->n_items ? wrong(p, "args= given twice") : parse_items(p, l);
    return wrong(p, "an unknown field (kernel, grid, block, smem, args) before");
}

static launch *add_launch(kg_launch_spec *s) {
    s->launches = kg_realloc(s->launches, (s->n_launches + 1) * sizeof *s->launches);
    launch *l = &s->launches[s->n_launches++];
    *l = (launch){.grid = {-1, -1, -1}, .block = {-1, -1, -1}, .smem = -1};
    return l;
}

static int parse_launch(parser *p) {
    launch *l = add_launch(p->s);
    while (!at_end(p)) {
        char *key = take_word(p);
        if (!key) return wrong(p, "a field (kernel, grid, block, smem, args) is missing");
        const int rc = parse_field(p, l, key);
        free(key);
        if (rc != 0) return -1;
    }
    if (!l->kernel) return wrong(p, "no kernel=NAME");
    if (l->grid[0] < 0 || l->block[0] < 0) return wrong(p, "grid= and block= are needed");
    if (peek(p) == '*') p->at += 2;  // the end of a C comment
    return 0;
}

int kg_launch_parse(const char *text, kg_launch_spec **out, kg_error *err) {
    if (strlen(text) > MAX_TEXT) return kg_fail(err, KG_ERR_CANDIDATE, "kgate: launch: longer than %d bytes", MAX_TEXT);
    parser p = {.text = text, .at = text, .s = kg_alloc(sizeof *p.s), .err = err};
    int rc = 0;
    while (rc == 0) {
        while (take(&p, ';') || take(&p, '\n')) continue;
        if (peek(&p) == 0) break;
        rc = parse_launch(&p);
        if (rc == 0 && !at_end(&p)) rc = wrong(&p, "something unexpected");
    }
    if (rc == 0 && p.s->n_launches == 0)
        rc = kg_fail(err, KG_ERR_CANDIDATE, "kgate: launch: nothing stated: kernel=NAME grid=... block=... args=...");
    if (rc != 0) {
        kg_launch_free(p.s);
        return -1;
    }
    *out = p.s;
    return 0;
}

void kg_launch_free(kg_launch_spec *s) {
    if (!s) return;
    for (size_t i = 0; i < s->n_nodes; i++) free(s->nodes[i].name);
    for (size_t i = 0; i < s->n_launches; i++) {
        for (int k = 0; k < s->launches[i].n_items; k++) free(s->launches[i].items[k].name);
        free(s->launches[i].kernel);
    }
    free(s->nodes);
    free(s->launches);
    free(s);
}

size_t kg_launch_count(const kg_launch_spec *s) { return s->n_launches; }
const char *kg_launch_kernel(const kg_launch_spec *s, size_t i) { return s->launches[i].kernel; }
