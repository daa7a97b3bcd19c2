/* Waits for the first of several jobs to end, for `voltctl wait --any`. Prints its id on
 * standard output, and returns its exit code; the other jobs go on. Reconnects. */
#ifndef VOLT_CLIENT_AWAIT_ANY_H
#define VOLT_CLIENT_AWAIT_ANY_H

#include "client/await.h"

enum { AWAIT_ANY_MOST = 15000 }; /* ids that fit into a message */

/* As wait_for_jobs(). With rq->json prints the job as JSON instead of its id. */
int wait_for_any(struct client **c, const struct wait_request *rq);

#endif
