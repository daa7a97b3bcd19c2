/* Counts how jobs have ended, and sums that up in a sentence. */
#ifndef VOLT_CLIENT_ENDS_H
#define VOLT_CLIENT_ENDS_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

struct ends {
    uint64_t total;
    uint64_t failed, cancelled; /* cancelled jobs are not failed */
    uint64_t unknown;           /* voltd has no record of them any more */
};

/* Adds an ended job, or each element of an array. */
void ends_add(struct ends *e, const json_t *job);
/* Writes "12 jobs ended: 9 succeeded, 2 failed, 1 cancelled"; the last part only if a job
 * was cancelled. */
void ends_format(const struct ends *e, char *buf, size_t size);

#endif
