/* Groups of appended facts and the commits that wait for them: where the store's callers
 * meet its writer. Does not know the contents of an entry.
 *
 *   any thread: append                        the writer's thread: take
 *   1. lock                                   1. lock
 *   2. entry to the tail, commit to the list  2. keep the pace; no entry: asleep = true,
 *   3. unlock                                    wait
 *   4. (kick) lock, asleep: asleep = false,   3. take the whole list, filling++
 *      unlock, signal                         4. unlock, write, groups_done()
 *
 * A group begins at once if a commit is impatient, otherwise GROUP_PACE after the group
 * before. So patient commits do not hurry the writer.
 *
 * Both steps 2 happen under the lock, so no wake is lost. A commit is in the list from
 * its append until its group is done or the commit is finished. The list is in order of
 * groups, so groups_done() takes from its head. Wakers are woken after unlock. */
#ifndef VOLTD_STORE_GROUP_H
#define VOLTD_STORE_GROUP_H

#include <pthread.h>
#include "base/atomic.h"
#include "daemon/store/commit_log.h"
#include "daemon/store/retention.h"

/* The head of a backend's entry, which is one allocation by malloc(). */
struct group_entry {
    struct group_entry *next;
    bool submits; /* has a submission: refused, not left waiting, while the store cannot
                   * be written */
};

struct groups {
    pthread_mutex_t lock;
    pthread_cond_t cond;
    struct group_entry *head, **tail; /* entries of the group being filled */
    uint64_t filling;                 /* its number, from 1 */
    bool writing;                     /* group filling - 1 is with the writer */
    bool asleep, stop;
    bool hurry;          /* an impatient kick or commit since the last take */
    bool pacing;         /* asleep until GROUP_PACE is over, with or without entries */
    uint64_t begun_usec; /* begin of the group before, CLOCK_MONOTONIC */
    int refusing;        /* -errno for submissions; 0: they are accepted */
    struct store_health health;
    struct store_retention retention;
    struct list commits; /* pending commits, in order of their groups */
    vat_u64 steps; /* of the writer, times 2; + 1: in a call that waits for the disk.
                          * Written by the writer; read by any thread, relaxed */
};

int groups_init(struct groups *g);
void groups_fini(struct groups *g); /* the writer has ended; frees entries that are
                                     * left */

/* Appends the entry; NULL: a barrier. `c` may be NULL. Returns 0 and takes the entry, or
 * the error of groups_refuse() and leaves the entry to the caller. */
int groups_append(struct groups *g, struct group_entry *entry, struct store_commit *c);
void groups_kick(struct groups *g, bool patient);
enum volt_poll groups_commit_poll(struct volt_cx *cx, struct groups *g,
                                  struct store_commit *c);
void groups_commit_fini(struct groups *g, struct store_commit *c);

/* Writer only. Returns the entries of the next group in order, owned by the caller. NULL:
 * no entry came within wait_usec (UINT64_MAX: no limit), or groups_stop() was called. */
struct group_entry *groups_take(struct groups *g, uint64_t wait_usec);
/* Writer only. Ends the commits of the group taken: with submit_status for submissions,
 * with status for others. */
void groups_done(struct groups *g, int submit_status, int status);
/* Writer only. Ends the submissions of the group taken with `error`, while its other
 * commits still wait. */
void groups_refuse_taken(struct groups *g, int error);
/* Writer only. Refuses later submissions with `error`, -ENOSPC or -EIO; 0: accepts
 * them. */
void groups_refuse(struct groups *g, int error);
/* Writer only. Returns after usec, or at once after groups_stop(). */
void groups_pause(struct groups *g, uint64_t usec);
/* Writer only. Reports progress for groups_health(). to_disk: the writer may wait for the
 * disk until its next step. */
void groups_step(struct groups *g, bool to_disk);
/* Any thread. Sets the limits of retention. */
void groups_retain(struct groups *g, const struct store_retention *retention);
/* Writer only. Returns whether an entry waits to be taken. */
bool groups_busy(struct groups *g);
struct store_retention groups_retention(struct groups *g);
void groups_stop(struct groups *g);
bool groups_stopping(struct groups *g);
void groups_health(struct groups *g, struct store_health *ret);

#endif
