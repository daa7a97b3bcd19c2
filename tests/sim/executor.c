/* The runtime for one thread: the functions of libvolt that spawn, wake and sleep, over
 * the real tasks, leaves and timer wheel. Which of the tasks that are ready is polled
 * next is chance. A task for blocking calls is one among them. */
#include "tests/sim/sim.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "driver/driver.h"
#include "driver/wheel.h"
#include "sched/live.h"
#include "sched/sched.h"
#include "task/leaves.h"

#define POLL_USEC 30 /* a poll takes so long at most */

struct token {
    struct volt_task *task;
    bool blocking;
};

struct volt_runtime {
    struct heap *heap; /* first: heap_of() */
    struct live live;
    struct wheel wheel;
    struct token *ready;
    size_t n, capacity;
    unsigned depth; /* of polls */
    bool closed;
};

struct volt_runtime *executor_new(void)
{
    struct volt_runtime *rt = aligned_alloc(VOLT_CACHE_LINE,
                                            (sizeof(*rt) + VOLT_CACHE_LINE - 1) /
                                                VOLT_CACHE_LINE * VOLT_CACHE_LINE);

    memset(rt, 0, sizeof(*rt));
    rt->heap = heap_new(1);
    rt->heap->extra = LEAVES_BYTES; /* leaves that are forgotten are found */
    slab_bind(rt->heap, 0);
    live_init(&rt->live);
    wheel_init(&rt->wheel, volt_now_usec());
    rt->wheel.watched = true;
    return rt;
}

void executor_abandon(struct volt_runtime *rt)
{
    sim_free(rt->ready);
    rt->ready = NULL;
    rt->n = rt->capacity = 0;
}

void executor_free(struct volt_runtime *rt)
{
    sim_free(rt->ready);
    slab_unbind();
    heap_release(rt->heap);
    free(rt);
}

static void make_ready(struct volt_task *t, bool blocking)
{
    struct volt_runtime *rt = t->rt;

    if (rt->n == rt->capacity) {
        rt->capacity = rt->capacity ? 2 * rt->capacity : 64;
        rt->ready = sim_grow(rt->ready, rt->capacity * sizeof(*rt->ready));
    }
    rt->ready[rt->n++] = (struct token){t, blocking};
}

void sched_submit(struct volt_task *t)
{
    make_ready(t, false);
}

void sched_submit_chain(struct task_chain *chain)
{
    struct volt_task *t;

    while ((t = task_chain_pop(chain)))
        make_ready(t, false);
}

bool sched_is_worker(void)
{
    return false;
}

/* --- polls -------------------------------------------------------------------------------- */

static void end(struct volt_task *t, bool dropped)
{
    const struct volt_task_type *type = t->type;
    struct volt_runtime *rt = t->rt;
    void *state = task_state(t);

    if (type->drop)
        type->drop(state);
    leaves_check_end(t);
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
        live_less(&rt->live);
}

static void run(struct token token)
{
    struct volt_task *t = token.task;
    struct volt_cx cx = {.task = t,
                         .budget = VOLT_BUDGET_PER_POLL,
                         .unbudgeted = token.blocking,
                         .watched = true};

    if (task_start(t) == TASK_CANCEL) {
        end(t, true);
        return;
    }
    if (t->type->poll(&cx, task_state(t)) == VOLT_READY)
        end(t, false);
    else if (cx.woken || task_pending(t))
        make_ready(t, token.blocking);
}

static bool fire(struct volt_runtime *rt)
{
    struct task_chain chain = {0};

    wheel_fire(&rt->wheel, volt_now_usec(), &chain);
    bool any = chain.head != NULL;
    sched_submit_chain(&chain);
    return any;
}

/* Mostly in the order in which they became ready. */
static struct token take(struct volt_runtime *rt)
{
    size_t i = sim_one_in(3) ? sim_below((uint32_t)rt->n) : 0;
    struct token t = rt->ready[i];

