/* See users.h. */
#include <stdlib.h>

#include "daemon/core/users.h"

static struct user *user_of(struct hash_node *n)
{
    return (struct user *)(void *)n; /* its first member */
}

static struct user *find(const struct users *all, uid_t uid, uint64_t hash)
{
    struct hash_node *n = hash_table_first(&all->table, hash);

    while (n && user_of(n)->uid != uid)
        n = hash_node_next(n);
    return n ? user_of(n) : NULL;
}

static bool is_latest(const struct users *all, uid_t uid)
{
    return all->latest && all->latest->uid == uid;
}

struct user *users_find(struct users *all, uid_t uid)
{
    if (is_latest(all, uid))
        return all->latest;
    struct user *u = find(all, uid, siphash64_number(&all->secret, uid));
    if (u)
        all->latest = u;
    return u;
}

struct user *users_get(struct users *all, uid_t uid)
{
    if (is_latest(all, uid))
        return all->latest;
    uint64_t hash = siphash64_number(&all->secret, uid);
    struct user *u = find(all, uid, hash);

    if (!u && hash_table_reserve(&all->table) == 0 && (u = calloc(1, sizeof(*u)))) {
        u->uid = uid;
        hash_table_add(&all->table, &u->node, hash);
    }
    if (u)
        all->latest = u;
    return u;
}

void users_add(struct users *all, struct user *u, uint64_t jobs, uint64_t bytes)
{
    u->jobs += jobs;
    u->bytes += bytes;
    all->jobs += jobs;
}

void users_sub(struct users *all, struct user *u, uint64_t jobs, uint64_t bytes)
{
    u->jobs -= jobs;
    u->bytes -= bytes;
    all->jobs -= jobs;
}

struct user *users_each(const struct users *all, struct hash_cursor *c)
{
    struct hash_node *n = hash_table_each(&all->table, c);

    return n ? user_of(n) : NULL;
}

void users_fini(struct users *all)
{
    struct hash_cursor c = {0};

    for (struct user *u; (u = users_each(all, &c)); free(u))
        for (int i = 0; i < JOB_CLASSES; i++)
            idset_fini(&u->ids[i]);
    hash_table_fini(&all->table);
    all->latest = NULL;
    all->jobs = 0;
}
