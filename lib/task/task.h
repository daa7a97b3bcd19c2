/* The task header and its state word: every transition, one RMW each.
 *
 * bit            meaning                                  set by        cleared by
 * RUNNING        in poll, or dropped, or queued by itself  token holder  the same worker
 * COMPLETE       ended; state dropped, output ready        the worker    spawn
 * NOTIFIED       to be polled (again)                      any waker     token holder
 * CANCELLED      to be dropped instead of polled           canceller     spawn
 * JOIN_INTEREST  a join handle exists                      spawn         handle's _fini
 * JOIN_WAKER     the joiner field is valid                 joiner        completer, _fini
 * DROPPED        ended without output: cancelled           the worker    spawn
 * LISTED         counted when the runtime closed           closing       spawn
 * SHIELD         8 bits: depth of deferred cancellation    the poll      the poll
 * REFS           48 bits: references                       ref           unref
 *
 * Spawn begins a life by exchanging the word: NOTIFIED and the first references. Before
 * it the word is 0 or that of an ended life (COMPLETE).
 *
 * Token (INV-2): NOTIFIED with neither RUNNING nor COMPLETE means that exactly one token
 * exists; so does RUNNING outside a poll, of a task that has yielded. Its holder alone
 * may queue, link (next) or start the task, and keeps it alive; queue entries hold no
 * reference. A function that may yield the token returns a verdict.
 *
 * References: 1 the owner's (dropped at completion), 1 per join handle, waker, stored
 * joiner. The joiner is the only lock-free place where one task points at another, hence
 * counted; the side that clears JOIN_WAKER, or sees it when completing, consumes the
 * reference.
 */
#ifndef VOLT_TASK_TASK_H
#define VOLT_TASK_TASK_H

#include "base/atomic.h"
#include "task/limits.h"

#include <assert.h>
#include <volt/runtime.h>
#include <volt/task.h>

#define TASK_RUNNING       UINT64_C(0x01)
#define TASK_COMPLETE      UINT64_C(0x02)
#define TASK_NOTIFIED      UINT64_C(0x04)
#define TASK_CANCELLED     UINT64_C(0x08)
#define TASK_JOIN_INTEREST UINT64_C(0x10)
#define TASK_JOIN_WAKER    UINT64_C(0x20)
#define TASK_DROPPED       UINT64_C(0x40)
#define TASK_LISTED        UINT64_C(0x80)
#define TASK_SHIELD_ONE    (UINT64_C(1) << 8)
#define TASK_SHIELD_MASK   (UINT64_C(0xff) << 8)
#define TASK_REF_ONE       (UINT64_C(1) << 16)
#define TASK_REFS(word)    ((word) / TASK_REF_ONE)

struct volt_task {
    vat_u64 state;
    const struct volt_task_type *type;
    struct volt_task *next; /* in a queue or chain; the token holder's */
    struct volt_runtime *rt;
    /* Valid while JOIN_WAKER, written before it is set: a task; or a thread blocked in
     * volt_join_wait(), or a member of a join set, tagged by a low bit (thread.h,
     * join_set.h). Of a free slot: slab.h. */
    void *joiner;
    struct slab *home; /* for the memory's whole life; slab.h */
    /* the caller's state follows, 16-aligned */
};
_Static_assert(sizeof(struct volt_task) % 16 == 0, "the state is 16-aligned");

static inline void *task_state(struct volt_task *t)
{
    return t + 1;
}
static inline struct volt_task *task_of(void *state)
{
    return (struct volt_task *)state - 1;
}

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

/* Moves the chain c to the end of `to`. */
static inline void task_chain_append(struct task_chain *to, struct task_chain *c)
{
    if (!c->head)
        return;
    if (to->tail) {
        VAT_WR(&to->tail->next);
        to->tail->next = c->head;
    } else {
        to->head = c->head;
    }
    to->tail = c->tail;
    to->count += c->count;
    *c = (struct task_chain){0};
}

static inline void task_chain_push_front(struct task_chain *c, struct volt_task *t)
{
    VAT_WR(&t->next);
    t->next = c->head;
    c->head = t;
    if (!c->tail)
        c->tail = t;
    c->count++;
}

