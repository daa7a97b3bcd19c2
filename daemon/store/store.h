/* The store: the durable part of jobs, as facts in the order in which they were appended.
 * A job's state is the fold of its events (job_update); nothing else is stored.
 *
 * The store has four interfaces, each a table of functions with its own header, so that a
 * file includes only the part that it uses:
 *
 *   commit_log.h   append facts (fact.h), wait until they are durable, be notified
 *   reader.h       read facts back: all of them at start, ended jobs later
 *   blobs.h        the stored output of jobs
 *   retention.h    how long ended jobs stay, and forgetting on demand
 *
 * Two backends implement them: SQLite (sqlite.h), and a store in memory for tests. */
#ifndef VOLTD_STORE_STORE_H
#define VOLTD_STORE_STORE_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>

#define STORE_ID_SIZE 16 /* bytes of a boot id or directory generation */

/* The store is not the one that its witness describes (witness.h); a person has to
 * choose. Never an errno of a file. */
#define STORE_NOT_WITNESSED EREMCHG

struct store;
struct store_log_ops;
struct store_reader_ops;
struct store_blob_ops;
struct store_retention_ops;

/* The store as a whole. */
struct store_ops {
    const char *name;
    int (*witness)(struct store *s, bool lasting); /* store_witness() */
    void (*free)(struct store *s);                 /* store_free() */
};

/* The head of each backend's own struct. The tables never change. */
struct store {
    const struct store_ops *ops;
    const struct store_log_ops *log;
    const struct store_reader_ops *reader;
    const struct store_blob_ops *blobs;
    const struct store_retention_ops *retention;
    bool durable;  /* store_durable() */
    bool rebooted; /* the start before this one was in another boot of the machine */
    uint64_t
        seed; /* a secret for hashes that are stored, of the same lifetime as the store;
               * 0: nothing is stored */
};

/* Writes the witness (witness.h), which says how far the store has come, so that an older
 * copy in its place is refused. After the first call store_free() writes it too. lasting:
 * the new name of the file is synced; otherwise a later sync of the state directory does
 * that. Returns 0, or -errno, which has been logged: the earlier witness stays and is
 * still true. Blocks on the disk. Any thread, after the load; `ids.file_lock` may be
 * held. */
static inline int store_witness(struct store *s, bool lasting)
{
    return s->ops->witness(s, lasting);
}

/* Writes all appended facts, closes the store and frees it. No commit may be pending.
 * Blocks. NULL is allowed. */
static inline void store_free(struct store *s)
{
    if (s)
        s->ops->free(s);
}

#endif
