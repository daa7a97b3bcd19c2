/* A submission on its way from the checks to the table: the passes are in submit.c, those
 * for keys in claim.c. */
#ifndef VOLTD_EXEC_SUBMISSION_H
#define VOLTD_EXEC_SUBMISSION_H

#include "daemon/exec/jobs.h"

#define SUBMIT_SLICE    256
#define SUBMIT_REPLACES 8
#define SAME_BATCH      UINT64_MAX

struct submission {
    struct job **jobs;        /* per item; NULL: rejected, or another job stands for it */
    size_t at;                /* of the pass */
    size_t accepted, entered; /* of these, in the table */
    uint64_t njobs, bytes;    /* added to the user's account, given back on failure */
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
    bool returns;   /* gives them back, in portions */
    size_t through; /* items that a pass of portions is through with: giving claims back,
                     * finding the same, giving all up */
    bool abandoned; /* nobody waits for it any more, and it is given up */
    bool refused;   /* an item was */
    /* To be cancelled, in portions, before more is entered: the first of these, which are
     * replaced; then, when voltd ends, the jobs from one id to another that entered. */
    uint64_t replaced[SUBMIT_REPLACES];
    size_t nreplaced;
    uint64_t doomed, doomed_end;
    struct manager_cancel_at cancel;
};

/* How many of the next items a pass may take now; they count as looked at. */
size_t submission_portion(struct manager_submit *s, size_t left);
/* Lock held. Books n jobs and the bytes of their spec on the user. 0, or the item is
 * rejected with this error. */
int submission_book(struct manager_submit *s, struct manager_submit_item *item,
                    uint64_t n, size_t bytes);
/* Takes the lock. */
void submission_unbook(struct manager_submit *s, uint64_t n, uint64_t bytes);
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
/* The keys of the items from one to another, at most SUBMIT_SLICE, are given up. */
void claim_release(struct manager_submit *s, size_t from, size_t to);
/* At the end: the ids of the items that are the same as earlier ones. READY: of all. */
enum volt_poll claim_resolve_poll(struct volt_cx *cx, struct manager_submit *s);

#endif