/* The oldest token, or NULL. */
static inline struct volt_task *task_chain_pop(struct task_chain *c)
{
    struct volt_task *t = c->head;

    if (!t)
        return NULL;
    VAT_RD(&t->next);
    c->head = t->next;
    if (!c->head)
        c->tail = NULL;
    c->count--;
    return t;
}

/* Any thread; t is alive for the call. True: the caller now owns the token and must hand
 * it to sched_submit() or put it into a chain. Unconditionally an RMW: a wake that finds
 * NOTIFIED still publishes the caller's writes to the coming poll (F-I12). */
static inline __attribute__((warn_unused_result)) bool task_notify(struct volt_task *t)
{
    uint64_t p = vat_u64_or(&t->state, TASK_NOTIFIED, VAT_AR);
    return !(p & (TASK_RUNNING | TASK_NOTIFIED | TASK_COMPLETE));
}

/* Spawn only. Begins a life: the caller owns the token. join: with a handle. */
static inline void task_begin(struct volt_task *t, bool join)
{
    uint64_t word = TASK_NOTIFIED | TASK_REF_ONE;

    if (join)
        word += TASK_JOIN_INTEREST | TASK_REF_ONE;
    /* An exchange, not a store: see live.h. It publishes the task to what finds it by its
     * slot (task_ref_live). */
    word = vat_u64_xchg(&t->state, word, VAT_AR);
    assert((TASK_REFS(word) == 0 || (word & TASK_COMPLETE)) && "spawned twice");
}

enum task_start {
    TASK_POLL,   /* call poll */
    TASK_CANCEL, /* call drop, then complete as dropped */
};

/* Token holder only. The token becomes RUNNING. */
static inline __attribute__((warn_unused_result)) enum task_start
task_start(struct volt_task *t)
{
    uint64_t p;

    /* Only the token holder sets RUNNING, so one add does both. After a yield it still is
     * set; wakes since then are answered by this poll. */
    if (vat_u64_load(&t->state, VAT_RLX) & TASK_RUNNING)
        p = vat_u64_and(&t->state, ~TASK_NOTIFIED, VAT_ACQ);
    else
        p = vat_u64_add(&t->state, TASK_RUNNING - TASK_NOTIFIED, VAT_ACQ);
    return (p & TASK_CANCELLED) && !(p & TASK_SHIELD_MASK) ? TASK_CANCEL : TASK_POLL;
}

/* Running worker only; poll said pending. True: woken meanwhile, and the caller owns the
 * token. False: t must not be touched again (F-I3). A task that has woken itself is not
 * told so: it stays RUNNING, and its poller owns the token. */
static inline __attribute__((warn_unused_result)) bool task_pending(struct volt_task *t)
{
    return vat_u64_sub(&t->state, TASK_RUNNING, VAT_REL) & TASK_NOTIFIED;
}

struct task_ended {
    bool drop_output; /* nobody wants it: call type->drop_output */
    bool last;        /* no reference is left: free t instead of task_unref() */
    bool listed;      /* counted when the runtime closed */
    void *joiner; /* to be woken with task_wake_joiner(), which consumes it; or NULL */
};

/* Running worker only; the state has been dropped. Unless `last`, t is touched again only
 * until the owner's reference is dropped. */
static inline __attribute__((warn_unused_result)) struct task_ended
task_complete(struct volt_task *t, bool dropped)
{
    uint64_t change = TASK_COMPLETE - TASK_RUNNING + (dropped ? TASK_DROPPED : 0);
    uint64_t p = vat_u64_add(&t->state, change, VAT_AR);
    /* With the only reference nobody is left to take another. */
    struct task_ended e = {
        .drop_output = !dropped && !(p & TASK_JOIN_INTEREST),
        .last = TASK_REFS(p) == 1,
        .listed = p & TASK_LISTED,
    };

    if (p & TASK_JOIN_WAKER) {
        VAT_RD(&t->joiner);
        e.joiner = t->joiner;
    }
    return e;
}

/* The other transitions; task.c. */

void task_wake_joiner(void *joiner);

/* Any thread holding a reference. True: the caller owns the token. */
bool task_cancel(struct volt_task *t) __attribute__((warn_unused_result));

