#include "task/convolutions.h"

#include <string.h>

// ---- parameters -----------------------------------------------------------------------------------
static int named(const kg_task *t, const char *first, const char *second) {
    for (int i = 0; t->params[i].name; i++)
        if (!strcmp(t->params[i].name, first)) return i;
    return kg_param_index(t, second);
}

kg_conv_args kg_conv_args_of(const kg_task *t) {
    return (kg_conv_args){.input = named(t, "x", "input"),
                          .weight = named(t, "conv_weight", "weight"),
                          .bias = named(t, "conv_bias", "bias"),
                          .stride = named(t, "conv_stride", "stride"),
                          .padding = named(t, "conv_padding", "padding"),
                          .dilation = named(t, "conv_dilation", "dilation"),
                          .groups = named(t, "conv_groups", "groups")};
}

// ---- cases ----------------------------------------------------------------------------------------
kg_case *kg_conv_add(kg_cases *b, kg_tensor input, kg_tensor weight) {
    const kg_conv_args a = kg_conv_args_of(b->task);
    kg_case *c = kg_case_add(b);
    kg_set_strided(c, b->task, b->task->params[a.input].name, input, KG_FACTORS);
    kg_set_strided(c, b->task, b->task->params[a.weight].name, weight, KG_FACTORS);
    return c;
}

kg_case *kg_conv_image(kg_cases *b, int64_t n, int64_t channels, int64_t height, int64_t width, int64_t filters,
                       int64_t side) {
    return kg_conv_add(b, kg_tensor_contiguous(KG_F32, KG_SHAPE(n, channels, height, width)),
                       kg_tensor_contiguous(KG_F32, KG_SHAPE(filters, channels, side, side)));
}

static kg_case *biased(kg_cases *b, kg_case *c, int64_t step) {
    const kg_conv_args a = kg_conv_args_of(b->task);
    const kg_tensor *w = &c->args[a.weight].tensor;
    const kg_tensor bias = step == 1 ? kg_tensor_contiguous(w->dtype, KG_SHAPE(w->shape[0]))
                                     : kg_tensor_stepped(w->dtype, KG_SHAPE(w->shape[0]), step);
    kg_set_strided(c, b->task, b->task->params[a.bias].name, bias, KG_NORMAL(1, 4));
    return c;
}
kg_case *kg_conv_biased(kg_cases *b, kg_case *c) { return biased(b, c, 1); }

static int option_index(const kg_task *t, const char *option) {
    const kg_conv_args a = kg_conv_args_of(t);
    return !strcmp(option, "stride")     ? a.stride
           : !strcmp(option, "padding")  ? a.padding
           : !strcmp(option, "dilation") ? a.dilation
                                         : kg_param_index(t, option);
}

kg_case *kg_conv_one(kg_cases *b, kg_case *c, const char *option, int64_t v) {
    const int i = option_index(b->task, option);
    if (b->task->params[i].kind == KG_P_INT) {
        kg_set_int(c, b->task, b->task->params[i].name, v);
        return c;
    }
    kg_set_ints(c, b->task, b->task->params[i].name, KG_INTS(v));
    c->args[i].scalar = true;
    return c;
}

kg_case *kg_conv_two(kg_cases *b, kg_case *c, const char *option, int64_t rows, int64_t columns) {
    kg_set_ints(c, b->task, b->task->params[option_index(b->task, option)].name, KG_INTS(rows, columns));
    return c;
}

kg_case *kg_conv_text(kg_cases *b, kg_case *c, const char *padding) {
    kg_conv_two(b, c, "padding", 0, 0)->args[option_index(b->task, "padding")].s = padding;  // infer resolves it
    return c;
}

kg_case *kg_conv_grouped(kg_cases *b, kg_case *c, int64_t groups) {
    kg_set_int(c, b->task, b->task->params[kg_conv_args_of(b->task).groups].name, groups);
    return c;
}

