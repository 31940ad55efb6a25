// Reading records that may lack anything.
#include <stdlib.h>
#include <string.h>

#include "report/internal.h"

const json_t *kg_field(const json_t *record, const char *path) {
    const json_t *at = record;
    while (at && *path) {
        size_t n = strcspn(path, ".");
        char *key = kg_format("%.*s", (int)n, path);
        at = json_object_get(at, key);
        free(key);
        path += n + (path[n] == '.');
    }
    return json_is_null(at) ? NULL : at;
}

const char *kg_field_text(const json_t *record, const char *path) { return json_string_value(kg_field(record, path)); }

double kg_field_number(const json_t *record, const char *path) {
    const json_t *v = kg_field(record, path);
    return json_is_number(v) ? json_number_value(v) : NAN;
}

bool kg_field_is(const json_t *record, const char *path, bool value) {
    const json_t *v = kg_field(record, path);
    return json_is_boolean(v) && json_is_true(v) == value;
}
