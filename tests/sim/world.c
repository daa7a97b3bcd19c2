/* Chance, virtual time, and where voltd may die: sim.h. What voltd calls of the system is
 * replaced here by the linker (--wrap, see sim.mk): clocks, memory, locks, descriptors. */
#include "tests/sim/sim.h"

#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/siphash.h"
#include "daemon/admit/timed.h"
#include "daemon/core/state.h"
#include "daemon/dispatch/clocks.h"
#include "daemon/observe/log.h"

#define REAL_TIME UINT64_C(1700000000000000) /* us: when a history begins */
#define FAKE_FD   1000000                    /* descriptors of the world are above */

struct sim sim;

const char *const sim_fault_names[FAULTS] = {
    "voltd-dies", "keeper-dies", "shim-dies",    "reboot",     "disk-full", "disk-fails",
    "disk-slow",  "memory",      "keeper-short", "connection", "probe",     "client-goes",
    "keeper-stops", "survivors", "record-goes"};

/* --- chance -------------------------------------------------------------------------- */

uint32_t sim_below(uint32_t n)
{
    return rng_below(&sim.chance, n);
}

bool sim_one_in(uint32_t n)
{
    return sim_below(n) == 0;
}

uint64_t sim_between(uint64_t low, uint64_t high)
{
    return low + rng_next(&sim.chance) % (high - low + 1);
}

uint64_t sim_hash(uint64_t a, uint64_t b, uint64_t c)
{
    uint64_t x = a * RNG_GOLDEN ^ (b + 1) * UINT64_C(0xBF58476D1CE4E5B9) ^
                 (c + 2) * UINT64_C(0x94D049BB133111EB);

    x = (x ^ x >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ x >> 27) * UINT64_C(0x94D049BB133111EB);
    return x ^ x >> 31;
}

/* --- memory of the world --------------------------------------------------------------- */

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t size);
void *__real_reallocarray(void *p, size_t n, size_t size);
char *__real_strdup(const char *s);

void *sim_grow(void *p, size_t size)
{
    void *grown = __real_realloc(p, size);

    if (!grown)
        sim_violation("the simulator itself has no memory");
    return grown;
}

void sim_free(void *p)
{
    free(p);
}

/* Whether this allocation of voltd fails. */
static bool fails(void)
{
    if (!sim.inside || sim.outside || !sim.memory_fails || !sim_one_in(50))
        return false;
    errno = ENOMEM;
    return true;
}

void *__wrap_malloc(size_t size);
void *__wrap_malloc(size_t size)
{
    return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size)
{
    return fails() ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *p, size_t size);
void *__wrap_realloc(void *p, size_t size)
{
    return fails() ? NULL : __real_realloc(p, size);
}

void *__wrap_reallocarray(void *p, size_t n, size_t size);
void *__wrap_reallocarray(void *p, size_t n, size_t size)
{
    return fails() ? NULL : __real_reallocarray(p, n, size);
}

char *__wrap_strdup(const char *s);
char *__wrap_strdup(const char *s)
{
    return fails() ? NULL : __real_strdup(s);
}

/* --- events: a heap by time, then by order --------------------------------------------- */

struct event {
    uint64_t at, order;
    unsigned life; /* 0: of any */
    sim_fn *fn;
    uint64_t a, b;
};

static struct {
    struct event *all;
    size_t n, capacity;
    uint64_t order;
} events;

static bool is_before(const struct event *a, const struct event *b)
{
    return a->at != b->at ? a->at < b->at : a->order < b->order;
}

static void swap(size_t i, size_t k)
{
    struct event e = events.all[i];

    events.all[i] = events.all[k];
    events.all[k] = e;
}

static void push(struct event e)
{
    size_t i = events.n;

    if (events.n == events.capacity) {
        events.capacity = events.capacity ? 2 * events.capacity : 256;
        events.all = sim_grow(events.all, events.capacity * sizeof(*events.all));
    }
    e.order = ++events.order;
    events.all[events.n++] = e;
    for (; i && is_before(&events.all[i], &events.all[(i - 1) / 2]); i = (i - 1) / 2)
        swap(i, (i - 1) / 2);
}

static struct event pop(void)
{
    struct event first = events.all[0];
    size_t i = 0, child;

    events.all[0] = events.all[--events.n];
    while ((child = 2 * i + 1) < events.n) {
        if (child + 1 < events.n && is_before(&events.all[child + 1], &events.all[child]))
            child++;
        if (!is_before(&events.all[child], &events.all[i]))
            break;
        swap(i, child);
        i = child;
    }
    return first;
}

void sim_after(uint64_t usec, sim_fn *fn, uint64_t a, uint64_t b)
{
    push((struct event){.at = sim.now + usec, .fn = fn, .a = a, .b = b});
}

void sim_after_in_life(uint64_t usec, sim_fn *fn, uint64_t a, uint64_t b)
{
    push((struct event){
        .at = sim.now + usec, .life = sim.life, .fn = fn, .a = a, .b = b});
}

uint64_t sim_next_event(void)
{
    return events.n ? events.all[0].at : UINT64_MAX;
}

bool sim_run_event(void)
{
    if (!events.n || events.all[0].at > sim.now)
        return false;
    struct event e = pop();
    if (!e.life || (e.life == sim.life && sim.rt))
        e.fn(e.a, e.b);
    return true;
}

void sim_forget_events(void)
{
    events.n = 0;
    events.order = 0;
}

