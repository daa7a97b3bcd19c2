/* The search: runs a scenario again and again, each time along other choices.
 *
 * Depth first with a bound on preemptions (a switch away from a thread that could go on)
 * and on stale reads: exhaustive within them. Random: every choice uniform, or bounded
 * like the former. PCT (Burckhardt et al., 2010): random priorities, and d - 1 = 2 places
 * where the running thread drops to the lowest: finds a bug of depth 3 with a known
 * probability.
 *
 * A thread that yields is not continued while another can run; the one that ran longest
 * ago goes first and taking another one costs a preemption, so that spinning threads
 * neither starve the rest nor blow the search up. Running for long counts as a yield: no
 * thread is preempted for ever. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "mcx_internal.h"

#define PCT_DEPTH   3
#define PCT_CHANGED 1000000 /* priorities after a change, above those that have yielded */
#define PCT_FIRST   2000000 /* and at the start */
#define LONG_RUN    120     /* steps */

const struct mcx_scenario *mcx_scenario;
int mcx_nthreads;
int mcx_stale_left;

static const struct mcx_bounds *bounds;
static int preempt_left, timeouts_left;
static long steps, longest;
static uint64_t runs;
static uint64_t lowest; /* priority of the last that yielded */
static long unswitched; /* steps of the running thread since another one ran */
static long change_at[PCT_DEPTH];
static jmp_buf failed;
static char why[512];

void mcx_fail(const char *format, ...)
{
    va_list ap;

    va_start(ap, format);
    vsnprintf(why, sizeof(why), format, ap);
    va_end(ap);
    mcx_log("FAILS: %s", why);
    longjmp(failed, 1);
}

/* assert() and wild pointers of the sources under test are findings like others. */
static void on_signal(int sig)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, sig);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
    mcx_fail("%s",
             sig == SIGABRT ? "abort or failed assertion" : "invalid memory access");
}

static void catch_signals(void)
{
    static char stack[64 * 1024];
    stack_t alt = {.ss_sp = stack, .ss_size = sizeof(stack)};
    struct sigaction sa = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};

    sigaltstack(&alt, NULL);
    sigaction(SIGSEGV, &sa, NULL);
    sigaction(SIGBUS, &sa, NULL);
    sigaction(SIGFPE, &sa, NULL);
    sigaction(SIGABRT, &sa, NULL);
}

int mcx_self(void)
{
    return mcx_current;
}

void mcx_daemon(void)
{
    mcx_threads[mcx_current].daemon = true;
}

int mcx_choose(int n)
{
    return mcx_choice_pick(n);
}

void mcx_tick(void)
{
    if (!mcx_running)
        return;
    struct thread *t = &mcx_threads[mcx_current];

    t->clock++;
    t->cur.t[mcx_current] = t->acq.t[mcx_current] = t->clock;
}

void mcx_switch(void)
{
    mcx_fiber_leave();
    mcx_threads[mcx_current].state = THREAD_READY;
    mcx_tick();
}

void mcx_point(void)
{
    if (!mcx_running)
        return;
    if (++steps > MCX_STEPS)
        mcx_fail("livelock: too many steps");
    mcx_fiber_leave();
    mcx_tick();
}

/* Under PCT: behind all others, those that yielded before included. */
static void give_way(struct thread *t)
{
    t->yielded = true;
    t->priority = --lowest;
}

void mcx_yield(void)
{
    if (!mcx_running)
        return;
    give_way(&mcx_threads[mcx_current]);
    mcx_point();
}

static int asked = -1;    /* the thread whose condition is evaluated */
static bool asking_alone; /* inside mcx_alone() */

/* Of a thread that waits, or is about to. */
static bool holds(const struct thread *t)
{
    int before = asked;
    bool r;

    asked = (int)(t - mcx_threads);
    r = t->until(t->until_arg);
    asked = before;
    return r;
}

