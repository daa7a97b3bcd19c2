/* The memory backend: the manager's table is all there is, so a fact is kept as soon as
 * the manager has applied it, and there is nothing to load. Numbers of news begin with
 * the time, so that those of two daemons never meet. */
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "daemon/store/store.h"

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

/* Lock held. */
static void tell(struct memory_store *s, const struct store_fact *facts, size_t n)
{
    struct job_news news[STORE_FILL_MAX];
    size_t told = 0;

    for (size_t i = 0; s->fn && i < n; i++) {
        if (facts[i].forget)
            continue;
        news[told] = store_news_of(&facts[i]);
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

static void memory_health(struct store *s, struct store_health *ret)
{
    (void)s;
    *ret = (struct store_health){0};
}

static void memory_retain(struct store *s, const struct store_retention *retention)
{
    (void)s;
    (void)retention;
}

static void memory_free(struct store *s)
{
    pthread_mutex_destroy(&of(s)->lock);
    free(s);
}

static const struct store_backend memory_backend = {
    .name = "memory",
    .durable = false,
    .append = memory_append,
    .kick = memory_kick,
    .commit_poll = memory_commit_poll,
    .commit_fini = memory_commit_fini,
    .load = memory_load,
    .subscribe = memory_subscribe,
    .numbers = memory_numbers,
    .last_id = memory_last_id,
    .health = memory_health,
    .retain = memory_retain,
    .free = memory_free,
};

struct store *store_memory_new(void)
{
    struct memory_store *s = calloc(1, sizeof(*s));
    struct timespec ts;

    if (!s)
        return NULL;
    clock_gettime(CLOCK_REALTIME, &ts);
    s->store.backend = &memory_backend;
    s->first = s->seq = (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
    pthread_mutex_init(&s->lock, NULL);
    return &s->store;
}