    memmove(rt->ready + i, rt->ready + i + 1, (--rt->n - i) * sizeof(*rt->ready));
    return t;
}

bool executor_step(void)
{
    struct volt_runtime *rt = sim.rt;

    if (!rt || (fire(rt), rt->n == 0))
        return false;
    struct token t = take(rt);
    sim_step();
    rt->depth++;
    run(t);
    rt->depth--;
    sim.now += sim_below(POLL_USEC);
    return true;
}

uint64_t executor_next_timer(void)
{
    uint64_t next = sim.rt ? wheel_next(&sim.rt->wheel) : UINT64_MAX;

    return next == WHEEL_NEVER ? UINT64_MAX : next - 1000000; /* world.c's clock */
}

/* --- what libvolt offers ------------------------------------------------------------------ */

/* False: the runtime is closing, and the task has ended. */
static bool admit(struct volt_task *t, struct volt_join *ret_join)
{
    if (ret_join)
        ret_join->task = t;
    task_begin(t, ret_join != NULL);
    if (!live_closing(&t->rt->live))
        return true;
    enum task_start verdict = task_start(t);
    (void)verdict; /* dropped whatever it is */
    end(t, true);
    return false;
}

int volt_task_spawn(void *state, struct volt_join *ret_join)
{
    struct volt_task *t = task_of(state);

    if (!admit(t, ret_join))
        return -ESHUTDOWN;
    make_ready(t, false);
    return 0;
}

int volt_task_spawn_blocking(void *state, struct volt_join *ret_join)
{
    struct volt_task *t = task_of(state);

    if (!admit(t, ret_join))
        return -ESHUTDOWN;
    make_ready(t, true);
    return 0;
}

int volt_task_start(struct volt_runtime *rt, const struct volt_task_type *type,
                    const void *state, struct volt_join *ret_join)
{
    void *copy = volt_task_new(rt, type);

    if (ret_join)
        ret_join->task = NULL;
    if (!copy)
        return -ENOMEM;
    memcpy(copy, state, type->size);
    return volt_task_spawn(copy, ret_join);
}

int volt_task_spawn_all(void *const states[], size_t n)
{
    int r = 0;

    for (size_t i = 0; i < n; i++)
        if (volt_task_spawn(states[i], NULL) < 0)
            r = -ESHUTDOWN;
    return r;
}

/* Others may go on meanwhile. */
void volt_block_in_place(struct volt_cx *cx, void (*call)(void *arg), void *arg)
{
    (void)cx;
    if (sim.rt->depth < 3 && sim_one_in(2))
        (void)executor_step();
    call(arg);
    if (sim.rt->depth < 3 && sim_one_in(2))
        (void)executor_step();
}

struct driver *runtime_driver(const struct volt_runtime *rt)
{
    return (struct driver *)(uintptr_t)rt; /* for driver_arm() alone */
}

unsigned worker_wheel(const struct worker *w)
{
    (void)w;
    return 0;
}

uint64_t worker_clock_usec(const struct worker *w)
{
    (void)w;
    return 0;
}

int driver_arm(struct driver *d, unsigned wheel, struct volt_sleep *s,
               struct volt_task *task, uint64_t now_usec)
{
    struct volt_runtime *rt = (struct volt_runtime *)(void *)d;
    int r = wheel_insert(&rt->wheel, s, task, now_usec);

    (void)wheel;
    return r < 0 ? r : 0;
}

int volt_runtime_shutdown(struct volt_runtime *rt, uint64_t timeout_usec)
{
    struct task_chain chain = {0};

    (void)timeout_usec;
    if (rt->closed)
        return 0;
    rt->closed = true;
    live_close(&rt->live, rt->heap, &chain);
    wheel_close(&rt->wheel, &chain);
    sched_submit_chain(&chain);
    while (executor_step())
        ;
    if (!vat_u32_load(&rt->live.quiet, VAT_ACQ))
        sim_violation("the runtime is closed, and a task does not end");
    return 0;
}
