/* Virtual time: whose turn it is among those that share something, by weight.
 *
 * Each has had a certain amount; the one with the least is next. A start charges what it
 * is expected to take, so that a burst of starts counts at once; the end settles what it
 * took instead. What runs was charged as one sum: an end takes the average out of it, so
 * no job has to remember its charge.
 *
 * One that was idle comes back at the least settled time of those that are not, or at its
 * own if that is more: having slept gives no credit, and it does not wait for what the
 * others have only started. */
#ifndef VOLTD_ADMIT_VIRTUAL_H
#define VOLTD_ADMIT_VIRTUAL_H

#include <assert.h>
#include <stdint.h>

#define VIRTUAL_SCALE 1024 /* virtual time of 1 us of everything there is */

struct virtual
{
    uint64_t settled; /* what ended */
    uint64_t charged; /* what runs */
    uint64_t running; /* starts without an end */
};

static inline uint64_t virtual_time(const struct virtual *v)
{
    return v->settled + v->charged;
}

/* Of a job that takes that share of what there is, for that time. */
static inline uint64_t virtual_cost(uint64_t usec, uint64_t amount, uint64_t capacity)
{
    return usec * amount * VIRTUAL_SCALE / (capacity ? capacity : 1);
}

static inline void virtual_start(struct virtual *v, uint64_t cost)
{
    v->running++;
    v->charged += cost;
}

/* The start is over: the charge of one goes. */
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

/* It was idle; the others' least is this. */
static inline void virtual_wake(struct virtual *v, uint64_t least)
{
    if (v->settled < least)
        v->settled = least;
}

#endif
