// The `kgate:` comments at the head of a candidate:
//
//     // kgate: task=softmax entry=my_softmax
//     // kgate: launch grid=ceil(n/256) block=256
//     #  kgate: method=geak round=2
//
// Any comment style will do: before "kgate:" stand only blanks and punctuation. `launch` takes the rest of its line.
#include <ctype.h>
#include <string.h>

#include "base/lines.h"
#include "candidate/internal.h"

enum { HEADER_LINES = 100 };

static void set_once(char **field, const char *p, size_t n) {
    if (!*field && n) *field = kg_utf8(p, n);
}

static size_t trim_end(const char *p, size_t n) {
    for (;;) {
        while (n && isspace((unsigned char)p[n - 1])) n--;
        if (n >= 2 && !memcmp(p + n - 2, "*/", 2)) n -= 2;
        else if (n >= 3 && !memcmp(p + n - 3, "-->", 3)) n -= 3;
        else return n;
    }
}

static void read_pair(const char *p, size_t n, kg_candidate *c) {
    const struct {
        const char *key;
        char **field;
    } keys[] = {{"task=", &c->task}, {"entry=", &c->entry}, {"method=", &c->method}, {"round=", &c->round}};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        size_t k = strlen(keys[i].key);
        if (n > k && !memcmp(p, keys[i].key, k)) set_once(keys[i].field, p + k, n - k);
    }
}

static void read_line(const char *p, size_t n, kg_candidate *c) {
    const char *mark = memmem(p, n, "kgate:", 6);
    if (!mark) return;
    for (const char *q = p; q < mark; q++)
        if (!isspace((unsigned char)*q) && !ispunct((unsigned char)*q)) return;
    const char *at = mark + 6, *end = p + n;
    end = at + trim_end(at, (size_t)(end - at));
    while (at < end) {
        while (at < end && isspace((unsigned char)*at)) at++;
        const char *word = at;
        while (at < end && !isspace((unsigned char)*at)) at++;
        size_t len = (size_t)(at - word);
        if (len == 6 && !memcmp(word, "launch", 6)) {
            while (at < end && isspace((unsigned char)*at)) at++;
            set_once(&c->launch, at, (size_t)(end - at));
            return;
        }
        read_pair(word, len, c);
    }
}

void kg_header_read(const char *text, size_t n, kg_candidate *c) {
    static const char mark[] = {'\xef', '\xbb', '\xbf'};  // UTF-8's byte order mark, which editors and Python skip
    const char *end = text + n;
    if (n >= sizeof mark && !memcmp(text, mark, sizeof mark)) text += sizeof mark;
    kg_line line;
    for (int i = 0; i < HEADER_LINES && kg_next_line(&text, end, &line); i++) read_line(line.p, line.n, c);
}
