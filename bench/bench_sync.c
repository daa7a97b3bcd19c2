/* Locks between tasks. Nanoseconds of wall time per acquisition, its release included.
 *
 *   mutex_uncontended, rwlock_read_uncontended, semaphore_uncontended
 *                        one task, a million times
 *   mutex_contended, semaphore_contended, rwlock_mixed
 *                        1000 tasks, 1000 times each, nothing done inside; 10 permits; one
 *                        acquisition in ten is a write
 *   mutex_turns, rwlock_turns
 *                        1000 tasks, 200 times each, a yield after each: nothing inside,
 *                        and another task is next. The yield is counted
 *   mutex_handoff, semaphore_handoff
 *                        1000 tasks, 200 times each, held across a yield: every other task
 *                        queues, and every release hands over
 *   mutex_1us            two tasks, 20,000 times each, 1 us of work inside only */
#include "bench/tasks.h"

enum {
    ALONE = 1000000,
    TASKS = 1000,
    TIMES = 1000,
    HANDOFFS = 200,
    RIVALS = 2,
    SECTIONS = 20000,
    SECTION_NS = 1000,
    PERMITS = 10,
    WRITES = 10
};

static struct volt_mutex mutex;
static struct volt_rwlock rwlock;
static struct volt_sem sem;
static uint64_t inside; /* sections under mutex, or under rwlock to write */

/* --- limits */

/* All acquisitions by one processor, one after the other: the lock does not travel. */
static double limit_pair(void)
{
    return floor_cas_pair();
}

/* The same, and being polled again. */
static double limit_turn(void)
{
    return floor_cas_pair() + 2 * floor_rmw() + floor_call();
}

/* Both processors at one word. */
static double limit_shared(void)
{
    return 2 * floor_shared_add();
}

/* Queueing, handing over, being polled again twice. */
static double limit_handoff(void)
{
    return 10 * floor_rmw() + 3 * floor_call() + 2 * floor_touch();
}

/* One section after the other; the lock goes from processor to processor. */
static double limit_section(void)
{
    return SECTION_NS + floor_message();
}

/* --- tasks: each kind acquires s->times times */

struct user {
    int at, n, times;
    bool write;
    union {
        struct volt_mutex_lock mutex;
        struct volt_rwlock_acquire rwlock;
        struct volt_sem_acquire sem;
    } wait;
    struct volt_yield yield;
};

static enum volt_poll mutex_user_poll(struct volt_cx *cx, void *state)
{
    struct user *s = state;

    VOLT_BEGIN(s->at);
    for (; s->n < s->times; s->n++) {
        volt_mutex_lock_init(&s->wait.mutex, &mutex);
        VOLT_AWAIT(s->at, volt_mutex_lock_poll(cx, &s->wait.mutex));
        inside++;
        volt_mutex_unlock(&mutex);
    }
    bench_task_done();
    VOLT_END(s->at);
}
BENCH_TYPE(mutex_user, sizeof(struct user));

static enum volt_poll mutex_turns_poll(struct volt_cx *cx, void *state)
{
    struct user *s = state;

    VOLT_BEGIN(s->at);
    for (; s->n < s->times; s->n++) {
        volt_mutex_lock_init(&s->wait.mutex, &mutex);
        VOLT_AWAIT(s->at, volt_mutex_lock_poll(cx, &s->wait.mutex));
        inside++;
        volt_mutex_unlock(&mutex);
        s->yield = (struct volt_yield){0};
        VOLT_AWAIT(s->at, volt_yield_poll(cx, &s->yield));
    }
    bench_task_done();
    VOLT_END(s->at);
}
BENCH_TYPE(mutex_turns, sizeof(struct user));

static enum volt_poll mutex_keeper_poll(struct volt_cx *cx, void *state)
{
    struct user *s = state;

    VOLT_BEGIN(s->at);
    for (; s->n < s->times; s->n++) {
        volt_mutex_lock_init(&s->wait.mutex, &mutex);
        VOLT_AWAIT(s->at, volt_mutex_lock_poll(cx, &s->wait.mutex));
        inside++;
        s->yield = (struct volt_yield){0};
        VOLT_AWAIT(s->at, volt_yield_poll(cx, &s->yield));
        volt_mutex_unlock(&mutex);
    }
    bench_task_done();
    VOLT_END(s->at);
}
BENCH_TYPE(mutex_keeper, sizeof(struct user));

