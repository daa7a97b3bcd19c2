/* Why a job does not start or go on, from what admission knows (admit/explain.h). Jobs of
 * other users appear only as numbers. */
#ifndef VOLTD_QUERY_WHY_H
#define VOLTD_QUERY_WHY_H

#include <stddef.h>
#include <stdint.h>
#include "daemon/auth/auth.h"
#include "daemon/admit/explain.h"
#include "daemon/core/core.h"
#include "daemon/job/owner.h"
#include "daemon/query/holder.h"

#define WHY_MOST  8
#define WHY_LOOKS (EXPLAIN_LOOKS + 2 * HOLDERS_LOOKED_AT + 2) /* of a question, at most */
_Static_assert(WHY_LOOKS <= QUOTA_ENTRIES, "a turn has room for it");

struct job;
struct job_claim;

/* A waiter in the line that needs the end of others. */
struct why_line {
    uint64_t places;       /* in all; 0: not such a waiter */
    uint64_t used, own;    /* of places: used by all, and by its user */
    uint64_t in_front;     /* waiters before it */
    bool of_array;         /* places are the limit of its own array */
    int64_t first_usec;    /* of a rate: admit/estimate.h; ... */
    uint64_t step_usec;    /* ... 0: no rate */
    struct job_key holder; /* of a lock: a job of its user that holds it; id 0: none */
    uint64_t held_usec;    /* time that it has held it */
};

struct why {
    enum job_state state;
    uid_t owner;
    bool is_next; /* it is in the line, and nothing is in front of it or short */
    struct why_line line;
    size_t n; /* reasons; 0: waits for nothing */
    struct why_reason {
        enum job_wait wait;
        uint32_t group;         /* job_view.wait_group */
        pid_t pid;              /* of the process whose lease holds the lock; 0: none */
        char text[REASON_TEXT]; /* one line */
    } reason[WHY_MOST];
};

/* Explains a job, a whole array or an element. Charges the quota with up to WHY_LOOKS
 * entries, and with elements that back off (waiting_first_rest()). 0; -ENOENT: not in
 * memory, or not the asker's. */
int query_why(struct core *core, const struct asker *asker, uint64_t id, int64_t index,
              struct quota *quota, struct why *ret);
/* Explains why a job waits that is not in the table. Lock held. */
void query_why_new(struct core *core, struct job *job, struct why *ret);
/* Explains why a lease requested now would wait. No reason: it would not. */
void query_why_lease(struct core *core, uid_t uid, const struct job_claim *claim,
                     struct quota *quota, struct why *ret);

#endif
