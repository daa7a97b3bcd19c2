/* What the files of the explorer share: memory (mcx_memory.c), heap (mcx_heap.c), fibers
 * (mcx_fiber.c), search (mcx_explore.c), choices (mcx_choice.c), states that have been
 * seen (mcx_state.c, mcx_zone.c), command line (mcx_main.c). */
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
    uint16_t clock;
    bool daemon, yielded;
    const uint32_t *word; /* THREAD_LOCK, THREAD_FUTEX */
    bool may_time_out;
    int futex_result;
    bool (*until)(void *arg);
    void *until_arg;
    uint64_t priority;
    const void *next_addr; /* what it is about to touch; NULL: unknown */
    int next;              /* index of that address; -1: unknown */
    unsigned next_touch;
    int site;          /* in the sources, of that */
    long preempted_at; /* number of touches by then; -1: it was not */
    bool due;          /* what it is about to touch has been touched since */
    unsigned locked;   /* operations so far that are locked instructions on x86 */
    /* Seen; seen by relaxed loads; at the last release fence. The last members. */
    struct view cur, acq, rel;
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
    bool full;       /* goes on from states that have been seen */
    bool rash;       /* believes at once what it may have to take back */
    uint64_t seed;
};

struct mcx_result {
    long executions;
    bool failed, exhausted;
    long longest;  /* steps */
    size_t states; /* that were gone on from */
    size_t ends;   /* different final states, and a digest of them */
    uint64_t digest;
    char why[512];
};

extern const struct mcx_scenario *mcx_scenario;
extern int mcx_nthreads;
extern int mcx_stale_left;

void mcx_explore(const struct mcx_scenario *s, const struct mcx_bounds *b,
                 struct mcx_result *ret);
double mcx_now(void); /* processor time, in seconds */
/* The path cannot be gone along as it was. */
void mcx_search_again(void) __attribute__((noreturn));
/* Every operation: the scheduler may switch before it. What it is about to touch: an
 * address, or NULL, and how. */
enum mcx_touch {
    TOUCH_READ = 0,
    TOUCH_WRITE = 1,
    TOUCH_SC = 2,    /* the view of sequentially consistent operations, too */
    TOUCH_ALL = 4,   /* may depend on anything */
    TOUCH_MODEL = 8, /* the model's variables: goes with an address */
};
void mcx_point(const void *addr, unsigned touch);
/* What the running thread touches without a switch point before it. */
void mcx_touched(const void *addr, unsigned touch);
void mcx_tick(void);   /* the running thread's clock goes on, no switch */
void mcx_switch(void); /* the running thread has changed its state: schedule */

/* --- mcx_choice.c ------------------------------------------------------------------- */

void mcx_choice_reset(const struct mcx_bounds *b);
void mcx_choice_rewind(void); /* before each execution */
void mcx_choice_carry(void);
bool mcx_choice_advance(void); /* depth first: next leaf; false: all seen */
int mcx_choice_pick(int n);    /* by the mode */
int mcx_choice_force(int c, int n);
uint64_t mcx_choice_random(void);
/* The choices of this execution as text for --replay; returns out. */
char *mcx_choice_text(char *out, size_t size);
bool mcx_choice_load(const char *text); /* for MODE_REPLAY; false: not such a text */

int mcx_choice_made(void);   /* in this execution so far */
int mcx_choice_left(void);   /* after mcx_choice_advance(): as long as the leaf's path */
bool mcx_choice_ahead(void); /* some are yet to be taken again */

/* --- mcx_state.c -------------------------------------------------------------------- */

static inline uint64_t mcx_mix(uint64_t a, uint64_t b)
{
    __uint128_t m = (__uint128_t)(a ^ 0x9E3779B97F4A7C15u) * (b ^ 0xD6E8FEB86659FD93u);

    return (uint64_t)m ^ (uint64_t)(m >> 64);
}
uint64_t mcx_hash(const void *p, size_t n, uint64_t seed);
void mcx_state_reset(void);
/* The path is given up from after this number of choices on. */
void mcx_state_rewind(int choices);
/* Can these bounds be kept with a state? */
bool mcx_state_fits(int preempt, int stale);
/* Comes to a state after this number of choices. False: not with more left than
 * before. */
bool mcx_state_new(uint64_t hash, int preempt, int stale, int choices);
size_t mcx_state_count(void);
void mcx_state_end(uint64_t hash);
size_t mcx_state_ends(uint64_t *ret_digest);

/* --- mcx_save.c --------------------------------------------------------------------- */

