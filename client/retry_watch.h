/* Says, to a person or a log, that an attempt of a job has failed and another one
 * follows, while somebody waits for the job.
 *
 * A connection of its own watches the jobs (org.voltd.jobs Watch). What goes wrong with
 * it is silent: nothing depends on it. */
#ifndef VOLT_CLIENT_RETRY_WATCH_H
#define VOLT_CLIENT_RETRY_WATCH_H

#include "client/client.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct retry_watch {
    struct client *c; /* NULL: nothing is watched (any more) */
    json_t *most;     /* by the id of the job: how many attempts it may have */
    int64_t most_of_all; /* the same of jobs that it does not have; 0: not known */
    bool several;        /* each is named */
    uint64_t left;       /* jobs and elements that have not ended, as far as is known */
};

/* What was submitted just now: each of them may have `most` attempts, 0: it is not known
 * how many. total: elements counted one by one. What has happened since is said too. */
void retry_watch_own(struct retry_watch *w, const struct address_choice *choice,
                     char *const *ids, size_t nids, int64_t most, uint64_t total);
/* Jobs of any time. Where none of them may have another attempt nothing is watched. That
 * a single one waits for its next attempt is said. */
void retry_watch_begin(struct retry_watch *w, const struct address_choice *choice,
                       char *const *ids, size_t nids);
/* For poll(); -1: nothing is watched. w may be NULL, here and below. */
int retry_watch_fd(const struct retry_watch *w);
/* Says what has come in. */
void retry_watch_take(struct retry_watch *w);
/* All have ended: says what is still to come of that. */
void retry_watch_finish(struct retry_watch *w);
void retry_watch_fini(struct retry_watch *w);

#endif
