/* The account of a user in a queue, which decides the order among users of equal
 * priority.
 *
 * Users share the time of the slots, not the number of starts (virtual.h). The expected
 * duration of a job is the average of the account's ended jobs, in which the latest job
 * counts one eighth.
 *
 * The virtual time of an account changes only at its own starts and ends. The caller then
 * reorders the account's lanes (line.h).
 *
 * A user is away while no keeper can run its jobs. In all queues its waiters then get no
 * slot and have no right to a lock. An away user is missed if it has waiters for slots in
 * the line. A missed user is listed until accounts_missed() returns it. */
#ifndef VOLTD_ADMIT_ACCOUNT_H
#define VOLTD_ADMIT_ACCOUNT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "base/hash_table.h"
#include "base/list.h"
#include "base/siphash.h"
#include "daemon/admit/treap.h"
#include "daemon/admit/virtual.h"

struct job_queue;

#define ACCOUNT_EXPECTED UINT64_C(1000000) /* us, until a job has ended */

/* A user, in all queues. A limited user gets no further slot in any of them. */
struct account_user {
    struct hash_node hash;
    uid_t uid;
    bool away;
    bool is_missed; /* in accounts.missed */
    struct list_node node;
    uint64_t waiting; /* classes in the line that want slots, in all queues */
    uint64_t slots;   /* slots of its jobs, in all queues */
};

struct account {
    struct hash_node hash;
    struct treap_node node; /* in queue.busy while it is busy, by settled time */
    struct job_queue *queue;
    struct account_user *user;
    uid_t uid;
    struct virtual time;
    uint64_t expected_usec; /* expected duration of its next job */
    uint64_t waiting;       /* classes in the line */
    uint64_t slots;         /* slots of its jobs */
    uint64_t names;         /* of named.c: number of resources that its user owns */
    struct treap owned;     /* these resources, by name */
    struct treap lanes;     /* of line.c: its lanes, by line and priority */
    struct list contested;  /* of line.c: its lanes that virtual time orders */
    struct list holds_up;   /* of standing.c: resources that others leave to it */
};

/* Empty if zero-initialised, except for the secret. */
struct accounts {
    struct siphash_key secret;
    struct hash_table table, users;
    bool begin_away;    /* new users are away */
    uint32_t user_most; /* slots that each user may have in all queues; 0: any number */
    struct list missed; /* users, by node */
};

/* Returns the user, made at first use. Users are never removed. NULL: no memory. */
struct account_user *account_user_get(struct accounts *all, uid_t uid);
/* Sets whether the user is away. Lists it if it is missed. */
void account_user_set_away(struct accounts *all, struct account_user *u, bool away);
/* Returns whether the user is limited: away, or at user_most. */
bool account_user_is_limited(const struct accounts *all, const struct account_user *u);
/* Takes the first user from the list of missed users; NULL: it is empty. */
struct account_user *accounts_missed(struct accounts *all);

/* Returns the user's account in a queue, made at first use. Accounts are never removed.
 * NULL: no memory. */
struct account *account_get(struct accounts *all, struct job_queue *q, uid_t uid);
/* Returns the account, or NULL if it was never made. */
struct account *account_find(const struct accounts *all, const struct job_queue *q,
                             uid_t uid);
void accounts_fini(struct accounts *all);

/* Count a class of the account that joins or leaves the line; slotted: it wants slots. */
void account_join(struct accounts *all, struct account *a, bool slotted);
void account_leave(struct account *a, bool slotted);
/* Count slots that jobs of the account take or release, also for its user and queue. */
void account_add_slots(struct account *a, uint64_t n);
void account_sub_slots(struct account *a, uint64_t n);
/* Charges a start of `amount` of `capacity`, takes such a charge back, or replaces it at
 * the end of the job. All three do the same to the virtual time of the queue. */
void account_start(struct account *a, uint64_t amount, uint64_t capacity);
void account_undo(struct account *a);
void account_end(struct account *a, uint64_t amount, uint64_t capacity,
                 uint64_t ran_usec);
/* Returns the virtual time that a start is charged. */
uint64_t account_cost(const struct account *a, uint64_t amount, uint64_t capacity);

#endif
