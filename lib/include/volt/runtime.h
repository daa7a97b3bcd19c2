/* The runtime: N workers that run tasks, one event loop, timers, a pool for blocking
 * calls.
 *
 * Several runtimes may live in one process; their tasks may wake, join and lock each
 * other. Its threads block all signals. A forked child has none of the threads: it must
 * not touch its parent's runtimes, not even to free them, nor what their tasks share, and
 * may use runtimes of its own.
 *
 * lib/runtime/runtime.c, lib/sched/sched.h, lib/README.md. */
#ifndef VOLT_RUNTIME_H
#define VOLT_RUNTIME_H

#include <stdbool.h>
#include <stdint.h>
#include <volt/task.h>
#include <volt/time.h>

VOLT_BEGIN_DECLS

#define VOLT_MAX_WORKERS 256

struct volt_options {
    unsigned workers;      /* 0: one per CPU of the affinity mask; at most 256 */
    bool disable_stealing; /* workers then live from their own and the global queue */
    uint64_t seed; /* of victim selection; 0: from time. Same seed, same sequence */
    unsigned max_blocking_threads; /* 0: 512; started on demand, gone after 10 s idle */
    const char *thread_name;       /* borrowed during the call; NULL: "volt" */
};

/* Starts a runtime. opt may be NULL. Returns 0 and sets *ret_rt (free with
 * volt_runtime_free); -ENOMEM; -EAGAIN, no thread; -EMFILE, -ENFILE, it needs 3
 * descriptors; -ENOSPC, fs.epoll.max_user_watches is reached; -EINVAL, more workers than
 * VOLT_MAX_WORKERS. */
VOLT_API int volt_runtime_new(const struct volt_options *opt,
                              struct volt_runtime **ret_rt);

/* Closes: spawns are refused, every live task is cancelled, workers and pool threads end.
 * Returns 0; -ETIMEDOUT when after timeout_usec (UINT64_MAX: no limit) a task has not
 * ended, because its poll still runs or it waits shielded: call again. Not from a task or
 * a blocking call of its own; one thread at a time. */
VOLT_API int volt_runtime_shutdown(struct volt_runtime *rt, uint64_t timeout_usec);

/* Shuts down without limit if that has not been done, and frees. Wakers that are still
 * held stay valid and do nothing. NULL is allowed. Not from a task or a blocking call of
 * its own. */
VOLT_API void volt_runtime_free(struct volt_runtime *rt);

VOLT_API unsigned volt_runtime_workers(const struct volt_runtime *rt);

/* Counters of one worker; each only grows unless it says "now". Read at any time from any
 * thread: every counter is exact by itself, their sums may be a few polls apart. */
struct volt_worker_stats {
    uint64_t polled;               /* polls of tasks */
    uint64_t stolen;               /* tasks taken from other workers */
    uint64_t steal_ops;            /* steals that returned at least one task */
    uint64_t parked;               /* times it really slept (futex or event loop) */
    uint64_t lifo_hits;            /* polls of tasks taken from the LIFO slot */
    uint64_t lifo_stolen;          /* of these, from another's LIFO slot */
    uint64_t global_batch_fetches; /* fetches from the global queue that got tasks */
    uint64_t overflows;            /* times its ring moved tasks to the global queue */
    uint64_t budget_exhausted;     /* polls stopped by the budget per poll */
    uint64_t wakeups;              /* other workers it woke */
    uint64_t wakeups_skipped; /* notifications that found a searcher or nobody asleep */
    uint64_t spurious_wakes;  /* sleeps that ended without a claim or an event */
    uint64_t busy_victims;    /* steals refused because another steal was going on */
    /* Times that only looking round found queued tasks: 0, unless the system stopped a
     * thread for milliseconds between queueing one and waking a worker for it. */
    uint64_t rescues;
    uint64_t avg_task_ns; /* now: moving average of a poll, nanoseconds */
    /* Between two looks at the clock: one poll, or short ones of 4 us together. */
    uint64_t longest_poll_usec;
    uint32_t global_queue_interval; /* now: polls between looks at the global queue */
    uint32_t ring_depth;            /* now: tasks in its ring */
    uint32_t stuck;                 /* now: 1 while one poll lasts longer than 100 ms */
    const char *stuck_task;         /* now: type name of that poll, or NULL */
    uint64_t long_polls;            /* polls that lasted longer than 100 ms */
    /* Type name of the longest poll, or of one of the 7 after it; NULL: none yet. */
    const char *longest_task;
};

struct volt_stats {
    uint64_t spawned;      /* tasks ever accepted; blocking ones, scopes' children, too */
    uint64_t completed;    /* ended, cancelled ones included */
    uint64_t cancelled;    /* of these */
    uint64_t live;         /* spawned - completed */
    uint64_t global_depth; /* now: length of the global queue, approximate */
    uint64_t timers;       /* now: armed timers */
    uint64_t io_handles;   /* now: registered descriptors */
    uint64_t task_bytes;   /* now: memory of tasks, that of ended ones included which has
                            * not gone back to the system yet */
    uint32_t workers;      /* number of workers */
    uint32_t workers_parked;   /* now */
    uint32_t blocking_threads; /* now */
    /* Sums; but the longest of longest_poll_usec, and the means of avg_task_ns and
     * global_queue_interval. */
    struct volt_worker_stats total;
};

VOLT_API void volt_runtime_stats(const struct volt_runtime *rt, struct volt_stats *ret);
/* index < volt_runtime_workers(); -EINVAL otherwise. */
VOLT_API int volt_worker_stats(const struct volt_runtime *rt, unsigned index,
                               struct volt_worker_stats *ret);

/* A task that lives, for diagnostics; shown to a function during its call. */
struct volt_task_info {
    const char *type; /* name of its type */
    /* "running", "queued", "waiting"; "ended": since the call began. Of one that yields
     * "running". */
    const char *state;
    bool cancelled; /* it is to be dropped instead of polled */
    /* Only where VOLT_DEBUG=leaves was in the environment when the runtime began;
     * otherwise "" and 0. */
    const char *waits_on;  /* names of leaves: "volt_sleep, volt_io (read)" */
    uint64_t age_usec;     /* since volt_task_new() */
    uint64_t waiting_usec; /* since its last poll was pending */
};

/* Calls each(arg, info) for all tasks that live, but for children of scopes; those that
 * begin or end meanwhile may be left out. They go on; the memory of one that ends is kept
 * until the call is over. Returns their number, or -ENOMEM. Any thread, not during
 * volt_runtime_free(). */
VOLT_API int
volt_runtime_tasks(struct volt_runtime *rt,
                   void (*each)(void *arg, const struct volt_task_info *info), void *arg);
/* Writes them to a descriptor, a line each. The same. */
VOLT_API int volt_runtime_dump(struct volt_runtime *rt, int fd);

VOLT_END_DECLS

#endif
