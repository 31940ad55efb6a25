// kgate: task=index_fill_
//
// For every entry of index, one slice of x is overwritten, element by element.
#include <kgate/kernel.h>

int index_fill_(int64_t dim, DLTensor *x, const DLTensor *index, double value) {
    if (kg_elements(x) == 0) return 0;
    const int64_t lines = kg_elements(x) / kg_dim(x, dim), step = kg_stride(x, dim);
    for (int64_t i = 0; i < kg_elements(index); i++) {
        const int64_t row = (int64_t)kg_get(index, i);
        for (int64_t line = 0; line < lines; line++)
            kg_put_at(x, (x->ndim ? kg_line(x, dim, line) : 0) + row * step, value);
    }
    return 0;
}
