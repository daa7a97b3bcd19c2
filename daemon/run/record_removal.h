/* Records of attempts whose end is in the store are removed, many at a time.
 *
 * A record waits for at most REMOVAL_PAUSE, then one task removes what has gathered,
 * until nothing is left; it is there only then. What could not be removed is tried again,
 * ever later. What is left, because the daemon ended before or had no memory to remember
 * it, is found and removed by the next daemon.
 *
 * What an attempt has left that was paused may be frozen, and goes on when its record has
 * gone: the keeper is told by SIGCONT (keeper/cgroup.h). */
#ifndef VOLTD_RUN_RECORD_REMOVAL_H
#define VOLTD_RUN_RECORD_REMOVAL_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include "base/lock.h"
#include "daemon/job/key.h"

struct core;

struct removal_item {
    struct job_key key;
    bool thaw;   /* the attempt may have been paused */
    uid_t owner; /* of the job; KEEPER_OF_NOBODY: not known */
};

struct removal {
    vlock lock; /* protects the rest */
    struct removal_item *items;
    size_t n, capacity;
    bool started; /* there is a runtime */
    bool running; /* a task is at it */
};

/* Takes a record in. 0; -ENOMEM: it stays for the next daemon. Any thread, or at
 * start. */
int removal_add(struct core *core, const struct job_key *key, uid_t owner, bool thaw);
/* From now on there is a runtime: what was taken in at start is removed. */
void removal_start(struct core *core);
/* After the runtime was shut down: removes what is left, and frees. */
void removal_fini(struct core *core);

#endif
