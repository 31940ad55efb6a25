#include "base/base.h"

kg_tensor kg_tensor_contiguous(kg_dtype t, int ndim, const int64_t *shape) {
    kg_tensor r = {.dtype = t, .ndim = ndim};
    int64_t step = 1;
    for (int i = ndim - 1; i >= 0; i--) {
        r.shape[i] = shape[i];
        r.stride[i] = step;
        step *= shape[i] > 0 ? shape[i] : 1;
    }
    return r;
}

int64_t kg_numel(const kg_tensor *t) {
    int64_t n = 1;
    for (int i = 0; i < t->ndim; i++) n *= t->shape[i];
    return n;
}

size_t kg_span_bytes(const kg_tensor *t) {
    int64_t last = 0;
    for (int i = 0; i < t->ndim; i++) {
        if (t->shape[i] == 0) return 0;
        last += (t->shape[i] - 1) * t->stride[i];
    }
    return (size_t)(last + 1) * kg_dtype_size(t->dtype);
}

bool kg_is_contiguous(const kg_tensor *t) {
    int64_t step = 1;
    if (kg_numel(t) == 0) return true;
    for (int i = t->ndim - 1; i >= 0; i--) {
        if (t->shape[i] != 1 && t->stride[i] != step) return false;
        step *= t->shape[i];
    }
    return true;
}

int64_t kg_offset(const kg_tensor *t, int64_t logical) {
    int64_t at = 0;
    for (int i = t->ndim - 1; i > 0; i--) {
        at += logical % t->shape[i] * t->stride[i];
        logical /= t->shape[i];
    }
    return t->ndim ? at + logical * t->stride[0] : 0;
}

int kg_broadcast(const kg_tensor *a, const kg_tensor *b, kg_tensor *out) {
    const int ndim = a->ndim > b->ndim ? a->ndim : b->ndim;
    int64_t shape[KG_MAX_NDIM] = {0};
    for (int i = 1; i <= ndim; i++) {
        const int64_t x = i <= a->ndim ? a->shape[a->ndim - i] : 1;
        const int64_t y = i <= b->ndim ? b->shape[b->ndim - i] : 1;
        if (x != y && x != 1 && y != 1) return -1;
        shape[ndim - i] = x == 1 ? y : x;
    }
    *out = kg_tensor_contiguous(a->dtype, ndim, shape);
    return 0;
}

int kg_expand(const kg_tensor *t, const kg_tensor *shape_of, kg_tensor *view) {
    if (t->ndim > shape_of->ndim) return -1;
    kg_tensor r = {.dtype = t->dtype, .ndim = shape_of->ndim};
    for (int i = 1; i <= r.ndim; i++) {
        const int at = r.ndim - i;
        r.shape[at] = shape_of->shape[at];
        if (i > t->ndim) continue;
        const int64_t n = t->shape[t->ndim - i];
        if (n != r.shape[at] && n != 1) return -1;
        r.stride[at] = n == 1 && r.shape[at] != 1 ? 0 : t->stride[t->ndim - i];
    }
    *view = r;
    return 0;
}

kg_tensor kg_tensor_parts(const kg_tensor *t) {
    kg_tensor r = *t;
    if (!kg_dtype_is_complex(t->dtype)) return r;
    r.dtype = kg_dtype_part(t->dtype);
    for (int i = 0; i < r.ndim; i++) r.stride[i] *= 2;
    r.shape[r.ndim] = 2;
    r.stride[r.ndim++] = 1;
    return r;
}

static void add_list(kg_text *out, int n, const int64_t *v) {
    kg_text_add(out, "[");
    for (int i = 0; i < n; i++) kg_text_add(out, "%s%lld", i ? "," : "", (long long)v[i]);
    kg_text_add(out, "]");
}

void kg_tensor_describe(const kg_tensor *t, kg_text *out) {
    kg_text_add(out, "%s", kg_dtype_short(t->dtype));
    add_list(out, t->ndim, t->shape);
    if (kg_is_contiguous(t)) return;
    kg_text_add(out, " strides ");
    add_list(out, t->ndim, t->stride);
}
