// kgate device, kgate device measure.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "runner/runner.h"

static const char text[] =
    "  kgate device                       devices here, their ceilings, what the sandbox can do\n"
    "  kgate device measure               measures the ceilings of every device here, and keeps them\n"
    "  kgate device measure --device cpu  of this one\n"
    "\n"
    "Ceilings are what the roofline screen compares with. `kgate run` measures those that are missing;\n"
    "measure them again on a quiet machine where they look too low.\n";

typedef struct {
    const kg_options *o;
    kg_database *store;
    bool measure;
    json_t *devices;
    size_t failed;
} listing;

static void on_progress(const char *what, void *ctx) {
    (void)ctx;
    if (!kg_cli_noted(what)) kg_progress("measuring: %s", what);
}

static void add_text(json_t *o, const char *key, const char *value) {
    json_object_set_new(o, key, value ? json_string(value) : json_null());
}

static json_t *describe(const kg_device_info *i, int ordinal) {
    json_t *d = json_object();
    add_text(d, "kind", i->kind);
    json_object_set_new(d, "ordinal", json_integer(ordinal));
    add_text(d, "name", i->name);
    add_text(d, "driver", i->driver);
    add_text(d, "arch", i->arch);
    json_object_set_new(d, "memory_bytes", json_integer((json_int_t)i->memory_bytes));
    json_object_set_new(d, "free_bytes", json_integer((json_int_t)i->free_bytes));
    json_object_set_new(d, "cache_bytes", json_integer((json_int_t)i->cache_bytes));
    json_object_set_new(d, "units", json_integer(i->units));
    json_object_set_new(d, "clock_hz", i->clock_hz > 0 ? json_real(i->clock_hz) : json_null());
    add_text(d, "notes", i->notes);
    return d;
}

static json_t *kept_ceilings(kg_database *s, const kg_device_info *i) {
    char *json = s ? kg_store_get_ceilings(s, i->name, i->driver) : NULL;
    json_t *c = json ? json_loads(json, 0, NULL) : NULL;
    free(json);
    return c ? c : json_null();
}

static json_t *measured_ceilings(listing *l, kg_device *d, kg_error *err) {
    kg_ceilings c;
    if (kg_ceilings_measure(d, l->store, on_progress, NULL, &c, err)) return NULL;
    char *json = kg_ceilings_to_json(&c);
    json_t *v = json_loads(json, 0, NULL);
    free(json);
    kg_ceilings_free(&c);
    return v ? v : json_null();
}

static int add_device(kg_device *d, void *ctx) {
    listing *l = ctx;
    kg_error err = {0};
    kg_device_info i;
    if (d->ops->describe(d, &i, &err)) {
        kg_cli_error(&err);
        l->failed++;
        return 0;
    }
    json_t *ceilings = l->measure ? measured_ceilings(l, d, &err) : kept_ceilings(l->store, &i);
    kg_progress_clear();
    if (!ceilings) {
        kg_cli_error(&err);
        l->failed++;
    }
    json_t *shown = describe(&i, d->ordinal);
    json_object_set_new(shown, "ceilings", ceilings ? ceilings : json_null());
    json_array_append_new(l->devices, shown);
    kg_device_info_free(&i);
    return 0;
}

// "1.23e12" bytes or operations a second, as a person says it.
static char *rate(double x, const char *unit) {
    static const struct {
        double scale;
        const char *prefix;
    } units[] = {{1e12, "T"}, {1e9, "G"}, {1e6, "M"}};
    size_t i = 0;
    while (i < 2 && x < units[i].scale) i++;
    return kg_format("%8.3g %s%s", x / units[i].scale, units[i].prefix, unit);
}

// The names of src/roofline's JSON end in their unit; those inside an object are operations a second.
static void print_ceiling(const char *key, const json_t *v, bool operations, FILE *to) {
    static const char *const ends[] = {"_bytes_s", "_ops_s", "_s"};
    double x = json_number_value(v);
    size_t n = strlen(key), i = 0;
    for (; !operations && i < 3; i++)
        if (n > strlen(ends[i]) && !strcmp(key + n - strlen(ends[i]), ends[i])) break;
    if (!json_is_number(v) || i == 3) return;
    char *name = kg_format("%.*s", (int)(operations ? n : n - strlen(ends[i])), key);
    for (char *p = name; *p; p++)
        if (*p == '_') *p = ' ';
    char *value = i == 2 ? kg_format("%8.3g us", 1e6 * x) : rate(x, operations || i == 1 ? "op/s" : "B/s");
    fprintf(to, "    %-24s %s\n", name, value);
    free(value);
    free(name);
}

