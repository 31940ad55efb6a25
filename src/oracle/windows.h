// Windows of pooling along one dimension: PyTorch's rules for how many there are and what lies in each.
#ifndef KG_WINDOWS_H
#define KG_WINDOWS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct {
    int64_t size, stride, padding, dilation;
    bool ceil;  // a last window that is partly outside counts
} kg_window;

// Elements inside: from, from + step, ..., n of them.
typedef struct {
    int64_t from, n, step;
} kg_span;

// Windows over so many elements: rounded down, or up with ceil, where none may start behind the elements and their
// padding in front. 0 or less: none fits.
int64_t kg_window_count(const kg_window *w, int64_t elements);
kg_span kg_window_span(const kg_window *w, int64_t elements, int64_t i);

// Adaptive pooling to `count` windows: window i is elements floor(i n / count) up to ceil((i + 1) n / count).
kg_span kg_adaptive_span(int64_t elements, int64_t count, int64_t i);

#endif
