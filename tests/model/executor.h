/* A scheduler for models of what lies below or beside lib/sched: tokens go into one bag,
 * executors take them out in any order and run the tasks with the real task_run(). */
#ifndef VOLT_TESTS_MODEL_EXECUTOR_H
#define VOLT_TESTS_MODEL_EXECUTOR_H

#include "sched/sched.h"

#define EXECUTOR_TASKS 4

/* Forgets all tasks. In setup. */
void executor_reset(void);
/* A task of this type as spawn leaves it, token in the bag unless held back; index of its
 * executor_ended(). In setup. */
struct volt_task *executor_spawn(const struct volt_task_type *type,
                                 struct volt_join *ret_join, bool hold_back);
/* In a held-back task's place. */
void executor_release(struct volt_task *t);
/* A waker of t, in setup. */
struct volt_waker executor_waker(struct volt_task *t);

/* No token is queued and no task runs. */
bool executor_idle(void);

/* The body of a thread: runs tasks for ever, as a daemon. */
void executor_run(void);

#endif
