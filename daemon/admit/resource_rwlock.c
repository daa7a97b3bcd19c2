/* A lock: one exclusive holder, or any number that share it. A mutex is a lock that is
 * never shared. Claims taken without asking may make holders that exclude each other. */
#include <assert.h>

#include "daemon/admit/resource.h"

static bool rwlock_fits(const struct resource *r, const struct claim *c, uint64_t now)
{
    (void)now;
    return r->used == 0 || (r->exclusive == 0 && !c->exclusive);
}

static bool rwlock_possible(const struct resource *r, const struct claim *c)
{
    (void)r, (void)c;
    return true;
}

static void rwlock_take(struct resource *r, const struct claim *c, uint64_t n,
                        uint64_t now)
{
    (void)now;
    r->used += n;
    r->exclusive += c->exclusive ? n : 0;
}

static void rwlock_give(struct resource *r, const struct claim *c, uint64_t n)
{
    assert(r->used >= n && (!c->exclusive || r->exclusive >= n));
    r->used -= n;
    r->exclusive -= c->exclusive ? n : 0;
}

const struct resource_kind resource_rwlock = {
    "lock", RESOURCE_LOCK, false, rwlock_fits, rwlock_possible, rwlock_take, rwlock_give};
