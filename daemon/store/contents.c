/* See contents.h. */
#include <stdlib.h>

#include "base/siphash.h"
#include "daemon/store/contents.h"

int64_t contents_hash(uint64_t seed, const void *bytes, size_t n)
{
    const struct siphash_key key = {.k0 = seed};
    uint64_t h = siphash64(&key, bytes, n) & INT64_MAX;

    return h ? (int64_t)h : 1;
}

static struct contents_slot *slot_of(struct hash_node *n)
{
    return (struct contents_slot *)((uintptr_t)n - offsetof(struct contents_slot, node));
}

struct contents_slot *contents_find(const struct contents *c, int64_t id)
{
    struct hash_node *n = hash_table_first(&c->table, (uint64_t)id);

    return n ? slot_of(n) : NULL;
}

struct contents_slot *contents_add(struct contents *c, int64_t id)
{
    struct contents_slot *slot =
        hash_table_reserve(&c->table) == 0 ? calloc(1, sizeof(*slot)) : NULL;

    if (slot)
        hash_table_add(&c->table, &slot->node, (uint64_t)id);
    return slot;
}

void contents_remove(struct contents *c, int64_t id)
{
    struct contents_slot *gone = contents_find(c, id);

    if (!gone)
        return;
    hash_table_remove(&c->table, &gone->node);
    free(gone);
}

void contents_fini(struct contents *c)
{
    struct hash_cursor at = {0};
    struct hash_node *n;

    while ((n = hash_table_each(&c->table, &at)))
        free(slot_of(n));
    hash_table_fini(&c->table);
}
