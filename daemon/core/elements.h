/* What core has of an array beside its statuses (job/array.h): the tasks of its elements,
 * in chunks made when first needed, and those of them that wait for slots. Lock held, all
 * of it. */
#ifndef VOLTD_CORE_ELEMENTS_H
#define VOLTD_CORE_ELEMENTS_H

#include "base/list.h"
#include "daemon/job/array.h"

struct work;
struct each;

struct elements {
    struct list waiting; /* works that want a slot, in order of offsets */
    uint64_t nwaiting;
    uint64_t nearly;   /* of these, those that start early */
    struct list resting; /* works that will want one later: PLACE_RESTS */
    uint64_t nresting;
    int64_t cancelled; /* by the agenda, as far as there (agenda.h) */
    struct each *each; /* what they wait for by themselves; NULL: nothing: each.h */
    struct {
        struct list list;
        uint32_t n;
    } followers; /* edges of arrays whose elements wait for those of this one */
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
