/* See event_log.h. */
#include "daemon/log/event_log.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <volt/volt.h>

#include "daemon/log/event_ring.h"
#include "daemon/log/watermark.h"

struct event_log {
    pthread_mutex_t lock;
    struct event_ring ring;   /* lock */
    uint32_t watchers;        /* changed under core.lock and lock, read under either */
    struct watermark counted; /* core.lock */
    struct subscriptions *subscriptions; /* its own lock */
    struct volt_notify due;              /* notifies the task that wakes subscribers */
};

/* Makes a lock that spins for a moment before a thread sleeps: sections are short. */
static void init_lock(pthread_mutex_t *lock)
{
    pthread_mutexattr_t attr;

    pthread_mutexattr_init(&attr);
    pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_ADAPTIVE_NP);
    pthread_mutex_init(lock, &attr);
    pthread_mutexattr_destroy(&attr);
}

struct event_log *event_log_new(void)
{
    struct event_log *log = calloc(1, sizeof(*log));

    if (!log)
        return NULL;
    init_lock(&log->lock);
    volt_notify_init(&log->due);
    log->subscriptions = subscriptions_new(1);
    if (log->subscriptions)
        return log;
    event_log_free(log);
    return NULL;
}

void event_log_free(struct event_log *log)
{
    if (!log)
        return;
    subscriptions_free(log->subscriptions);
    volt_notify_fini(&log->due);
    pthread_mutex_destroy(&log->lock);
    free(log);
}

void event_log_open(struct event_log *log, uint64_t first, uint64_t last)
{
    event_ring_init(&log->ring, first);
    log->ring.seq = last;
    event_ring_publish(&log->ring);
}

/* --- adding events ------------------------------------------------------------------ */

void event_log_notify(struct event_log *log)
{
    if (subscriptions_happened(log->subscriptions))
        volt_notify_one(&log->due);
}

void event_log_put(void *arg, const struct job_news *events, size_t n)
{
    struct event_log *log = arg;

    pthread_mutex_lock(&log->lock);
    for (size_t i = 0; i < n; i++)
        event_ring_put(&log->ring, &events[i]);
    event_ring_publish(&log->ring);
    pthread_mutex_unlock(&log->lock);
    if (n == 0) /* a subscriber that begins now has seen them */
        event_log_notify(log);
}

void event_log_put_again(struct event_log *log, const struct job_news *event)
{
    pthread_mutex_lock(&log->lock);
    if (event->seq && event->seq <= log->ring.seq &&
        log->ring.seq - event->seq < EVENT_RING_CAPACITY)
        event_ring_put(&log->ring, event);
    pthread_mutex_unlock(&log->lock);
}

/* --- readers ------------------------------------------------------------------------ */

uint64_t event_log_newest(const struct event_log *log)
{
    return event_ring_newest(&log->ring);
}

uint64_t event_log_first(const struct event_log *log)
{
    return log->ring.base; /* constant */
}

uint64_t event_log_oldest(const struct event_log *log)
{
    return event_ring_oldest(log->ring.base, event_log_newest(log));
}

size_t event_log_read(struct event_log *log, const struct asker *asker, uint64_t after,
                      struct job_news *buf, size_t max, size_t looks, uint64_t *ret_next,
                      uint64_t *ret_lost)
{
    pthread_mutex_lock(&log->lock);
    size_t n =
        event_ring_read(&log->ring, asker, after, buf, max, looks, ret_next, ret_lost);
    pthread_mutex_unlock(&log->lock);
    return n;
}

struct subscriptions *event_log_subscriptions(struct event_log *log)
{
    return log->subscriptions;
}

/* --- numbers that count in the table ------------------------------------------------ */

static void count_watchers(struct event_log *log, uint32_t by)
{
    pthread_mutex_lock(&log->lock);
    log->watchers += by;
    pthread_mutex_unlock(&log->lock);
}

void event_log_watch(struct event_log *log)
{
    count_watchers(log, 1);
}

void event_log_unwatch(struct event_log *log)
{
    count_watchers(log, UINT32_MAX);
}

bool event_log_is_watched(const struct event_log *log)
{
    return log->watchers > 0;
}

uint8_t event_log_fact_begin(struct event_log *log)
{
    return watermark_begin(&log->counted, event_log_newest(log));
}

void event_log_fact_end(struct event_log *log, uint8_t ticket)
{
    watermark_end(&log->counted, ticket, event_log_newest(log));
}

uint64_t event_log_counted(const struct event_log *log)
{
    return watermark_low(&log->counted, event_log_newest(log));
}

/* --- the task that wakes subscribers ------------------------------------------------ */

struct notifier {
    struct event_log *log;
    int at;
    struct volt_notified due;
    struct volt_yield turn; /* for other tasks */
};

/* Wakes some subscribers. Returns true if others are left. */
static bool wake_some(struct event_log *log)
{
    size_t looks = SUBSCRIPTIONS_WAKES;
    struct subscriptions_round round;
    struct subscription *s;

    subscriptions_begin_round(&round, log->subscriptions, &looks);
    while ((s = subscriptions_next(&round)))
        if (subscriber_is_behind(s->by))
            subscriptions_wake(&round, s);
    return round.more;
}

static enum volt_poll notifier_poll(struct volt_cx *cx, void *state)
{
    struct notifier *n = state;

    VOLT_BEGIN(n->at);
    for (;;) {
        volt_notified_init(&n->due, &n->log->due);
        VOLT_AWAIT(n->at, volt_notified_poll(cx, &n->due));
        volt_notified_fini(&n->due);
        subscriptions_begin(n->log->subscriptions, 0);
        while (wake_some(n->log))
            VOLT_AWAIT(n->at, volt_yield_poll(cx, &n->turn));
    }
    VOLT_END(n->at);
}

static void notifier_drop(void *state)
{
    struct notifier *n = state;

    volt_notified_fini(&n->due);
}

static const struct volt_task_type notifier_type = {"event log", sizeof(struct notifier),
                                                    notifier_poll, notifier_drop, NULL};

int event_log_start(struct event_log *log, struct volt_runtime *rt)
{
    struct notifier *n = volt_task_new(rt, &notifier_type);

    if (!n)
        return -ENOMEM;
    n->log = log;
    return volt_task_spawn(n, NULL);
}