static void print_ceilings(const json_t *c, FILE *to) {
    const char *key, *name;
    json_t *v, *u;
    if (!json_is_object(c)) fputs("    ceilings not measured yet: `kgate device measure`\n", to);
    json_object_foreach((json_t *)c, key, v) {
        if (json_is_object(v)) json_object_foreach(v, name, u) print_ceiling(name, u, true, to);
        else if (json_is_string(v)) fprintf(to, "    measured by %s\n", json_string_value(v));
        else print_ceiling(key, v, false, to);
    }
}

static void print_device(const json_t *d, FILE *to) {
    const char *notes = json_string_value(json_object_get(d, "notes"));
    fprintf(to, "%s:%d  %s (%s, driver %s)\n", json_string_value(json_object_get(d, "kind")),
            (int)json_integer_value(json_object_get(d, "ordinal")), json_string_value(json_object_get(d, "name")),
            json_string_value(json_object_get(d, "arch")), json_string_value(json_object_get(d, "driver")));
    fprintf(to, "    %lld units, %.1f GiB memory, %.1f MiB last-level cache\n",
            (long long)json_integer_value(json_object_get(d, "units")),
            json_number_value(json_object_get(d, "memory_bytes")) / (1 << 30),
            json_number_value(json_object_get(d, "cache_bytes")) / (1 << 20));
    if (notes) fprintf(to, "    now: %s\n", notes);
    print_ceilings(json_object_get(d, "ceilings"), to);
}

static void print_sandbox(const json_t *sandbox, FILE *to) {
    size_t i;
    json_t *v;
    fputs("sandbox:", to);
    json_array_foreach(sandbox, i, v) if (json_is_string(v)) fprintf(to, " %s", json_string_value(v));
    fputs(json_array_size(sandbox) ? "\n" : " nothing of it holds here\n", to);
}

static void print_all(const listing *l, FILE *to) {
    char *probe = kg_sandbox_probe();
    json_t *sandbox = probe ? json_loads(probe, 0, NULL) : NULL, *d;
    size_t i;
    if (!sandbox) sandbox = json_array();
    if (!strcmp(l->o->format, "json")) {
        json_t *all = json_pack("{s:O, s:O}", "devices", l->devices, "sandbox", sandbox);
        json_dumpf(all, to, JSON_INDENT(2) | JSON_REAL_PRECISION(15));
        fputc('\n', to);
        json_decref(all);
    } else {
        json_array_foreach(l->devices, i, d) print_device(d, to);
        print_sandbox(sandbox, to);
    }
    json_decref(sandbox);
    free(probe);
}

// Reading works without a database; measuring keeps what it found unless --no-db.
static int open_store(listing *l, kg_error *err) {
    if (l->o->no_db) return 0;
    if (l->measure) return kg_cli_store(l->o, false, &l->store, err);
    if (kg_cli_store(l->o, true, &l->store, NULL)) l->store = NULL;
    return 0;
}

static int gather(listing *l, kg_error *err) {
    if (!strcmp(l->o->device, "auto")) {
        kg_device_each(add_device, l);
        return 0;
    }
    kg_device *d;
    if (kg_device_open(l->o->device, &d, err)) return -1;
    add_device(d, l);
    d->ops->close(d);
    return 0;
}

static int check(const kg_options *o, kg_error *err) {
    if (o->n_args > 1 || (o->n_args && strcmp(o->args[0], "measure") != 0))
        return kg_fail(err, KG_ERR_USAGE, "device %s: use `kgate device` or `kgate device measure`", o->args[0]);
    return 0;
}

static int open_output(const kg_options *o, kg_output **out, kg_error *err) {
    kg_options without_args = *o;  // "measure" is no file
    without_args.n_args = 0;
    return kg_cli_output(&without_args, out, err);
}

static int device(kg_options *o) {
    kg_error err = {0};
    kg_output *out = NULL;
    listing l = {.o = o, .measure = o->n_args > 0, .devices = json_array()};
    int failed = check(o, &err) || open_store(&l, &err) || open_output(o, &out, &err) || gather(&l, &err);
    if (!failed) print_all(&l, kg_output_stream(out));
    if (out && failed) kg_output_leave(out);
    if (out && kg_output_close(out, failed ? NULL : &err)) failed = 1;
    kg_store_close(l.store);
    json_decref(l.devices);
    return failed ? kg_cli_error(&err) : l.failed ? 3 : 0;
}

const kg_command kg_device_command = {"device", "[measure] [options]", text, "of-device listing output db no-db",
                                      device};