static enum volt_poll mutex_rival_poll(struct volt_cx *cx, void *state)
{
    struct user *s = state;

    VOLT_BEGIN(s->at);
    for (; s->n < s->times; s->n++) {
        volt_mutex_lock_init(&s->wait.mutex, &mutex);
        VOLT_AWAIT(s->at, volt_mutex_lock_poll(cx, &s->wait.mutex));
        inside++;
        bench_burn(SECTION_NS);
        volt_mutex_unlock(&mutex);
    }
    bench_task_done();
    VOLT_END(s->at);
}
BENCH_TYPE(mutex_rival, sizeof(struct user));

static enum volt_poll sem_user_poll(struct volt_cx *cx, void *state)
{
    struct user *s = state;

    VOLT_BEGIN(s->at);
    for (; s->n < s->times; s->n++) {
        volt_sem_acquire_init(&s->wait.sem, &sem, 1);
        VOLT_AWAIT(s->at, volt_sem_acquire_poll(cx, &s->wait.sem));
        (void)volt_sem_release(&sem, 1);
    }
    bench_task_done();
    VOLT_END(s->at);
}
BENCH_TYPE(sem_user, sizeof(struct user));

static enum volt_poll sem_keeper_poll(struct volt_cx *cx, void *state)
{
    struct user *s = state;

    VOLT_BEGIN(s->at);
    for (; s->n < s->times; s->n++) {
        volt_sem_acquire_init(&s->wait.sem, &sem, 1);
        VOLT_AWAIT(s->at, volt_sem_acquire_poll(cx, &s->wait.sem));
        s->yield = (struct volt_yield){0};
        VOLT_AWAIT(s->at, volt_yield_poll(cx, &s->yield));
        (void)volt_sem_release(&sem, 1);
    }
    bench_task_done();
    VOLT_END(s->at);
}
BENCH_TYPE(sem_keeper, sizeof(struct user));

static enum volt_poll reader_poll(struct volt_cx *cx, void *state)
{
    struct user *s = state;

    VOLT_BEGIN(s->at);
    for (; s->n < s->times; s->n++) {
        volt_rwlock_acquire_init_read(&s->wait.rwlock, &rwlock);
        VOLT_AWAIT(s->at, volt_rwlock_acquire_poll(cx, &s->wait.rwlock));
        volt_rwlock_read_unlock(&rwlock);
    }
    bench_task_done();
    VOLT_END(s->at);
}
BENCH_TYPE(reader, sizeof(struct user));

static void mixed_init(struct user *s)
{
    s->write = s->n % WRITES == 0;
    if (s->write)
        volt_rwlock_acquire_init_write(&s->wait.rwlock, &rwlock);
    else
        volt_rwlock_acquire_init_read(&s->wait.rwlock, &rwlock);
}

static void mixed_unlock(const struct user *s)
{
    if (s->write) {
        inside++;
        volt_rwlock_write_unlock(&rwlock);
    } else {
        volt_rwlock_read_unlock(&rwlock);
    }
}

static enum volt_poll mixed_poll(struct volt_cx *cx, void *state)
{
    struct user *s = state;

    VOLT_BEGIN(s->at);
    for (; s->n < s->times; s->n++) {
        mixed_init(s);
        VOLT_AWAIT(s->at, volt_rwlock_acquire_poll(cx, &s->wait.rwlock));
        mixed_unlock(s);
    }
    bench_task_done();
    VOLT_END(s->at);
}
BENCH_TYPE(mixed, sizeof(struct user));

static enum volt_poll mixed_turns_poll(struct volt_cx *cx, void *state)
{
    struct user *s = state;

    VOLT_BEGIN(s->at);
    for (; s->n < s->times; s->n++) {
        mixed_init(s);
        VOLT_AWAIT(s->at, volt_rwlock_acquire_poll(cx, &s->wait.rwlock));
        mixed_unlock(s);
        s->yield = (struct volt_yield){0};
        VOLT_AWAIT(s->at, volt_yield_poll(cx, &s->yield));
    }
    bench_task_done();
    VOLT_END(s->at);
}
BENCH_TYPE(mixed_turns, sizeof(struct user));

