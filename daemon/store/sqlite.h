/* The SQLite backend: the durable store of one machine.
 *
 * Files in the state directory: jobs.<n>.db, with SQLite's -wal and -shm beside it; the
 * highest n is in force, and is 1 but where an earlier voltd had copied its store.
 * `reserve` is room kept for completions when the disk is full; `witness` says how far
 * the store has come (witness.h).
 *
 * Schema (PRAGMA user_version: DB_VERSION; application_id "VOLT"):
 *
 *   meta(name, body)          "sums": number and sum of the rows of every table,
 *                             numbers of news, the highest id there has been;
 *                             "life": number, boot id and record directory of this life;
 *                             "store": its id and the number of starts (witness.h);
 *                             versions that do not know it pass it over
 *   content(id, body)         environments with resource limits, and long
 *                             argvs, each once; id: a hash
 *   job(id, body, seq)        submitter, time, contents, spec (daemon/job/spec_pack.h)
 *   event(job, item, seq, body)  what happened since: daemon/job/event.h; item -1:
 *                             the job or array itself, otherwise an index of the array;
 *                             of many attempts the latest (fact.h)
 *   ended(id, at, seq)        jobs that are history, for retention
 *   output(job, item, stream, body)  what a job has printed, when it is little; read when
 *                             it is asked for, so not proved by a load
 *   resource(owner, name, body)  semaphores whose size was set by hand: name, capacity;
 *                             rates that are not full: time for a token, when full, too;
 *                             of owner -1 queues: name, numbers (core/queues.h)
 *
 * seq is the number of the news (commit_log.h); an event row with several events has
 * those that follow its own, too; in `ended` arrays as a whole have one.
 *
 * Every body ends in a CRC-32C over its key and itself. SQLite's own integrity check does
 * not see a bit flip inside a body, nor a row that a damaged page has lost: therefore the
 * CRCs, and therefore the sums, which every transaction updates and every load proves. A
 * journal that was damaged before it was copied into the file ends for SQLite where it is
 * damaged: what came later is forgotten.
 *
 * One connection on one thread writes and checkpoints; WAL, synchronous=FULL, or NORMAL
 * (no_sync): then only checkpoints and witnesses wait for the disk. Its
 * transactions are the groups of commit_log.h. No auto-checkpoint: the writer does it
 * when it has answered.
 *
 * Lives: STARTING is kept with the number of the life in which it happened: boot and
 * record directory. The number is in the store before the first START, so a job that was
 * starting is known to be of this life or not whenever the daemon dies.
 *
 * Output: beside the end of its job in one transaction it costs no sync
 * of its own, no crash point and no index; a segment file of our own would need all
 * three. */
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
    bool no_sync; /* a power cut may take the latest commits away, in order */
    /* Called by the writer's thread when its state changes; a line for people. */
    void (*tell)(const char *text);
    /* Called by the same thread after that, when a file cannot be written for another
     * reason than a full disk: ends the process. Where it returns, or is NULL, every
     * commit from now on ends with -EIO. */
    void (*failed)(void);
};

/* Opens or makes the store; nobody else may have it (the state directory's lock). 0;
 * -EPROTO: written by a newer voltd; -EBADMSG: damaged, or no store of ours;
 * -STORE_NOT_WITNESSED: it is not the one that was here, and nothing has begun in it;
 * another errno; always with the text in err. Then store_load(), which starts
 * the writer. */
int store_sqlite_open(const struct store_sqlite_options *o, struct store **ret,
                      struct volt_error *err);

/* Verifies the store in dir, changing nothing: every row, every spec, every event in its
 * order, the structure of the file. Calls fn for each finding. Returns their
 * number, or -errno when there is none to look at. */
int store_sqlite_check(const char *dir, void (*fn)(void *arg, const char *text),
                       void *arg);

/* Makes what is in dir, or an empty store where there is none, the store that its next
 * start takes: under a new id, with a new witness. What was starting there when the copy
 * was made counts as of another life. 1, with what was accepted in text; 0: there was
 * nothing to accept, and nothing has changed; -errno, with the text in err. */
int store_sqlite_accept(const char *dir, char text[256], struct volt_error *err);

#endif
