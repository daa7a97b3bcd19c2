/* Records of attempts whose end is in the store are removed, many at a time.
 *
 * A record waits for at most REMOVAL_PAUSE, then one task sends what has gathered, until
 * nothing is left; it is there only then. What the keeper could not remove is tried
 * again, ever later. What is left, because the daemon ended before or had no memory to
 * remember it, is found and removed by the next daemon. */
#ifndef VOLTD_RUN_RECORD_REMOVAL_H
#define VOLTD_RUN_RECORD_REMOVAL_H

#include <stdbool.h>
#include <stddef.h>
#include "base/lock.h"
#include "daemon/job/key.h"
#include "daemon/keeper/protocol.h"

struct core;

struct removal {
    vlock lock; /* protects the rest */
    struct keeper_key *keys;
    size_t n, capacity;
    bool started; /* there is a runtime */
    bool running; /* a task is at it */
};

/* Takes a record in. 0; -ENOMEM: it stays for the next daemon. Any thread, or at
 * start. */
int removal_add(struct core *core, const struct job_key *key);
/* From now on there is a runtime: what was taken in at start is removed. */
void removal_start(struct core *core);
/* After the runtime was shut down: sends what is left, and frees. */
void removal_fini(struct core *core);

#endif
