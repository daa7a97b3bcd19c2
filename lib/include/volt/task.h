/* Tasks: a poll function over the caller's struct, in one allocation with its header.
 *
 * Life of a task
 *   1. volt_task_new(rt, type) returns the zeroed state (type->size bytes, 16-aligned).
 *      The caller fills it in. volt_task_discard() gives an unspawned state back.
 *   2. volt_task_spawn(state, join) hands it to the runtime. From here on only the poll
 *      function touches the state.
 *   3. A worker calls type->poll(cx, state). VOLT_PENDING means "not yet": some leaf
 *      future that was polled has stored this task and will wake it. VOLT_READY means
 *      finished; the state then holds the task's output, if it has one.
 *   4. type->drop(state) runs exactly once, after READY or when the task is cancelled,
 *      never during a poll: on a worker (a pool thread for blocking tasks; the spawning
 *      thread when the spawn is refused). It must call the _fini of every leaf future
 *      that may still wait.
 *   5. With a join handle the memory stays until volt_join_fini(); the joiner may read
 *      the output through volt_join_state(). type->drop_output(state) runs exactly once
 *      after a READY task's output is no longer needed (never for a cancelled task).
 *
 * Leaf futures (semaphore permits, timers, readiness, joins, ...) are structs embedded in
 * the state: waiting allocates nothing. A leaf that waits must not move and must stay in
 * one task until its _fini.
 *
 * Threads: polls of one task run one at a time, on any worker. A poll does not block;
 * what must, goes to volt_task_spawn_blocking() or volt_block_in_place(). Memory order:
 * what was written before the spawn, the first poll sees; what one poll wrote, the next
 * one; what a waker wrote before it woke, the poll that follows; what the task wrote, its
 * joiner. Also when the wake found the task awake already.
 *
 * lib/task/task.h, lib/README.md. */
#ifndef VOLT_TASK_H
#define VOLT_TASK_H

#include <stddef.h>
#include <stdint.h>
#include <volt/error.h>

VOLT_BEGIN_DECLS

struct volt_runtime;
struct volt_task; /* header; opaque */
struct volt_cx;   /* what a poll function is given: the current task, worker, budget */

enum volt_poll {
    VOLT_PENDING = 0,
    VOLT_READY = 1,
};

struct volt_task_type {
    const char *name; /* static; shown in statistics and reports of long polls */
    size_t size;      /* bytes of state */
    enum volt_poll (*poll)(struct volt_cx *cx, void *state);
    void (*drop)(void *state);        /* may be NULL */
    void (*drop_output)(void *state); /* may be NULL */
};

/* A handle on a spawned task, embedded where it is awaited (also a leaf future). Exactly
 * one volt_join_fini() per spawn with a handle, also one that was refused; a zeroed
 * handle is empty, for which only _cancel and _fini do not assert. One thread at a time
 * uses it, but for volt_join_cancel(). */
struct volt_join {
    struct volt_task *task; /* private; NULL: empty */
};

/* Returns new zeroed state for a task of this type, owned by the caller until spawned;
 * NULL when out of memory. rt is borrowed and must outlive the task; type is borrowed and
 * must outlive the runtime, whose statistics name it. Any thread. */
VOLT_API void *volt_task_new(struct volt_runtime *rt, const struct volt_task_type *type);

/* Frees a state that was never spawned. No callback runs. NULL is allowed. */
VOLT_API void volt_task_discard(void *state);

/* Takes state and queues the task. ret_join may be NULL (detached). Returns 0; -ESHUTDOWN
 * when the runtime is closing: the task then still ends as cancelled (drop runs, the join
 * resolves), so the caller never gets the state back. Any thread. */
VOLT_API int volt_task_spawn(void *state, struct volt_join *ret_join);

/* The steps before in one: a task of this type, whose state begins as a copy of *state,
 * type->size bytes. 0; -ENOMEM: there is no task, *ret_join is empty, and no callback
 * runs; -ESHUTDOWN as volt_task_spawn(). Any thread. */
VOLT_API int volt_task_start(struct volt_runtime *rt, const struct volt_task_type *type,
                             const void *state, struct volt_join *ret_join);

