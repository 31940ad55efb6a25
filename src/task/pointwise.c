#include "task/pointwise.h"

const kg_dtype kg_floats_and_ints[] = {KG_F32, KG_F16, KG_BF16, KG_F64, KG_I32, KG_I64, KG_DTYPES};
const kg_param kg_params_input[] = {{.name = "input", .kind = KG_P_TENSOR}, {.name = NULL}};

int kg_infer_two_floats(const kg_task *t, kg_case *c) {
    kg_infer_float(t, c);
    c->n_outs = 2;
    c->outs[1] = c->outs[0];
    return 0;
}

static bool is_timed(const kg_cases *b) { return b->level == KG_TIMED_CPU || b->level == KG_TIMED_CUDA; }

void kg_small_integers(kg_cases *b, int low, int high) {
    if (!is_timed(b)) kg_set_tensor(kg_case_add(b), b->task, "input", KG_I32, KG_SHAPE(9, 29), KG_INTEGERS(low, high));
}

int kg_pointwise_oracle(const kg_call *call, kg_ref *ref, kg_map_fn f) {
    static const char *const input[] = {"input"};
    return kg_map(call, ref, 1, input, f, &call->c->outs[ref->out].dtype);
}

void kg_out_dtype(kg_cases *b, kg_dtype t) {
    for (size_t i = 0; i < b->n; i++)
        for (int k = 0; k < b->items[i].n_args; k++)
            if (b->task->params[k].role == KG_OUT_ARG && !b->items[i].args[k].absent)
                b->items[i].args[k].tensor.dtype = t;
}

kg_point kg_sqrt_point(double x) {
    const double v = sqrt(x);
    return kg_flushed(isfinite(v) ? kg_point_make(v, 0.5 * v) : kg_point_exact(v), x);
}
