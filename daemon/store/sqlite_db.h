/* A connection to a store's file: opening, schema, statements, meta. */
#ifndef VOLTD_STORE_SQLITE_DB_H
#define VOLTD_STORE_SQLITE_DB_H

#include <limits.h>
#include <sqlite3.h>
#include <volt/error.h>
#include "daemon/store/sqlite_row.h"
#include "daemon/store/store.h"
#include "daemon/store/witness.h"

#define DB_VERSION        29
#define DB_APPLICATION_ID 0x564f4c54 /* "VOLT" */

enum db_statement {
    DB_BEGIN,
    DB_COMMIT,
    DB_ROLLBACK,
    DB_META_GET,
    DB_META_PUT,
    DB_CONTENT_GET,
    DB_CONTENT_PUT,
    DB_CONTENT_DROP,
    DB_JOB_GET,
    DB_JOB_PUT,
    DB_JOB_RUN,  /* all rows in a range of ids */
    DB_JOB_DROP, /* likewise, as the other _RUN and _DROP */
    DB_EVENT_PUT,
    DB_EVENT_RUN,
    DB_EVENT_DROP,
    DB_EVENT_BACK, /* of a job and item, before a seq; newest first */
    DB_EVENT_DROP_ONE,
    DB_ENDED_PUT,
    DB_ENDED_DROP,
    DB_ENDED_OLDEST, /* of an owner */
    DB_ENDED_GET,
    DB_BEGIN_READ,
    DB_JOB_AT,     /* id, body and seq */
    DB_HISTORY_UP, /* ids of ended jobs in a range */
    DB_HISTORY_DOWN,
    DB_OWN_HISTORY_UP, /* likewise, of one owner */
    DB_OWN_HISTORY_DOWN,
    DB_EVENTS, /* of a job, after an item and seq */
    DB_OUTPUT_GET,
    DB_OUTPUT_PUT,
    DB_OUTPUT_RUN,
    DB_OUTPUT_DROP,
    DB_RESOURCE_GET,
    DB_RESOURCE_PUT,
    DB_RESOURCE_DROP,
    DB_KEY_GET,
    DB_KEY_PUT,
    DB_KEY_DROP,
    DB_KEY_OLDEST, /* of an owner */
    DB_KEPT_DOWN,  /* as DB_HISTORY_DOWN, with purged jobs that left a key */
    DB_OWN_KEPT_DOWN,
    DB_STATEMENTS,
};

struct db {
    sqlite3 *handle;
    int version; /* of the file; below DB_VERSION only if opened to read */
    int found;   /* of the file before migration */
    sqlite3_stmt *statement[DB_STATEMENTS];
};

/* A life of the daemon: a boot and a record directory. */
struct db_life {
    uint64_t number, seed;
    uint8_t boot_id[STORE_ID_SIZE], generation[STORE_ID_SIZE];
};

/* Reads the id and the starts of the store from meta's "store". Returns 0, with all zeros
 * for a store that has none yet; -EBADMSG: damaged; or -errno. */
int db_self_get(struct db *db, struct witness *ret);
/* Writes the id and the starts. Within a transaction. Returns SQLITE_OK or the error. */
int db_self_put(struct db *db, const struct witness *w);

/* Finds the highest n of "<dir>/jobs.<n>.db"; 0: no such file. Returns 0 or -errno. */
int db_newest(const char *dir, uint64_t *ret_number);
int db_path(const char *dir, uint64_t number, const char *suffix, char path[PATH_MAX]);
/* Removes older stores, and stores that are half made. */
void db_sweep(const char *dir, uint64_t number);

/* Makes an empty store. The new file gets its name when it is complete and on disk.
 * Returns 0 or -errno. */
int db_create(const char *dir, uint64_t number, struct volt_error *err);
enum db_mode {
    DB_WRITE,
    DB_READ, /* beside a connection that writes */
    DB_LOOK, /* alone; leaves all files as they are, also -shm */
};
/* Opens the store, and proves its format and version. Returns:
 *   0
 *   -EPROTO   a newer voltd wrote it
 *   -EBADMSG  damaged, or no store of voltd's
 *   -errno */
int db_open(struct db *db, const char *path, enum db_mode mode, struct volt_error *err);
void db_close(struct db *db);

/* Runs a statement without rows to its end. Returns SQLITE_OK or the error. */
int db_run(sqlite3_stmt *st);
/* Returns the text of SQLite's code; of a file that cannot be opened, the system's text.
 * Static, or valid until the next call of strerror(). */
const char *db_text(struct db *db, int rc);
/* Returns the -errno for SQLite's code; 0: the code is no error. */
int db_errno(struct db *db, int rc);
/* Returns the -errno for SQLite's code, with the text in err. */
int db_error(struct db *db, int rc, const char *what, struct volt_error *err);
bool db_is_full(struct db *db, int rc);
/* Returns whether the error is of file I/O: the state on disk is then unknown until voltd
 * starts again. */
bool db_needs_restart(int rc);

/* Appends the payload of a meta row to p. Returns 0; -ENOENT: no such row; -EBADMSG:
 * damaged; or -errno. */
int db_meta_get(struct db *db, const char *name, struct pack *p);
/* Writes a meta row; seals `payload`. Within a transaction. Returns SQLITE_OK or the
 * error. */
int db_meta_put(struct db *db, const char *name, struct pack *payload);
void db_life_pack(const struct db_life *l, struct pack *p);
bool db_life_unpack(struct db_life *l, const struct pack *p);

#endif
