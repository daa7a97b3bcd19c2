/* Jobs whose STARTING is committed before they have a slot.
 *
 * Where jobs are short, the commit of STARTING would keep a slot empty for a good part of
 * what a job takes. So the first in the line, StartAhead= at most, are marked as starting
 * while the jobs before them still run, and so are the next elements of an array. Each
 * stays in the line until it gets its slot: a more urgent job that comes gets the next
 * one.
 *
 * Price: after a power cut a job marked STARTING is `lost` although it may never have
 * begun. A later marker does not help: a start without its own fsync needs its marker
 * durable first, and a start that waits for the fsync of another job's end finds its own
 * STARTING in the same commit. Hence few, only while jobs end within EARLY_PACE on
 * average, and a job that has waited for EARLY_WAIT is queued again (event DEFERRED).
 *
 * As many start early as begin within EARLY_SPAN, by what jobs took lately, and one for
 * each slot: with 2 slots 16 where jobs take 0.8 ms, 7 where they take 2 ms, 4 where they
 * take 5. The span is that of one and a half commits (GROUP_PACE in group.c): the one
 * that a mark is in, and what is left of the one before it, on average. Both are a matter
 * of the processor: with a commit every 2 ms and eight early /bin/true jobs with 2 slots
 * took 1,083 us of it in the median of six rounds, with 4 ms and this span 1,047, and 873
 * and 848 in a calmer hour; at 0.87 and 0.90, 0.88 and 0.92 of the benchmark's reference.
 *
 * After a restart all jobs that were starting and had not come to the keeper wait so.
 *
 * Elements of an array with a limit do not start early, so each that is STARTING has its
 * slot, or had it when voltd died, and counts (run/adopt.c). */
#ifndef VOLTD_DISPATCH_EARLY_START_H
#define VOLTD_DISPATCH_EARLY_START_H

#include <stdbool.h>
#include <stdint.h>
#include <volt/task.h>
#include "base/list.h"
#include "daemon/job/job.h"

struct tx;
struct core;
struct work;

#define EARLY_MAX  16              /* works, of an earlier voltd more */
#define EARLY_WAIT UINT64_C(50000) /* us for a slot */

/* [L] */
struct early_starts {
    uint64_t pace_usec; /* how long jobs take, the latest counting most */
    unsigned past;      /* how many jobs have told it, PACE_PAST at most */
    uint32_t n;         /* works that start early */
    uint32_t most;      /* StartAhead=: works, EARLY_MAX at most */
};

/* --- lock held ---------------------------------------------------------------------- */
/* So many works at most from now on; of more that are early already each defers
 * itself. */
void early_limit(struct core *core, uint64_t most);
/* The next ones start early, as many as may. */
void early_fill(struct core *core, struct tx *tx);
/* A process has ended that ran so long. */
void early_note_end(struct core *core, uint64_t took_usec);
/* It is queued again, unless it has got its slot meanwhile or is to stop. Returns whether
 * it is. */
bool early_defer(struct tx *tx, struct work *w);

#endif
