// A Triton kernel that holds its row in one block. This room's own.
#ifndef KG_DIAGNOSE_ROW_H
#define KG_DIAGNOSE_ROW_H

#include "diagnose/repair.h"

#define KG_ROW_STATEMENTS 64
#define KG_ROW_NAMES      64

typedef struct {
    TSNode node;
    bool vector;  // what it sets, or stores, has an element a column
    bool store;
    char *text;  // with its reductions replaced
} kg_row_statement;

typedef struct {
    const kg_syntax *s;
    TSNode definition, body, lanes;  // lanes: column = tl.arange(0, BLOCK)
    char *kernel, *column, *block, *bound, *start;
    char *vectors[KG_ROW_NAMES];  // names with an element a column
    size_t n_vectors;
    kg_row_statement all[KG_ROW_STATEMENTS];
    size_t n;
    kg_text out, names;
    char **why;
} kg_row;

// ---- what has an element a column -----------------------------------------------------------------------------------
bool kg_row_is_vector(const kg_row *x, TSNode identifier);
bool kg_row_vector_in(const kg_row *x, TSNode n);     // past reductions
bool kg_row_names_vector(const kg_row *x, TSNode n);  // in reductions too
// tl.sum(e), tl.max(e, 0), tl.min(e, axis=0) of a vector: its name, static; NULL: something else.
const char *kg_row_reduction(const kg_row *x, TSNode n);
size_t kg_row_reductions(const kg_row *x, TSNode n, TSNode *out, size_t most);  // in n, inner ones first
int kg_row_elementwise(kg_row *x, TSNode n);  // -1 and why: n may look at the row as a whole

// ---- reading, writing -----------------------------------------------------------------------------------------------
// Of s, body, why: all the rest but start; or says why the kernel is not understood.
int kg_row_read(kg_row *x);
// The names that a statement sets, in order; owned. Returns how many.
size_t kg_row_names_set(const kg_row *x, TSNode n, char **out, size_t most);
// The body of the streamed kernel, into x->out.
int kg_row_write(kg_row *x);

#endif
