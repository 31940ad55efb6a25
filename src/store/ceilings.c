// Measured limits of devices, one row for each device and driver.
#include <stdlib.h>

#include "store/internal.h"

int kg_store_put_ceilings(kg_database *s, const char *device, const char *driver, const char *json, kg_error *err) {
    char *now = kg_store_now();
    sqlite3_stmt *q =
        kg_store_prepare(s, "INSERT OR REPLACE INTO ceilings(device, driver, measured, json) VALUES(?1, ?2, ?3, ?4)", 4,
                         (const char *[]){device, driver ? driver : "", now, json}, err);
    free(now);
    if (!q) return -1;
    int rc = sqlite3_step(q);
    sqlite3_finalize(q);
    return rc == SQLITE_DONE ? 0 : kg_store_fail(s, "keeping ceilings", err);
}

char *kg_store_get_ceilings(kg_database *s, const char *device, const char *driver) {
    sqlite3_stmt *q = kg_store_prepare(s, "SELECT json FROM ceilings WHERE device = ?1 AND driver = ?2", 2,
                                       (const char *[]){device, driver ? driver : ""}, NULL);
    if (!q) return NULL;
    char *json = sqlite3_step(q) == SQLITE_ROW ? kg_strdup((const char *)sqlite3_column_text(q, 0)) : NULL;
    sqlite3_finalize(q);
    return json;
}
