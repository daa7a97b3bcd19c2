/* A submission on its way from the checks to the table: submit.c has the passes, claim.c
 * those for keys. */
#ifndef VOLTD_SUBMIT_SUBMISSION_H
#define VOLTD_SUBMIT_SUBMISSION_H

#include "daemon/auth/auth.h"
#include "daemon/core/keys.h"
#include "daemon/core/parts.h"
#include "daemon/dispatch/dispatch.h"
#include "daemon/steer/steer.h"
#include "daemon/submit/submit.h"

#define SUBMIT_SLICE    64 /* items per poll: with claims each takes 10 us */
#define SUBMIT_REPLACES 8
#define SUBMIT_EDGES    256 /* edges looked at per poll, plus those of one job */
#define SAME_BATCH      UINT64_MAX
#define CLAIM_BYTES     (64 << 10) /* hashed per poll, plus those of one spec */

struct submission {
    struct job **jobs;        /* per item; NULL: rejected, or another job stands for it */
    size_t at;                /* item that the pass has reached */
    size_t accepted, entered; /* items; entered: of these, in the table */
    uint64_t first_id;
    uint64_t at_usec; /* of SUBMIT */
    bool granted;     /* the only job has a slot: STARTING is appended with its SUBMIT */
    struct store_draft *draft; /* facts of the first `packed` items */
    size_t packed;
    uint64_t packed_id; /* id of the next item */
    struct store_commit commit;
    bool appended, committed;
    bool entering;  /* counted in core.entering ... */
    uint8_t ticket; /* ... and in core.log */
    bool alone;     /* runs in a task of its own */
    struct volt_join reserving;
    bool joined;
    bool keyed;        /* an accepted item has a key */
    bool binds;        /* an item waits for another item */
    uint64_t *ids;     /* per item, while these are bound: id of its job */
    uint64_t bound_id; /* id of the next item */
    int bind_error;
    /* Lists per item, made when needed (NULL: not yet). same: the job that stands for the
     * item; SAME_BATCH: the job of an earlier item. body: hash of what its key stands
     * for; zeroes: not yet known. old_body: the hash that the key had for its earlier
     * job. */
    uint64_t *same;
    struct siphash128 *body, *old_body;
    struct keys_bodies bodies;
    struct volt_sleep rest; /* until the keeper is looked for again, */
    unsigned looks;         /* and how often it was */
    struct volt_notified news;
    bool listening; /* subscribed to news */
    uint32_t age;   /* of its claims: keys_is_older() */
    bool blocked;   /* by another submission's claim on item `at`, until there is news */
    bool yields;    /* that other submission is older */
    bool gave_back; /* all claims, until it has the claim on item `at` */
    bool returns;   /* gives claims back, in portions */
    size_t through; /* items done in the current pass in portions: giving claims back,
                     * finding the same, discarding */
    bool abandoned; /* nobody waits for it: to be discarded */
    bool refused;   /* an item was rejected */
    size_t stop;    /* items from here on are behind a temporary rejection */
    /* To be cancelled, in portions, before more is entered: first the jobs replaced;
     * then, when voltd ends, the entered jobs from id `doomed` to `doomed_end`. */
    uint64_t replaced[SUBMIT_REPLACES];
    size_t nreplaced;
    uint64_t doomed, doomed_end;
    struct steer_at cancel;
};

/* Returns how many of the next items a pass may take now, and charges them. */
size_t submission_portion(struct jobs_submit *s, size_t left);
/* Lock held. Books the job, the bytes of its spec and its claims on the user. An item
 * with not_new set is not booked: its key names an earlier job, or it is rejected.
 *   0
 *   -EAGAIN: an antecedent is not known yet: past_edges_look()
 *   another error: the item is rejected with it */
int submission_book(struct jobs_submit *s, struct jobs_submit_item *item,
                    struct job *job);
/* Takes the lock. Fills in s->standing, if there is one and its job is new. */
void submission_stand(struct jobs_submit *s);
/* Takes the lock. Drops the claims of the jobs of items [from, to). */
void submission_forget(struct jobs_submit *s, size_t from, size_t to);
/* Takes the lock. Gives back n jobs and bytes booked on the user. */
void submission_unbook(struct jobs_submit *s, uint64_t n, uint64_t bytes);
/* Notes whether item i was rejected, and temporarily. */
void submission_note(struct jobs_submit *s, size_t i);
/* Discards the job of item i, which is rejected before anything was appended. */
void submission_drop(struct jobs_submit *s, size_t i);
/* Returns the first edge to a job that is not known; NULL: none. */
const struct job_edge *submission_unknown(const struct job_spec *spec);
/* Rejects the item: "more than LIMIT WHAT". */
void submission_over(struct jobs_submit_item *item, uint64_t limit, const char *what);
/* READY: the owner's keeper can be asked for, or is not needed, or has not come for five
 * seconds: who may run jobs since a moment ago may not have it yet. */
enum volt_poll submission_keeper_poll(struct volt_cx *cx, struct jobs_submit *s);
/* Rejects a process that no keeper would run for its owner. Returns 0 or -errno. */
int submission_check_keeper(struct jobs_submit *s, struct jobs_submit_item *item);
void submission_reject_unknown(struct jobs_submit_item *item,
                               const struct job_edge *edge);
/* Checks that antecedents in the batch that the item waits for element by element have as
 * many elements. False: rejected. */
bool submission_fits(const struct jobs_submit *s, struct jobs_submit_item *item);
/* Returns whether the job waits for jobs of its own submission, whose ids are not known
 * yet. */
bool submission_binds(const struct job_spec *spec);
/* Binds item i's edges to items whose keys stand for earlier jobs, as far as those keys
 * have been looked at. */
void submission_bind_known(struct jobs_submit *s, size_t i);
__attribute__((format(printf, 3, 4))) void
submission_reject(struct jobs_submit_item *item, int error, const char *format, ...);

/* discard.c: Returns the job that was granted a slot; NULL: none. */
struct job *submission_granted(const struct submission *p);
/* Discards the jobs of the next portion of the items from p->through on, and gives back
 * what was booked for them. An item without an error is rejected with this one. False:
 * all done. */
bool discard_some(struct jobs_submit *s, int error, const char *text);
/* Discards, likewise, the jobs of all items from `from` on, and takes the slot back. */
void discard(struct jobs_submit *s, size_t from, int error, const char *text);
/* As discard(); many jobs, which take long, on a thread that is no worker. */
void discard_beside(struct volt_cx *cx, struct jobs_submit *s, size_t from, int error,
                    const char *text);

/* bind.c: READY: all edges within the submission have their ids; or p->bind_error is set:
 * -ENOMEM, or an error of the store. */
enum volt_poll bind_poll(struct volt_cx *cx, struct jobs_submit *s);

/* claim.c: READY: each accepted item with a key has claimed it, or was rejected, or an
 * earlier job stands for it. Waits while another submission has claimed the key. */
enum volt_poll claim_poll(struct volt_cx *cx, struct jobs_submit *s);
/* Lock held. Gives the item's key to its job. */
void claim_settle(struct core *core, const struct job *job, uint64_t id);
/* Hashes again a spec that was completed after its key was claimed. 0; -ENOMEM. */
int claim_rehash(struct jobs_submit *s, size_t i);
/* Releases the keys of items [from, to), at most SUBMIT_SLICE. */
void claim_release(struct jobs_submit *s, size_t from, size_t to);
/* Last pass: sets the ids of items that earlier items or jobs stand for. READY: all
 * done. */
enum volt_poll claim_resolve_poll(struct volt_cx *cx, struct jobs_submit *s);

#endif
