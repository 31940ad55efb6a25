// Shapes, types and work models that tasks share.
#include <string.h>

#include "task/families.h"

kg_tensor kg_tensor_transposed(kg_dtype t, int ndim, const int64_t *shape, int i, int j) {
    int64_t memory[KG_MAX_NDIM];
    memcpy(memory, shape, (size_t)ndim * sizeof *shape);
    memory[i] = shape[j];
    memory[j] = shape[i];
    kg_tensor r = kg_tensor_contiguous(t, ndim, memory);
    const int64_t stride = r.stride[i];
    r.stride[i] = r.stride[j];
    r.stride[j] = stride;
    r.shape[i] = shape[i];
    r.shape[j] = shape[j];
    return r;
}

kg_tensor kg_tensor_stepped(kg_dtype t, int ndim, const int64_t *shape, int64_t step) {
    kg_tensor r = kg_tensor_contiguous(t, ndim, shape);
    for (int i = 0; i < ndim; i++) r.stride[i] *= step;
    return r;
}

kg_tensor kg_tensor_expanded(kg_dtype t, int ndim, const int64_t *shape, int i) {
    int64_t memory[KG_MAX_NDIM];
    memcpy(memory, shape, (size_t)ndim * sizeof *shape);
    memory[i] = 1;
    kg_tensor r = kg_tensor_contiguous(t, ndim, memory);
    r.shape[i] = shape[i];
    r.stride[i] = 0;
    return r;
}

// ---- types ------------------------------------------------------------------------------------------
typedef enum { CAT_NONE, CAT_BOOL, CAT_INT, CAT_FLOAT } category;

static category category_of(kg_dtype t) { return kg_dtype_is_float(t) ? CAT_FLOAT : t == KG_BOOL ? CAT_BOOL : CAT_INT; }

kg_dtype kg_promote(kg_dtype a, kg_dtype b) {
    if (a == b) return a;
    const category ca = category_of(a), cb = category_of(b);
    if (ca != cb) return ca > cb ? a : b;
    if ((a == KG_F16 && b == KG_BF16) || (a == KG_BF16 && b == KG_F16)) return KG_F32;
    if ((a == KG_I8 && b == KG_U8) || (a == KG_U8 && b == KG_I8)) return KG_I16;
    return kg_dtype_size(a) >= kg_dtype_size(b) ? a : b;
}

kg_dtype kg_promote_args(const kg_arg *const *args, int n) {
    enum { DIMS, ZERO_DIM, NUMBERS, GROUPS };
    bool seen[GROUPS] = {0};
    kg_dtype group[GROUPS];
    for (int k = 0; k < n; k++) {
        const int g = args[k]->scalar ? NUMBERS : args[k]->tensor.ndim == 0 ? ZERO_DIM : DIMS;
        const kg_dtype t = g == NUMBERS ? KG_F32 : args[k]->tensor.dtype;  // float32 is the default dtype
        group[g] = seen[g] ? kg_promote(group[g], t) : t;
        seen[g] = true;
    }
    category best = CAT_NONE;
    kg_dtype r = KG_F32;
    for (int g = 0; g < GROUPS; g++) {
        if (!seen[g] || category_of(group[g]) <= best) continue;
        r = group[g];
        best = category_of(r);
    }
    return r;
}

kg_dtype kg_float_of(kg_dtype t) { return kg_dtype_is_float(t) ? t : KG_F32; }

// ---- infer ------------------------------------------------------------------------------------------
int kg_infer_same(const kg_task *t, kg_case *c) {
    const kg_tensor *in = &c->args[0].tensor;
    const kg_arg *inplace = kg_case_arg(c, t, "inplace");
    c->n_outs = 1;
    c->alias_first_out = inplace && inplace->i;
    c->outs[0] = c->alias_first_out ? *in : kg_tensor_contiguous(in->dtype, in->ndim, in->shape);
    return 0;
}

int kg_infer_float(const kg_task *t, kg_case *c) {
    (void)t;
    const kg_tensor *in = &c->args[0].tensor;
    c->n_outs = 1;
    c->outs[0] = kg_tensor_contiguous(kg_float_of(in->dtype), in->ndim, in->shape);
    return 0;
}

int kg_infer_broadcast(const kg_task *t, kg_case *c) {
    const kg_arg *in[KG_MAX_ARGS] = {0};
    int n = 0;
    for (int i = 0; i < c->n_args; i++)
        if (t->params[i].kind == KG_P_TENSOR && t->params[i].role == KG_IN) in[n++] = &c->args[i];
    kg_tensor out = c->args[0].tensor;  // the first parameter is always a tensor
    for (int k = 1; k < n; k++) {
        const kg_tensor so_far = out;
        if (kg_broadcast(&so_far, &in[k]->tensor, &out)) return -1;
    }
    c->n_outs = 1;
    c->outs[0] = kg_tensor_contiguous(kg_promote_args(in, n), out.ndim, out.shape);
    return 0;
}

// ---- work -------------------------------------------------------------------------------------------
kg_unit kg_plain_unit(kg_dtype t) { return t == KG_F64 ? KG_U_FP64 : kg_dtype_is_float(t) ? KG_U_FP32 : KG_U_INT; }

void kg_work_map(const kg_task *t, const kg_case *c, kg_work *w, double plain, double special) {
    *w =
        (kg_work){.bytes_read = (double)kg_case_input_bytes(c, t), .bytes_written = (double)kg_case_output_bytes(c, t)};
    const double n = (double)kg_numel(&c->outs[0]);
    w->ops[kg_plain_unit(c->outs[0].dtype)] += plain * n;
    w->ops[KG_U_SPECIAL] += special * n;
}
