// Bytes line by line. They need not end in a NUL.
#ifndef KG_LINES_H
#define KG_LINES_H

#include <stdbool.h>
#include <stddef.h>

typedef struct {
    const char *p;  // in the bytes
    size_t n;       // without the '\n'
} kg_line;
// The line at *at, which moves behind it; false when *at has come to the end. A last line needs no '\n'.
bool kg_next_line(const char **at, const char *end, kg_line *out);

#endif
