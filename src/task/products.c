// Parameters, cases and oracle of matmul and its dtype variants.
#include "task/products.h"

const kg_param kg_params_matmul[] = {
    {.name = "input", .kind = KG_P_TENSOR},
    {.name = "other", .kind = KG_P_TENSOR},
    {.name = "out", .kind = KG_P_TENSOR, .optional = true, .nullable = true, .keyword = true, .role = KG_OUT_ARG},
    {.name = NULL}};
const kg_param kg_params_matmul_half[] = {
    {.name = "input", .kind = KG_P_TENSOR}, {.name = "other", .kind = KG_P_TENSOR}, {.name = NULL}};
const char *const kg_outputs_product[] = {"out", NULL};

const char kg_matmul_body[] = KG_MATMUL_SUM "kg_put(out, i, sum);\n";

// ---- cases ----------------------------------------------------------------------------------------
static kg_case *pair(kg_cases *b, kg_tensor input, kg_tensor other, kg_fill fill) {
    kg_case *c = kg_case_add(b);
    kg_set_strided(c, b->task, "input", input, fill);
    kg_set_strided(c, b->task, "other", other, KG_FACTORS);
    return c;
}

#define DENSE(...)   kg_tensor_contiguous(t, KG_SHAPE(__VA_ARGS__))
#define TURNED(m, n) kg_tensor_transposed(t, KG_SHAPE(m, n), 0, 1)

// The shape rules of torch.matmul.
static void shapes(kg_cases *b, kg_dtype t) {
    pair(b, DENSE(17, 33), DENSE(33, 9), KG_FACTORS);
    pair(b, DENSE(1, 1), DENSE(1, 1), KG_FACTORS);
    pair(b, DENSE(257), DENSE(257), KG_FACTORS);
    pair(b, DENSE(64), DENSE(64, 31), KG_FACTORS);
    pair(b, DENSE(31, 64), DENSE(64), KG_FACTORS);
    pair(b, DENSE(3, 1, 5, 7), DENSE(4, 7, 6), KG_FACTORS);
    pair(b, DENSE(4, 5, 7), DENSE(1, 7, 6), KG_FACTORS);
    pair(b, DENSE(2, 3, 17), DENSE(17), KG_FACTORS);
    pair(b, DENSE(17), DENSE(2, 17, 3), KG_FACTORS);
    pair(b, TURNED(65, 129), DENSE(129, 33), KG_FACTORS);
    pair(b, DENSE(65, 129), TURNED(129, 33), KG_FACTORS);
    pair(b, DENSE(3, 0), DENSE(0, 4), KG_FACTORS);
    pair(b, DENSE(0, 5), DENSE(5, 4), KG_FACTORS);
    pair(b, DENSE(129, 257), DENSE(257, 65), KG_FACTORS);
    // Past 4096 in each of the three dimensions.
    pair(b, DENSE(5, 5003), DENSE(5003, 3), KG_FACTORS);
    pair(b, DENSE(4099, 5), DENSE(5, 2), KG_FACTORS);
    pair(b, DENSE(2, 5), DENSE(5, 4099), KG_FACTORS);
    pair(b, DENSE(33, 128), DENSE(128, 17), KG_OUTLIERS(0, 1));
}

static void both(kg_cases *b, kg_dtype t, double left, double right) {
    kg_case *c = pair(b, DENSE(5, 3), DENSE(3, 9), (kg_fill){KG_FILL_CONST, left, 0});
    c->args[1].fill = (kg_fill){KG_FILL_CONST, right, 0};
}

// NaN and infinities on either side.
static void specials(kg_cases *b, kg_dtype t) {
    // Nothing may be skipped because one factor is zero: 0 times infinity is NaN.
    both(b, t, 0, INFINITY);
    both(b, t, NAN, 0);
    both(b, t, 0, NAN);
    // One term: no sum at all. Of 72 elements or more each special value is one.
    pair(b, DENSE(83, 1), DENSE(1, 17), KG_SPECIALS(0, 1));
    pair(b, DENSE(17, 1), DENSE(1, 83), KG_FACTORS)->args[1].fill = KG_SPECIALS(0, 1);
}