/* --- steps and violations --------------------------------------------------------------- */

void sim_step(void)
{
    if (!sim.inside)
        return;
    sim.steps++;
    if (sim.die_at && sim.steps >= sim.die_at) {
        sim_trace("voltd dies");
        longjmp(sim.death, 1);
    }
}

bool sim_may(enum sim_fault f)
{
    return !sim.calm && sim.faults >> f & 1;
}

void sim_count_fault(enum sim_fault f)
{
    sim_trace("fault %s", sim_fault_names[f]);
    cover_note_fault(f);
}

void sim_trace(const char *format, ...)
{
    va_list ap;

    if (!sim.trace)
        return;
    (void)fprintf(stderr, "%10llu %6llu  ", (unsigned long long)sim.now,
                  (unsigned long long)sim.steps);
    va_start(ap, format);
    (void)vfprintf(stderr, format, ap);
    va_end(ap);
    (void)fputc('\n', stderr);
}

void sim_violation(const char *format, ...)
{
    va_list ap;

    (void)fflush(stdout);
    (void)fprintf(stderr, "sim: VIOLATION at %llu us, step %llu: ",
                  (unsigned long long)sim.now, (unsigned long long)sim.steps);
    va_start(ap, format);
    (void)vfprintf(stderr, format, ap);
    va_end(ap);
    (void)fputc('\n', stderr);
    abort();
}

/* --- the system, for voltd --------------------------------------------------------------- */

uint64_t sim_date(void)
{
    return REAL_TIME + sim.now;
}

int __wrap_clock_gettime(clockid_t clock, struct timespec *ts);
int __wrap_clock_gettime(clockid_t clock, struct timespec *ts)
{
    uint64_t usec = sim.now + (clock == CLOCK_REALTIME ? REAL_TIME : 1000000);

    ts->tv_sec = (time_t)(usec / 1000000);
    ts->tv_nsec = (long)(usec % 1000000) * 1000;
    return 0;
}

/* Both clocks of jobs that wait are that of the world; their timer is a sleep. */
static struct volt_sleep next_time;

int __wrap_clocks_init(struct clocks *c, struct volt_runtime *rt);
int __wrap_clocks_init(struct clocks *c, struct volt_runtime *rt)
{
    (void)c, (void)rt;
    next_time = (struct volt_sleep){0}; /* that of a voltd that has died is gone */
    return 0;
}

void __wrap_clocks_fini(struct clocks *c);
void __wrap_clocks_fini(struct clocks *c)
{
    (void)c;
    volt_sleep_fini(&next_time);
    next_time = (struct volt_sleep){0};
}

void __wrap_clocks_arm(struct clocks *c, const struct admission_times *at);
void __wrap_clocks_arm(struct clocks *c, const struct admission_times *at)
{
    uint64_t first = at->boottime;

    if (at->realtime != TIMED_NEVER && at->realtime - REAL_TIME + 1000000 < first)
        first = at->realtime - REAL_TIME + 1000000;
    __wrap_clocks_fini(c);
    if (first != TIMED_NEVER)
        volt_sleep_init_at(&next_time, first);
}

enum volt_poll __wrap_clocks_poll(struct volt_cx *cx, struct clocks *c);
enum volt_poll __wrap_clocks_poll(struct volt_cx *cx, struct clocks *c)
{
    (void)c;
    return next_time.deadline_usec ? volt_sleep_poll(cx, &next_time) : VOLT_PENDING;
}

/* Another worker may go on while this one is between two sections of core's lock. */
void __real_fair_unlock(struct fair_lock *l);
void __wrap_fair_unlock(struct fair_lock *l);
void __wrap_fair_unlock(struct fair_lock *l)
{
    static unsigned depth;
    static unsigned life;

    __real_fair_unlock(l);
    if (life != sim.life)
        depth = 0; /* the voltd that was inside has died */
    life = sim.life;
    if (!sim.inside || sim.outside || !sim.core || l != &sim.core->lock || depth >= 2 ||
        !sim_one_in(6))
        return;
    depth++;
    (void)executor_step();
    depth--;
}

/* Descriptors that the world has given are none. */
int __real_close(int fd);
void (*sim_closed)(int fd);

int __wrap_close(int fd);
int __wrap_close(int fd)
{
    if (fd >= FAKE_FD && sim_closed)
        sim_closed(fd);
    return fd >= FAKE_FD ? 0 : __real_close(fd);
}

int __wrap_fsync(int fd);
int __wrap_fsync(int fd)
{
    (void)fd;
    sim_step();
    return 0;
}

int __wrap_malloc_trim(size_t pad);
int __wrap_malloc_trim(size_t pad)
{
    (void)pad;
    return 0;
}

int __wrap_siphash_key_random(struct siphash_key *ret);
int __wrap_siphash_key_random(struct siphash_key *ret)
{
    for (size_t i = 0; i < sizeof(*ret); i++)
        ((uint8_t *)ret)[i] = (uint8_t)sim_below(256);
    return 0;
}

/* --- the log of voltd ---------------------------------------------------------------------- */

void log_init(void)
{
}

void log_line(enum log_level level, const char *format, ...)
{
    char text[512];
    va_list ap;

    va_start(ap, format);
    (void)vsnprintf(text, sizeof(text), format, ap);
    va_end(ap);
    sim_trace("log <%d> %s", (int)level, text);
    if (strstr(text, "out of place"))
        sim_violation("voltd says: %s", text);
}