#define one        kg_conv_one
#define two        kg_conv_two
#define text       kg_conv_text
#define grouped    kg_conv_grouped
#define bias_to    kg_conv_biased
#define DENSE(...) kg_tensor_contiguous(t, KG_SHAPE(__VA_ARGS__))
static kg_case *add(kg_cases *b, const kg_conv_family *f, kg_tensor input, kg_tensor weight) {
    if (f->filters > 1) {
        if (kg_is_contiguous(&weight)) {
            weight.shape[0] *= f->filters;
        } else {
            int64_t shape[4];
            memcpy(shape, weight.shape, sizeof shape);
            shape[0] *= f->filters;
            weight = kg_tensor_transposed(weight.dtype, 4, shape, 0, 1);
        }
    }
    return kg_conv_add(b, input, weight);
}

static void shapes(kg_cases *b, const kg_conv_family *f) {
    const kg_dtype t = KG_F32;
    bias_to(b, add(b, f, DENSE(2, 3, 17, 19), DENSE(8, 3, 3, 3)));
    add(b, f, DENSE(2, 3, 17, 19), DENSE(5, 3, 3, 3));
    if (!f->batched) add(b, f, DENSE(3, 9, 11), DENSE(4, 3, 3, 3));  // no batch dimension
    add(b, f, DENSE(1, 1, 1, 1), DENSE(1, 1, 1, 1));
    add(b, f, DENSE(0, 3, 9, 9), DENSE(4, 3, 3, 3));
    add(b, f, DENSE(1, 1, 71, 67), DENSE(1, 1, 3, 3));
    add(b, f, DENSE(1, 1, 259, 4), DENSE(1, 1, 3, 3));
    add(b, f, DENSE(1, 1, 4, 259), DENSE(1, 1, 3, 3));
    add(b, f, DENSE(1, 2, 2, 3), DENSE(131, 2, 1, 1));
}

static void geometry(kg_cases *b, const kg_conv_family *f) {
    const kg_dtype t = KG_F32;
    one(b, add(b, f, DENSE(2, 4, 13, 14), DENSE(6, 4, 3, 3)), "stride", 2);
    if (!f->ints) two(b, add(b, f, DENSE(2, 4, 13, 14), DENSE(6, 4, 3, 5)), "stride", 2, 3);
    one(b, bias_to(b, add(b, f, DENSE(2, 4, 13, 14), DENSE(6, 4, 3, 3))), "padding", 1);
    if (!f->ints) two(b, add(b, f, DENSE(2, 4, 13, 14), DENSE(6, 4, 3, 5)), "padding", 1, 2);
    if (!f->no_text) {
        text(b, add(b, f, DENSE(2, 4, 13, 14), DENSE(6, 4, 3, 3)), "valid");
        text(b, bias_to(b, add(b, f, DENSE(2, 4, 13, 14), DENSE(6, 4, 3, 5))), "same");
        text(b, add(b, f, DENSE(2, 4, 13, 14), DENSE(6, 4, 4, 2)), "same");  // even: one more zero behind
    }
    one(b, add(b, f, DENSE(2, 4, 15, 16), DENSE(6, 4, 3, 3)), "dilation", 2);
    add(b, f, DENSE(1, 2, 13, 5), DENSE(3, 2, 11, 2));
    add(b, f, DENSE(1, 2, 5, 13), DENSE(3, 2, 2, 11));
    if (!f->no_text) two(b, text(b, add(b, f, DENSE(2, 4, 15, 16), DENSE(6, 4, 3, 2)), "same"), "dilation", 2, 3);
    grouped(b, bias_to(b, add(b, f, DENSE(2, 6, 9, 9), DENSE(4, 3, 3, 3))), 2);
    grouped(b, one(b, add(b, f, DENSE(2, 8, 12, 12), DENSE(8, 1, 3, 3)), "padding", 1), 8);  // depthwise
}

