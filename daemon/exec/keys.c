/* See keys.h. Linear probing; removal moves back what follows. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/exec/keys.h"
#include "daemon/job/spec_pack.h"

static uint64_t mix(uint64_t h, const void *bytes, size_t n)
{
    const uint8_t *p = bytes;

    h ^= n * UINT64_C(0x9e3779b97f4a7c15);
    for (size_t at = 0; at < n; at += 8) {
        uint64_t word = 0;

        memcpy(&word, p + at, n - at < 8 ? n - at : 8);
        h = (h ^ word) * UINT64_C(0xff51afd7ed558ccd);
        h ^= h >> 32;
    }
    h *= UINT64_C(0xc4ceb9fe1a85ec53);
    return h ^ h >> 29;
}

uint64_t keys_hash(const struct keys *k, uid_t uid, const char *key)
{
    uint64_t h = mix(k->seed ^ uid, key, strlen(key));

    return h ? h : 1;
}

int keys_hash_body(uint64_t seed, const struct job_spec *spec, uint64_t *ret)
{
    struct spec_pack p = {{0}, {0}, {0}};
    int r = job_spec_pack_body(spec, &p);

    if (r == 0) /* the key is part of it, and the same where it is compared */
        *ret = mix(mix(mix(seed, p.own.bytes, p.own.n), p.env.bytes, p.env.n),
                   p.argv.bytes, p.argv.n);
    spec_pack_fini(&p);
    return r;
}

static size_t place(const struct keys *k, uint64_t key)
{
    return (size_t)(key >> 7) & (k->capacity - 1);
}

struct keys_entry *keys_find(const struct keys *k, uint64_t key)
{
    if (!k->n)
        return NULL;
    for (size_t i = place(k, key);; i = (i + 1) & (k->capacity - 1)) {
        if (k->entries[i].key == key)
            return &k->entries[i];
        if (!k->entries[i].key)
            return NULL;
    }
}

static struct keys_entry *put(struct keys *k, const struct keys_entry *e)
{
    size_t i = place(k, e->key);

    while (k->entries[i].key)
        i = (i + 1) & (k->capacity - 1);
    k->entries[i] = *e;
    return &k->entries[i];
}

struct keys_entry *keys_put(struct keys *k, uint64_t key)
{
    if (k->n >= k->capacity / 4 * 3) {
        struct keys grown = {.capacity = k->capacity ? k->capacity * 2 : 64};

        grown.entries = calloc(grown.capacity, sizeof(*grown.entries));
        if (!grown.entries)
            return NULL;
        for (size_t i = 0; i < k->capacity; i++)
            if (k->entries[i].key)
                (void)put(&grown, &k->entries[i]);
        free(k->entries);
        k->entries = grown.entries;
        k->capacity = grown.capacity;
    }
    k->n++;
    return put(k, &(struct keys_entry){.key = key});
}

void keys_remove(struct keys *k, uint64_t key)
{
    struct keys_entry *gone = keys_find(k, key);

    if (!gone)
        return;
    size_t hole = (size_t)(gone - k->entries), mask = k->capacity - 1;
    for (size_t i = (hole + 1) & mask; k->entries[i].key; i = (i + 1) & mask) {
        /* What is not beyond its place may move into the hole. */
        if (((i - place(k, k->entries[i].key)) & mask) >= ((i - hole) & mask)) {
            k->entries[hole] = k->entries[i];
            hole = i;
        }
    }
    k->entries[hole] = (struct keys_entry){0};
    k->n--;
}

void keys_fini(struct keys *k)
{
    free(k->entries);
    *k = (struct keys){0};
}
