/* Clients and processes that wait inside jobs, which lend their slots meanwhile, and
 * inside the commands of leases: lends.c. */
#ifndef TESTS_SIM_LENDS_H
#define TESTS_SIM_LENDS_H

#include <sys/types.h>
#include "daemon/lease/lending.h"

/* A call that waits for one job; zeroed before. */
struct lends {
    struct inner_wait call;
    struct lending lending;
    struct job_key of;
};

/* It waits for this job from now on, inside of something of the user's perhaps. 0;
 * -EDEADLK: it would wait for ever. */
int lends_begin(uid_t uid, const struct job_key *of, struct lends *l);
void lends_end(struct lends *l);
/* What a process of the user's may be inside of; id 0: of none. */
struct job_key lends_a_job(uid_t uid);

#endif
