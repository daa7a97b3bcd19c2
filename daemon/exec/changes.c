/* See changes.h. The lock guards the table and what was told; wakes come after it. */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <volt/volt.h>

#include "base/lock.h"
#include "daemon/exec/changes.h"
#include "daemon/exec/jobs.h"

#define BUCKETS         65536 /* power of two; the pages of those in use are there */
#define WAKES_PER_ROUND 32
#define EVENTS_PER_READ 64
#define READS_PER_POLL  7 /* 448 events */
#define REMOVED_AT_ONCE 256
#define EMPTY_AT_ONCE   4096

struct changes {
    struct siphash_key secret;  /* clients choose for which jobs they wait */
    struct volt_notify arrived; /* somebody waits */
    vlock lock;                 /* protects what follows */
    size_t count;
    uint64_t from; /* the newest event when the first of these came */
    struct list bucket[BUCKETS];
    uint32_t elements[BUCKETS]; /* interests in elements, by their array */
};

/* --- the table. Lock held. ---------------------------------------------------------- */

/* An array has a bucket for itself, and its elements have others. */
static struct list *bucket_of(struct changes *c, uint64_t id, int64_t index)
{
    const uint64_t place[] = {id, (uint64_t)index};

    return &c->bucket[siphash64(&c->secret, place, sizeof(place)) % BUCKETS];
}

static uint32_t *elements_of(struct changes *c, uint64_t id)
{
    return &c->elements[bucket_of(c, id, JOB_NO_INDEX) - c->bucket];
}

static void insert(struct changes *c, struct interest *i)
{
    list_add_first(bucket_of(c, i->id, i->index), &i->node);
    c->count++;
    *elements_of(c, i->id) += i->index != JOB_NO_INDEX;
}

static void take_out(struct changes *c, struct interest *i)
{
    list_remove(bucket_of(c, i->id, i->index), &i->node);
    c->count--;
    *elements_of(c, i->id) -= i->index != JOB_NO_INDEX;
}

/* --- telling ------------------------------------------------------------------------ */

static bool same_place(int64_t a, int64_t b)
{
    return a == b || a == JOB_NO_INDEX || b == JOB_NO_INDEX;
}

/* What has not started when its array is cancelled ends with it, without an event. */
static bool may_be_end(const struct job_news *news)
{
    return news->state == JOB_DONE || news->type == JOB_EV_CANCEL;
}

static bool concerns(const struct interest *i, const struct job_news *news)
{
    return i->id == news->key.id && i->seq != news->seq &&
           same_place(i->index, news->key.index) && (!i->by->of_ends || may_be_end(news));
}

/* What the news say of how it ended; how a program could not be executed only the job
 * has. */
static struct change change_of(const struct interest *i, const struct job_news *news)
{
    if (!news || i->change.told || news->state != JOB_DONE ||
        news->result == JOB_RESULT_EXEC_FAILED || i->index != news->key.index)
        return (struct change){.ended = false};
    return (struct change){.ended = true, .result = news->result, .code = news->code};
}

/* Lock held. True: its task is to be woken. */
static bool tell_one(struct interest *i, const struct job_news *news)
{
    struct listener *l = i->by;
    bool first = !l->told, again = i->change.told;

    i->change = change_of(i, news);
    i->change.told = true;
    if (news)
        i->seq = news->seq;
    if (again)
        return false;
    i->next_told = l->told;
    l->told = i;
    return first;
}

/* Those of this bucket. news NULL: something has happened that nobody knows any more. */
static void tell(struct changes *c, const struct list *bucket,
                 const struct job_news *news)
{
    struct volt_waker wakers[WAKES_PER_ROUND];
    unsigned n;

    do {
        n = 0;
        vlock_lock(&c->lock);
        for (struct list_node *at = bucket->first; at && n < WAKES_PER_ROUND;
             at = at->next) {
            struct interest *i = list_thing(at, struct interest, node);

            if (news ? !concerns(i, news) : i->change.told && !i->change.ended)
                continue;
            if (tell_one(i, news))
                wakers[n++] = volt_waker_ref(&i->by->waker);
        }
        vlock_unlock(&c->lock);
        for (unsigned i = 0; i < n; i++) {
            volt_waker_wake(&wakers[i]);
            volt_waker_fini(&wakers[i]);
        }
    } while (n == WAKES_PER_ROUND);
}

/* The first bucket from `at` on that is not empty, or one from which to look further. */
static size_t next_bucket(struct changes *c, size_t at)
{
    size_t end = at + EMPTY_AT_ONCE < BUCKETS ? at + EMPTY_AT_ONCE : BUCKETS;

    vlock_lock(&c->lock);
    while (at < end && list_is_empty(&c->bucket[at]))
        at++;
    vlock_unlock(&c->lock);
    return at;
}

static void tell_everybody(struct changes *c, const struct job_news *news)
{
    for (size_t i = next_bucket(c, 0); i < BUCKETS; i = next_bucket(c, i + 1))
        tell(c, &c->bucket[i], news);
}

static bool has_elements(struct changes *c, uint64_t id)
{
    vlock_lock(&c->lock);
    bool yes = *elements_of(c, id) > 0;
    vlock_unlock(&c->lock);
    return yes;
}

/* What happens to an array as a whole may concern each of its elements. True: all buckets
 * were gone through for them. */
