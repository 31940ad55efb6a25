// Labelled points from files: records of kgate, or tables.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "screen/calibrate.h"

#define MOST_BYTES ((size_t)256 << 20)

// ---- CSV: a header, then lines; a comma inside quotes is no separator ---------------------------------------------

typedef struct {
    char **names;  // of the columns
    size_t n;
} header;

// The next field of a line, which is cut into; *rest is what follows, NULL at the end.
static char *next_field(char **rest) {
    char *from = *rest, *to = from, *field = from;
    bool quoted = false;
    for (; *from && (quoted || *from != ','); from++)
        if (*from == '"') quoted = !quoted;
        else *to++ = *from;
    *rest = *from ? from + 1 : NULL;
    *to = 0;
    return field;
}

static size_t split(char *line, char **fields, size_t most) {
    size_t n = 0;
    for (char *rest = line; rest && n < most;) fields[n++] = next_field(&rest);
    return n;
}

#define COLUMNS 32
typedef int row_fn(void *ctx, char **fields, size_t n, const header *h, const char *where, kg_error *err);

static const char *field_of(const header *h, char **fields, size_t n, const char *name) {
    for (size_t i = 0; i < h->n && i < n; i++)
        if (!strcmp(h->names[i], name)) return fields[i];
    return NULL;
}

static int each_row(const char *path, row_fn *row, void *ctx, kg_error *err) {
    char *data, *save = NULL, *names[COLUMNS], *fields[COLUMNS];
    size_t size;
    if (kg_read_file(path, MOST_BYTES, &data, &size, err)) {
        err->code = KG_ERR_USAGE;
        return -1;
    }
    int rc = 0, number = 1;
    char *line = strtok_r(data, "\r\n", &save);
    header h = {names, line ? split(line, names, COLUMNS) : 0};
    while (!rc && (line = strtok_r(NULL, "\r\n", &save))) {
        size_t n = split(line, fields, COLUMNS);
        char *where = kg_format("%s:%d", path, ++number);
        rc = row(ctx, fields, n, &h, where, err);
        free(where);
    }
    free(data);
    return rc;
}

// ---- labels -------------------------------------------------------------------------------------------------------

struct kg_labels {
    struct {
        char *file;
        bool slow;
    } * items;
    size_t n;
};

static int add_label(void *ctx, char **fields, size_t n, const header *h, const char *where, kg_error *err) {
    kg_labels *l = ctx;
    const char *file = field_of(h, fields, n, "file"), *label = field_of(h, fields, n, "label");
    if (!file || !label) return kg_fail(err, KG_ERR_USAGE, "%s: needs the columns file and label", where);
    l->items = kg_realloc(l->items, (l->n + 1) * sizeof *l->items);
    l->items[l->n].file = kg_strdup(file);
    l->items[l->n++].slow = strcmp(label, "clean") != 0;
    return 0;
}

int kg_labels_read(const char *path, kg_labels **out, kg_error *err) {
    kg_labels *l = kg_alloc(sizeof *l);
    if (each_row(path, add_label, l, err)) {
        kg_labels_free(l);
        return -1;
    }
    *out = l;
    return 0;
}

void kg_labels_free(kg_labels *l) {
    if (!l) return;
    for (size_t i = 0; i < l->n; i++) free(l->items[i].file);
    free(l->items);
    free(l);
}

// Whether path is file, or ends in "/" and file.
static bool names_file(const char *path, const char *file) {
    const size_t n = strlen(path), m = strlen(file);
    return n >= m && !strcmp(path + n - m, file) && (n == m || path[n - m - 1] == '/');
}

static int label_of(const kg_labels *l, const char *path) {
    for (size_t i = 0; l && path && i < l->n; i++)
        if (names_file(path, l->items[i].file)) return l->items[i].slow;
    return -1;
}

// ---- points -------------------------------------------------------------------------------------------------------

static void add(kg_points *p, const char *operator_name, kg_bound bound, double lre, double utilization, bool slow) {
    p->items = kg_realloc(p->items, (p->n + 1) * sizeof *p->items);
    p->items[p->n++] = (kg_labelled){kg_strdup(operator_name), bound, lre, utilization, slow};
}

