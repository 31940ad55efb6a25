// fused_sigmoid_adaptive_avg_pool2d(input: Tensor, output_size: Union[int, Tuple[int, int]]) -> Tensor
//
// sigmoid(adaptive_avg_pool2d(input, output_size)), windows as src/task/kbx/pooling/adaptive_avg_pool2d.c has them.
//
// Bounds: those of the mean (src/oracle/sum.c and the division), through the sigmoid, and its own
// (src/oracle/functions.c). In half precision an unfused kernel stores the mean.
#include "oracle/oracle.h"
#include "task/activations.h"
#include "task/adaptive_pools.h"

static const kg_param params[] = {
    {.name = "input", .kind = KG_P_TENSOR}, {.name = "output_size", .kind = KG_P_INTS}, {.name = NULL}};

static kg_case *add(kg_cases *b, kg_tensor input, int n, int64_t s0, int64_t s1) {
    kg_case *c = kg_case_add(b);
    kg_set_strided(c, b->task, "input", input, KG_NORMAL(0.5, 3));
    kg_set_ints(c, b->task, "output_size", n, (int64_t[]){s0, s1});
    c->args[1].scalar = n == 1;
    return c;
}

static void constant(kg_cases *b, double value) {
    add(b, kg_tensor_contiguous(KG_F32, KG_SHAPE(1, 2, 5, 6)), 2, 3, 2)->args[0].fill =
        (kg_fill){KG_FILL_CONST, value, 0};
}

static int cases(kg_cases *b) {
    if (b->level == KG_CASES_QUICK || b->level == KG_CASES_FULL) {
        kg_adaptive_cases(b, add);
        constant(b, -30);  // 9.4e-14, not 0
        constant(b, 9);
        constant(b, INFINITY);
        constant(b, -INFINITY);
        constant(b, NAN);
        return 0;
    }
    // Of the published sizes, on the CPU those that are large enough to time.
    static const int64_t sizes[][2] = {{1, 16}, {2, 16},  {4, 32},  {8, 32},  {1, 64},
                                       {2, 64}, {4, 128}, {8, 128}, {1, 256}, {2, 256}};
    for (size_t i = b->level == KG_TIMED_CUDA ? 0 : 3; i < sizeof sizes / sizeof *sizes; i++) {
        const int64_t n = sizes[i][0], side = sizes[i][1];
        add(b, kg_tensor_contiguous(KG_F32, KG_SHAPE(n, n, side, side)), 2, side / 2, side / 2);
    }
    return 0;
}

static int infer(const kg_task *t, kg_case *c) {
    c->n_outs = 1;
    return kg_adaptive_shape(&c->args[0].tensor, kg_case_arg(c, t, "output_size"), &c->outs[0]);
}

static kg_point at(double x, const void *ctx) {
    (void)ctx;
    return kg_sigmoid_point(x);
}

static int oracle(const kg_call *call, kg_ref *ref) {
    const kg_view in = kg_call_view(call, "input");
    const kg_rung r = kg_rung_of(call->task, in.desc.dtype);
    for (size_t k = 0; k < ref->n; k++) {
        const kg_term mean = kg_adaptive_mean(&r, &in, &call->c->outs[0], ref->index[k]);
        kg_term_put(ref, k, kg_term_map(&r, kg_term_stored(&r, mean), at, NULL));
    }
    return 0;
}

static double reach(const kg_task *t, const kg_case *c) {
    (void)t;
    return kg_adaptive_window(&c->args[0].tensor, &c->outs[0]);
}
static void work(const kg_task *t, const kg_case *c, kg_work *w) { kg_work_map(t, c, w, reach(t, c) + 2, 1); }

const kg_task kg_task_kbx_fused_sigmoid_adaptive_avg_pool2d = {
    .name = "fused_sigmoid_adaptive_avg_pool2d",
    .suite = "kbx",
    .category = "Fusion",
    .signature = "fused_sigmoid_adaptive_avg_pool2d(input: Tensor, output_size: Union[int, Tuple[int, int]]) -> Tensor",
    .summary = "Sigmoid of the averages over windows chosen so that the output has the given height and width.",
    .params = params,
    .outputs = kg_outputs_out,
    .lowest = KG_PREC_FP32,
    .cases = cases,
    .infer = infer,
    .oracle = oracle,
    .work = work,
    .reach = reach,
    .torch_baseline = "lambda input, output_size: torch.sigmoid(F.adaptive_avg_pool2d(input, output_size))",
    .c_body = KG_ADAPTIVE_PLACE KG_ADAPTIVE_SUM(
        "input", "sum") "kg_put(out, i, 1.0 / (1.0 + exp(-sum / (double)((y_end - y0) * (x_end - x0)))));\n",
};
