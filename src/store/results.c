// Result records: the whole JSON text, and the columns that lists are filtered and sorted by.
#include <ctype.h>
#include <sha2.h>
#include <stdlib.h>
#include <string.h>

#include "store/internal.h"

// Six characters are a billion ids, and one that is taken is not given again: short enough to be typed.
enum { ID_LENGTH = 6 };

static const char *text_at(const json_t *o, const char *key) { return json_string_value(json_object_get(o, key)); }

// The record's hash in base 32 (RFC 4648, lower case), `attempt` characters in: the next ones when an id is taken.
static void make_id(const char *record, int64_t run, int attempt, char id[ID_LENGTH + 1]) {
    uint8_t digest[SHA256_DIGEST_LENGTH];
    char *text = kg_format("%lld %d %s", (long long)run, attempt, record);
    SHA2_CTX ctx;
    SHA256Init(&ctx);
    SHA256Update(&ctx, (const uint8_t *)text, strlen(text));
    SHA256Final(digest, &ctx);
    free(text);
    for (int i = 0; i < ID_LENGTH; i++) id[i] = "abcdefghijklmnopqrstuvwxyz234567"[digest[i] & 31];
    id[ID_LENGTH] = 0;
}

static int id_is_taken(kg_database *s, const char *id, bool *taken, kg_error *err) {
    sqlite3_stmt *q = kg_store_prepare(s, "SELECT 1 FROM results WHERE id = ?1", 1, (const char *[]){id}, err);
    if (!q) return -1;
    int rc = sqlite3_step(q);
    *taken = rc == SQLITE_ROW;
    sqlite3_finalize(q);
    return rc == SQLITE_ROW || rc == SQLITE_DONE ? 0 : kg_store_fail(s, "naming a result", err);
}

static int name_record(kg_database *s, int64_t run, json_t *record, char id[ID_LENGTH + 1], kg_error *err) {
    json_object_del(record, "id");
    char *text = json_dumps(record, JSON_COMPACT);
    bool taken = text != NULL;
    int result = text ? 0 : kg_fail(err, KG_ERR_INTERNAL, "database %s: a record that is no JSON", s->path);
    for (int attempt = 0; taken && !result; attempt++) {
        make_id(text, run, attempt, id);
        result = id_is_taken(s, id, &taken, err);
    }
    free(text);
    return result;
}

static void bind_number(sqlite3_stmt *q, int at, const json_t *v) {
    if (json_is_number(v)) sqlite3_bind_double(q, at, json_number_value(v));
}

static int insert(kg_database *s, int64_t run, const json_t *record, const char *id, kg_error *err) {
    const json_t *device = json_object_get(record, "device"), *candidate = json_object_get(record, "candidate");
    const json_t *performance = json_object_get(record, "performance");
    const char *sha = text_at(candidate, "sha256");
    char *text = json_dumps(record, JSON_COMPACT);
    const char *values[] = {id,
                            text,
                            text_at(record, "started"),
                            text_at(record, "task"),
                            text_at(record, "verdict"),
                            text_at(record, "class"),
                            text_at(device, "name"),
                            text_at(device, "kind"),
                            text_at(candidate, "path"),
                            sha ? sha : ""};
    sqlite3_stmt *q = kg_store_prepare(s,
                                       "INSERT INTO results(id, record, started, task, verdict, class, device, "
                                       "device_kind, path, sha256, run, lre, util)"
                                       " VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
                                       sizeof values / sizeof *values, values, err);
    free(text);
    if (!q) return -1;
    sqlite3_bind_int64(q, 11, run);
    bind_number(q, 12, json_object_get(performance, "lre"));
    bind_number(q, 13, json_object_get(performance, "utilization"));
    int rc = sqlite3_step(q);
    sqlite3_finalize(q);
    return rc == SQLITE_DONE ? 0 : kg_store_fail(s, "adding a result", err);
}

