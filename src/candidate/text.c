// Names and text from outside, made safe to keep in a record.
#include <string.h>

#include "candidate/internal.h"

// Length of the valid UTF-8 sequence at p (RFC 3629: no overlong forms, no surrogates), 0 when there is none.
static size_t sequence(const unsigned char *p, size_t n) {
    if (p[0] < 0x80) return 1;
    size_t len = p[0] >= 0xF0 ? 4 : p[0] >= 0xE0 ? 3 : 2;
    if (p[0] < 0xC2 || p[0] > 0xF4 || len > n) return 0;
    for (size_t i = 1; i < len; i++)
        if ((p[i] & 0xC0) != 0x80) return 0;
    if (p[0] == 0xE0 && p[1] < 0xA0) return 0;
    if (p[0] == 0xED && p[1] > 0x9F) return 0;
    if (p[0] == 0xF0 && p[1] < 0x90) return 0;
    if (p[0] == 0xF4 && p[1] > 0x8F) return 0;
    return len;
}

char *kg_utf8(const char *bytes, size_t n) {
    kg_text t = {0};
    const unsigned char *p = (const unsigned char *)bytes;
    kg_text_add_bytes(&t, "", 0);
    for (size_t i = 0; i < n;) {
        size_t len = p[i] ? sequence(p + i, n - i) : 0;
        if (len) kg_text_add_bytes(&t, bytes + i, len);
        else kg_text_add(&t, "\\x%02x", p[i]);
        i += len ? len : 1;
    }
    return t.data ? t.data : kg_strdup("");
}

char *kg_stem(const char *path) {
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path, *dot = strrchr(name, '.');
    size_t n = dot && dot != name ? (size_t)(dot - name) : strlen(name);
    return n ? kg_utf8(name, n) : NULL;
}
