/* Ids of jobs as people write them: 17, 17_3 (an element), and the ranges 12-40 and
 * 17_3-20. */
#ifndef VOLT_CLIENT_ID_RANGE_H
#define VOLT_CLIENT_ID_RANGE_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

/* A larger range is a typing mistake. */
#define ID_RANGE_MOST 1000000
/* Keeps a message below voltd's limits of 256 KiB and 20,000 tokens. */
#define ID_PORTION_MOST  15000
#define ID_PORTION_LEAST 3000 /* ids that fit at any length */

struct id_range {
    uint64_t array;       /* with_array: the array of the elements */
    uint64_t first, last; /* jobs, or indexes; equal for a single one */
    int with_array;
};

/* Parses an id or a range. Returns 0; -EINVAL: it is neither; -E2BIG: more than
 * ID_RANGE_MOST. */
int id_range_parse(const char *text, struct id_range *ret);
/* Writes the n-th id of the range. */
void id_range_text(const struct id_range *range, uint64_t n, char *buf, size_t size);
/* Writes the shortest text for n ids in their order: "12-40 50"; if that does not fit,
 * first and last. */
void id_range_format(char *const *ids, size_t n, char *buf, size_t size);
/* Returns an array of n ids for the protocol, new; NULL: no memory. */
json_t *id_list(char *const *ids, size_t n);
/* Returns how many of n ids, from the first on, fit into one message. */
size_t id_portion(char *const *ids, size_t n);

#endif
