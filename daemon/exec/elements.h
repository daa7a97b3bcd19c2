/* What exec has of an array beside its statuses (job/array.h): the tasks of its elements,
 * in chunks made when first needed, and slots that were granted to it. Lock held, all of
 * it. */
#ifndef VOLTD_EXEC_ELEMENTS_H
#define VOLTD_EXEC_ELEMENTS_H

#include "daemon/job/array.h"

struct work;

struct elements {
    uint64_t granted;  /* slots granted and not yet given to an element */
    int64_t cancelled; /* replaced: cancelled as far as there (agenda.h) */
    uint64_t chunks;
    struct work **works[]; /* ARRAY_CHUNK each; NULL until needed */
};

/* Returns new; NULL: no memory. */
struct elements *elements_new(const struct array *a);
void elements_free(struct elements *e); /* NULL allowed; the works are not its own */
/* Makes room for the task of an element. 0; -ENOMEM. */
int elements_reserve(struct elements *e, int64_t offset);
/* Of an element for which there is room. NULL: it has none. */
void elements_set(struct elements *e, int64_t offset, struct work *w);
/* The task of any element; NULL: it has none. */
struct work *elements_work(const struct elements *e, int64_t offset);

#endif
