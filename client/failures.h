/* Reports the failures among many jobs at the end: the first ten with id, outcome and
 * last line of output, and the command that lists all. */
#ifndef VOLT_CLIENT_FAILURES_H
#define VOLT_CLIENT_FAILURES_H

#include "client/client.h"

#include <stddef.h>

enum { FAILURES_SAID = 10 };

struct failures {
    bool all;   /* also jobs with an exit status of their own; otherwise only results that
                 * are no code */
    bool cancelled; /* also cancelled jobs, which are no failures among several */
    bool lines; /* each with the last line of its output */
    unsigned said;     /* reported so far */
    bool more, arrays; /* more failures than were reported; an array was among them */
};

/* Reports failures among the ids of jobs, elements and arrays, which have ended. jobs:
 * the answers of Wait so far, perhaps not of all. Failed queries are left out, as the
 * wait already has its answer. */
void failures_say(struct failures *f, struct client *c, json_t *ids, const json_t *jobs);
/* If there are more failures, prints how many of `failed`, and the command that lists
 * them. */
void failures_conclude(const struct failures *f, uint64_t failed, char *const *ids,
                       size_t nids);

#endif
