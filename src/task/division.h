// Quotients, as they are or rounded to an integer: div and fused_hstack_div.
#ifndef KG_DIVISION_H
#define KG_DIVISION_H

#include "oracle/oracle.h"
#include "task/families.h"

typedef enum { KG_DIV_TRUE, KG_DIV_TRUNC, KG_DIV_FLOOR } kg_rounding;
kg_rounding kg_rounding_of(const kg_arg *mode);  // a KG_P_STR argument: None, "trunc" or "floor"
// Dtype of the quotient of operands promoted to t.
kg_dtype kg_quotient_dtype(kg_dtype t, kg_rounding rounding);
// Rounded quotients of dtype t have no integer 0 below them, of which nothing can be said.
bool kg_may_divide(const kg_arg *divisor, kg_dtype t, kg_rounding rounding);

typedef struct {
    kg_rounding rounding;
    kg_dtype dtype;  // the result's
} kg_division;
// True: one rounding, condition |q|, and GPUs' few units more. Rounded: exact where b divides a, and for integers;
// otherwise the quotient's own rounding may carry it over an integer, and then both neighbours are right (PyTorch's
// floor takes four roundings in half precision). Of a zero b and of infinities, floor is not asked: Python's //
// (PyTorch's) and floor(a / b) differ.
kg_point kg_quotient(double a, double b, const kg_division *d);

#endif
