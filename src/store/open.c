// Opening the database: its place, its folder, its schema, and why it may be unusable.
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "store/internal.h"

// Marks the file as ours (SQLite's application_id): "kgat".
#define APPLICATION_ID 0x6b676174
enum { BUSY_MS = 20000 };
#define TEXT2(x) #x
#define TEXT(x)  TEXT2(x)

static const char schema[] =
    "CREATE TABLE runs(id INTEGER PRIMARY KEY, command TEXT, settings TEXT NOT NULL, started TEXT NOT NULL,"
    " finished TEXT);"
    "CREATE TABLE results(row INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, run INTEGER NOT NULL REFERENCES runs(id),"
    " started TEXT, task TEXT, verdict TEXT, class TEXT, device TEXT, device_kind TEXT, lre REAL, util REAL,"
    " path TEXT, sha256 TEXT, record TEXT NOT NULL);"
    "CREATE INDEX results_by_candidate ON results(run, path, sha256);"
    "CREATE INDEX results_by_task ON results(task, verdict);"
    "CREATE TABLE ceilings(device TEXT NOT NULL, driver TEXT NOT NULL, measured TEXT NOT NULL, json TEXT NOT NULL,"
    " PRIMARY KEY(device, driver));"
    "PRAGMA application_id=" TEXT(APPLICATION_ID) ";"
    "PRAGMA user_version=" TEXT(KG_STORE_SCHEMA) ";";

// What lists choose by, in one index, so that a list does not read the records that it does not show. Not in `schema`:
// databases of that version are without it, and it may be added to them, as it is no part of what is stored.
static const char list_index[] =
    "CREATE INDEX IF NOT EXISTS results_listed ON results(task, verdict, device_kind, device)";

char *kg_store_default_path(void) {
    const char *db = getenv("KGATE_DB"), *data = getenv("XDG_DATA_HOME"), *home = getenv("HOME");
    if (db && *db) return kg_strdup(db);
    if (data && *data) return kg_format("%s/kgate/kgate.db", data);
    return kg_format("%s/.local/share/kgate/kgate.db", home && *home ? home : "/tmp");
}

char *kg_store_now(void) {
    struct timespec t;
    struct tm tm;
    clock_gettime(CLOCK_REALTIME, &t);
    gmtime_r(&t.tv_sec, &tm);
    return kg_format("%04d-%02d-%02dT%02d:%02d:%02dZ", tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday, tm.tm_hour,
                     tm.tm_min, tm.tm_sec);
}

int kg_store_fail(kg_database *s, const char *doing, kg_error *err) {
    int code = sqlite3_errcode(s->db);
    const char *what = sqlite3_errmsg(s->db), *todo = "choose another with --db FILE, or --no-db";
    if (code == SQLITE_NOTADB) what = "this file is not a database";
    if (code == SQLITE_BUSY)
        what = "another program keeps it locked", todo = "end that program or use another --db FILE";
    if (code == SQLITE_FULL) what = "the disk is full", todo = "free some space";
    if (code == SQLITE_CORRUPT) what = "the database is damaged", todo = "move it away or use another --db FILE";
    if (code == SQLITE_READONLY) what = "it cannot be written";
    return kg_fail(err, KG_ERR_CANNOT, "database %s: %s (%s): %s", s->path, what, doing, todo);
}

int kg_store_exec(kg_database *s, const char *sql, const char *doing, kg_error *err) {
    return sqlite3_exec(s->db, sql, NULL, NULL, NULL) == SQLITE_OK ? 0 : kg_store_fail(s, doing, err);
}

sqlite3_stmt *kg_store_prepare(kg_database *s, const char *sql, size_t n, const char *const *text, kg_error *err) {
    sqlite3_stmt *q = NULL;
    if (sqlite3_prepare_v2(s->db, sql, -1, &q, NULL) != SQLITE_OK) {
        kg_store_fail(s, "preparing a query", err);
        return NULL;
    }
    for (size_t i = 0; i < n; i++)
        if (text[i]) sqlite3_bind_text(q, (int)i + 1, text[i], -1, SQLITE_TRANSIENT);
    return q;
}

