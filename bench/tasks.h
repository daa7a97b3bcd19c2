/* What the programs that measure libvolt share. */
#ifndef BENCH_TASKS_H
#define BENCH_TASKS_H

#include "base/atomic.h"
#include "bench/floor.h"
#include "bench/harness.h"

#include <volt/volt.h>

/* The runtime of this process with so many workers, started if need be: one at a time. */
struct volt_runtime *bench_runtime(unsigned workers);
/* Ends it; every task that is left is cancelled. */
void bench_runtime_end(void);

/* New state for a task; the program ends when there is no memory. */
void *bench_task(struct volt_runtime *rt, const struct volt_task_type *type);
/* Takes state and spawns it, detached. */
void bench_spawn(void *state);

/* Counts the tasks of a workload down; the last one opens the gate for main. */
void bench_tasks_expect(uint32_t n);
void bench_task_done(void);

/* A task type without drop, whose poll is NAME_poll and whose state is `bytes` long. */
#define BENCH_TYPE(NAME, bytes)                                                          \
    static const struct volt_task_type NAME##_type = {                                   \
        .name = #NAME, .size = (bytes), .poll = NAME##_poll}

/* One workload of one metric, in nanoseconds per operation; more fields may follow. */
#define BENCH_TIME(limit_of) .metrics = {{"time", "ns", limit_of, false}}

#endif
