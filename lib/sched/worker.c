/* The loop of a worker. Before each poll, in this order: what is due, the LIFO slot,
 * the ring, the global queue, others' rings; then sleep.
 *
 * What can become due counts polls: a tick of 128 polls, after which maintenance follows,
 * and the interval of the global queue. Both are bounded by the clock, too: maintenance
 * after 500 us, the global queue after 1 ms, because a poll may be any length (F-A2,
 * F-A4). `quick` is the only count that a poll touches: the number of polls until any of
 * this can have changed, about 4 us of them and 8 at most. Then a counter of the
 * processor tells, for less than half of the price, whether it is worth a look at the
 * clock.
 *
 * The periodic look at the global queue comes before the worker's own tasks: after them
 * it would never be reached (F-A1, F-A3). So does a glance, each time that the clock is
 * looked at: one task from outside, if there is any, runs at once. It costs two lines
 * that are in the cache, and saves a task the way through a ring. */
#include "base/clock.h"
#include "sched/local.h"
#include "task/leaves.h"

#include <volt/runtime.h>

#define GLANCE_NS      4000
#define STRIDE_MOST    8 /* polls between two looks at the clock */
#define MAINTENANCE_NS 500000
#define OLDEST_NS      1000000 /* between two children that go to the ring */

static void set_clock(struct worker *w, uint64_t now)
{
    w->clock = now;
    w->ticks = clock_ticks();
    vat_u64_store(&w->count.clock, now, VAT_RLX);
}

static void look_at_clock(struct worker *w)
{
    uint64_t now = clock_ns(), passed = now - w->clock;

    if (passed > vat_u64_load(&w->count.longest_ns, VAT_RLX)) {
        vat_u64_store(&w->count.longest_ns, passed, VAT_RLX);
        vat_ptr_store(&w->count.longest, vat_ptr_load(&w->count.running, VAT_RLX),
                      VAT_RLX);
    }
    if (passed > LONG_POLL_NS)
        counter_add(&w->count.long_polls, 1);
    set_clock(w, now);
}

static void set_quick(struct worker *w)
{
    uint32_t n = w->backlog ? 2 : w->stride; /* by turns from outside and from here */

    if (n > w->tick_left)
        n = w->tick_left;
    if (n > w->global_left)
        n = w->global_left;
    w->quick = w->quick_set = n;
}

static void settle_quick(struct worker *w)
{
    uint32_t n = w->quick_set - w->quick;

    w->quick_set = w->quick;
    w->tick_left -= n;
    w->global_left -= n;
    w->segment_polls += n;
}

/* So many polls take about as long as may pass between two glances. */
static void set_stride(struct worker *w)
{
    double n = GLANCE_NS / w->global_interval.avg_ns;

    w->stride = n < 1 ? 1 : n > STRIDE_MOST ? STRIDE_MOST : (uint32_t)n;
}

/* From here on time is the tasks'. */
static void segment_begin(struct worker *w)
{
    set_clock(w, clock_ns());
    w->segment_start = w->clock;
    w->segment_ticks = w->ticks;
    w->segment_polls = 0;
}

/* From a segment: shorter ones than a microsecond tell the rate badly. */
static void set_glance_ticks(struct worker *w, uint64_t ns)
{
    if (ns >= GLANCE_NS / 4)
        w->glance_ticks = (w->ticks - w->segment_ticks) * GLANCE_NS / ns;
}

static void segment_end(struct worker *w)
{
    settle_quick(w);
    if (w->segment_polls == 0)
        return;
    look_at_clock(w);
    uint64_t ns = w->clock - w->segment_start;
    global_interval_update(&w->global_interval, w->segment_polls, ns);
    set_stride(w);
    set_glance_ticks(w, ns);
    w->segment_polls = 0;
    vat_u64_store(&w->count.avg_ns, (uint64_t)w->global_interval.avg_ns, VAT_RLX);
    vat_u32_store(&w->count.interval, w->global_interval.polls, VAT_RLX);
}

/* The end of a tick. */
static void maintain(struct worker *w)
{
    segment_end(w);
    vat_ptr_store(&w->count.running, NULL, VAT_RLX);
    worker_poll_events(w, w->clock);
    w->tick_left = VOLT_BUDGET_PER_TICK;
    w->last_maintenance = w->clock;
    if (w->has_children && w->clock - w->last_oldest >= OLDEST_NS) {
        worker_flush_oldest(w);
        w->last_oldest = w->clock;
    }
    segment_begin(w);
}

/* Neither the polls nor the time until anything is due have passed. */
static bool early(const struct worker *w)
{
    return w->tick_left && w->global_left && !w->backlog &&
           clock_ticks() - w->ticks < w->glance_ticks;
}

