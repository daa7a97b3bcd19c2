/* Life of a runtime:
 *   1 running
 *   2 closing: spawns are refused, every live task is cancelled, timers and descriptors
 *     are answered; workers run on until the last task has ended
 *   3 stopped: workers and pool threads are joined
 *   4 freed, after the last foreign submission has left the gate
 *
 * Wakers that outlive it point to ended tasks, and a wake of those touches the task
 * only. */
#include "runtime/runtime.h"
#include "base/clock.h"
#include "base/cpus.h"
#include "runtime/thread.h"
#include "task/leaves.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEFAULT_BLOCKING_THREADS 512
#define SPIN_MOST                50000 /* ns */
#define HOLD_NS                  30000 /* about what a wake costs both sides */

uint64_t runtime_sentinel_usec = 2000;

/* Builds that look for mistakes anyway watch always. */
#if defined(POISON) || !defined(__OPTIMIZE__)
#define WATCHES true
#else
#define WATCHES false
#endif

/* VOLT_DEBUG is a list of words; so far there is one. Of any other it is said that it
 * does nothing. */
static bool debug_asks(void)
{
    static const char word[] = "leaves";
    const char *list = getenv("VOLT_DEBUG");
    bool asks = false;

    while (list && *list) {
        size_t n = strcspn(list, ",");

        if (n == sizeof(word) - 1 && strncmp(list, word, n) == 0)
            asks = true;
        else if (n > 0)
            (void)fprintf(stderr,
                          "libvolt: VOLT_DEBUG has no word \"%.*s\"; its words: %s\n",
                          (int)n, list, word);
        list += n + (list[n] == ',');
    }
    return asks;
}

static void *worker_thread(void *arg)
{
    struct worker *w = arg;
    struct volt_runtime *rt = (struct volt_runtime *)(void *)w->sched;
    char suffix[12];

    (void)snprintf(suffix, sizeof(suffix), "-%u", w->index);
    thread_enter(&rt->pool, rt->name, suffix);
    worker_main(w);
    return NULL;
}

static void stop_workers(struct volt_runtime *rt)
{
    vat_u32_store(&rt->sched.stop, 1, VAT_RLX);
    for (uint32_t i = 0; i < rt->threads; i++)
        sched_unpark(&rt->sched, i);
    for (uint32_t i = 0; i < rt->threads; i++)
        pthread_join(rt->thread[i], NULL);
    rt->threads = 0;
}

static void runtime_release(struct volt_runtime *rt)
{
    driver_free(rt->sched.driver);
    heap_release(rt->sched.heap);
    free(rt->sched.worker);
    free(rt->sched.more);
    free(rt->thread);
    free(rt);
}

/* Allocates everything but threads. */
static int runtime_alloc(unsigned workers, const struct volt_options *opt,
                         struct volt_runtime **ret)
{
    struct volt_runtime *rt = aligned_alloc(_Alignof(struct volt_runtime), sizeof(*rt));
    int r = -ENOMEM;

    if (!rt)
        return -ENOMEM;
    memset(rt, 0, sizeof(*rt));
    struct worker *w = aligned_alloc(_Alignof(struct worker), workers * sizeof(*w));
    if (w)
        memset(w, 0, workers * sizeof(*w));
    uint32_t more = sched_groups(workers) - 1;
    if (more) {
        rt->sched.more = aligned_alloc(_Alignof(struct idle), more * sizeof(struct idle));
        if (!rt->sched.more) {
            free(w);
            w = NULL;
        }
    }
    sched_init(&rt->sched, w, w ? workers : 0, !opt->disable_stealing,
               opt->seed ? opt->seed : clock_ns());
    rt->thread = calloc(workers, sizeof(*rt->thread));
    (void)snprintf(rt->name, sizeof(rt->name), "%s",
                   opt->thread_name ? opt->thread_name : "volt");
    rt->sched.heap = heap_new(workers);
    if (w && rt->thread && rt->sched.heap)
        r = 0;
    if (r == 0)
        r = driver_new(workers, &rt->sched.driver);
    if (r == 0)
        r = pool_init(&rt->pool,
                      opt->max_blocking_threads ? opt->max_blocking_threads
                                                : DEFAULT_BLOCKING_THREADS,
                      rt->name);
    if (r < 0) {
        runtime_release(rt);
        return r;
    }
    if (debug_asks() || WATCHES) {
        rt->sched.heap->extra = LEAVES_BYTES;
        driver_set_watched(rt->sched.driver);
    }
    rt->sched.process = getpid();
    rt->sched.sentinel_usec = runtime_sentinel_usec;
    /* With one group of workers: across groups a hint is not enough (hold.h). */
    if (rt->sched.sentinel_usec && rt->sched.groups == 1)
        rt->sched.hold_ns = HOLD_NS;
    rt->sched.cpus = cpus_usable();
    /* Where there is another processor; else it would only keep others from this one. */
    rt->sched.spin_most = workers > 1 && rt->sched.cpus > 1 ? SPIN_MOST : 0;
    *ret = rt;
    return 0;
}

int volt_runtime_new(const struct volt_options *opt, struct volt_runtime **ret_rt)
{
    static const struct volt_options defaults;
    struct volt_runtime *rt;

    if (!opt)
        opt = &defaults;
    unsigned workers = opt->workers ? opt->workers : cpus_usable();
    if (!opt->workers && workers > VOLT_MAX_WORKERS)
        workers = VOLT_MAX_WORKERS;
    if (workers > VOLT_MAX_WORKERS)
        return -EINVAL;
    int r = runtime_alloc(workers, opt, &rt);
    if (r < 0)
        return r;
    for (unsigned i = 0; i < workers && r == 0; i++) {
        r = thread_start(&rt->thread[i], worker_thread, &rt->sched.worker[i]);
        if (r == 0)
            rt->threads++;
    }
    if (r < 0) {
        stop_workers(rt);
        pool_fini(&rt->pool);
        runtime_release(rt);
        return r;
    }
    *ret_rt = rt;
    return 0;
}

int volt_runtime_shutdown(struct volt_runtime *rt, uint64_t timeout_usec)
{
    struct task_chain chain = {0};

    assert(thread_owner() != &rt->pool &&
           "neither a task nor a blocking call can end its own runtime");
    if (rt->ended)
        return 0;
    if (!rt->closing) {
        rt->closing = true;
        live_close(&rt->sched.live, rt->sched.heap, &chain);
        driver_shutdown(rt->sched.driver, &chain);
        sched_submit_chain(&chain);
    }
    uint64_t ns = timeout_usec > UINT64_MAX / 1000 ? UINT64_MAX : timeout_usec * 1000;
    if (live_wait_quiet(&rt->sched.live, ns) < 0)
        return -ETIMEDOUT;
    stop_workers(rt);
    pool_fini(&rt->pool);
    rt->ended = true;
    return 0;
}

void volt_runtime_free(struct volt_runtime *rt)
{
    if (!rt)
        return;
    (void)volt_runtime_shutdown(rt, UINT64_MAX);
    inject_drain_users(&rt->sched.inject);
    runtime_release(rt);
}

unsigned volt_runtime_workers(const struct volt_runtime *rt)
{
    return rt->sched.workers;
}

struct driver *runtime_driver(const struct volt_runtime *rt)
{
    return rt->sched.driver;
}

unsigned worker_wheel(const struct worker *w)
{
    return w ? w->index : 0;
}

uint64_t worker_clock_usec(const struct worker *w)
{
    return w ? w->clock / 1000 : 0;
}
