/* States that have been seen: the depth-first search goes no further where it has been.
 *
 * The future of an execution depends on its state alone: the memory of the sources under
 * test and of the model (heap, variables), the stacks, registers and thread-local
 * storage of the fibers, what each thread may still read and has seen (mcx_memory.c), who
 * ran last, and what is left of the bounds. Two executions that come to the same state by
 * different ways, most of them by taking independent steps in another order, need one
 * continuation. A state is a hash of 64 bits over all of this; it is not looked into by
 * operation or by source, so that no notion of what is independent can be wrong.
 *
 * A state that was left with as many preemptions and stale reads to spend, or more, is
 * left out. One that comes again in the same execution, in a loop, is not: it goes on, to
 * an end or to the limit of steps. */
#include <stdlib.h>
#include <string.h>
#include "mcx_internal.h"

#define FIRST_SIZE (1 << 14) /* power of two */
#define MOST_SIZE  (1 << 26)
#define LEVELS     4 /* of stale reads left: 0..3 */
#define NEVER      0 /* level not explored; else preemptions left + 1 */

struct state {
    uint64_t hash; /* 0: free */
    uint8_t preempt[LEVELS];
    uint32_t open; /* how often on the path of this execution */
};

/* A state on the path: what choices led to it, and its entry. */
struct on_path {
    int choices;
    uint64_t hash;
};

static struct state *table;
static size_t size, used;
static struct on_path *path;
static int npath, path_room;
static uint64_t *ends; /* set, as the table; of final states */
static size_t ends_size, ends_used;

/* --- hashes ------------------------------------------------------------------------- */

uint64_t mcx_hash(const void *p, size_t n, uint64_t seed)
{
    const char *a = p;
    uint64_t h[4] = {seed, seed + 1, seed + 2, seed + 3}, w[8]; /* lanes */

    for (; n >= sizeof(w); n -= sizeof(w), a += sizeof(w)) {
        memcpy(w, a, sizeof(w));
        for (int k = 0; k < 4; k++)
            h[k] = mcx_mix(h[k] ^ w[2 * k], w[2 * k + 1]);
    }
    memset(w, 0, sizeof(w));
    memcpy(w, a, n);
    for (int k = 0; k < 4; k++)
        h[k] = mcx_mix(h[k] ^ w[2 * k], w[2 * k + 1] + n);
    return mcx_mix(mcx_mix(h[0], h[1]), mcx_mix(h[2], h[3]));
}

/* --- the table ---------------------------------------------------------------------- */

static struct state *entry(uint64_t hash)
{
    size_t i = hash & (size - 1);

    while (table[i].hash && table[i].hash != hash)
        i = (i + 1) & (size - 1);
    return &table[i];
}

static void *zeroed(size_t n, size_t each)
{
    void *p = calloc(n, each);

    if (!p)
        abort();
    return p;
}

static void grow(void)
{
    struct state *old = table;
    size_t n = size;

    size *= 2;
    table = zeroed(size, sizeof(*table));
    for (size_t i = 0; i < n; i++)
        if (old[i].hash)
            *entry(old[i].hash) = old[i];
    free(old);
}

void mcx_state_reset(void)
{
    free(table);
    free(ends);
    size = ends_size = FIRST_SIZE;
    used = ends_used = 0;
    npath = 0;
    table = zeroed(size, sizeof(*table));
    ends = zeroed(ends_size, sizeof(*ends));
}

void mcx_state_rewind(int choices)
{
    while (npath > 0 && path[npath - 1].choices >= choices)
        entry(path[--npath].hash)->open--;
}

static void push(struct state *s, int choices)
{
    if (npath == path_room) {
        path_room = path_room ? path_room * 2 : 1024;
        path = realloc(path, (size_t)path_room * sizeof(*path));
        if (!path)
            abort();
    }
    path[npath++] = (struct on_path){choices, s->hash};
    s->open++;
}

bool mcx_state_new(uint64_t hash, int preempt, int stale, int choices)
{
    hash += hash == 0;
    if (used >= size / 2 && size < MOST_SIZE)
        grow();
    struct state *s = entry(hash);

    if (!s->hash) {
        if (used >= size / 4 * 3)
            return true; /* full: seen no more, and no harm */
        s->hash = hash;
        used++;
    } else if (s->open == 0) {
        for (int level = stale; level < LEVELS; level++)
            if (s->preempt[level] > preempt)
                return false;
    }
    if (s->preempt[stale] <= preempt)
        s->preempt[stale] = (uint8_t)(preempt + 1);
    push(s, choices);
    return true;
}

bool mcx_state_fits(int preempt, int stale)
{
    return preempt >= 0 && preempt < UINT8_MAX && stale >= 0 && stale < LEVELS;
}

size_t mcx_state_count(void)
{
    return used;
}

/* --- final states ------------------------------------------------------------------- */

static bool insert_end(uint64_t hash)
{
    size_t i = hash & (ends_size - 1);

    for (; ends[i]; i = (i + 1) & (ends_size - 1))
        if (ends[i] == hash)
            return false;
    ends[i] = hash;
    return true;
}

void mcx_state_end(uint64_t hash)
{
    hash += hash == 0;
    if (ends_used >= ends_size / 2) {
        uint64_t *old = ends;
        size_t n = ends_size;

        ends_size *= 2;
        ends = zeroed(ends_size, sizeof(*ends));
        for (size_t i = 0; i < n; i++)
            if (old[i])
                insert_end(old[i]);
        free(old);
    }
    ends_used += insert_end(hash);
}

size_t mcx_state_ends(uint64_t *ret_digest)
{
    *ret_digest = 0;
    for (size_t i = 0; i < ends_size; i++)
        *ret_digest += ends[i] ? mcx_mix(ends[i], 1) : 0;
    return ends_used;
}
