#include "task/selection.h"

kg_fill kg_values_of(kg_dtype t) {
    if (kg_dtype_is_float(kg_dtype_part(t))) return KG_NORMAL(0.5, 1);
    return t == KG_BOOL ? KG_INTEGERS(0, 1) : t == KG_U8 ? KG_INTEGERS(0, 100) : KG_INTEGERS(-100, 100);
}

kg_fill kg_values_apart(kg_dtype t) {
    if (kg_dtype_is_float(kg_dtype_part(t))) return KG_NORMAL(-8, 1);
    return t == KG_BOOL ? KG_INTEGERS(0, 1) : t == KG_U8 ? KG_INTEGERS(101, 200) : KG_INTEGERS(-128, -101);
}

void kg_set_indices(kg_case *c, const kg_task *t, const char *param, kg_tensor desc, int64_t length) {
    kg_set_strided(c, t, param, desc, KG_INTEGERS(0, (double)(length > 0 ? length - 1 : 0)));
}

void kg_set_distinct(kg_case *c, const kg_task *t, const char *param, kg_tensor desc, int dim, int64_t length) {
    const int64_t stride = desc.ndim ? desc.stride[dim] : 1;
    kg_set_strided(c, t, param, desc, KG_SHUFFLE(length > 0 ? length : 1, stride));
}

int64_t kg_known_sum(const kg_arg *a) {
    const int64_t n = kg_numel(&a->tensor), chosen = (int64_t)a->fill.b, of = (int64_t)a->fill.a;
    switch (a->fill.kind) {
    case KG_FILL_CONST: return n * of;
    case KG_FILL_CHOICE: return n == 0 ? 0 : n == of ? chosen : -1;
    case KG_FILL_SHUFFLE: {
        const bool one_line = a->tensor.ndim == 1 && chosen == a->tensor.stride[0];
        return n == of && (chosen == 1 || one_line) ? n * (n - 1) / 2 : -1;
    }
    default: return n == 0 ? 0 : -1;
    }
}

double kg_distinct_draws(double n, double m) {
    if (n <= 0 || m <= 0) return 0;
    return m > 1 ? fmin(n, -m * expm1(n * log1p(-1 / m))) : 1;
}

double kg_own_bytes(const kg_tensor *t) {
    return fmin((double)kg_dtype_size(t->dtype) * (double)kg_numel(t), (double)kg_span_bytes(t));
}

int kg_selected_shape(const kg_tensor *input, int64_t dim, const kg_tensor *index, kg_tensor *out) {
    const int d = kg_wrap_dim(dim, input->ndim);
    if (d < 0 || index->ndim > 1) return -1;
    int64_t shape[KG_MAX_NDIM];
    for (int i = 0; i < input->ndim; i++) shape[i] = i == d ? kg_numel(index) : input->shape[i];
    *out = kg_tensor_contiguous(input->dtype, input->ndim, shape);
    return 0;
}

double kg_selected(const kg_view *input, int dim, const kg_view *index, int64_t *coord) {
    if (input->desc.ndim) coord[dim] = kg_index_at(index, kg_offset(&index->desc, coord[dim]));
    return kg_at_offset(input, kg_offset_at(&input->desc, coord));
}

int kg_tiled_shape(const kg_tensor *input, const kg_arg *dims, kg_dtype t, kg_tensor *out) {
    const int n = dims->n > input->ndim ? dims->n : input->ndim;
    int64_t shape[KG_MAX_NDIM];
    if (n > KG_MAX_NDIM) return -1;
    for (int d = 0; d < n; d++) {
        const int own = d - (n - input->ndim), times = d - (n - dims->n);
        const int64_t repeats = times < 0 ? 1 : dims->ints[times];
        if (repeats < 0) return -1;
        shape[d] = (own < 0 ? 1 : input->shape[own]) * repeats;
    }
    *out = kg_tensor_contiguous(t, n, shape);
    return 0;
}

double kg_tiled(const kg_view *input, const kg_tensor *out, int64_t logical) {
    int64_t at[KG_MAX_NDIM], *own = at + out->ndim - input->desc.ndim;
    kg_coords(out, logical, at);
    for (int d = 0; d < input->desc.ndim; d++) own[d] %= input->desc.shape[d];
    return kg_at_offset(input, kg_offset_at(&input->desc, own));
}

