/* A store that keeps nothing beyond the process: core's table is all there is, so a fact
 * is kept as soon as core has applied it, and there is nothing to load. Numbers of news
 * begin with the time, so that those of two daemons never meet. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "daemon/store/commit_log.h"
#include "daemon/store/fact.h"
#include "daemon/store/reader.h"
#include "daemon/store/blobs.h"
#include "daemon/store/retention.h"
#include "tests/support/memory_store.h"

struct memory_store {
    struct store store;
    store_news_fn *fn;
    void *arg;
    uint64_t first;
    pthread_mutex_t lock; /* guards those below, and that news are told in order of seq */
    uint64_t seq;
    struct store_retention retention;
};

static struct memory_store *of(struct store *s)
{
    return (struct memory_store *)s;
}

/* --- commit log: done at once ------------------------------------------------------- */

#define PORTION 64 /* news that are told at once */

/* Lock held. At most PORTION. */
static void tell(struct memory_store *s, struct job_news *news, size_t n)
{
    for (size_t i = 0; i < n; i++)
        news[i].seq = ++s->seq;
    if (n)
        s->fn(s->arg, news, n);
}

static int memory_append(struct store *store, const struct store_fact *facts, size_t n,
                         struct store_commit *commit)
{
    struct memory_store *s = of(store);
    struct job_news news[PORTION];
    size_t told = 0;

    (void)commit; /* its status is 0 */
    pthread_mutex_lock(&s->lock);
    for (size_t i = 0; s->fn && i < n; i++) {
        told += store_fact_news(&facts[i], &news[told]);
        if (told == PORTION) {
            tell(s, news, told);
            told = 0;
        }
    }
    tell(s, news, told);
    pthread_mutex_unlock(&s->lock);
    return 0;
}

/* --- drafts: their news are told while the commit is polled ------------------------- */

struct memory_draft {
    struct store_draft draft;
    struct job_news *news;
    size_t n, room, told;
    bool failed;
};

static struct memory_draft *draft_of(struct store_draft *d)
{
    return (struct memory_draft *)d;
}

static struct store_draft *memory_draft(struct store *store)
{
    struct memory_draft *d = calloc(1, sizeof(*d));

    if (!d)
        return NULL;
    d->draft.store = store;
    return &d->draft;
}

static void memory_draft_add(struct store_draft *draft, const struct store_fact *facts,
                             size_t n)
{
    struct memory_draft *d = draft_of(draft);

    if (!of(draft->store)->fn)
        return;
    if (n > d->room - d->n) {
        size_t room = 2 * d->room + n;
        struct job_news *moved = reallocarray(d->news, room, sizeof(*moved));

        d->failed |= !moved;
        if (!moved)
            return;
        d->news = moved;
        d->room = room;
    }
    for (size_t i = 0; i < n; i++)
        d->n += store_fact_news(&facts[i], &d->news[d->n]);
}

static void memory_draft_free(struct store_draft *draft)
{
    free(draft_of(draft)->news);
    free(draft);
}

static int memory_draft_append(struct store_draft *draft, struct store_commit *commit)
{
    if (draft_of(draft)->failed) {
        memory_draft_free(draft);
        return -ENOMEM;
    }
    commit->draft = draft;
    return 0;
}

/* The next portion. False: that was all. */
static bool tell_some(struct memory_draft *d)
{
    struct memory_store *s = of(d->draft.store);
    const size_t left = d->n - d->told, n = left < PORTION ? left : PORTION;

    pthread_mutex_lock(&s->lock);
    tell(s, d->news + d->told, n);
    pthread_mutex_unlock(&s->lock);
    d->told += n;
    return n < left;
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
    if (!c->draft)
        return VOLT_READY;
    if (tell_some(draft_of(c->draft))) {
        volt_cx_wake(cx);
        return VOLT_PENDING;
    }
    memory_draft_free(c->draft);
    c->draft = NULL;
    return VOLT_READY;
}

/* What was appended is told, also when nobody waits any more. */
static void memory_commit_fini(struct store_commit *c)
{
    if (!c->draft)
        return;
    while (tell_some(draft_of(c->draft)))
        continue;
    memory_draft_free(c->draft);
    c->draft = NULL;
}

static void memory_health(struct store *s, struct store_health *ret)
{
    (void)s;
    *ret = (struct store_health){.waits = true};
}

static const struct store_log_ops memory_log = {
    .append = memory_append,
    .draft = memory_draft,
    .draft_add = memory_draft_add,
    .draft_append = memory_draft_append,
    .draft_free = memory_draft_free,
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

/* --- blobs: none ---------------------------------------------------------------- */

static int memory_output(struct store *s, const struct job_key *job, unsigned stream,
                         void **ret, size_t *ret_n)
{
    (void)s, (void)job, (void)stream, (void)ret, (void)ret_n;
    return -ENODATA;
}

static const struct store_blob_ops memory_blobs = {.output = memory_output};

/* --- retention: nothing is retained ------------------------------------------------- */

static void memory_retain(struct store *s, const struct store_retention *retention)
{
    pthread_mutex_lock(&of(s)->lock);
    of(s)->retention = *retention;
    pthread_mutex_unlock(&of(s)->lock);
}

static int memory_forget(struct store *s, const uint64_t *ids, size_t n,
                         struct store_commit *commit)
{
    pthread_mutex_lock(&of(s)->lock);
    const struct store_retention keep = of(s)->retention;
    pthread_mutex_unlock(&of(s)->lock);
    for (size_t i = 0; keep.gone && i < n; i++)
        keep.gone(keep.gone_arg, ids[i]);
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
                              .blobs = &memory_blobs,
                              .retention = &memory_retention};
    s->first = s->seq = (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
    pthread_mutex_init(&s->lock, NULL);
    return &s->store;
}
