/* See packed.h. */
#include <stdlib.h>
#include <string.h>

#include "daemon/core/packed.h"
#include "daemon/job/spec_pack.h"

struct shared {
    struct hash_node node;
    struct shares *owner;
    uint64_t refs; /* of packed specs */
    size_t n;
    uint8_t bytes[];
};

/* After the struct come as many pointers as it has parts, then n bytes of its own. */
struct packed {
    uint32_t n;
    bool env, argv; /* which parts it has */
    struct shared *part[];
};

static size_t parts_of(const struct packed *d)
{
    return (size_t)d->env + d->argv;
}

static uint8_t *own_of(const struct packed *d)
{
    return (uint8_t *)(uintptr_t)&d->part[parts_of(d)];
}

void shares_init(struct shares *s, const struct siphash_key *secret)
{
    *s = (struct shares){.secret = *secret};
    pthread_mutex_init(&s->lock, NULL);
}

void shares_fini(struct shares *s)
{
    hash_table_fini(&s->table);
    pthread_mutex_destroy(&s->lock);
}

static struct shared *shared_of(struct hash_node *n)
{
    return (struct shared *)(void *)n; /* its first member */
}

static bool is(const struct shared *x, const struct pack *p)
{
    return x && x->n == p->n && memcmp(x->bytes, p->bytes, p->n) == 0;
}

/* Lock held. Returns the part with these bytes. NULL: none. */
static struct shared *find(struct shares *s, const struct pack *p, uint64_t hash)
{
    struct hash_node *n = hash_table_first(&s->table, hash);

    while (n && !is(shared_of(n), p))
        n = hash_node_next(n);
    return n ? shared_of(n) : NULL;
}

/* Lock held. Returns a new part. NULL: no memory. */
static struct shared *add(struct shares *s, const struct pack *p, uint64_t hash)
{
    struct shared *x =
        hash_table_reserve(&s->table) < 0 ? NULL : malloc(sizeof(*x) + p->n);

    if (!x)
        return NULL;
    *x = (struct shared){.owner = s, .n = p->n};
    memcpy(x->bytes, p->bytes, p->n);
    hash_table_add(&s->table, &x->node, hash);
    return x;
}

/* Returns the part with these bytes, with one more reference. NULL: no memory. The part
 * that the job before used is found without hashing. */
static struct shared *share(struct shares *s, enum shares_part part, const struct pack *p)
{
    pthread_mutex_lock(&s->lock);
    struct shared *x = s->latest[part];
    if (!is(x, p)) {
        pthread_mutex_unlock(&s->lock);
        uint64_t hash = siphash64(&s->secret, p->bytes, p->n);
        pthread_mutex_lock(&s->lock);
        x = find(s, p, hash);
        if (!x)
            x = add(s, p, hash);
    }
    if (x) {
        x->refs++;
        s->latest[part] = x;
    }
    pthread_mutex_unlock(&s->lock);
    return x;
}

static void share_end(struct shared *x)
{
    struct shares *s = x ? x->owner : NULL;

    if (!x)
        return;
    pthread_mutex_lock(&s->lock);
    bool last = --x->refs == 0;
    if (last) {
        hash_table_remove(&s->table, &x->node);
        for (int i = 0; i < SHARES_PARTS; i++)
            if (s->latest[i] == x)
                s->latest[i] = NULL;
    }
    pthread_mutex_unlock(&s->lock);
    if (last)
        free(x);
}

static struct packed *pack_up(struct shares *s, const struct spec_pack *p)
{
    const struct packed head = {
        .n = (uint32_t)p->own.n, .env = p->env.n > 0, .argv = p->argv.n > 0};
    struct packed *d =
        calloc(1, sizeof(*d) + parts_of(&head) * sizeof(d->part[0]) + p->own.n);
    bool all = true;

    if (!d)
        return NULL;
    *d = head;
    memcpy(own_of(d), p->own.bytes, p->own.n);
    if (d->env)
        all = (d->part[0] = share(s, SHARES_ENV, &p->env)) != NULL;
    if (d->argv && all)
        all = (d->part[d->env] = share(s, SHARES_ARGV, &p->argv)) != NULL;
    if (all)
        return d;
    packed_free(d);
    return NULL;
}

struct packed *packed_new(struct shares *s, const struct job_spec *spec)
{
    uint8_t own[256], argv[256]; /* enough for most */
    struct spec_pack p = {.own = pack_in(own, sizeof(own)),
                          .argv = pack_in(argv, sizeof(argv))};
    struct packed *d = NULL;

    if (job_spec_pack(spec, &p) == 0 && p.own.n <= UINT32_MAX)
        d = pack_up(s, &p);
    spec_pack_fini(&p);
    return d;
}

static struct spec_parts parts_without_env(const struct packed *d)
{
    struct spec_parts parts = {.own = own_of(d), .own_n = d->n, .without_env = true};

    if (d->argv) {
        parts.argv = d->part[d->env]->bytes;
        parts.argv_n = d->part[d->env]->n;
    }
    return parts;
}

int packed_unpack(const struct packed *d, struct job_spec **ret)
{
    struct spec_parts parts = parts_without_env(d);

    parts.without_env = false;
    if (d->env) {
        parts.env = d->part[0]->bytes;
        parts.env_n = d->part[0]->n;
    }
    return job_spec_unpack(&parts, ret);
}

int packed_peek(const struct packed *d, struct job_spec **ret, size_t *ret_n)
{
    const struct spec_parts parts = parts_without_env(d);

    *ret_n = parts.own_n + parts.argv_n;
    return job_spec_unpack(&parts, ret);
}

void packed_free(struct packed *d)
{
    for (size_t i = 0; d && i < parts_of(d); i++)
        share_end(d->part[i]);
    free(d);
}
