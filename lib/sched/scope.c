/* Scopes: fork and join without handles, references or queues (volt/scope.h).
 *
 * The children of a scope lie one after the other in one slot of a slab, behind a header
 * that no task uses: header and state each. Their memory is the scope's until its _fini,
 * so nothing is counted; a child's `home` says that (child_home), its `joiner` is the
 * scope.
 *
 * The first poll runs the children in place. All but the first lie meanwhile on the
 * worker's forks (forks.h), where others find them. Scopes nest as calls do, so what the
 * worker takes from its forks is the newest child of the innermost scope; if that one is
 * stolen, everything older is, too. A child that runs in place is nobody else's: its word
 * is written by plain stores until it has a reason to wait. What is locked is one barrier
 * for each child that is taken, and one for the announcement of all.
 *
 * A child that was stolen, or waits, or has left something that refers to it is `away`:
 * it is a task as any other. The parent waits for those.
 *
 *   word           meaning                                  by
 *   2 (n + 1) + 1  n children have not ended; the parent    volt_scope_poll(), before the
 *                  has not come to wait                     children are published
 *   - 2            one that was away has ended              its worker, one subtraction
 *   - 2 (k + 1)    the parent comes to wait; k have ended   the parent; 1 now: all have
 *                  in place
 *   1              the last one has ended, and wakes the    its worker: it found 3
 *                  parent: nobody may free anything yet
 *   0              it has: the parent goes on               the same, its last touch
 *
 * The last one wakes before it stores 0, or the parent could be gone when it is woken. A
 * poll for another reason may use that wake up and find 1: it has the parent polled
 * again. While it waits the parent is shielded: it is not dropped, but passes its
 * cancellation on.
 *
 * Polls in place are bounded by the clock: after 200 us whatever lies on the forks goes
 * to the ring, and with it the scopes that lead there come to wait. Their depth is
 * bounded, too: beyond it children go to the ring, so that a long chain of scopes needs
 * no more stack. */
#include "base/clock.h"
#include "sched/local.h"
#include "task/leaves.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <volt/scope.h>

#ifndef SCOPE_DEPTH
#define SCOPE_DEPTH 64 /* polls inside each other */
#endif
#define SCOPE_SLICE_NS 200000
#define SCOPE_STRIDE   16 /* polls in place between two looks at the clock, at most */

enum scope_state {
    SCOPE_EMPTY = 0,
    SCOPE_NEW,   /* to be filled in */
    SCOPE_WAITS, /* children are away; the parent is shielded */
    SCOPE_DONE,
};

_Static_assert(sizeof(vat_u64) == sizeof(uint64_t), "public structs hold cells");

static vat_u64 *word_of(struct volt_scope *s)
{
    return (vat_u64 *)(void *)&s->word;
}

static struct volt_task *child(const struct volt_scope *s, size_t i)
{
    return (struct volt_task *)(void *)((char *)(s->block + 1) + i * s->stride);
}

/* Any thread. The last that referred to t, which was away, is gone. */
static void child_gone(struct volt_task *t)
{
    struct volt_scope *s = t->joiner;

    if (vat_u64_sub(word_of(s), 2, VAT_AR) != 3)
        return;
    struct volt_task *parent = s->parent;
    bool ours = task_notify(parent);
    vat_u64_store(word_of(s), 0, VAT_REL);
    if (ours)
        sched_submit(parent);
}

static struct slab child_home = {.class = SLAB_CLASSES, .gone = child_gone};

int volt_scope_init(struct volt_cx *cx, struct volt_scope *s,
                    const struct volt_task_type *type, size_t n)
{
    struct volt_runtime *rt = cx->task->rt;
    uint32_t extra = heap_of(rt) ? heap_of(rt)->extra : 0;
    size_t stride = (sizeof(struct volt_task) + type->size + extra + 15) & ~(size_t)15;

    assert(s->state == SCOPE_EMPTY && "the scope has children: volt_scope_fini() first");
    if (type->size > SIZE_MAX / 4 || n > (SIZE_MAX / 4) / stride)
        return -ENOMEM;
    s->block = slab_alloc(heap_of(rt), sizeof(struct volt_task) + n * stride);
    if (!s->block)
        return -ENOMEM;
    s->state = SCOPE_NEW;
    s->cancelled = 0;
    s->count = n;
    s->stride = stride;
    for (size_t i = 0; i < n; i++) {
        struct volt_task *t = child(s, i);

        vat_u64_init(&t->state, TASK_NOTIFIED | TASK_JOIN_INTEREST | TASK_REF_ONE);
        t->type = type;
        t->rt = rt;
        t->joiner = s;
        t->home = &child_home;
        if (extra)
            leaves_init(t);
        memset(task_state(t), 0, type->size);
    }
    return 0;
}

