/* The queues that jobs wait in: what the configuration says of each, what was set of it
 * by hand, and what admission has of that (admit/job_queue.h).
 *
 * There is always "default"; the others come from the configuration, or were made by
 * hand. One that neither has any more is gone: it takes no jobs, runs those that it has
 * like any other, with no slots of its own, and is not shown when it has none and nothing
 * was set by hand. It comes back with the configuration, or when it is made again.
 *
 * A setting that was made by hand is a fact. It wins over the configuration until that
 * says something else than it did when it was made, or until it is reset; so it keeps the
 * configured value that it overrode.
 *
 *   paused   starts nothing; what runs goes on
 *   drained  takes no jobs; those that it has run
 *
 * Numbers of a fact: 1 of a queue that is paused, 2 of one that is drained and 4 of one
 * that was made by hand, added up; then, for each setting that was made, its number, its
 * value, and what it overrode; of a list of names, its number behind QUEUE_LISTS_FROM,
 * eight bytes of them (the first is the lowest), and a mark of what it overrode, as often
 * as it takes to come to a byte of zero. */
#ifndef VOLTD_CORE_QUEUES_H
#define VOLTD_CORE_QUEUES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <volt/error.h>
#include "base/list.h"
#include "daemon/job/queue.h"

struct core;
struct job;
struct job_owner;
struct job_queue;
struct job_spec;
struct store_commit;
struct store_loaded_queue;
struct tx;

#define QUEUE_LISTS_FROM 1000

/* What was set by hand. */
struct queue_hand {
    bool paused, drained, made;
    struct {
        bool made;
        uint64_t value, over; /* over: what was configured then */
    } set[QUEUE_SETTINGS];
    struct {
        bool made;
        uint64_t over; /* a mark of the names */
    } list[QUEUE_LISTS];
};

struct queue {
    struct list_node node;       /* in queues.all */
    struct queue_config as_read; /* by the configuration */
    struct queue_hand hand;
    struct queue_allowed by_hand[QUEUE_LISTS]; /* of its lists */
    struct job_queue *admitted; /* what admission has of it */
    bool is_configured;
    bool stays; /* is configured, or about to be: no other takes its place */
    bool stale; /* the store has settings that do not count any more */
};

/* [L] Zeroes: none, until queues_configure(). */
struct queues {
    struct list all; /* in the order of their making: "default" is the first */
    size_t n;
    bool any_paused;
};

/* --- lock held ---------------------------------------------------------------------- */
/* NULL: there is none of this name, NULL being that of "default". */
struct queue *queues_find(struct core *core, const char *name);
size_t queues_count(const struct core *core);
/* The first, and the next. */
struct queue *queues_first(const struct core *core);
struct queue *queues_next(const struct queue *q);
/* Whether it is gone; with nothing of it left. */
bool queue_is_gone(const struct queue *q);
bool queue_is_over(const struct queue *q);
/* What is in force. */
uint64_t queue_value(const struct queue *q, enum queue_setting s);
const struct queue_allowed *queue_allows(const struct queue *q, enum queue_list list);
/* The slots that so many mean as a setting. */
uint32_t queue_slots(uint64_t setting);
/* Slots that queues have of their own, all together, and those that there are. Where the
 * configuration leaves fewer of these, each queue has its part of them. */
uint64_t queues_own(struct core *core);
uint32_t queues_slots(struct core *core);

/* What the configuration says: n queues, "default" first, whose lists of users are taken
 * over; before queues_replay() at the start. 0; -ENOMEM, -E2BIG: nothing has changed. */
int queues_configure(struct core *core, struct queue_config *configs, size_t n);
void queues_free(struct core *core);
/* What an earlier voltd has kept; names are without their ids. 0; -ENOMEM. */
int queues_replay(struct core *core, const struct store_loaded_queue *loaded);
/* Settings that ended with a change of the configuration leave the store. */
void queues_tidy(struct tx *tx);
/* Changes a queue; takes over the lists of the change. Its commit is set up. 0; -ENOMEM;
 * -ENOENT; -EEXIST: it is to be made, and is there; -ENAMETOOLONG: that is no name;
 * -E2BIG: there are too many; -EBUSY: it is to be deleted, and the configuration has it;
 * -ENOTEMPTY: or it has jobs; -ERANGE: slots of their own would be more than there are;
 * -EINVAL: slots, of another one than "default"; what the store refuses it with: nothing
 * has changed. */
int queues_change(struct tx *tx, const char *name, struct queue_change *change,
                  struct store_commit *commit);

/* Whether the queue of a spec, which nothing else has seen, takes it from this user: then
 * the spec has the time limit of the queue, beside what is compared of it. 0; -EBUSY,
 * -EPERM, -ENOENT, -EINVAL with the reason. */
int queues_take(struct core *core, const struct job_owner *owner, struct job_spec *spec,
                struct volt_error *err);
/* The same of one that is in its queue already: its time limit alone. */
int queues_limit_time(struct core *core, struct job_spec *spec, struct volt_error *err);
/* The queue of a job; one that is gone is made for it. NULL: no memory. */
struct queue *queues_of(struct core *core, const struct job *job);

#endif
