#include <stdlib.h>

#include "base/base.h"

int kg_fail(kg_error *err, kg_code code, const char *fmt, ...) {
    if (!err) return -1;
    kg_text text = {0};
    kg_text_add_bytes(&text, "", 0);  // so that an empty message is a text too
    va_list ap;
    va_start(ap, fmt);
    kg_text_addv(&text, fmt, ap);
    va_end(ap);
    // One line, whatever outside text went into it.
    for (char *p = text.data; *p; p++)
        if (*p == '\n' || *p == '\r') *p = ' ';
    kg_error_clear(err);  // after formatting: the old text may be among the arguments
    err->code = code;
    err->text = text.data;
    return -1;
}

void kg_error_clear(kg_error *err) {
    if (!err) return;
    free(err->text);
    err->text = NULL;
    err->code = KG_OK;
}