/* --- workloads */

static void run(const struct volt_task_type *type, int tasks, int times, uint64_t permits,
                double *ret)
{
    struct volt_runtime *rt = bench_runtime(bench_workers());
    uint64_t start;

    volt_mutex_init(&mutex);
    volt_rwlock_init(&rwlock);
    volt_sem_init(&sem, permits, permits);
    inside = 0;
    bench_tasks_expect((uint32_t)tasks);
    start = bench_now();
    for (int i = 0; i < tasks; i++) {
        struct user *s = bench_task(rt, type);

        s->times = times;
        bench_spawn(s);
    }
    bench_gate_wait();
    *ret = bench_per_op(start, (uint64_t)tasks * (uint64_t)times);
    volt_sem_fini(&sem);
    volt_rwlock_fini(&rwlock);
    volt_mutex_fini(&mutex);
}

/* The same, and each acquisition in `each` was exclusive and has been counted. */
static void run_counted(const struct volt_task_type *type, int tasks, int times, int each,
                        double *ret)
{
    run(type, tasks, times, 1, ret);
    if (inside != (uint64_t)tasks * (uint64_t)(times / each))
        bench_die("a section is missing");
}

enum { ONE, MANY, TURNS, ACROSS_YIELD, LONG };

static void mutex_run(const struct bench_workload *w, double *ret)
{
    if (w->arg == ACROSS_YIELD)
        run_counted(&mutex_keeper_type, TASKS, HANDOFFS, 1, ret);
    else if (w->arg == TURNS)
        run_counted(&mutex_turns_type, TASKS, HANDOFFS, 1, ret);
    else if (w->arg == LONG)
        run_counted(&mutex_rival_type, RIVALS, SECTIONS, 1, ret);
    else if (w->arg == MANY)
        run_counted(&mutex_user_type, TASKS, TIMES, 1, ret);
    else
        run_counted(&mutex_user_type, 1, ALONE, 1, ret);
}

static void sem_run(const struct bench_workload *w, double *ret)
{
    if (w->arg == ACROSS_YIELD)
        run(&sem_keeper_type, TASKS, HANDOFFS, PERMITS, ret);
    else if (w->arg == MANY)
        run(&sem_user_type, TASKS, TIMES, PERMITS, ret);
    else
        run(&sem_user_type, 1, ALONE, PERMITS, ret);
}

static void rwlock_run(const struct bench_workload *w, double *ret)
{
    if (w->arg == MANY)
        run_counted(&mixed_type, TASKS, TIMES, WRITES, ret);
    else if (w->arg == TURNS)
        run_counted(&mixed_turns_type, TASKS, HANDOFFS, WRITES, ret);
    else
        run(&reader_type, 1, ALONE, 1, ret);
}

static const struct bench_workload workloads[] = {
    {"mutex_uncontended", BENCH_TIME(limit_pair), mutex_run, ONE, false},
    {"rwlock_read_uncontended", BENCH_TIME(limit_pair), rwlock_run, ONE, false},
    {"semaphore_uncontended", BENCH_TIME(limit_pair), sem_run, ONE, false},
    {"mutex_contended", BENCH_TIME(limit_pair), mutex_run, MANY, false},
    {"mutex_turns", BENCH_TIME(limit_turn), mutex_run, TURNS, false},
    {"mutex_handoff", BENCH_TIME(limit_handoff), mutex_run, ACROSS_YIELD, false},
    {"mutex_1us", BENCH_TIME(limit_section), mutex_run, LONG, false},
    {"semaphore_contended", BENCH_TIME(limit_shared), sem_run, MANY, false},
    {"semaphore_handoff", BENCH_TIME(limit_handoff), sem_run, ACROSS_YIELD, false},
    {"rwlock_mixed", BENCH_TIME(limit_pair), rwlock_run, MANY, false},
    {"rwlock_turns", BENCH_TIME(limit_turn), rwlock_run, TURNS, false},
};

int main(int argc, char **argv)
{
    int r = bench_main(argc, argv, "volt", workloads,
                       sizeof(workloads) / sizeof(workloads[0]));

    bench_runtime_end();
    return r;
}
