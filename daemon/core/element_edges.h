/* What is known of edges from the elements of an array to those of others: each.h, which
 * says what they mean. Guarded by core.lock. */
#ifndef VOLTD_CORE_ELEMENT_EDGES_H
#define VOLTD_CORE_ELEMENT_EDGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/list.h"
#include "daemon/job/job.h"

struct job;

#define BITS_WORDS(n) (((n) + 63) / 64)

/* One edge of an array, for all of its elements. */
struct each_edge {
    struct job *job;               /* that waits */
    struct list_node of;           /* in the antecedent's elements.followers, if linked */
    struct list_node node;         /* in core.each_due, if listed */
    uint64_t antecedent;           /* 0: not known yet */
    enum job_after when;
    struct past_elements *past;    /* how these ended; NULL: memory knows, or all are */
    uint8_t all;                   /* as the array as a whole: as past_elements.of */
    bool linked, listed, awaited, entered;
    uint64_t at;                   /* word of `due` to look at first */
    uint64_t *due, *open;          /* bits: to be looked at; not decided */
};

/* What an array has of all its edges. */
struct each {
    struct elements_wait *home, *made; /* the condition of an array without a ready one */
    uint64_t ready;       /* elements of the rest that may start */
    uint64_t first;       /* no word of is_ready before this one has a bit */
    uint64_t *is_ready;   /* bits */
    uint16_t *unmet;      /* per element: edges */
    size_t nedges;
    struct each_edge edges[];
};

/* How the elements of an array ended that memory does not know; n 0: all as the array. */
struct past_elements {
    uint64_t total, n;
    uint8_t of[]; /* enum job_result << 1 | has started */
};
/* Returns new, each element lost; NULL: no memory. */
struct past_elements *past_elements_new(uint64_t total, uint64_t n);
/* Likewise, the same. */
struct past_elements *past_elements_copy(const struct past_elements *p);

/* Of so many elements; its edges are zeroes but for their bits. NULL: no memory. */
struct each *each_new(uint64_t total, size_t nedges);
void each_free(struct each *e); /* NULL allowed */

#endif
