/* See sqlite_db.h. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/siphash.h"
#include "daemon/store/sqlite_db.h"

#define QUOTE(x)  #x
#define NUMBER(x) QUOTE(x)

static const char schema_1[] =
    "CREATE TABLE meta(name TEXT PRIMARY KEY, body BLOB NOT NULL) WITHOUT ROWID;"
    "CREATE TABLE content(id INTEGER PRIMARY KEY, body BLOB NOT NULL);"
    "CREATE TABLE job(id INTEGER PRIMARY KEY, body BLOB NOT NULL);"
    "CREATE TABLE event(job INTEGER, item INTEGER, seq INTEGER, body BLOB NOT NULL,"
    " PRIMARY KEY(job, item, seq)) WITHOUT ROWID;"
    "CREATE TABLE ended(id INTEGER PRIMARY KEY, at INTEGER NOT NULL);"
    "PRAGMA application_id=" NUMBER(DB_APPLICATION_ID) ";";

/* Adds on_lost to specs: a tag that earlier versions do not know. */
static const char schema_2[] = "";

/* Adds outputs to the store, and limits of output: a tag, an event, a result. */
static const char schema_3[] =
    "CREATE TABLE output(job INTEGER, item INTEGER, stream INTEGER, body BLOB NOT NULL,"
    " PRIMARY KEY(job, item, stream)) WITHOUT ROWID;";

/* Adds numbers of news. Older rows have 0, and keep their checksums. */
static const char schema_4[] =
    "ALTER TABLE job ADD COLUMN seq INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE ended ADD COLUMN seq INTEGER NOT NULL DEFAULT 0";

/* Adds replace to specs: a tag. */
static const char schema_5[] = "";

/* Adds to ends which output the store has. */
static const char schema_6[] = "";

/* Adds the highest id to the sums. */
static const char schema_7[] = "";

/* Adds to ends which output is a file. */
static const char schema_8[] = "";

/* Adds resource limits to specs: a tag. */
static const char schema_9[] = "";

/* Adds to specs a file for standard error, and files to be truncated: two tags. */
static const char schema_10[] = "";

/* Adds standard input to specs: a tag. */
static const char schema_11[] = "";

/* Adds arrays that leave indexes out: a tag. */
static const char schema_12[] = "";

/* Adds limits of arrays, and claims of locks and semaphores: three tags. */
static const char schema_13[] = "";

/* Adds resources: sizes of semaphores that were set by hand. */
static const char schema_14[] =
    "CREATE TABLE resource(owner INTEGER, name TEXT, body BLOB NOT NULL,"
    " PRIMARY KEY(owner, name)) WITHOUT ROWID;";

/* Adds rates: a mode of claims, and resources. */
static const char schema_15[] = "";

/* Adds the start times of survivors to ends. */
static const char schema_16[] = "";

/* Adds jobs that wait for others: two tags, two types of events, a result. */
static const char schema_17[] = "";

/* Adds queues that were set by hand to resources. */
static const char schema_18[] = "";

/* Adds retries: seven tags, and fields of ends. */
static const char schema_19[] = "";

/* Adds a queue's time limit beside the job's own: a tag. */
static const char schema_20[] = "";

/* Adds pauses: two types of events. */
static const char schema_21[] = "";

/* Adds edits of waiting jobs: a type of events. */
static const char schema_22[] = "";

/* Adds to STARTING the summary of earlier attempts, whose events are then deleted. */
static const char schema_23[] = "";

/* Adds elements that wait for those of another array: a tag, and ends of these. */
static const char schema_24[] = "";

/* Adds the keys by which antecedents were named: a tag. */
static const char schema_25[] = "";

/* Adds users and groups to queues that were set by hand: numbers. */
static const char schema_26[] = "";

/* Adds antecedents to edits. */
static const char schema_27[] = "";

/* Adds a column for the owner of ended jobs, which was only in their bodies. */
static const char schema_28[] =
    "ALTER TABLE ended ADD COLUMN uid INTEGER NOT NULL DEFAULT -1;"
    "UPDATE ended SET uid=volt_owner((SELECT body FROM job WHERE job.id=ended.id));"
    "CREATE INDEX ended_of ON ended(uid);";

