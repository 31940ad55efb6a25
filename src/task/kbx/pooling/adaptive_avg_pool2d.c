// adaptive_avg_pool2d(input, output_size) -> Tensor
//
// input (N, C, H, W) or (C, H, W); output_size (S0, S1) or one int for both. Output row i averages input rows
// floor(i H / S0) up to ceil((i + 1) H / S0), columns alike: windows may overlap, and repeat when S > H. A None in
// output_size means the input's own size; no case gives one, since C has no None inside a tuple: a caller passes H
// or W.
#include "task/adaptive_pools.h"
#include "task/families.h"

static const kg_param params[] = {
    {.name = "input", .kind = KG_P_TENSOR}, {.name = "output_size", .kind = KG_P_INTS}, {.name = NULL}};
static const char *const outputs[] = {"out", NULL};

static kg_case *add(kg_cases *b, kg_tensor input, int n, int64_t s0, int64_t s1) {
    kg_case *c = kg_case_add(b);
    kg_set_strided(c, b->task, "input", input, KG_NORMAL(0.5, 1));
    kg_set_ints(c, b->task, "output_size", n, (int64_t[]){s0, s1});
    if (n == 1) c->args[1].scalar = true;
    return c;
}

static int cases(kg_cases *b) {
    // One image of three planes halved, as the public benchmark has it.
    const int64_t last = b->level == KG_TIMED_CUDA ? 32768 : 4096, first = b->level == KG_TIMED_CUDA ? 256 : 128;
    if (b->level == KG_CASES_QUICK || b->level == KG_CASES_FULL) {
        add(b, kg_tensor_contiguous(KG_F32, KG_SHAPE(2, 3, 32, 32)), 2, 8, 4);
        add(b, kg_tensor_contiguous(KG_F64, KG_SHAPE(1, 3, 9, 8)), 2, 4, 3)->args[0].fill = KG_WIDE_INTEGERS;
        return kg_adaptive_cases(b, add);
    }
    for (int64_t n = first; n <= last; n *= 2)
        add(b, kg_tensor_contiguous(KG_F32, KG_SHAPE(1, 3, n, n)), 2, n / 2, n / 2);
    return 0;
}

static int infer(const kg_task *t, kg_case *c) {
    c->n_outs = 1;
    return kg_adaptive_shape(&c->args[0].tensor, kg_case_arg(c, t, "output_size"), &c->outs[0]);
}

static int oracle(const kg_call *call, kg_ref *ref) {
    const kg_view in = kg_call_view(call, "input");
    // Half precision too may round the division's steps to its own type.
    const kg_rung r = {0};
    for (size_t k = 0; k < ref->n; k++)
        kg_term_put(ref, k, kg_adaptive_mean(&r, &in, &call->c->outs[0], ref->index[k]));
    return 0;
}

static double reach(const kg_task *t, const kg_case *c) {
    (void)t;
    return kg_adaptive_window(&c->args[0].tensor, &c->outs[0]);
}

static void work(const kg_task *t, const kg_case *c, kg_work *w) { kg_work_map(t, c, w, reach(t, c), 0); }

const kg_task kg_task_kbx_adaptive_avg_pool2d = {
    .name = "adaptive_avg_pool2d",
    .suite = "kbx",
    .category = "Pooling",
    .signature = "adaptive_avg_pool2d(input, output_size) -> Tensor",
    .summary = "Averages over windows chosen so that the output has the given height and width.",
    .params = params,
    .outputs = outputs,
    .lowest = KG_PREC_FP32,
    .cases = cases,
    .infer = infer,
    .oracle = oracle,
    .work = work,
    .reach = reach,
    .torch_baseline = "F.adaptive_avg_pool2d",
    .cpu_baseline = "onednn",
    .c_body = KG_ADAPTIVE_PLACE KG_ADAPTIVE_SUM("input",
                                                "sum") "kg_put(out, i, sum / (double)((y_end - y0) * (x_end - x0)));\n",
};
