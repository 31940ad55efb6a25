// Two loops of a Triton kernel over one row. This room's own.
#ifndef KG_DIAGNOSE_PASSES_H
#define KG_DIAGNOSE_PASSES_H

#include "diagnose/repair.h"

// for start in range(0, bound, block): assignments, and a fold at the end.
typedef struct {
    TSNode loop, body, fold;  // fold: the assignment in the last statement
    TSNode folded;            // what is folded
    char *name;               // into what
    bool sum;                 // name += e; else name = tl.maximum(name, e)
} kg_pass;

typedef struct {
    const kg_syntax *s;
    TSNode body;  // of the kernel
    kg_pass one, two;
    char *start, *bound, *block;
    kg_text names;
    kg_edits *out;
    char **why;
} kg_pair;

// Of s, body, out, why: reads both loops; or says why they are not understood.
int kg_pair_read(kg_pair *x, TSNode first, TSNode second);
void kg_pair_free(kg_pair *x);
// How many statements the second pass begins with that the first has too, in the same order: `shared` below.
uint32_t kg_pair_common(const kg_pair *x);
// Follows names that only this pass gives, past parentheses.
TSNode kg_pass_meant(const kg_pair *x, const kg_pass *p, TSNode n, uint32_t shared);
// Whether it is the same in both loops: no name in it is one that the pass sets in a way of its own (the `shared`
// statements are the same in both), or that changes between them.
bool kg_pass_stays(const kg_pair *x, const kg_pass *p, TSNode n, uint32_t shared);
// What both loops fold, or the difference of it, is the same value.
bool kg_pair_same_value(const kg_pair *x, TSNode of_two, uint32_t shared);
TSNode kg_pair_set(const kg_pair *x, const char *name);  // the statement between that first sets it; null: none
size_t kg_pair_uses(const kg_pair *x, size_t from, size_t to, const char *name);  // in the body's statements there
// name = tl.zeros(...) or tl.full(...), the last before `loop`: the statement; null: none, or it needs what comes
// between.
TSNode kg_pair_beginning(const kg_pair *x, const char *name, TSNode loop);
bool kg_pair_wanted_later(const kg_pair *x, uint32_t shared);  // what the second loop alone sets, behind it
void kg_pair_drop(const kg_pair *x, TSNode statement);
TSNode kg_tl_arguments(const kg_syntax *s, TSNode n, const char *name);  // of tl.name(...); null: something else
TSNode kg_assignment_in(TSNode n);  // name = e, the only statement of its kind; null: something else
// For a statement of its own: an expression that goes on over lines gets parentheses. Owned.
char *kg_whole_text(const kg_syntax *s, TSNode n);

// Mean, and squares about it, in one loop. 1: the pair is something else.
int kg_pair_welford(kg_pair *x, uint32_t shared);

#endif
