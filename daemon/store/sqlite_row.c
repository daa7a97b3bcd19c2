/* See sqlite_row.h. */

#include "base/crc.h"
#include "daemon/store/sqlite_row.h"

static uint32_t key_crc(const struct row_key *key)
{
    const int64_t words[4] = {(int64_t)key->table, key->a, key->b, key->c};

    return crc32c(0, words, sizeof(words));
}

void row_seal(struct pack *p, size_t from, const struct row_key *key)
{
    uint8_t tail[4] = {0};

    if (!p->failed) {
        uint32_t crc = key_crc(key);

        if (p->n > from)
            crc = crc32c(crc, p->bytes + from, p->n - from);
        for (unsigned i = 0; i < 4; i++)
            tail[i] = (uint8_t)(crc >> (8 * i));
    }
    pack_raw(p, tail, sizeof(tail));
}

static uint32_t stored_crc(const uint8_t *body, size_t n)
{
    const uint8_t *tail = body + n - 4;

    return (uint32_t)tail[0] | (uint32_t)tail[1] << 8 | (uint32_t)tail[2] << 16 |
           (uint32_t)tail[3] << 24;
}

bool row_open(const void *body, size_t n, const struct row_key *key, size_t *ret_payload)
{
    if (n < 4 || crc32c(key_crc(key), body, n - 4) != stored_crc(body, n))
        return false;
    *ret_payload = n - 4;
    return true;
}

/* The finisher of splitmix64. Rows with other keys have equal sums with probability
 * 2^-64. Two bodies of one key differ by their CRC, so these have equal sums with
 * 2^-32. */
static uint64_t mix(uint64_t v)
{
    v = (v ^ v >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    v = (v ^ v >> 27) * UINT64_C(0x94d049bb133111eb);
    return v ^ v >> 31;
}

uint64_t row_digest(const void *body, size_t n, const struct row_key *key)
{
    uint64_t crc = n >= 4 ? stored_crc(body, n) : 0;

    return mix(crc << 32 ^ key_crc(key) ^
               (uint64_t)key->a * UINT64_C(0x9e3779b97f4a7c15));
}

void row_sum_add(struct row_sum *s, uint64_t digest)
{
    s->rows++;
    s->sum += digest;
}

void row_sum_remove(struct row_sum *s, uint64_t digest)
{
    s->rows--;
    s->sum -= digest;
}

void row_sums_pack(const struct row_sums *s, struct pack *p)
{
    const struct row_sum *all[] = {&s->content, &s->job, &s->event, &s->ended};

    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        pack_number(p, all[i]->rows);
        pack_number(p, all[i]->sum);
    }
    pack_number(p, s->seq);
    pack_number(p, s->output.rows);
    pack_number(p, s->output.sum);
    pack_number(p, s->first);
    pack_number(p, s->last_id);
    pack_number(p, s->resource.rows);
    pack_number(p, s->resource.sum);
    pack_number(p, s->key.rows);
    pack_number(p, s->key.sum);
}

bool row_sums_unpack(struct row_sums *s, const void *payload, size_t n)
{
    struct row_sum *all[] = {&s->content, &s->job, &s->event, &s->ended};
    struct unpack u = unpack_of(payload, n);

    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        all[i]->rows = unpack_number(&u);
        all[i]->sum = unpack_number(&u);
    }
    s->seq = unpack_number(&u);
    s->output = (struct row_sum){0};
    if (!u.failed && u.at < u.end) { /* formats before 3 end here */
        s->output.rows = unpack_number(&u);
        s->output.sum = unpack_number(&u);
    }
    s->first = !u.failed && u.at < u.end ? unpack_number(&u) : 0;   /* before 4: absent */
    s->last_id = !u.failed && u.at < u.end ? unpack_number(&u) : 0; /* before 7: absent */
    s->resource = (struct row_sum){0};
    if (!u.failed && u.at < u.end) { /* before 14: absent */
        s->resource.rows = unpack_number(&u);
        s->resource.sum = unpack_number(&u);
    }
    s->key = (struct row_sum){0};
    if (!u.failed && u.at < u.end) { /* before 29: absent */
        s->key.rows = unpack_number(&u);
        s->key.sum = unpack_number(&u);
    }
    return !u.failed && u.at == u.end;
}
