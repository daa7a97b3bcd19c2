/* The search: runs a scenario again and again, each time along other choices.
 *
 * Depth first with a bound on preemptions (a switch away from a thread that could go on)
 * and on stale reads: exhaustive within them. Random: every choice uniform, or bounded
 * like the former. PCT (Burckhardt et al., 2010): random priorities, and d - 1 = 2 places
 * where the running thread drops to the lowest: finds a bug of depth 3 with a known
 * probability.
 *
 * A thread that yields is not continued while another can run; the next in turn goes
 * first and taking another one costs a preemption, so that spinning threads neither
 * starve the rest nor blow the search up. Running for long counts as a yield: no thread
 * is preempted for ever. */
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
#define ENOUGH      (1 << 18)

const struct mcx_scenario *mcx_scenario;
int mcx_nthreads;
int mcx_stale_left;

static const struct mcx_bounds *bounds;
static int preempt_left, timeouts_left;
static long steps, longest;
static uint64_t lowest; /* priority of the last that yielded */
static long unswitched; /* steps of the running thread since another one ran */
static long change_at[PCT_DEPTH];
static bool merging;  /* states that have been seen are left out */
static bool explored; /* all, by the last search, and with so many timeouts */
static int explored_timeouts;
static char *zone; /* the model's variables, after the last step */
static int last;   /* who ran last; or NOBODY, SEEN */
static jmp_buf failed;
static bool again; /* it has not failed: the search must start over */
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

/* What threads were believed to leave alone has changed since the path was recorded
 * (mcx_touch.c): other threads might go on. */
