/* The task header and its state word: every transition, one RMW each.
 *
 * bit          meaning                                    set by            cleared by
 * RUNNING      a worker is in poll (or drops the state)   token holder      the same worker
 * COMPLETE     ended; state dropped, output ready         the worker        never
 * NOTIFIED     to be polled (again)                       any waker         token holder
 * CANCELLED    to be dropped instead of polled            canceller         never
 * JOIN_INTEREST  a join handle exists                     spawn             handle's _fini
 * JOIN_WAKER   the joiner field is valid, with a reference  joiner          completer, _fini
 * SHIELD       8 bits: depth of deferred cancellation     the poll          the poll
 * REFS         48 bits: references                        ref               unref
 *
 * Token (INV-2): NOTIFIED with neither RUNNING nor COMPLETE means that exactly one token
 * exists. Its holder alone may queue, link (next) or start the task, and keeps it alive;
 * queue entries hold no reference. A function that may yield the token returns a verdict.
 *
 * References: 1 the owner's (dropped at completion), 1 per join handle, waker, stored
 * joiner. */
#ifndef VOLT_TASK_TASK_H
#define VOLT_TASK_TASK_H

#include "base/atomic.h"
#include <volt/task.h>

#define TASK_RUNNING       UINT64_C(0x01)
#define TASK_COMPLETE      UINT64_C(0x02)
#define TASK_NOTIFIED      UINT64_C(0x04)
#define TASK_CANCELLED     UINT64_C(0x08)
#define TASK_JOIN_INTEREST UINT64_C(0x10)
#define TASK_JOIN_WAKER    UINT64_C(0x20)
#define TASK_SHIELD_ONE    (UINT64_C(1) << 8)
#define TASK_SHIELD_MASK   (UINT64_C(0xff) << 8)
#define TASK_REF_ONE       (UINT64_C(1) << 16)

struct volt_task {
    vat_u64 state;
    const struct volt_task_type *type;
    struct volt_task *next; /* in a queue or chain; the token holder's */
    struct volt_runtime *rt;
    struct volt_task *joiner; /* valid while JOIN_WAKER; written before it is set */
    /* the caller's state follows, 16-aligned */
};

/* Tokens linked through next, oldest first; lives on one thread's stack. */
struct task_chain {
    struct volt_task *head, *tail;
    uint32_t count;
};

static inline void task_chain_push(struct task_chain *c, struct volt_task *t)
{
    VAT_WR(&t->next);
    t->next = NULL;
    if (c->tail)
        c->tail->next = t;
    else
        c->head = t;
    c->tail = t;
    c->count++;
}

/* Any thread; t is alive for the call. True: the caller now owns the token and must hand
 * it to sched_submit() or put it into a chain. Unconditionally an RMW: a wake that finds
 * NOTIFIED still publishes the caller's writes to the coming poll (F-I12). */
static inline __attribute__((warn_unused_result)) bool task_notify(struct volt_task *t)
{
    uint64_t p = vat_u64_or(&t->state, TASK_NOTIFIED, VAT_AR);
    return !(p & (TASK_RUNNING | TASK_NOTIFIED | TASK_COMPLETE));
}

/* Queue owned tokens where the calling thread may: its own worker's LIFO slot or ring if it
 * is a worker of the task's runtime, else that runtime's global queue; wakes as needed.
 * Never while holding a lock. Defined in lib/sched. */
void sched_submit(struct volt_task *t);
/* The same for all tokens of a chain (possibly of several runtimes): one publication and
 * one notify per runtime. Empties the chain. */
void sched_submit_chain(struct task_chain *c);

/* The current poll. One per worker, on its stack frame; pool threads have their own. */
struct volt_cx {
    struct volt_task *task;
    struct worker *worker; /* NULL on a pool thread */
    uint8_t budget;        /* leaf operations left in this poll (D2) */
    bool unbudgeted;       /* blocking pool: coop_take always succeeds */
};

#endif
