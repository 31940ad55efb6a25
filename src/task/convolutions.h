// Arguments of the convolutions: ints for both spatial dimensions, or one for each.
#ifndef KG_CONVOLUTIONS_H
#define KG_CONVOLUTIONS_H

#include "task/products.h"

// Entry k of an argument that is an int or a tuple.
static inline int64_t kg_conv_entry(const kg_case *c, int arg, int k) {
    const kg_arg *a = &c->args[arg];
    return a->ints[k < a->n ? k : 0];
}

static inline kg_case *kg_conv_one(kg_cases *b, kg_case *c, const char *param, int64_t v) {
    kg_set_ints(c, b->task, param, KG_INTS(v));
    c->args[kg_param_index(b->task, param)].scalar = true;
    return c;
}

static inline kg_case *kg_conv_two(kg_cases *b, kg_case *c, const char *param, int64_t v, int64_t w) {
    kg_set_ints(c, b->task, param, KG_INTS(v, w));
    return c;
}

static inline kg_case *kg_conv_grouped(kg_cases *b, kg_case *c, int64_t groups) {
    kg_set_int(c, b->task, "groups", groups);
    return c;
}

// Sets "input" and "weight".
static inline kg_case *kg_conv_add(kg_cases *b, kg_tensor input, kg_tensor weight) {
    kg_case *c = kg_case_add(b);
    kg_set_strided(c, b->task, "input", input, KG_FACTORS);
    kg_set_strided(c, b->task, "weight", weight, KG_FACTORS);
    return c;
}

#endif
