/* Parses the indexes of an array for --array: "1-1000", "7", "1-9:2,20", "001-200"; and
 * how many may run at once: "1-1000%4". */
#ifndef VOLT_CLIENT_INDEX_LIST_H
#define VOLT_CLIENT_INDEX_LIST_H

#include <stddef.h>
#include <stdint.h>

#define INDEX_LIST_MOST   1000000 /* elements, if ranges leave indexes out */
#define INDEX_LIST_RANGES 1000
#define INDEX_LIST_WIDTH  18

/* The indexes from first to last at distance `step`; last is one of them. */
struct index_range {
    uint64_t first, last, step;
};

struct index_list {
    struct index_range *ranges; /* sorted, disjoint; at least one */
    size_t n;
    uint64_t count;   /* elements */
    uint64_t at_once; /* 0: not given */
    uint64_t width;   /* digits of the widest number with a leading zero; 0: none */
};

/* Parses a list; duplicate indexes count once, and order does not matter. Returns:
 *   0        *ret has to be finished
 *   -EINVAL  not such a list
 *   -E2BIG   beyond a limit above, or more at once than INDEX_LIST_MOST
 *   -ENOMEM */
int index_list_parse(const char *text, struct index_list *ret);
void index_list_fini(struct index_list *l);

#endif
