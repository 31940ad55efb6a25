// Ceilings as JSON text, for the database.
#include <jansson.h>
#include <math.h>
#include <stdlib.h>

#include "roofline/roofline.h"

typedef struct {
    const char *key;
    size_t at;
} field;
#define FIELD(name) \
    { #name, offsetof(kg_ceilings, name) }
static const field fields[] = {FIELD(read_bytes_s), FIELD(write_bytes_s),         FIELD(copy_bytes_s),
                               FIELD(launch_s),     FIELD(one_core_copy_bytes_s), FIELD(one_core_fp32_ops_s),
                               FIELD(cache_bytes_s)};
static const char *const units[8] = {"fp64", "fp32", "tf32", "fp16", "fp8", "int8", "special", "int"};

static double *at(const kg_ceilings *c, const field *f) { return (double *)((char *)(uintptr_t)c + f->at); }
static json_t *number(double v) { return isfinite(v) ? json_real(v) : json_null(); }
static double value(const json_t *j) { return json_is_number(j) ? json_number_value(j) : NAN; }

char *kg_ceilings_to_json(const kg_ceilings *c) {
    json_t *o = json_object(), *ops = json_object();
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        json_object_set_new(o, fields[i].key, number(*at(c, &fields[i])));
    for (int u = 0; u < 8; u++) json_object_set_new(ops, units[u], number(c->ops_s[u]));
    json_object_set_new(o, "ops_s", ops);
    if (c->source) json_object_set_new(o, "source", json_string(c->source));
    char *text = json_dumps(o, JSON_COMPACT);
    json_decref(o);
    return text;
}

int kg_ceilings_from_json(const char *text, kg_ceilings *out, kg_error *err) {
    json_error_t why;
    json_t *o = json_loads(text, 0, &why);
    if (!json_is_object(o)) {
        json_decref(o);
        return kg_fail(err, KG_ERR_CANNOT, "stored ceilings cannot be read (%s): run `kgate device measure`", why.text);
    }
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        *at(out, &fields[i]) = value(json_object_get(o, fields[i].key));
    const json_t *ops = json_object_get(o, "ops_s");
    for (int u = 0; u < 8; u++) out->ops_s[u] = value(json_object_get(ops, units[u]));
    const char *source = json_string_value(json_object_get(o, "source"));
    out->source = source ? kg_strdup(source) : NULL;
    json_decref(o);
    return 0;
}

kg_ceilings kg_ceilings_unknown(void) {
    kg_ceilings c = {.source = NULL};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) *at(&c, &fields[i]) = NAN;
    for (int u = 0; u < 8; u++) c.ops_s[u] = NAN;
    return c;
}

static double share_of(double granted) { return granted < 1 ? granted : 1; }

kg_ceilings kg_ceilings_granted(const kg_ceilings *c, kg_grant g) {
    const double memory = share_of(g.memory), compute = share_of(g.compute);
    kg_ceilings r = *c;
    r.read_bytes_s *= memory;
    r.write_bytes_s *= memory;
    r.copy_bytes_s *= memory;
    r.one_core_copy_bytes_s *= memory;
    r.cache_bytes_s *= memory;
    r.one_core_fp32_ops_s *= compute;
    for (int u = 0; u < 8; u++) r.ops_s[u] *= compute;
    return r;
}

kg_ceilings kg_ceilings_copy(const kg_ceilings *c) {
    kg_ceilings copy = *c;
    copy.source = c->source ? kg_strdup(c->source) : NULL;
    return copy;
}

void kg_ceilings_free(kg_ceilings *c) {
    free(c->source);
    c->source = NULL;
}
