/* See elements.h. */
#include <errno.h>
#include <stdlib.h>

#include "daemon/core/element_edges.h"
#include "daemon/core/elements.h"

struct elements *elements_new(const struct array *a)
{
    uint64_t chunks = (a->total + ARRAY_CHUNK - 1) / ARRAY_CHUNK;
    struct elements *e = calloc(1, sizeof(*e) + chunks * sizeof(e->works[0]));

    if (e)
        e->chunks = chunks;
    return e;
}

void elements_free(struct elements *e)
{
    if (!e)
        return;
    for (uint64_t i = 0; i < e->chunks; i++)
        free(e->works[i]);
    each_free(e->each);
    free(e);
}

int elements_reserve(struct elements *e, int64_t offset)
{
    struct work ***chunk = &e->works[(uint64_t)offset / ARRAY_CHUNK];

    if (!*chunk)
        *chunk = calloc(ARRAY_CHUNK, sizeof(**chunk));
    return *chunk ? 0 : -ENOMEM;
}

void elements_set(struct elements *e, int64_t offset, struct work *w)
{
    e->works[(uint64_t)offset / ARRAY_CHUNK][(uint64_t)offset % ARRAY_CHUNK] = w;
}

struct work *elements_work(const struct elements *e, int64_t offset)
{
    struct work *const *chunk = e->works[(uint64_t)offset / ARRAY_CHUNK];

    return chunk ? chunk[(uint64_t)offset % ARRAY_CHUNK] : NULL;
}
