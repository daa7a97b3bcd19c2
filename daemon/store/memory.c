/* The memory backend: the manager's table is all there is, so a fact is kept as soon as
 * the manager has applied it, and there is nothing to load. Numbers of news begin with
 * the time, so that those of two daemons never meet. */
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "daemon/store/commit_log.h"
#include "daemon/store/fact.h"
#include "daemon/store/reader.h"
#include "daemon/store/retention.h"

struct memory_store {
    struct store store;
    store_news_fn *fn;
    void *arg;
    uint64_t first;
    pthread_mutex_t lock; /* guards seq, and that news are told in its order */
    uint64_t seq;
};

static struct memory_store *of(struct store *s)
{
    return (struct memory_store *)s;
}

/* --- commit log: done at once ------------------------------------------------------- */

/* Lock held. */
static void tell(struct memory_store *s, const struct store_fact *facts, size_t n)
{
    struct job_news news[STORE_FILL_MAX];
    size_t told = 0;

    for (size_t i = 0; s->fn && i < n; i++) {
        if (!store_fact_news(&facts[i], &news[told]))
            continue;
        news[told++].seq = ++s->seq;
        if (told == STORE_FILL_MAX) {
            s->fn(s->arg, news, told);
            told = 0;
        }
    }
    if (told)
        s->fn(s->arg, news, told);
}

static int memory_append(struct store *store, const struct store_fact *facts, size_t n,
                         store_fill_fn *fill, void *arg, struct store_commit *commit)
{
    struct memory_store *s = of(store);
    struct store_fact window[STORE_FILL_MAX];

    (void)commit; /* its status is 0 */
    pthread_mutex_lock(&s->lock);
    tell(s, facts, n);
    while (fill && (n = fill(arg, window, STORE_FILL_MAX)) > 0)
        tell(s, window, n);
    pthread_mutex_unlock(&s->lock);
    return 0;
}

static void memory_subscribe(struct store *store, store_news_fn *fn, void *arg)
{
    of(store)->fn = fn;
    of(store)->arg = arg;
}

static void memory_numbers(struct store *store, uint64_t *ret_first, uint64_t *ret_last)
{
    *ret_first = *ret_last = of(store)->first;
}

/* Nothing is left to keep; the subscriber may wake watchers. */
static void memory_kick(struct store *store, bool patient)
{
    struct memory_store *s = of(store);

    (void)patient;
    if (s->fn)
        s->fn(s->arg, NULL, 0);
}

static enum volt_poll memory_commit_poll(struct volt_cx *cx, struct store_commit *c)
{
    (void)cx;
    (void)c;
    return VOLT_READY;
}

static void memory_commit_fini(struct store_commit *c)
{
    (void)c;
}

static void memory_health(struct store *s, struct store_health *ret)
{
    (void)s;
    *ret = (struct store_health){0};
}

static const struct store_log_ops memory_log = {
    .durable = false,
    .append = memory_append,
    .kick = memory_kick,
    .commit_poll = memory_commit_poll,
    .commit_fini = memory_commit_fini,
    .subscribe = memory_subscribe,
    .numbers = memory_numbers,
    .health = memory_health,
};

/* --- reader: nothing has been before ------------------------------------------------ */

static int memory_load(struct store *s, store_load_fn *fn, void *arg,
                       struct volt_error *err)
{
    (void)s;
    (void)fn;
    (void)arg;
    (void)err;
    return 0;
}

static uint64_t memory_last_id(struct store *s)
{
    (void)s;
    return 0;
}

static int memory_has(struct store *s, uint64_t id)
{
    (void)s;
    (void)id;
    return 0;
}

static int memory_history(struct store *s, const struct store_range *range,
                          store_load_fn *fn, void *arg, uint64_t *ret_at,
                          struct volt_error *err)
{
    (void)s;
    (void)range;
    (void)fn;
    (void)arg;
    (void)ret_at;
    (void)err;
    return 0;
}

static void memory_most(struct store *s, struct store_read_counts *ret)
{
    (void)s;
    *ret = (struct store_read_counts){0};
}

static const struct store_reader_ops memory_reader = {
    .load = memory_load,
    .last_id = memory_last_id,
    .has = memory_has,
    .history = memory_history,
    .most = memory_most,
};

/* --- retention: nothing is retained ------------------------------------------------- */

static void memory_retain(struct store *s, const struct store_retention *retention)
{
    (void)s;
    (void)retention;
}

static int memory_forget(struct store *s, const uint64_t *ids, size_t n,
                         struct store_commit *commit)
{
    (void)s;
    (void)ids;
    (void)n;
    (void)commit; /* its status is 0 */
    return 0;
}

static const struct store_retention_ops memory_retention = {
    .retain = memory_retain,
    .forget = memory_forget,
};

/* --- the store as a whole ----------------------------------------------------------- */

static int memory_witness(struct store *s, bool lasting)
{
    (void)s;
    (void)lasting;
    return 0;
}

static void memory_free(struct store *s)
{
    pthread_mutex_destroy(&of(s)->lock);
    free(s);
}

static const struct store_ops memory_ops = {
    .name = "memory",
    .witness = memory_witness,
    .free = memory_free,
};

struct store *store_memory_new(void)
{
    struct memory_store *s = calloc(1, sizeof(*s));
    struct timespec ts;

    if (!s)
        return NULL;
    clock_gettime(CLOCK_REALTIME, &ts);
    s->store = (struct store){.ops = &memory_ops,
                              .log = &memory_log,
                              .reader = &memory_reader,
                              .retention = &memory_retention};
    s->first = s->seq = (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
    pthread_mutex_init(&s->lock, NULL);
    return &s->store;
}
