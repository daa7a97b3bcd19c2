/* Reports on standard error, while a program waits for a job, that an attempt has failed
 * and another one follows.
 *
 * A connection of its own watches the jobs (Watch of org.voltd.jobs). Its errors are not
 * reported, as nothing depends on it. */
#ifndef VOLT_CLIENT_RETRY_WATCH_H
#define VOLT_CLIENT_RETRY_WATCH_H

#include "client/client.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct retry_watch {
    struct client *c; /* NULL: not watching */
    json_t *most;     /* by id of the job: attempts that it may have */
    int64_t most_of_all; /* likewise for all other jobs; 0: unknown */
    bool several;        /* names each job in its messages */
    uint64_t left;       /* jobs and elements that have not ended, as far as known */
};

/* Watches jobs that were just submitted, which may have `most` attempts each; 0: unknown.
 * total: elements count one by one. Also reports what has happened since. */
void retry_watch_own(struct retry_watch *w, const struct address_choice *choice,
                     char *const *ids, size_t nids, int64_t most, uint64_t total);
/* Watches jobs of any age; nothing if none may have another attempt. Also reports that a
 * single job waits for its next attempt. Ends early while interrupt is readable. */
void retry_watch_begin(struct retry_watch *w, const struct address_choice *choice,
                       char *const *ids, size_t nids, int interrupt);
/* Returns the descriptor for poll(); -1: not watching. w may be NULL, here and below. */
int retry_watch_fd(const struct retry_watch *w);
/* Reports events that have come in. */
void retry_watch_take(struct retry_watch *w);
/* Reports the remaining events, after all jobs have ended. */
void retry_watch_finish(struct retry_watch *w);
void retry_watch_fini(struct retry_watch *w);

#endif
