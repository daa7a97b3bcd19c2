/* What admission costs, without the rest of voltd:
 *
 *   admission [WAITERS]
 *
 * Each line: how many wait, microseconds of what was done, the longest call that a lock
 * would be held for, bytes of each waiter beyond the job itself. Times are processor
 * time, of one thread; asking for it adds half a microsecond to each start. */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "daemon/admit/admission.h"
#include "daemon/admit/condition.h"
#include "daemon/admit/job_queue.h"
#include "daemon/admit/named.h"

enum { USERS = 100, QUEUES = 10, SLOTS = 64, STARTS = 100000, BUDGET = 64 };

static struct admission *a;
static struct job_queue *queues[QUEUES];
static struct waiter *w;
static size_t waiters;
static uint64_t longest_nsec, looks;

/* --- measuring ---------------------------------------------------------------------- */

static uint64_t nsec(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void check(int r)
{
    if (r == 0)
        return;
    fprintf(stderr, "admission: %s\n", strerror(-r));
    exit(1);
}

static void print(const char *what, size_t n, uint64_t from, const char *unit)
{
    printf("%-34s %9zu  %8.3f us each  longest %6.1f us%s", what, n,
           (double)(nsec() - from) / 1000 / (double)n, (double)longest_nsec / 1000, unit);
    printf("\n");
    longest_nsec = 0;
}

/* As a dispatcher: at most BUDGET classes in one call. */
static struct waiter *next(void)
{
    for (;;) {
        unsigned budget = BUDGET;
        const uint64_t from = nsec();
        struct waiter *x = admission_next(a, 0, &budget);
        const uint64_t took = nsec() - from;

        looks += BUDGET - budget + (x ? 1 : 0);
        if (took > longest_nsec)
            longest_nsec = took;
        if (x || budget)
            return x;
    }
}

/* --- what waits --------------------------------------------------------------------- */

static struct resource *named(uid_t uid, const char *prefix, size_t number,
                              const struct resource_kind *kind, uint64_t capacity)
{
    char name[32];
    struct resource *r;
    const struct named_ask ask = {
        .owner = uid, .name = name, .kind = kind, .capacity = capacity};

    snprintf(name, sizeof(name), "%s%zu", prefix, number);
    check(named_get(a, &ask, &r));
    return r;
}

static void assign(size_t i, bool locks)
{
    const uid_t uid = (uid_t)(1000 + i % USERS);
    const size_t k = i / USERS; /* of the user */
    const bool unique = k % 10 < 3;
    struct claim claims[2];
    struct admission_ask ask = {.uid = uid,
                                .priority = (int32_t)(k % 3),
                                .slot = true,
                                .queue = queues[k / 7 % QUEUES],
                                .claims = claims};

    if (locks) {
        claims[ask.n++] =
            (struct claim){named(uid, "l", k % 50, &resource_rwlock, 0), 1, k % 4 == 0};
        claims[ask.n++] = (struct claim){
            named(uid, unique ? "u" : "s", unique ? k : k % 5, &resource_semaphore, 4), 1,
            false};
    }
    check(admission_assign(a, &w[i], &ask, i + 1));
    for (size_t c = 0; c < ask.n; c++)
        named_put(a, claims[c].resource);
}

static void begin(bool locks)
{
    static const struct siphash_key key = {1, 2};
    static const struct queue_policy policy = {.weight = 1};
    const size_t before = mallinfo2().uordblks;

    memset(w, 0, waiters * sizeof(*w));
    a = admission_new(&key, SLOTS);
    for (int i = 0; i < QUEUES; i++)
        queues[i] = i ? admission_add_queue(a, &policy) : admission_default_queue(a);
    const uint64_t from = nsec();
    for (size_t i = 0; i < waiters; i++) {
        assign(i, locks);
        admission_enter(a, &w[i], 0);
    }
    print(locks ? "enter, slot and lock and semaphore" : "enter, slot", waiters, from,
          "");
    printf("%-34s %9zu  %8.1f bytes each, and %zu in the job\n", "memory", waiters,
           (double)(mallinfo2().uordblks - before) / (double)waiters,
           sizeof(struct waiter));
}

/* One ends, and what may start does: as often as STARTS, with all slots taken. */
static void starts(const char *what)
{
    static struct waiter *running[SLOTS];
    size_t n = 0, started = 0;

    memset(running, 0, sizeof(running));
    for (struct waiter *x; n < SLOTS && (x = next()); n++) {
        admission_take(a, x, false, 0);
        running[n] = x;
    }
    looks = longest_nsec = 0;
    const uint64_t from = nsec();
    for (size_t i = 0; started < STARTS && n > 0; i = (i + 1) % n) {
        struct waiter *x = running[i];

        if (x) {
            admission_ended(a, x, 1, 1000 + started % 7 * 100, 0);
            admission_release_locks(a, x, 1, 0);
            admission_forget(a, x);
        }
        running[i] = next();
        if (!running[i])
            continue;
        admission_take(a, running[i], false, 0);
        started++;
    }
    print(what, started, from, "");
    printf("%-34s %9s  %8.2f classes looked at\n", "", "", (double)looks / STARTS);
}

static void peeks(void)
{
    struct waiter *seen[32];
    uint64_t from = nsec();
    size_t sum = 0;

    for (int i = 0; i < 1000; i++)
        sum += admission_peek(a, seen, 32);
    print("peek of 32", 1000, from, sum ? "" : " of none");
    from = nsec();
    for (size_t i = 0; i < 1000; i++)
        sum += admission_position(&w[waiters - 1 - i * (waiters / 2000)]);
    print("position", 1000, from, sum ? "" : "?");
}

static void pause_and_resume(void)
{
    struct queue_policy policy = {.weight = 1, .paused = true};
    const uint64_t from = nsec();

    for (int i = 0; i < QUEUES; i++)
        admission_set_queue(a, queues[i], &policy);
    (void)next();
    policy.paused = false;
    for (int i = 0; i < QUEUES; i++)
        admission_set_queue(a, queues[i], &policy);
    (void)next();
    print("pause and resume of all queues", 1, from, "");
}

static void finish(void)
{
    for (size_t i = 0; i < waiters; i++)
        admission_leave(a, &w[i]);
    admission_free(a);
}

/* --- the other workloads ------------------------------------------------------------ */

static void one_lock(void)
{
    static const struct siphash_key key = {1, 2};
    enum { N = 1000 };

    memset(w, 0, N * sizeof(*w));
    a = admission_new(&key, 4);
    struct resource *l = named(1, "l", 0, &resource_rwlock, 0);
    for (size_t i = 0; i < N; i++) {
        const struct claim claims[] = {
            {l, 1, true}, {named(1, "u", i, &resource_semaphore, 4), 1, false}};
        const struct admission_ask ask = {
            .uid = 1, .slot = true, .claims = claims, .n = 2};

        check(admission_assign(a, &w[i], &ask, i + 1));
        admission_enter(a, &w[i], 0);
    }
    looks = longest_nsec = 0;
    const uint64_t from = nsec();
    for (size_t i = 0; i < N; i++) {
        struct waiter *x = next();

        admission_take(a, x, false, 0);
        (void)next();
        admission_ended(a, x, 1, 1000, 0);
        (void)next();
        admission_release_locks(a, x, 1, 0);
    }
    print("start, of 1000 classes at one lock", N, from, "");
    printf("%-34s %9s  %8.2f classes looked at\n", "", "", (double)looks / N);
    admission_free(a);
}

static void meet_some(unsigned budget)
{
    const uint64_t at = nsec();
    struct condition *c;

    while ((c = condition_after_due(a, &budget)))
        condition_met(a, c, 0);
    if (nsec() - at > longest_nsec)
        longest_nsec = nsec() - at;
}

static void edges(const char *what, size_t n, bool chain)
{
    static const struct siphash_key key = {1, 2};

    memset(w, 0, n * sizeof(*w));
    a = admission_new(&key, 1);
    const size_t before = mallinfo2().uordblks;
    uint64_t from = nsec();
    for (size_t i = 0; i < n; i++) {
        const struct admission_ask ask = {.uid = 1, .slot = true};

        check(admission_assign(a, &w[i], &ask, i + 1));
        check(condition_after_add(a, &w[i], chain ? i : 0, JOB_AFTER_OK));
        condition_after_enter(a, &w[i]);
        admission_enter(a, &w[i], 0);
    }
    printf("%-34s %9zu  %8.3f us an edge, %.1f bytes\n", what, n,
           (double)(nsec() - from) / 1000 / (double)n,
           (double)(mallinfo2().uordblks - before) / (double)n);
    longest_nsec = 0;
    from = nsec();
    for (size_t i = 0; i < (chain ? n : 1); i++) {
        condition_after_ended(a, i, JOB_RESULT_SUCCESS);
        while (condition_after_is_due(a))
            meet_some(256);
    }
    print("  met", n, from, "");
    for (size_t i = 0; i < n; i++)
        admission_leave(a, &w[i]);
    admission_free(a);
}

int main(int argc, char **argv)
{
    setlinebuf(stdout);
    waiters = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000000;
    if (waiters < 3 * STARTS)
        waiters = 3 * STARTS;
    w = calloc(waiters, sizeof(*w));
    if (!w)
        return 1;
    begin(false);
    peeks();
    starts("start and end, slot");
    pause_and_resume();
    finish();
    begin(true);
    starts("start and end, lock and semaphore");
    pause_and_resume();
    finish();
    one_lock();
    edges("chain", 10000, true);
    edges("fan", 100000, false);
    free(w);
    return 0;
}
