/* Model of lib/task: the state word, wakers and join handles, run by lib/sched's
 * task_run().
 *
 * Oracle: a wake is never lost and publishes what its sender wrote (K-4); exactly one
 * token exists (INV-2); poll and drop never overlap and drop comes once, last; the output
 * is visible to the joiner and destroyed once; nobody touches freed memory and nothing
 * leaks. */
#include <errno.h>
#include <string.h>
#include "executor.h"
#include "mcx.h"

#define WAKERS 2

struct job {
    int busy;              /* annotated: by poll and drop, which must be ordered */
    int output;            /* annotated */
    struct volt_join join; /* of a joiner on its child */
    int polls;
};

static vat_u32 data[WAKERS]; /* relaxed: only the wake orders them */
static struct volt_waker wakers[WAKERS];
static struct volt_join handle;
static int polls, drops, outputs_dropped, joined, cancelled;

static void reset(void)
{
    executor_reset();
    for (int i = 0; i < WAKERS; i++)
        vat_u32_init(&data[i], 0);
    memset(wakers, 0, sizeof(wakers));
    handle.task = NULL;
    polls = drops = outputs_dropped = joined = cancelled = 0;
}

static void drop_job(void *state)
{
    struct job *j = state;

    VAT_WR(&j->busy);
    drops++;
    volt_join_fini(&j->join);
}

static void drop_output(void *state)
{
    struct job *j = state;

    VAT_WR(&j->output);
    MCX_CHECK(j->output == 7);
    j->output = 0;
    outputs_dropped++;
}

/* --- wakers ------------------------------------------------------------------------- */

static enum volt_poll poll_data(struct volt_cx *cx, void *state)
{
    struct job *j = state;

    (void)cx;
    VAT_WR(&j->busy);
    MCX_CHECK(drops == 0);
    polls++;
    for (int i = 0; i < WAKERS; i++)
        if (!vat_u32_load(&data[i], VAT_RLX))
            return VOLT_PENDING;
    return VOLT_READY;
}

static const struct volt_task_type data_type = {
    .name = "data",
    .size = sizeof(struct job),
    .poll = poll_data,
    .drop = drop_job,
};

static void setup_wakers(void)
{
    reset();
    struct volt_task *t = executor_spawn(&data_type, NULL, false);

    for (int i = 0; i < WAKERS; i++)
        wakers[i] = executor_waker(t);
}

static void wake(int i)
{
    vat_u32_store(&data[i], 1, VAT_RLX);
    volt_waker_wake(&wakers[i]);
    volt_waker_fini(&wakers[i]);
}

static void waker_0(void)
{
    wake(0);
}

static void waker_1(void)
{
    wake(1);
}

static void finish_wakers(void)
{
    MCX_CHECK(drops == 1);
    MCX_CHECK(mcx_live_objects() == 0);
}

/* --- cancel ------------------------------------------------------------------------- */

static void setup_cancel(void)
{
    reset();
    struct volt_task *t = executor_spawn(&data_type, &handle, false);

    wakers[0] = executor_waker(t);
}

static void canceller(void)
{
    volt_join_cancel(&handle);
    volt_join_fini(&handle);
}

static enum volt_poll poll_shielded(struct volt_cx *cx, void *state)
{
    struct job *j = state;

    VAT_WR(&j->busy);
    MCX_CHECK(drops == 0);
    if (polls++ == 0) {
        volt_shield_begin(cx);
        volt_cx_wake(cx); /* polled again, although cancelled meanwhile */
        return VOLT_PENDING;
    }
    if (polls == 2)
        volt_shield_end(cx);
    return VOLT_PENDING;
}

static const struct volt_task_type shielded_type = {
    .name = "shielded",
    .size = sizeof(struct job),
    .poll = poll_shielded,
    .drop = drop_job,
};

static void setup_shield(void)
{
    reset();
    (void)executor_spawn(&shielded_type, &handle, false);
}

static void finish_shield(void)
{
    MCX_CHECK(polls == 0 || polls >= 2); /* not dropped behind the shield */
    finish_wakers();
}

/* --- join --------------------------------------------------------------------------- */

static enum volt_poll poll_child(struct volt_cx *cx, void *state)
{
    struct job *j = state;

    (void)cx;
    VAT_WR(&j->output);
    j->output = 7;
    return VOLT_READY;
}

