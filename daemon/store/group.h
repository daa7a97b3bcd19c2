/* Groups of appended facts, and what waits for them: the part of a store that threads
 * meet in. Knows nothing of what is in an entry.
 *
 *   any thread: append                        the writer, a thread of its own: take
 *   1. lock                                   1. lock
 *   2. entry to the tail, commit to the list  2. keep the pace; nothing there: asleep =
 *   3. unlock                                    true, wait
 *   4. (kick) lock, asleep: asleep = false,   3. the whole list; `filling` moves on
 *      unlock, signal                         4. unlock, write, then group_done()
 *
 * A patient commit does not hurry the writer: it begins the next group at once for an
 * impatient one only, otherwise GROUP_PACE after the group before.
 *
 * Everything is under the lock, so there is no window between 2 and 2. A commit is in the
 * list from its append until its group is done or it is finished; the list is in order of
 * the groups, so done takes its head. Wakers are woken without the lock. */
#ifndef VOLTD_STORE_GROUP_H
#define VOLTD_STORE_GROUP_H

#include <pthread.h>
#include "daemon/store/commit_log.h"
#include "daemon/store/retention.h"

/* The head of what a backend appends: one allocation, malloc(). */
struct group_entry {
    struct group_entry *next;
    bool submits; /* refused, not kept waiting, when the store cannot be written */
};

struct groups {
    pthread_mutex_t lock;
    pthread_cond_t cond;
    struct group_entry *head, **tail; /* of the group being filled */
    uint64_t filling;                 /* its number, from 1 */
    bool writing;                     /* group filling - 1 is with the writer */
    bool asleep, stop;
    bool hurry;          /* somebody waits for what is there, and is not patient */
    bool pacing;         /* asleep until GROUP_PACE is over, entries or none */
    uint64_t begun_usec; /* the group before: CLOCK_MONOTONIC */
    int refusing;        /* -errno for submissions; 0: they are taken */
    struct store_health health;
    struct store_retention retention;
    struct list commits; /* pending ones, in order of their groups */
};

int groups_init(struct groups *g);
void groups_fini(struct groups *g); /* the writer has ended; entries left are freed */

/* Takes entry (NULL: a barrier). 0; or refusing's error, and the entry is the caller's
 * still. c may be NULL. */
int groups_append(struct groups *g, struct group_entry *entry, struct store_commit *c);
void groups_kick(struct groups *g, bool patient);
enum volt_poll groups_commit_poll(struct volt_cx *cx, struct groups *g,
                                  struct store_commit *c);
void groups_commit_fini(struct groups *g, struct store_commit *c);

/* Writer only. The entries of the next group in order, owned by the caller; NULL: none
 * came within wait_usec (UINT64_MAX: no limit), or stop. */
struct group_entry *groups_take(struct groups *g, uint64_t wait_usec);
/* Writer only: what was taken is over: status of its submissions, and of the rest. */
void groups_done(struct groups *g, int submit_status, int status);
/* Writer only: what was taken is still being written, but its submissions are refused. */
void groups_refuse_taken(struct groups *g, int error);
/* Writer only: submissions from now on answer error, -ENOSPC or -EIO; 0: are taken. */
void groups_refuse(struct groups *g, int error);
/* Writer only: returns after usec, or at once when it is to stop. */
void groups_pause(struct groups *g, uint64_t usec);
/* Any thread. */
void groups_retain(struct groups *g, const struct store_retention *retention);
/* Writer only: something waits to be taken. */
bool groups_busy(struct groups *g);
struct store_retention groups_retention(struct groups *g);
void groups_stop(struct groups *g);
bool groups_stopping(struct groups *g);
void groups_health(struct groups *g, struct store_health *ret);

#endif