/* Adds keys that outlive their jobs. */
static const char schema_29[] =
    "CREATE TABLE key(id INTEGER PRIMARY KEY, uid INTEGER NOT NULL, at INTEGER NOT NULL,"
    " body BLOB NOT NULL);"
    "CREATE INDEX key_of ON key(uid);";

/* Migration from each version to the next; [0] makes a store. */
static const char *const migrations[DB_VERSION] = {
    schema_1,  schema_2,  schema_3,  schema_4,  schema_5,  schema_6,
    schema_7,  schema_8,  schema_9,  schema_10, schema_11, schema_12,
    schema_13, schema_14, schema_15, schema_16, schema_17, schema_18,
    schema_19, schema_20, schema_21, schema_22, schema_23, schema_24,
    schema_25, schema_26, schema_27, schema_28, schema_29};

static const char *const sql[DB_STATEMENTS] = {
    [DB_BEGIN] = "BEGIN IMMEDIATE",
    [DB_COMMIT] = "COMMIT",
    [DB_ROLLBACK] = "ROLLBACK",
    [DB_META_GET] = "SELECT body FROM meta WHERE name=?1",
    [DB_META_PUT] = "INSERT OR REPLACE INTO meta VALUES(?1,?2)",
    [DB_CONTENT_GET] = "SELECT body FROM content WHERE id=?1",
    [DB_CONTENT_PUT] = "INSERT INTO content VALUES(?1,?2)",
    [DB_CONTENT_DROP] = "DELETE FROM content WHERE id=?1",
    [DB_JOB_GET] = "SELECT body,seq FROM job WHERE id=?1",
    [DB_JOB_PUT] = "INSERT INTO job(id,seq,body) VALUES(?1,?2,?3)",
    [DB_JOB_RUN] = "SELECT id,seq,body FROM job WHERE id BETWEEN ?1 AND ?2",
    [DB_JOB_DROP] = "DELETE FROM job WHERE id BETWEEN ?1 AND ?2",
    [DB_EVENT_PUT] = "INSERT INTO event VALUES(?1,?2,?3,?4)",
    [DB_EVENT_RUN] = "SELECT job,item,seq,body FROM event WHERE job BETWEEN ?1 AND ?2",
    [DB_EVENT_DROP] = "DELETE FROM event WHERE job BETWEEN ?1 AND ?2",
    [DB_EVENT_BACK] = "SELECT seq,body FROM event WHERE job=?1 AND item=?2 AND seq<?3"
                      " ORDER BY seq DESC",
    [DB_EVENT_DROP_ONE] = "DELETE FROM event WHERE job=?1 AND item=?2 AND seq=?3",
    [DB_ENDED_PUT] = "INSERT INTO ended(id,at,seq,uid) VALUES(?1,?2,?3,?4)",
    [DB_ENDED_DROP] = "DELETE FROM ended WHERE id BETWEEN ?1 AND ?2",
    [DB_ENDED_OLDEST] =
        "SELECT e.id,at,e.seq,uid,body FROM ended e INDEXED BY ended_of "
        "LEFT JOIN job j ON j.id=e.id WHERE uid=?2 ORDER BY e.id LIMIT ?1",
    [DB_ENDED_GET] =
        "SELECT e.id,at,e.seq,uid,body FROM ended e LEFT JOIN job j ON j.id=e.id "
        "WHERE e.id=?1",
    [DB_OUTPUT_GET] = "SELECT body FROM output WHERE job=?1 AND item=?2 AND stream=?3",
    [DB_OUTPUT_PUT] = "INSERT INTO output VALUES(?1,?2,?3,?4)",
    [DB_OUTPUT_RUN] =
        "SELECT job,item,stream,body FROM output WHERE job BETWEEN ?1 AND ?2",
    [DB_OUTPUT_DROP] = "DELETE FROM output WHERE job BETWEEN ?1 AND ?2",
    [DB_RESOURCE_GET] = "SELECT body FROM resource WHERE owner=?1 AND name=?2",
    [DB_RESOURCE_PUT] = "INSERT OR REPLACE INTO resource VALUES(?1,?2,?3)",
    [DB_RESOURCE_DROP] = "DELETE FROM resource WHERE owner=?1 AND name=?2",
    [DB_KEY_GET] = "SELECT id,uid,at,body FROM key WHERE id=?1",
    [DB_KEY_PUT] = "INSERT INTO key VALUES(?1,?2,?3,?4)",
    [DB_KEY_DROP] = "DELETE FROM key WHERE id=?1",
    [DB_KEY_OLDEST] = "SELECT id,uid,at,body FROM key INDEXED BY key_of WHERE uid=?1 "
                      "ORDER BY id LIMIT ?2",
    [DB_KEPT_DOWN] = "SELECT id FROM ended WHERE id BETWEEN ?1 AND ?2 UNION "
                     "SELECT id FROM key WHERE id BETWEEN ?1 AND ?2 "
                     "ORDER BY id DESC LIMIT ?3",
    [DB_OWN_KEPT_DOWN] = "SELECT id FROM ended INDEXED BY ended_of WHERE uid=?4 AND "
                         "id BETWEEN ?1 AND ?2 UNION "
                         "SELECT id FROM key INDEXED BY key_of WHERE uid=?4 AND "
                         "id BETWEEN ?1 AND ?2 ORDER BY id DESC LIMIT ?3",
    [DB_BEGIN_READ] = "BEGIN",
    [DB_JOB_AT] = "SELECT id,body,seq FROM job WHERE id=?1",
    [DB_HISTORY_UP] =
        "SELECT id FROM ended WHERE id BETWEEN ?1 AND ?2 ORDER BY id LIMIT ?3",
    [DB_HISTORY_DOWN] =
        "SELECT id FROM ended WHERE id BETWEEN ?1 AND ?2 ORDER BY id DESC LIMIT ?3",
    [DB_OWN_HISTORY_UP] = "SELECT id FROM ended INDEXED BY ended_of WHERE uid=?4 AND "
                          "id BETWEEN ?1 AND ?2 ORDER BY id LIMIT ?3",
    [DB_OWN_HISTORY_DOWN] = "SELECT id FROM ended INDEXED BY ended_of WHERE uid=?4 AND "
                            "id BETWEEN ?1 AND ?2 ORDER BY id DESC LIMIT ?3",
    [DB_EVENTS] =
        "SELECT job,item,seq,body FROM event WHERE job=?1 AND (item,seq)>(?2,?3) "
        "AND item<=?4 ORDER BY item,seq LIMIT ?5",
};

