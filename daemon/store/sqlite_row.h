/* The rows of the SQLite backend: bodies with their CRC, and the sums over all rows.
 *
 * A body is payload, then CRC-32C in four bytes, lowest first. The CRC begins with the
 * table and the key, so a body never speaks for another row. The sum of a table adds a
 * mixed CRC per row, modulo 2^64: a row that is missing, doubled or old changes it. */
#ifndef VOLTD_STORE_SQLITE_ROW_H
#define VOLTD_STORE_SQLITE_ROW_H

#include "daemon/job/pack.h"

enum row_table {
    ROW_META = 1,
    ROW_CONTENT,
    ROW_JOB,
    ROW_EVENT,
    ROW_ENDED,
    ROW_OUTPUT,
    ROW_RESOURCE,
    ROW_KEY,
};

#define ROW_OF_QUEUES (-1) /* owner of the resources that are queues */

struct row_key {
    enum row_table table;
    int64_t a, b, c; /* id, seq; id, at, seq; job, item, seq; job, item, stream; owner;
                    * id, uid, at */
};

/* Adds the CRC to p, which holds the payload from `from` on. */
void row_seal(struct pack *p, size_t from, const struct row_key *key);
/* Whether the body of n bytes is valid; *ret_payload: its length without the CRC. */
bool row_open(const void *body, size_t n, const struct row_key *key, size_t *ret_payload);
/* What a valid body adds to the sum of its table. ENDED has none: body NULL, n 0. */
uint64_t row_digest(const void *body, size_t n, const struct row_key *key);

struct row_sum {
    uint64_t rows, sum;
};

/* What meta's "sums" holds, beside the numbers of news: the next, and the one before the
 * first of all; and the highest id that a job ever had here, forgotten ones included. */
struct row_sums {
    struct row_sum content, job, event, ended;
    uint64_t seq, first;
    struct row_sum output;
    struct row_sum resource, key;
    uint64_t last_id; /* 0: no job yet, or a format before 7 and none since */
};

void row_sum_add(struct row_sum *s, uint64_t digest);
void row_sum_remove(struct row_sum *s, uint64_t digest);
void row_sums_pack(const struct row_sums *s, struct pack *p); /* payload */
bool row_sums_unpack(struct row_sums *s, const void *payload, size_t n);

#endif
