#include "tests/support/fn_task.h"

#include <stdio.h>
#include <stdlib.h>

static enum volt_poll poll_it(struct volt_cx *cx, void *state)
{
    struct fn_task *f = state;

    return f->poll(cx, f);
}

static void drop_it(void *state)
{
    struct fn_task *f = state;

    if (f->drop)
        f->drop(f);
}

static void drop_output_of_it(void *state)
{
    struct fn_task *f = state;

    if (f->drop_output)
        f->drop_output(f);
}

static const struct volt_task_type type = {
    .name = "fn",
    .size = sizeof(struct fn_task),
    .poll = poll_it,
    .drop = drop_it,
    .drop_output = drop_output_of_it,
};

struct fn_task *fn_task_new(struct volt_runtime *rt,
                            enum volt_poll (*poll)(struct volt_cx *cx, struct fn_task *f),
                            void *arg)
{
    struct fn_task *f = volt_task_new(rt, &type);

    FN_CHECK(f);
    f->poll = poll;
    f->arg = arg;
    return f;
}

int fn_spawn(struct volt_runtime *rt,
             enum volt_poll (*poll)(struct volt_cx *cx, struct fn_task *f), void *arg,
             struct volt_join *join)
{
    return volt_task_spawn(fn_task_new(rt, poll, arg), join);
}

void fn_check_failed(const char *file, int line, const char *what)
{
    (void)fprintf(stderr, "%s:%d: %s\n", file, line, what);
    abort();
}