static const struct volt_task_type child_type = {
    .name = "child",
    .size = sizeof(struct job),
    .poll = poll_child,
    .drop_output = drop_output,
};

static void read_output(const struct volt_join *join)
{
    struct job *child = volt_join_state(join);

    VAT_RD(&child->output);
    MCX_CHECK(child->output == 7);
    joined++;
}

static enum volt_poll poll_joiner(struct volt_cx *cx, void *state)
{
    struct job *j = state;

    VAT_WR(&j->busy);
    if (volt_join_poll(cx, &j->join) == VOLT_PENDING)
        return VOLT_PENDING;
    if (volt_join_status(&j->join) == 0)
        read_output(&j->join);
    else
        cancelled++;
    return VOLT_READY;
}

static const struct volt_task_type joiner_type = {
    .name = "joiner",
    .size = sizeof(struct job),
    .poll = poll_joiner,
    .drop = drop_job,
};

/* The joiner, task 0, may be cancelled through `handle` and woken by wakers[0]. */
static void setup_join(void)
{
    reset();
    struct volt_task *t = executor_spawn(&joiner_type, &handle, false);
    struct job *j = task_state(t);

    (void)executor_spawn(&child_type, &j->join, false);
    wakers[0] = executor_waker(t);
}

static void detacher(void)
{
    volt_join_fini(&handle);
}

static void finish_join(void)
{
    MCX_CHECK(drops == 1);
    MCX_CHECK(outputs_dropped == 1);
    volt_waker_fini(&wakers[0]);
    MCX_CHECK(mcx_live_objects() == 0);
}

static void finish_joined(void)
{
    MCX_CHECK(joined == 1);
    finish_join();
}

/* --- a thread that joins ------------------------------------------------------------ */

static void setup_wait(void)
{
    reset();
    (void)executor_spawn(&child_type, &handle, false);
}

static void waiting_thread(void)
{
    MCX_CHECK(volt_join_wait(&handle) == 0);
    read_output(&handle);
    volt_join_fini(&handle);
}

static void finish_wait(void)
{
    MCX_CHECK(outputs_dropped == 1);
    MCX_CHECK(mcx_live_objects() == 0);
}

static const struct mcx_scenario scenarios[] = {
    {
        .name = "wakers",
        .promise = "of two wakes with data none is lost (K-4)",
        .setup = setup_wakers,
        .finish = finish_wakers,
        .threads = {{"executor", executor_run},
                    {"executor 2", executor_run},
                    {"waker", waker_0},
                    {"waker 2", waker_1}},
        .preempt = 1,
        .stale = 1,
    },
    {
        .name = "cancel",
        .promise =
            "cancelling against polls and a wake: dropped once, never polled after",
        .setup = setup_cancel,
        .finish = finish_wakers,
        .threads = {{"executor", executor_run},
                    {"executor 2", executor_run},
                    {"waker", waker_0},
                    {"canceller", canceller}},
        .preempt = 1,
        .stale = 1,
    },
    {
        .name = "shield",
        .promise = "cancellation waits for the end of the shield, then happens (K-5)",
        .setup = setup_shield,
        .finish = finish_shield,
        .threads = {{"executor", executor_run},
                    {"executor 2", executor_run},
                    {"canceller", canceller}},
        .preempt = 2,
        .stale = 1,
    },
    {
        .name = "join",
        .promise = "the joiner is woken by the end and sees the output",
        .setup = setup_join,
        .finish = finish_joined,
        .threads = {{"executor", executor_run},
                    {"executor 2", executor_run},
                    {"detacher", detacher}},
        .preempt = 2,
        .stale = 1,
    },
    {
        .name = "join-cancel",
        .promise =
            "a joiner cancelled meanwhile: output destroyed once, no memory touched",
        .setup = setup_join,
        .finish = finish_join,
        .threads = {{"executor", executor_run},
                    {"executor 2", executor_run},
                    {"canceller", canceller}},
        .preempt = 2,
        .stale = 1,
    },
    {
        .name = "join-wait",
        .promise = "a blocked thread is woken by the end and sees the output",
        .setup = setup_wait,
        .finish = finish_wait,
        .threads = {{"executor", executor_run}, {"thread", waiting_thread}},
        .preempt = 3,
        .stale = 2,
    },
    {0},
};

const struct mcx_model mcx_model = {
    .name = "task",
    .about = "the task word: wake, cancel, complete, join, references",
    .scenarios = scenarios,
};
