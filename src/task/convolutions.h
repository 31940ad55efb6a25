// What conv2d and the operations fused with it share: parameters, cases, shapes, the oracle's geometry, skeletons.
//
// A task has the convolution's parameters under conv2d's names, or with "conv_" before them (conv_stride), or x for
// input; they are found by these names.
//
// How padding crosses to C: always as ints, the zeros before the first row and column. How many follow the last ones
// is said by the convolution's shape: an element outside the input is zero. 'valid' is 0. 'same' is
// dilation (R - 1) / 2 rounded down: where that total is odd, PyTorch puts the odd zero behind. So a kernel never sees
// the text. Where the operation's output does not show the convolution's size, no case has 'same' with an odd total:
// the size follows from the ints.
#ifndef KG_CONVOLUTIONS_H
#define KG_CONVOLUTIONS_H

#include "oracle/convolution.h"
#include "oracle/stages.h"
#include "task/products.h"

#define KG_CONV_INPUTS                                                                           \
    {.name = "input", .kind = KG_P_TENSOR}, {.name = "weight", .kind = KG_P_TENSOR}, {           \
        .name = "bias", .kind = KG_P_TENSOR, .optional = true, .nullable = true, .keyword = true \
    }
#define KG_CONV_OPTION(type, text, value) \
    { .name = text, .kind = type, .optional = true, .keyword = true, .has_default = true, .number = value }
// stride, padding, dilation, groups; prefix: "" or "conv_".
#define KG_CONV_GEOMETRY(prefix)                                                                   \
    KG_CONV_OPTION(KG_P_INTS, prefix "stride", 1), KG_CONV_OPTION(KG_P_INTS, prefix "padding", 0), \
        KG_CONV_OPTION(KG_P_INTS, prefix "dilation", 1), KG_CONV_OPTION(KG_P_INT, prefix "groups", 1)

typedef struct {
    int input, weight, bias, stride, padding, dilation, groups;  // indices of parameters
} kg_conv_args;
kg_conv_args kg_conv_args_of(const kg_task *t);

// Entry k of an argument that is an int or a tuple.
static inline int64_t kg_conv_entry(const kg_case *c, int arg, int k) {
    const kg_arg *a = &c->args[arg];
    return a->ints[k < a->n ? k : 0];
}

// ---- cases ----------------------------------------------------------------------------------------
kg_case *kg_conv_add(kg_cases *b, kg_tensor input, kg_tensor weight);
// Square filters, dense, float32.
kg_case *kg_conv_image(kg_cases *b, int64_t n, int64_t channels, int64_t height, int64_t width, int64_t filters,
                       int64_t side);
kg_case *kg_conv_biased(kg_cases *b, kg_case *c);
// option: "stride", "padding" or "dilation".
kg_case *kg_conv_one(kg_cases *b, kg_case *c, const char *option, int64_t v);
kg_case *kg_conv_two(kg_cases *b, kg_case *c, const char *option, int64_t rows, int64_t columns);
kg_case *kg_conv_text(kg_cases *b, kg_case *c, const char *padding);
kg_case *kg_conv_grouped(kg_cases *b, kg_case *c, int64_t groups);

// conv2d's quick cases, and at KG_CASES_FULL its full ones.
typedef struct {
    // Sets what the task has beside the convolution; false: the task has no such case. May be NULL.
    bool (*complete)(kg_cases *b, kg_case *c);
    int64_t filters;  // this times as many filters; 0: once
    bool batched;     // (N, C, H, W) only
    bool ints;        // stride, padding and dilation are single ints
    bool no_text;     // padding is never 'valid' or 'same'
    bool no_specials;
    bool light;  // without the longest products, for oracles that need a whole image for one output
} kg_conv_family;
void kg_conv_cases(kg_cases *b, const kg_conv_family *f);

// ---- shapes ---------------------------------------------------------------------------------------
// Resolves a text of padding, then the convolution's shape. -1: it is impossible.
int kg_conv_resolve(const kg_task *t, kg_case *c, kg_tensor *out);
// The same for a case that is resolved.
int kg_conv_shape(const kg_task *t, const kg_case *c, kg_tensor *out);
// None, or one number for each filter.
bool kg_is_bias(const kg_arg *a, int64_t filters);
int kg_conv_infer(const kg_task *t, kg_case *c);  // the output is the convolution's

