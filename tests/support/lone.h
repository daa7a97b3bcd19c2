/* A runtime of one worker, steered from the test's thread: everything queued runs in the
 * order of queueing, so "all that can run has run" is a point in time that a test can
 * wait for, without sleeping. */
#ifndef VOLT_TESTS_LONE_H
#define VOLT_TESTS_LONE_H

#include <volt/volt.h>

struct volt_runtime *lone_runtime(void);

/* Returns when no task is runnable: all that were have been polled, and those that they
 * have woken. A task that wakes itself for ever keeps it from returning. */
void lone_settle(struct volt_runtime *rt);

/* Keeps the worker busy in a poll, from when _begin returns until _end. */
struct lone_hold {
    uint32_t running, release; /* futexes */
    struct volt_join join;
};
void lone_hold_begin(struct volt_runtime *rt, struct lone_hold *h);
void lone_hold_end(struct lone_hold *h);

/* Spawns state; aborts the test on failure. */
void lone_spawn(void *state, struct volt_join *ret_join);
/* volt_join_wait + volt_join_fini; returns the status. */
int lone_join(struct volt_join *join);

#endif
