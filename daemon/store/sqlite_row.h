/* Rows of the SQLite backend: bodies with their CRC, and the sums over all rows.
 *
 * A body is the payload, then a CRC-32C in four bytes, lowest first. The CRC includes the
 * table and the key, so a body is never valid in another row. The sum of a table adds a
 * mixed CRC per row, modulo 2^64, so a row that is missing, doubled or old changes the
 * sum. */
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

#define ROW_OF_QUEUES (-1) /* owner of resource rows that are queues */

struct row_key {
    enum row_table table;
    int64_t a, b, c; /* job: id, seq; ended: id, at, seq; event: job, item, seq; output:
                      * job, item, stream; resource: owner; key: id, uid, at */
};

/* Appends the CRC to p, whose payload begins at `from`. */
void row_seal(struct pack *p, size_t from, const struct row_key *key);
/* Returns whether the body of n bytes is valid. *ret_payload: its length without the
 * CRC. */
bool row_open(const void *body, size_t n, const struct row_key *key, size_t *ret_payload);
/* Returns the part that a valid body adds to the sum of its table. ENDED has no body:
 * NULL, n 0. */
uint64_t row_digest(const void *body, size_t n, const struct row_key *key);

struct row_sum {
    uint64_t rows, sum;
};

/* The content of meta's "sums": sums of the tables; the next number of news, and the
 * number before the first; the highest id that any job ever had, purged jobs included. */
struct row_sums {
    struct row_sum content, job, event, ended;
    uint64_t seq, first;
    struct row_sum output;
    struct row_sum resource, key;
    uint64_t last_id; /* 0: no job yet, or none since a format before 7 */
};

void row_sum_add(struct row_sum *s, uint64_t digest);
void row_sum_remove(struct row_sum *s, uint64_t digest);
void row_sums_pack(const struct row_sums *s, struct pack *p); /* payload, without CRC */
bool row_sums_unpack(struct row_sums *s, const void *payload, size_t n);

#endif
