/* Virtual time: orders the users of a shared resource, by weight.
 *
 * Each user has received a certain amount; the user with the least is next. A start
 * charges the expected amount, so that a burst of starts counts at once; the end replaces
 * it by the actual amount. Charges of running jobs are one sum. An end subtracts their
 * average, so no job stores its charge.
 *
 * A user that was idle resumes at the least settled time of the busy users, or at its own
 * if that is more. So idle time gives no credit, and the user does not wait for jobs that
 * others have only started. */
#ifndef VOLTD_ADMIT_VIRTUAL_H
#define VOLTD_ADMIT_VIRTUAL_H

#include <assert.h>
#include <stdint.h>

#define VIRTUAL_SCALE 1024 /* virtual time of 1 us of the whole resource */

struct virtual
{
    uint64_t settled; /* of ended jobs */
    uint64_t charged; /* of running jobs */
    uint64_t running; /* starts without an end */
};

static inline uint64_t virtual_time(const struct virtual *v)
{
    return v->settled + v->charged;
}

/* Returns the virtual time of `amount` of `capacity` for usec. */
static inline uint64_t virtual_cost(uint64_t usec, uint64_t amount, uint64_t capacity)
{
    return usec * amount * VIRTUAL_SCALE / (capacity ? capacity : 1);
}

static inline void virtual_start(struct virtual *v, uint64_t cost)
{
    v->running++;
    v->charged += cost;
}

/* Removes the average charge of a start. */
static inline void virtual_undo(struct virtual *v)
{
    assert(v->running);
    v->charged -= v->charged / v->running--;
}

static inline void virtual_end(struct virtual *v, uint64_t cost)
{
    virtual_undo(v);
    v->settled += cost;
}

/* Resumes a user that was idle; least: the least settled time of the others. */
static inline void virtual_wake(struct virtual *v, uint64_t least)
{
    if (v->settled < least)
        v->settled = least;
}

#endif