int kg_gathered_shape(const kg_tensor *input, int64_t dim, const kg_tensor *index, kg_tensor *out) {
    const int along = kg_wrap_dim(dim, input->ndim);
    if (along < 0 || index->ndim != input->ndim) return -1;
    for (int d = 0; d < input->ndim; d++)
        if (d != along && index->shape[d] > input->shape[d]) return -1;
    *out = kg_tensor_contiguous(input->dtype, index->ndim, index->shape);
    return 0;
}

double kg_gathered(const kg_view *input, int dim, const kg_view *index, int64_t logical) {
    int64_t at[KG_MAX_NDIM] = {0};
    kg_coords(&index->desc, logical, at);
    at[dim] = kg_index_at(index, kg_offset_at(&index->desc, at));
    return kg_at_offset(input, kg_offset_at(&input->desc, at));
}

// Along a line of m elements, n draws meet those of kg_distinct_draws.
double kg_gathered_bytes(const kg_tensor *input, int dim, const kg_tensor *index, double share) {
    const double n = index->ndim ? (double)index->shape[dim] : 1, m = input->ndim ? (double)input->shape[dim] : 1;
    const double lines = n > 0 ? (double)kg_numel(index) / n : 0;
    const double picked = lines * kg_distinct_draws(share * n, m) * (double)kg_dtype_size(input->dtype);
    return fmin(picked, kg_own_bytes(input));
}

double kg_selected_bytes(const kg_tensor *input, int dim, const kg_tensor *index) {
    const double m = input->ndim ? (double)input->shape[dim] : 1;
    const double slice = m > 0 ? (double)kg_numel(input) * (double)kg_dtype_size(input->dtype) / m : 0;
    return fmin(slice * kg_distinct_draws((double)kg_numel(index), m), kg_own_bytes(input)) + kg_own_bytes(index);
}

// ---- masks ------------------------------------------------------------------------------------------
int kg_masked_shape(const kg_tensor *input, const kg_arg *mask, kg_tensor *shape, int64_t *chosen) {
    const int64_t known = kg_known_sum(mask), stored = kg_numel(&mask->tensor);
    if (mask->tensor.dtype != KG_BOOL || known < 0 || kg_broadcast(input, &mask->tensor, shape)) return -1;
    *chosen = stored > 0 ? known * (kg_numel(shape) / stored) : 0;
    return 0;
}

// True elements among n bools, all in a row.
static int64_t count_bytes(const unsigned char *m, int64_t n) {
    int64_t sum = 0;
    for (int64_t i = 0; i < n; i++) sum += m[i];
    return sum;
}

// After so many elements an expanded mask is as from the first.
static int64_t period_of(const kg_tensor *t) {
    int64_t n = kg_numel(t);
    for (int d = 0; d < t->ndim && (t->stride[d] == 0 || t->shape[d] == 1) && t->shape[d]; d++) n /= t->shape[d];
    return n;
}

static int64_t count_places(const kg_view *mask, int64_t n) {
    int64_t found = 0;
    for (int64_t i = 0; n < kg_numel(&mask->desc) && i < n; i++) found += kg_at(mask, i) != 0;
    return found;
}

void kg_masked_places(const kg_view *mask, const kg_tensor *shape, size_t n, const int64_t *k, int64_t *place) {
    enum { BLOCK = 4096 };  // skipped at a time
    const kg_view seen = kg_view_expand(mask, shape);
    const int64_t total = kg_numel(shape);
    const bool dense = kg_is_contiguous(&seen.desc);
    const unsigned char *m = mask->data;
    const int64_t period = period_of(&seen.desc), each = count_places(&seen, period);
    int64_t before = 0, at = 0;
    for (size_t i = 0; i < n; at++) {
        if (each && at % period == 0) {
            const int64_t whole = (k[i] - before) / each;
            before += whole * each, at += whole * period;
        }
        while (dense && at + BLOCK <= total) {
            const int64_t more = count_bytes(m + at, BLOCK);
            if (before + more > k[i]) break;
            before += more, at += BLOCK;
        }
        for (; at < total; at++)
            if ((dense ? m[at] != 0 : kg_at(&seen, at) != 0) && before++ == k[i]) break;
        place[i++] = at;
    }
}

double kg_masked_bytes(const kg_tensor *input, const kg_tensor *mask, double chosen) {
    const double n = (double)kg_numel(input), together = 32 / (double)kg_dtype_size(input->dtype);
    const double density = n > 0 ? fmin(1, chosen / n) : 0;
    return kg_own_bytes(mask) + kg_own_bytes(input) * (1 - pow(1 - density, together));
}

double kg_masked_reach(const kg_task *t, const kg_case *c) {
    (void)t, (void)c;
    return 8;
}
