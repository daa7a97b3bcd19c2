/* One connection to a store's file: opening, schema, statements, meta. */
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
    DB_JOB_RUN,  /* of ids from one to another: all rows */
    DB_JOB_DROP, /* the same; so are the other _RUN and _DROP */
    DB_EVENT_PUT,
    DB_EVENT_RUN,
    DB_EVENT_DROP,
    DB_EVENT_BACK, /* of a job and an item before a seq, the latest first */
    DB_EVENT_DROP_ONE,
    DB_ENDED_PUT,
    DB_ENDED_DROP,
    DB_ENDED_OLDEST, /* of an owner */
    DB_ENDED_GET,
    DB_BEGIN_READ,
    DB_JOB_AT,     /* id and body */
    DB_HISTORY_UP, /* ids of ended jobs in a range */
    DB_HISTORY_DOWN,
    DB_OWN_HISTORY_UP, /* of these an owner's */
    DB_OWN_HISTORY_DOWN,
    DB_EVENTS, /* of a job, behind an item and seq */
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
    DB_KEPT_DOWN,  /* as DB_HISTORY_DOWN, with jobs of which the key alone is left */
    DB_OWN_KEPT_DOWN,
    DB_STATEMENTS,
};

struct db {
    sqlite3 *handle;
    int version; /* of the file: less than DB_VERSION only when it is opened to read */
    int found;   /* the version that it had when it was opened */
    sqlite3_stmt *statement[DB_STATEMENTS];
};

/* The life of the daemon as the store knows it: boot and record directory. */
struct db_life {
    uint64_t number, seed;
    uint8_t boot_id[STORE_ID_SIZE], generation[STORE_ID_SIZE];
};

/* Reads what a witness says of the store itself, but for its facts: meta's "store". 0,
 * also of a store that has none yet: all zeros; -EBADMSG; -errno. */
int db_self_get(struct db *db, struct witness *ret);
/* Within a transaction. SQLITE_OK or the error. */
int db_self_put(struct db *db, const struct witness *w);

/* "<dir>/jobs.<n>.db" of the highest n; 0 when there is none. -errno. */
int db_newest(const char *dir, uint64_t *ret_number);
int db_path(const char *dir, uint64_t number, const char *suffix, char path[PATH_MAX]);
/* Removes what is not number's: older stores, one half made. */
void db_sweep(const char *dir, uint64_t number);

/* Makes an empty store: a new file that gets its name when it is complete and on disk. */
int db_create(const char *dir, uint64_t number, struct volt_error *err);
enum db_mode {
    DB_WRITE,
    DB_READ, /* beside one that writes */
    DB_LOOK, /* beside nobody: all files stay as they are, the journal's index too */
};
/* Opens, and proves format and version. 0; -EPROTO: newer; -EBADMSG; -errno. */
int db_open(struct db *db, const char *path, enum db_mode mode, struct volt_error *err);
void db_close(struct db *db);

/* Runs a statement without rows to its end: SQLITE_OK or the error. */
int db_run(sqlite3_stmt *st);
/* What a code of SQLite says; of a file that cannot be opened, the system's own word. */
const char *db_text(struct db *db, int rc);
/* -errno for it; 0: it is no error. */
int db_errno(struct db *db, int rc);
/* -errno for a code of SQLite, with its text. */
int db_error(struct db *db, int rc, const char *what, struct volt_error *err);
bool db_is_full(struct db *db, int rc);
/* Whether the error is one of a file: only a new start knows what is on disk. */
bool db_needs_restart(int rc);

/* Payload of a meta row into p. 0; -ENOENT; -EBADMSG: damaged; -EIO. */
int db_meta_get(struct db *db, const char *name, struct pack *p);
/* Within a transaction. SQLITE_OK or the error. */
int db_meta_put(struct db *db, const char *name, struct pack *payload);
void db_life_pack(const struct db_life *l, struct pack *p);
bool db_life_unpack(struct db_life *l, const struct pack *p);

#endif
