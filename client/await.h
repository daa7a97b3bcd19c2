/* Waiting for jobs, as `volt-submit --wait` and `voltctl wait` do it: progress on a
 * terminal, events as NDJSON, the exit code of all in the end, a lost connection retried.
 *
 * One connection waits, for up to 15,000 ids, the most that fit into a message; more ids
 * need more of them, and with JSON one more watches. */
#ifndef VOLT_CLIENT_AWAIT_H
#define VOLT_CLIENT_AWAIT_H

#include "client/client.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    WAIT_EXIT_VOLT_FAILED = 125, /* the daemon is gone, or the job's result is no code */
    WAIT_EXIT_INTERRUPTED = 130,
};

struct retry_watch;

struct wait_request {
    const struct address_choice *choice;
    char *const *ids;
    size_t nids;
    uint64_t total; /* jobs, elements of arrays counted one by one; 0: not known */
    uint64_t reconnect_usec; /* how long a lost connection is retried */
    int no_such_job_code;    /* what to return for an id that does not exist */
    bool own;                /* the ids were given out by this voltd just now */
    bool printed;            /* their output has been printed already */
    bool json;               /* NDJSON on standard output */
    bool quiet;              /* no progress, no summary; errors are said */
    int interrupt;           /* readable when the user wants to go; -1: none */
    struct retry_watch *retries; /* says which attempts have failed; NULL: nothing does */
};

/* Waits until all have ended. Returns the exit code to end with. *c may be replaced by a
 * new connection, and is NULL when there is none any more. */
int wait_for_jobs(struct client **c, const struct wait_request *rq);

/* A signalfd for SIGINT and SIGTERM, which are blocked from then on; what is ignored
 * stays ignored. -1: not possible. */
int wait_interrupt_fd(void);
/* Says which of these ids something keeps from ending (patience.h), if one is; to a
 * person also what a single job waits for. */
void wait_say_stuck(const struct wait_request *rq, json_t *ids);
/* Says that the jobs go on, and how to wait for them again. */
void wait_say_interrupted(char *const *ids, size_t nids);

#endif
