/* See dormant.h. */
#include <stdlib.h>
#include <string.h>

#include "daemon/exec/dormant.h"
#include "daemon/job/spec_pack.h"

struct shared {
    struct shares *owner;
    struct shared *next; /* in its bucket */
    uint64_t hash;
    uint64_t refs; /* dormant specs */
    size_t n;
    uint8_t bytes[];
};

/* Behind the struct: as many pointers as it has parts, then n bytes of its own. */
struct dormant {
    uint32_t n;
    bool env, argv; /* has this part */
    struct shared *part[];
};

static size_t parts_of(const struct dormant *d)
{
    return (size_t)d->env + d->argv;
}

static uint8_t *own_of(const struct dormant *d)
{
    return (uint8_t *)(uintptr_t)&d->part[parts_of(d)];
}

void shares_init(struct shares *s)
{
    pthread_mutex_init(&s->lock, NULL);
}

void shares_fini(struct shares *s)
{
    free(s->buckets);
    pthread_mutex_destroy(&s->lock);
}

static uint64_t hash_of(const uint8_t *p, size_t n)
{
    uint64_t h = n;

    for (size_t at = 0; at < n; at += 8) {
        uint64_t word = 0;

        memcpy(&word, p + at, n - at < 8 ? n - at : 8);
        h = (h ^ word) * UINT64_C(0xff51afd7ed558ccd);
        h ^= h >> 32;
    }
    return h;
}

/* Lock held. False: no memory, and buckets stay as crowded as they are. */
static bool grow(struct shares *s)
{
    size_t n = s->nbuckets ? s->nbuckets * 4 : 64;
    struct shared **grown = calloc(n, sizeof(struct shared *));

    if (!grown)
        return s->nbuckets > 0;
    for (size_t i = 0; i < s->nbuckets; i++) {
        for (struct shared *x = s->buckets[i], *next; x; x = next) {
            next = x->next;
            x->next = grown[x->hash % n];
            grown[x->hash % n] = x;
        }
    }
    free(s->buckets);
    s->buckets = grown;
    s->nbuckets = n;
    return true;
}

/* One more user of these bytes; NULL: no memory. */
static struct shared *share(struct shares *s, const struct pack *p)
{
    uint64_t hash = hash_of(p->bytes, p->n);
    struct shared *x = NULL;

    pthread_mutex_lock(&s->lock);
    if (s->n < s->nbuckets * 2 || grow(s)) {
        x = s->buckets[hash % s->nbuckets];
        while (x && (x->hash != hash || x->n != p->n || memcmp(x->bytes, p->bytes, p->n)))
            x = x->next;
        if (!x && (x = malloc(sizeof(*x) + p->n))) {
            *x = (struct shared){.owner = s,
                                 .next = s->buckets[hash % s->nbuckets],
                                 .hash = hash,
                                 .n = p->n};
            memcpy(x->bytes, p->bytes, p->n);
            s->buckets[hash % s->nbuckets] = x;
            s->n++;
        }
        if (x)
            x->refs++;
    }
    pthread_mutex_unlock(&s->lock);
    return x;
}

static void share_end(struct shared *x)
{
    struct shares *s = x ? x->owner : NULL;
    struct shared **at;

    if (!x)
        return;
    pthread_mutex_lock(&s->lock);
    bool last = --x->refs == 0;
    if (last) {
        for (at = &s->buckets[x->hash % s->nbuckets]; *at != x; at = &(*at)->next)
            ;
        *at = x->next;
        s->n--;
    }
    pthread_mutex_unlock(&s->lock);
    if (last)
        free(x);
}

static struct dormant *pack_up(struct shares *s, const struct spec_pack *p)
{
    const struct dormant head = {
        .n = (uint32_t)p->own.n, .env = p->env.n > 0, .argv = p->argv.n > 0};
    struct dormant *d =
        calloc(1, sizeof(*d) + parts_of(&head) * sizeof(d->part[0]) + p->own.n);
    bool all = true;

    if (!d)
        return NULL;
    *d = head;
    memcpy(own_of(d), p->own.bytes, p->own.n);
    if (d->env)
        all = (d->part[0] = share(s, &p->env)) != NULL;
    if (d->argv && all)
        all = (d->part[d->env] = share(s, &p->argv)) != NULL;
    if (all)
        return d;
    dormant_free(d);
    return NULL;
}

struct dormant *dormant_new(struct shares *s, const struct job_spec *spec)
{
    struct spec_pack p = {{0}, {0}, {0}};
    struct dormant *d = NULL;

    if (job_spec_pack(spec, &p) == 0 && p.own.n <= UINT32_MAX)
        d = pack_up(s, &p);
    spec_pack_fini(&p);
    return d;
}

int dormant_wake(const struct dormant *d, struct job_spec **ret)
{
    struct spec_parts parts = {.own = own_of(d), .own_n = d->n};

    if (d->env) {
        parts.env = d->part[0]->bytes;
        parts.env_n = d->part[0]->n;
    }
    if (d->argv) {
        parts.argv = d->part[d->env]->bytes;
        parts.argv_n = d->part[d->env]->n;
    }
    return job_spec_unpack(&parts, ret);
}

void dormant_free(struct dormant *d)
{
    for (size_t i = 0; d && i < parts_of(d); i++)
        share_end(d->part[i]);
    free(d);
}
