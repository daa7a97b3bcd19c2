/* Conditions: reasons why a job is not eligible yet. Each is independent of other
 * conditions and of other waiters, so their order does not matter. A waiter has a list of
 * its unmet conditions; when the last one is met, it joins the line.
 *
 * A condition is made before the waiter enters, which may fail, or while it waits. Its
 * kind has an index of its own, by what the condition waits for. The condition is freed
 * when it is met or when the waiter leaves. A kind is a file and a row of
 * condition_kinds.def. If it depends on more than the spec and the time, it also has a
 * row in core/conditions.c. */
#ifndef VOLTD_ADMIT_CONDITION_H
#define VOLTD_ADMIT_CONDITION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "base/list.h"
#include "daemon/admit/timed.h"
#include "daemon/job/job.h"

struct admission;
struct admission_times;
struct condition;
struct job_spec;
struct waiter;

struct condition_kind {
    const char *name;
    enum job_wait wait; /* the reason shown for its waiters */
    /* Removes the condition from the kind's index, and frees it. */
    void (*free)(struct admission *a, struct condition *c);
    /* Writes in words what it waits for; as snprintf(). */
    int (*explain)(const struct condition *c, const struct admission_times *now,
                   char *ret, size_t size);
    bool many; /* a waiter may have any number, at the end of its list */
    /* For a kind that depends only on the spec and the time; otherwise NULL. Return
     * whether the spec asks for conditions of the kind; add them to the waiter: 0 or
     * -ENOMEM. */
    bool (*asked)(const struct job_spec *spec);
    int (*begin)(struct admission *a, struct waiter *w, const struct job_spec *spec,
                 const struct admission_times *now);
};

#define CONDITION(name_) extern const struct condition_kind condition_##name_;
#include "daemon/admit/condition_kinds.def"

/* The first member of each kind's own struct. */
struct condition {
    const struct condition_kind *kind;
    struct waiter *waiter;
    struct condition *prev, *next; /* in the list of the waiter */
    struct list_node all;          /* in admission.conditions */
};

/* Return whether the spec asks for conditions of kinds with `asked`; add them to the
 * waiter, which has a class: 0 or -ENOMEM. */
bool condition_asked(const struct job_spec *spec);
int condition_begin_asked(struct admission *a, struct waiter *w,
                          const struct job_spec *spec, const struct admission_times *now);
/* Adds a condition to a waiter that has a class. */
void condition_add(struct admission *a, struct waiter *w, struct condition *c);
/* Frees a condition that is met. */
void condition_met(struct admission *a, struct condition *c, uint64_t now);
/* Frees the conditions of a kind, unmet; the waiter is APART. */
void condition_free_kind(struct admission *a, struct waiter *w,
                         const struct condition_kind *kind);
/* Replaces the conditions of a kind of a waiter that waits by those of `other`, which is
 * APART. */
void condition_take_kind(struct admission *a, struct waiter *w, struct waiter *other,
                         const struct condition_kind *kind, uint64_t now);
/* Free all conditions, unmet: of a waiter; of all waiters, at the end of admission. */
void condition_free_all(struct admission *a, struct waiter *w);
void conditions_fini(struct admission *a);
/* Returns the waiter's first condition of this kind; NULL: none. */
struct condition *condition_find(const struct waiter *w,
                                 const struct condition_kind *kind);
bool condition_is(const struct condition *c, const struct condition_kind *kind);
/* Returns the waiter's first unmet condition; NULL: none. */
struct condition *condition_first(const struct waiter *w);
/* Returns the reason to show for the waiter; JOB_WAIT_NONE: no condition is unmet. */
enum job_wait condition_wait(const struct waiter *w);

/* --- hold: until it is released ----------------------------------------------------- */
struct hold {
    uid_t by;
    bool by_admin; /* then only admins may release it */
};
/* Holds the waiter. A hold by an admin replaces one by the user, not the other way round.
 * Returns 0 or -ENOMEM. */
int condition_hold_add(struct admission *a, struct waiter *w, const struct hold *hold);
/* Releases the hold. Returns 0; -ENOENT: not held; -EPERM: held by an admin, and the
 * caller is none. */
int condition_hold_release(struct admission *a, struct waiter *w, bool is_admin,
                           uint64_t now);
/* Changes who holds the waiter, which is held. */
void condition_hold_change(struct waiter *w, const struct hold *hold);
/* Fills in the hold. Returns false if the waiter is not held. */
bool condition_hold_of(const struct waiter *w, struct hold *ret);

