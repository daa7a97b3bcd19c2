/* The jobs by id: a vector of chunks, since ids are consecutive. A lookup is two loads,
 * the order of ids is the order of submission, and a chunk is freed when all its jobs are
 * forgotten. Pure; core.lock guards it. */
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
    uint64_t base; /* chunks[0] starts at id base * TABLE_CHUNK */
    size_t nchunks, capacity;
    struct table_chunk **chunks; /* entries may be NULL */
    uint64_t count;
};

void table_fini(struct table *t); /* frees the table, not the jobs */

/* Adds a job. Ids come in any order but near each other: the table has room for all
 * between them. Returns 0 or -ENOMEM. */
int table_put(struct table *t, uint64_t id, struct job *job);
struct job *table_get(const struct table *t, uint64_t id);
void table_remove(struct table *t, uint64_t id);

/* Return the next id with a job, above or below `id`. 0: none. They visit at most `steps`
 * entries; when those are used up, *ret_job is NULL, and the result is the id to continue
 * from. */
uint64_t table_next(const struct table *t, uint64_t id, size_t *steps,
                    struct job **ret_job);
uint64_t table_prev(const struct table *t, uint64_t id, size_t *steps,
                    struct job **ret_job);

#endif
