/* Sections under the manager's lock.
 *
 * A question takes the lock with manager_lock() and lets it go with manager_unlock(), and
 * that is all that happens. What changes a job, a slot or the queue does so between
 * core_begin() and core_finish(), but for what leaves nothing to be done for others: a
 * slot that is taken (submit.c, attempt_actions.c), a place in the line of jobs that
 * start ahead (work_place()), what SIGKILL has left. Under the lock nothing is woken,
 * spawned, freed, logged or called back: that is collected in a struct tx. core_finish()
 * runs the dispatcher (dispatcher.h), which gives free slots away and does what one job's
 * change means to another, unlocks, and then kicks the store, wakes, spawns, frees and
 * notifies.
 *
 * Before it unlocks it asserts that nothing waits that could go on, and that all that was
 * appended is kicked; manager_unlock() asserts that a question has left nothing to be
 * done. */
#ifndef VOLTD_EXEC_TX_H
#define VOLTD_EXEC_TX_H

#include <stdbool.h>
#include <stddef.h>
#include <volt/task.h>

#define JOBS_SLICE 64 /* jobs that one hold of the lock looks at */
/* Tasks that one step of the dispatcher wakes at most: of the elements of an array that
 * it cancels, and of the array. */
#define TX_STEP    (JOBS_SLICE + 2)
#define TX_WAKERS  (JOBS_SLICE + TX_STEP)

struct job;
struct manager;
struct tx;
struct work;

/* What core_finish() runs, with the lock: dispatcher.h. A table, as what it does stands
 * above this file. */
struct dispatcher_ops {
    void (*run)(struct tx *tx); /* a portion */
    /* Nothing waits that could go on, but for what its task goes on with. */
    bool (*is_done)(const struct manager *m);
};

/* [L] */
struct dispatcher {
    const struct dispatcher_ops *ops; /* NULL: nothing is dispatched yet */
    bool more;                        /* than fits into one portion: its task goes on */
    bool starved;            /* there was no memory: its task goes on after a rest */
    struct volt_waker waker; /* of its task, while that waits to be needed */
};

struct tx {
    struct manager *m;
    bool kick;  /* the store has something to write */
    bool nudge; /* the same, but it may wait for more */
    size_t n;
    struct volt_waker wakers[TX_WAKERS + 1]; /* and the dispatcher's */
    size_t nspawn;
    struct work *spawn[JOBS_SLICE]; /* they got their slots */
    struct job *garbage;
};

void manager_lock(struct manager *m);
void manager_unlock(struct manager *m);

void core_begin(struct tx *tx, struct manager *m);
void core_finish(struct tx *tx);

/* Nothing is collected yet. For what runs before there is any task, without the lock. */
void tx_init(struct tx *tx, struct manager *m);
/* Carries out what was collected. */
void tx_carry_out(struct tx *tx);
/* For one more step, and one more task. */
bool tx_has_room(const struct tx *tx);

#endif
