/* Bytes to store: numbers and strings one after the other.
 *
 * A number is a varint (7 bits per byte, lowest first, the top bit says that more
 * follow), a signed one is zigzag-encoded first; a string is its length and its bytes.
 * Reading never goes past the end and never trusts a length: what does not fit sets
 * `failed`, and everything read from then on is zero. Pure. */
#ifndef VOLTD_JOB_PACK_H
#define VOLTD_JOB_PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Zero-initialised is empty. Without memory `failed` is set and nothing more is added. */
struct pack {
    uint8_t *bytes; /* owned: pack_fini(); or lent */
    size_t n, capacity;
    bool failed;
    bool lent;
};

/* Returns an empty pack in the caller's memory, which must live as long; what does not
 * fit is allocated. */
static inline struct pack pack_in(uint8_t *bytes, size_t capacity)
{
    return (struct pack){.bytes = bytes, .capacity = capacity, .lent = true};
}

void pack_number(struct pack *p, uint64_t v);
void pack_signed(struct pack *p, int64_t v);
void pack_raw(struct pack *p, const void *bytes, size_t n); /* without a length */
void pack_string(struct pack *p, const char *s);
/* Packs a NULL-terminated array: its length, then its strings. NULL is packed as
 * empty. */
void pack_strings(struct pack *p, char *const *v);
void pack_fini(struct pack *p);
/* Empties the pack; its memory stays for the next use. */
static inline void pack_clear(struct pack *p)
{
    p->n = 0;
    p->failed = false;
}

struct unpack {
    const uint8_t *at, *end; /* borrowed */
    bool failed;
    bool no_memory; /* `failed` is set too */
};

static inline struct unpack unpack_of(const void *bytes, size_t n)
{
    const uint8_t *at = bytes;
    return (struct unpack){.at = at, .end = n ? at + n : at};
}

static inline size_t unpack_left(const struct unpack *u)
{
    return (size_t)(u->end - u->at);
}

uint64_t unpack_number(struct unpack *u);
/* Like unpack_number(), but fails above max. */
uint64_t unpack_number_max(struct unpack *u, uint64_t max);
int64_t unpack_signed(struct unpack *u);
/* Returns n bytes, borrowed; NULL: there are fewer. */
const uint8_t *unpack_raw(struct unpack *u, size_t n);
/* Returns new; NULL: failed. A NUL inside fails. */
char *unpack_string(struct unpack *u);
/* Returns new, NULL-terminated, each string allocated; NULL: failed. */
char **unpack_strings(struct unpack *u);

#endif
