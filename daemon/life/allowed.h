/* Names of users and groups become ids, of the queues of the configuration and of those
 * that are set by hand, which asks the system for them, and may wait for a directory
 * service. */
#ifndef VOLTD_LIFE_ALLOWED_H
#define VOLTD_LIFE_ALLOWED_H

#include <stddef.h>
#include <stdint.h>
#include "daemon/job/queue.h"

struct config_queues;
struct core;

/* queues: NULL: "default" alone; slots: of that. Returns new, *ret_n of them; NULL: no
 * memory. A name that nobody has is logged and allows nobody. */
struct queue_config *allowed_queues(const struct config_queues *queues, uint64_t slots,
                                    size_t *ret_n);
void allowed_free(struct queue_config *configs, size_t n);

/* The ids of one list, which has its names. Returns 0; -ENOMEM; -ENOENT, and missing is
 * the first name that nobody has. Any thread. */
int allowed_find(struct queue_allowed *a, enum queue_list list,
                 char missing[QUEUE_NAMES_BYTES + 1]);
/* Of all that an earlier voltd was set by hand: after its replay, before there is any
 * task. A name that nobody has any more is logged and allows nobody. 0; -ENOMEM. */
int allowed_find_all(struct core *core);

#endif