// Options two by two: each of them is often a path of its own, which forgets another.
static void together(kg_cases *b, const kg_conv_family *f) {
    const kg_dtype t = KG_F32;
    if (f->ints) {
        one(b, one(b, add(b, f, DENSE(2, 4, 13, 14), DENSE(6, 4, 3, 3)), "stride", 2), "padding", 1);
        one(b, one(b, add(b, f, DENSE(2, 4, 13, 14), DENSE(6, 4, 3, 3)), "dilation", 2), "padding", 1);
    } else {
        two(b, two(b, add(b, f, DENSE(2, 4, 13, 14), DENSE(6, 4, 3, 3)), "stride", 2, 3), "padding", 2, 1);
        two(b, two(b, add(b, f, DENSE(2, 4, 13, 14), DENSE(6, 4, 3, 3)), "dilation", 3, 2), "padding", 2, 1);
        two(b, two(b, add(b, f, DENSE(2, 4, 13, 14), DENSE(6, 4, 3, 2)), "dilation", 2, 3), "stride", 3, 2);
    }
    const kg_tensor last = kg_tensor_transposed(t, KG_SHAPE(2, 6, 13, 14), 1, 3);
    kg_case *c = grouped(b, bias_to(b, add(b, f, last, DENSE(4, 3, 3, 5))), 2);
    if (f->ints) one(b, one(b, c, "stride", 2), "padding", 1);
    else two(b, two(b, c, "stride", 2, 3), "padding", 1, 2);
    c = grouped(b, add(b, f, DENSE(2, 6, 13, 14), DENSE(4, 3, 3, 2)), 2);
    if (f->ints) one(b, c, "dilation", 2);
    else two(b, two(b, c, "dilation", 2, 3), "padding", 0, 1);
    // Depthwise, two filters a channel.
    one(b, one(b, grouped(b, bias_to(b, add(b, f, DENSE(2, 4, 9, 10), DENSE(8, 1, 3, 3))), 4), "stride", 2), "padding",
        1);
    grouped(b, one(b, bias_to(b, add(b, f, DENSE(2, 4, 9, 10), DENSE(4, 1, 3, 3))), "dilation", 2), 4);
    if (!f->batched)
        one(b, one(b, bias_to(b, add(b, f, DENSE(3, 9, 11), DENSE(4, 3, 3, 3))), "padding", 1), "stride", 2);
}

static void types(kg_cases *b, const kg_conv_family *f) {
    kg_dtype t = KG_F32;
    add(b, f, DENSE(2, 65, 7, 7), DENSE(33, 65, 1, 1));
    // Past 4096 channels, filters and columns.
    add(b, f, DENSE(1, 4099, 3, 4), DENSE(2, 4099, 1, 1));
    if (!f->light) add(b, f, DENSE(1, 2, 3, 4), DENSE(4099, 2, 1, 1));
    if (!f->light) add(b, f, DENSE(1, 1, 4, 4101), DENSE(1, 1, 3, 3));
    add(b, f, kg_tensor_transposed(t, KG_SHAPE(2, 3, 17, 19), 1, 3), DENSE(5, 3, 3, 3));
    add(b, f, DENSE(2, 3, 9, 9), kg_tensor_transposed(t, KG_SHAPE(5, 3, 3, 3), 0, 1));
    t = KG_F16;
    one(b, bias_to(b, add(b, f, DENSE(2, 16, 9, 9), DENSE(8, 16, 3, 3))), "padding", 1);
    t = KG_BF16;
    one(b, add(b, f, DENSE(2, 16, 9, 9), DENSE(8, 16, 3, 3)), "padding", 1);
    t = KG_F32;
    biased(b, add(b, f, DENSE(2, 3, 9, 9), DENSE(7, 3, 3, 3)), 3);
}

// Filters of three rows and one column meet at most one special value, and weights of 0 and 1 no overflow.
static void specials(kg_cases *b, const kg_conv_family *f) {
    const kg_dtype t = KG_F32;
    const kg_conv_args a = kg_conv_args_of(b->task);
    kg_case *c = one(b, bias_to(b, add(b, f, DENSE(2, 1, 9, 17), DENSE(5, 1, 3, 1))), "padding", 1);
    c->args[a.input].fill = KG_SPECIALS(0, 1);
    c->args[a.weight].fill = KG_INTEGERS(-1, 1);
    c = add(b, f, DENSE(2, 1, 9, 17), DENSE(33, 1, 1, 1));
    c->args[a.input].fill = KG_INTEGERS(-1, 1);
    c->args[a.weight].fill = KG_SPECIALS(0, 1);
    bias_to(b, add(b, f, DENSE(2, 3, 5, 4), DENSE(33, 3, 3, 3)))->args[a.bias].fill = KG_SPECIALS(0, 1);
}

