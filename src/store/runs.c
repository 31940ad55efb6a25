// Runs: what groups the candidates of one command, so that an interrupted one can go on.
#include <stdlib.h>

#include "store/internal.h"

int kg_store_begin_run(kg_database *s, const char *command, const char *settings, int64_t *run, kg_error *err) {
    char *now = kg_store_now();
    sqlite3_stmt *q = kg_store_prepare(s, "INSERT INTO runs(command, settings, started) VALUES(?1, ?2, ?3)", 3,
                                       (const char *[]){command, settings, now}, err);
    free(now);
    if (!q) return -1;
    int rc = sqlite3_step(q);
    sqlite3_finalize(q);
    if (rc != SQLITE_DONE) return kg_store_fail(s, "beginning a run", err);
    *run = sqlite3_last_insert_rowid(s->db);
    return 0;
}

int kg_store_unfinished_run(kg_database *s, const char *settings, int64_t *run, kg_error *err) {
    sqlite3_stmt *q =
        kg_store_prepare(s, "SELECT id FROM runs WHERE settings = ?1 AND finished IS NULL ORDER BY id DESC LIMIT 1", 1,
                         (const char *[]){settings}, err);
    if (!q) return -1;
    int rc = sqlite3_step(q);
    *run = rc == SQLITE_ROW ? sqlite3_column_int64(q, 0) : 0;
    sqlite3_finalize(q);
    return rc == SQLITE_ROW || rc == SQLITE_DONE ? 0 : kg_store_fail(s, "looking for an unfinished run", err);
}

int kg_store_finish_run(kg_database *s, int64_t run, kg_error *err) {
    char *now = kg_store_now();
    sqlite3_stmt *q = kg_store_prepare(s, "UPDATE runs SET finished = ?1 WHERE id = ?2", 1, (const char *[]){now}, err);
    free(now);
    if (!q) return -1;
    sqlite3_bind_int64(q, 2, run);
    int rc = sqlite3_step(q);
    sqlite3_finalize(q);
    return rc == SQLITE_DONE ? 0 : kg_store_fail(s, "ending a run", err);
}
