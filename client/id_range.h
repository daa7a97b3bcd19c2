/* Ids of jobs as people write them: 17, 17_3 (an element), 12-40 and 17_3-20 (all from
 * the one to the other). */
#ifndef VOLT_CLIENT_ID_RANGE_H
#define VOLT_CLIENT_ID_RANGE_H

#include <stddef.h>
#include <stdint.h>

/* More than these are a slip of the finger. */
#define ID_RANGE_MOST 1000000
/* One message stays below voltd's limits of 256 KiB and 20,000 tokens. */
#define ID_PORTION_MOST  15000
#define ID_PORTION_LEAST 3000 /* that fit, however long they are */

struct id_range {
    uint64_t array;       /* of elements; with_array */
    uint64_t first, last; /* jobs, or indexes: the same for one */
    int with_array;
};

/* 0; -EINVAL: it is none; -E2BIG: more than ID_RANGE_MOST. */
int id_range_parse(const char *text, struct id_range *ret);
/* Writes id number n of the range. */
void id_range_text(const struct id_range *range, uint64_t n, char *buf, size_t size);
/* The shortest that stands for n ids in their order: "12-40 50"; where that does not fit,
 * from the first to the last. */
void id_range_format(char *const *ids, size_t n, char *buf, size_t size);
/* How many of n ids, from the first on, go into one message. */
size_t id_portion(char *const *ids, size_t n);

#endif
