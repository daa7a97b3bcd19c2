/* How many jobs have ended, and how: the sentence that sums it up. */
#ifndef VOLT_CLIENT_ENDS_H
#define VOLT_CLIENT_ENDS_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

struct ends {
    uint64_t total;
    uint64_t failed, cancelled; /* neither counts as the other */
    uint64_t unknown;           /* voltd keeps no record of them any more */
};

/* Adds a job that has ended; of an array each element. */
void ends_add(struct ends *e, const json_t *job);
/* Writes "12 jobs ended: 9 succeeded, 2 failed, 1 cancelled"; the last part only where
 * some were. */
void ends_format(const struct ends *e, char *buf, size_t size);

#endif
