// The configurations that an autotuner of a Triton kernel has get more warps and stages.
#include <stdlib.h>
#include <string.h>

#include "diagnose/tuning.h"

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
    const uint32_t count = kg_children(arguments);
    const bool warps = !ts_node_is_null(kg_keyword(s, arguments, "num_warps")),
               stages = !ts_node_is_null(kg_keyword(s, arguments, "num_stages"));
    if (!count || !kg_node_is(kg_child(arguments, 0), "dictionary")) return false;
    if (count != 1u + warps + stages) return false;
    *out = (tried){NULL, number(s, arguments, "num_warps", 4), number(s, arguments, "num_stages", 3)};
    if (out->warps < 1 || out->stages < 0) return false;
    out->blocks = kg_node_text(s, kg_child(arguments, 0));
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

int kg_triton_widen(const kg_syntax *s, TSNode definition, TSNode body, kg_edits *out, char **why) {
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
    for (uint32_t i = 0; i < kg_children(list) && read && n < CONFIGS; i++) {
        const TSNode c = kg_child(list, i);
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