void mcx_search_again(void)
{
    if (!merging) {
        fprintf(stderr, "mcx: scenario %s is not deterministic\n", mcx_scenario->name);
        abort();
    }
    again = true;
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

unsigned mcx_locked_ops(void)
{
    return mcx_threads[mcx_current].locked;
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

void mcx_touched(const void *addr, unsigned touch)
{
    if (mcx_running)
        mcx_touch_note(mcx_current, mcx_touch_index(addr), touch);
}

/* Under PCT: behind all others, those that yielded before included. */
static void give_way(struct thread *t)
{
    /* It may wait for what one that was preempted is about to do. */
    for (int i = 0; i < mcx_nthreads; i++)
        mcx_threads[i].due = true;
    t->yielded = true;
    t->priority = --lowest;
}

void mcx_yield(void)
{
    if (!mcx_running)
        return;
    give_way(&mcx_threads[mcx_current]);
    mcx_point(NULL, TOUCH_READ);
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

static void block_until(bool (*f)(void *), void *arg, const void *addr, unsigned touch)
{
    struct thread *t = &mcx_threads[mcx_current];

    if (!mcx_running)
        return;
    mcx_point(addr, touch);
    t->until = f;
    t->until_arg = arg;
    while (!holds(t)) {
        t->state = THREAD_UNTIL;
        mcx_switch();
        mcx_touched(addr, touch);
    }
}

static char model_state; /* stands for all variables of the model */

void mcx_block_until(bool (*f)(void *), void *arg)
{
    block_until(f, arg, &model_state, TOUCH_READ | TOUCH_MODEL);
}

void mcx_block_until_any(bool (*f)(void *), void *arg)
{
    block_until(f, arg, NULL, TOUCH_ALL);
}

void mcx_model_read(void)
{
    mcx_touched(&model_state, TOUCH_READ | TOUCH_MODEL);
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
    bool free;    /* any may be taken without a preemption */
    bool useless; /* others could go on, but it would be nothing new */
};

/* How far thread i comes behind the last one, round and round. */
static int in_turn(int i)
{
    return (i - last - 1 + mcx_nthreads) % mcx_nthreads;
}

/* The first candidate is the default. */
static void list_candidates(struct candidates *c)
{
    bool can_go_on = last >= 0 && mcx_threads[last].state == THREAD_READY;
    bool yielded = can_go_on && mcx_threads[last].yielded;

    c->n = 0;
    c->free = !can_go_on;
    c->useless = false;
    if (can_go_on && !yielded)
        c->thread[c->n++] = last;
    for (int i = 0; i < mcx_nthreads; i++)
        if ((i != last || !can_go_on) && enabled(&mcx_threads[i])) {
            if (mcx_threads[i].preempted_at >= 0 && !mcx_threads[i].due)
                c->useless = true; /* it could have gone on before it was preempted */
            else
                c->thread[c->n++] = i;
        }
    if (!yielded)
        return;
    if (c->n == 0)
        c->thread[c->n++] = last;
    int next = 0;

    for (int k = 1; k < c->n; k++)
        if (in_turn(c->thread[k]) < in_turn(c->thread[next]))
            next = k;
    int t = c->thread[next];

    memmove(&c->thread[1], &c->thread[0], (size_t)next * sizeof(int));
    c->thread[0] = t;
}

static int pick_by_priority(const struct candidates *c)
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

/* Of everything that decides how the execution can go on but the bounds of
 * mcx_state.c. */
static uint64_t state_hash(void)
{
    bool can_go_on = last >= 0 && mcx_threads[last].state == THREAD_READY;
    uint64_t h = mcx_mix((uint64_t)timeouts_left, can_go_on ? (uint64_t)last + 1 : 0);

    for (int i = 0; i < mcx_nthreads; i++)
        if (mcx_threads[i].state != THREAD_DONE)
            h = mcx_mix(h, mcx_fiber_hash(i));
    h = mcx_mix(h, mcx_zone_hash());
    h = mcx_mix(h, mcx_heap_hash());
    return mcx_mix(h, mcx_memory_hash(mcx_stale_left > 0));
}

/* The operation that comes is no place to preempt at. */
static bool is_private(const struct thread *t)
{
    return merging && t->state == THREAD_READY && !t->yielded &&
           mcx_touch_private((int)(t - mcx_threads), &model_state);
}

/* The operation that comes is a load that may read more than the newest value. */
static bool has_choice(const struct thread *t)
{
    return mcx_stale_left > 0 && !(t->next_touch & TOUCH_WRITE) &&
           mcx_memory_choice(t, t->next_addr, t->next_touch & TOUCH_SC);
}

/* Can executions differ from here on, by the thread or by what it reads? */
static bool is_fork(const struct candidates *c)
{
    const struct thread *t = &mcx_threads[c->thread[0]];

    return c->n > 1 || has_choice(t);
}

#define NOBODY (-1) /* can run */
#define SEEN   (-2)

/* All that changes in the course of an execution. */
static void carry(void)
{
    (void)mcx_carry(&last, sizeof(last));
    (void)mcx_carry(&preempt_left, sizeof(preempt_left));
    (void)mcx_carry(&mcx_stale_left, sizeof(mcx_stale_left));
    (void)mcx_carry(&timeouts_left, sizeof(timeouts_left));
    (void)mcx_carry(&steps, sizeof(steps));
    (void)mcx_carry(&lowest, sizeof(lowest));
    (void)mcx_carry(&unswitched, sizeof(unswitched));
    mcx_choice_carry();
    mcx_touch_carry();
    mcx_memory_carry();
    mcx_heap_carry();
    mcx_zone_carry(zone);
    mcx_fiber_carry();
}

/* False: all that can follow has been explored. */
static bool is_new(void)
{
    if (!mcx_state_new(state_hash(), preempt_left, mcx_stale_left, mcx_choice_made()))
        return false;
    if (mcx_save_begin(mcx_choice_made()))
        carry();
    return true;
}

static int next_thread(void)
{
    struct candidates c;
    int k;

    if (last >= 0 && is_private(&mcx_threads[last]))
        return last;
    list_candidates(&c);
    if (c.n == 0)
        return c.useless ? SEEN : NOBODY;
    if (!c.free && preempt_left <= 0)
        c.n = 1;
    if (merging && !mcx_choice_ahead() && is_fork(&c) && !is_new())
        return SEEN;
    if (last >= 0)
        mcx_threads[last].yielded = false;
    k = bounds->mode == MODE_PCT ? pick_by_priority(&c) : mcx_choice_pick(c.n);
    if (!c.free && k > 0) {
        preempt_left--;
        if (c.thread[0] == last) {
            mcx_threads[last].preempted_at = mcx_touch_count();
            mcx_threads[last].due = !merging;
        }
    }
    return c.thread[k];
}

/* --- one step: an operation, and all up to the next one ----------------------------- */

static struct {
    long since,
        from; /* touches made when the thread was preempted (-1: it was not); now */
    int site;
} going; /* the step that goes on */
static bool given_up;

static void begin_step(struct thread *t)
{
    going.since = t->preempted_at;
    going.from = mcx_touch_count();
    going.site = t->site;
    t->preempted_at = -1;
}

/* False: the thread might as well have made it before it was preempted. */
static bool end_step(int i)
{
    if (!merging)
        return true;
    if (mcx_zone_changed(zone))
        mcx_touch_note(i, mcx_touch_index(&model_state), TOUCH_WRITE | TOUCH_MODEL);
    mcx_touch_went(i, going.site, going.from);
    return going.since < 0 || mcx_choice_ahead() ||
           !mcx_touch_commute(i, going.since, going.from);
}

/* The running thread comes to an operation and nothing else can be next: without a switch
 * to the search and back. */
static bool goes_on(struct thread *t)
{
    if (!merging || t->yielded || unswitched >= LONG_RUN ||
        ((preempt_left > 0 || has_choice(t)) && !is_private(t)))
        return false;
    given_up = !end_step(mcx_current);
    if (given_up)
        return false;
    unswitched++;
    begin_step(t);
    return true;
}

void mcx_point(const void *addr, unsigned touch)
{
    struct thread *t = &mcx_threads[mcx_current];

    if (!mcx_running)
        return;
    if (++steps > MCX_STEPS)
        mcx_fail("livelock: too many steps");
    int line;
    const char *file = mcx_here_is(&line);

    t->site = mcx_touch_site(file, line);
    t->next_addr = addr;
    t->next = mcx_touch_index(addr);
    t->next_touch = touch;
    if (!goes_on(t))
        mcx_fiber_leave();
    mcx_tick();
    mcx_touch_note(mcx_current, t->next, t->next_touch);
}

/* --- one execution ------------------------------------------------------------------ */

static void start_threads(void)
{
    for (int i = 0; i < mcx_nthreads; i++) {
        struct thread *t = &mcx_threads[i];

        memset(t, 0, sizeof(*t));
        t->state = THREAD_READY;
        t->clock = 1;
        t->next = t->site = -1;
        t->preempted_at = -1;
        t->next_touch = TOUCH_ALL;
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

    for (int i = 0; i < mcx_nthreads; i++)
        stuck |= mcx_threads[i].state != THREAD_DONE && !mcx_threads[i].daemon;
    if (!stuck)
        return;
    for (int i = 0; i < mcx_nthreads; i++)
        at +=
            (size_t)snprintf(text + at, sizeof(text) - at, " %s=%s",
                             mcx_scenario->threads[i].name, state_name(&mcx_threads[i]));
    mcx_fail("deadlock or lost wakeup:%s", text);
}

/* False: it led to a state that has been seen. */
static bool run_threads(void)
{
    mcx_running = true;
    for (;;) {
        int before = last;

        last = next_thread();
        if (last < 0)
            break;
        struct thread *t = &mcx_threads[last];

        if (t->state == THREAD_FUTEX) {
            mcx_touch_note(last, -1, TOUCH_ALL);
            if (timeouts_left > 0)
                timeouts_left--;
        }
        unswitched = last == before ? unswitched + 1 : 0;
        if (unswitched > LONG_RUN) {
            give_way(t);
            unswitched = 0;
        }
        begin_step(t);
        given_up = false;
        mcx_fiber_enter(last);
        if (given_up || !end_step(last)) {
            last = SEEN;
            break;
        }
    }
    mcx_running = false;
    mcx_current = MCX_MAIN;
    return last != SEEN;
}

static void begin(void)
{
    mcx_choice_rewind();
    mcx_touch_rewind();
    mcx_heap_reset();
    mcx_zone_reset();
    mcx_memory_forget();
    mcx_fiber_reset();
    steps = unswitched = 0;
    lowest = PCT_CHANGED;
    preempt_left = bounds->preempt < 0 ? 1 << 30 : bounds->preempt;
    mcx_stale_left = bounds->stale < 0 ? 1 << 30 : bounds->stale;
    timeouts_left =
        bounds->timeouts < 0 ? MCX_LAST_RESORT - bounds->timeouts : bounds->timeouts;
    last = NOBODY;
    mcx_scenario->setup();
    mcx_memory_forget();
    start_threads();
    if (!zone)
        zone = calloc(1, mcx_zone_size());
    if (!zone)
        abort();
    (void)mcx_zone_changed(zone);
}

/* From the beginning, or the last place before the choice that is another one now. */
static bool run_once(void)
{
    mcx_running = false;
    mcx_current = MCX_MAIN;
    if (setjmp(failed)) {
        mcx_running = false;
        mcx_current = MCX_MAIN;
        return false;
    }
    if (merging && mcx_save_back(mcx_choice_left()))
        carry();
    else
        begin();
    if (!run_threads())
        return true;
    check_end();
    for (int i = 0; i < mcx_nthreads; i++)
        mcx_view_join(&mcx_threads[MCX_MAIN].cur, &mcx_threads[i].cur);
    if (mcx_scenario->finish)
        mcx_scenario->finish();
    if (steps > longest)
        longest = steps;
    if (bounds->mode == MODE_DFS)
        mcx_state_end(mcx_mix(mcx_zone_hash(), mcx_heap_hash()));
    return true;
}

double mcx_now(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
    return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static void start_search(const struct mcx_bounds *b)
{
    mcx_choice_reset(b);
    mcx_state_reset();
    mcx_save_reset();
    mcx_touch_start(b->rash ? 0 : ENOUGH);
}

/* What a search that came to its end has explored stays so, for one of the same scenario
 * with other bounds of preemptions and stale reads. */
static void continue_search(const struct mcx_bounds *b)
{
    mcx_choice_reset(b);
    mcx_state_rewind(0);
    mcx_save_reset();
}

void mcx_explore(const struct mcx_scenario *s, const struct mcx_bounds *b,
                 struct mcx_result *ret)
{
    memset(ret, 0, sizeof(*ret));
    catch_signals();
    if (mcx_scenario != s)
        mcx_touch_reset();
    bool more = explored && mcx_scenario == s && explored_timeouts == b->timeouts;

    mcx_scenario = s;
    bounds = b;
    for (mcx_nthreads = 0; mcx_nthreads < MCX_THREADS && s->threads[mcx_nthreads].run;)
        mcx_nthreads++;
    longest = 100;
    merging = b->mode == MODE_DFS && !b->full && mcx_state_fits(b->preempt, b->stale);
    explored = false;
    if (more && merging)
        continue_search(b);
    else
        start_search(b);
    for (;;) {
        ret->executions++;
        again = false;
        if (!run_once()) {
            if (again) {
                start_search(b);
                continue;
            }
            ret->failed = true;
            snprintf(ret->why, sizeof(ret->why), "%s", why);
            break;
        }
        if (b->mode == MODE_REPLAY)
            break;
        bool end = b->mode == MODE_DFS && !mcx_choice_advance();

        /* From time to time, and at the end. */
        if (merging && (end || ret->executions % 1024 == 0) && mcx_touch_mistaken()) {
            start_search(b);
            continue;
        }
        if (end) {
            ret->exhausted = true;
            explored = merging;
            explored_timeouts = b->timeouts;
            break;
        }
        mcx_state_rewind(mcx_choice_left());
        if (b->executions > 0 && ret->executions >= b->executions)
            break;
        if (b->until > 0 && ret->executions % 256 == 0 && mcx_now() >= b->until)
            break;
    }
    ret->longest = longest;
    ret->states = mcx_state_count();
    ret->ends = mcx_state_ends(&ret->digest);
}
