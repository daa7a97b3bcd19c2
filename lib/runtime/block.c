/* Blocking inside a poll: the thread gives its worker away.
 *
 * A task of the pool, of no runtime and hence counted nowhere, plays the worker: it is
 * the worker's thread from then on. The thread that gave it away ends its poll as a
 * thread that is no worker, and then leaves worker_main(): the runtime's own thread ends,
 * a thread of the pool goes back to it. */
#include "runtime/runtime.h"

struct stand_in {
    struct worker *worker;
    struct pool *pool;
};

static enum volt_poll stand_in_poll(struct volt_cx *cx, void *state)
{
    struct stand_in *s = state;

    (void)cx;
    worker_main(s->worker);
    pool_stand_in_end(s->pool);
    return VOLT_READY;
}

static const struct volt_task_type stand_in_type = {
    .name = "stand-in",
    .size = sizeof(struct stand_in),
    .poll = stand_in_poll,
};

static void give_away(struct volt_cx *cx, struct worker *w)
{
    struct volt_runtime *rt = cx->task->rt;
    struct stand_in *s = volt_task_new(NULL, &stand_in_type);

    if (!s)
        return;
    *s = (struct stand_in){w, &rt->pool};
    task_begin(task_of(s), false);
    worker_quit(cx); /* first: the other thread may begin at once */
    if (pool_submit_stand_in(&rt->pool, task_of(s)) < 0) {
        worker_resume(cx, w);
        volt_task_discard(s);
    }
}

void volt_block_in_place(struct volt_cx *cx, void (*call)(void *arg), void *arg)
{
    struct worker *w = worker_current(); /* NULL: none, or within another such call */

    if (!w) {
        call(arg);
        return;
    }
    give_away(cx, w);
    worker_set_current(NULL); /* one that it keeps may wait, too: of what others run */
    call(arg);
    worker_set_current(cx->worker);
}
