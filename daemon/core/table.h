/* The jobs by id: a vector of chunks, since ids are consecutive. Finding is two loads,
 * order of ids is order of submission, and a chunk whose jobs are all forgotten is freed.
 * Pure; core's lock guards it. */
#ifndef VOLTD_CORE_TABLE_H
#define VOLTD_CORE_TABLE_H

#include <stddef.h>
#include <stdint.h>

#define TABLE_CHUNK 1024

struct job;

struct table_chunk {
    uint32_t used;
    struct job *jobs[TABLE_CHUNK];
};

struct table {
    uint64_t base; /* number of chunks[0]: its first id divided by TABLE_CHUNK */
    size_t nchunks, capacity;
    struct table_chunk **chunks; /* entries may be NULL */
    uint64_t count;
};

void table_fini(struct table *t); /* frees the table, not the jobs */

/* Ids come in any order, but near to each other: there is room for all between them. 0;
 * -ENOMEM. */
int table_put(struct table *t, uint64_t id, struct job *job);
struct job *table_get(const struct table *t, uint64_t id);
void table_remove(struct table *t, uint64_t id);

/* The next id with a job above (below) `id`; 0: none. Visits at most `steps` entries:
 * when they are used up, *ret_job is NULL and the result is where to go on. */
uint64_t table_next(const struct table *t, uint64_t id, size_t *steps,
                    struct job **ret_job);
uint64_t table_prev(const struct table *t, uint64_t id, size_t *steps,
                    struct job **ret_job);

#endif
