/* Scopes: children of a task that run beside each other, and end before it goes on.
 *
 * A scope has n children of one type, allocated together. It is a leaf future: the parent
 * fills the children in, awaits them, and reads what they have left. A child is a task
 * like others (it may await, wake, spawn, have a scope of its own), but for that it costs
 * a fraction of one: it has no handle and no memory of its own, and while no other worker
 * has come for it the parent's worker runs it inside the parent's poll, as if it were
 * called.
 *
 *     struct sum { int at; size_t from, to; double total; struct volt_scope halves; };
 *
 *     VOLT_BEGIN(s->at);
 *     if (volt_scope_init(cx, &s->halves, &sum_type, 2) < 0)
 *         ...
 *     for (int i = 0; i < 2; i++) {
 *         struct sum *half = volt_scope_child(&s->halves, i);
 *         ...
 *     }
 *     VOLT_AWAIT(s->at, volt_scope_poll(cx, &s->halves));
 *     ...                            volt_scope_child() again, for the totals
 *     VOLT_END(s->at);
 *
 * Ownership. The scope owns its children and their states; volt_scope_fini() frees
 * them. Of a child's type drop runs when the child has ended, also one that was cancelled
 * before its first poll; drop_output in volt_scope_fini(), but not for a cancelled child.
 * Of a scope that was never awaited no callback runs.
 *
 * Cancelling. While children run, the parent's cancellation is passed on to them, and it
 * takes effect when they have ended: so a parent is never dropped before its children.
 * Once awaited, a scope must be awaited to its end: not within VOLT_AWAIT_FOR(), and once
 * more after a VOLT_SELECT() in which something else was ready.
 *
 * Threads. All calls are made inside a poll of the parent. Memory order: what the parent
 * wrote before it awaited, the children see; what they wrote, the parent sees after it.
 *
 * A worker's other tasks wait while a scope's children run in place: for 200 us, after
 * which they take turns with them, or until a child that is longer ends. On a thread of
 * the pool for blocking calls the children run one after the other, and none may wait.
 *
 * A waker of a child that somebody keeps holds the parent up until it is ended.
 *
 * lib/sched/scope.c. */
#ifndef VOLT_SCOPE_H
#define VOLT_SCOPE_H

#include <volt/task.h>

VOLT_BEGIN_DECLS

/* All fields are private. Zero-initialised it is empty. */
struct volt_scope {
    uint64_t word; /* atomic */
    struct volt_task *block, *parent;
    size_t count, stride;
    uint32_t state, cancelled;
};

/* Allocates n children of this type, zeroed. The scope is empty: new, or ended by
 * volt_scope_fini(). It does not move until then. Returns 0 or -ENOMEM. */
VOLT_API int volt_scope_init(struct volt_cx *cx, struct volt_scope *scope,
                             const struct volt_task_type *type, size_t n);
/* The state of child i, borrowed: to be filled in before the scope is first polled, to be
 * read after it is ready. */
VOLT_API void *volt_scope_child(const struct volt_scope *scope, size_t i);
/* Runs the children. VOLT_READY when all have ended. */
VOLT_API enum volt_poll volt_scope_poll(struct volt_cx *cx, struct volt_scope *scope);
/* How child i has ended: 0, or -ECANCELED. -EINPROGRESS: the scope is not ready. */
VOLT_API int volt_scope_status(const struct volt_scope *scope, size_t i);
/* Frees the children, and leaves the scope empty. For the parent's drop, and anywhere
 * else while none of them runs; empty is allowed. */
VOLT_API void volt_scope_fini(struct volt_scope *scope);

VOLT_END_DECLS

#endif
