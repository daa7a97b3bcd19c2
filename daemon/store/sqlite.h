/* The SQLite backend: the durable store of one machine.
 *
 * Files in the state directory: jobs.<n>.db, with SQLite's -wal and -shm beside it. The
 * highest n is in force: 1, or more if an earlier voltd had copied its store. `reserve`
 * is room for the ends of jobs when the disk is full. `witness` says how far the store
 * has come (witness.h).
 *
 * Schema (PRAGMA user_version: DB_VERSION; application_id "VOLT"):
 *
 *   meta(name, body)          "sums": number and sum of the rows of each table, numbers
 *                             of news, the highest id that any job had;
 *                             "life": number, boot id and record directory of this life;
 *                             "store": its id and its number of starts (witness.h), which
 *                             versions that do not know it ignore
 *   content(id, body)         environments with resource limits, and long argvs; equal
 *                             ones are stored once; id: a hash
 *   job(id, body, seq)        submitter, time, contents, spec (daemon/job/spec_pack.h)
 *   event(job, item, seq, body)  events after SUBMIT: daemon/job/event.h; item: an index
 *                             of the array, -1 for the job or array itself; only the
 *                             latest of many attempts (fact.h)
 *   ended(id, at, seq, uid)   jobs that are history, for retention
 *   output(job, item, stream, body)  small outputs; read on request, so a load does not
 *                             prove them
 *   resource(owner, name, body)  semaphores whose size was set by hand: name, capacity;
 *                             rates that are not full: also time for a token, and when
 *                             full; owner -1: queues: name, numbers (core/queues.h)
 *   key(id, uid, at, body)    keys of ended jobs (key_row.h)
 *
 * seq is the number of the row's news (commit_log.h). An event row with several events
 * also has the numbers that follow seq. In `ended` only arrays as a whole have a number.
 *
 * Every body ends in a CRC-32C over its key and itself. SQLite's own integrity check
 * finds neither a flipped bit in a body, nor a row lost with a damaged page. The CRCs
 * find the first, and the sums find the second: each transaction updates them and each
 * load proves them. If the journal is damaged before its copy into the file, SQLite takes
 * the damage for the end of the journal and forgets what follows.
 *
 * A single connection on one thread writes and checkpoints; its transactions are the
 * groups of commit_log.h. WAL with synchronous=FULL; with no_sync it is NORMAL, so that
 * only checkpoints and witnesses wait for the disk. The writer checkpoints after it has
 * answered, as auto-checkpoint is off.
 *
 * Lives: a life is a boot and a record directory. STARTING is stored with the number of
 * its life. The store has that number before the first START. So a job that was starting
 * is known to be of this life or another, whenever voltd dies.
 *
 * Output is stored in the transaction of its job's end, so it costs no sync, crash point
 * or index of its own. A separate segment file would need all three. */
#ifndef VOLTD_STORE_SQLITE_H
#define VOLTD_STORE_SQLITE_H

#include <stddef.h>
#include <stdint.h>
#include <volt/error.h>
#include "daemon/store/store.h"

struct store_sqlite_options {
    const char *dir; /* the state directory; borrowed for the call */
    uint8_t boot_id[STORE_ID_SIZE];
    uint8_t generation[STORE_ID_SIZE]; /* of the record directory */
    bool no_sync; /* a power cut may undo the latest commits, in order */
    /* Called on the writer's thread when its state changes, with a line for people. */
    void (*tell)(const char *text);
    /* Called on the writer's thread after `tell`, when a file cannot be written for
     * another reason than a full disk. The function ends the process. If it returns or is
     * NULL, every later commit ends with -EIO. */
    void (*failed)(void);
};

/* Opens the store, or makes an empty one. The caller has the lock of the state directory,
 * so no other process uses the store. Returns 0 and a new store, which store_load() has
 * to load and which then starts its writer. Otherwise, with the text in err:
 *   -EPROTO               a newer voltd wrote the store
 *   -EBADMSG              the file is damaged, or is no store of voltd's
 *   -STORE_NOT_WITNESSED  it is not the store that was here; no file was changed
 *   another errno */
int store_sqlite_open(const struct store_sqlite_options *o, struct store **ret,
                      struct volt_error *err);

/* Verifies the store in dir without changing it: every row, every spec, the order of
 * every job's events, the structure of the file. Calls fn for each finding. Returns the
 * number of findings, or -errno if there is no store to verify. */
int store_sqlite_check(const char *dir, void (*fn)(void *arg, const char *text),
                       void *arg);

/* Accepts the store in dir for the next start, under a new id and with a new witness;
 * makes an empty store if there is none. Attempts that were starting count as of another
 * life. Returns:
 *   1       the store was accepted; text describes it
 *   0       the store needs no accepting; nothing has changed
 *   -errno  the text is in err */
int store_sqlite_accept(const char *dir, char text[256], struct volt_error *err);

#endif
