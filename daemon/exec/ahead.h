/* Jobs whose STARTING is committed before they have a slot.
 *
 * Where jobs are short, the commit of STARTING would keep a slot empty for a good part of
 * what a job takes. So the first in the queue, AHEAD_MAX at most, are marked as starting
 * while the jobs before them still run. Each gets its slot in the order of the queue, and
 * then goes to the keeper, or before that, to begin when a certain other job has ended
 * (relay.h).
 *
 * Price: after a power cut a job marked STARTING is `lost` although it may never have
 * begun. A later marker does not help: a start without its own fsync needs its marker
 * durable first, and a start that waits for the fsync of another job's end finds its own
 * STARTING in the same commit. Hence few, only while jobs end within AHEAD_PACE on
 * average, and a job that has waited for AHEAD_WAIT goes back to its place in the queue
 * (event DEFERRED). Elements of arrays are
 * not taken ahead.
 *
 * As many are ahead as start within AHEAD_SPAN, by what jobs took lately, and one for
 * each slot: with 2 slots 16 where jobs take 0.8 ms, 7 where they take 2 ms, 4 where they
 * take 5. The span is that of one and a half commits (GROUP_PACE in group.c): the one
 * that a mark is in, and what is left of the one before it, on average. Both are a matter
 * of the processor: with a commit every 2 ms and eight ahead /bin/true jobs with 2 slots
 * took 1,083 us of it in the median of six rounds, with 4 ms and this span 1,047, and 873
 * and 848 in a calmer hour; at 0.87 and 0.90, 0.88 and 0.92 of the benchmark's reference.
 *
 * After a restart all jobs that were starting and had not come to the keeper wait
 * here. */
#ifndef VOLTD_EXEC_AHEAD_H
#define VOLTD_EXEC_AHEAD_H

#include <stdbool.h>
#include <stdint.h>
#include <volt/task.h>
#include "base/list.h"
#include "daemon/job/job.h"

struct tx;
struct manager;
struct work;

#define AHEAD_WAIT UINT64_C(50000) /* us for a slot */

/* [L] */
struct ahead {
    struct list line; /* of works, in the order of the queue */
    uint32_t n;
    uint64_t pace_usec; /* how long jobs take, the latest counting most */
    unsigned past;      /* how many jobs have told it, PACE_PAST at most */
};

void ahead_init(struct ahead *a);

/* --- lock held ---------------------------------------------------------------------- */
/* Free slots go to works that wait for one and follow none (relay.h), unless the first in
 * the queue comes before: one that has been deferred, or of a higher priority. False:
 * tx is full. */
bool ahead_serve(struct manager *m, struct tx *tx);
/* It gets a slot, also beyond their number. */
void ahead_grant(struct manager *m, struct work *w);
/* The first work in the line that follows another, or the first that follows none yet;
 * NULL. Of the latter a later one may look sooner, as its STARTING was kept sooner; it
 * must not overtake. */
struct work *ahead_first(const struct ahead *a, bool follows);
/* A work can be followed: the first that waits looks. */
void ahead_stir(struct manager *m, struct tx *tx);
/* Takes from the queue what may be taken. */
void ahead_fill(struct manager *m, struct tx *tx);
/* The work, of a job that is starting, waits for a slot. */
void ahead_join(struct manager *m, struct work *w);
/* The work waits no longer. Nothing happens to one that does not. */
void ahead_leave(struct manager *m, struct work *w);
/* A process has ended that began then. */
void ahead_note_end(struct manager *m, uint64_t started_usec, uint64_t ended_usec);
/* Back to its place in the queue, unless it has got its slot meanwhile or is to stop.
 * Elements, here only after a restart, wait on. Returns whether it has gone there. */
bool ahead_defer(struct tx *tx, struct work *w);

#endif