// ---- oracle and work --------------------------------------------------------------------------------
kg_conv kg_conv_of(const kg_call *call);
// kg_rung_of the convolution's input.
kg_rung kg_conv_rung(const kg_call *call);
// f of the convolution, element by element.
int kg_conv_map(const kg_call *call, kg_ref *ref, kg_point (*f)(double x, const void *ctx), const void *ctx);
double kg_conv_products(const kg_task *t, const kg_case *c);  // of one output of the convolution
// The convolution's operations; `plain` and `special` ones for each of its outputs; compulsory bytes.
void kg_conv_work(const kg_task *t, const kg_case *c, kg_work *w, double plain, double special);
double kg_conv_reach(const kg_task *t, const kg_case *c);  // of one output of the convolution

// ---- skeletons --------------------------------------------------------------------------------------
// Lines of a skeleton's body. KG_CONV_PLACE: output i as (n, o, p, q). KG_CONV_SUM: that output of the convolution in
// `sum`, from the names of its arguments.
#define KG_CONV_PLACE                                                                               \
    "const int64_t width = kg_dim(out, -1), height = kg_dim(out, -2), filters = kg_dim(out, -3);\n" \
    "const int64_t q = i % width, p = i / width % height, o = i / (width * height) % filters;\n"    \
    "const int64_t n = i / (width * height * filters);\n"
#define KG_CONV_SUM_AT(x, w, b, groups, s0, s1, p0, p1, d0, d1)                              \
    "const int64_t channels = kg_dim(" w                                                     \
    ", 1);\n"                                                                                \
    "const int64_t first = o / (kg_dim(" w ", 0) / " groups                                  \
    ") * channels;  // input channel of this group\n"                                        \
    "double sum = " b " ? kg_get(" b                                                         \
    ", o) : 0.0;\n"                                                                          \
    "for (int64_t c = 0; c < channels; c++)\n"                                               \
    "    for (int64_t r = 0; r < kg_dim(" w                                                  \
    ", 2); r++)\n"                                                                           \
    "        for (int64_t s = 0; s < kg_dim(" w                                              \
    ", 3); s++) {\n"                                                                         \
    "            const int64_t y = p * " s0 " - " p0 " + r * " d0                            \
    ";\n"                                                                                    \
    "            const int64_t z = q * " s1 " - " p1 " + s * " d1                            \
    ";\n"                                                                                    \
    "            if (y < 0 || y >= kg_dim(" x ", -2) || z < 0 || z >= kg_dim(" x             \
    ", -1)) continue;\n"                                                                     \
    "            const int64_t from = (" x "->ndim == 4 ? n * kg_stride(" x                  \
    ", 0) : 0) +\n"                                                                          \
    "                                 (first + c) * kg_stride(" x ", -3) + y * kg_stride(" x \
    ", -2) +\n"                                                                              \
    "                                 z * kg_stride(" x                                      \
    ", -1);\n"                                                                               \
    "            const int64_t by = o * kg_stride(" w ", 0) + c * kg_stride(" w              \
    ", 1) +\n"                                                                               \
    "                               r * kg_stride(" w ", 2) + s * kg_stride(" w              \
    ", 3);\n"                                                                                \
    "            sum += kg_get_at(" x ", from) * kg_get_at(" w                               \
    ", by);\n"                                                                               \
    "        }\n"
#define KG_CONV_FIRST(a) a "->v[0]"
#define KG_CONV_LAST(a)  a "->v[" a "->n - 1]"
#define KG_CONV_SUM(prefix)                                                                                        \
    KG_CONV_SUM_AT("input", "weight", "bias", prefix "groups", KG_CONV_FIRST(prefix "stride"),                     \
                   KG_CONV_LAST(prefix "stride"), KG_CONV_FIRST(prefix "padding"), KG_CONV_LAST(prefix "padding"), \
                   KG_CONV_FIRST(prefix "dilation"), KG_CONV_LAST(prefix "dilation"))

#endif
