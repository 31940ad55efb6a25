// Batch normalisation, alone and with a function of each element behind it: each channel (dimension 1) of (N, C, ...)
// as (x - mean) / sqrt(var + eps) * weight + bias. training: mean and biased variance are the batch's, and the running
// ones are overwritten with (1 - momentum) old + momentum new, of the unbiased variance. Otherwise they are the running
// ones, which stay as they are.
#ifndef KG_BATCH_NORMS_H
#define KG_BATCH_NORMS_H

#include "oracle/stages.h"
#include "task/families.h"

// (input, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-05); in: the first
// one's name.
#define KG_BATCH_NORM_PARAMS(in)                                                                                  \
    {.name = in, .kind = KG_P_TENSOR},                                                                            \
        {.name = "running_mean", .kind = KG_P_TENSOR, .nullable = true, .role = KG_INOUT},                        \
        {.name = "running_var", .kind = KG_P_TENSOR, .nullable = true, .role = KG_INOUT},                         \
        {.name = "weight", .kind = KG_P_TENSOR, .optional = true, .nullable = true, .keyword = true},             \
        {.name = "bias", .kind = KG_P_TENSOR, .optional = true, .nullable = true, .keyword = true},               \
        {.name = "training", .kind = KG_P_BOOL, .optional = true, .keyword = true},                               \
        {.name = "momentum",                                                                                      \
         .kind = KG_P_FLOAT,                                                                                      \
         .optional = true,                                                                                        \
         .keyword = true,                                                                                         \
         .has_default = true,                                                                                     \
         .number = 0.1},                                                                                          \
    {                                                                                                             \
        .name = "eps", .kind = KG_P_FLOAT, .optional = true, .keyword = true, .has_default = true, .number = 1e-5 \
    }
extern const char *const kg_outputs_batch_norm[];

kg_case *kg_batch_norm_case(kg_cases *b, kg_tensor input, bool training, bool affine);
void kg_batch_norm_cases(kg_cases *b);  // quick or full
int kg_batch_norm_infer(const kg_task *t, kg_case *c);
// f of each element of the first output; NULL: as it is.
int kg_batch_norm_ref(const kg_call *call, kg_ref *ref, kg_point (*f)(double x, const void *ctx));
double kg_batch_norm_reach(const kg_task *t, const kg_case *c);
// plain, special: f's operations.
void kg_batch_norm_work(const kg_task *t, const kg_case *c, kg_work *w, double plain, double special);

// A skeleton's body; f: the element that is stored, from the normalised y.
#define KG_BATCH_NORM_BODY(in, f)                                                                                        \
    "// Item i is a channel.\n"                                                                                          \
    "const int64_t channels = kg_dim(" in ", 1), batch = kg_dim(" in                                                     \
    ", 0);\n"                                                                                                            \
    "const int64_t inner = batch ? kg_elements(" in                                                                      \
    ") / (batch * channels) : 0, n = batch * inner;\n"                                                                   \
    "double mean = 0, var = 0;\n"                                                                                        \
    "if (training) {\n"                                                                                                  \
    "    for (int64_t k = 0; k < n; k++) mean += kg_get(" in                                                             \
    ", (k / inner * channels + i) * inner + k % inner);\n"                                                               \
    "    mean /= (double)n;\n"                                                                                           \
    "    for (int64_t k = 0; k < n; k++) {\n"                                                                            \
    "        const double d = kg_get(" in                                                                                \
    ", (k / inner * channels + i) * inner + k % inner) - mean;\n"                                                        \
    "        var += d * d;\n"                                                                                            \
    "    }\n"                                                                                                            \
    "    var /= (double)n;\n"                                                                                            \
    "    if (running_mean) kg_put(running_mean, i, (1 - momentum) * kg_get(running_mean, i) + momentum * mean);\n"       \
    "    if (running_var)\n"                                                                                             \
    "        kg_put(running_var, i, (1 - momentum) * kg_get(running_var, i) +\n"                                         \
    "                                   momentum * var * (double)n / (double)(n - 1));\n"                                \
    "} else {\n"                                                                                                         \
    "    mean = kg_get(running_mean, i);\n"                                                                              \
    "    var = kg_get(running_var, i);\n"                                                                                \
    "}\n"                                                                                                                \
    "const double scale = (weight ? kg_get(weight, i) : 1.0) / sqrt(var + eps), shift = bias ? kg_get(bias, i) : 0.0;\n" \
    "for (int64_t k = 0; k < n; k++) {\n"                                                                                \
    "    const int64_t at = (k / inner * channels + i) * inner + k % inner;\n"                                           \
    "    const double y = (kg_get(" in                                                                                   \
    ", at) - mean) * scale + shift;\n"                                                                                   \
    "    kg_put(out, at, " f                                                                                             \
    ");\n"                                                                                                               \
    "}\n"

#define KG_BATCH_NORM_TASK                                                                                      \
    .suite = "kbx", .params = params, .outputs = kg_outputs_batch_norm, .lowest = KG_PREC_FP32, .cases = cases, \
    .infer = kg_batch_norm_infer, .oracle = oracle, .work = work, .reach = kg_batch_norm_reach

#endif
