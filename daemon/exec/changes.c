/* See changes.h. The lock guards the table and what was told; wakes come after it. */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <volt/volt.h>

#include "base/lock.h"
#include "daemon/exec/changes.h"
#include "daemon/exec/jobs.h"

#define BUCKETS         4096 /* power of two */
#define WAKES_PER_ROUND 32
#define EVENTS_PER_READ 64
#define READS_PER_POLL  16
#define REMOVED_AT_ONCE 256

struct changes {
    struct volt_notify arrived; /* somebody waits */
    vlock lock;                 /* protects what follows */
    size_t count;
    uint64_t from; /* the newest event when the first of these came */
    struct interest *bucket[BUCKETS];
};

/* --- the table. Lock held. ---------------------------------------------------------- */

static struct interest **bucket_of(struct changes *c, uint64_t id)
{
    return &c->bucket[(id * UINT64_C(0x9e3779b97f4a7c15) >> 40) % BUCKETS];
}

static void insert(struct changes *c, struct interest *i)
{
    struct interest **head = bucket_of(c, i->key.id);

    i->prev = NULL;
    i->next = *head;
    if (*head)
        (*head)->prev = i;
    *head = i;
    c->count++;
}

static void take_out(struct changes *c, struct interest *i)
{
    if (i->prev)
        i->prev->next = i->next;
    else
        *bucket_of(c, i->key.id) = i->next;
    if (i->next)
        i->next->prev = i->prev;
    c->count--;
}

/* --- telling ------------------------------------------------------------------------ */

static bool same_place(const struct job_key *a, const struct job_key *b)
{
    return a->index == b->index || a->index == JOB_NO_INDEX || b->index == JOB_NO_INDEX;
}

/* What has not started when its array is cancelled ends with it, without an event. */
static bool may_be_end(const struct job_news *news)
{
    return news->state == JOB_DONE || news->type == JOB_EV_CANCEL;
}

static bool concerns(const struct interest *i, const struct job_news *news)
{
    return i->key.id == news->key.id && i->seq != news->seq &&
           same_place(&i->key, &news->key) && (!i->by->of_ends || may_be_end(news));
}

/* What the news say of how it ended; how a program could not be executed only the job
 * has. */
static struct change change_of(const struct interest *i, const struct job_news *news)
{
    if (!news || i->told || news->state != JOB_DONE ||
        news->result == JOB_RESULT_EXEC_FAILED || i->key.index != news->key.index)
        return (struct change){.ended = false};
    return (struct change){.ended = true, .result = news->result, .code = news->code};
}

/* Lock held. True: its task is to be woken. */
static bool tell_one(struct interest *i, const struct job_news *news)
{
    struct listener *l = i->by;
    bool first = !l->told;

    i->change = change_of(i, news);
    if (news)
        i->seq = news->seq;
    if (i->told)
        return false;
    i->told = true;
    i->next_told = l->told;
    l->told = i;
    return first;
}

/* Those of this bucket. news NULL: something has happened that nobody knows any more. */
static void tell(struct changes *c, struct interest *const *bucket,
                 const struct job_news *news)
{
    struct volt_waker wakers[WAKES_PER_ROUND];
    unsigned n;

    do {
        n = 0;
        vlock_lock(&c->lock);
        for (struct interest *i = *bucket; i && n < WAKES_PER_ROUND; i = i->next) {
            if (news ? !concerns(i, news) : i->told && !i->change.ended)
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

    *i = (struct interest){.key = *key, .by = l, .next_of_listener = l->interests};
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
        i->told = false;
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

        for (size_t i = 0; lost && i < BUCKETS; i++)
            tell(c, &c->bucket[i], NULL);
        for (size_t i = 0; i < n; i++)
            tell(c, bucket_of(c, events[i].key.id), &events[i]);
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

int changes_open(struct changes **ret)
{
    struct changes *c = calloc(1, sizeof(*c));

    if (!c)
        return -ENOMEM;
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
