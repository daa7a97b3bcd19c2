/* The indexes of an array, as --array takes them: "1-1000", "7", "1-9:2,20", "001-200",
 * and behind them how many may run at once: "1-1000%4". */
#ifndef VOLT_CLIENT_INDEX_LIST_H
#define VOLT_CLIENT_INDEX_LIST_H

#include <stddef.h>
#include <stdint.h>

#define INDEX_LIST_MOST   1000000 /* elements, where not all of a range belong to it */
#define INDEX_LIST_RANGES 1000
#define INDEX_LIST_WIDTH  18

/* From first to last, each `step` behind the one before; last is one of them. */
struct index_range {
    uint64_t first, last, step;
};

struct index_list {
    struct index_range *ranges; /* in order, apart from each other; at least one */
    size_t n;
    uint64_t count;   /* elements */
    uint64_t at_once; /* 0: it does not say */
    uint64_t width;   /* digits of the widest number with a zero in front; 0: none has */
};

/* Of indexes named twice one counts; their order does not matter. 0, and *ret is to be
 * finished; -EINVAL: no such list; -E2BIG: beyond one of the two, or more at once than
 * INDEX_LIST_MOST; -ENOMEM. */
int index_list_parse(const char *text, struct index_list *ret);
void index_list_fini(struct index_list *l);

#endif
