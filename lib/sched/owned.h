/* Every live task, so that shutdown can enumerate them (D12): intrusive lists, each under
 * its own small lock. A task stands in the list of the thread that spawned it.
 *
 * Closing a list cancels what is in it and refuses what comes later, in one critical
 * section, so that no spawn falls between. When all lists are closed and empty, the
 * runtime is quiet. (Type-stable slabs will make the lists unnecessary.) */
#ifndef VOLT_SCHED_OWNED_H
#define VOLT_SCHED_OWNED_H

#include "base/lock.h"
#include "task/task.h"

struct owned_list {
    _Alignas(VOLT_CACHE_LINE) vlock lock; /* protects everything here */
    bool closed;
    struct volt_task *head;
    /* counters, written under the lock, read by anybody, relaxed */
    vat_u64 spawned, completed, cancelled;
};

struct owned {
    struct owned_list *list; /* one per worker, then OWNED_OUTSIDE for other threads */
    uint32_t lists;
    vat_u32 open;  /* lists that are not both closed and empty */
    vat_u32 quiet; /* 1 when open has reached 0; slept on */
};

/* Threads that are no workers share these, by turns. */
#define OWNED_OUTSIDE 4

/* 0 or -ENOMEM. */
int owned_init(struct owned *o, uint32_t workers);
void owned_fini(struct owned *o);

/* Any thread. False: closed. */
bool owned_add(struct owned *o, struct volt_task *t, uint32_t list)
    __attribute__((warn_unused_result));
/* Any thread. t ends, and is still referenced. */
void owned_remove(struct owned *o, struct volt_task *t, bool cancelled);

/* Any thread. Closes all lists and cancels the tasks in them; owned tokens
 * go to chain. */
void owned_close(struct owned *o, struct task_chain *chain);
/* Any thread. Waits until all lists are closed and empty. 0 or -ETIMEDOUT. */
int owned_wait_quiet(struct owned *o, uint64_t timeout_ns);

#endif
