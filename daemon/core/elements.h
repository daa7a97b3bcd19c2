/* The tasks of an array's elements, in chunks made when first needed, and which elements
 * wait for slots. The statuses are in job/array.h. Lock held in all functions. */
#ifndef VOLTD_CORE_ELEMENTS_H
#define VOLTD_CORE_ELEMENTS_H

#include "base/list.h"
#include "daemon/job/array.h"

struct work;
struct each;

struct elements {
    struct list waiting; /* works that want a slot, in order of offset */
    uint64_t nwaiting;
    uint64_t nearly;   /* of `waiting`: works that start early */
    struct list resting; /* works that back off: PLACE_RESTS */
    uint64_t nresting;
    int64_t cancelled; /* the agenda has cancelled up to here (agenda.h) */
    struct each *each; /* edges of the elements; NULL: none (each.h) */
    struct {
        struct list list;
        uint32_t n;
    } followers; /* edges of arrays that wait for this one's elements */
    uint64_t chunks;
    struct work **works[]; /* ARRAY_CHUNK each; NULL: not needed yet */
};

/* Returns a new object. NULL: no memory. */
struct elements *elements_new(const struct array *a);
void elements_free(struct elements *e); /* NULL allowed; the works are borrowed */
/* Makes room for the task of an element. Returns 0 or -ENOMEM. */
int elements_reserve(struct elements *e, int64_t offset);
/* Sets the task of an element, for which there must be room. NULL: removes the task. */
void elements_set(struct elements *e, int64_t offset, struct work *w);
/* Returns the task of an element. NULL: the element has none. */
struct work *elements_work(const struct elements *e, int64_t offset);

#endif