/* In one line, for C:
 *     r = VOLT_SPAWN(rt, &client_type, &join, struct client, .fd = fd, .number = i);
 * What is not named is zero. join: NULL, detached. */
#define VOLT_SPAWN(rt, type, ret_join, state_type, ...)                                  \
    volt_task_start((rt), (type), &(state_type){__VA_ARGS__}, (ret_join))

/* The same for n states at once, detached, queued in their order, behind other tasks: one
 * publication and one wake for all. Returns 0; -ESHUTDOWN: some have ended as cancelled,
 * those the runtime refused. Any thread. */
VOLT_API int volt_task_spawn_all(void *const states[], size_t n);

/* The same on the pool for blocking calls: poll runs once, on a pool thread, may block,
 * is given a cx without a budget and must return VOLT_READY. Also -EAGAIN: no thread
 * could be started; the task has ended as cancelled. */
VOLT_API int volt_task_spawn_blocking(void *state, struct volt_join *ret_join);

/* READY when the task has ended; then volt_join_status() is 0 or -ECANCELED. */
VOLT_API enum volt_poll volt_join_poll(struct volt_cx *cx, struct volt_join *join);
/* Blocks the calling thread until the task has ended; returns its status. Asserts that
 * the thread is no worker, of any runtime. */
VOLT_API int volt_join_wait(struct volt_join *join);
/* 0, -ECANCELED, or -EINPROGRESS while it runs. */
VOLT_API int volt_join_status(const struct volt_join *join);
/* The ended task's state, borrowed until volt_join_fini(); for reading its output. */
VOLT_API void *volt_join_state(const struct volt_join *join);
/* Asks the task to end: its next start drops it instead of polling. Any thread;
 * idempotent; no effect on an ended task. */
VOLT_API void volt_join_cancel(struct volt_join *join);
/* Gives the handle up; the task goes on detached. Empty handles are allowed. */
VOLT_API void volt_join_fini(struct volt_join *join);

/* A counted reference that wakes the task from outside the runtime's own leaf futures
 * (other threads, callbacks of foreign libraries). */
struct volt_waker {
    struct volt_task *task; /* private; NULL: empty */
};
/* Returns new: of the running task; of the same task as w (any thread). */
VOLT_API struct volt_waker volt_waker_new(struct volt_cx *cx);
VOLT_API struct volt_waker volt_waker_ref(const struct volt_waker *w);
/* Has the task polled again; several wakes may be answered by one poll. Any thread, also
 * after the task's end and its runtime's, when it does nothing. */
VOLT_API void volt_waker_wake(const struct volt_waker *w);
/* Ends it; empty is allowed. Any thread. */
VOLT_API void volt_waker_fini(struct volt_waker *w);

/* The runtime of the running task. */
VOLT_API struct volt_runtime *volt_cx_runtime(const struct volt_cx *cx);
/* Wakes the running task once more after this poll, behind the tasks already queued. */
VOLT_API void volt_cx_wake(struct volt_cx *cx);
/* Takes one unit of the poll's budget of 128 (every leaf future does). 0 left: arranges a
 * wake and returns VOLT_PENDING, which the caller returns. A leaf that ends up pending
 * gives its unit back with volt_coop_restore(). */
VOLT_API enum volt_poll volt_coop_take(struct volt_cx *cx);
VOLT_API void volt_coop_restore(struct volt_cx *cx);

/* Cancellation is deferred while the shield depth is > 0 (saturating at 255). Only inside
 * the task's own poll. */
VOLT_API void volt_shield_begin(struct volt_cx *cx);
VOLT_API void volt_shield_end(struct volt_cx *cx);

/* Calls call(arg), which may block, inside a poll, and returns after it. The worker of
 * the calling thread goes on meanwhile on a thread of the pool for blocking calls, with
 * all that is queued behind this poll; the rest of the poll is no worker's. Where no
 * thread can be started, on a thread of the pool, or within another such call, the call
 * is simply made. It costs what volt_task_spawn_blocking() does, also where the call
 * turns out not to block. */
VOLT_API void volt_block_in_place(struct volt_cx *cx, void (*call)(void *arg), void *arg);

