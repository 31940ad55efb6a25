#include "oracle/windows.h"

int64_t kg_window_count(const kg_window *w, int64_t elements) {
    const int64_t reach = w->dilation * (w->size - 1) + 1, slack = elements + 2 * w->padding - reach;
    if (slack < 0) return w->ceil && slack > -w->stride ? 1 : 0;
    const int64_t n = (slack + (w->ceil ? w->stride - 1 : 0)) / w->stride + 1;
    return w->ceil && (n - 1) * w->stride >= elements + w->padding ? n - 1 : n;
}

kg_span kg_window_span(const kg_window *w, int64_t elements, int64_t i) {
    const int64_t start = i * w->stride - w->padding;
    const int64_t skip = start < 0 ? (-start + w->dilation - 1) / w->dilation : 0;
    int64_t end = w->size;
    while (end > skip && start + (end - 1) * w->dilation >= elements) end--;
    return (kg_span){start + skip * w->dilation, end > skip ? end - skip : 0, w->dilation};
}

kg_span kg_adaptive_span(int64_t elements, int64_t count, int64_t i) {
    const int64_t from = i * elements / count;
    return (kg_span){from, ((i + 1) * elements + count - 1) / count - from, 1};
}
