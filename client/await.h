/* Waits for jobs, for `volt-submit --wait` and `voltctl wait`. Shows progress on a
 * terminal or prints events as NDJSON. Returns the exit code of all jobs. Reconnects.
 *
 * A connection waits for up to 15,000 ids, the most that fit into a message. More ids
 * need more connections. With JSON another connection watches. */
#ifndef VOLT_CLIENT_AWAIT_H
#define VOLT_CLIENT_AWAIT_H

#include "client/client.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    WAIT_EXIT_VOLT_FAILED = 125, /* no connection, or the job's result is no code */
    WAIT_EXIT_INTERRUPTED = 130,
    WAIT_ANY_MOST = 15000, /* ids that fit into a message */
};

struct retry_watch;

struct wait_request {
    const struct address_choice *choice;
    char *const *ids;
    size_t nids;
    uint64_t total;          /* jobs; elements of arrays count one by one; 0: unknown */
    uint64_t reconnect_usec; /* how long to retry a lost connection */
    int no_such_job_code;    /* exit code for an id that does not exist */
    bool any;                /* only until the first has ended: prints its id, with JSON
                              * the job; its code counts. At most WAIT_ANY_MOST ids */
    bool own;                /* this voltd has just given out the ids */
    bool printed;            /* their output was printed already */
    bool json;               /* NDJSON on standard output */
    bool quiet;              /* no progress, no summary; only errors */
    int interrupt;           /* readable when the user interrupts; -1: none */
    struct retry_watch *retries; /* reports failed attempts; NULL: none are reported */
};

/* Waits until all jobs have ended. Returns the exit code of the program. *c may be
 * replaced by a new connection, and is NULL if there is none. */
int wait_for_jobs(struct client **c, const struct wait_request *rq);

/* Prints the last event of a wait for no job. */
void wait_print_none(int exit_code);

/* Returns a signalfd for SIGINT and SIGTERM, which are blocked from then on. A signal
 * that is ignored stays ignored. -1: error. */
int wait_interrupt_fd(void);
/* Prints that the jobs go on, and the command that waits for them again. */
void wait_say_interrupted(char *const *ids, size_t nids);

#endif