int kg_store_add(kg_database *s, int64_t run, json_t *record, kg_error *err) {
    char id[ID_LENGTH + 1] = "";
    if (kg_store_exec(s, "BEGIN IMMEDIATE", "adding a result", err)) return -1;
    int result = name_record(s, run, record, id, err);
    if (!result) {
        json_object_set_new(record, "id", json_string(id));
        result = insert(s, run, record, id, err);
    }
    if (!result) result = kg_store_exec(s, "COMMIT", "adding a result", err);
    if (result) {
        sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
        json_object_del(record, "id");
    }
    return result;
}

static json_t *record_of(sqlite3_stmt *q) { return json_loads((const char *)sqlite3_column_text(q, 0), 0, NULL); }

json_t *kg_store_find(kg_database *s, int64_t run, const char *path, const char *sha256, const char *task) {
    sqlite3_stmt *q = kg_store_prepare(
        s, "SELECT record FROM results WHERE path IS ?1 AND sha256 = ?2 AND task IS ?3 AND run = ?4 ORDER BY row DESC",
        3, (const char *[]){path, sha256 ? sha256 : "", task}, NULL);
    if (!q) return NULL;
    sqlite3_bind_int64(q, 4, run);
    json_t *record = sqlite3_step(q) == SQLITE_ROW ? record_of(q) : NULL;
    sqlite3_finalize(q);
    return record;
}

static char *lower(const char *s) {
    char *t = kg_strdup(s);
    for (char *p = t; *p; p++) *p = (char)tolower((unsigned char)*p);
    return t;
}

// Ids have no character from '{' on, so those that begin with the prefix are a range of their index: a database of
// 100,000 results is not read for it.
json_t *kg_store_get(kg_database *s, const char *id_or_prefix, kg_error *err) {
    char *id = lower(id_or_prefix);
    json_t *record = NULL;
    int found = 0;
    sqlite3_stmt *q =
        kg_store_prepare(s, "SELECT record FROM results WHERE id >= ?1 AND id < ?1 || '{' AND ?1 <> '' LIMIT 2", 1,
                         (const char *[]){id}, err);
    free(id);
    if (!q) return NULL;
    for (; sqlite3_step(q) == SQLITE_ROW; found++)
        if (!record) record = record_of(q);
    sqlite3_finalize(q);
    if (found == 1 && record) return record;
    json_decref(record);
    if (found == 1) kg_fail(err, KG_ERR_CANNOT, "database %s: record %s is damaged", s->path, id_or_prefix);
    else if (found) kg_fail(err, KG_ERR_USAGE, "%s: several results begin so: write more of the id", id_or_prefix);
    else kg_fail(err, KG_ERR_USAGE, "%s: no such result in %s: `kgate results` lists them", id_or_prefix, s->path);
    return NULL;
}

// Rows are chosen in an index that has all that is asked (results_listed), and only those that are listed are read:
// each is kilobytes. `+row` keeps SQLite from walking the table instead, where what comes in order costs no sorting.
static char *list_query(const kg_store_filter *f) {
    const bool all = !f->task && !f->verdict && !f->device;
    return kg_format(
        "SELECT record FROM results WHERE row IN (SELECT row FROM results WHERE 1%s%s%s ORDER BY %srow DESC LIMIT ?4)"
        " ORDER BY row DESC",
        f->task ? " AND task = ?1" : "", f->verdict ? " AND verdict = ?2" : "",
        f->device ? " AND (device = ?3 OR device_kind = ?3)" : "", all ? "" : "+");
}

int kg_store_list(kg_database *s, const kg_store_filter *f, int (*fn)(const json_t *record, void *ctx), void *ctx,
                  kg_error *err) {
    char *query = list_query(f);
    sqlite3_stmt *q = kg_store_prepare(s, query, 3, (const char *[]){f->task, f->verdict, f->device}, err);
    free(query);
    if (!q) return -1;
    sqlite3_bind_int64(q, 4, f->limit > 0 ? f->limit : -1);
    int rc, stop = 0;
    while (!stop && (rc = sqlite3_step(q)) == SQLITE_ROW) {
        json_t *record = record_of(q);
        if (record) stop = fn(record, ctx);
        json_decref(record);
    }
    if (!stop && rc != SQLITE_DONE) stop = kg_store_fail(s, "reading results", err);
    else stop = 0;
    sqlite3_finalize(q);
    return stop;
}