static bool is_folder(const char *path) {
    struct stat st;
    if (stat(path, &st)) return false;
    errno = ENOTDIR;
    return S_ISDIR(st.st_mode);
}

static int make_folders(const char *path, kg_error *err) {
    char *p = kg_strdup(path);
    int result = 0;
    for (char *slash = strchr(p + 1, '/'); slash && !result; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        if (mkdir(p, 0777) && (errno != EEXIST || !is_folder(p)))
            result =
                kg_fail(err, KG_ERR_CANNOT, "database %s: folder %s cannot be made: %s: choose another with --db FILE",
                        path, p, strerror(errno));
        *slash = '/';
    }
    free(p);
    return result;
}

static int pragma(kg_database *s, const char *sql, int64_t *value, kg_error *err) {
    sqlite3_stmt *q = kg_store_prepare(s, sql, 0, NULL, err);
    if (!q) return -1;
    int rc = sqlite3_step(q);
    if (rc == SQLITE_ROW) *value = sqlite3_column_int64(q, 0);
    sqlite3_finalize(q);
    return rc == SQLITE_ROW ? 0 : kg_store_fail(s, "reading it", err);
}

static int check_schema(kg_database *s, int64_t *version, kg_error *err) {
    int64_t app = 0, tables = 0;
    if (pragma(s, "PRAGMA user_version", version, err) || pragma(s, "PRAGMA application_id", &app, err) ||
        pragma(s, "SELECT count(*) FROM sqlite_master", &tables, err))
        return -1;
    if (app != APPLICATION_ID && (tables || app || *version))
        return kg_fail(err, KG_ERR_CANNOT, "database %s: made by another program: choose another with --db FILE",
                       s->path);
    if (*version > KG_STORE_SCHEMA)
        return kg_fail(
            err, KG_ERR_CANNOT,
            "database %s: schema %lld is newer than this kgate knows (%d): update kgate or use another --db FILE",
            s->path, (long long)*version, KG_STORE_SCHEMA);
    return 0;
}

// One transaction, so that the three readings are of one moment: another process may be making the schema.
static int look_at_schema(kg_database *s, int64_t *version, kg_error *err) {
    if (kg_store_exec(s, "BEGIN", "reading it", err)) return -1;
    int failed = check_schema(s, version, err);
    sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
    return failed;
}

// Two processes may open a new database at once: the second finds the schema made when it gets the lock.
static int create_schema(kg_database *s, kg_error *err) {
    int64_t version = 0;
    if (kg_store_exec(s, "BEGIN IMMEDIATE", "making its tables", err)) return -1;
    if (check_schema(s, &version, err) || (!version && kg_store_exec(s, schema, "making its tables", err))) {
        sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
        return -1;
    }
    return kg_store_exec(s, "COMMIT", "making its tables", err);
}

// Changing the journal mode needs the file to itself and does not wait for it: try for as long as a lock would.
static int use_wal(kg_database *s, kg_error *err) {
    for (int waited = 0; sqlite3_exec(s->db, "PRAGMA journal_mode=WAL", NULL, NULL, NULL) != SQLITE_OK; waited += 10) {
        if (sqlite3_errcode(s->db) != SQLITE_BUSY || waited >= BUSY_MS) return kg_store_fail(s, "opening it", err);
        usleep(10000);
    }
    return kg_store_exec(s, "PRAGMA synchronous=FULL; PRAGMA foreign_keys=ON", "opening it", err);
}

