/* The failures among many jobs, told in the end: the first ten by id, outcome and the
 * last line of their output, and the command that lists them all. */
#ifndef VOLT_CLIENT_FAILURES_H
#define VOLT_CLIENT_FAILURES_H

#include "client/client.h"

#include <stddef.h>

enum { FAILURES_SAID = 10 };

struct failures {
    bool all;   /* also those that ended with an exit status of their own; otherwise
                 * only results that are no code */
    bool cancelled; /* also those that were cancelled: of several these are no failures */
    bool lines; /* each with the last line of its output */
    unsigned said;     /* so far */
    bool more, arrays; /* there are more than were said; an array was among them */
};

/* Says those among the ids of jobs, elements and arrays, which have ended; jobs: what
 * Wait has told of them, perhaps not of all. What cannot be asked is left out: the wait
 * that this belongs to has its answer already. */
void failures_say(struct failures *f, struct client *c, json_t *ids, const json_t *jobs);
/* If there are more: says how many, of `failed` in all, and the command that
 * lists them. */
void failures_conclude(const struct failures *f, uint64_t failed, char *const *ids,
                       size_t nids);

#endif
