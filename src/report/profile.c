// Where the seconds of judgements went (--profile).
#include <stdlib.h>

#include "report/internal.h"

void kg_profile_add(json_t *sum, const json_t *record) {
    const char *step;
    json_t *seconds;
    json_object_foreach((json_t *)(uintptr_t)kg_field(record, "profile"), step, seconds) {
        double so_far = json_number_value(json_object_get(sum, step));
        json_object_set_new(sum, step, json_real(so_far + json_number_value(seconds)));
    }
}

typedef struct {
    const char *step;
    double seconds;
} share;

static int descending(const void *a, const void *b) {
    double x = ((const share *)a)->seconds, y = ((const share *)b)->seconds;
    return (x < y) - (x > y);
}

void kg_profile_print(json_t *sum, int indent, FILE *to) {
    share list[32];
    size_t n = 0;
    double all = 0;
    const char *step;
    json_t *seconds;
    json_object_foreach(sum, step, seconds) {
        if (n == sizeof list / sizeof *list) break;
        list[n++] = (share){step, json_number_value(seconds)};
        all += list[n - 1].seconds;
    }
    if (!(all > 0)) return;
    qsort(list, n, sizeof *list, descending);
    kg_text t = {0};
    for (size_t i = 0; i < n; i++)
        if (list[i].seconds >= 5e-4)
            kg_text_add(&t, "%s%s %.3g s (%.0f%%)", t.len ? ", " : "", list[i].step, list[i].seconds,
                        100 * list[i].seconds / all);
    kg_wrap(to, indent, "Where the time went: %s.", t.data ? t.data : "nowhere");
    kg_text_free(&t);
}
