/* Kinds of resources whose amounts add up. */
#include <assert.h>

#include "daemon/admit/resource.h"

static bool sum_fits(const struct resource *r, const struct claim *c, uint64_t now)
{
    (void)now;
    return r->used < r->capacity && r->capacity - r->used >= c->amount;
}

static bool sum_possible(const struct resource *r, const struct claim *c)
{
    return r->capacity >= c->amount;
}

static void sum_take(struct resource *r, const struct claim *c, uint64_t n, uint64_t now)
{
    (void)now;
    r->used += c->amount * n;
}

static void sum_give(struct resource *r, const struct claim *c, uint64_t n)
{
    assert(r->used >= c->amount * n);
    r->used -= c->amount * n;
}

/* Returns true: without enough slots jobs wait, as more may be configured. */
static bool always_possible(const struct resource *r, const struct claim *c)
{
    (void)r, (void)c;
    return true;
}

const struct resource_kind resource_slots = {
    "slots", RESOURCE_MACHINE, true, sum_fits, always_possible, sum_take, sum_give};
const struct resource_kind resource_elements = {
    "elements", RESOURCE_LIMIT, true, sum_fits, sum_possible, sum_take, sum_give};
const struct resource_kind resource_semaphore = {
    "semaphore", RESOURCE_LOCK, true, sum_fits, sum_possible, sum_take, sum_give};