void mcx_block_until(bool (*f)(void *), void *arg)
{
    struct thread *t = &mcx_threads[mcx_current];

    if (!mcx_running)
        return;
    mcx_point();
    t->until = f;
    t->until_arg = arg;
    while (!holds(t)) {
        t->state = THREAD_UNTIL;
        mcx_switch();
    }
}

static bool may_time_out(const struct thread *t)
{
    int before = asked;
    bool r;

    if (!t->may_time_out || timeouts_left > 0 || bounds->timeouts >= 0)
        return t->may_time_out && timeouts_left > 0;
    asked = (int)(t - mcx_threads);
    r = mcx_alone();
    asked = before;
    return r;
}

static bool enabled(const struct thread *t)
{
    switch (t->state) {
    case THREAD_READY:
        return true;
    case THREAD_LOCK:
        return *t->word == 0;
    case THREAD_FUTEX:
        return may_time_out(t);
    case THREAD_UNTIL:
        return holds(t);
    case THREAD_DONE:
        break;
    }
    return false;
}

bool mcx_alone(void)
{
    bool alone = true;

    if (asking_alone)
        return false;
    asking_alone = true;
    for (int i = 0; i < mcx_nthreads && alone; i++)
        alone = i == asked || !enabled(&mcx_threads[i]);
    asking_alone = false;
    return alone;
}

/* --- which thread next -------------------------------------------------------------- */

struct candidates {
    int thread[MCX_THREADS];
    int n;
    bool free; /* any may be taken without a preemption */
};

/* The first candidate is the default. */
static void list_candidates(int last, struct candidates *c)
{
    bool can_go_on = last >= 0 && mcx_threads[last].state == THREAD_READY;
    bool yielded = can_go_on && mcx_threads[last].yielded;

    c->n = 0;
    c->free = !can_go_on;
    if (can_go_on && !yielded)
        c->thread[c->n++] = last;
    for (int i = 0; i < mcx_nthreads; i++)
        if ((i != last || !can_go_on) && enabled(&mcx_threads[i]))
            c->thread[c->n++] = i;
    if (!yielded)
        return;
    mcx_threads[last].yielded = false;
    if (c->n == 0)
        c->thread[c->n++] = last;
    int oldest = 0;

    for (int k = 1; k < c->n; k++)
        if (mcx_threads[c->thread[k]].last_run < mcx_threads[c->thread[oldest]].last_run)
            oldest = k;
    int t = c->thread[oldest];

    memmove(&c->thread[1], &c->thread[0], (size_t)oldest * sizeof(int));
    c->thread[0] = t;
}

static int pick_by_priority(int last, const struct candidates *c)
{
    int best = 0;

    for (int k = 0; k < PCT_DEPTH - 1; k++)
        if (steps == change_at[k] && last >= 0)
            mcx_threads[last].priority = PCT_CHANGED + (uint64_t)k;
    for (int k = 1; k < c->n; k++)
        if (mcx_threads[c->thread[k]].priority > mcx_threads[c->thread[best]].priority)
            best = k;
    return mcx_choice_force(best, c->n);
}

/* -1: nobody can run. */
static int next_thread(int last)
{
    struct candidates c;
    int k;

    list_candidates(last, &c);
    if (c.n == 0)
        return -1;
    if (!c.free && preempt_left <= 0)
        c.n = 1;
    k = bounds->mode == MODE_PCT ? pick_by_priority(last, &c) : mcx_choice_pick(c.n);
    if (!c.free && k > 0)
        preempt_left--;
    return c.thread[k];
}

/* --- one execution ------------------------------------------------------------------ */

