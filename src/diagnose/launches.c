// Which kernels the device's time went to: launches.json, from the candidate's own process, believed as far as a hint
// goes.
// {"total_us": of a whole call,
//  "kernels": [{"lines": [[from, to], ...] of it and of the functions that it calls, "us": of all its launches in a
//  call}]}
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "diagnose/internal.h"

#define MOST_KERNELS 64

static double number(const json_t *v) {
    const double x = json_is_number(v) ? json_number_value(v) : NAN;
    return x >= 0 && x < 1e12 ? x : NAN;
}

static bool read_lines(const json_t *pair, kg_lines *to) {
    const double first = number(json_array_get(pair, 0)), last = number(json_array_get(pair, 1));
    if (!(first >= 1 && last >= first && last < 1e9)) return false;
    *to = (kg_lines){(uint32_t)first, (uint32_t)last};
    return true;
}

// false: not a part of a call's time.
static bool read_kernel(const json_t *o, kg_sample *s) {
    const json_t *pair;
    size_t i;
    *s = (kg_sample){.weight = number(json_object_get(o, "us"))};
    json_array_foreach(json_object_get(o, "lines"), i, pair) if (s->n < KG_CHAIN && read_lines(pair, &s->lines[s->n]))
        s->n++;
    return s->n && s->weight >= 0;
}

static kg_profile *read_kernels(const json_t *o, kg_facts *f) {
    const json_t *kernels = json_object_get(o, "kernels"), *kernel;
    const double total = number(json_object_get(o, "total_us"));
    if (!json_is_array(kernels) || !(total > 0)) return NULL;
    kg_profile *p = kg_alloc(sizeof *p + (MOST_KERNELS + 1) * sizeof *p->samples);
    double own = 0;
    size_t i;
    p->launches = true;
    json_array_foreach(kernels, i, kernel) {
        if (p->n == MOST_KERNELS || !read_kernel(kernel, &p->samples[p->n])) continue;
        own += p->samples[p->n++].weight;
    }
    // Kernels of libraries, copies, and pauses between launches.
    const double others = fmax(0, total - own);
    p->samples[p->n++] = (kg_sample){.weight = others};
    kg_facts_set(f, "other_share", others / (others + own));
    kg_facts_set(f, "other_percent", 100 * others / (others + own));
    return p;
}

kg_profile *kg_launches_read(const char *json, size_t size, kg_facts *f) {
    json_t *o = json_loadb(json, size, 0, NULL);
    kg_profile *p = json_is_object(o) ? read_kernels(o, f) : NULL;
    json_decref(o);
    return p;
}

kg_profile *kg_launches_from_scratch(const char *folder, kg_facts *f) {
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    size_t size = 0;
    char *text = fd >= 0 ? kg_read_plain(fd, "launches.json", &size) : NULL;
    kg_profile *p = text ? kg_launches_read(text, size, f) : NULL;
    free(text);
    if (fd >= 0) close(fd);
    return p;
}
