// A function of every element, then a reduction (mean, min, standard deviation): cases and error analysis.
#ifndef KG_FOLDS_H
#define KG_FOLDS_H

#include "oracle/reduce.h"
#include "task/families.h"

// ---- cases ------------------------------------------------------------------------------------------
typedef struct {
    kg_case *(*add)(kg_cases *b, kg_tensor input);  // a case with this "input", everything else at its default
    bool tuples;                                    // dim may be a tuple
    bool empty;                                     // nothing may be reduced
    bool out;                                       // there is an out= to give
} kg_fold_family;
// Shapes, dims, keepdim, strides, dtypes. Timed: one dimension, all of it.
void kg_fold_cases(kg_cases *b, const kg_fold_family *f);
// The case with a dim, as an int when there is one.
kg_case *kg_over(kg_cases *b, kg_case *c, int n, const int64_t *dims);
// As kg_reduced_dims, for a dim that is one int or a tuple.
int kg_fold_mask(const kg_arg *dim, int ndim);
// Shape of "dim" and "keepdim" over shape, dtype as given; -1: not a legal choice.
int kg_fold_infer(const kg_task *t, kg_case *c, const kg_tensor *shape, kg_dtype dtype);
double kg_fold_reach(const kg_task *t, const kg_case *c);
// `plain` and `special` operations for each element of the input.
void kg_fold_work(const kg_task *t, const kg_case *c, kg_work *w, double plain, double special);
kg_view kg_fold_input(const kg_call *call, kg_groups *g);  // "input" grouped by "dim"

// ---- a mean of computed terms ---------------------------------------------------------------------------
// Terms err by u * local each. Approximations of functions err systematically, so those are added up whole; roundings
// on the way to memory, where a half-precision kernel stores the terms, as a random walk.
typedef struct {
    kg_total terms;
    double local;
} kg_mean;
void kg_mean_add(kg_mean *m, int64_t n, const double *term, const double *local);
// from: dtype that the terms may have been computed in before a wider dtype was asked for.
void kg_mean_put(const kg_mean *m, kg_ref *ref, size_t k, kg_dtype from, kg_dtype to);

// ---- a standard deviation of computed terms ---------------------------------------------------------------
// y_k errs by u local_k + u_acc acc_k, and by u |y_k| where it is stored in between. Spread v = m2 / dof moves by
// 2 sum |y_k - mean| e_k / dof; its own error is as moments.c has it, for two-pass and Welford kernels.
typedef struct {
    double centre;  // near the mean: m2 is taken about it, and corrected
    kg_total y, offset, square;
    double rounding2, local, stored, acc;
} kg_deviation;
// local, acc: NULL for 0.
void kg_deviation_add(kg_deviation *s, int64_t n, const double *y, const double *local, const double *acc);
void kg_deviation_put(const kg_deviation *s, int64_t correction, kg_ref *ref, size_t k, kg_dtype to);

// ---- GELU, fast ---------------------------------------------------------------------------------------
// Value, and a bound of kg_gelu_point's local that costs nothing.
double kg_gelu_of(double x, bool tanh_form, double *local);

// ---- skeletons ----------------------------------------------------------------------------------------
// c_body that walks the group behind output i of a tensor: reduced dimensions count r down, kept ones rest. `each` sees
// the element's storage offset as `at` and its number as k.
#define KG_FOLD_WALK(tensor, before, each, after)                                   \
    "int64_t count = 1;\n"                                                          \
    "for (int d = 0; d < " tensor "->ndim; d++) count *= " tensor                   \
    "->shape[d];\n"                                                                 \
    "count /= kg_elements(out);\n" before                                           \
    "for (int64_t k = 0; k < count; k++) {\n"                                       \
    "    int64_t at = 0, r = k, rest = i;\n"                                        \
    "    for (int d = " tensor                                                      \
    "->ndim - 1; d >= 0; d--) {\n"                                                  \
    "        bool reduced = !dim || dim->n == 0;\n"                                 \
    "        for (int64_t j = 0; dim && j < dim->n; j++)\n"                         \
    "            reduced = reduced || dim->v[j] == d || dim->v[j] + " tensor        \
    "->ndim == d;\n"                                                                \
    "        at += (reduced ? r : rest) % " tensor "->shape[d] * kg_stride(" tensor \
    ", d);\n"                                                                       \
    "        if (reduced) r /= " tensor                                             \
    "->shape[d];\n"                                                                 \
    "        else rest /= " tensor                                                  \
    "->shape[d];\n"                                                                 \
    "    }\n" each "}\n" after

#endif
