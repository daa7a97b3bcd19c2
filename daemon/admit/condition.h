/* Conditions: why a job is not eligible yet. Each is independent of the others and of all
 * that wait, so their order does not matter: a waiter has a list of those that are unmet,
 * and when the last one has left it the waiter is in the line.
 *
 * A condition is made before the waiter enters (that may fail), or while it waits. Its
 * kind keeps it in an index of its own, by what it waits for; it is freed when it is met
 * or when the waiter leaves. A kind is one file and one row of condition_kinds.def. */
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
struct waiter;

struct condition_kind {
    const char *name;
    enum job_wait wait; /* the reason that is told of what waits on it */
    /* Out of its index, and freed. */
    void (*free)(struct admission *a, struct condition *c);
    /* What it waits for, in words; as snprintf(). */
    int (*explain)(const struct condition *c, const struct admission_times *now,
                   char *ret, size_t size);
    bool many; /* a waiter may have any number: they are the last ones of its list */
};

#define CONDITION(name_) extern const struct condition_kind condition_##name_;
#include "daemon/admit/condition_kinds.def"

/* The first member of each. */
struct condition {
    const struct condition_kind *kind;
    struct waiter *waiter;
    struct condition *prev, *next; /* of the waiter */
    struct list_node all;          /* in admission.conditions */
};

/* The waiter has a class, and waits for this as well from now on. */
void condition_add(struct admission *a, struct waiter *w, struct condition *c);
/* It is met, and freed. */
void condition_met(struct admission *a, struct condition *c, uint64_t now);
/* Those of this kind go unmet, of a waiter that is APART. */
void condition_free_kind(struct admission *a, struct waiter *w,
                         const struct condition_kind *kind);
/* A waiter that waits has those of this kind from now on that the other one has, which is
 * APART, instead of its own. */
void condition_take_kind(struct admission *a, struct waiter *w, struct waiter *other,
                         const struct condition_kind *kind, uint64_t now);
/* All of them go unmet: of the waiter; of all, at the end of admission. */
void condition_free_all(struct admission *a, struct waiter *w);
void conditions_fini(struct admission *a);
/* The first of this kind; NULL: the waiter has none. */
struct condition *condition_find(const struct waiter *w,
                                 const struct condition_kind *kind);
bool condition_is(const struct condition *c, const struct condition_kind *kind);
/* The first of those that are unmet; NULL: it waits on none. */
struct condition *condition_first(const struct waiter *w);
/* The reason to be told of it; JOB_WAIT_NONE: it waits on none. */
enum job_wait condition_wait(const struct waiter *w);

/* --- hold: until it is released ----------------------------------------------------- */
struct hold {
    uid_t by;
    bool by_admin; /* then admins only release it */
};
/* A hold of an admin replaces one of the user, and stays when the user holds it too. 0;
 * -ENOMEM. */
int condition_hold_add(struct admission *a, struct waiter *w, const struct hold *hold);
/* 0; -ENOENT: it is not held; -EPERM: by an admin, and this is none. */
int condition_hold_release(struct admission *a, struct waiter *w, bool is_admin,
                           uint64_t now);
/* Whose the hold is that is there. */
void condition_hold_change(struct waiter *w, const struct hold *hold);
/* False: it is not held. */
bool condition_hold_of(const struct waiter *w, struct hold *ret);

/* --- after: until other jobs have started or ended ---------------------------------- */
/* One edge, which counts from condition_after_enter() on. 0; -ENOMEM. */
int condition_after_add(struct admission *a, struct waiter *w, uint64_t antecedent,
                        enum job_after after);
/* All edges of the waiter count: it is known by its id. */
void condition_after_enter(struct admission *a, struct waiter *w);
/* The antecedent runs, or did; it has ended. Nothing is done yet to what waits for it:
 * that is due. */
void condition_after_started(struct admission *a, uint64_t antecedent);
void condition_after_ended(struct admission *a, uint64_t antecedent,
                           enum job_result result);
/* The next edge that is met and not yet told of, for condition_met(); until then it comes
 * again. The antecedents take turns, an edge each. NULL: there is none, or the budget is
 * used up: each edge that is looked at is taken off it. Those that can be met no more are
 * doomed: doom.h. */
struct condition *condition_after_due(struct admission *a, unsigned *budget);
bool condition_after_is_due(const struct admission *a);
/* The antecedent of an edge, and what it has to do. */
uint64_t condition_after_of(const struct condition *c, enum job_after *ret_when);
/* Whether anything waits for this job, or is doomed by what it did. */
/* The end of admission: no job has an edge any more. */
void condition_after_fini(struct admission *a);

/* It is in *home while it is not unmet; then *home is NULL. */
struct elements_wait;
struct elements_wait *condition_elements_new(void); /* NULL: no memory */
void condition_elements_add(struct admission *a, struct waiter *w,
                            struct elements_wait **home, uint64_t antecedent,
                            enum job_after when);
/* What was made, and where it is, is no more: an unmet one is freed when it is met. */
void condition_elements_free(struct elements_wait *home, struct elements_wait *made);

/* What is waited for, of an antecedent that is an array, element to element: of one
 * element, or of each. As snprintf(). */
int condition_after_text(uint64_t antecedent, enum job_after when, bool each, char *ret,
                         size_t size);
/* It is awaited by something that has no edge here. 0; -ENOMEM. */
int condition_after_await(struct admission *a, uint64_t antecedent);
void condition_after_await_no_more(struct admission *a, uint64_t antecedent);
bool condition_after_is_awaited(const struct admission *a, uint64_t antecedent);

/* --- replace: until the job whose key it took has no process left ------------------- */
/* 0; -ENOMEM. */
int condition_replace_add(struct admission *a, struct waiter *w, uint64_t predecessor);
/* No process of this job is left: all that wait for it need no longer. */
void condition_replace_gone(struct admission *a, uint64_t predecessor, uint64_t now);
/* What the waiter waits for; 0: nothing of this kind. */
uint64_t condition_replace_of(const struct waiter *w);

/* --- begin, backoff: until it is time ----------------------------------------------- */
enum clock {
    CLOCK_OF_DELAYS, /* CLOCK_BOOTTIME */
    CLOCK_OF_DATES,  /* CLOCK_REALTIME */
};

/* At a time of one of the clocks. 0; -ENOMEM. */
int condition_begin_add(struct admission *a, struct waiter *w, enum clock clock,
                        uint64_t at);
/* The next attempt: at a time of CLOCK_BOOTTIME. */
int condition_backoff_add(struct admission *a, struct waiter *w, uint64_t at);
/* What is told of it when so much time is left; as snprintf(). */
int condition_backoff_text(uint64_t left, char *ret, size_t size);
/* One of either kind that is not met ends at another time; TIMED_NEVER is possible. */
void condition_time_set(struct admission *a, struct condition *c, uint64_t at);
/* Of a condition of either kind. */
uint64_t condition_time_of(const struct condition *c, enum clock *ret_clock);
/* Microseconds until then. */
uint64_t condition_time_left(const struct condition *c,
                             const struct admission_times *now);

#endif