enum task_listed {
    TASK_DEAD,       /* not spawned, or ended: nothing has happened */
    TASK_LIVE,       /* cancelled and marked LISTED */
    TASK_LIVE_TOKEN, /* likewise, and the caller owns the token */
};
/* Closing only; t is any slot, in use or not. */
enum task_listed task_list(struct volt_task *t) __attribute__((warn_unused_result));

/* Running worker only, from inside the poll; the depth saturates at 255. */
void task_shield_begin(struct volt_task *t);
void task_shield_end(struct volt_task *t);

/* From an existing reference. Traps on overflow of the 48 bits. */
void task_ref(struct volt_task *t);
/* Any thread; t is any slot, in use or not. True: it lives, and the caller has a
 * reference. */
bool task_ref_live(struct volt_task *t) __attribute__((warn_unused_result));
/* The last one frees. NULL is allowed. */
void task_unref(struct volt_task *t);
/* Frees the memory; only from the last task_unref() or for a task that was
 * never spawned. */
void task_free(struct volt_task *t);

/* task_notify() and task_unref() in one; the caller's reference is gone. */
bool task_notify_unref(struct volt_task *t) __attribute__((warn_unused_result));

/* Holder of the join handle only. True: the task has ended, and nobody else refers to it:
 * the caller drops the output, if there is one, and frees the task. */
bool task_join_is_last(struct volt_task *t, bool *ret_output)
    __attribute__((warn_unused_result));
/* Holder of the join handle only. Stores the joiner, whose reference it takes. False: the
 * task has ended, the reference is still the caller's. */
bool task_join_store(struct volt_task *t, void *joiner)
    __attribute__((warn_unused_result));
/* Holder of the join handle only: takes a stored joiner out. Returns it with its
 * reference, or NULL: there is none, or the completer has it. */
void *task_join_take(struct volt_task *t) __attribute__((warn_unused_result));
/* Holder of the join handle only: gives interest up. True: the task had ended with
 * output, and the caller calls drop_output. *ret_joiner as task_join_take(). The handle's
 * reference remains, to be dropped last. */
bool task_join_leave(struct volt_task *t, void **ret_joiner)
    __attribute__((warn_unused_result));

/* Queue owned tokens where the calling thread may: its own worker's LIFO slot or ring if
 * it is a worker of the task's runtime, else that runtime's global queue; wakes as
 * needed. Never while holding a lock. Defined in lib/sched. */
void sched_submit(struct volt_task *t);
/* The same for all tokens of a chain (possibly of several runtimes): one publication and
 * one notify per runtime. Empties the chain. */
void sched_submit_chain(struct task_chain *c);
/* The calling thread is a worker, of whatever runtime; not that of a child which a poll
 * has forked. Defined in lib/sched. */
bool sched_is_worker(void);

/* The heap of a runtime, which begins with a pointer to it. NULL: none (tests). */
static inline struct heap *heap_of(struct volt_runtime *rt)
{
    return rt ? *(struct heap **)(void *)rt : NULL;
}

/* The current poll. One per worker, on its stack frame; pool threads have their own. */
struct volt_cx {
    struct volt_task *task;
    struct worker *worker; /* NULL on a pool thread */
    const void *served;    /* sem.c: has granted a queued leaf of this poll; or NULL */
    bool woken;            /* by itself: once more, behind the others */
    uint8_t budget;        /* leaf operations left in this poll */
    bool unbudgeted;       /* blocking pool: coop_take always succeeds */
    bool exhausted;        /* this poll was refused a unit */
    bool watched;          /* leaves.h */
    bool awaits;           /* set by a poll that waits for a handle; local.h clears it */
    /* scope.c: polls inside this one; looks at the clock */
    uint32_t depth, stride, stride_left;
    uint64_t looked; /* ns */
};

/* volt_coop_take() and volt_coop_restore(), for leaves. */
enum volt_poll cx_take_slow(struct volt_cx *cx);
static inline enum volt_poll cx_take(struct volt_cx *cx)
{
    if (cx->budget == 0)
        return cx_take_slow(cx);
    cx->budget--;
    return VOLT_READY;
}
static inline void cx_restore(struct volt_cx *cx)
{
    if (cx->budget < VOLT_BUDGET_PER_POLL)
        cx->budget++;
}

#endif
