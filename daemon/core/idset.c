/* See idset.h. */
#include "daemon/core/idset.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK      (1u << IDSET_CHUNK_BITS)
#define WORDS      (CHUNK / 64)
#define ARRAY_MIN  8
#define ARRAY_MAX  64
#define BITMAP     UINT16_MAX /* `room` of a bitmap */
#define BITMAP_MIN 32         /* with fewer ids it becomes an array again */
#define VECTOR_MIN 4
#define NONE       (-1)

/* --- one chunk ---------------------------------------------------------------------- */

static uint16_t *lows_of(struct idset_chunk *c)
{
    return c->room == IDSET_INLINE ? c->few : c->low;
}

static const uint16_t *read_lows(const struct idset_chunk *c)
{
    return c->room == IDSET_INLINE ? c->few : c->low;
}

/* Returns the place of the first of n that is not below x. Ids are mostly added at the
 * end and removed at the start, so both ends are tried first. */
static inline unsigned place(const uint16_t *lows, unsigned n, unsigned x)
{
    unsigned from = 0;

    if (!n || lows[n - 1] < x)
        return n;
    if (lows[0] >= x)
        return 0;
    while (n > from) {
        unsigned mid = (from + n) / 2;

        if (lows[mid] < x)
            from = mid + 1;
        else
            n = mid;
    }
    return from;
}

static void chunk_fini(struct idset_chunk *c)
{
    if (c->room != IDSET_INLINE)
        free(c->low);
}

/* Copies the low bits in order, from any form; at most ARRAY_MAX of them. */
static void copy_lows(const struct idset_chunk *c, uint16_t *to)
{
    if (c->room != BITMAP) {
        memcpy(to, read_lows(c), c->n * sizeof(*to));
        return;
    }
    for (unsigned i = 0; i < WORDS; i++)
        for (uint64_t word = c->bits[i]; word; word &= word - 1)
            *to++ = (uint16_t)(i * 64 + (unsigned)__builtin_ctzll(word));
}

/* Converts the chunk to another form. False: no memory; nothing has changed. */
static bool reform(struct idset_chunk *c, uint16_t room)
{
    struct idset_chunk made = {.number = c->number, .n = c->n, .room = room};

    if (room == BITMAP) {
        const uint16_t *lows = read_lows(c);

        made.bits = calloc(WORDS, sizeof(*made.bits));
        if (!made.bits)
            return false;
        for (unsigned i = 0; i < c->n; i++)
            made.bits[lows[i] / 64] |= UINT64_C(1) << lows[i] % 64;
    } else {
        if (room != IDSET_INLINE && !(made.low = malloc(room * sizeof(*made.low))))
            return false;
        copy_lows(c, lows_of(&made));
    }
    chunk_fini(c);
    *c = made;
    return true;
}

static uint16_t larger(uint16_t room)
{
    if (room == IDSET_INLINE)
        return ARRAY_MIN;
    return room < ARRAY_MAX ? (uint16_t)(room * 2) : BITMAP;
}

/* Returns 1: added; 0: was there. */
static int bitmap_add(struct idset_chunk *c, unsigned x)
{
    uint64_t *word = &c->bits[x / 64], bit = UINT64_C(1) << x % 64;
    const int added = !(*word & bit);

    *word |= bit;
    c->n = (uint16_t)(c->n + added);
    return added;
}

/* Does the same in any form; also returns -ENOMEM. */
static int chunk_add(struct idset_chunk *c, unsigned x)
{
    if (c->room == BITMAP)
        return bitmap_add(c, x);
    const unsigned at = place(read_lows(c), c->n, x);
    if (at < c->n && read_lows(c)[at] == x)
        return 0;
    if (c->n == c->room && !reform(c, larger(c->room)))
        return -ENOMEM;
    if (c->room == BITMAP)
        return bitmap_add(c, x);
    uint16_t *lows = lows_of(c);
    if (at < c->n)
        memmove(lows + at + 1, lows + at, (c->n - at) * sizeof(*lows));
    lows[at] = (uint16_t)x;
    c->n++;
    return 1;
}

/* Converts a chunk to a smaller form if that is due. Without memory it keeps its form. */
static void chunk_fit(struct idset_chunk *c)
{
    if (c->room == BITMAP) {
        if (c->n < BITMAP_MIN)
            (void)reform(c, BITMAP_MIN * 2);
    } else if (c->room > IDSET_INLINE && c->n <= c->room / 4) {
        (void)reform(c, c->room == ARRAY_MIN ? IDSET_INLINE : c->room / 2);
    }
}

/* Returns whether x was there. May leave an empty chunk. */
static bool chunk_remove(struct idset_chunk *c, unsigned x)
{
    if (c->room == BITMAP) {
        uint64_t *word = &c->bits[x / 64], bit = UINT64_C(1) << x % 64;

        if (!(*word & bit))
            return false;
        *word &= ~bit;
        c->n--;
    } else {
        uint16_t *lows = lows_of(c);
        unsigned at = place(lows, c->n, x);

        if (at == c->n || lows[at] != x)
            return false;
        if (at < --c->n)
            memmove(lows + at, lows + at + 1, (c->n - at) * sizeof(*lows));
    }
    chunk_fit(c);
    return true;
}

