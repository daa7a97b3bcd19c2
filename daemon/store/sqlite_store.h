/* Inside the SQLite backend: what its files share. Fields without a note belong to the
 * writer's thread once it runs. */
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

#define FORGET_SLICE 256 /* jobs that go in one transaction */

#define NEWS_MAX 16384 /* of one transaction; those before them go untold */

/* What the running transaction will have told. News n are at n % capacity. */
struct news_list {
    struct job_news *news;
    uint64_t n; /* all of them */
    size_t capacity;
};

/* What the running transaction did to the contents, to be taken back. */
struct undo {
    int64_t id;
    int uses;
    bool row; /* was inserted or deleted */
};

struct sqlite_store {
    struct store store;
    struct groups groups; /* its own lock */
    pthread_t writer;
    bool running;
    void (*tell)(const char *text);
    void (*failed)(void);
    char dir[PATH_MAX];
    uint64_t number; /* of the file; never changes once it is open */
    struct db db;
    struct db_life life;          /* never changes once it is open */
    pthread_mutex_t self_lock;    /* protects the three below */
    struct witness self;          /* what is on disk for sure */
    bool witnessed;               /* store_witness() has been called */
    bool told_witness;            /* that it could not be written */
    pthread_mutex_t witness_lock; /* one witness at a time; held across its I/O */
    uint64_t last_id;             /* as loaded */
    struct row_sums sums;         /* and the next number of news */
    struct news_list news;
    struct pack cleaned; /* ids of processes that the transaction forgets on demand */
    struct store_key *expired; /* by the latest slice; FORGET_SLICE of them */
    store_news_fn *told;       /* never changes once it is loaded */
    void *told_arg;
    struct contents contents;
    struct owners owners;
    struct pack last_content; /* bytes of the content used last, and its id */
    int64_t last_content_id;
    struct undo *undo;
    size_t nundo, undo_capacity;
    struct pack scratch;
    int wal_pages;
    int wal_room;       /* frames for which the journal is written ahead */
    bool full, failing; /* submissions are refused */
    bool given_up;      /* nothing is written any more */
    bool told_forgetting;
    struct age age, key_age; /* of history, of keys */
    uint64_t aged;           /* when it was looked at last, by CLOCK_BOOTTIME */
    bool aging;              /* a group interrupted the pass by age */
    unsigned last_tries;
    uint64_t *forgotten;            /* by the latest slice; FORGET_SLICE of them */
    uint64_t leaving[FORGET_SLICE]; /* may be next, in order, of this owner: nobody needed
                                     * them when it was asked */
    int nleaving;
    struct owner *leaver;
    pthread_mutex_t read_turn; /* taken for the moment of taking the next, so that it goes
                                * round */
    vat_u64 most_rows, most_bytes; /* written with read_lock; for any thread, relaxed */
    pthread_mutex_t read_lock;     /* protects the two below */
    struct db reader;              /* opened when first needed */
    bool reading;
};

static inline struct sqlite_store *sqlite_of(struct store *s)
{
    return (struct sqlite_store *)s;
}

/* sqlite_write.c: the thread; and to be called before it. */
void *sqlite_writer(void *store);
void sqlite_watch_journal(struct sqlite_store *s);
/* The interfaces of store.h, each in the file that implements it. */
extern const struct store_log_ops sqlite_log;             /* sqlite_log.c */
extern const struct store_reader_ops sqlite_reader;       /* sqlite_read.c */
extern const struct store_blob_ops sqlite_blobs;          /* sqlite_read.c */
extern const struct store_retention_ops sqlite_retention; /* sqlite_forget.c */
int sqlite_load(struct store *store, store_load_fn *fn, void *arg,
                struct volt_error *err); /* sqlite.c */
/* sqlite_log.c: store_forget(), an entry in order with the facts. */
int sqlite_append_forget(struct store *store, const uint64_t *ids, size_t n,
                         struct store_commit *commit);
/* -EBADMSG, with the place in err (a struct volt_error, or NULL). */
int sqlite_damaged(void *err, const char *text);
/* read_lock; one that waits for it has it before one that gives it back and takes it
 * again. */
void sqlite_read_lock(struct sqlite_store *s);
/* sqlite_apply.c: one entry within a transaction; SQLITE_OK or the error. */
int sqlite_apply(struct sqlite_store *s, const struct entry *e);
/* One job less uses content id; 0: none. */
int sqlite_content_unuse(struct sqlite_store *s, int64_t id);
/* sqlite_key.c: the job has this key from now on, or none. SQLITE_OK or the error. */
int sqlite_put_key(struct sqlite_store *s, const struct store_key *key);
/* Deletes the oldest keys of the owner whose jobs ended before usec, and notes them in
 * `expired`, with their number. SQLITE_OK or the error. */
int sqlite_expire_keys(struct sqlite_store *s, const struct owner *owner,
                       uint64_t before_usec, int *ret_n);
/* Whether the row (id, uid, at, body) at which the statement is, is sound; then what it
 * says. */
bool sqlite_key_row(sqlite3_stmt *st, struct store_key *ret, struct row_key *ret_at);
/* sqlite_forget.c: notes in `leaving` the oldest ended jobs of the owner that are beyond
 * what keep->jobs gives him or ended before usec, up to the first that is needed.
 * SQLITE_OK or the error. */
int sqlite_choose_leaving(struct sqlite_store *s, const struct store_retention *keep,
                          uint64_t before_usec, struct owner *owner);
/* Deletes those of them that are beyond it or ended before usec still, all they had
 * included. Their number, and the ids of those that were processes in `forgotten`, 0 for
 * others. SQLITE_OK or the error. */
int sqlite_forget(struct sqlite_store *s, uint64_t keep, uint64_t before_usec,
                  int *ret_n);
/* On demand: one that has ended, noted in `cleaned` if it was a process; others stay. */
int sqlite_forget_one(struct sqlite_store *s, int64_t id);
/* Before the writer, and by it: submissions are refused until there is room, which is
 * said; the reserve is given back. */
void sqlite_become_full(struct sqlite_store *s);
/* After a commit: tells its news, and what was forgotten on demand. */
void sqlite_tell(struct sqlite_store *s);
/* The sums into the transaction, before its commit. */
int sqlite_save_sums(struct sqlite_store *s);
/* After a commit, after a rollback. before: the sums at the transaction's begin. */
void sqlite_committed(struct sqlite_store *s);
void sqlite_rolled_back(struct sqlite_store *s, const struct row_sums *before);

#endif
