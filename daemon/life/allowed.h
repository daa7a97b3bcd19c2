/* Looks up the ids of users and groups that queues admit by name, in the configuration or
 * by settings made by hand. A directory service may be slow to answer. */
#ifndef VOLTD_LIFE_ALLOWED_H
#define VOLTD_LIFE_ALLOWED_H

#include <stddef.h>
#include <stdint.h>
#include "daemon/job/queue.h"

struct config;
struct config_queues;
struct core;
struct limit_defaults;

/* Looks up the users and groups of all queues. queues NULL: only "default". slots: those
 * of "default". Returns new, *ret_n entries; NULL without memory. An unknown name is
 * logged and admits no one. */
struct queue_config *allowed_queues(const struct config_queues *queues, uint64_t slots,
                                    size_t *ret_n);
void allowed_free(struct queue_config *configs, size_t n);

/* Looks up the users and groups of limits, likewise. Returns new; NULL without memory. */
struct limit_defaults *allowed_limits(const struct config *config,
                                      const struct config_queues *queues);
void allowed_limits_free(struct limit_defaults *limits);
/* Why limits cannot be in force: jobs have no cgroups. */
#define LIMITS_NEED_CGROUPS                                                              \
    "MemoryMax= and the other limits of jobs in [Limits] need a cgroup for each job, "   \
    "which a voltd has only where systemd starts its keepers (--keepers)"

/* Looks up the names of one list. Any thread. Returns 0; -ENOMEM; -ENOENT with the first
 * unknown name in missing. */
int allowed_find(struct queue_allowed *a, enum queue_list list,
                 char missing[QUEUE_NAMES_BYTES + 1]);
/* Looks up the names set by hand under an earlier voltd, after the replay and before
 * there is any task. An unknown name is logged and admits no one. Returns 0 or
 * -ENOMEM. */
int allowed_find_all(struct core *core);

#endif