/* quick has run out. Returns a task of the global queue when it was its turn, or when one
 * had come from outside. */
static struct volt_task *due(struct worker *w)
{
    struct volt_task *t = NULL;

    settle_quick(w);
    if (w->apart & WORKER_TIMING)
        hold_after_poll(w);
    w->decided = NULL;
    if (early(w)) {
        set_quick(w);
        return NULL;
    }
    look_at_clock(w);
    if (w->tick_left == 0 || w->clock - w->last_maintenance >= MAINTENANCE_NS)
        maintain(w);
    if (w->global_left == 0 ||
        w->clock - w->last_global >= VOLT_TARGET_GLOBAL_LATENCY_NS) {
        t = worker_take_global(w, INJECT_PERIODIC);
        w->last_global = w->last_glance = w->clock;
        w->global_left = w->global_interval.polls;
    } else if (w->backlog || w->clock - w->last_glance >= GLANCE_NS) {
        t = worker_glance(w);
        w->last_glance = w->clock;
    }
    set_quick(w);
    return t;
}

static void count_end(struct worker *w, struct sched *s, bool dropped)
{
    if (dropped)
        counter_add_at(w, w ? &w->count.cancelled : NULL, &s->cancelled);
    counter_add_at(w, w ? &w->count.completed : NULL, &s->completed);
}

static inline void end_task(struct worker *w, struct volt_task *t, bool dropped,
                            bool counted)
{
    const struct volt_task_type *type = t->type;
    struct sched *s = sched_of(t->rt);
    void *state = task_state(t);

    if (type->drop)
        type->drop(state);
    if (w && __builtin_expect(w->cx->watched, 0))
        leaves_check_end(t);
    /* Before a joiner can see the end, so that spawned = completed + live for it. */
    if (counted && s)
        count_end(w, s, dropped);
    struct task_ended e = task_complete(t, dropped);
    if (e.drop_output && type->drop_output)
        type->drop_output(state);
    if (e.joiner)
        task_wake_joiner(e.joiner);
    if (e.last)
        slab_free(t);
    else
        task_unref(t);
    if (e.listed)
        live_less(&s->live);
}

void task_end(struct worker *w, struct volt_task *t, bool dropped, bool counted)
{
    end_task(w, t, dropped, counted);
}

/* Inlined into the loop of workers. */
static inline enum task_ran run_task(struct volt_cx *cx, struct volt_task *t)
{
    if (task_start(t) == TASK_CANCEL) {
        task_end(cx->worker, t, true, true);
        return TASK_RAN_NOT;
    }
    cx->task = t;
    cx->woken = false;
    cx->served = NULL;
    if (t->type->poll(cx, task_state(t)) == VOLT_PENDING) {
        if (__builtin_expect(cx->watched, 0))
            leaves_check_pending(t, cx->woken, cx->worker ? cx->worker->clock : 0);
        if (cx->woken)
            return TASK_RAN_AGAIN;
        return task_pending(t) ? TASK_RAN_AGAIN : TASK_RAN;
    }
    end_task(cx->worker, t, false, true);
    return TASK_RAN;
}

enum task_ran task_run(struct volt_cx *cx, struct volt_task *t)
{
    return run_task(cx, t);
}

/* False: the thread is this worker no more; its task has handed the worker over.
 * *ret_again: t, if it has woken itself, and is not queued yet. */
static inline bool run(struct worker *w, struct volt_cx *cx, struct volt_task *t,
                       struct volt_task **ret_again)
{
    vat_ptr_store(&w->count.running, (void *)(uintptr_t)t->type, VAT_RLX);
    w->quick--;
    vat_u32_store(&w->poll_seq, vat_u32_load(&w->poll_seq, VAT_RLX) + 1, VAT_RLX);
    enum task_ran ran = run_task(cx, t);

    if (!cx->worker) {
        if (ran == TASK_RAN_AGAIN)
            sched_submit(t);
        return false;
    }
    if (__builtin_expect(w->children, 0)) {
        if (!cx->awaits)
            worker_disown(w);
        w->children = 0;
    }
    if (ran != TASK_RAN_NOT)
        counter_add(&w->count.polled, 1);
    if (ran == TASK_RAN_AGAIN)
        *ret_again = t;
    if (cx->exhausted) {
        cx->exhausted = false;
        counter_add(&w->count.budget_exhausted, 1);
    }
    return true;
}

/* A task that has woken itself comes behind the others (F-A7), t being the first of them.
 * Alone it goes on at once, and nobody is woken to take it away. */
static inline struct volt_task *run_again(struct worker *w, struct volt_task *again,
                                          struct volt_task *t)
{
    if (!t)
        return again;
    worker_push(w, again);
    return t;
}