/* Returns the first version whose schema has what the statement needs. */
static int since(int statement)
{
    if (statement >= DB_KEY_GET)
        return 29;
    if (statement == DB_ENDED_PUT || statement == DB_ENDED_OLDEST ||
        statement == DB_ENDED_GET || statement == DB_OWN_HISTORY_UP ||
        statement == DB_OWN_HISTORY_DOWN)
        return 28;
    if (statement == DB_JOB_GET || statement == DB_JOB_PUT || statement == DB_JOB_AT ||
        statement == DB_JOB_RUN)
        return 4;
    if (statement >= DB_RESOURCE_GET)
        return 14;
    return statement >= DB_OUTPUT_GET ? 3 : 1;
}

/* --- files ---------------------------------------------------------------------- */

/* Parses "jobs.<n>.db" and returns n and the rest of the name. False: another name. */
static bool parse_name(const char *name, uint64_t *ret_number, const char **ret_rest)
{
    char *end;

    if (strncmp(name, "jobs.", 5) != 0 || name[5] < '1' || name[5] > '9')
        return false;
    errno = 0;
    *ret_number = strtoull(name + 5, &end, 10);
    *ret_rest = end + 3;
    return errno == 0 && strncmp(end, ".db", 3) == 0;
}

int db_newest(const char *dir, uint64_t *ret_number)
{
    DIR *d = opendir(dir);
    uint64_t number;
    const char *rest;

    if (!d)
        return -errno;
    *ret_number = 0;
    for (struct dirent *e; (e = readdir(d));)
        if (parse_name(e->d_name, &number, &rest) && !*rest && number > *ret_number)
            *ret_number = number;
    closedir(d);
    return 0;
}

int db_path(const char *dir, uint64_t number, const char *suffix, char path[PATH_MAX])
{
    int n = snprintf(path, PATH_MAX, "%s/jobs.%llu.db%s", dir, (unsigned long long)number,
                     suffix);

    return n < PATH_MAX ? 0 : -ENAMETOOLONG;
}