// Large filters and long products.
static void heavy(kg_cases *b, const kg_conv_family *f) {
    const kg_dtype t = KG_F32;
    one(b, one(b, bias_to(b, add(b, f, DENSE(2, 16, 31, 33), DENSE(24, 16, 3, 3))), "padding", 1), "stride", 2);
    one(b, add(b, f, DENSE(2, 8, 20, 21), DENSE(8, 8, 7, 7)), "padding", 3);
    one(b, add(b, f, DENSE(2, 8, 20, 21), DENSE(8, 8, 5, 5)), "padding", 2);
    add(b, f, DENSE(1, 256, 10, 10), DENSE(16, 256, 3, 3));
}

static void full(kg_cases *b, const kg_conv_family *f) {
    const kg_dtype t = KG_F32;
    if (!f->light) heavy(b, f);
    if (!f->ints) two(b, two(b, add(b, f, DENSE(1, 4, 23, 29), DENSE(6, 4, 3, 3)), "padding", 2, 0), "dilation", 3, 2);
    add(b, f, DENSE(1, 4, 9, 9), DENSE(3, 4, 9, 9));  // one output position
    if (!f->no_text)                                  // two filters a channel
        grouped(b, text(b, add(b, f, DENSE(1, 12, 10, 11), DENSE(24, 1, 3, 3)), "same"), 12);
    add(b, f, kg_tensor_transposed(t, KG_SHAPE(2, 3, 17, 19), 2, 3),
        kg_tensor_transposed(t, KG_SHAPE(5, 3, 3, 3), 0, 1));
    add(b, f, DENSE(2, 3, 17, 19), DENSE(8, 3, 3, 3))->args[kg_conv_args_of(b->task).input].fill = KG_OUTLIERS(0, 1);
    if (!f->batched) one(b, bias_to(b, add(b, f, DENSE(3, 9, 11), DENSE(4, 3, 3, 3))), "padding", 1);
}

void kg_conv_cases(kg_cases *b, const kg_conv_family *f) {
    const size_t first = b->n;
    shapes(b, f);
    geometry(b, f);
    together(b, f);
    types(b, f);
    if (!f->no_specials) specials(b, f);
    const kg_dtype t = KG_F64;
    add(b, f, DENSE(2, 3, 9, 9), DENSE(4, 3, 3, 3));
    if (b->level == KG_CASES_FULL) full(b, f);
    size_t kept = first;
    for (size_t i = first; i < b->n; i++)
        if (!f->complete || f->complete(b, &b->items[i])) b->items[kept++] = b->items[i];
    b->n = kept;
}
#undef DENSE
#undef one
#undef two
#undef text
#undef grouped
#undef bias_to

// ---- shapes ---------------------------------------------------------------------------------------
static int64_t entry(const kg_arg *a, int k) { return a->kind == KG_P_INT ? a->i : a->ints[k < a->n ? k : a->n - 1]; }

static bool is_same(const kg_arg *padding) {
    return padding->kind == KG_P_INTS && padding->s && !strcmp(padding->s, "same");
}

bool kg_is_bias(const kg_arg *a, int64_t filters) {
    return !kg_arg_is_tensor(a) || (a->tensor.ndim == 1 && a->tensor.shape[0] == filters);
}

int kg_conv_shape(const kg_task *t, const kg_case *c, kg_tensor *out) {
    const kg_conv_args a = kg_conv_args_of(t);
    const kg_tensor *x = &c->args[a.input].tensor, *w = &c->args[a.weight].tensor;
    const int64_t groups = c->args[a.groups].i;
    if ((x->ndim != 3 && x->ndim != 4) || w->ndim != 4 || x->dtype != w->dtype || groups < 1) return -1;
    const int channel = x->ndim - 3;
    if (x->shape[channel] != w->shape[1] * groups || w->shape[0] % groups) return -1;
    if (!kg_is_bias(&c->args[a.bias], w->shape[0])) return -1;
    int64_t shape[4] = {x->shape[0]};
    shape[channel] = w->shape[0];
    for (int k = 0; k < 2; k++) {
        const int64_t reach = entry(&c->args[a.dilation], k) * (w->shape[2 + k] - 1) + 1;
        const int64_t size = x->shape[channel + 1 + k];
        const int64_t padded =
            is_same(&c->args[a.padding]) ? size + reach - 1 : size + 2 * entry(&c->args[a.padding], k);
        if (padded < reach) return -1;
        shape[channel + 1 + k] = (padded - reach) / entry(&c->args[a.stride], k) + 1;
    }
    *out = kg_tensor_contiguous(x->dtype, x->ndim, shape);
    return 0;
}

