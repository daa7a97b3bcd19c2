/* See tries.h. */
#include "daemon/job/tries.h"

#include <errno.h>

#define REST_FIRST   UINT64_C(100000)
#define REST_DOUBLES 5 /* to 3.2 s */
#define KILL_FIRST   UINT64_C(1000000)
#define KILL_LAST    UINT64_C(60000000)

bool tries_passing(int r)
{
    return r == -EAGAIN || r == -ENOMEM || r == -ENOSPC || r == -ENFILE || r == -EMFILE ||
           r == -ENOBUFS || r == -ETOOMANYREFS;
}

void tries_lost(struct tries *t)
{
    t->due = 1;
}

void tries_refused(struct tries *t, bool passing)
{
    if (!passing)
        t->refused = TRIES_MAX;
    else if (t->refused < TRIES_MAX)
        t->refused++;
    t->due = 1;
}

bool tries_are_over(const struct tries *t)
{
    return t->refused >= TRIES_MAX;
}

uint64_t tries_rest(struct tries *t)
{
    if (t->due == 0)
        return 0;
    t->due = 0;
    if (t->rests <= REST_DOUBLES)
        t->rests++;
    return REST_FIRST << (t->rests - 1 < REST_DOUBLES ? t->rests - 1 : REST_DOUBLES);
}

uint64_t tries_kill_rest(unsigned n)
{
    uint64_t usec = n < 6 ? KILL_FIRST << n : KILL_LAST;

    return usec < KILL_LAST ? usec : KILL_LAST;
}
