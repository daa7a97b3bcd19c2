/* The model explorer: runs small programs over the real sources of libvolt, compiled with
 * -DVOLT_MCX, through all interleavings and all outcomes of C11 memory within bounds.
 *
 * Threads are fibers. Every atomic operation, fence, lock, futex call and mcx_yield() is a
 * switch point; an annotated plain access (VAT_RD, VAT_WR) is none, for a race shows in
 * the clocks whatever the order. Memory is operational and view based, RC11 within bounds
 * that README.md names: a cell keeps the history of its values, a load may return any
 * value not older than what its thread has seen, release and acquire carry views, an RMW
 * reads the newest value, sequentially consistent fences join one global view of cells
 * but make nothing happen before anything. So the store buffers of x86 and the stale
 * reads of arm64 are both visible.
 *
 * Found: failed assertions, crashes, deadlock (a lost wakeup is one: timeouts happen only
 * where a scenario allows them), endless loops, races on annotated fields, use after
 * free, free that is not ordered after every access, double free, objects used by a
 * thread that their allocation does not happen before.
 *
 * A model is a C file that defines `mcx_model`; README.md lists them. */
#ifndef VOLT_TESTS_MODEL_MCX_H
#define VOLT_TESTS_MODEL_MCX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MCX_THREADS     6
#define MCX_LAST_RESORT (-1)

struct mcx_thread {
    const char *name;
    void (*run)(void);
};

/* One little program. setup and finish run alone, before and after the threads; finish
 * runs when every thread has ended or is a blocked daemon. */
struct mcx_scenario {
    const char *name;
    const char *promise; /* what holds in every execution, one line */
    void (*setup)(void);
    void (*finish)(void);
    struct mcx_thread threads[MCX_THREADS]; /* ends at run == NULL */
    int preempt;                            /* quick bounds of the depth-first search */
    int stale;
    /* Futex timeouts allowed in an execution. MCX_LAST_RESORT: any number, but only while
     * nothing else can move; less N: and N at any time. */
    int timeouts;
    long dfs; /* quick limits, executions; 0: the default, -1: none */
    long random;
    bool must_fail; /* for the explorer's own test: a failure is what must be found */
};

struct mcx_model {
    const char *name;
    const char *about;
    const struct mcx_scenario *scenarios; /* ends at name == NULL */
};

/* Defined by the model. */
extern const struct mcx_model mcx_model;

/* --- for models --------------------------------------------------------------------- */

/* Ends this execution as a failure. */
void mcx_fail(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));
#define MCX_CHECK(c)                                                                     \
    do {                                                                                 \
        if (!(c))                                                                        \
            mcx_fail("%s:%d: check failed: %s", __FILE__, __LINE__, #c);                 \
    } while (0)

/* Index of the running thread in the scenario. */
int mcx_self(void);
/* The running thread may be blocked at the end without that being a deadlock. */
void mcx_daemon(void);
/* An arbitrary choice of 0..n-1; all are explored. */
int mcx_choose(int n);
/* By chance in the random modes; false in the depth-first search. */
bool mcx_random(void);
/* Nothing to do until another thread moves (vat_pause). */
void mcx_yield(void);
/* Blocks until f(arg); f reads only the model's own variables. Orders nothing: what the
 * model passes on this way needs a cell of its own. The other one: f reads anything. */
void mcx_block_until(bool (*f)(void *arg), void *arg);
void mcx_block_until_any(bool (*f)(void *arg), void *arg);
/* The running thread reads a variable of the model that others write, outside an f: which
 * way it goes depends on their order. */
void mcx_model_read(void);

/* What the running thread has done so far in operations that x86 does by locked
 * instructions: RMWs, CASes, fences; two for each lock. Statistics do not count. */
unsigned mcx_locked_ops(void);

/* Inside the f of mcx_block_until_any(): no other thread can move, but for those that ask
 * this themselves. */
bool mcx_alone(void);

/* Called when a futex wait has timed out; a model with a clock defines it. */
void mcx_time_passed(uint64_t ns);

/* Zeroed memory of this execution; freed memory is never reused within it. The sources
 * under test get malloc, calloc, free and the like from mcx_alloc.h. */
void *mcx_malloc(size_t size);
void mcx_free(void *p); /* NULL allowed */
/* Number of objects not freed. */
int mcx_live_objects(void);

/* Names [p, p + size) in replays; name is borrowed until the end of the execution. */
void mcx_name(const void *p, size_t size, const char *name);
/* Cells in [p, p + size) are plain memory from now on, of which the model and the sources
 * make nothing but numbers for people: for statistics. */
void mcx_quiet(const void *p, size_t size);
/* Prints a line in replays only. */
void mcx_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