static bool tell_about(struct changes *c, const struct job_news *news)
{
    uint64_t id = news->key.id;

    tell(c, bucket_of(c, id, JOB_NO_INDEX), news);
    if (news->key.index != JOB_NO_INDEX)
        tell(c, bucket_of(c, id, news->key.index), news);
    else if (has_elements(c, id)) {
        tell_everybody(c, news);
        return true;
    }
    return false;
}

/* --- listening ---------------------------------------------------------------------- */

void listener_init(struct volt_cx *cx, struct listener *l, struct manager *m,
                   bool of_ends)
{
    *l = (struct listener){.changes = m->changes,
                           .waker = volt_waker_new(cx),
                           .since = manager_event_seq(m),
                           .of_ends = of_ends};
}

void listener_add(struct listener *l, struct interest *i, const struct job_key *key)
{
    struct changes *c = l->changes;

    *i = (struct interest){
        .id = key->id, .index = key->index, .by = l, .next_of_listener = l->interests};
    l->interests = i;
    vlock_lock(&c->lock);
    insert(c, i);
    bool first = c->count == 1;
    if (first)
        c->from = l->since;
    vlock_unlock(&c->lock);
    if (first)
        volt_notify_all(&c->arrived);
}

struct interest *listener_next(struct listener *l, struct change *ret)
{
    vlock_lock(&l->changes->lock);
    struct interest *i = l->told;
    if (i) {
        l->told = i->next_told;
        i->change.told = false;
        *ret = i->change;
    }
    vlock_unlock(&l->changes->lock);
    return i;
}

void listener_fini(struct listener *l)
{
    struct changes *c = l->changes;

    if (!c)
        return;
    while (l->interests) {
        vlock_lock(&c->lock);
        l->told = NULL;
        for (int n = 0; n < REMOVED_AT_ONCE && l->interests; n++) {
            take_out(c, l->interests);
            l->interests = l->interests->next_of_listener;
        }
        vlock_unlock(&c->lock);
    }
    volt_waker_fini(&l->waker);
    l->changes = NULL;
}

/* --- the task ----------------------------------------------------------------------- */

struct reader {
    struct manager *m;
    int at;
    uint64_t seq;
    struct volt_notified news;
    struct volt_yield turn; /* of others */
};

/* The newest event that nobody needs to be told of; false: nobody waits. */
static bool anybody(struct changes *c, uint64_t *ret_from)
{
    vlock_lock(&c->lock);
    bool any = c->count > 0;
    *ret_from = c->from;
    vlock_unlock(&c->lock);
    return any;
}

/* True: there is more to read. */
static bool tell_some(struct reader *r)
{
    static const struct job_owner root = {0};
    struct changes *c = r->m->changes;
    struct job_news events[EVENTS_PER_READ];
    uint64_t before, lost;

    for (int reads = 0; reads < READS_PER_POLL; reads++) {
        size_t n = manager_events_read(r->m, &root, before = r->seq, events,
                                       EVENTS_PER_READ, &r->seq, &lost);

        if (lost)
            tell_everybody(c, NULL);
        for (size_t i = 0; i < n; i++) {
            if (!tell_about(c, &events[i]))
                continue;
            r->seq = events[i].seq; /* those behind it are read again */
            return true;
        }
        if (r->seq == before)
            return false;
    }
    return true;
}

/* Until somebody waits, events of jobs wake nobody here. */
static enum volt_poll reader_poll(struct volt_cx *cx, void *state)
{
    struct reader *r = state;
    struct changes *c = r->m->changes;
    uint64_t from;

    VOLT_BEGIN(r->at);
    for (;;) {
        volt_notified_init(&r->news, &c->arrived);
        while (!anybody(c, &r->seq)) {
            VOLT_AWAIT(r->at, volt_notified_poll(cx, &r->news));
            volt_notified_fini(&r->news);
            volt_notified_init(&r->news, &c->arrived);
        }
        while (anybody(c, &from)) {
            volt_notified_fini(&r->news);
            volt_notified_init(&r->news, manager_events_notify(r->m));
            while (tell_some(r))
                VOLT_AWAIT(r->at, volt_yield_poll(cx, &r->turn));
            VOLT_AWAIT(r->at, volt_notified_poll(cx, &r->news));
        }
        volt_notified_fini(&r->news);
    }
    VOLT_END(r->at);
}

static void reader_drop(void *state)
{
    struct reader *r = state;

    volt_notified_fini(&r->news);
}

static const struct volt_task_type reader_type = {"job changes", sizeof(struct reader),
                                                  reader_poll, reader_drop, NULL};

/* --- life --------------------------------------------------------------------------- */

int changes_open(const struct siphash_key *secret, struct changes **ret)
{
    struct changes *c = calloc(1, sizeof(*c));

    if (!c)
        return -ENOMEM;
    c->secret = *secret;
    volt_notify_init(&c->arrived);
    *ret = c;
    return 0;
}

int changes_start(struct manager *m)
{
    struct reader *r = volt_task_new(m->rt, &reader_type);

    if (!r)
        return -ENOMEM;
    r->m = m;
    return volt_task_spawn(r, NULL);
}

void changes_free(struct changes *c)
{
    if (!c)
        return;
    assert(c->count == 0);
    volt_notify_fini(&c->arrived);
    free(c);
}
