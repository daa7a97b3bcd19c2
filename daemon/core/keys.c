/* See keys.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/core/keys.h"
#include "daemon/job/env.h"
#include "daemon/job/spec_pack.h"

static struct keys_entry *entry_of(struct hash_node *n)
{
    return (struct keys_entry *)(void *)n; /* its first member */
}

struct siphash128 keys_name(const struct keys *k, uid_t uid, const char *key)
{
    size_t n = strlen(key);
    const uint64_t head[] = {uid, n};
    struct siphash h;

    siphash_init128(&h, &k->secret);
    siphash_add(&h, head, sizeof(head));
    siphash_add(&h, key, n);
    struct siphash128 name = siphash_end128(&h);
    if (!keys_is_name(name))
        name.lo = 1;
    return name;
}

/* Hashes the environment into *b, unless it is the last one. Returns 0 or -ENOMEM. */
static int hash_env(const struct keys *k, const struct job_spec *spec,
                    struct keys_bodies *b)
{
    const struct job_env *env = spec->env;
    struct pack p = {0};

    if (!env || (env == b->env && !spec->env_given))
        return 0;
    if (spec->env_given)
        job_env_pack_named(env, spec->env_given, &p);
    else
        job_env_pack_compared(env, &p);
    const int r = p.failed ? -ENOMEM : 0;
    if (r == 0) {
        struct siphash h;

        siphash_init128(&h, &k->secret);
        siphash_add(&h, p.bytes, p.n);
        b->env_hash = siphash_end128(&h);
        b->env = spec->env_given ? NULL : env; /* names given by this spec alone */
        b->bytes += job_env_bytes(env);
    }
    pack_fini(&p);
    return r;
}

int keys_body(const struct keys *k, const struct job_spec *spec, struct keys_bodies *b,
              struct siphash128 *ret)
{
    struct spec_pack p = {{0}, {0}, {0}};
    struct siphash h;
    int r = job_spec_pack_body(spec, &p);

    if (r == 0)
        r = hash_env(k, spec, b);
    if (r == 0) { /* includes the key: two specs are only compared under one key */
        const uint64_t lengths[] = {p.own.n, p.env.n, p.argv.n};

        siphash_init128(&h, &k->secret);
        siphash_add(&h, lengths, sizeof(lengths));
        siphash_add(&h, p.own.bytes, p.own.n);
        siphash_add(&h, p.env.bytes, p.env.n);
        siphash_add(&h, p.argv.bytes, p.argv.n);
        if (spec->env)
            siphash_add(&h, &b->env_hash, sizeof(b->env_hash));
        b->bytes += p.own.n + p.env.n + p.argv.n;
        *ret = siphash_end128(&h);
    }
    spec_pack_fini(&p);
    return r;
}

struct keys_entry *keys_find(const struct keys *k, struct siphash128 name)
{
    struct hash_node *n = hash_table_first(&k->table, name.lo);

    while (n && entry_of(n)->name_hi != name.hi)
        n = hash_node_next(n);
    return n ? entry_of(n) : NULL;
}

struct keys_entry *keys_put(struct keys *k, struct siphash128 name, uid_t uid)
{
    struct user *user = k->users ? users_get(k->users, uid) : NULL;
    struct keys_entry *e = (k->users && !user) || hash_table_reserve(&k->table) < 0
                               ? NULL
                               : calloc(1, sizeof(*e));

    if (!e)
        return NULL;
    e->name_hi = name.hi;
    e->uid = uid;
    if (user)
        user->keys++;
    hash_table_add(&k->table, &e->node, name.lo);
    return e;
}

uint32_t keys_new_age(struct keys *k)
{
    if (++k->claimers == 0)
        k->claimers = 1;
    return k->claimers;
}

bool keys_is_older(uint32_t a, uint32_t b)
{
    return a - b > UINT32_MAX / 2;
}

void keys_remove(struct keys *k, struct keys_entry *e)
{
    hash_table_remove(&k->table, &e->node);
    if (k->users)
        users_find(k->users, e->uid)->keys--; /* a user stays until the end */
    free(e);
}

void keys_free(struct keys *k, struct siphash128 name, uint64_t id)
{
    struct keys_entry *e = keys_is_name(name) ? keys_find(k, name) : NULL;

    if (e && e->id == id && e->claim)
        e->id = 0; /* goes when the claim is given back */
    else if (e && e->id == id)
        keys_remove(k, e);
}

void keys_fini(struct keys *k)
{
    struct hash_cursor c = {0};

    for (struct hash_node *n; (n = hash_table_each(&k->table, &c));)
        free(entry_of(n));
    hash_table_fini(&k->table);
}