static void quick(kg_cases *b, kg_dtype only) {
    const bool all = only == KG_DTYPES;
    shapes(b, all ? KG_F32 : only);
    if (all) {
        static const kg_dtype others[] = {KG_F16, KG_BF16, KG_F64};
        for (size_t i = 0; i < 3; i++) {
            const kg_dtype t = others[i];
            pair(b, DENSE(33, 65), DENSE(65, 17), KG_FACTORS);
            pair(b, DENSE(16, 2048), DENSE(2048, 9), KG_FACTORS);
        }
        const kg_tensor left = kg_tensor_contiguous(KG_F64, KG_SHAPE(9, 33)),
                        right = kg_tensor_contiguous(KG_F64, KG_SHAPE(33, 7));
        pair(b, left, right, KG_WIDE_INTEGERS);
        pair(b, left, right, KG_FACTORS)->args[1].fill = KG_WIDE_INTEGERS;
        const kg_dtype t = KG_F32;
        kg_case *c = pair(b, DENSE(34, 65), DENSE(65, 17), KG_FACTORS);
        if (kg_case_arg(c, b->task, "out")) kg_set_tensor(c, b->task, "out", t, KG_SHAPE(34, 17), KG_FACTORS);
    }
    specials(b, all ? KG_F32 : only);
    // Halves accumulate in float32, where no sum of them can overflow on the way.
    if (all || only == KG_F16) {
        const kg_dtype t = KG_F16;
        pair(b, DENSE(33, 3), DENSE(3, 17), KG_SPECIALS(0, 1));
    }
}

static void full(kg_cases *b, kg_dtype only) {
    const kg_dtype t = only == KG_DTYPES ? KG_F32 : only;
    for (int64_t n = 1; n <= 7; n += 2) pair(b, DENSE(n, 8 - n), DENSE(8 - n, n + 1), KG_FACTORS);
    pair(b, DENSE(127, 129), DENSE(129, 255), KG_FACTORS);
    pair(b, DENSE(1, 8192), DENSE(8192, 1), KG_FACTORS);
    pair(b, DENSE(7, 1), DENSE(1, 300), KG_FACTORS);
    pair(b, TURNED(128, 64), TURNED(64, 96), KG_FACTORS);
    pair(b, kg_tensor_stepped(t, KG_SHAPE(31, 40), 2), kg_tensor_stepped(t, KG_SHAPE(40, 21), 3), KG_FACTORS);
    pair(b, kg_tensor_expanded(t, KG_SHAPE(5, 12, 9), 0), DENSE(5, 9, 10), KG_FACTORS);
    pair(b, DENSE(2, 0, 3, 4), DENSE(4, 5), KG_FACTORS);
    pair(b, DENSE(64, 64), DENSE(64, 64), KG_NORMAL(100, 1));
    pair(b, DENSE(40, 40), DENSE(40, 40), KG_LOGSCALE(-6, 6));
    pair(b, DENSE(256, 256), DENSE(256, 256), KG_FACTORS);
}
#undef DENSE
#undef TURNED

void kg_square_sizes(kg_cases *b, void (*add)(kg_cases *b, int64_t n)) {
    const bool cuda = b->level == KG_TIMED_CUDA;
    for (int64_t n = 256; n <= (cuda ? 4096 : 1024); n += cuda ? 128 : 256) add(b, n);
}

static void square_of(kg_cases *b, kg_dtype t, int64_t n) {
    const kg_tensor m = kg_tensor_contiguous(t, KG_SHAPE(n, n));
    pair(b, m, m, KG_FACTORS);
}
static void square_f32(kg_cases *b, int64_t n) { square_of(b, KG_F32, n); }
static void square_f16(kg_cases *b, int64_t n) { square_of(b, KG_F16, n); }
static void square_bf16(kg_cases *b, int64_t n) { square_of(b, KG_BF16, n); }

int kg_matmul_cases(kg_cases *b, kg_dtype only) {
    if (b->level == KG_TIMED_CPU || b->level == KG_TIMED_CUDA) {
        kg_square_sizes(b, only == KG_F16 ? square_f16 : only == KG_BF16 ? square_bf16 : square_f32);
        return 0;
    }
    quick(b, only);
    if (b->level == KG_CASES_FULL) full(b, only);
    return 0;
}

// ---- oracle ---------------------------------------------------------------------------------------
int kg_matmul_infer(const kg_task *t, kg_case *c) {
    const kg_tensor *a = &kg_case_arg(c, t, "input")->tensor, *b = &kg_case_arg(c, t, "other")->tensor;
    c->n_outs = 1;
    return a->dtype == b->dtype ? kg_matmul_shape(a, b, &c->outs[0]) : -1;
}

int kg_matmul_oracle(const kg_call *call, kg_ref *ref) {
    const kg_view a = kg_call_view(call, "input"), b = kg_call_view(call, "other");
    kg_matmul_ref(&a, &b, &call->c->outs[0], ref);
    return 0;
}

static double terms(const kg_task *t, const kg_case *c) {
    const kg_tensor *a = &kg_case_arg(c, t, "input")->tensor;
    return (double)a->shape[a->ndim - 1];
}

void kg_matmul_work(const kg_task *t, const kg_case *c, kg_work *w) {
    *w =
        (kg_work){.bytes_read = (double)kg_case_input_bytes(c, t), .bytes_written = (double)kg_case_output_bytes(c, t)};
    w->ops[kg_product_unit(c->outs[0].dtype)] = 2 * terms(t, c) * (double)kg_numel(&c->outs[0]);
}

double kg_matmul_reach(const kg_task *t, const kg_case *c) { return 2 * terms(t, c); }
