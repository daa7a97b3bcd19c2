/* The account of a user in a queue: whose turn it is among users of equal priority.
 *
 * Users share the time of the slots, not starts (virtual.h). What a job is expected to
 * take is the average of what the account's jobs took, the latest counting an eighth.
 *
 * The time of an account changes at its own starts and ends only. Then its lanes (line.h)
 * are ordered anew, by the caller. */
#ifndef VOLTD_ADMIT_ACCOUNT_H
#define VOLTD_ADMIT_ACCOUNT_H

#include <stdint.h>
#include <sys/types.h>
#include "base/hash_table.h"
#include "base/list.h"
#include "base/siphash.h"
#include "daemon/admit/treap.h"
#include "daemon/admit/virtual.h"

struct job_queue;

#define ACCOUNT_EXPECTED UINT64_C(1000000) /* us, before anything has ended */

struct account {
    struct hash_node hash;
    struct treap_node node; /* in queue.busy, by settled time, while it is busy */
    struct job_queue *queue;
    uid_t uid;
    struct virtual time;
    uint64_t expected_usec; /* of its next job */
    uint64_t waiting;       /* classes in the line */
    uint64_t slots;         /* that its jobs have */
    uint64_t names;         /* of named.c: resources that its user owns, and these */
    struct treap owned;     /* by name */
    struct treap lanes;     /* of line.c: all, by line and priority */
    struct list contested;  /* of line.c: those that its time orders */
    struct list holds_up;   /* of standing.c: resources that others leave to it */
};

/* Zero-initialised but for the secret is empty. */
struct accounts {
    struct siphash_key secret;
    struct hash_table table;
};

/* Made when it was not seen yet; it stays. NULL: no memory. */
struct account *account_get(struct accounts *all, struct job_queue *q, uid_t uid);
/* NULL: was not seen. */
struct account *account_find(const struct accounts *all, const struct job_queue *q,
                             uid_t uid);
void accounts_fini(struct accounts *all);

/* A class of it joins, or leaves, the line. */
void account_join(struct account *a);
void account_leave(struct account *a);
/* A start of `amount` of `capacity`; it was none after all; its end. Also of the
 * queue's time. */
void account_start(struct account *a, uint64_t amount, uint64_t capacity);
void account_undo(struct account *a);
void account_end(struct account *a, uint64_t amount, uint64_t capacity,
                 uint64_t ran_usec);
/* What a start charges. */
uint64_t account_cost(const struct account *a, uint64_t amount, uint64_t capacity);

#endif
