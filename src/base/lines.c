#include "base/lines.h"

#include <string.h>

bool kg_next_line(const char **at, const char *end, kg_line *out) {
    if (*at >= end) return false;
    const char *nl = memchr(*at, '\n', (size_t)(end - *at)), *stop = nl ? nl : end;
    *out = (kg_line){*at, (size_t)(stop - *at)};
    *at = nl ? nl + 1 : end;
    return true;
}
