/* Removes the records of attempts whose end is in the store, many at a time.
 *
 * A record waits for at most REMOVAL_PAUSE. Then one task removes all records that have
 * gathered, and ends when none is left. A record that cannot be removed is tried again
 * after longer and longer rests. Records that remain when voltd ends, or for lack of
 * memory, are found and removed by the next voltd.
 *
 * Processes of a paused attempt may be frozen after its end. SIGCONT makes the keeper
 * thaw them (keeper/cgroup.h). The record is removed after that: if voltd ends before,
 * the next voltd finds the record and sends SIGCONT. Each such attempt has its own task,
 * so a keeper that does not answer delays no other record. */
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
    uid_t owner; /* of the job; KEEPER_OF_NOBODY: unknown */
};

struct removal {
    vlock lock; /* guards the rest */
    struct removal_item *items;
    size_t n, capacity;
    bool started; /* there is a runtime */
    bool running; /* a task removes records */
};

/* Adds a record. Returns 0; -ENOMEM: it remains for the next voltd. Any thread, or at
 * start. */
int removal_add(struct core *core, const struct job_key *key, uid_t owner, bool thaw);
/* Starts removing, as there is a runtime now. */
void removal_start(struct core *core);
/* Removes all remaining records, and frees. After the runtime was shut down. */
void removal_fini(struct core *core);

#endif
