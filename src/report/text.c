// Text from outside on a terminal: harmless, and as wide as it says.
#include <stdlib.h>
#include <string.h>

#include "report/internal.h"

typedef struct {
    uint32_t first, last;
} range;

static bool in_ranges(const range *r, size_t n, uint32_t c) {
    for (size_t i = 0; i < n; i++)
        if (c >= r[i].first && c <= r[i].last) return true;
    return false;
}
#define IN(ranges, c) in_ranges(ranges, sizeof ranges / sizeof *ranges, c)

// Characters that a terminal obeys, hides or reorders by (Unicode categories Cc, Cf, Zl, Zp).
static const range unsafe[] = {{0, 0x1F},        {0x7F, 0x9F},     {0xAD, 0xAD},      {0x61C, 0x61C},
                               {0x180E, 0x180E}, {0x200B, 0x200F}, {0x2028, 0x202E},  {0x2060, 0x206F},
                               {0xFEFF, 0xFEFF}, {0xFFF9, 0xFFFB}, {0xE0000, 0xE007F}};
// Combining marks take no column, East Asian wide and emoji two (Unicode TR 11, the large blocks).
static const range zero[] = {{0x300, 0x36F},   {0x483, 0x489},   {0x591, 0x5BD},   {0x64B, 0x65F},  {0x1AB0, 0x1AFF},
                             {0x1DC0, 0x1DFF}, {0x20D0, 0x20FF}, {0xFE00, 0xFE0F}, {0xFE20, 0xFE2F}};
static const range wide[] = {{0x1100, 0x115F}, {0x2E80, 0xA4CF},   {0xAC00, 0xD7A3},
                             {0xF900, 0xFAFF}, {0xFE30, 0xFE6F},   {0xFF00, 0xFF60},
                             {0xFFE0, 0xFFE6}, {0x1F300, 0x1FAFF}, {0x20000, 0x3FFFD}};

// Decodes one character of valid or invalid UTF-8; returns its bytes, 0 when they are none.
static size_t decode(const unsigned char *p, uint32_t *c) {
    size_t n = *p < 0x80 ? 1 : *p >= 0xF0 ? 4 : *p >= 0xE0 ? 3 : 2;
    *c = n == 1 ? *p : *p & (0xFFu >> (n + 1));
    if (n > 1 && (*p < 0xC2 || *p > 0xF4)) return 0;
    for (size_t i = 1; i < n; i++) {
        if ((p[i] & 0xC0) != 0x80) return 0;
        *c = *c << 6 | (p[i] & 0x3F);
    }
    return n;
}

char *kg_safe(const char *s) {
    kg_text t = {0};
    kg_text_add(&t, "%s", "");
    for (const unsigned char *p = (const unsigned char *)s; *p;) {
        uint32_t c;
        size_t n = decode(p, &c);
        if (!n) kg_text_add(&t, "\\x%02x", *p);
        else if (c == '\n') kg_text_add(&t, "\\n");
        else if (c == '\t') kg_text_add(&t, "\\t");
        else if (c == '\r') kg_text_add(&t, "\\r");
        else if (IN(unsafe, c)) kg_text_add(&t, c < 256 ? "\\x%02x" : "\\u%04x", c);
        else kg_text_add_bytes(&t, (const char *)p, n);
        p += n ? n : 1;
    }
    return t.data ? t.data : kg_strdup("");
}

static size_t char_columns(const char *p, size_t *bytes) {
    uint32_t c;
    size_t n = decode((const unsigned char *)p, &c);
    *bytes = n ? n : 1;
    return IN(zero, c) ? 0 : IN(wide, c) ? 2 : 1;
}

size_t kg_columns(const char *s) {
    size_t columns = 0, bytes;
    for (; *s; s += bytes) columns += char_columns(s, &bytes);
    return columns;
}

// Bytes of the longest beginning within this many columns.
static size_t head_bytes(const char *s, size_t columns) {
    size_t at = 0, bytes;
    while (s[at]) {
        size_t w = char_columns(s + at, &bytes);
        if (w > columns) break;
        columns -= w;
        at += bytes;
    }
    return at;
}

// Where the longest end within this many columns begins.
static const char *tail(const char *s, size_t columns) {
    size_t all = kg_columns(s), bytes;
    while (all > columns) {
        all -= char_columns(s, &bytes);
        s += bytes;
    }
    return s;
}

// Names of one command often begin alike, with the same folder: what goes is the beginning.
char *kg_shorten_front(const char *s, size_t columns) {
    if (kg_columns(s) <= columns) return kg_strdup(s);
    return kg_format("...%s", tail(s, columns > 3 ? columns - 3 : 0));
}

// A beginning of an id is as good as the whole.
char *kg_shorten_id(const char *s, size_t columns) { return kg_format("%.*s", (int)head_bytes(s, columns), s); }

// The end of a name says more than its beginning: it gets two thirds.
char *kg_shorten_middle(const char *s, size_t columns) {
    if (kg_columns(s) <= columns) return kg_strdup(s);
    size_t left = columns > 3 ? (columns - 3) / 3 : 0, right = columns > 3 ? columns - 3 - left : 0;
    return kg_format("%.*s...%s", (int)head_bytes(s, left), s, tail(s, right));
}

char *kg_shorten_end(const char *s, size_t columns) {
    if (kg_columns(s) <= columns) return kg_strdup(s);
    return kg_format("%.*s...", (int)head_bytes(s, columns > 3 ? columns - 3 : 0), s);
}

static size_t line_bytes(const char *s, size_t columns) {
    size_t n = head_bytes(s, columns);
    if (!s[n]) return n;
    for (size_t i = n; i > 0; i--)
        if (s[i] == ' ') return i;
    return n ? n : 1;
}

void kg_wrap(FILE *to, int indent, const char *fmt, ...) {
    char *raw = NULL;
    va_list ap;
    va_start(ap, fmt);
    if (vasprintf(&raw, fmt, ap) < 0) raw = NULL;
    va_end(ap);
    char *text = kg_safe(raw ? raw : "");
    for (const char *s = text; *s;) {
        size_t n = line_bytes(s, KG_WIDTH - (size_t)indent);
        fprintf(to, "%*s%.*s\n", indent, "", (int)n, s);
        for (s += n; *s == ' ';) s++;
    }
    free(text);
    free(raw);
}

// Where the next option begins, outside quotes; the end when there is none.
static const char *next_option(const char *s) {
    bool quoted = false;
    for (s += *s == ' '; *s; s++) {
        if (*s == '\\' && !quoted && s[1]) s++;
        else if (*s == '\'') quoted = !quoted;
        else if (!quoted && !strncmp(s, " --", 3)) return s;
    }
    return s;
}

char *kg_wrap_command(const char *command, int indent, int lines) {
    char *safe = kg_safe(command);
    kg_text t = {0};
    size_t used = (size_t)indent, most = KG_WIDTH - 2;  // " \\" ends a line
    bool fits = !strcmp(safe, command);                 // else it would not be the command
    kg_text_add(&t, "%*s", indent, "");
    for (const char *s = safe, *end; *s && fits; s = end) {
        end = next_option(s);
        char *part = kg_format("%.*s", (int)(end - s), s);
        size_t n = kg_columns(part);
        if (used + n > most && s != safe) {
            kg_text_add(&t, " \\\n%*s", indent + 3, "");
            used = (size_t)indent + 3;
            lines--;
        }
        kg_text_add(&t, "%s", part);
        used += n;
        fits = used <= most && lines > 0;
        free(part);
    }
    free(safe);
    if (!fits) kg_text_free(&t);
    return fits ? t.data : NULL;
}