int kg_conv_resolve(const kg_task *t, kg_case *c, kg_tensor *out) {
    const kg_conv_args a = kg_conv_args_of(t);
    kg_arg *padding = &c->args[a.padding];
    if (padding->kind == KG_P_INTS && padding->s) {
        const bool same = is_same(padding);
        if (!same && strcmp(padding->s, "valid")) return -1;
        padding->n = 2;
        for (int k = 0; k < 2; k++) {
            if (same && entry(&c->args[a.stride], k) != 1) return -1;  // as PyTorch refuses it
            const int64_t reach = entry(&c->args[a.dilation], k) * (c->args[a.weight].tensor.shape[2 + k] - 1);
            padding->ints[k] = same ? reach / 2 : 0;
        }
    }
    return kg_conv_shape(t, c, out);
}

int kg_conv_infer(const kg_task *t, kg_case *c) {
    c->n_outs = 1;
    return kg_conv_resolve(t, c, &c->outs[0]);
}

// ---- oracle and work --------------------------------------------------------------------------------
kg_conv kg_conv_of(const kg_call *call) {
    const kg_conv_args a = kg_conv_args_of(call->task);
    const kg_case *c = call->c;
    kg_conv v = {.x = call->args[a.input], .w = call->args[a.weight], .groups = c->args[a.groups].i};
    v.bias = kg_call_view(call, call->task->params[a.bias].name);
    kg_conv_shape(call->task, c, &v.out);
    for (int k = 0; k < 2; k++) {
        v.stride[k] = entry(&c->args[a.stride], k);
        v.padding[k] = entry(&c->args[a.padding], k);
        v.dilation[k] = entry(&c->args[a.dilation], k);
    }
    return v;
}

kg_rung kg_conv_rung(const kg_call *call) {
    return kg_rung_of(call->task, call->c->args[kg_conv_args_of(call->task).input].tensor.dtype);
}

int kg_conv_map(const kg_call *call, kg_ref *ref, kg_point (*f)(double x, const void *ctx), const void *ctx) {
    const kg_conv v = kg_conv_of(call);
    const kg_rung r = kg_conv_rung(call);
    kg_conv_ref(&v, ref);
    for (size_t k = 0; k < ref->n; k++) {
        const kg_term x = kg_term_stored(&r, (kg_term){ref->value[k], ref->local[k], ref->acc[k]});
        kg_term_put(ref, k, kg_term_map(&r, x, f, ctx));
    }
    return 0;
}

double kg_conv_products(const kg_task *t, const kg_case *c) {
    return kg_conv_terms(&c->args[kg_conv_args_of(t).weight].tensor);
}

void kg_conv_work(const kg_task *t, const kg_case *c, kg_work *w, double plain, double special) {
    kg_tensor out;
    *w =
        (kg_work){.bytes_read = (double)kg_case_input_bytes(c, t), .bytes_written = (double)kg_case_output_bytes(c, t)};
    if (kg_conv_shape(t, c, &out)) return;
    const double n = (double)kg_numel(&out);
    // Products with zeros outside the input count: the field's convention.
    w->ops[kg_product_unit(out.dtype)] = 2 * kg_conv_products(t, c) * n;
    w->ops[kg_plain_unit(out.dtype)] += plain * n;
    w->ops[KG_U_SPECIAL] = special * n;
}

double kg_conv_reach(const kg_task *t, const kg_case *c) { return 2 * kg_conv_products(t, c); }