void *volt_scope_child(const struct volt_scope *s, size_t i)
{
    assert(i < s->count && "the scope has no such child");
    return task_state(child(s, i));
}

/* A token that the caller owns, to the back of the ring. */
static void queue(struct volt_cx *cx, struct volt_task *t)
{
    if (cx->worker)
        worker_push(cx->worker, t);
    else
        sched_submit(t);
}

/* The children from `first` up to `last`: tokens of their own. */
static void queue_many(struct volt_cx *cx, struct volt_scope *s, size_t first,
                       size_t last)
{
    struct task_chain chain = {0};

    for (size_t i = first; i < last; i++)
        task_chain_push(&chain, child(s, i));
    if (!chain.head)
        return;
    if (cx->worker)
        worker_push_chain(cx->worker, &chain);
    else
        sched_submit_chain(&chain);
}

/* t's poll was the last. True: so was its reference; else it is away, until that is. */
static bool end_here(struct volt_cx *cx, struct volt_task *t)
{
    if (t->type->drop)
        t->type->drop(task_state(t));
    if (__builtin_expect(cx->watched, 0))
        leaves_check_end(t);
    if (TASK_REFS(vat_u64_load(&t->state, VAT_ACQ)) == 1) {
        vat_u64_store(&t->state, TASK_COMPLETE | TASK_JOIN_INTEREST | TASK_REF_ONE,
                      VAT_RLX);
        return true;
    }
    struct task_ended e = task_complete(t, false);
    (void)e; /* a child has no joiner, and its output is the scope's */
    task_unref(t);
    return false;
}

/* Polls a child that nobody else has seen. True: it has ended, and was never away. */
static bool run_here(struct volt_cx *cx, struct volt_task *t, uint32_t *ret_finished)
{
    cx->task = t;
    cx->woken = false;
    vat_u64_store(&t->state, TASK_RUNNING | TASK_JOIN_INTEREST | TASK_REF_ONE, VAT_RLX);
    if (t->type->poll(cx, task_state(t)) == VOLT_READY) {
        ++*ret_finished;
        return end_here(cx, t);
    }
    if (__builtin_expect(cx->watched, 0))
        leaves_check_pending(t, cx->woken, cx->worker ? cx->worker->clock : 0);
    if (cx->woken || task_pending(t))
        queue(cx, t);
    return false;
}

/* Polls have gone on inside this one for long enough. The clock is looked at seldom while
 * they are short. */
static bool slice_over(struct volt_cx *cx)
{
    if (cx->stride_left > 1) {
        cx->stride_left--;
        return false;
    }
    uint64_t now = clock_ns(), start = cx->worker->clock;
    uint64_t since = now - (cx->looked > start ? cx->looked : start);
    bool over = now - start >= SCOPE_SLICE_NS;

    cx->looked = now;
    if (over || since > SCOPE_SLICE_NS / SCOPE_STRIDE)
        cx->stride = 1;
    else if (cx->stride < SCOPE_STRIDE)
        cx->stride++;
    cx->stride_left = cx->stride;
    return over;
}

/* Lays children from the end of [first, last) on the forks, but for one. Returns the new
 * last. */
static size_t lay_out(struct worker *w, struct volt_scope *s, size_t first, size_t last,
                      size_t *laid)
{
    size_t before = last;

    while (last > first + 1 && forks_push(&w->forks, child(s, last - 1)))
        last--;
    if (last != before) {
        *laid += before - last;
        if (w->sched->stealing)
            sched_notify(w->sched, w);
    }
    return last;
}

/* On a worker. Runs the children in place, while nobody else has taken them and there is
 * time. Returns how many have ended and were never away. */
static size_t run_all(struct volt_cx *cx, struct volt_scope *s, uint32_t *ret_finished)
{
    struct worker *w = cx->worker;
    size_t first = 0, last = s->count, laid = 0, ended = 0;

    for (;;) {
        struct volt_task *t = NULL;

        last = lay_out(w, s, first, last, &laid);
        if (first < last) {
            t = child(s, first++);
        } else if (laid > 0) {
            t = forks_take(&w->forks);
            laid--;
        }
        if (!t) /* all are stolen, if they have not all run */
            break;
        ended += run_here(cx, t, ret_finished);
        if (cx->worker != w) /* given away, and with it the forks */
            break;
        if (slice_over(cx)) {
            worker_flush_forks(w);
            break;
        }
    }
    queue_many(cx, s, first, last);
    return ended;
}

