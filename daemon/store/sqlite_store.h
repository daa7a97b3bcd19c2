/* The state of the SQLite backend, shared by its files. Fields without a note belong to
 * the writer's thread once it runs. */
#ifndef VOLTD_STORE_SQLITE_STORE_H
#define VOLTD_STORE_SQLITE_STORE_H

#include "daemon/job/news.h"
#include "daemon/store/age.h"
#include "daemon/store/blobs.h"
#include "daemon/store/contents.h"
#include "daemon/store/group.h"
#include "daemon/store/owners.h"
#include "daemon/store/sqlite.h"
#include "daemon/store/reader.h"
#include "daemon/store/sqlite_db.h"
#include "daemon/store/sqlite_entry.h"

#define FORGET_SLICE 256 /* jobs that are purged in one transaction */

#define NEWS_MAX 16384 /* of one transaction; older ones are not delivered */

/* News of the running transaction, to be delivered after its commit. News n are at n %
 * capacity. */
struct news_list {
    struct job_news *news;
    uint64_t n; /* all news, also those overwritten */
    size_t capacity;
};

/* A change of a content by the running transaction, to be undone by a rollback. */
struct undo {
    int64_t id;
    int uses;
    bool row; /* its row was inserted or deleted */
};

struct sqlite_store {
    struct store store;
    struct groups groups; /* has its own lock */
    pthread_t writer;
    bool running;
    void (*tell)(const char *text);
    void (*failed)(void);
    char dir[PATH_MAX];
    uint64_t number; /* of the file; never changes after open */
    struct db db;
    struct db_life life;          /* never changes after open */
    pthread_mutex_t self_lock;    /* protects the three fields below */
    struct witness self;          /* the state that is surely on disk */
    bool witnessed;               /* store_witness() was called */
    bool told_witness;            /* its failure was logged */
    pthread_mutex_t witness_lock; /* one witness at a time; held across its I/O */
    uint64_t last_id;             /* as the load found it */
    struct row_sums sums;         /* with the next number of news */
    struct news_list news;
    struct pack cleaned; /* ids of exec jobs that the transaction purges on demand */
    struct store_key *expired; /* keys deleted by the latest slice; FORGET_SLICE */
    store_news_fn *told;       /* never changes after the load */
    void *told_arg;
    struct contents contents;
    struct owners owners;
    struct pack last_content; /* bytes of the content that was used last */
    int64_t last_content_id;
    struct undo *undo;
    size_t nundo, undo_capacity;
    struct pack scratch;
    int wal_pages;
    int wal_room;       /* frames for which the journal has been extended */
    bool full, failing; /* submissions are refused */
    bool given_up;      /* the disk failed: no more writes */
    bool told_forgetting;
    struct age age, key_age; /* for history, for keys */
    uint64_t aged;           /* last check of ages, by CLOCK_BOOTTIME */
    bool aging;              /* a group interrupted the purge by age */
    unsigned last_tries;
    uint64_t *forgotten;            /* jobs purged by the latest slice; FORGET_SLICE */
    uint64_t leaving[FORGET_SLICE]; /* ids of `leaver` that may be purged next, in order:
                                     * no job needed them when asked */
    int nleaving;
    struct owner *leaver;
    pthread_mutex_t read_turn;     /* held only while read_lock is taken, which makes that
                                    * fair */
    vat_u64 most_rows, most_bytes; /* written with read_lock; read by any thread,
                                    * relaxed */
    pthread_mutex_t read_lock;     /* protects the two fields below */
    struct db reader;              /* opened at first use */
    bool reading;
};

static inline struct sqlite_store *sqlite_of(struct store *s)
{
    return (struct sqlite_store *)s;
}

/* sqlite_write.c. The writer's thread, and a function to be called before it starts. */
void *sqlite_writer(void *store);
void sqlite_watch_journal(struct sqlite_store *s);
/* The interfaces of store.h, with the file of each. */
extern const struct store_log_ops sqlite_log;             /* sqlite_log.c */
extern const struct store_reader_ops sqlite_reader;       /* sqlite_read.c */
extern const struct store_blob_ops sqlite_blobs;          /* sqlite_read.c */
extern const struct store_retention_ops sqlite_retention; /* sqlite_forget.c */
int sqlite_load(struct store *store, store_load_fn *fn, void *arg,
                struct volt_error *err); /* sqlite.c */
/* sqlite_log.c. Implements store_forget(): appends an entry, in order with the facts. */
int sqlite_append_forget(struct store *store, const uint64_t *ids, size_t n,
                         struct store_commit *commit);
/* Returns -EBADMSG, with the place in err (a struct volt_error, or NULL). */
int sqlite_damaged(void *err, const char *text);
/* Takes read_lock fairly: a thread that waits gets it before the holder gets it again. */
void sqlite_read_lock(struct sqlite_store *s);
/* sqlite_apply.c. Applies an entry within a transaction. Returns SQLITE_OK or the
 * error. */
int sqlite_apply(struct sqlite_store *s, const struct entry *e);
/* Counts one use less of content id, and deletes the row after the last; 0: no content.
 * Returns SQLITE_OK or the error. */
int sqlite_content_unuse(struct sqlite_store *s, int64_t id);
/* sqlite_key.c. Replaces the key of the job; at_usec 0: deletes it. Returns SQLITE_OK or
 * the error. */
int sqlite_put_key(struct sqlite_store *s, const struct store_key *key);
/* Deletes the owner's keys whose jobs ended before before_usec, oldest first, at most
 * FORGET_SLICE. Notes them in `expired`, and their number in *ret_n. Returns SQLITE_OK or
 * the error. */
int sqlite_expire_keys(struct sqlite_store *s, const struct owner *owner,
                       uint64_t before_usec, int *ret_n);
/* Reads the key at which the statement stands: (id, uid, at, body). Returns whether it is
 * valid. */
bool sqlite_key_row(sqlite3_stmt *st, struct store_key *ret, struct row_key *ret_at);
/* sqlite_forget.c. Notes in `leaving` the owner's oldest ended jobs that exceed
 * keep->jobs or ended before before_usec, up to the first job that is needed. Returns
 * SQLITE_OK or the error. */
int sqlite_choose_leaving(struct sqlite_store *s, const struct store_retention *keep,
                          uint64_t before_usec, struct owner *owner);
/* Deletes the jobs in `leaving` that still exceed `keep` or ended before before_usec,
 * with all their rows. Notes in `forgotten` the ids of exec jobs, 0 for others; *ret_n:
 * their number. Returns SQLITE_OK or the error. */
int sqlite_forget(struct sqlite_store *s, uint64_t keep, uint64_t before_usec,
                  int *ret_n);
/* Purges an ended job on demand, and notes an exec job in `cleaned`. Leaves other
 * jobs. */
int sqlite_forget_one(struct sqlite_store *s, int64_t id);
/* Refuses submissions until there is room, logs that, and releases the reserve. Called
 * before the writer starts, or by it. */
void sqlite_become_full(struct sqlite_store *s);
/* Delivers the news of a commit, and the ids of `cleaned`. */
void sqlite_tell(struct sqlite_store *s);
/* Writes the sums. Within a transaction, before its commit. Returns SQLITE_OK or the
 * error. */
int sqlite_save_sums(struct sqlite_store *s);
/* Settle what the transaction changed in memory, after its commit or its rollback.
 * before: the sums when the transaction began. */
void sqlite_committed(struct sqlite_store *s);
void sqlite_rolled_back(struct sqlite_store *s, const struct row_sums *before);

#endif
