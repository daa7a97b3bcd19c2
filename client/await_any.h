/* Waiting for the first of several jobs, as `voltctl wait --any` does it: its id on
 * standard output, its exit code; the others go on. A lost connection is retried. */
#ifndef VOLT_CLIENT_AWAIT_ANY_H
#define VOLT_CLIENT_AWAIT_ANY_H

#include "client/await.h"

enum { AWAIT_ANY_MOST = 15000 }; /* ids that one message holds */

/* As wait_for_jobs(). With rq->json the job is printed, as JSON. */
int wait_for_any(struct client **c, const struct wait_request *rq);

#endif
