/* Inside the SQLite backend: what its files share. Fields without a note belong to the
 * writer's thread once it runs. */
#ifndef VOLTD_STORE_SQLITE_STORE_H
#define VOLTD_STORE_SQLITE_STORE_H

#include "daemon/store/age.h"
#include "daemon/store/contents.h"
#include "daemon/store/group.h"
#include "daemon/store/sqlite.h"
#include "daemon/store/sqlite_db.h"

/* The rows of an append, packed behind the head of its entry: kinds and fields. */
enum entry_row {
    ENTRY_JOB = 1, /* id, uid, gid, at, length and bytes of own, env, argv; news too */
    ENTRY_EVENT,   /* job, item (signed), length and bytes of the events */
    ENTRY_LAST,    /* id, at, whether its news follow */
    ENTRY_OUTPUT,  /* job, item (signed), stream, length and bytes */
    ENTRY_FORGET,  /* id */
    ENTRY_NEWS,    /* id, index (signed), at, type, state, result, code (signed), uid */
};

#define FORGET_SLICE 256 /* jobs that go in one transaction */

struct entry {
    struct group_entry head;
    uint32_t size; /* bytes behind the struct */
    uint32_t facts;
};

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
};

struct sqlite_store {
    struct store store;
    struct groups groups; /* its own lock */
    pthread_t writer;
    bool running;
    void (*tell)(const char *text);
    char dir[PATH_MAX];
    uint64_t number; /* of the file in force */
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
    store_news_fn *told; /* never changes once it is loaded */
    void *told_arg;
    struct contents contents;
    struct pack last_content; /* bytes of the content used last, and its id */
    int64_t last_content_id;
    struct undo *undo;
    size_t nundo, undo_capacity;
    struct pack scratch;
    int wal_pages;
    int wal_room;       /* frames for which the journal is written ahead */
    bool left_frames;   /* a failed commit has, in the journal */
    bool full, failing; /* submissions are refused */
    bool told_forgetting;
    struct age age; /* of history */
    unsigned last_tries;
    uint64_t *forgotten;       /* by the latest slice; FORGET_SLICE of them */
    pthread_mutex_t read_turn; /* taken for the moment of taking the next, so that it goes
                                * round */
    pthread_mutex_t read_lock; /* protects the two below, and changes of `number` */
    struct db reader;          /* opened when first needed */
    bool reading;
};

/* sqlite_write.c: the thread; and to be called for each new connection. */
void *sqlite_writer(void *store);
void sqlite_watch_journal(struct sqlite_store *s);
/* sqlite_read.c: any thread. */
int sqlite_output(struct store *store, const struct job_key *key, unsigned stream,
                  void **ret, size_t *ret_n);
int sqlite_has(struct store *store, uint64_t id);
int sqlite_history(struct store *store, const struct store_range *range,
                   store_load_fn *fn, void *arg, uint64_t *ret_at,
                   struct volt_error *err);
/* -EBADMSG, with the place in err (a struct volt_error, or NULL). */
int sqlite_damaged(void *err, const char *text);
/* read_lock; one that waits for it has it before one that gives it back and takes it
 * again. */
void sqlite_read_lock(struct sqlite_store *s);
/* Lock held: the file is given up, or the store ends. */
void sqlite_read_end_locked(struct sqlite_store *s);
/* sqlite_apply.c: one entry within a transaction; SQLITE_OK or the error. */
int sqlite_apply(struct sqlite_store *s, const struct entry *e);
/* One job less uses content id; 0: none. */
int sqlite_content_unuse(struct sqlite_store *s, int64_t id);
/* sqlite_forget.c: deletes up to n of the oldest ended jobs that are beyond keep in
 * number or ended before usec, all they had included. Their number, and the ids of those
 * that were processes in `forgotten`, 0 for others; or -1 with *ret_rc. */
int sqlite_forget(struct sqlite_store *s, uint64_t keep, uint64_t before_usec, int n,
                  int *ret_rc);
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