static int prepare_file(kg_database *s, bool read_only, kg_error *err) {
    int64_t version = 0;
    sqlite3_busy_timeout(s->db, BUSY_MS);
    if (look_at_schema(s, &version, err)) return -1;
    if (read_only) return version ? 0 : kg_fail(err, KG_ERR_CANNOT, "database %s: holds no results yet", s->path);
    if (sqlite3_db_readonly(s->db, "main"))
        return kg_fail(err, KG_ERR_CANNOT,
                       "database %s: it cannot be written: choose another with --db FILE, or --no-db", s->path);
    if (use_wal(s, err) || (!version && create_schema(s, err))) return -1;
    return kg_store_exec(s, list_index, "adding an index", err);
}

static int open_file(kg_database *s, int flags, kg_error *err) {
    int rc = sqlite3_open_v2(s->path, &s->db, flags | SQLITE_OPEN_NOMUTEX, NULL);
    if (rc == SQLITE_OK) return 0;
    return kg_fail(err, KG_ERR_CANNOT, "database %s: %s: choose another with --db FILE, or --no-db", s->path,
                   s->db ? sqlite3_errmsg(s->db) : "out of memory");
}

// Even reading a database in WAL mode makes two files beside it (https://www.sqlite.org/wal.html#read_only_databases).
static bool needs_files_beside(kg_database *s) {
    if (sqlite3_exec(s->db, "SELECT 1 FROM sqlite_master", NULL, NULL, NULL) == SQLITE_OK) return false;
    int code = sqlite3_errcode(s->db);
    return code == SQLITE_CANTOPEN || code == SQLITE_READONLY;
}

static bool log_is_empty(const char *path) {
    struct stat st;
    char *log = kg_format("%s-wal", path);
    bool empty = stat(log, &st) ? errno == ENOENT : !st.st_size;
    free(log);
    return empty;
}

// The path as a URI names it (https://www.sqlite.org/uri.html); owned by the caller.
static char *immutable_uri(const char *path) {
    kg_text t = {0};
    kg_text_add(&t, "file:");
    for (const char *p = path; *p; p++) kg_text_add(&t, strchr("%?#", *p) ? "%%%02X" : "%c", (unsigned char)*p);
    kg_text_add(&t, "?immutable=1");
    return t.data;
}

// Where those files cannot be made nobody here writes, and the file alone is the whole once its log is empty.
static int open_immutable(kg_database *s, kg_error *err) {
    if (!log_is_empty(s->path))
        return kg_fail(
            err, KG_ERR_CANNOT,
            "database %s: its newest results are in %s-wal, which a folder that cannot be written keeps from "
            "being read: copy both files to another folder and use --db FILE",
            s->path, s->path);
    char *path = s->path;
    sqlite3_close_v2(s->db);
    s->db = NULL;
    s->path = immutable_uri(path);
    int result = open_file(s, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, err);
    free(s->path);
    s->path = path;
    return result;
}

int kg_store_open(const char *path, bool read_only, kg_database **out, kg_error *err) {
    struct stat st;
    bool there = !stat(path, &st);
    if (there && !S_ISREG(st.st_mode))
        return kg_fail(err, KG_ERR_CANNOT, "database %s: not a file: choose another with --db FILE", path);
    if (!there && read_only && errno != ENOENT)
        return kg_fail(err, KG_ERR_CANNOT, "database %s: %s: choose another with --db FILE", path, strerror(errno));
    if (!there && read_only)
        return kg_fail(err, KG_ERR_CANNOT, "database %s: no such file: nothing was stored there yet", path);
    if (!there && make_folders(path, err)) return -1;
    kg_database *s = kg_alloc(sizeof *s);
    s->path = kg_strdup(path);
    int result = open_file(s, read_only ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, err);
    if (!result && read_only && needs_files_beside(s)) result = open_immutable(s, err);
    if (result || prepare_file(s, read_only, err)) {
        kg_store_close(s);
        return -1;
    }
    *out = s;
    return 0;
}

void kg_store_close(kg_database *s) {
    if (!s) return;
    sqlite3_close_v2(s->db);
    free(s->path);
    free(s);
}
