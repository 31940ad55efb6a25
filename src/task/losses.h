// Losses over classes: input (N, C), (C), or (N, C, d1, ...), target of class indices without the dimension C.
#ifndef KG_LOSSES_H
#define KG_LOSSES_H

#include "oracle/reduce.h"
#include "task/families.h"

typedef enum { KG_REDUCE_NONE, KG_REDUCE_MEAN, KG_REDUCE_SUM } kg_reduction;
kg_reduction kg_reduction_of(const kg_arg *reduction);

// One term of a loss: its value, what computing it may err by (units of u, and of u_acc), and its weight in a mean.
typedef struct {
    double value, local, acc, weight;
} kg_loss_term;
typedef kg_loss_term (*kg_loss_fn)(int64_t index, void *ctx);
// Fills ref: term index[k] itself for "none", else the sum or weighted mean of `terms` terms.
void kg_loss_ref(kg_ref *ref, kg_reduction reduction, bool half, int64_t terms, kg_loss_fn f, void *ctx);

// Input and target come first, whatever their names; weight, ignore_index, reduction and (some tasks) label_smoothing
// are found by name.
enum { KG_LOSS_INPUT, KG_LOSS_TARGET };
#define KG_LOSS_OPTION(option, type, ...) \
    { .name = option, .kind = type, .optional = true, .keyword = true, __VA_ARGS__ }
#define KG_LOSS_WEIGHT       KG_LOSS_OPTION("weight", KG_P_TENSOR, .nullable = true)
#define KG_LOSS_IGNORE_INDEX KG_LOSS_OPTION("ignore_index", KG_P_INT, .has_default = true, .number = -100)
#define KG_LOSS_REDUCTION    KG_LOSS_OPTION("reduction", KG_P_STR, .has_default = true, .text = "mean")
#define KG_LOSS_SMOOTHING    KG_LOSS_OPTION("label_smoothing", KG_P_FLOAT, .has_default = true)
extern const kg_param kg_params_class_loss[];  // (input, target, weight=None, ignore_index=-100, reduction='mean')
extern const char *const kg_outputs_loss[];
static inline int kg_class_dim(const kg_tensor *input) { return input->ndim == 1 ? 0 : 1; }
bool kg_target_is_classes(const kg_case *c);
// fill: values of the input. What cases there are besides class targets; flat: inputs (N, C) alone.
enum { KG_LOSS_PROBABILITIES = 1, KG_LOSS_FLAT = 2, KG_LOSS_SMOOTHED = 4 };
int kg_class_loss_cases(kg_cases *b, kg_fill fill, unsigned which);
kg_case *kg_class_loss_case(kg_cases *b, kg_fill fill, kg_tensor input);
int kg_class_loss_infer(const kg_task *t, kg_case *c);

// The cross entropy of a call's first two arguments. fused: kernels may store what is between its steps; twice: they
// may take the logarithm of the softmax of one (which is itself).
typedef enum { KG_CROSS_ENTROPY_PLAIN, KG_CROSS_ENTROPY_FUSED, KG_CROSS_ENTROPY_TWICE } kg_cross_entropy_form;
int kg_cross_entropy_ref(const kg_call *call, kg_ref *ref, kg_cross_entropy_form form);

// A skeleton's lines that leave output i of the loss in `sum`, by the names of input and target; smoothing: "0.0".
#define KG_CROSS_ENTROPY_SUM(input, target, smoothing)                                                          \
    "// Each output alone: its own term, or all of them.\n"                                                     \
    "const bool none = kg_same(reduction, \"none\"), mean = kg_same(reduction, \"mean\");\n"                    \
    "const bool classes = " target                                                                              \
    "->dtype.code == kDLInt;\n"                                                                                 \
    "const int64_t dim_c = " input "->ndim == 1 ? 0 : 1, n = kg_dim(" input ", dim_c), step = kg_stride(" input \
    ", dim_c);\n"                                                                                               \
    "const int64_t terms = kg_elements(" input                                                                  \
    ") / n;\n"                                                                                                  \
    "double sum = 0, weights = 0;\n"                                                                            \
    "for (int64_t k = none ? i : 0; k < (none ? i + 1 : terms); k++) {\n"                                       \
    "    const int64_t from = kg_line(" input ", dim_c, k), t = classes ? (int64_t)kg_get(" target              \
    ", k) : 0;\n"                                                                                               \
    "    if (classes && t == ignore_index) continue;\n"                                                         \
    "    double largest = kg_get_at(" input                                                                     \
    ", from), s = 0;\n"                                                                                         \
    "    for (int64_t c = 1; c < n; c++) largest = fmax(largest, kg_get_at(" input                              \
    ", from + c * step));\n"                                                                                    \
    "    for (int64_t c = 0; c < n; c++) s += exp(kg_get_at(" input                                             \
    ", from + c * step) - largest);\n"                                                                          \
    "    for (int64_t c = 0; c < n; c++) {\n"                                                                   \
    "        const double w = weight ? kg_get(weight, c) : 1.0;\n"                                              \
    "        double p = classes ? (double)(c == t)\n"                                                           \
    "                           : kg_get_at(" target ", kg_line(" target ", dim_c, k) + c * kg_stride(" target  \
    ", dim_c));\n"                                                                                              \
    "        p = p * (1.0 - " smoothing ") + " smoothing                                                        \
    " / (double)n;\n"                                                                                           \
    "        if (classes && c == t) weights += w;\n"                                                            \
    "        if (!classes || p != 0) sum += w * p * (log(s) - (kg_get_at(" input                                \
    ", from + c * step) - largest));\n"                                                                         \
    "    }\n"                                                                                                   \
    "    if (!classes) weights += 1;\n"                                                                         \
    "}\n"                                                                                                       \
    "if (mean) sum /= weights;\n"

#endif
