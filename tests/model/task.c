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
    struct job *heir;      /* who gets the handle after the first poll; or NULL */
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

/* The output may be finished as late as this; nobody else may have seen it. */
static void drop_child(void *state)
{
    struct job *j = state;

    VAT_WR(&j->output);
}

static void drop_any(void *state)
{
    drop_child(state);
    drop_job(state);
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

/* Wakes itself first, and then waits for data[0]. */
static enum volt_poll poll_yields(struct volt_cx *cx, void *state)
{
    struct job *j = state;

    VAT_WR(&j->busy);
    if (polls++ == 0) {
        volt_cx_wake(cx);
        return VOLT_PENDING;
    }
    return vat_u32_load(&data[0], VAT_RLX) ? VOLT_READY : VOLT_PENDING;
}

static const struct volt_task_type yields_type = {
    .name = "yields",
    .size = sizeof(struct job),
    .poll = poll_yields,
    .drop = drop_job,
};

static void setup_yields_wake(void)
{
    reset();
    wakers[0] = executor_waker(executor_spawn(&yields_type, NULL, false));
}

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
    .drop = drop_child,
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

/* The first joiner polls once, then leaves its handle to the second. */
static enum volt_poll poll_mover(struct volt_cx *cx, void *state)
{
    struct job *j = state;

    VAT_WR(&j->busy);
    if (volt_join_poll(cx, &j->join) == VOLT_READY) {
        read_output(&j->join);
        return VOLT_READY;
    }
    VAT_WR(&j->heir->join);
    j->heir->join = j->join;
    vat_u32_store(&data[0], 1, VAT_REL);
    j->join.task = NULL;
    volt_waker_wake(&wakers[1]); /* queues the heir, with the handle */
    return VOLT_READY;
}

static const struct volt_task_type mover_type = {
    .name = "mover",
    .size = sizeof(struct job),
    .poll = poll_mover,
    .drop = drop_job,
};

static enum volt_poll poll_heir(struct volt_cx *cx, void *state)
{
    struct job *j = state;

    if (!vat_u32_load(&data[0], VAT_ACQ))
        return VOLT_PENDING;
    VAT_RD(&j->join);
    return poll_joiner(cx, state);
}

static const struct volt_task_type heir_type = {
    .name = "heir",
    .size = sizeof(struct job),
    .poll = poll_heir,
    .drop = drop_job,
};

static void setup_join_move(void)
{
    reset();
    struct job *j = task_state(executor_spawn(&mover_type, NULL, false));

    (void)executor_spawn(&child_type, &j->join, false);
    struct volt_task *heir = executor_spawn(&heir_type, NULL, false);

    j->heir = task_state(heir);
    wakers[1] = executor_waker(heir);
}

/* The heir remains, never woken, when the child had ended before the first poll. */
static void waking_thread(void)
{
    volt_waker_wake(&wakers[1]);
}

static void finish_join_move(void)
{
    MCX_CHECK(joined == 1);
    MCX_CHECK(outputs_dropped == 1);
    volt_waker_fini(&wakers[1]);
    MCX_CHECK(mcx_live_objects() == (drops == 2 ? 0 : 1));
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

/* Cancelled, then waited for: answered either way. */
static void cancelling_thread(void)
{
    volt_join_cancel(&handle);
    int status = volt_join_wait(&handle);

    if (status == 0)
        read_output(&handle);
    else
        MCX_CHECK(status == -ECANCELED);
    volt_join_fini(&handle);
    mcx_note("status %d", status);
}

static void finish_cancel_wait(void)
{
    MCX_CHECK(outputs_dropped == joined);
    MCX_CHECK(mcx_live_objects() == 0);
}

/* --- every order -------------------------------------------------------------------- */

/* Ends at once, at its first wake, or after having woken itself; behind a shield or
 * not. */
static int behaviour;
enum { ENDS, WAITS, YIELDS, SHIELDS, BEHAVIOURS };

static enum volt_poll poll_any(struct volt_cx *cx, void *state)
{
    struct job *j = state;

    VAT_WR(&j->busy);
    MCX_CHECK(drops == 0);
    VAT_WR(&j->output);
    j->output = 7;
    if (behaviour == WAITS ? vat_u32_load(&data[0], VAT_RLX) != 0
                           : behaviour == ENDS || polls++ > 0) {
        if (behaviour == SHIELDS)
            volt_shield_end(cx);
        return VOLT_READY;
    }
    if (behaviour == SHIELDS)
        volt_shield_begin(cx);
    if (behaviour != WAITS)
        volt_cx_wake(cx);
    return VOLT_PENDING;
}

static const struct volt_task_type any_type = {
    .name = "any",
    .size = sizeof(struct job),
    .poll = poll_any,
    .drop = drop_any,
    .drop_output = drop_output,
};

static void setup_any(int kind)
{
    reset();
    behaviour = kind;
    wakers[0] = executor_waker(executor_spawn(&any_type, &handle, false));
}

static void setup_ends(void)
{
    setup_any(ENDS);
}

static void setup_waits(void)
{
    setup_any(WAITS);
}

static void setup_yields(void)
{
    setup_any(YIELDS);
}

static void setup_shields(void)
{
    setup_any(SHIELDS);
}

static int woken, was_cancelled;

/* --- what a canceller wrote --------------------------------------------------------- */

static int written; /* annotated */

static enum volt_poll poll_never(struct volt_cx *cx, void *state)
{
    (void)cx, (void)state;
    return VOLT_PENDING;
}

static void drop_written(void *state)
{
    VAT_RD(&written);
    drop_job(state);
}

static const struct volt_task_type never_type = {
    .name = "never",
    .size = sizeof(struct job),
    .poll = poll_never,
    .drop = drop_written,
};

static void setup_never(void)
{
    reset();
    (void)executor_spawn(&never_type, &handle, false);
}

static void writing_canceller(void)
{
    VAT_WR(&written);
    canceller();
}

static void holder_of_waker(void)
{
    struct volt_waker clone = {0};

    woken = 0;
    vat_u32_store(&data[0], 1, VAT_RLX);
    switch (mcx_choose(4)) {
    case 0:
        break;
    case 1:
        woken = 1;
        volt_waker_wake(&wakers[0]);
        break;
    case 2: /* twice, the second time by a clone that outlives the original */
        woken = 1;
        clone = volt_waker_ref(&wakers[0]);
        volt_waker_wake(&wakers[0]);
        volt_waker_fini(&wakers[0]);
        volt_waker_wake(&clone);
        break;
    case 3: /* a clone that is never used */
        clone = volt_waker_ref(&wakers[0]);
        break;
    }
    volt_waker_fini(&wakers[0]);
    volt_waker_fini(&clone);
}

static void holder_of_handle(void)
{
    was_cancelled = mcx_choose(2);
    if (was_cancelled)
        volt_join_cancel(&handle);
    if (mcx_choose(2)) {
        int status = volt_join_status(&handle);

        MCX_CHECK(status == 0 || status == -EINPROGRESS ||
                  (status == -ECANCELED && was_cancelled));
        if (status == 0)
            read_output(&handle);
    }
    volt_join_fini(&handle);
}

static void finish_any(void)
{
    if (!woken && !was_cancelled && behaviour == WAITS && drops == 0) {
        MCX_CHECK(mcx_live_objects() == 1); /* nothing has woken it: it waits for ever */
        return;
    }
    MCX_CHECK(drops == 1);
    MCX_CHECK(outputs_dropped <= 1);
    MCX_CHECK(was_cancelled || outputs_dropped == 1);
    MCX_CHECK(mcx_live_objects() == 0);
}

/* --- clones of a waker -------------------------------------------------------------- */

static void setup_clones(void)
{
    reset();
    struct volt_task *t = executor_spawn(&data_type, NULL, false);

    wakers[0] = executor_waker(t);
    wakers[1] = volt_waker_ref(&wakers[0]);
}

/* Clones its clone, drops the old one, wakes by the new one. */
static void cloner_0(void)
{
    struct volt_waker clone = volt_waker_ref(&wakers[0]);

    volt_waker_fini(&wakers[0]);
    vat_u32_store(&data[0], 1, VAT_RLX);
    volt_waker_wake(&clone);
    volt_waker_fini(&clone);
}

static void cloner_1(void)
{
    struct volt_waker clone = volt_waker_ref(&wakers[1]);

    vat_u32_store(&data[1], 1, VAT_RLX);
    volt_waker_wake(&wakers[1]);
    volt_waker_fini(&wakers[1]);
    volt_waker_wake(&clone); /* the task may have ended */
    volt_waker_fini(&clone);
}

#define ANY(kind, set)                                                                   \
    {                                                                                    \
        .name = "any-order-" kind,                                                       \
        .promise = "wake, clone, cancel, look, drop of both sides, in every order",      \
        .setup = set, .finish = finish_any,                                              \
        .threads = {{"executor", executor_run},                                          \
                    {"executor 2", executor_run},                                        \
                    {"waker", holder_of_waker},                                          \
                    {"handle", holder_of_handle}},                                       \
        .preempt = 1, .stale = 1,                                                        \
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
        .name = "yield-wake",
        .promise = "a wake with data that finds the task queued by itself is not lost",
        .setup = setup_yields_wake,
        .finish = finish_wakers,
        .threads = {{"executor", executor_run},
                    {"executor 2", executor_run},
                    {"waker", waker_0}},
        .preempt = 2,
        .stale = 2,
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
        .name = "cancel-publish",
        .promise = "the drop of a cancelled task sees what its canceller wrote",
        .setup = setup_never,
        .finish = finish_wakers,
        .threads = {{"executor", executor_run}, {"canceller", writing_canceller}},
        .preempt = 3,
        .stale = 2,
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
    {
        .name = "join-move",
        .promise = "a handle that moves to another task wakes the new one, frees the old",
        .setup = setup_join_move,
        .finish = finish_join_move,
        .threads = {{"executor", executor_run},
                    {"executor 2", executor_run},
                    {"waker", waking_thread}},
        .preempt = 1,
        .stale = 1,
    },
    {
        .name = "cancel-wait",
        .promise = "a thread that cancels and waits is answered, whichever comes first",
        .setup = setup_wait,
        .finish = finish_cancel_wait,
        .threads = {{"executor", executor_run}, {"thread", cancelling_thread}},
        .preempt = 3,
        .stale = 1,
    },
    {
        .name = "clones",
        .promise = "clones of a waker, used and dropped by two threads: as the original",
        .setup = setup_clones,
        .finish = finish_wakers,
        .threads = {{"executor", executor_run},
                    {"executor 2", executor_run},
                    {"cloner", cloner_0},
                    {"cloner 2", cloner_1}},
        .preempt = 1,
        .stale = 1,
    },
    ANY("ends", setup_ends),
    ANY("waits", setup_waits),
    ANY("yields", setup_yields),
    ANY("shields", setup_shields),
    {0},
};

const struct mcx_model mcx_model = {
    .name = "task",
    .about = "the task word: wake, cancel, complete, join, references",
    .scenarios = scenarios,
};
