// The database of results and ceilings: SQLite in WAL mode, one transaction a candidate.
#ifndef KG_STORE_H
#define KG_STORE_H

#include <jansson.h>

#include "base/base.h"

#define KG_STORE_SCHEMA 1

typedef struct kg_database kg_database;  // base.h has a function kg_store
// Default path: $KGATE_DB, else $XDG_DATA_HOME/kgate/kgate.db, else ~/.local/share/kgate/kgate.db; owned by the caller.
char *kg_store_default_path(void);
// Creates the file and its folder when absent. read_only: for reading alone, also where nothing can be written. Errors
// (KG_ERR_CANNOT): not writable, not a database, a newer schema.
int kg_store_open(const char *path, bool read_only, kg_database **out, kg_error *err);
void kg_store_close(kg_database *s);

// A run groups candidates so that --resume can go on. *run: its id. settings: what the verdicts depend on, as JSON
// text.
int kg_store_begin_run(kg_database *s, const char *command, const char *settings, int64_t *run, kg_error *err);
// The latest run with the same settings that did not finish; 0 when none.
int kg_store_unfinished_run(kg_database *s, const char *settings, int64_t *run, kg_error *err);
int kg_store_finish_run(kg_database *s, int64_t run, kg_error *err);
// Adds the record and sets its "id" (text, short, unique). One transaction.
int kg_store_add(kg_database *s, int64_t run, json_t *record, kg_error *err);
// The record of this candidate in this run, or NULL (--resume): keyed by path and sha256 and task.
json_t *kg_store_find(kg_database *s, int64_t run, const char *path, const char *sha256, const char *task);
json_t *kg_store_get(kg_database *s, const char *id_or_prefix, kg_error *err);  // NULL and err when absent or ambiguous
// Newest first. fn returns non-zero to stop.
typedef struct {
    const char *task, *verdict, *device;
    int64_t limit;
} kg_store_filter;
int kg_store_list(kg_database *s, const kg_store_filter *f, int (*fn)(const json_t *record, void *ctx), void *ctx,
                  kg_error *err);

// Ceilings by device name and driver; text is kg_ceilings_to_json's.
int kg_store_put_ceilings(kg_database *s, const char *device, const char *driver, const char *json, kg_error *err);
char *kg_store_get_ceilings(kg_database *s, const char *device,
                            const char *driver);  // NULL when absent; owned by the caller

#endif
