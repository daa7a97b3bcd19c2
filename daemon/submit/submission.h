/* A submission on its way from the checks to the table: the passes are in submit.c, those
 * for keys in claim.c. */
#ifndef VOLTD_SUBMIT_SUBMISSION_H
#define VOLTD_SUBMIT_SUBMISSION_H

#include "daemon/auth/auth.h"
#include "daemon/core/keys.h"
#include "daemon/core/parts.h"
#include "daemon/dispatch/dispatch.h"
#include "daemon/steer/steer.h"
#include "daemon/submit/submit.h"

#define SUBMIT_SLICE    256
#define SUBMIT_REPLACES 8
#define SUBMIT_EDGES    256 /* looked at by a poll, and those of one job more */
#define SAME_BATCH      UINT64_MAX
#define CLAIM_BYTES     (64 << 10) /* hashed by a poll, and those of one spec more */

struct submission {
    struct job **jobs;        /* per item; NULL: rejected, or another job stands for it */
    size_t at;                /* of the pass */
    size_t accepted, entered; /* of these, in the table */
    uint64_t njobs, bytes;    /* added to the user's account, given back on failure */
    uint64_t first_id;
    uint64_t at_usec; /* of SUBMIT */
    bool granted;     /* the only job has a slot: STARTING goes with its SUBMIT */
    struct store_draft *draft; /* the facts of the first `packed` items */
    size_t packed;
    uint64_t packed_id; /* of the next one */
    struct store_commit commit;
    bool appended, committed;
    bool entering;  /* counted in core.entering ... */
    uint8_t ticket; /* ... and in core.log */
    bool alone;     /* in a task of its own */
    struct volt_join reserving;
    bool joined;
    bool keyed; /* an accepted item has a key */
    bool binds; /* one waits for another one */
    uint64_t *ids;     /* per item, while these are bound: of its job */
    uint64_t bound_id; /* of the next one */
    int bind_error;
    /* Per item, NULL: none. The job that stands for it; SAME_BATCH: that of an earlier
     * item. What its key stands for, zeroes: not known yet. And what the key stood for
     * when another job had it. */
    uint64_t *same;
    struct siphash128 *body, *old_body;
    struct keys_bodies bodies;
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
    struct steer_at cancel;
};

/* How many of the next items a pass may take now; they count as looked at. */
size_t submission_portion(struct jobs_submit *s, size_t left);
/* Lock held. Books the job and the bytes of its spec on the user, and what it claims. 0;
 * -EAGAIN: nothing is known of a job that it waits for (past_edges_look()); or the item
 * is rejected with this error. */
int submission_book(struct jobs_submit *s, struct jobs_submit_item *item,
                    struct job *job);
/* Takes the lock. Fills in s->standing, if there is one and its job is new. */
void submission_stand(struct jobs_submit *s);
/* Takes the lock. The jobs of the items from one to another claim nothing any more. */
void submission_forget(struct jobs_submit *s, size_t from, size_t to);
/* Takes the lock. */
void submission_unbook(struct jobs_submit *s, uint64_t n, uint64_t bytes);
/* An item that is refused before anything was appended. */
void submission_drop(struct jobs_submit *s, size_t i);
/* It waits for a job of which nothing is known: that; NULL: there is none. */
const struct job_edge *submission_unknown(const struct job_spec *spec);
/* It would be more than a limit allows: "more than LIMIT WHAT". */
void submission_over(struct jobs_submit_item *item, uint64_t limit, const char *what);
void submission_reject_unknown(struct jobs_submit_item *item,
                               const struct job_edge *edge);
/* It waits element to element for others of its batch: these have as many elements;
 * otherwise it is rejected. */
bool submission_fits(const struct jobs_submit *s, struct jobs_submit_item *item);
/* The job waits for others of its submission, of which the ids are not known yet. */
bool submission_binds(const struct job_spec *spec);
/* Of those that the item waits for: which earlier jobs stand for them, as far as their
 * keys have been looked at. */
void submission_bind_known(struct jobs_submit *s, size_t i);
__attribute__((format(printf, 3, 4))) void
submission_reject(struct jobs_submit_item *item, int error, const char *format, ...);

/* bind.c: READY: the edges of all are made, by the ids that they will have; or
 * p->bind_error says why not: -ENOMEM, or an error of the store. */
enum volt_poll bind_poll(struct volt_cx *cx, struct jobs_submit *s);

/* claim.c: READY: each accepted item with a key has claimed it, or was refused, or is the
 * same as an earlier one. A key that another submission is about to give to a job is
 * waited for. */
enum volt_poll claim_poll(struct volt_cx *cx, struct jobs_submit *s);
/* Lock held: the item's key belongs to the job now. */
void claim_settle(struct core *core, const struct job *job, uint64_t id);
/* The spec of an item that has claimed its key is complete only now. 0; -ENOMEM. */
int claim_rehash(struct jobs_submit *s, size_t i);
/* The keys of the items from one to another, at most SUBMIT_SLICE, are given up. */
void claim_release(struct jobs_submit *s, size_t from, size_t to);
/* At the end: the ids of the items that are the same as earlier ones. READY: of all. */
enum volt_poll claim_resolve_poll(struct volt_cx *cx, struct jobs_submit *s);

#endif
