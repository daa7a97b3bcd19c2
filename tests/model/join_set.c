/* Model of lib/task/join_set.c: tasks that end, a task that awaits them, and the end of
 * the set against both.
 *
 * Oracle: each task is got once, with its output, whenever it ends; a set that is freed
 * gives its handles up, whichever of its tasks end at that moment; nothing leaks. */
#include <errno.h>
#include <string.h>
#include "executor.h"
#include "mcx.h"
#include <volt/join_set.h>

struct job {
    struct volt_join_set_next next;
    int output; /* annotated */
    int busy;   /* annotated: by poll and drop */
};

static struct volt_join_set *set;
static int got, dropped, outputs, tasks, members;
static struct volt_join handle, late;
static struct volt_waker waker;

static enum volt_poll poll_child(struct volt_cx *cx, void *state)
{
    struct job *j = state;

    (void)cx;
    VAT_WR(&j->output);
    j->output = 7;
    return VOLT_READY;
}

static void drop_child(void *state)
{
    (void)state;
    dropped++;
}

static void drop_output(void *state)
{
    struct job *j = state;

    VAT_WR(&j->output);
    MCX_CHECK(j->output == 7);
    outputs++;
}

static const struct volt_task_type child_type = {
    .name = "child",
    .size = sizeof(struct job),
    .poll = poll_child,
    .drop = drop_child,
    .drop_output = drop_output,
};

static enum volt_poll poll_parent(struct volt_cx *cx, void *state)
{
    struct job *j = state;

    VAT_WR(&j->busy);
    if (!j->next.set)
        volt_join_set_next_init(&j->next, set);
    while (volt_join_set_next_poll(cx, &j->next) == VOLT_READY) {
        if (!j->next.join.task)
            return VOLT_READY;
        struct job *child = volt_join_state(&j->next.join);

        VAT_RD(&child->output);
        MCX_CHECK(child->output == 7);
        MCX_CHECK(volt_join_status(&j->next.join) == 0);
        got++;
    }
    return VOLT_PENDING;
}

static void drop_parent(void *state)
{
    struct job *j = state;

    VAT_WR(&j->busy);
    if (j->next.set)
        volt_join_set_next_fini(&j->next);
    dropped++;
}

static const struct volt_task_type parent_type = {
    .name = "parent",
    .size = sizeof(struct job),
    .poll = poll_parent,
    .drop = drop_parent,
};

static void start(void)
{
    executor_reset();
    set = volt_join_set_new();
    mcx_name(set, 64, "set");
    got = dropped = outputs = tasks = members = 0;
    handle.task = late.task = NULL;
    waker.task = NULL;
}

static void add_child(void)
{
    struct volt_join join;

    (void)executor_spawn(&child_type, &join, false);
    MCX_CHECK(volt_join_set_add(set, &join) == 0 && !join.task);
    tasks++;
    members++;
}

static void setup_free(void)
{
    start();
    add_child();
    add_child();
}

static void setup_await(void)
{
    setup_free();
    waker = executor_waker(executor_spawn(&parent_type, NULL, false));
    tasks++;
}

/* Once it is cancelled nobody keeps the memory of the one that awaits. */
static void setup_cancel(void)
{
    setup_free();
    (void)executor_spawn(&parent_type, &handle, false);
    tasks++;
}

/* One that is added while it may have ended. */
static void setup_add(void)
{
    start();
    (void)executor_spawn(&child_type, &late, false);
    tasks++;
}

static void adder(void)
{
    MCX_CHECK(volt_join_set_add(set, &late) == 0);
    volt_join_set_free(set);
}

static void freer(void)
{
    volt_join_set_free(set);
}

static void canceller(void)
{
    volt_join_cancel(&handle);
    volt_join_fini(&handle);
}

static void spurious(void)
{
    volt_waker_wake(&waker);
}

static void finish(void)
{
    volt_waker_fini(&waker);
    if (dropped != tasks)
        mcx_fail("%d of %d tasks ended: a lost wakeup", dropped, tasks);
    MCX_CHECK(mcx_live_objects() == 0);
}

static void finish_freed(void)
{
    MCX_CHECK(outputs == tasks);
    finish();
}

static void finish_awaited(void)
{
    MCX_CHECK(got == members && outputs == members);
    volt_join_set_free(set);
    finish();
}

static void finish_cancelled(void)
{
    volt_join_set_free(set);
    MCX_CHECK(outputs == members);
    finish();
}

#define EXECUTORS                                                                        \
    {"executor", executor_run},                                                          \
    {                                                                                    \
        "executor 2", executor_run                                                       \
    }

static const struct mcx_scenario scenarios[] = {
    {
        .name = "await",
        .promise = "each task is got once, with its output, and then the set is empty",
        .setup = setup_await,
        .finish = finish_awaited,
        .threads = {EXECUTORS, {"waker", spurious}},
        .preempt = 2,
        .stale = 1,
    },
    {
        .name = "cancel",
        .promise = "the one that awaits is cancelled: no touch afterwards",
        .setup = setup_cancel,
        .finish = finish_cancelled,
        .threads = {EXECUTORS, {"canceller", canceller}},
        .preempt = 2,
        .stale = 1,
    },
    {
        .name = "free",
        .promise = "a set is freed while its tasks end: each handle is given up once",
        .setup = setup_free,
        .finish = finish_freed,
        .threads = {EXECUTORS, {"freer", freer}},
        .preempt = 2,
        .stale = 1,
    },
    {
        .name = "add",
        .promise = "a task ends while it is added, and the set is freed then",
        .setup = setup_add,
        .finish = finish_freed,
        .threads = {{"executor", executor_run}, {"adder", adder}},
        .preempt = 3,
        .stale = 2,
    },
    {0},
};

const struct mcx_model mcx_model = {
    .name = "join_set",
    .about = "join set: tasks that end, and the end of the set",
    .scenarios = scenarios,
};