static void start_threads(void)
{
    for (int i = 0; i < mcx_nthreads; i++) {
        struct thread *t = &mcx_threads[i];

        memset(t, 0, sizeof(*t));
        t->state = THREAD_READY;
        t->clock = 1;
        t->cur.t[i] = t->acq.t[i] = 1;
        t->priority =
            bounds->mode == MODE_PCT ? PCT_FIRST + mcx_choice_random() % 1000000 : 0;
        mcx_fiber_make(i, mcx_scenario->threads[i].run);
    }
    for (int k = 0; k < PCT_DEPTH - 1; k++)
        change_at[k] = (long)(mcx_choice_random() % (uint64_t)(longest + 1));
}

static const char *state_name(const struct thread *t)
{
    static const char *const names[] = {"ready", "lock", "futex", "waiting", "done"};

    return names[t->state];
}

static void check_end(void)
{
    char text[256];
    size_t at = 0;
    bool stuck = false;

    for (int i = 0; i < mcx_nthreads; i++) {
        const struct thread *t = &mcx_threads[i];

        stuck |= t->state != THREAD_DONE && !t->daemon;
        at += (size_t)snprintf(text + at, sizeof(text) - at, " %s=%s",
                               mcx_scenario->threads[i].name, state_name(t));
    }
    if (stuck)
        mcx_fail("deadlock or lost wakeup:%s", text);
}

static void run_threads(void)
{
    int last = -1;

    mcx_running = true;
    for (;;) {
        int before = last;

        last = next_thread(last);
        if (last < 0)
            break;
        struct thread *t = &mcx_threads[last];

        if (t->state == THREAD_FUTEX && timeouts_left > 0)
            timeouts_left--;
        unswitched = last == before ? unswitched + 1 : 0;
        if (unswitched > LONG_RUN) {
            give_way(t);
            unswitched = 0;
        }
        t->last_run = ++runs;
        mcx_fiber_enter(last);
    }
    mcx_running = false;
    mcx_current = MCX_MAIN;
}

static bool run_once(void)
{
    mcx_choice_rewind();
    mcx_heap_reset();
    mcx_memory_forget();
    mcx_fiber_reset();
    mcx_running = false;
    mcx_current = MCX_MAIN;
    steps = unswitched = 0;
    lowest = PCT_CHANGED;
    preempt_left = bounds->preempt < 0 ? 1 << 30 : bounds->preempt;
    mcx_stale_left = bounds->stale < 0 ? 1 << 30 : bounds->stale;
    timeouts_left =
        bounds->timeouts < 0 ? MCX_LAST_RESORT - bounds->timeouts : bounds->timeouts;
    if (setjmp(failed)) {
        mcx_running = false;
        mcx_current = MCX_MAIN;
        return false;
    }
    mcx_scenario->setup();
    mcx_memory_forget();
    start_threads();
    run_threads();
    check_end();
    for (int i = 0; i < mcx_nthreads; i++)
        mcx_view_join(&mcx_threads[MCX_MAIN].cur, &mcx_threads[i].cur);
    if (mcx_scenario->finish)
        mcx_scenario->finish();
    if (steps > longest)
        longest = steps;
    return true;
}

double mcx_now(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

void mcx_explore(const struct mcx_scenario *s, const struct mcx_bounds *b,
                 struct mcx_result *ret)
{
    memset(ret, 0, sizeof(*ret));
    catch_signals();
    mcx_scenario = s;
    bounds = b;
    for (mcx_nthreads = 0; mcx_nthreads < MCX_THREADS && s->threads[mcx_nthreads].run;)
        mcx_nthreads++;
    longest = 100;
    mcx_choice_reset(b);
    for (;;) {
        ret->executions++;
        if (!run_once()) {
            ret->failed = true;
            snprintf(ret->why, sizeof(ret->why), "%s", why);
            break;
        }
        if (b->mode == MODE_REPLAY)
            break;
        if (b->mode == MODE_DFS && !mcx_choice_advance()) {
            ret->exhausted = true;
            break;
        }
        if (b->executions > 0 && ret->executions >= b->executions)
            break;
        if (b->until > 0 && ret->executions % 256 == 0 && mcx_now() >= b->until)
            break;
    }
    ret->longest = longest;
}
