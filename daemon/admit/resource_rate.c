/* A rate: tokens that are spent, and come back with time up to the burst.
 *
 * Its state is one number: when it will be full again. Each token spent moves that by the
 * time per token; the tokens missing now are the time until then. So nothing has to be
 * updated as time passes. */
#include "daemon/admit/resource.h"

/* Returns the missing tokens, rounded up. */
static uint64_t missing(const struct resource *r, uint64_t now)
{
    return r->full_at > now ? (r->full_at - now + r->per_usec - 1) / r->per_usec : 0;
}

uint64_t rate_tokens(const struct resource *r, uint64_t now)
{
    const uint64_t gone = missing(r, now);

    return gone < r->capacity ? r->capacity - gone : 0;
}

uint64_t rate_when(const struct resource *r, uint64_t tokens)
{
    const uint64_t may_be_missing = (r->capacity - tokens) * r->per_usec;

    return r->full_at > may_be_missing ? r->full_at - may_be_missing : 0;
}

static bool rate_fits(const struct resource *r, const struct claim *c, uint64_t now)
{
    return rate_tokens(r, now) >= c->amount;
}

static bool rate_possible(const struct resource *r, const struct claim *c)
{
    return r->capacity >= c->amount;
}

static void rate_take(struct resource *r, const struct claim *c, uint64_t n, uint64_t now)
{
    r->full_at = (r->full_at > now ? r->full_at : now) + c->amount * n * r->per_usec;
}

/* Refunds an attempt that did not happen. */
static void rate_give(struct resource *r, const struct claim *c, uint64_t n)
{
    const uint64_t spent = c->amount * n * r->per_usec;

    r->full_at = r->full_at > spent ? r->full_at - spent : 0;
}

const struct resource_kind resource_rate = {
    "rate", RESOURCE_RATE, false, rate_fits, rate_possible, rate_take, rate_give};
