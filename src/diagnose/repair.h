// Repairs: edits of a source by its syntax. This room's own.
#ifndef KG_DIAGNOSE_REPAIR_H
#define KG_DIAGNOSE_REPAIR_H

#include "diagnose/internal.h"

typedef struct {
    size_t from, to;  // bytes that go
    char *text;       // what comes instead; owned
    size_t order;     // of edits at one place
} kg_edit;
typedef struct {
    kg_edit *items;
    size_t n;
} kg_edits;
void kg_edit_replace(kg_edits *e, size_t from, size_t to, const char *fmt, ...) __attribute__((format(printf, 4, 5)));
void kg_edit_node(kg_edits *e, TSNode n, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
// One argument more, behind those there are.
void kg_edit_argument(kg_edits *e, TSNode arguments, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
void kg_edits_free(kg_edits *e);
void kg_edits_take(kg_edits *e, kg_edits *from);  // moves them, behind its own
// NULL: two edits overlap.
char *kg_edits_apply(kg_edits *e, const char *source, size_t len);

// A repair makes its edits, or says in *why (owned) what in this source it does not understand, and returns -1.
typedef struct {
    kg_repair_info info;
    int (*make)(const kg_syntax *s, size_t variant, kg_edits *out, char **why);
    bool beside_errors;  // it asks itself, with kg_parsed_around, whether the parser was sure of what it changes
} kg_repair_rule;
int kg_not_repaired(char **why, const char *fmt, ...) __attribute__((format(printf, 2, 3)));  // -1
// Of several places some were repaired: then no *why is left. Else *why, or `otherwise` when nothing has said it.
int kg_repaired(bool made, char **why, const char *otherwise);
void kg_keep_first(char **why, char *also);  // also: taken
typedef struct {
    const kg_repair_rule *rules;
    size_t n;
} kg_repair_table;
extern const kg_repair_table kg_repairs_triton, kg_repairs_tilelang, kg_repairs_python, kg_repairs_native,
    kg_repairs_cuda;

// What @triton.jit decorates: @a the decorator, @b its name, @c its body, @at all with its decorators.
#define TRITON_DEFINITION                                                                                     \
    "((decorated_definition (decorator (_) @a) definition: (function_definition name: (identifier) @b body: " \
    "(block) @c)) @at (#match? @a \"(^|[.])jit\"))"

// with T.Kernel(...) as ...: @a the language's name, @b the arguments, @c what runs in the blocks.
#define TILELANG_KERNELS                                                                                              \
    "((with_statement (with_clause (with_item value: (as_pattern (call function: (attribute object: (identifier) @a " \
    "attribute: (identifier) @d) arguments: (argument_list) @b)))) body: (block) @c) @at (#eq? @d \"Kernel\"))"
// Triton's kernels of the file, at most KG_TRITON_MOST: @b name, @c body, @at with its decorators.
#define KG_TRITON_MOST 64
size_t kg_triton_kernels(const kg_syntax *s, kg_captures *out);
// kernel[grid](...): @a kernel, @b grid, @c arguments.
size_t kg_triton_launches(const kg_syntax *s, const char *kernel, kg_captures *out);
// Repairs each kernel by itself: `one` is given `how`. Where it refuses, that kernel's edits go.
typedef int kg_triton_repair(const kg_syntax *s, const kg_captures *kernel, const void *how, kg_edits *out, char **why);
int kg_triton_each(const kg_syntax *s, kg_triton_repair *one, const void *how, kg_edits *out, char **why);
bool kg_triton_has_product(const kg_syntax *s, TSNode in);
bool kg_triton_is_autotuned(const kg_syntax *s, TSNode definition);

// kernel[grid](..., block=triton.next_power_of_2(row)) becomes an if: rows of more than `longest` go to `streamed`,
// with that block and so many warps.
typedef struct {
    long longest, block, warps;
} kg_row_split;
int kg_triton_split_launch(const kg_syntax *s, const kg_captures *launch, const char *kernel, const char *streamed,
                           const char *block, const kg_row_split *how, kg_edits *out, char **why);

// Repairs that have a file of their own.
int kg_triton_stream_row(const kg_syntax *s, size_t variant, kg_edits *out, char **why);
int kg_triton_fuse_passes(const kg_syntax *s, size_t variant, kg_edits *out, char **why);
int kg_triton_grouped_order(const kg_syntax *s, size_t variant, kg_edits *out, char **why);
int kg_triton_autotune(const kg_syntax *s, size_t variant, kg_edits *out, char **why);
int kg_tilelang_reduce(const kg_syntax *s, size_t variant, kg_edits *out, char **why);

// ---- helps ----------------------------------------------------------------------------------------------------------
// Sources lack what a repair looks for, so a null node may be given to all of these: it is of no type, says and uses
// nothing, and has null fields and no children. tree-sitter's own functions do not take one.
char *kg_node_text(const kg_syntax *s, TSNode n);  // owned by the caller
bool kg_node_is(TSNode n, const char *type);
bool kg_node_says(const kg_syntax *s, TSNode n, const char *text);
bool kg_same_text(const kg_syntax *s, TSNode a, TSNode b);
TSNode kg_child(TSNode n, uint32_t k);          // the k-th that has a name; null past the last
uint32_t kg_children(TSNode n);                 // how many have a name
TSNode kg_bare(TSNode n);                       // without parentheses around
uint32_t kg_statements(TSNode block);           // how many stand in it, past comments
TSNode kg_statement(TSNode block, uint32_t k);  // the k-th of them; null past the last
bool kg_node_before(TSNode a, TSNode b);
// Whether the parser was sure of a definition in C++, of what stands beside it, and of all parts of the file that say
// its name: what it was not sure of lies elsewhere.
bool kg_parsed_around(const kg_syntax *s, TSNode definition, const char *name);
TSNode kg_function_around(TSNode n);                 // the definition; null when there is none
TSNode kg_field_of(TSNode n, const char *field);     // a null node when there is none
size_t kg_line_start(const kg_syntax *s, TSNode n);  // of the line on which it begins
char *kg_indent_of(const kg_syntax *s, TSNode n);    // blanks before it on its line; owned
// Matches of a query inside a node, at most `most`; the captures of each. Returns how many there are.
size_t kg_matches(const kg_syntax *s, TSNode in, const char *query, kg_captures *out, size_t most);
// The node inside `in` that first matches and is captured as @at; null when there is none.
TSNode kg_first(const kg_syntax *s, TSNode in, const char *query);
// Whether some match inside `in` captures the text `at` as @at, and `b` as @b where that is not NULL. A query that
// holds names of the source is compiled for each of them; with this it is the same for all.
bool kg_stands(const kg_syntax *s, TSNode in, const char *query, const char *at, const char *b);
// name = value in Python: @at each value, at most `most`. Returns how many.
size_t kg_assigned(const kg_syntax *s, TSNode in, const char *name, kg_captures *out, size_t most);
size_t kg_uses(const kg_syntax *s, TSNode in, const char *name);  // how often an identifier stands there
// The value of a keyword argument; null when it is not given.
TSNode kg_keyword(const kg_syntax *s, TSNode arguments, const char *name);
// Text with `deeper` blanks more at the start of its further lines; empty lines stay empty.
void kg_add_deeper(kg_text *out, const char *text, int deeper);
// The source's bytes [from, to), as edits inside of them leave it; owned by the caller. NULL: two edits overlap.
char *kg_rewritten(const kg_syntax *s, kg_edits *inner, size_t from, size_t to);
// A name that the source does not have: `name`, else with a number behind it; owned by the caller. What was made up
// before is in `taken`, to which it is added.
char *kg_new_name(const kg_syntax *s, kg_text *taken, const char *name);

#endif
