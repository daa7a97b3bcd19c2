/* A job is cancelled, whole: for tests without a task. */
#ifndef TESTS_SUPPORT_STEERING_H
#define TESTS_SUPPORT_STEERING_H

#include <errno.h>
#include "daemon/steer/steer.h"

/* As steer_step(). index -1: the whole job or array. */
static inline int cancel_now(struct core *core, const struct asker *asker, uint64_t id,
                             int64_t index)
{
    struct steer_at at = {.verb = STEER_CANCEL};
    int r;

    do
        r = steer_step(core, asker, id, index, &at);
    while (r == -EAGAIN);
    return r;
}

#endif