/* Saves [p, p + n), or puts it back: true. */
bool mcx_carry(void *p, size_t n);
void mcx_save_reset(void); /* from the beginning */
/* All that is carried now is a place after this number of choices. False: too many. */
bool mcx_save_begin(int choices);
/* All that is carried now goes back to the last place before the choice of that number.
 * False: there is none. */
bool mcx_save_back(int choices);

/* --- mcx_touch.c -------------------------------------------------------------------- */

void mcx_touch_reset(void);  /* of another scenario */
void mcx_touch_rewind(void); /* before each execution */
void mcx_touch_carry(void);
int mcx_touch_index(const void *addr);
void mcx_touch_note(int thread, int address, unsigned touch);
int mcx_touch_site(const char *file, int line);
/* The thread has come from an operation at this site, where it had made that many
 * touches, to its next one. */
void mcx_touch_went(int thread, int site, long from);
long mcx_touch_count(void);
/* Does what the thread is about to do matter to no other one? The operation, and all up
 * to the next, which may touch the variables of the model (that address). By what was
 * known at the start, and of the latter by what is known now. */
bool mcx_touch_private(int thread, const void *model);
/* What threads do with the memory at an address that others may fear a race with, or that
 * may read an old value. */
enum mcx_use { USE_ANY, USE_PLAIN /* write plainly, or free */, USE_LOAD, USES };
void mcx_touch_use(int address, enum mcx_use use); /* by the running thread */
/* Set of threads that do it at any time, by what was known at the start. */
unsigned mcx_touch_users(int address, enum mcx_use use);
/* A search starts. What has been seen so many times to touch no variable of the model is
 * believed to do so never. */
void mcx_touch_start(long times);
/* Has it said no, and was it wrong, as is known now? */
bool mcx_touch_mistaken(void);
/* Do the touches from `from` on, by thread, commute with those of others from `since` on?
 */
bool mcx_touch_commute(int thread, long since, long from);

/* --- mcx_zone.c --------------------------------------------------------------------- */

void mcx_zone_reset(void); /* before each execution */
/* Have they changed since they were `was`, of that size? Then they are that now. */
bool mcx_zone_changed(char *was);
size_t mcx_zone_size(void);
void mcx_zone_carry(char *was);
uint64_t mcx_zone_hash(void); /* of the model's variables, and those of the sources */
bool mcx_zone_ordered(const void *explorers);

/* --- mcx_memory.c ------------------------------------------------------------------- */

/* Before and after setup: histories start over from the values in place. */
void mcx_memory_forget(void);
void mcx_memory_carry(void);
void mcx_view_join(struct view *a, const struct view *b);
/* What the last holder of the lock knew. */
struct view *mcx_lock_view(const uint32_t *word);
/* The memory of [p, p + size) is being freed: every access must be ordered before. */
void mcx_memory_check_free(const char *p, size_t size);
/* Can a load by the thread read more than the newest value at that address? */
bool mcx_memory_choice(const struct thread *t, const void *addr, bool sc);
/* Of what threads may still read (stale: and not only the newest), have seen, and have to
 * fear races with. */
uint64_t mcx_memory_hash(bool stale);

/* --- mcx_heap.c --------------------------------------------------------------------- */

void mcx_heap_reset(void);
void mcx_heap_carry(void);
/* p may be used by the running thread, if it is in the heap at all. */
void mcx_heap_check(const void *p);
bool mcx_is_quiet(const void *p);
uint64_t mcx_heap_hash(void); /* of the contents */
/* Calls f for the allocating thread and clock of each object, and its address. */
uint64_t mcx_heap_clocks(uint64_t (*f)(int thread, uint16_t clock, int address));

/* --- mcx_fiber.c -------------------------------------------------------------------- */

void mcx_fiber_setup(void); /* once; finds the thread-local storage */
void mcx_fiber_reset(void); /* fresh thread-locals for all */
void mcx_fiber_carry(void);
void mcx_fiber_make(int i, void (*run)(void));
void mcx_fiber_enter(int i);    /* from main; returns when the fiber leaves */
void mcx_fiber_leave(void);     /* back to main */
uint64_t mcx_fiber_hash(int i); /* stack, registers, thread-local storage */

/* --- replays ------------------------------------------------------------------------ */

extern bool mcx_log_on;
const char *mcx_name_of(const void *p, char *out, size_t size);
const char *mcx_here_is(int *ret_line); /* of the running thread; NULL: nowhere */
void mcx_log(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
