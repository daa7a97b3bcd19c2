/* See table.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/core/table.h"

void table_fini(struct table *t)
{
    for (size_t i = 0; i < t->nchunks; i++)
        free(t->chunks[i]);
    free(t->chunks);
    *t = (struct table){0};
}

static struct table_chunk *chunk_of(const struct table *t, uint64_t id)
{
    uint64_t number = id / TABLE_CHUNK;

    if (number < t->base || number - t->base >= t->nchunks)
        return NULL;
    return t->chunks[number - t->base];
}

static int grow(struct table *t, size_t capacity)
{
    struct table_chunk **grown =
        reallocarray(t->chunks, capacity, sizeof(struct table_chunk *));

    if (!grown)
        return -ENOMEM;
    t->chunks = grown;
    t->capacity = capacity;
    return 0;
}

/* Makes room below the base: two submissions may come out of order, after leading empty
 * chunks were removed. */
static int make_room_below(struct table *t, uint64_t number)
{
    const size_t more = (size_t)(t->base - number);

    if (t->nchunks + more > t->capacity && grow(t, 2 * (t->nchunks + more)) < 0)
        return -ENOMEM;
    memmove(t->chunks + more, t->chunks, t->nchunks * sizeof(struct table_chunk *));
    memset(t->chunks, 0, more * sizeof(struct table_chunk *));
    t->nchunks += more;
    t->base = number;
    return 0;
}

/* Makes room for a chunk; removes leading empty chunks before the vector grows. */
static int make_room(struct table *t, uint64_t number)
{
    size_t gone = 0;

    if (!t->nchunks)
        t->base = number;
    if (number < t->base)
        return make_room_below(t, number);
    if (number - t->base < t->capacity)
        return 0;
    while (gone < t->nchunks && !t->chunks[gone])
        gone++;
    if (gone) {
        t->nchunks -= gone;
        t->base = t->nchunks ? t->base + gone : number;
        memmove(t->chunks, t->chunks + gone, t->nchunks * sizeof(struct table_chunk *));
    }
    if (number - t->base < t->capacity / 2)
        return 0;
    return grow(t, (size_t)(number - t->base + 1) * 2);
}

int table_put(struct table *t, uint64_t id, struct job *job)
{
    uint64_t number = id / TABLE_CHUNK;
    int r = make_room(t, number);

    if (r < 0)
        return r;
    while (t->nchunks <= number - t->base)
        t->chunks[t->nchunks++] = NULL;

    struct table_chunk **slot = &t->chunks[number - t->base];
    if (!*slot)
        *slot = calloc(1, sizeof(**slot));
    if (!*slot)
        return -ENOMEM;
    (*slot)->jobs[id % TABLE_CHUNK] = job;
    (*slot)->used++;
    t->count++;
    return 0;
}

struct job *table_get(const struct table *t, uint64_t id)
{
    const struct table_chunk *c = chunk_of(t, id);

    return c ? c->jobs[id % TABLE_CHUNK] : NULL;
}

void table_remove(struct table *t, uint64_t id)
{
    struct table_chunk *c = chunk_of(t, id);

    if (!c || !c->jobs[id % TABLE_CHUNK])
        return;
    c->jobs[id % TABLE_CHUNK] = NULL;
    t->count--;
    if (--c->used == 0) {
        t->chunks[id / TABLE_CHUNK - t->base] = NULL;
        free(c);
    }
}

/* Returns the greatest id that a job may have. 0: there are no jobs. */
static uint64_t last_of(const struct table *t)
{
    return t->count ? (t->base + t->nchunks) * TABLE_CHUNK - 1 : 0;
}

uint64_t table_next(const struct table *t, uint64_t id, size_t *steps,
                    struct job **ret_job)
{
    uint64_t last = last_of(t), at = id + 1;

    *ret_job = NULL;
    if (id >= last)
        return 0;
    if (at < t->base * TABLE_CHUNK)
        at = t->base * TABLE_CHUNK;
    for (; at <= last && *steps > 0; (*steps)--) {
        const struct table_chunk *c = chunk_of(t, at);

        if (!c) {
            at = (at / TABLE_CHUNK + 1) * TABLE_CHUNK;
            continue;
        }
        *ret_job = c->jobs[at % TABLE_CHUNK];
        if (*ret_job)
            return at;
        at++;
    }
    return at <= last ? at - 1 : 0;
}

uint64_t table_prev(const struct table *t, uint64_t id, size_t *steps,
                    struct job **ret_job)
{
    uint64_t first = t->base * TABLE_CHUNK, last = last_of(t);
    uint64_t at = id > last ? last : id - 1;

    *ret_job = NULL;
    if (id == 0 || !t->count)
        return 0;
    for (; at >= first && at > 0 && *steps > 0; (*steps)--) {
        const struct table_chunk *c = chunk_of(t, at);

        if (!c) {
            at = at / TABLE_CHUNK * TABLE_CHUNK - (at >= TABLE_CHUNK);
            continue;
        }
        *ret_job = c->jobs[at % TABLE_CHUNK];
        if (*ret_job)
            return at;
        at--;
    }
    return at >= first && at > 0 ? at + 1 : 0;
}
