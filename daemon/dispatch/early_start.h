/* Early starts: jobs whose STARTING is committed before they have a slot.
 *
 * Where jobs are short, the commit of STARTING would leave a slot empty for a good part
 * of a job's duration. So the first jobs in the line, at most StartAhead=, are marked as
 * starting while the jobs before them still run; so are the next elements of an array.
 * Each stays in the line until it gets its slot, so a more urgent job that comes still
 * gets the next slot.
 *
 * Price: after a power cut a job marked STARTING is `lost`, although it may never have
 * begun. A later marker does not help: a start without its own fsync needs its marker
 * durable first, and a start that waits for the fsync of another job's end finds its own
 * STARTING in the same commit. Hence early starts are few, only while jobs take less than
 * EARLY_PACE on average, and a job that has waited for EARLY_WAIT is queued again (event
 * DEFERRED).
 *
 * As many jobs start early as will begin within EARLY_SPAN, by the duration of recent
 * jobs, plus one for each slot: with 2 slots 16 for jobs of 0.8 ms, 7 for 2 ms, 4 for 5
 * ms. The span is one and a half commits (GROUP_PACE in group.c): the commit with the
 * marker, and on average half of the one before. Both values affect CPU time. A /bin/true
 * job with 2 slots took 1,083 us of it with a commit every 2 ms and eight early starts,
 * and 1,047 us with 4 ms and this span (median of six rounds; 873 and 848 us in a calmer
 * hour), at 0.87 and 0.90, 0.88 and 0.92 of the benchmark's reference.
 *
 * After a restart, all jobs that were starting and had not reached the keeper wait this
 * way.
 *
 * Elements of an array with a limit do not start early. So each of them in STARTING has
 * its slot, or had it when voltd died, and counts (run/adopt.c). */
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

#define EARLY_MAX  16              /* works; more if an earlier voltd began them */
#define EARLY_WAIT UINT64_C(50000) /* us to wait for a slot */

/* [L] */
struct early_starts {
    uint64_t pace_usec; /* duration of jobs; the latest counts most */
    unsigned past;      /* jobs counted in it, at most PACE_PAST */
    uint32_t n;         /* works that start early */
    uint32_t most;      /* StartAhead=: works, at most EARLY_MAX */
};

/* --- lock held ---------------------------------------------------------------------- */
/* Sets the limit of early works. Works above it defer themselves. */
void early_limit(struct core *core, uint64_t most);
/* Starts the next jobs early, up to the limits above. */
void early_fill(struct core *core, struct tx *tx);
/* Adds the duration of an ended process to pace_usec. */
void early_note_end(struct core *core, uint64_t took_usec);
/* Queues an early work again, unless it has its slot by now or must stop. Returns whether
 * it did. */
bool early_defer(struct tx *tx, struct work *w);

#endif
