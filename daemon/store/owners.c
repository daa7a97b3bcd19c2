/* See owners.h. */
#include <errno.h>
#include <stdlib.h>

#include "base/siphash.h"
#include "daemon/store/owners.h"

static struct owner *owner_of(struct hash_node *n)
{
    return (struct owner *)(void *)n; /* `node` is the first member */
}

/* Returns the owner's entry, made at first use. NULL: no memory. */
static struct owner *get(struct owners *o, uid_t uid)
{
    const struct siphash_key key = {.k0 = o->seed};
    const uint64_t hash = siphash64_number(&key, uid);
    struct hash_node *n = hash_table_first(&o->table, hash);

    while (n && owner_of(n)->uid != uid)
        n = hash_node_next(n);
    if (n)
        return owner_of(n);
    struct owner *owner =
        hash_table_reserve(&o->table) < 0 ? NULL : calloc(1, sizeof(*owner));
    if (!owner)
        return NULL;
    owner->uid = uid;
    hash_table_add(&o->table, &owner->node, hash);
    return owner;
}

static bool has(uint64_t n, int64_t change)
{
    return change >= 0 || n >= (uint64_t)-change;
}

static void add(struct owners *o, struct owner *owner, const struct owner_change *c,
                int64_t sign)
{
    owner->jobs += (uint64_t)(sign * c->jobs);
    owner->elements += (uint64_t)(sign * c->elements);
    owner->keys += (uint64_t)(sign * c->keys);
    o->elements += (uint64_t)(sign * c->elements);
}

/* Notes a change for a rollback; joins changes of one owner in a row. Returns false if
 * there is no memory. */
static bool note(struct owners *o, const struct owner_change *c)
{
    struct owner_change *last = o->nchanges ? &o->change[o->nchanges - 1] : NULL;

    if (last && last->uid == c->uid) {
        last->jobs += c->jobs;
        last->elements += c->elements;
        last->keys += c->keys;
        return true;
    }
    if (o->nchanges == o->capacity) {
        const size_t capacity = o->capacity ? o->capacity * 2 : 16;
        struct owner_change *grown = reallocarray(o->change, capacity, sizeof(*grown));

        if (!grown)
            return false;
        o->change = grown;
        o->capacity = capacity;
    }
    o->change[o->nchanges++] = *c;
    return true;
}

int owners_change(struct owners *o, const struct owner_change *change)
{
    struct owner *owner = get(o, change->uid);

    if (!owner)
        return -ENOMEM;
    if (!has(owner->jobs, change->jobs) || !has(owner->elements, change->elements) ||
        !has(owner->keys, change->keys))
        return -ERANGE;
    if (!note(o, change))
        return -ENOMEM;
    add(o, owner, change, 1);
    return 0;
}

void owners_committed(struct owners *o)
{
    o->nchanges = 0;
}

void owners_rolled_back(struct owners *o)
{
    for (size_t i = 0; i < o->nchanges; i++)
        add(o, get(o, o->change[i].uid), &o->change[i], -1); /* cannot fail */
    o->nchanges = 0;
}

struct owner *owners_each(const struct owners *o, struct hash_cursor *c)
{
    struct hash_node *n = hash_table_each(&o->table, c);

    return n ? owner_of(n) : NULL;
}

/* Returns the share of each owner with more than `share`, if the others keep what they
 * have. Never less than `share`. */
static uint64_t raise(const struct owners *o, uint64_t keep, uint64_t share)
{
    struct hash_cursor c = {0};
    uint64_t small = 0, large = 0;

    for (const struct owner *owner; (owner = owners_each(o, &c));) {
        if (owner->elements > share)
            large++;
        else
            small += owner->elements;
    }
    return large ? (keep - small) / large : share;
}

uint64_t owners_share(const struct owners *o, uint64_t keep)
{
    uint64_t share = 0, before;

    if (o->elements <= keep)
        return UINT64_MAX;
    do {
        before = share;
        share = raise(o, keep, before);
    } while (share > before);
    return share || !keep ? share : 1;
}

uint64_t owner_beyond(const struct owner *owner, uint64_t share)
{
    return owner->elements > share && (owner->jobs > 1 || share == 0)
               ? owner->elements - share
               : 0;
}

uint64_t owners_beyond(const struct owners *o, uint64_t share)
{
    struct hash_cursor c = {0};
    uint64_t n = 0;

    if (share == UINT64_MAX)
        return 0;
    for (const struct owner *owner; (owner = owners_each(o, &c));)
        n += owner_beyond(owner, share);
    return n;
}

void owners_fini(struct owners *o)
{
    struct hash_cursor c = {0};

    for (struct owner *owner; (owner = owners_each(o, &c));)
        free(owner);
    hash_table_fini(&o->table);
    free(o->change);
}