/* On a thread of the pool. */
static size_t run_in_turn(struct volt_cx *cx, struct volt_scope *s,
                          uint32_t *ret_finished)
{
    size_t ended = 0;

    for (size_t i = 0; i < s->count; i++)
        ended += run_here(cx, child(s, i), ret_finished);
    return ended;
}

static size_t run(struct volt_cx *cx, struct volt_scope *s)
{
    struct sched *sched = sched_of(cx->task->rt);
    struct worker *w = cx->worker;
    uint32_t finished = 0;
    size_t ended = 0;

    counter_add_n(w, w ? &w->count.spawned : NULL, &sched->spawned, s->count);
    if (cx->depth >= SCOPE_DEPTH) {
        queue_many(cx, s, 0, s->count);
        return 0;
    }
    struct volt_task *parent = cx->task;
    bool woken = cx->woken;

    if (w)
        hold_release(w); /* what follows cannot be bounded */
    cx->depth++;
    ended = w ? run_all(cx, s, &finished) : run_in_turn(cx, s, &finished);
    cx->depth--;
    cx->task = parent;
    cx->woken = woken;
    w = cx->worker;
    if (w)
        counter_add(&w->count.polled, finished);
    counter_add_n(w, w ? &w->count.completed : NULL, &sched->completed, finished);
    return ended;
}

/* The parent's cancellation is its children's. */
static void pass_on(struct volt_scope *s)
{
    if (s->cancelled || !(vat_u64_load(&s->parent->state, VAT_RLX) & TASK_CANCELLED))
        return;
    s->cancelled = 1;
    struct task_chain chain = {0};
    for (size_t i = 0; i < s->count; i++)
        if (task_cancel(child(s, i)))
            task_chain_push(&chain, child(s, i));
    if (chain.head)
        sched_submit_chain(&chain);
}

static enum volt_poll begin(struct volt_cx *cx, struct volt_scope *s)
{
    s->parent = cx->task;
    vat_u64_init(word_of(s), 2 * (s->count + 1) + 1);
    size_t ended = run(cx, s);
    uint64_t mine = 2 * (ended + 1);

    if (ended == s->count || vat_u64_sub(word_of(s), mine, VAT_ACQ) == mine + 1) {
        s->state = SCOPE_DONE;
        return VOLT_READY;
    }
    s->state = SCOPE_WAITS;
    task_shield_begin(cx->task);
    leaf_waits(cx, "volt_scope", s);
    pass_on(s);
    return VOLT_PENDING;
}

static enum volt_poll look_again(struct volt_cx *cx, struct volt_scope *s)
{
    uint64_t word = vat_u64_load(word_of(s), VAT_ACQ);

    assert(s->parent == cx->task && "one task awaits a scope");
    if (word == 0) {
        s->state = SCOPE_DONE;
        task_shield_end(cx->task);
        leaf_seen(cx, s);
        return VOLT_READY;
    }
    if (word == 1) { /* our wake may be the one that this poll has answered */
        vat_pause();
        volt_cx_wake(cx);
    } else {
        pass_on(s);
    }
    return VOLT_PENDING;
}

enum volt_poll volt_scope_poll(struct volt_cx *cx, struct volt_scope *s)
{
    assert(s->state != SCOPE_EMPTY && "the scope is empty");
    if (s->state == SCOPE_NEW)
        return begin(cx, s);
    return s->state == SCOPE_WAITS ? look_again(cx, s) : VOLT_READY;
}

int volt_scope_status(const struct volt_scope *s, size_t i)
{
    assert(i < s->count && "the scope has no such child");
    if (s->state != SCOPE_DONE)
        return -EINPROGRESS;
    return vat_u64_load(&child(s, i)->state, VAT_RLX) & TASK_DROPPED ? -ECANCELED : 0;
}

void volt_scope_fini(struct volt_scope *s)
{
    if (s->state == SCOPE_EMPTY)
        return;
    assert(s->state != SCOPE_WAITS && "once awaited, a scope is awaited to its end");
    for (size_t i = 0; s->state == SCOPE_DONE && i < s->count; i++) {
        struct volt_task *t = child(s, i);

        if (!t->type->drop_output)
            break; /* they are of one type */
        if (volt_scope_status(s, i) == 0)
            t->type->drop_output(task_state(t));
    }
    slab_free(s->block);
    *s = (struct volt_scope){0};
}
