/* See pack.h. */
#include <stdlib.h>
#include <string.h>

#include "daemon/job/pack.h"

static bool grow(struct pack *p, size_t n)
{
    if (p->failed)
        return false;

    size_t capacity = p->capacity ? p->capacity * 2 : 128;
    while (capacity - p->n < n)
        capacity *= 2;
    uint8_t *grown = realloc(p->lent ? NULL : p->bytes, capacity);
    if (!grown) {
        p->failed = true;
        return false;
    }
    if (p->lent)
        memcpy(grown, p->bytes, p->n);
    p->lent = false;
    p->bytes = grown;
    p->capacity = capacity;
    return true;
}

static inline bool room(struct pack *p, size_t n)
{
    return (p->capacity - p->n >= n && !p->failed) || grow(p, n);
}

void pack_number(struct pack *p, uint64_t v)
{
    if (!room(p, 10))
        return;
    uint8_t *at = p->bytes + p->n;
    for (; v >= 0x80; v >>= 7)
        *at++ = (uint8_t)(v | 0x80);
    *at++ = (uint8_t)v;
    p->n = (size_t)(at - p->bytes);
}

void pack_signed(struct pack *p, int64_t v)
{
    pack_number(p, (uint64_t)v << 1 ^ (v < 0 ? UINT64_MAX : 0));
}

void pack_raw(struct pack *p, const void *bytes, size_t n)
{
    if (n == 0 || !room(p, n))
        return;
    memcpy(p->bytes + p->n, bytes, n);
    p->n += n;
}

void pack_string(struct pack *p, const char *s)
{
    size_t n = strlen(s);

    pack_number(p, n);
    pack_raw(p, s, n);
}

void pack_strings(struct pack *p, char *const *v)
{
    size_t n = 0;

    while (v && v[n])
        n++;
    pack_number(p, n);
    for (size_t i = 0; i < n; i++)
        pack_string(p, v[i]);
}

void pack_fini(struct pack *p)
{
    if (!p->lent)
        free(p->bytes);
    *p = (struct pack){0};
}

uint64_t unpack_number(struct unpack *u)
{
    const uint8_t *at = u->at;
    uint64_t v = 0;

    for (unsigned shift = 0; !u->failed && at < u->end && shift < 64; shift += 7) {
        uint8_t b = *at++;

        if (shift == 63 && b > 1)
            break;
        v |= (uint64_t)(b & 0x7f) << shift;
        if (!(b & 0x80)) {
            u->at = at;
            return v;
        }
    }
    u->at = at;
    u->failed = true;
    return 0;
}

uint64_t unpack_number_max(struct unpack *u, uint64_t max)
{
    uint64_t v = unpack_number(u);

    if (v <= max)
        return v;
    u->failed = true;
    return 0;
}

int64_t unpack_signed(struct unpack *u)
{
    uint64_t v = unpack_number(u);

    return (int64_t)(v >> 1 ^ (v & 1 ? UINT64_MAX : 0));
}

const uint8_t *unpack_raw(struct unpack *u, size_t n)
{
    const uint8_t *at = u->at;

    if (u->failed || n > unpack_left(u)) {
        u->failed = true;
        return NULL;
    }
    u->at += n;
    return at;
}

static void *no_memory(struct unpack *u)
{
    u->failed = u->no_memory = true;
    return NULL;
}

char *unpack_string(struct unpack *u)
{
    size_t n = unpack_number(u);
    const uint8_t *bytes = unpack_raw(u, n);

    if (!bytes)
        return NULL;
    if (memchr(bytes, '\0', n)) {
        u->failed = true;
        return NULL;
    }
    char *s = malloc(n + 1);
    if (!s)
        return no_memory(u);
    memcpy(s, bytes, n);
    s[n] = '\0';
    return s;
}

/* Each string takes a byte at least, so the bytes left bound the array. */
char **unpack_strings(struct unpack *u)
{
    size_t n = unpack_number_max(u, unpack_left(u));

    if (u->failed)
        return NULL;
    char **v = calloc(n + 1, sizeof(*v));
    if (!v)
        return no_memory(u);
    for (size_t i = 0; i < n; i++) {
        v[i] = unpack_string(u);
        if (v[i])
            continue;
        while (i-- > 0)
            free(v[i]);
        free(v);
        return NULL;
    }
    return v;
}
