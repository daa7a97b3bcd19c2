/* See contents.h. Linear probing; removal moves back what follows. */
#include <stdlib.h>
#include <string.h>

#include "daemon/store/contents.h"

int64_t contents_hash(uint64_t seed, const void *bytes, size_t n)
{
    const uint8_t *p = bytes;
    uint64_t h = seed ^ n * UINT64_C(0x9e3779b97f4a7c15);

    for (; n > 0; p += n < 8 ? n : 8, n -= n < 8 ? n : 8) {
        uint64_t word = 0;

        memcpy(&word, p, n < 8 ? n : 8);
        h = (h ^ word) * UINT64_C(0xff51afd7ed558ccd);
        h ^= h >> 32;
    }
    h *= UINT64_C(0xc4ceb9fe1a85ec53);
    h = (h ^ h >> 29) & INT64_MAX;
    return h ? (int64_t)h : 1;
}

static size_t place(const struct contents *c, int64_t id)
{
    return (uint64_t)id * UINT64_C(0x9e3779b97f4a7c15) >> 32 & (c->capacity - 1);
}

struct contents_slot *contents_find(const struct contents *c, int64_t id)
{
    if (!c->n)
        return NULL;
    for (size_t i = place(c, id);; i = (i + 1) & (c->capacity - 1)) {
        if (c->slots[i].id == id)
            return &c->slots[i];
        if (!c->slots[i].id)
            return NULL;
    }
}

static struct contents_slot *put(struct contents *c, const struct contents_slot *s)
{
    size_t i = place(c, s->id);

    while (c->slots[i].id)
        i = (i + 1) & (c->capacity - 1);
    c->slots[i] = *s;
    return &c->slots[i];
}

struct contents_slot *contents_add(struct contents *c, int64_t id)
{
    if (c->n * 2 >= c->capacity) {
        struct contents grown = {.capacity = c->capacity ? c->capacity * 2 : 64};

        grown.slots = calloc(grown.capacity, sizeof(*grown.slots));
        if (!grown.slots)
            return NULL;
        for (size_t i = 0; i < c->capacity; i++)
            if (c->slots[i].id)
                (void)put(&grown, &c->slots[i]);
        free(c->slots);
        grown.n = c->n;
        *c = grown;
    }
    c->n++;
    return put(c, &(struct contents_slot){.id = id});
}

void contents_remove(struct contents *c, int64_t id)
{
    struct contents_slot *gone = contents_find(c, id);

    if (!gone)
        return;
    size_t hole = (size_t)(gone - c->slots), mask = c->capacity - 1;
    for (size_t i = (hole + 1) & mask; c->slots[i].id; i = (i + 1) & mask) {
        /* What is not beyond its place may move into the hole. */
        if (((i - place(c, c->slots[i].id)) & mask) >= ((i - hole) & mask)) {
            c->slots[hole] = c->slots[i];
            hole = i;
        }
    }
    c->slots[hole] = (struct contents_slot){0};
    c->n--;
}

void contents_fini(struct contents *c)
{
    free(c->slots);
    *c = (struct contents){0};
}
