#include "judge/inputs.h"

#include <stdlib.h>

#include "base/parallel.h"

struct kg_inputs {
    kg_call *calls;  // oldest first
    int n;
    void *storage[KG_MAX_ARGS * 8];  // every buffer made, to free
    int n_storage;
};

typedef struct {
    const kg_fill *fill;
    kg_dtype dtype;
    uint64_t seed;
    char *data;
} fill_job;

static int fill_piece(size_t first, size_t last, void *ctx) {
    fill_job *j = ctx;
    kg_fill_range(j->fill, j->dtype, j->seed, (int64_t)first, (int64_t)(last - first),
                  j->data + first * kg_dtype_size(j->dtype));
    return 0;
}

// Elements far apart: the memory between them is never touched.
static void fill_elements(const kg_tensor *t, fill_job *j) {
    for (int64_t i = 0; i < kg_numel(t); i++) {
        const size_t at = (size_t)kg_offset(t, i);
        fill_piece(at, at + 1, j);
    }
}

static int make_tensor(kg_inputs *in, kg_view *v, const kg_arg *a, const kg_place *p, uint64_t seed, kg_error *err) {
    v->desc = kg_tensor_parts(&a->tensor);
    if (p->count == 0) return 0;
    size_t bytes = (size_t)p->count * kg_dtype_size(p->dtype);
    void *data = malloc(bytes);
    if (!data) return kg_fail(err, KG_ERR_MEMORY, "no memory for %zu bytes of inputs on the host", bytes);
    in->storage[in->n_storage++] = data;
    fill_job j = {&a->fill, p->dtype, seed, data};
    if (kg_is_sparse(&a->tensor)) fill_elements(&v->desc, &j);
    else kg_parallel((size_t)p->count, 1 << 18, fill_piece, &j);
    v->data = data;
    return 0;
}

// A Python number stands for a 0-dimensional float64 tensor.
static void view_number(kg_view *v, const kg_arg *a) {
    v->desc = kg_tensor_contiguous(KG_F64, 0, NULL);
    v->data = &a->f;
}

static int make_call(kg_inputs *in, kg_call *call, const kg_layout *l, int slot, uint64_t seed, const char *trusted,
                     kg_error *err) {
    for (int i = 0; i < call->c->n_args; i++) {
        const kg_arg *a = &call->c->args[i];
        if (a->kind != KG_P_TENSOR || a->none || (a->absent && !a->scalar)) continue;
        const kg_place *p = &l->args[i];
        if (a->scalar) view_number(&call->args[i], a);
        else if (trusted && p->present && p->input && !p->writable)
            call->args[i] =
                (kg_view){kg_tensor_parts(&a->tensor), p->count ? trusted + kg_place_extent(p, slot).offset : NULL};
        else if (p->present && p->input && make_tensor(in, &call->args[i], a, p, kg_tensor_seed(seed, slot, i), err))
            return -1;
    }
    return 0;
}

int kg_inputs_make(const kg_task *t, const kg_case *c, const kg_layout *l, int slot, const uint64_t *seeds, int n,
                   const void *trusted, kg_inputs **out, kg_error *err) {
    if (n < 1 || n > 8) return kg_fail(err, KG_ERR_INTERNAL, "a case of %d calls: 1 to 8 can be replayed", n);
    kg_inputs *in = kg_alloc(sizeof *in);
    in->calls = kg_alloc((size_t)n * sizeof *in->calls);
    in->n = n;
    for (int k = 0; k < n; k++) {
        kg_call *call = &in->calls[k];
        call->task = t;
        call->c = c;
        call->previous = k ? &in->calls[k - 1] : NULL;
        if (make_call(in, call, l, slot, seeds[k], k == n - 1 ? trusted : NULL, err)) {
            kg_inputs_free(in);
            return -1;
        }
    }
    *out = in;
    return 0;
}

const kg_call *kg_inputs_call(const kg_inputs *in) { return &in->calls[in->n - 1]; }

void kg_inputs_free(kg_inputs *in) {
    if (!in) return;
    for (int i = 0; i < in->n_storage; i++) free(in->storage[i]);
    free(in->calls);
    free(in);
}
