/* The store: what survives of jobs, as facts in the order in which they were appended.
 * The state of a job is the fold of its events (job_update); nothing else is stored.
 *
 * Four interfaces, each a table of functions with a header of its own, so that a file
 * includes only what it uses:
 *
 *   commit_log.h   append facts (fact.h), wait until they are durable, be notified
 *   reader.h       read facts back: all of them at start, ended jobs later
 *   blobs.h        the output of jobs that was stored with their end
 *   retention.h    how long ended jobs stay, and forgetting on demand
 *
 * SQLite (sqlite.h) implements them, and a store of the tests that forgets. */
#ifndef VOLTD_STORE_STORE_H
#define VOLTD_STORE_STORE_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>

#define STORE_ID_SIZE 16 /* boot id, generation of the record directory */

/* The store is not the one that was here before (witness.h); a person has to choose.
 * Never an errno of a file. */
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

/* The head of every backend's own struct. The tables never change. */
struct store {
    const struct store_ops *ops;
    const struct store_log_ops *log;
    const struct store_reader_ops *reader;
    const struct store_blob_ops *blobs;
    const struct store_retention_ops *retention;
    bool durable; /* store_durable() */
    uint64_t
        seed; /* a secret that lasts as long as the store, for hashes that it keeps; 0:
                    * it keeps none */
};

/* Writes down beside the store how far it has come, so that an older one in its place is
 * refused (witness.h); from the first call on, store_free() does so too. lasting: the
 * name of the file is on disk, too; otherwise when somebody syncs the state directory. 0
 * or -errno, which has been logged: the witness is an older one, as true. Blocks on the
 * disk; any thread, after the load; `ids.file_lock` may be held. */
static inline int store_witness(struct store *s, bool lasting)
{
    return s->ops->witness(s, lasting);
}

/* Writes what was appended, then closes and frees. No commit may be pending. Blocks. NULL
 * is allowed. */
static inline void store_free(struct store *s)
{
    if (s)
        s->ops->free(s);
}

#endif
