/* The oracle of pauses: which attempts are paused by the facts that are durable. PAUSE is of
 * an attempt that runs and is to go on, RESUME of one that is paused; and nothing stands
 * still before its PAUSE is durable. What is forgotten standing still never ends, which
 * the history notices. And of holds: that calls are told what they can make something of. */
#include "tests/sim/sim.h"

#include <errno.h>

#include "daemon/job/event.h"

struct paused {
    uint64_t id;
    int64_t index;
    bool runs, stops, is, was;
};

static struct {
    struct paused *all;
    size_t n;
} pauses;

void pauses_reset(void)
{
    sim_free(pauses.all);
    pauses.all = NULL;
    pauses.n = 0;
}

static struct paused *find(const struct job_key *key)
{
    for (size_t i = 0; i < pauses.n; i++)
        if (pauses.all[i].id == key->id && pauses.all[i].index == key->index)
            return &pauses.all[i];
    SIM_PUSH(pauses.all, pauses.n, ((struct paused){.id = key->id, .index = key->index}));
    return &pauses.all[pauses.n - 1];
}

static void turn(struct paused *p, const struct job_key *key, const struct job_event *ev)
{
    const bool on = ev->type == JOB_EV_PAUSE;

    if (!p->runs || p->stops || p->is == on)
        sim_violation("job %llu_%lld: %s out of order", (unsigned long long)key->id,
                      (long long)key->index, job_event_name(ev->type));
    p->is = on;
    p->was = true;
}

bool pauses_fact(const struct job_key *key, const struct job_event *ev)
{
    struct paused *p = find(key);

    switch (ev->type) {
    case JOB_EV_STARTED:
        p->runs = true;
        break;
    case JOB_EV_PAUSE:
    case JOB_EV_RESUME:
        turn(p, key, ev);
        break;
    case JOB_EV_CANCEL:
    case JOB_EV_TIMEOUT:
    case JOB_EV_OUTPUT_LIMIT:
        p->stops = true;
        break;
    case JOB_EV_STARTING:
    case JOB_EV_EXITED:
        *p = (struct paused){.id = key->id, .index = key->index};
        break;
    default:
        break;
    }
    return ev->type == JOB_EV_PAUSE || ev->type == JOB_EV_RESUME;
}

void pauses_stop(const struct job_key *key)
{
    if (!find(key)->was)
        sim_violation("job %llu_%lld stands still, and no PAUSE is durable",
                      (unsigned long long)key->id, (long long)key->index);
}

bool pauses_any(void)
{
    for (size_t i = 0; i < pauses.n; i++)
        if (pauses.all[i].is && !pauses.all[i].stops)
            return true;
    return false;
}

int pauses_answered(uint64_t id, int r)
{
    static const int understood[] = {
        0,        -EAGAIN, /* a portion of it */
        -EALREADY, -EBUSY, -EPERM, -ESRCH, -ENOENT, -ENOTDIR, -EDQUOT, /* why not */
        -ENOMEM,  -ENOSPC, -EIO}; /* what the store says as well */

    for (size_t i = 0; i < sizeof(understood) / sizeof(understood[0]); i++)
        if (r == understood[i])
            return r;
    sim_violation("job %llu is held or released, and the answer is %d",
                  (unsigned long long)id, r);
    return r;
}
