/* The data of edges from the elements of one array to those of another; each.h says what
 * they mean. Guarded by core.lock. */
#ifndef VOLTD_CORE_ELEMENT_EDGES_H
#define VOLTD_CORE_ELEMENT_EDGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/list.h"
#include "daemon/job/job.h"

struct job;

#define BITS_WORDS(n) (((n) + 63) / 64)

/* An edge of an array, for all its elements. */
struct each_edge {
    struct job *job;               /* the array that waits */
    struct list_node of;           /* in the antecedent's elements.followers, if linked */
    struct list_node node;         /* in core.each_due, if listed */
    uint64_t antecedent;           /* id; 0: not known yet */
    enum job_after when;
    struct past_elements *past;    /* how its elements ended; NULL: see memory, or
                                    * `all` */
    uint8_t all;                   /* the end of all its elements, as past_elements.of */
    bool linked, listed, awaited, entered;
    uint64_t at;                   /* the first word of `due` to look at */
    uint64_t *due, *open;          /* bits: to be looked at; not decided */
};

/* All edges of an array. */
struct each {
    struct elements_wait *home, *made; /* condition while no element is ready */
    uint64_t ready;       /* elements of the rest that may start */
    uint64_t first;       /* words of is_ready before this one are 0 */
    uint64_t *is_ready;   /* bits */
    uint16_t *unmet;      /* per element: unmet edges */
    size_t nedges;
    struct each_edge edges[];
};

/* How the elements of an array ended that memory does not know. n 0: all as the array. */
struct past_elements {
    uint64_t total, n;
    uint8_t of[]; /* enum job_result << 1 | has started */
};
/* Returns a new object with every element lost. NULL: no memory. */
struct past_elements *past_elements_new(uint64_t total, uint64_t n);
/* Returns a new copy. NULL: no memory. */
struct past_elements *past_elements_copy(const struct past_elements *p);

/* Returns a new object for so many elements; edges are zeroed and have their bits. NULL:
 * no memory. */
struct each *each_new(uint64_t total, size_t nedges);
void each_free(struct each *e); /* NULL allowed */

#endif