/* Returns the first low bits that are not below x, or NONE. */
static int chunk_from(const struct idset_chunk *c, unsigned x)
{
    if (c->room != BITMAP) {
        const uint16_t *lows = read_lows(c);
        unsigned at = place(lows, c->n, x);

        return at < c->n ? lows[at] : NONE;
    }
    uint64_t word = c->bits[x / 64] & UINT64_MAX << x % 64;
    for (unsigned i = x / 64;;) {
        if (word)
            return (int)(i * 64 + (unsigned)__builtin_ctzll(word));
        if (++i == WORDS)
            return NONE;
        word = c->bits[i];
    }
}

/* Returns the last low bits that are not above x, or NONE. */
static int chunk_upto(const struct idset_chunk *c, unsigned x)
{
    if (c->room != BITMAP) {
        const uint16_t *lows = read_lows(c);
        unsigned at = place(lows, c->n, x + 1);

        return at ? lows[at - 1] : NONE;
    }
    uint64_t word = c->bits[x / 64] & UINT64_MAX >> (63 - x % 64);
    for (unsigned i = x / 64;;) {
        if (word)
            return (int)(i * 64 + 63 - (unsigned)__builtin_clzll(word));
        if (i-- == 0)
            return NONE;
        word = c->bits[i];
    }
}

/* --- the vector of chunks ----------------------------------------------------------- */

/* Returns the place of the first chunk whose number is not below this one. */
static uint32_t place_of(const struct idset *s, uint64_t number)
{
    uint32_t from = 0, to = s->n;

    if (!to || s->chunks[0].number >= number)
        return 0;
    if (s->chunks[to - 1].number <= number)
        return to - (s->chunks[to - 1].number == number);
    while (to > from) {
        uint32_t mid = from + (to - from) / 2;

        if (s->chunks[mid].number < number)
            from = mid + 1;
        else
            to = mid;
    }
    return from;
}

static bool is_at(const struct idset *s, uint32_t at, uint64_t number)
{
    return at < s->n && s->chunks[at].number == number;
}

static bool set_room(struct idset *s, uint32_t room)
{
    struct idset_chunk *moved = realloc(s->chunks, room * sizeof(*moved));

    if (!moved)
        return false;
    s->chunks = moved;
    s->room = room;
    return true;
}

static int put_chunk(struct idset *s, uint32_t at, uint64_t number, unsigned x)
{
    if (s->n == s->room && !set_room(s, s->room ? s->room + s->room / 2 : VECTOR_MIN))
        return -ENOMEM;
    struct idset_chunk *c = &s->chunks[at];
    memmove(c + 1, c, (s->n - at) * sizeof(*c));
    *c = (struct idset_chunk){
        .number = number, .n = 1, .room = IDSET_INLINE, .few = {(uint16_t)x}};
    s->n++;
    s->count++;
    return 0;
}

static void take_chunk(struct idset *s, uint32_t at)
{
    struct idset_chunk *c = &s->chunks[at];

    chunk_fini(c);
    s->n--;
    memmove(c, c + 1, (s->n - at) * sizeof(*c));
    if (s->room > VECTOR_MIN * 2 && s->n < s->room / 4)
        (void)set_room(s, s->room / 2);
}

int idset_add(struct idset *s, uint64_t id)
{
    const uint64_t number = id >> IDSET_CHUNK_BITS;
    uint32_t at = place_of(s, number);

    if (!is_at(s, at, number))
        return put_chunk(s, at, number, id % CHUNK);
    int r = chunk_add(&s->chunks[at], id % CHUNK);
    if (r > 0)
        s->count++;
    return r < 0 ? r : 0;
}

void idset_remove(struct idset *s, uint64_t id)
{
    const uint64_t number = id >> IDSET_CHUNK_BITS;
    uint32_t at = place_of(s, number);

    if (!is_at(s, at, number) || !chunk_remove(&s->chunks[at], id % CHUNK))
        return;
    s->count--;
    if (!s->chunks[at].n)
        take_chunk(s, at);
}

static uint64_t id_of(const struct idset_chunk *c, int x)
{
    return c->number << IDSET_CHUNK_BITS | (uint64_t)x;
}

uint64_t idset_next(const struct idset *s, uint64_t id)
{
    const uint64_t first = id + 1, number = first >> IDSET_CHUNK_BITS;

    if (!first)
        return 0;
    uint32_t at = place_of(s, number);
    if (is_at(s, at, number)) {
        int x = chunk_from(&s->chunks[at], first % CHUNK);

        if (x != NONE)
            return id_of(&s->chunks[at], x);
        at++;
    }
    return at < s->n ? id_of(&s->chunks[at], chunk_from(&s->chunks[at], 0)) : 0;
}

uint64_t idset_prev(const struct idset *s, uint64_t id)
{
    const uint64_t last = id - 1, number = last >> IDSET_CHUNK_BITS;

    if (!id)
        return 0;
    uint32_t at = place_of(s, number);
    if (is_at(s, at, number)) {
        int x = chunk_upto(&s->chunks[at], last % CHUNK);

        if (x != NONE)
            return id_of(&s->chunks[at], x);
    }
    if (!at--)
        return 0;
    return id_of(&s->chunks[at], chunk_upto(&s->chunks[at], CHUNK - 1));
}

void idset_fini(struct idset *s)
{
    for (uint32_t i = 0; i < s->n; i++)
        chunk_fini(&s->chunks[i]);
    free(s->chunks);
    *s = (struct idset){0};
}
