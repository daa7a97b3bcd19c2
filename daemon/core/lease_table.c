/* See lease_table.h. */
#include "daemon/core/lease_table.h"

#include "base/siphash.h"
#include "daemon/admit/named.h"
#include "daemon/core/state.h"

static uint64_t hash_of(const struct core *core, uint64_t id)
{
    return siphash64_number(&core->users.secret, id);
}

static struct lease *lease_of_hash(struct hash_node *n)
{
    return list_thing(n, struct lease, hash);
}

static struct lease *lease_of_own(const struct list_node *n)
{
    return n ? list_thing(n, struct lease, own) : NULL;
}

struct lease *leases_find(struct core *core, uint64_t id)
{
    struct hash_node *n = hash_table_first(&core->leases.all, hash_of(core, id));

    while (n && lease_of_hash(n)->id != id)
        n = hash_node_next(n);
    return n ? lease_of_hash(n) : NULL;
}

struct lease *leases_next(struct core *core, uid_t uid, const struct lease *l)
{
    const struct user *u = users_find(&core->users, uid);

    return lease_of_own(l ? l->own.next : u ? u->leases.first : NULL);
}

const char *lease_name(const struct lease *l)
{
    size_t n;

    return named_name(admission_claims(&l->waiter, &n)->resource);
}

bool lease_claims(const struct lease *l, const struct resource *r)
{
    size_t n;

    return admission_claims(&l->waiter, &n)->resource == r;
}

void leases_add(struct core *core, struct lease *l)
{
    struct user *u = users_find(&core->users, l->uid);

    hash_table_add(&core->leases.all, &l->hash, hash_of(core, l->id));
    list_add_last(&u->leases, &l->own);
    u->nleases++;
}

void leases_remove(struct core *core, struct lease *l)
{
    struct user *u = users_find(&core->users, l->uid);

    hash_table_remove(&core->leases.all, &l->hash);
    list_remove(&u->leases, &l->own);
    u->nleases--;
}
