// Operations that move elements about by indices and masks, and compute nothing: values, indices, what must be read.
#ifndef KG_SELECTION_H
#define KG_SELECTION_H

#include "oracle/oracle.h"
#include "task/families.h"

// Ordinary values in any dtype. `apart`: shifted, so that two tensors of one case are told apart (negative where the
// dtype has a sign).
kg_fill kg_values_of(kg_dtype t);
kg_fill kg_values_apart(kg_dtype t);
#define KG_RANDOM_MASK KG_INTEGERS(0, 1)

// Integers 0..length-1, with repetitions. length may be 0 when desc is empty.
void kg_set_indices(kg_case *c, const kg_task *t, const char *param, kg_tensor desc, int64_t length);
// The same, distinct along dimension dim: desc is not longer than `length` there, and dense or stepped.
void kg_set_distinct(kg_case *c, const kg_task *t, const char *param, kg_tensor desc, int dim, int64_t length);

// What the elements of a tensor add up to, where its fill says so whatever the seed (CONST, CHOICE, and a SHUFFLE that
// is one whole line); -1: unknown.
int64_t kg_known_sum(const kg_arg *a);

// masked_select's shape: a line as long as mask's true elements are many, seen with the shape that it and input
// broadcast to (*shape). -1: they do not, or mask's fill does not say.
int kg_masked_shape(const kg_tensor *input, const kg_arg *mask, kg_tensor *shape, int64_t *chosen);
// The row-major indices of the k-th true elements of mask, expanded to `shape`; k ascending.
void kg_masked_places(const kg_view *mask, const kg_tensor *shape, size_t n, const int64_t *k, int64_t *place);
// Bytes of mask, and of the 32-byte sectors of input that hold a chosen element, at random places.
double kg_masked_bytes(const kg_tensor *input, const kg_tensor *mask, double chosen);

// The places are found from mask's start on, some at a time: a few elements for each output.
double kg_masked_reach(const kg_task *t, const kg_case *c);
// c_body that does all in one item: `each` sees an element's storage offset in input as `at` and the number of chosen
// ones before it as `found`, which it counts up.
#define KG_MASKED_WALK(before, each)                                                                     \
    before                                                                                               \
        "const int ndim = input->ndim > mask->ndim ? input->ndim : mask->ndim;\n"                        \
        "int64_t found = 0, total = 1, shape[8];\n"                                                      \
        "for (int d = 0; d < ndim; d++) {\n"                                                             \
        "    const int x = d - (ndim - input->ndim), m = d - (ndim - mask->ndim);\n"                     \
        "    shape[d] = x >= 0 && (input->shape[x] != 1 || m < 0) ? input->shape[x] : mask->shape[m];\n" \
        "    total *= shape[d];\n"                                                                       \
        "}\n"                                                                                            \
        "for (int64_t k = 0; k < total; k++) {\n"                                                        \
        "    int64_t at = 0, in_mask = 0, rest = k;\n"                                                   \
        "    for (int d = ndim - 1; d >= 0; d--) {\n"                                                    \
        "        const int x = d - (ndim - input->ndim), m = d - (ndim - mask->ndim);\n"                 \
        "        if (x >= 0 && input->shape[x] != 1) at += rest % shape[d] * kg_stride(input, x);\n"     \
        "        if (m >= 0 && mask->shape[m] != 1) in_mask += rest % shape[d] * kg_stride(mask, m);\n"  \
        "        rest /= shape[d];\n"                                                                    \
        "    }\n"                                                                                        \
        "    if (kg_get_at(mask, in_mask) == 0) continue;\n"                                             \
        "    " each "}\n"

// How many of m things n independent draws meet on average: m (1 - (1 - 1/m)^n).
double kg_distinct_draws(double n, double m);

static inline int64_t kg_index_at(const kg_view *v, int64_t offset) {
    return kg_load_int(v->desc.dtype, v->data, offset);
}
static inline void kg_ref_exact(kg_ref *ref, size_t k, double value) {
    ref->value[k] = value;
    ref->local[k] = ref->acc[k] = 0;
}

// Bytes of a tensor's elements, stored once where a dimension is expanded, without what lies between them.
double kg_own_bytes(const kg_tensor *t);

// Shape of index_select(input, dim, index); -1: not a legal choice.
int kg_selected_shape(const kg_tensor *input, int64_t dim, const kg_tensor *index, kg_tensor *out);
// The element of input at these coordinates of the selection; coord[dim] is overwritten.
double kg_selected(const kg_view *input, int dim, const kg_view *index, int64_t *coord);
// Shape of torch.tile(input, dims): the shorter of input's shape and dims is filled up with ones in front. -1: too many
// dimensions, or a negative number of repetitions.
int kg_tiled_shape(const kg_tensor *input, const kg_arg *dims, kg_dtype t, kg_tensor *out);
// Its element with this row-major index.
double kg_tiled(const kg_view *input, const kg_tensor *out, int64_t logical);

// Shape of gather(input, dim, index), which is no longer than input but along dim; -1: not a legal choice.
int kg_gathered_shape(const kg_tensor *input, int64_t dim, const kg_tensor *index, kg_tensor *out);
// Its element with this row-major index.
double kg_gathered(const kg_view *input, int dim, const kg_view *index, int64_t logical);
// Bytes of the elements of input that this share of the indices meet on average.
double kg_gathered_bytes(const kg_tensor *input, int dim, const kg_tensor *index, double share);

// Bytes of the input's slices that n indices name, on average, and of the indices.
double kg_selected_bytes(const kg_tensor *input, int dim, const kg_tensor *index);

#endif