/* Nothing to run anywhere, and memory may be free: a portion of it is put in order. True:
 * there is more, but look for tasks first. */
static bool trim(struct worker *w)
{
    if (w->trim_at == 0 || clock_ns() < w->trim_at)
        return false;
    if (slab_trim(w->sched->heap))
        return true;
    w->trim_at = 0;
    w->trimmed = vat_u64_load(&w->count.completed, VAT_RLX);
    return false;
}

/* Nothing to run here: look elsewhere, else sleep. */
static struct volt_task *go_out(struct worker *w)
{
    struct volt_task *t = NULL;
    bool surplus = false;

    if (!(w->apart & WORKER_OUT)) {
        hold_leave(w);
        worker_search_again(w);
        segment_end(w);
        vat_ptr_store(&w->count.running, NULL, VAT_RLX);
        w->apart = WORKER_OUT;
        surplus = worker_is_surplus(w);
    }
    if (!surplus)
        t = worker_search(w);
    if (!t && trim(w)) {
        worker_poll_events(w, clock_ns()); /* of a burst it takes long: timers go on */
        return NULL;
    }
    if (!t)
        t = worker_spin(w);
    if (!t)
        slab_flush();
    if (!t && !vat_u32_load(&w->sched->stop, VAT_RLX))
        t = worker_park(w);
    return t;
}

/* With work again, and the global queue just looked at. */
static void come_back(struct worker *w, const struct volt_task_type *type)
{
    w->apart &= ~WORKER_OUT;
    worker_search_found(w, type);
    worker_fresh_budget(w);
    uint64_t left = w->clock;
    segment_begin(w);
    worker_spin_learn(w, w->clock - left);
    w->last_global = w->last_glance = w->searches_since = w->clock;
    w->global_left = w->global_interval.polls;
    set_quick(w);
}

/* The worker comes back with work, or searches still; or a wake is held back, or polls
 * are timed. */
static __attribute__((noinline)) void before_poll(struct worker *w,
                                                  const struct volt_task *t)
{
    if (w->apart & WORKER_OUT)
        come_back(w, t->type);
    else if (w->apart & WORKER_SEARCHES)
        worker_search_found(w, t->type);
    if (!(w->apart & ~WORKER_SEARCHES))
        return;
    hold_before_poll(w, t);
    w->quick_set -= w->quick - 1; /* due() comes after this poll */
    w->quick = 1;
}

/* It searches still, and no more: of tasks of one type that is asked once until due(). */
static inline bool decided(const struct worker *w, const struct volt_task *t)
{
    return w->apart == WORKER_SEARCHES && w->decided == t->type;
}

void worker_quit(struct volt_cx *cx)
{
    worker_flush_forks(cx->worker); /* which may hold a wake back */
    hold_leave(cx->worker);         /* its poll is none any more that can be bounded */
    worker_search_end(cx->worker);
    slab_unbind();
    worker_set_current(NULL);
    cx->worker = NULL;
}

void worker_resume(struct volt_cx *cx, struct worker *w)
{
    cx->worker = w;
    worker_set_current(w);
    slab_bind(w->sched->heap, w->index);
}

void worker_main(struct worker *w)
{
    struct sched *s = w->sched;
    struct volt_cx cx = {.worker = w,
                         .budget = VOLT_BUDGET_PER_POLL,
                         .watched = s->heap && s->heap->extra};
    struct volt_task *t, *again = NULL;

    w->cx = &cx;
    w->quick = w->quick_set = w->segment_polls = 0; /* of another thread, perhaps */
    vat_ptr_store(&w->count.running, NULL, VAT_RLX);
    worker_set_current(w);
    slab_bind(s->heap, w->index);
    w->apart = WORKER_OUT;
    w->tick_left = VOLT_BUDGET_PER_TICK;
    set_stride(w);
    w->last_maintenance = clock_ns();
    while (!vat_u32_load(&s->stop, VAT_RLX)) {
        t = w->quick == 0 && !(w->apart & WORKER_OUT) ? due(w) : NULL;

        if (!t)
            t = worker_local(w);
        if (again)
            t = run_again(w, again, t);
        again = NULL;
        if (!t)
            t = worker_take_global(w, INJECT_IDLE);
        if (!t)
            t = go_out(w);
        if (!t)
            continue;
        if (__builtin_expect(w->apart, 0) && !decided(w, t))
            before_poll(w, t);
        if (!run(w, &cx, t, &again))
            return;
    }
    if (again) /* that is left to the end of the runtime */
        worker_push(w, again);
    slab_unbind();
    worker_set_current(NULL);
}