static double number_or_nan(const char *s) {
    char *end;
    const double v = s ? strtod(s, &end) : NAN;
    return s && end != s && !*end ? v : NAN;
}

static int add_row(void *ctx, char **fields, size_t n, const header *h, const char *where, kg_error *err) {
    const char *name = field_of(h, fields, n, "operator"), *bound = field_of(h, fields, n, "bound");
    const char *label = field_of(h, fields, n, "label");
    if (!name || !bound || !label || (strcmp(bound, "memory") && strcmp(bound, "compute")))
        return kg_fail(err, KG_ERR_USAGE, "%s: needs operator, bound (memory or compute), lre, utilization and label",
                       where);
    add(ctx, name, strcmp(bound, "memory") ? KG_BOUND_COMPUTE : KG_BOUND_MEMORY,
        number_or_nan(field_of(h, fields, n, "lre")), number_or_nan(field_of(h, fields, n, "utilization")),
        strcmp(label, "clean") != 0);
    return 0;
}

static double number_at(const json_t *o, const char *key) {
    const json_t *v = json_object_get(o, key);
    return json_is_number(v) ? json_number_value(v) : NAN;
}

// The bound of the size that decides, else of the first that is screened.
static bool bound_of(const json_t *performance, kg_bound *out) {
    const char *worst = json_string_value(json_object_get(performance, "worst_case"));
    size_t i;
    json_t *c;
    bool found = false;
    json_array_foreach(json_object_get(performance, "cases"), i, c) {
        const char *bound = json_string_value(json_object_get(c, "bound")),
                   *name = json_string_value(json_object_get(c, "case"));
        const bool memory = bound && !strcmp(bound, "memory"), compute = bound && !strcmp(bound, "compute");
        if (!memory && !compute) continue;
        const bool decides = worst && name && !strcmp(worst, name);
        if (!found || decides) *out = memory ? KG_BOUND_MEMORY : KG_BOUND_COMPUTE;
        found = true;
        if (decides) break;
    }
    return found;
}

static void add_record(const json_t *r, const kg_labels *labels, kg_points *p) {
    const json_t *performance = json_object_get(r, "performance");
    const char *path = json_string_value(json_object_get(json_object_get(r, "candidate"), "path"));
    const char *task = json_string_value(json_object_get(r, "task"));
    const int slow = label_of(labels, path);
    kg_bound bound;
    if (slow < 0) p->unlabelled++;
    else if (!task || !bound_of(performance, &bound)) p->unscreened++;
    else add(p, task, bound, number_at(performance, "lre"), number_at(performance, "utilization"), slow > 0);
}

static int add_records(const char *path, const kg_labels *labels, kg_points *p, kg_error *err) {
    FILE *f = fopen(path, "re");
    json_error_t why;
    json_t *v, *r;
    size_t i, n = 0;
    if (!f) return kg_fail(err, KG_ERR_USAGE, "%s: cannot be read", path);
    while ((v = json_loadf(f, JSON_DISABLE_EOF_CHECK, &why))) {
        if (json_is_array(v)) json_array_foreach(v, i, r) add_record(r, labels, p);
        else add_record(v, labels, p);
        n++;
        json_decref(v);
    }
    fclose(f);
    return n ? 0 : kg_fail(err, KG_ERR_USAGE, "%s: holds no records: give what `kgate run --format jsonl` wrote", path);
}

int kg_points_read(const char *path, const kg_labels *labels, kg_points *add_to, kg_error *err) {
    const char *dot = strrchr(path, '.');
    if (dot && !strcmp(dot, ".csv")) return each_row(path, add_row, add_to, err);
    if (!labels)
        return kg_fail(err, KG_ERR_USAGE, "%s: records have no labels of their own: give --labels FILE.csv", path);
    return add_records(path, labels, add_to, err);
}

void kg_points_free(kg_points *p) {
    for (size_t i = 0; i < p->n; i++) free(p->items[i].operator_name);
    free(p->items);
    *p = (kg_points){0};
}
