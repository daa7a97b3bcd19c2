/* Short jobs that begin at the keeper, each when the one before it has ended.
 *
 * From the end of a process to the start of the next the way leads through voltd and the
 * keeper: four processes have to get a processor, while a slot stands empty. So a job
 * that waits for a slot (early_start.h) may follow one that runs: its START goes out
 * `after` that one, and the shim goes from one to the other by itself (shim_pool.h).
 *
 * Both claim a slot alone, and the slot goes the same way: when voltd sees the end of the
 * first, its slot passes on to the one that follows, which may have ended by then. So
 * slots bound processes as ever, and at most two follow a job with a slot, one after the
 * other. A job whose end is lost and that goes again keeps its slot: its shim was killed,
 * and what waited there has not begun.
 *
 * Where a job of higher priority waits, or one of a queue that has less than its own
 * slots, those that follow another one are called back: a slot passes on within a queue.
 * One that has got a slot meanwhile gives it back when its record says that it never ran.
 *
 * A job that has waited there for CHAIN_WAIT is called back: the one before it takes
 * longer than short jobs do. The job is then prepared and sent once more, so the time is
 * well above what two of them take. Of /bin/true in 8 slots of two busy processors, 3 to
 * 6 ms each, 0.18 were called back after 5 ms, and voltd took 143 us of processor time
 * per job; after 10 ms 0.07 and 124 us; after 20 ms 0.03 and 114 us.
 *
 * When the number of slots changes all are called back; while more jobs run than there
 * are slots, none joins. The slot of a job that lends it (core/lent.h) is not there to
 * pass on: nothing follows that job. What became of one that was called back is told by
 * its record alone: it has begun, or never ran, and then it waits for a slot again. */
#ifndef VOLTD_DISPATCH_CHAIN_H
#define VOLTD_DISPATCH_CHAIN_H

#include <stdbool.h>
#include <stdint.h>
#include "base/list.h"
#include "daemon/job/key.h"

struct tx;
struct core;
struct work;

#define CHAIN_WAIT UINT64_C(20000) /* us */

/* [L] */
struct chain {
    struct list runners;   /* works whose START the keeper has taken, oldest first */
    struct list followers; /* works that follow another one */
    uint32_t nfollowers;
};

/* --- lock held ---------------------------------------------------------------------- */
/* The keeper has taken this START of the work: it may be followed. */
void chain_enter(struct core *core, struct work *w, uint64_t start, struct tx *tx);
/* The work waits for a slot: finds it one to follow. */
bool chain_join(struct core *core, struct work *w);
/* The work follows nobody. */
void chain_part(struct core *core, struct work *w);
/* The work is called back. If it has no slot it keeps its place until its record says
 * that it never ran: it may begin before the call comes. */
void chain_call_back(struct core *core, struct work *w, struct tx *tx);
/* Nothing else wants the slot that is free: a work that follows another one gets it, and
 * is called back. */
void chain_grant(struct core *core, struct work *w, struct tx *tx);
/* Works that follow another are called back where a job of higher priority waits, or one
 * of a queue that has less than its own slots. False: tx is full. */
bool chain_yield(struct core *core, struct tx *tx);
/* All works that follow another are called back. */
void chain_call_back_all(struct core *core, struct tx *tx);
/* Its START came to nothing, and so has that of the work which follows it. */
void chain_void(struct core *core, struct work *w);
/* The same, and it gives back the slot that it has got while it was called back, or what
 * an earlier voltd may have given to others: it asks for that again, in the line. */
void chain_give_up(struct core *core, struct work *w);
/* It is over, as grant_end() says; its slot, if it had one, passes on or is free. */
void chain_leave(struct core *core, struct work *w, uint64_t ran_usec, struct tx *tx);

#endif
