/* Records of attempts whose end is in the store are removed, many at a time.
 *
 * A record waits for at most SWEEP_PAUSE, then one task sends what has gathered, until
 * nothing is left; it is there only then. What the keeper could not remove is tried
 * again, ever later. What is left, because the daemon ended before or had no memory to
 * remember it, is found and removed by the next daemon. */
#ifndef VOLTD_EXEC_SWEEP_H
#define VOLTD_EXEC_SWEEP_H

#include <stdbool.h>
#include <stddef.h>
#include "daemon/job/key.h"
#include "daemon/keeper/protocol.h"

struct manager;

/* [L] */
struct sweep {
    struct keeper_key *keys;
    size_t n, capacity;
    bool started; /* there is a runtime */
    bool running; /* a task is at it */
};

/* Takes a record in. 0; -ENOMEM: it stays for the next daemon. Any thread, or at
 * start. */
int sweep_add(struct manager *m, const struct job_key *key);
/* From now on there is a runtime: what was taken in at start is removed. */
void sweep_start(struct manager *m);
/* After the runtime was shut down: sends what is left, and frees. */
void sweep_fini(struct manager *m);

#endif
