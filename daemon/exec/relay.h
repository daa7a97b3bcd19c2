/* Short jobs that begin at the keeper, each when the one before it has ended.
 *
 * From the end of a process to the start of the next the way leads through voltd and the
 * keeper: four processes have to get a processor, while a slot stands empty. So a job
 * that waits for a slot (ahead.h) may follow one that runs: its START goes out `after`
 * that one, and the shim goes from one to the other by itself (crew.h).
 *
 * The slot goes the same way: when voltd sees the end of the first, its slot passes on to
 * the one that follows, which may have ended by then. So slots bound processes as ever,
 * and at most two follow a job with a slot, one after the other. A job whose end is lost
 * and that goes again keeps its slot: its shim was killed, and what waited there has not
 * begun.
 *
 * A job that has waited there for RELAY_WAIT is called back. When the number of slots
 * changes all are; while more jobs run than there are slots, none joins. What became of
 * it is told by its record alone: it has begun, or never ran, and then it waits for a
 * slot again. */
#ifndef VOLTD_EXEC_RELAY_H
#define VOLTD_EXEC_RELAY_H

#include <stdbool.h>
#include <stdint.h>
#include "base/list.h"
#include "daemon/job/key.h"

struct tx;
struct manager;
struct work;

#define RELAY_WAIT UINT64_C(5000)

/* The runners: whose START the keeper has taken, oldest first. [L] */
struct relay {
    struct list runners;
};

/* A work's place. [L] */
struct relay_place {
    struct list_node node; /* among the runners */
    struct work *before;   /* whose end it waits for at the keeper */
    struct work *behind;   /* the work that waits for its end */
    uint64_t start;        /* serial of its START at the keeper */
    uint64_t after;        /* that of `before` */
    uint64_t since_usec;
    bool runs;        /* is a runner */
    bool called_back; /* is not to wait there any longer */
};

/* --- lock held ---------------------------------------------------------------------- */
/* The keeper has taken this START of the work: it may be followed. */
void relay_enter(struct manager *m, struct work *w, uint64_t start, struct tx *tx);
/* The work waits for a slot: finds it one to follow. */
bool relay_join(struct manager *m, struct work *w);
/* The work follows nobody. */
void relay_part(struct manager *m, struct work *w);
/* The work is called back. If it has no slot it keeps its place until its record says
 * that it never ran: it may begin before the call comes. */
void relay_call_back(struct manager *m, struct work *w, struct tx *tx);
/* Nothing else wants the free slots: works that follow another get them. False: tx is
 * full. */
bool relay_serve(struct manager *m, struct tx *tx);
/* All works that follow another are called back. */
void relay_call_back_all(struct manager *m, struct tx *tx);
/* Its START came to nothing, and so has that of the work which follows it. */
void relay_void(struct manager *m, struct work *w);
/* Its process is over; its slot, if it had one, passes on. */
void relay_leave(struct manager *m, struct work *w, struct tx *tx);

#endif
