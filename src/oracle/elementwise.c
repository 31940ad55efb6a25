// The driver of elementwise oracles.
#include "oracle/oracle.h"

enum { MOST = 4 };

static bool same_layout(const kg_view *v, const kg_tensor *out) {
    return kg_numel(&v->desc) == kg_numel(out) && kg_is_contiguous(&v->desc);
}

void kg_ref_half(const kg_call *call, kg_ref *ref, double share) {
    bool half = true;
    for (int i = 0; i < call->c->n_args; i++) {
        const kg_arg *a = &call->c->args[i];
        if (call->task->params[i].kind != KG_P_TENSOR || a->none || a->absent || a->scalar) continue;
        half = half && (a->tensor.dtype == KG_F16 || a->tensor.dtype == KG_BF16);
    }
    const kg_dtype t = call->c->outs[ref->out].dtype;
    for (size_t k = 0; half && (t == KG_F16 || t == KG_BF16) && k < ref->n; k++) {
        ref->acc[k] += ref->local[k];
        ref->local[k] *= share;
    }
}

static double nearest_integer(kg_dtype t, double v) { return t == KG_BOOL ? (double)(v != 0) : rint(v); }

int kg_map(const kg_call *call, kg_ref *ref, int n_params, const char *const *params, kg_map_fn f, const void *ctx) {
    const kg_tensor *out = &call->c->outs[ref->out];
    const bool to_int = !kg_dtype_is_float(out->dtype);
    kg_view in[MOST];
    bool direct[MOST];  // the storage offset is the row-major index: no divisions
    for (int p = 0; p < n_params; p++) {
        const kg_view v = kg_call_view(call, params[p]);
        in[p] = kg_view_expand(&v, out);
        direct[p] = same_layout(&v, out);
    }
    for (size_t k = 0; k < ref->n; k++) {
        double x[MOST];
        for (int p = 0; p < n_params; p++)
            x[p] = direct[p] ? kg_at_offset(&in[p], ref->index[k]) : kg_at(&in[p], ref->index[k]);
        const kg_point r = f(x, ctx);
        ref->value[k] = to_int ? nearest_integer(out->dtype, r.value) : r.value;
        ref->local[k] = to_int ? 0 : r.local;
        ref->acc[k] = 0;
    }
    return 0;
}
