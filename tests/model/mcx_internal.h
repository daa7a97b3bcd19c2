/* What the files of the explorer share: memory (mcx_memory.c), heap (mcx_heap.c), fibers
 * (mcx_fiber.c), search (mcx_explore.c), choices (mcx_choice.c), command line
 * (mcx_main.c). */
#ifndef VOLT_TESTS_MODEL_MCX_INTERNAL_H
#define VOLT_TESTS_MODEL_MCX_INTERNAL_H

#include "mcx.h"
#include "mcx_atomic.h"

#define MCX_MAIN    MCX_THREADS /* index of setup and finish */
#define MCX_CELLS   160
#define MCX_HISTORY 320
#define MCX_STEPS   20000
#define VIEW_CLOCKS 8 /* of MCX_THREADS + 1 */
#define VIEW_LEN    (VIEW_CLOCKS + MCX_CELLS)

/* What a thread (or a message) has seen: clocks of the threads, then for each cell the
 * index of the newest value in its history. */
struct view {
    uint16_t t[VIEW_LEN];
};

enum thread_state { THREAD_READY, THREAD_LOCK, THREAD_FUTEX, THREAD_UNTIL, THREAD_DONE };

struct thread {
    enum thread_state state;
    struct view cur, acq,
        rel; /* seen; seen by relaxed loads; at the last release fence */
    uint16_t clock;
    bool daemon, yielded;
    const uint32_t *word; /* THREAD_LOCK, THREAD_FUTEX */
    bool may_time_out;
    int futex_result;
    bool (*until)(void *arg);
    void *until_arg;
    uint64_t last_run, priority;
};

extern struct thread mcx_threads[MCX_THREADS + 1];
extern int mcx_current; /* running thread, MCX_MAIN outside a run */
extern bool mcx_running;

/* --- mcx_explore.c ------------------------------------------------------------------ */

enum mcx_mode { MODE_DFS, MODE_RANDOM, MODE_PCT, MODE_REPLAY };

struct mcx_bounds {
    enum mcx_mode mode;
    int preempt; /* -1: none */
    int stale;   /* -1: none */
    int timeouts;
    long executions; /* at most; 0: no limit (MODE_DFS) */
    double until;    /* mcx_now() at which the search is cut off; 0: never */
    uint64_t seed;
};

struct mcx_result {
    long executions;
    bool failed, exhausted;
    long longest; /* steps */
    char why[512];
};

extern const struct mcx_scenario *mcx_scenario;
extern int mcx_nthreads;
extern int mcx_stale_left;

void mcx_explore(const struct mcx_scenario *s, const struct mcx_bounds *b,
                 struct mcx_result *ret);
double mcx_now(void);  /* seconds */
void mcx_point(void);  /* every operation: the scheduler may switch */
void mcx_tick(void);   /* the running thread's clock goes on, no switch */
void mcx_switch(void); /* the running thread has changed its state: schedule */

/* --- mcx_choice.c ------------------------------------------------------------------- */

void mcx_choice_reset(const struct mcx_bounds *b);
void mcx_choice_rewind(void);  /* before each execution */
bool mcx_choice_advance(void); /* depth first: next leaf; false: all seen */
int mcx_choice_pick(int n);    /* by the mode */
int mcx_choice_force(int c, int n);
uint64_t mcx_choice_random(void);
/* The choices of this execution as text for --replay; returns out. */
char *mcx_choice_text(char *out, size_t size);
bool mcx_choice_load(const char *text); /* for MODE_REPLAY; false: not such a text */

/* --- mcx_memory.c ------------------------------------------------------------------- */

/* Before and after setup: histories start over from the values in place. */
void mcx_memory_forget(void);
void mcx_view_join(struct view *a, const struct view *b);
/* The memory of [p, p + size) is being freed: every access must be ordered before. */
void mcx_memory_check_free(const char *p, size_t size);

/* --- mcx_heap.c --------------------------------------------------------------------- */

void mcx_heap_reset(void);
/* p may be used by the running thread, if it is in the heap at all. */
void mcx_heap_check(const void *p);
bool mcx_is_quiet(const void *p);

/* --- mcx_fiber.c -------------------------------------------------------------------- */

void mcx_fiber_setup(void); /* once; finds the thread-local storage */
void mcx_fiber_reset(void); /* fresh thread-locals for all */
void mcx_fiber_make(int i, void (*run)(void));
void mcx_fiber_enter(int i); /* from main; returns when the fiber leaves */
void mcx_fiber_leave(void);  /* back to main */

/* --- replays ------------------------------------------------------------------------ */

extern bool mcx_log_on;
const char *mcx_name_of(const void *p, char *out, size_t size);
void mcx_log(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