/* Gives the other tasks a turn: pending once, then ready. */
struct volt_yield {
    int yielded; /* private; zero-initialised */
};
VOLT_API enum volt_poll volt_yield_poll(struct volt_cx *cx, struct volt_yield *y);

/* Straight-line code in a poll function. `at` is an int in the state, zero at first.
 *
 *     VOLT_BEGIN(s->at);
 *     VOLT_AWAIT(s->at, volt_mutex_lock_poll(cx, &s->lock));
 *     ...
 *     VOLT_END(s->at);
 *
 * It is a switch over line numbers: a debugger steps through it as through plain code.
 * Locals do not survive an await (keep them in the state); no await inside another
 * switch; one await per line. A local that is initialised between VOLT_BEGIN and an await
 * in its scope is a mistake, which GCC warns about and C++ refuses. */
#if defined(__GNUC__) && !defined(__clang__) && !defined(__cplusplus)
#define VOLT_WARN_OF_LOCALS_                                                             \
    _Pragma("GCC diagnostic push")                                                       \
        _Pragma("GCC diagnostic warning \"-Wjump-misses-init\"")
#define VOLT_WARN_NO_MORE_ _Pragma("GCC diagnostic pop")
#else
#define VOLT_WARN_OF_LOCALS_
#define VOLT_WARN_NO_MORE_
#endif
#define VOLT_BEGIN(at)                                                                   \
    VOLT_WARN_OF_LOCALS_                                                                 \
    switch (at) {                                                                        \
    case 0:
#define VOLT_AWAIT(at, poll_expr)                                                        \
    do {                                                                                 \
        (at) = __LINE__;                                                                 \
        __attribute__((fallthrough));                                                    \
    case __LINE__:                                                                       \
        if ((poll_expr) == VOLT_PENDING)                                                 \
            return VOLT_PENDING;                                                         \
    } while (0)
#define VOLT_END(at)                                                                     \
    (at) = -1;                                                                           \
    __attribute__((fallthrough));                                                        \
    default:;                                                                            \
        }                                                                                \
        VOLT_WARN_NO_MORE_                                                               \
        return VOLT_READY

/* Of 2 to 6 polls the first, in the order in which they stand, that is ready: sets
 * `which`, an int, to its place, from 0, and is VOLT_READY itself. The polls behind that
 * one are not made. The other leaves wait on: they are awaited again, or ended.
 *
 *     VOLT_AWAIT(s->at, VOLT_SELECT(s->which, volt_channel_recv_poll(cx, &s->recv),
 *                                   volt_notified_poll(cx, &s->stop)));
 */
#define VOLT_SELECT(which, ...)                                                          \
    VOLT_SELECT_PICK_(__VA_ARGS__, 6, 5, 4, 3, 2, 1, 0)(which, 0, __VA_ARGS__)
#define VOLT_SELECT_PICK_(a, b, c, d, e, f, n, ...) VOLT_SELECT_##n##_
#define VOLT_SELECT_1_(w, i, p)                                                          \
    ((p) == VOLT_READY ? ((w) = (i), VOLT_READY) : VOLT_PENDING)
#define VOLT_SELECT_2_(w, i, p, ...)                                                     \
    ((p) == VOLT_READY ? ((w) = (i), VOLT_READY) : VOLT_SELECT_1_(w, i + 1, __VA_ARGS__))
#define VOLT_SELECT_3_(w, i, p, ...)                                                     \
    ((p) == VOLT_READY ? ((w) = (i), VOLT_READY) : VOLT_SELECT_2_(w, i + 1, __VA_ARGS__))
#define VOLT_SELECT_4_(w, i, p, ...)                                                     \
    ((p) == VOLT_READY ? ((w) = (i), VOLT_READY) : VOLT_SELECT_3_(w, i + 1, __VA_ARGS__))
#define VOLT_SELECT_5_(w, i, p, ...)                                                     \
    ((p) == VOLT_READY ? ((w) = (i), VOLT_READY) : VOLT_SELECT_4_(w, i + 1, __VA_ARGS__))
#define VOLT_SELECT_6_(w, i, p, ...)                                                     \
    ((p) == VOLT_READY ? ((w) = (i), VOLT_READY) : VOLT_SELECT_5_(w, i + 1, __VA_ARGS__))

VOLT_END_DECLS

#endif
