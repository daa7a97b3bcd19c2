/* A submission on its way from the checks to the table: submit.c, and claim.c for
 * keys. */
#ifndef VOLTD_EXEC_SUBMISSION_H
#define VOLTD_EXEC_SUBMISSION_H

#include "daemon/exec/jobs.h"

#define SUBMIT_SLICE 256
#define SAME_BATCH   UINT64_MAX

struct submission {
    struct job **jobs; /* per item; NULL: rejected, or another job stands for it */
    size_t at;         /* of the pass */
    size_t accepted;
    uint64_t njobs, bytes; /* added to the user's account, given back on failure */
    uint64_t first_id;
    uint64_t at_usec; /* of SUBMIT */
    bool granted;     /* the only job has a slot: STARTING goes with its SUBMIT */
    struct store_commit commit;
    bool appended, committed;
    bool entering; /* counted in manager.entering */
    bool alone;    /* in a task of its own */
    struct volt_join reserving;
    bool joined;
    bool keyed; /* an accepted item has a key */
    /* Per item, NULL: none. The job that stands for it; SAME_BATCH: that of an earlier
     * item. And the body of its key when another job had it. */
    uint64_t *same;
    struct siphash128 *old_body;
    struct volt_notified news;
    bool listening; /* to news */
    uint64_t age;   /* the older came first to claim its keys */
    bool blocked;   /* at the item `at` by another's claim, until there is news */
    bool yields;    /* which is an older one */
    bool gave_back; /* all claims, until it has that of the item `at` */
};

/* An item that is refused before anything was appended. */
void submission_drop(struct manager_submit *s, size_t i);
__attribute__((format(printf, 3, 4))) void
submission_reject(struct manager_submit_item *item, int error, const char *format, ...);

/* claim.c: READY: each accepted item with a key has claimed it, or was refused, or is the
 * same as an earlier one. A key that another submission is about to give to a job is
 * waited for. */
enum volt_poll claim_poll(struct volt_cx *cx, struct manager_submit *s);
/* Lock held: the item's key belongs to the job now. */
void claim_settle(struct manager *m, const struct job *job, uint64_t id);
/* The keys of the jobs that are given up. */
void claim_release(struct manager_submit *s);
/* At the end: the ids of the items that are the same as earlier ones. */
void claim_resolve(struct manager_submit *s);
/* Lock held: a forgotten job's key, after as many others as the history has jobs. */
void claim_forget(struct manager *m, const struct job *job);

#endif
