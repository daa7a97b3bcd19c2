/* The queues that jobs wait in: their configuration, settings made by hand, and their
 * part of admission (admit/job_queue.h).
 *
 * "default" always exists. Others come from the configuration, or are made by hand. A
 * queue that has neither source any more is gone: it takes no jobs, runs those that it
 * has with no slots of its own, and is not listed once it has no jobs and no setting. A
 * queue comes back with the configuration, or when it is made again.
 *
 * A setting made by hand is a fact. Until it is reset, or the configured value changes,
 * it overrides the configuration; so the fact also has the configured value that it
 * overrode.
 *
 *   paused   starts nothing; running jobs go on
 *   drained  takes no jobs; runs those that it has
 *
 * Numbers of a fact: first the sum of 1 (paused), 2 (drained) and 4 (made by hand). Then
 * three for each setting: its number, its value, and the value it overrode. Then, for
 * each list of names, as many triples as its bytes and a final zero need:
 * QUEUE_LISTS_FROM plus the number of the list, eight bytes (the first is the lowest),
 * and a hash of the list that it overrode. */
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

/* Settings made by hand. */
struct queue_hand {
    bool paused, drained, made;
    struct {
        bool made;
        uint64_t value, over; /* over: the configured value then */
    } set[QUEUE_SETTINGS];
    struct {
        bool made;
        uint64_t over; /* hash of the configured names then */
    } list[QUEUE_LISTS];
};

struct queue {
    struct list_node node;       /* in queues.all */
    struct queue_config as_read; /* from the configuration */
    struct queue_hand hand;
    struct queue_allowed by_hand[QUEUE_LISTS]; /* names of lists made by hand */
    struct job_queue *admitted;                /* its part of admission */
    bool is_configured;
    bool stays; /* configured, or about to be: not to be reused */
    bool stale; /* the store has settings that are no longer in force */
};

/* [L] Zeroed: none, until queues_configure(). */
struct queues {
    struct list all; /* in order of creation: "default" is the first */
    size_t n;
    bool any_paused;
};

/* --- lock held ---------------------------------------------------------------------- */
/* Returns the queue of this name (NULL: "default"). NULL: none. */
struct queue *queues_find(struct core *core, const char *name);
size_t queues_count(const struct core *core);
/* Return the first queue, and the next. */
struct queue *queues_first(const struct core *core);
struct queue *queues_next(const struct queue *q);
/* Return whether the queue is gone, and whether it is over: gone, without jobs, and not
 * paused. */
bool queue_is_gone(const struct queue *q);
bool queue_is_over(const struct queue *q);
/* Return the setting or list that is in force. */
uint64_t queue_value(const struct queue *q, enum queue_setting s);
const struct queue_allowed *queue_allows(const struct queue *q, enum queue_list list);
/* Returns the number of slots for a value of the setting; 0 means as many as CPUs that
 * voltd may use, at least 2. */
uint32_t queue_slots(uint64_t setting);
/* Return the sum of the slots that queues own, and the slots of the machine. If the
 * machine has fewer, each queue owns its share of them. */
uint64_t queues_own(struct core *core);
uint32_t queues_slots(struct core *core);

/* Puts n configured queues in force, "default" first; takes their lists of users. Before
 * queues_replay() at the start. Returns 0, or an error that changes nothing: -ENOMEM,
 * -E2BIG. */
int queues_configure(struct core *core, struct queue_config *configs, size_t n);
void queues_free(struct core *core);
/* Replays a stored queue; its lists have names without ids. Returns 0 or -ENOMEM. */
int queues_replay(struct core *core, const struct store_loaded_queue *loaded);
/* Removes settings from the store that a changed configuration has ended. */
void queues_tidy(struct tx *tx);
/* Changes a queue; takes the lists of the change. Sets up the commit. Nothing changes on
 * errors:
 *   -ENOENT         no such queue
 *   -EEXIST         create: it exists
 *   -ENAMETOOLONG   create: the name is not valid
 *   -E2BIG          create: too many queues
 *   -EBUSY          delete: the configuration has it
 *   -ENOTEMPTY      delete: it has jobs
 *   -ERANGE         queues would own more slots than there are
 *   -EINVAL         slots of a queue other than "default"
 *   -ENOMEM, or another error of the store */
int queues_change(struct tx *tx, const char *name, struct queue_change *change,
                  struct store_commit *commit);

/* Checks that the queue of a spec takes it from this user, and then writes the queue's
 * time limit into the spec, which nothing else has seen. That limit is not compared
 * between submissions. Returns 0, or with the reason -EBUSY, -EPERM, -ENOENT, -EINVAL. */
int queues_take(struct core *core, const struct job_owner *owner, struct job_spec *spec,
                struct volt_error *err);
/* Does the same for a job that is in its queue already: its time limit only. */
int queues_limit_time(struct core *core, struct job_spec *spec, struct volt_error *err);
/* Returns the queue of a job; makes it if it is gone. NULL: no memory. */
struct queue *queues_of(struct core *core, const struct job *job);

#endif