/* --- after: until other jobs have started or ended ---------------------------------- */
/* Adds an edge, which counts from condition_after_enter() on. Returns 0 or -ENOMEM. */
int condition_after_add(struct admission *a, struct waiter *w, uint64_t antecedent,
                        enum job_after after);
/* Makes all edges of the waiter count, once its job has an id. */
void condition_after_enter(struct admission *a, struct waiter *w);
/* Note that the antecedent has started or ended. Its edges become due; nothing is done to
 * the waiters yet. */
void condition_after_started(struct admission *a, uint64_t antecedent);
void condition_after_ended(struct admission *a, uint64_t antecedent,
                           enum job_result result);
/* Returns the next edge that is met and due, for condition_met(); it is returned again
 * until that is called. Antecedents take turns, an edge each. Edges that can never be met
 * are doomed on the way: doom.h. Each edge looked at costs one of *budget. NULL: no edge
 * is due, or the budget is used up. */
struct condition *condition_after_due(struct admission *a, unsigned *budget);
bool condition_after_is_due(const struct admission *a);
/* Returns the antecedent of an edge; *ret_when: what it has to do. */
uint64_t condition_after_of(const struct condition *c, enum job_after *ret_when);
/* Returns the antecedent of the waiter's only unmet edge; 0: it has none or several, or
 * waits for elements as well. */
uint64_t condition_after_only(const struct waiter *w, enum job_after *ret_when);
/* Frees the index at the end of admission, when no job has an edge any more. */
void condition_after_fini(struct admission *a);

/* The condition of an array whose elements all wait for elements of another array. Made
 * once and used many times: *home points to it while it is met, and is NULL while it is
 * unmet. */
struct elements_wait;
struct elements_wait *condition_elements_new(void); /* NULL: no memory */
void condition_elements_add(struct admission *a, struct waiter *w,
                            struct elements_wait **home, uint64_t antecedent,
                            enum job_after when);
/* Frees the condition with its home. If it is unmet, it is freed when it is met. */
void condition_elements_free(struct elements_wait *home, struct elements_wait *made);

/* Writes that an element, or each, waits for the same element of an array; as
 * snprintf(). */
int condition_after_text(uint64_t antecedent, enum job_after when, bool each, char *ret,
                         size_t size);
/* Mark and unmark a job as awaited by something without an edge here. The first returns 0
 * or -ENOMEM. condition_after_is_marked() returns whether the job is so marked;
 * condition_after_is_awaited(), whether it is, or has an edge or a doomed one. */
int condition_after_await(struct admission *a, uint64_t antecedent);
void condition_after_await_no_more(struct admission *a, uint64_t antecedent);
bool condition_after_is_marked(const struct admission *a, uint64_t antecedent);
bool condition_after_is_awaited(const struct admission *a, uint64_t antecedent);

/* --- replace: until the job whose key it took has no process left ------------------- */
/* Makes the waiter wait for the end of its predecessor's processes. Returns 0 or
 * -ENOMEM. */
int condition_replace_add(struct admission *a, struct waiter *w, uint64_t predecessor);
/* Meets the conditions of all waiters for this job, whose last process is gone. */
void condition_replace_gone(struct admission *a, uint64_t predecessor, uint64_t now);
/* Returns the job for which the waiter waits; 0: none. */
uint64_t condition_replace_of(const struct waiter *w);

/* --- kinds that end by time: begin, backoff ----------------------------------------- */
enum clock {
    CLOCK_OF_DELAYS, /* CLOCK_BOOTTIME */
    CLOCK_OF_DATES,  /* CLOCK_REALTIME */
};

/* Adds a condition of a kind that ends by time. Returns 0 or -ENOMEM. */
int condition_time_add(struct admission *a, struct waiter *w,
                       const struct condition_kind *kind, enum clock clock, uint64_t at);
/* Writes the text of a back-off with so much time left; as snprintf(). */
int condition_backoff_text(uint64_t left, char *ret, size_t size);
/* Moves an unmet condition of such a kind to another time; TIMED_NEVER is allowed. */
void condition_time_set(struct admission *a, struct condition *c, uint64_t at);
/* Returns the time of a condition of such a kind. */
uint64_t condition_time_of(const struct condition *c, enum clock *ret_clock);
/* Returns the microseconds until that time. */
uint64_t condition_time_left(const struct condition *c,
                             const struct admission_times *now);

#endif
