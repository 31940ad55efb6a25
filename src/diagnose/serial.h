// A serial loop of a TileLang kernel that reduces. This room's own.
#ifndef KG_DIAGNOSE_SERIAL_H
#define KG_DIAGNOSE_SERIAL_H

#include "diagnose/repair.h"

typedef enum {
    KG_FOLD_SUM,     // v[0] += e
    KG_FOLD_MAX,     // v[0] = T.max(v[0], e)
    KG_FOLD_MIN,     // v[0] = T.min(v[0], e)
    KG_FOLD_LARGER,  // if e > v[0]: v[0] = e
    KG_FOLD_SMALLER  // if e < v[0]: v[0] = e
} kg_fold;

// What the loop carries from turn to turn; each lane gets one of its own.
typedef struct {
    char *name, *dtype, *by, *all;
    char *place, *place_dtype, *place_by, *place_all;  // beside KG_FOLD_LARGER, KG_FOLD_SMALLER: p[0] = k; NULL: none
    kg_fold how;
    bool nan;  // it asks for NaN, which then beats every value
} kg_carried;

#define KG_CARRIES 8
typedef struct {
    const kg_syntax *s;
    TSNode loop, body, kernel;  // kernel: the body of `with T.Kernel(...)`
    const char *t;              // what tilelang.language is called
    char *k, *bound, *first;    // for k in range(first, bound); first: NULL where it is 0
    char *width;                // lanes of a block
    bool whole;                 // the row lies in a fragment: as many lanes as it has elements
    kg_carried carries[KG_CARRIES];
    size_t n;
    char *lane, *block;
    kg_text *names;  // that were made up in this file
    kg_edits inner;  // of the body
    char **why;
} kg_serial;

// Of loop, body, kernel, t, k: its bounds, and what it carries; or why it is not understood.
int kg_serial_read(kg_serial *x, TSNode range);
void kg_serial_free(kg_serial *x);
char *kg_first_element(const kg_syntax *s, TSNode n);  // of v[0] the name, owned; NULL: something else

#endif