void db_sweep(const char *dir, uint64_t number)
{
    DIR *d = opendir(dir);
    uint64_t other;
    const char *rest;

    if (!d)
        return;
    for (struct dirent *e; (e = readdir(d));)
        if (parse_name(e->d_name, &other, &rest) &&
            (other != number || strncmp(rest, ".new", 4) == 0))
            (void)unlinkat(dirfd(d), e->d_name, 0);
    closedir(d);
}

/* Makes an empty file for SQLite to fill. Only the owner can read it, as it has the
 * environments of jobs. The journal takes over its mode. */
static int make_empty(const char *path)
{
    if (unlink(path) < 0 && errno != ENOENT)
        return -errno;
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return -errno;
    close(fd);
    return 0;
}

static int sync_path(const char *path, int flags)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | flags);
    int r = 0;

    if (fd < 0)
        return -errno;
    if (fsync(fd) < 0)
        r = -errno;
    close(fd);
    return r;
}

/* Gives the complete file at `from` its name; afterwards both are on disk. */
static int publish(const char *dir, const char *from, const char *to)
{
    int r = sync_path(from, 0);

    if (r == 0 && rename(from, to) < 0)
        r = -errno;
    return r < 0 ? r : sync_path(dir, O_DIRECTORY);
}

/* --- errors --------------------------------------------------------------------- */

bool db_is_full(struct db *db, int rc)
{
    int error = db->handle ? sqlite3_system_errno(db->handle) : 0;

    return (rc & 0xff) == SQLITE_FULL ||
           ((rc & 0xff) == SQLITE_IOERR && (error == ENOSPC || error == EDQUOT));
}

/* Returns the errno of a file that could not be opened, which SQLite's text does not say;
 * 0: unknown. */
static int open_errno(struct db *db, int rc)
{
    if (rc == SQLITE_CANTOPEN_SYMLINK)
        return ELOOP;
    return (rc & 0xff) == SQLITE_CANTOPEN && db->handle ? sqlite3_system_errno(db->handle)
                                                        : 0;
}

int db_errno(struct db *db, int rc)
{
    const int error = open_errno(db, rc);

    if (error) /* ENOENT means a missing row to callers */
        return error == ENOENT ? -EIO : -error;
    switch (rc & 0xff) {
    case SQLITE_OK:
    case SQLITE_DONE:
    case SQLITE_ROW:
        return 0;
    case SQLITE_NOMEM:
        return -ENOMEM;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_FORMAT:
    case SQLITE_ERROR: /* a missing table */
        return -EBADMSG;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return -EBUSY;
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
    case SQLITE_AUTH:
    case SQLITE_READONLY:
        return -EACCES;
    default:
        return db_is_full(db, rc) ? -ENOSPC : -EIO;
    }
}

const char *db_text(struct db *db, int rc)
{
    const int error = open_errno(db, rc);

    if (rc == SQLITE_READONLY_DBMOVED)
        return "its file has been removed";
    return error ? strerror(error) : sqlite3_errstr(rc);
}

bool db_needs_restart(int rc)
{
    switch (rc & 0xff) {
    case SQLITE_IOERR:
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_CANTOPEN:
    case SQLITE_READONLY:
    case SQLITE_PROTOCOL:
        return true;
    default:
        return false;
    }
}

int db_error(struct db *db, int rc, const char *what, struct volt_error *err)
{
    const char *text =
        db->handle && !open_errno(db, rc) ? sqlite3_errmsg(db->handle) : db_text(db, rc);
    int r = db_errno(db, rc);

    return error_set(err, r, "%s: %.150s", what,
                     r == -ENOSPC ? "the disk is full" : text);
}

