// Lists and sources with random damage: whatever the bytes, reading ends, and each candidate has a source or a problem.
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "candidate/candidate.h"

static const char list[] =
    "{\"file\": \"softmax.py\", \"predict\": \"import torch\\nimport triton\\n# kgate: task=relu entry=f launch a b\\n\"}\n"
    "{\"task\": \"abs\", \"code\": \"\\u00e9#include <math.h>\\n/* kgate: task=gelu */\", \"method\": \"m\", \"round\": 1}\n"
    "\n{\"task\": null, \"code\": 7}\n[[[[\n{\"language\": \"cuda\", \"code\": \"__global__ void k() {}\"}";
static const char source[] =
    "/*\n * kgate: task=relu entry=f\n kgate: launch grid=n */\n#include <kgate/kernel.h>\nint f(void);\n";

// Flips, cuts, repeats: a few of them, drawn by counter so that a failure comes again.
static size_t damage(const char *text, size_t n, uint64_t seed, char *out) {
    memcpy(out, text, n);
    for (uint64_t k = 0; k < 1 + seed % 5 && n > 1; k++) {
        kg_philox r = kg_philox4x32(seed, k, 0);
        size_t at = r.v[0] % n, len = r.v[1] % (n - at) % 40;
        if (r.v[2] % 4 == 0) memmove(out + at, out + at + len, n - at - len), n -= len;
        else if (r.v[2] % 4 == 1) memset(out + at, (int)(r.v[3] & 0xFF), len);
        else out[at] = (char)(r.v[3] & 0xFF);
    }
    return n;
}

static void read_all(const char *path) {
    kg_candidate_source *s = NULL;
    kg_candidate c;
    size_t n = 0;
    assert_int_equal(kg_candidates_open((char *[]){(char *)path}, 1, NULL, &s, NULL), 0);
    for (; kg_candidates_next(s, &c); n++) {
        assert_non_null(c.path);
        assert_true(c.problem.code ? c.problem.text != NULL : c.source && strlen(c.sha256) == 64 && c.language);
        if (c.problem.text) assert_null(strchr(c.problem.text, '\n'));
        kg_candidate_free(&c);
    }
    assert_in_range(n, 1, sizeof list);
    kg_candidates_close(s);
}

static void damaged(const char *text, size_t n, const char *ending) {
    char *path = kg_format("/tmp/kgate-noise-%d%s", (int)getpid(), ending), *bytes = kg_alloc(n + 1);
    for (uint64_t seed = 0; seed < 3000; seed++) {
        size_t size = damage(text, n, seed, bytes);
        FILE *f = fopen(path, "w");
        assert_int_equal(fwrite(bytes, 1, size, f), size);
        fclose(f);
        read_all(path);
        unlink(path);
    }
    free(path);
    free(bytes);
}

static void damaged_lists_are_read_to_their_end(void **state) {
    (void)state;
    damaged(list, sizeof list - 1, ".jsonl");
}

static void damaged_sources_are_candidates_or_problems(void **state) {
    (void)state;
    damaged(source, sizeof source - 1, ".c");
    damaged(source, sizeof source - 1, ".txt");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(damaged_lists_are_read_to_their_end),
        cmocka_unit_test(damaged_sources_are_candidates_or_problems),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
