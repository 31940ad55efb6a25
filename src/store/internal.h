// Shared by the files of this room only.
#ifndef KG_STORE_INTERNAL_H
#define KG_STORE_INTERNAL_H

#include <sqlite3.h>

#include "store/store.h"

struct kg_database {
    sqlite3 *db;
    char *path;
};

// One line for what the database says; `doing`: "adding a result".
int kg_store_fail(kg_database *s, const char *doing, kg_error *err);
// Prepares and binds text (NULL allowed) to ?1, ?2, ... NULL and err when it cannot.
sqlite3_stmt *kg_store_prepare(kg_database *s, const char *sql, size_t n, const char *const *text, kg_error *err);
int kg_store_exec(kg_database *s, const char *sql, const char *doing, kg_error *err);
// Time now as ISO 8601 in UTC; owned by the caller.
char *kg_store_now(void);

#endif