int db_run(sqlite3_stmt *st)
{
    int rc = sqlite3_step(st);

    (void)sqlite3_reset(st);
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

/* --- opening -------------------------------------------------------------------- */

static int pragma_number(struct db *db, const char *pragma, int64_t *ret)
{
    sqlite3_stmt *st = NULL;
    int rc = sqlite3_prepare_v2(db->handle, pragma, -1, &st, NULL);

    if (rc == SQLITE_OK)
        rc = sqlite3_step(st);
    if (rc == SQLITE_ROW)
        *ret = sqlite3_column_int64(st, 0);
    (void)sqlite3_finalize(st);
    return rc == SQLITE_ROW ? SQLITE_OK : rc == SQLITE_DONE ? SQLITE_CORRUPT : rc;
}

static int prove_version(struct db *db, const char *path, struct volt_error *err)
{
    int64_t version = 0, id = 0;
    int rc = pragma_number(db, "PRAGMA user_version", &version);

    if (rc == SQLITE_OK)
        rc = pragma_number(db, "PRAGMA application_id", &id);
    if (rc != SQLITE_OK)
        return db_error(db, rc, path, err);
    if (id != DB_APPLICATION_ID || version < 1)
        return error_set(err, -EBADMSG, "%.180s is damaged, or no store of voltd's",
                         path);
    if (version > DB_VERSION)
        return error_set(
            err, -EPROTO,
            "%.120s was written by a newer voltd (format %lld, this one knows "
            "%d): start that one",
            path, (long long)version, DB_VERSION);
    db->version = db->found = (int)version;
    return 0;
}

/* volt_owner(BODY): returns the owner of a job from the body of its row; -1: the row is
 * missing or damaged, which the load finds. */
static void owner_of_body(sqlite3_context *context, int n, sqlite3_value **value)
{
    struct unpack u =
        unpack_of(sqlite3_value_blob(value[0]), (size_t)sqlite3_value_bytes(value[0]));
    const uint64_t uid = unpack_number_max(&u, UINT32_MAX);

    (void)n;
    sqlite3_result_int64(context, u.failed ? -1 : (int64_t)uid);
}

/* Migrates in one transaction: afterwards the file has the latest version, or still the
 * old one. A single transaction also waits for the disk only once. */
static int migrate(struct db *db)
{
    static const char done[] = "PRAGMA user_version=" NUMBER(DB_VERSION) "; COMMIT";

    if (db->version == DB_VERSION)
        return SQLITE_OK;
    int rc = sqlite3_create_function(db->handle, "volt_owner", 1, SQLITE_UTF8, NULL,
                                     owner_of_body, NULL, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_exec(db->handle, "BEGIN IMMEDIATE", NULL, NULL, NULL);
    for (int v = db->version; rc == SQLITE_OK && v < DB_VERSION; v++)
        rc = sqlite3_exec(db->handle, migrations[v], NULL, NULL, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_exec(db->handle, done, NULL, NULL, NULL);
    db->version = DB_VERSION;
    return rc;
}

static int prepare(struct db *db)
{
    int rc = SQLITE_OK;

    for (int i = 0; rc == SQLITE_OK && i < DB_STATEMENTS; i++)
        if (since(i) <= db->version)
            rc = sqlite3_prepare_v3(db->handle, sql[i], -1, SQLITE_PREPARE_PERSISTENT,
                                    &db->statement[i], NULL);
    return rc;
}

/* sqlite3_exec() ignores the row that journal_mode returns. The cache is small: rows are
 * written in order of ids, and memory has the live jobs. */
static const char writing[] = "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;"
                              "PRAGMA wal_autocheckpoint=0; PRAGMA cache_size=-1024;"
                              "PRAGMA temp_store=MEMORY; PRAGMA foreign_keys=OFF";

/* Switches off the count of allocations, which costs the writer a lock each. */
static void configure(void)
{
    (void)sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
}

static void configure_once(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    (void)pthread_once(&once, configure);
}

/* Proves that the file at path, and those that SQLite opens beside it, are regular if
 * they exist: SQLite would wait for the other end of a FIFO. The files are not opened for
 * that, as closing a file drops all locks that SQLite has on it in this process. */
static int prove_files(const char *path, struct volt_error *err)
{
    static const char *const suffixes[] = {"", "-wal", "-shm", "-journal"};
    char name[PATH_MAX];
    struct stat st;

    for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
        if (snprintf(name, PATH_MAX, "%s%s", path, suffixes[i]) >= PATH_MAX)
            return error_set(err, -ENAMETOOLONG, "the path of the store is too long");
        int r = lstat(name, &st) < 0  ? -errno
                : S_ISLNK(st.st_mode) ? -ELOOP
                : S_ISDIR(st.st_mode) ? -EISDIR
                : S_ISREG(st.st_mode) ? 0
                                      : -FILE_NOT_REGULAR;
        if (r < 0 && r != -ENOENT)
            return error_set(err, r, "%.180s: %s", name, file_text(r));
    }
    return 0;
}

/* Makes the connection leave no trace. Exclusive mode, set before the first read, keeps
 * the journal's index in memory. An existing journal stays as it is. If there is none,
 * SQLite makes an empty one and removes it at the end of the connection. */
static int leave_no_trace(struct db *db, const char *path)
{
    char journal[PATH_MAX];

    if (snprintf(journal, sizeof(journal), "%s-wal", path) < PATH_MAX &&
        access(journal, F_OK) == 0)
        (void)sqlite3_db_config(db->handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    return sqlite3_exec(db->handle, "PRAGMA locking_mode=EXCLUSIVE", NULL, NULL, NULL);
}

/* Syncs the directory. If the file was not in WAL mode before, SQLite has removed a
 * journal of another kind. A power cut could bring that back, and undo with it what was
 * written since. */
static int sync_removal(const char *path, struct volt_error *err)
{
    char dir[PATH_MAX];

    (void)snprintf(dir, sizeof(dir), "%s", path);
    strrchr(dir, '/')[1] = '\0';
    int r = sync_path(dir, O_DIRECTORY);
    return r < 0 ? error_set(err, r, "%.180s: %s", dir, strerror(-r)) : 0;
}

int db_open(struct db *db, const char *path, enum db_mode mode, struct volt_error *err)
{
    int flags = (mode == DB_READ ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE) |
                SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_EXRESCODE;
    int r = prove_files(path, err);

    *db = (struct db){0};
    if (r < 0)
        return r;
    configure_once();
    int rc = sqlite3_open_v2(path, &db->handle, flags, NULL);
    if (rc == SQLITE_OK && mode == DB_LOOK)
        rc = leave_no_trace(db, path);
    if (rc == SQLITE_OK)
        r = prove_version(db, path, err);
    if (rc == SQLITE_OK && r == 0 && mode == DB_WRITE) {
        rc = sqlite3_exec(db->handle, writing, NULL, NULL, NULL);
        if (rc == SQLITE_OK)
            r = sync_removal(path, err);
        if (rc == SQLITE_OK && r == 0)
            rc = migrate(db);
    }
    if (rc == SQLITE_OK && r == 0)
        rc = prepare(db);
    if (rc != SQLITE_OK)
        r = db_error(db, rc, path, err);
    if (r < 0)
        db_close(db);
    return r;
}

void db_close(struct db *db)
{
    for (int i = 0; i < DB_STATEMENTS; i++)
        (void)sqlite3_finalize(db->statement[i]);
    (void)sqlite3_close(db->handle);
    *db = (struct db){0};
}

/* --- meta ----------------------------------------------------------------------- */

static struct row_key meta_key(const char *name)
{
    struct row_key key = {.table = ROW_META};

    memcpy(&key.a, name, strnlen(name, sizeof(key.a)));
    return key;
}

int db_meta_get(struct db *db, const char *name, struct pack *p)
{
    sqlite3_stmt *st = db->statement[DB_META_GET];
    struct row_key key = meta_key(name);
    size_t payload;
    int r = 0;

    (void)sqlite3_bind_text(st, 1, name, -1, SQLITE_STATIC);
    int rc = sqlite3_step(st);
    if (rc == SQLITE_ROW) {
        const void *body = sqlite3_column_blob(st, 0);
        size_t n = (size_t)sqlite3_column_bytes(st, 0);

        if (row_open(body, n, &key, &payload))
            pack_raw(p, body, payload);
        else
            r = -EBADMSG;
    } else {
        r = rc == SQLITE_DONE ? -ENOENT : db_errno(db, rc);
    }
    (void)sqlite3_reset(st);
    return r == 0 && p->failed ? -ENOMEM : r;
}

int db_meta_put(struct db *db, const char *name, struct pack *payload)
{
    sqlite3_stmt *st = db->statement[DB_META_PUT];
    struct row_key key = meta_key(name);

    row_seal(payload, 0, &key);
    if (payload->failed)
        return SQLITE_NOMEM;
    (void)sqlite3_bind_text(st, 1, name, -1, SQLITE_STATIC);
    (void)sqlite3_bind_blob(st, 2, payload->bytes, (int)payload->n, SQLITE_STATIC);
    return db_run(st);
}

void db_life_pack(const struct db_life *l, struct pack *p)
{
    pack_number(p, l->number);
    pack_number(p, l->seed);
    pack_raw(p, l->boot_id, STORE_ID_SIZE);
    pack_raw(p, l->generation, STORE_ID_SIZE);
}

bool db_life_unpack(struct db_life *l, const struct pack *p)
{
    struct unpack u = unpack_of(p->bytes, p->n);

    l->number = unpack_number(&u);
    l->seed = unpack_number(&u);
    const uint8_t *boot = unpack_raw(&u, STORE_ID_SIZE);
    const uint8_t *generation = unpack_raw(&u, STORE_ID_SIZE);
    if (u.failed || u.at != u.end)
        return false;
    memcpy(l->boot_id, boot, STORE_ID_SIZE);
    memcpy(l->generation, generation, STORE_ID_SIZE);
    return true;
}

int db_self_get(struct db *db, struct witness *ret)
{
    struct pack p = {0};
    int r = db_meta_get(db, "store", &p);

    *ret = (struct witness){0};
    if (r == 0) {
        struct unpack u = unpack_of(p.bytes, p.n);
        const uint8_t *id = unpack_raw(&u, WITNESS_ID_SIZE);
        const uint64_t starts = unpack_number(&u);

        if (u.failed || u.at != u.end) {
            r = -EBADMSG;
        } else {
            memcpy(ret->id, id, WITNESS_ID_SIZE);
            ret->starts = starts;
        }
    }
    pack_fini(&p);
    return r == -ENOENT ? 0 : r;
}

int db_self_put(struct db *db, const struct witness *w)
{
    struct pack p = {0};

    pack_raw(&p, w->id, WITNESS_ID_SIZE);
    pack_number(&p, w->starts);
    int rc = db_meta_put(db, "store", &p);
    pack_fini(&p);
    return rc;
}

/* --- new files ------------------------------------------------------------------ */

static uint64_t now_usec(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_REALTIME, &ts);
    return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
}

/* Writes the first sums, and a life number that no start has used. Numbers of news begin
 * with the time, so that two stores never share numbers. */
static int fill(struct db *db)
{
    struct row_sums sums = {.first = now_usec()};
    struct siphash_key secret;
    struct db_life life = {0};
    struct pack p = {0}, q = {0};

    if (siphash_key_random(&secret) < 0)
        return SQLITE_ERROR;
    life.seed = secret.k0;
    sums.seq = sums.first + 1;
    row_sums_pack(&sums, &p);
    db_life_pack(&life, &q);
    int rc = db_run(db->statement[DB_BEGIN]);
    if (rc == SQLITE_OK)
        rc = db_meta_put(db, "sums", &p);
    if (rc == SQLITE_OK)
        rc = db_meta_put(db, "life", &q);
    if (rc == SQLITE_OK)
        rc = db_run(db->statement[DB_COMMIT]);
    pack_fini(&p);
    pack_fini(&q);
    return rc;
}

int db_create(const char *dir, uint64_t number, struct volt_error *err)
{
    char path[PATH_MAX], made[PATH_MAX];
    struct db db = {0};
    int r = db_path(dir, number, "", path), rc;

    if (r == 0)
        r = db_path(dir, number, ".new", made);
    if (r < 0)
        return error_set(err, r, "the path of the store is too long");
    configure_once();
    r = make_empty(made);
    if (r < 0)
        return error_set(err, r, "%.180s: %s", made, strerror(-r));
    rc = sqlite3_open_v2(made, &db.handle, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOFOLLOW,
                         NULL);
    if (rc == SQLITE_OK)
        rc = migrate(&db);
    if (rc == SQLITE_OK)
        rc = prepare(&db);
    if (rc == SQLITE_OK)
        rc = fill(&db);
    if (rc != SQLITE_OK)
        r = db_error(&db, rc, made, err);
    db_close(&db);
    if (r == 0) {
        r = publish(dir, made, path);
        if (r < 0)
            (void)error_set(err, r, "%.180s: %s", path, strerror(-r));
    }
    return r;
}
