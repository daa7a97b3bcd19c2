/* Why a job does not start, or does not go on: from what admission knows now
 * (admit/explain.h). What belongs to other users is a number. */
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
_Static_assert(WHY_LOOKS <= CORE_ENTRIES, "a turn has room for it");

struct job;
struct job_claim;

/* Of one in the line that waits for what comes with the end of others. */
struct why_line {
    uint64_t places;       /* that there are; 0: it is not such a one */
    uint64_t used, own;    /* of these, and by what is its user's */
    uint64_t in_front;     /* before it */
    bool of_array;         /* it is an array's, at the limit of that, which has them */
    int64_t first_usec;    /* of a rate: admit/estimate.h; ... */
    uint64_t step_usec;    /* ... 0: it waits for none */
    struct job_key holder; /* of a lock: a job of its user that has it; id 0: none */
    uint64_t held_usec;    /* for how long */
};

struct why {
    enum job_state state;
    uid_t owner;
    bool is_next; /* it is in the line, and nothing is in front of it or short */
    struct why_line line;
    size_t looks; /* what was looked at */
    size_t n;     /* reasons; 0: it waits for nothing */
    struct why_reason {
        enum job_wait wait;
        uint32_t group; /* explain.h: of one in the line; otherwise 0 */
        pid_t pid;      /* of what has asked for the lease that has the lock; 0: none */
        char text[REASON_TEXT]; /* one line */
    } reason[WHY_MOST];
};

/* A job, an array as a whole, an element. 0; -ENOENT: it is not in memory, or not the
 * asker's. */
int query_why(struct core *core, const struct asker *asker, uint64_t id, int64_t index,
              struct why *ret);
/* A job that waits and is not in the table. Lock held. */
void query_why_new(struct core *core, struct job *job, struct why *ret);
/* Why a lease would wait that the user asked for now. No reason: it would not. */
void query_why_lease(struct core *core, uid_t uid, const struct job_claim *claim,
                     struct why *ret);

#endif
