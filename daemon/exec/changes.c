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
#define LOOKS_PER_ROUND 64
#define EVENTS_PER_READ 64
#define REMOVED_AT_ONCE 256

/* Lists of interests. */
enum by {
    BY_JOB,
    BY_ARRAY
}; /* those of a job or element; those of an array's elements */

struct changes {
    struct siphash_key secret;  /* clients choose for which jobs they wait */
    struct volt_notify arrived; /* somebody waits */
    vlock lock;                 /* protects what follows */
    size_t count;
    uint64_t from; /* the newest event when the first of these came */
    uint64_t walk; /* the latest: walks through a list have numbers */
    struct list list[2][BUCKETS];
};

/* --- the lists. Lock held. ---------------------------------------------------------- */

/* The bucket of a job or a whole array; an element has another one. */
static size_t bucket_of(const struct changes *c, uint64_t id, int64_t index)
{
    const uint64_t words[] = {id, (uint64_t)index};

    return siphash64(&c->secret, words, sizeof(words)) % BUCKETS;
}

static struct list *list_of(struct changes *c, enum by by, const struct interest *i)
{
    return &c->list[by][bucket_of(c, i->id, by == BY_JOB ? i->index : JOB_NO_INDEX)];
}

static enum by last_list(const struct interest *i)
{
    return i->index == JOB_NO_INDEX ? BY_JOB : BY_ARRAY;
}

static void insert(struct changes *c, struct interest *i)
{
    for (enum by by = BY_JOB; by <= last_list(i); by++)
        list_add_last(list_of(c, by, i), &i->in[by]);
    i->walk = c->walk;
    c->count++;
}

static void take_out(struct changes *c, struct interest *i)
{
    for (enum by by = BY_JOB; by <= last_list(i); by++)
        list_remove(list_of(c, by, i), &i->in[by]);
    c->count--;
}

/* --- telling ------------------------------------------------------------------------ */

/* What is being told, and how far. */
struct telling {
    enum {
        TELL_NOTHING = 0,
        TELL_JOB,      /* waits for the job or array of the news; then ... */
        TELL_ELEMENTS, /* ... for its element, or for all of the array's */
        TELL_EVERYBODY /* something has happened that nobody knows any more */
    } at;
    bool elements; /* there are waits for elements of the array */
    struct job_news news;
    uint64_t id;   /* that had the bucket `of` */
    size_t of;     /* the bucket of the news' job or array */
    size_t bucket; /* under way */
    uint64_t walk; /* through it; 0: not begun */
};

static bool same_place(int64_t a, int64_t b)
{
    return a == b || a == JOB_NO_INDEX || b == JOB_NO_INDEX;
}

/* What has not started when its array is cancelled ends with it, without an event. */
static bool may_be_end(const struct job_news *news)
{
    return news->state == JOB_DONE || news->type == JOB_EV_CANCEL;
}

static bool concerns(const struct interest *i, const struct telling *t)
{
    const struct job_news *news = &t->news;

    if (i->by->gone)
        return false;
    if (t->at == TELL_EVERYBODY)
        return !i->change.told || i->change.ended;
    return i->id == news->key.id && same_place(i->index, news->key.index) &&
           (!i->by->of_ends || may_be_end(news));
}

/* What the news say of how it ended. */
static struct change change_of(const struct interest *i, const struct telling *t)
{
    const struct job_news *news = &t->news;

    if (t->at == TELL_EVERYBODY || i->change.told || news->state != JOB_DONE ||
        i->index != news->key.index)
        return (struct change){.ended = false};
    return (struct change){
        .ended = true, .result = news->end.result, .exit_code = news->end.exit_code};
}

/* Lock held. True: its task is to be woken. */
static bool tell_one(struct interest *i, const struct telling *t)
{
    struct listener *l = i->by;
    bool first = !l->told, again = i->change.told;

    i->change = change_of(i, t);
    i->change.told = true;
    if (again)
        return false;
    i->next_told = l->told;
    l->told = i;
    return first;
}

/* Lock held. The next interest of the list that the walk has not come by. */
static struct interest *next_of(struct list *list, enum by by, uint64_t walk)
{
    struct list_node *n = list->first;
    struct interest *i = n ? list_thing(n - by, struct interest, in) : NULL;

    if (!i || i->walk == walk)
        return NULL;
    i->walk = walk;
    list_remove(list, n);
    list_add_last(list, n);
    return i;
}

/* The lists are by array where the news are of an array and may concern each element. */
static enum by lists_of(const struct telling *t)
{
    return t->at == TELL_ELEMENTS && t->news.key.index == JOB_NO_INDEX ? BY_ARRAY
                                                                       : BY_JOB;
}

/* Tells some of the bucket. True: all in it have been told. */
static bool tell_some_of(struct changes *c, struct telling *t, size_t *looks)
{
    struct volt_waker wakers[WAKES_PER_ROUND];
    const enum by by = lists_of(t);
    unsigned n = 0, looked = 0;
    struct interest *i = NULL;

    vlock_lock(&c->lock);
    if (!t->walk)
        t->walk = ++c->walk;
    while (n < WAKES_PER_ROUND && looked < LOOKS_PER_ROUND && looked < *looks &&
           (i = next_of(&c->list[by][t->bucket], by, t->walk))) {
        looked++;
        if (concerns(i, t) && tell_one(i, t))
            wakers[n++] = volt_waker_ref(&i->by->waker);
    }
    t->elements = !list_is_empty(&c->list[BY_ARRAY][t->of]);
    vlock_unlock(&c->lock);
    *looks -= looked;
    for (unsigned w = 0; w < n; w++) {
        volt_waker_wake(&wakers[w]);
        volt_waker_fini(&wakers[w]);
    }
    return !i && *looks > 0;
}

static void begin_bucket(struct telling *t, size_t bucket)
{
    t->bucket = bucket;
    t->walk = 0;
}

static void tell_news(struct changes *c, struct telling *t, const struct job_news *news)
{
    if (t->id != news->key.id) /* mostly the same again: of an array */
        t->of = bucket_of(c, t->id = news->key.id, JOB_NO_INDEX);
    t->news = *news;
    t->at = TELL_JOB;
    begin_bucket(t, t->of);
}

static void tell_everybody(struct telling *t)
{
    t->at = TELL_EVERYBODY;
    begin_bucket(t, 0);
}

/* All in the bucket have been told. */
static void next_bucket(struct changes *c, struct telling *t)
{
    const struct job_key *key = &t->news.key;

    if (t->at == TELL_JOB && t->elements) {
        t->at = TELL_ELEMENTS;
        begin_bucket(t, key->index == JOB_NO_INDEX ? t->of
                                                   : bucket_of(c, key->id, key->index));
    } else if (t->at == TELL_EVERYBODY && t->bucket + 1 < BUCKETS) {
        begin_bucket(t, t->bucket + 1);
    } else {
        t->at = TELL_NOTHING;
    }
}

/* Goes on as long as there are looks left: one for each bucket and each interest. */
static void go_on_telling(struct changes *c, struct telling *t, size_t *looks)
{
    while (*looks > 0 && t->at != TELL_NOTHING) {
        if (!t->walk)
            (*looks)--;
        if (*looks > 0 && tell_some_of(c, t, looks))
            next_bucket(c, t);
    }
}

/* --- listening ---------------------------------------------------------------------- */

void listener_init(struct volt_cx *cx, struct listener *l, struct manager *m,
                   bool of_ends, struct interest *first, size_t stride)
{
    *l = (struct listener){.changes = m->changes,
                           .waker = volt_waker_new(cx),
                           .interests = (char *)first,
                           .stride = stride,
                           .since = manager_event_seq(m),
                           .of_ends = of_ends};
}

static struct interest *interest_at(const struct listener *l, size_t n)
{
    return (struct interest *)(void *)(l->interests + n * l->stride);
}

void listener_add(struct listener *l, const struct job_key *key)
{
    struct changes *c = l->changes;
    struct interest *i = interest_at(l, l->n++);

    *i = (struct interest){.id = key->id, .index = key->index, .by = l};
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

/* False: there are no more. */
static bool take_some_out(struct listener *l)
{
    struct changes *c = l->changes;

    vlock_lock(&c->lock);
    l->told = NULL;
    for (int n = 0; n < REMOVED_AT_ONCE && l->n > 0; n++)
        take_out(c, interest_at(l, --l->n));
    vlock_unlock(&c->lock);
    return l->n > 0;
}

void listener_fini(struct listener *l)
{
    if (!l->changes)
        return;
    while (take_some_out(l))
        ;
    volt_waker_fini(&l->waker);
    l->changes = NULL;
}

struct leaving {
    struct listener *listener;
    void *memory;
};

static enum volt_poll leaving_poll(struct volt_cx *cx, void *state)
{
    const struct leaving *l = state;

    if (!take_some_out(l->listener))
        return VOLT_READY;
    volt_cx_wake(cx);
    return VOLT_PENDING;
}

static void leaving_drop(void *state)
{
    const struct leaving *l = state;

    while (take_some_out(l->listener)) /* voltd ends */
        ;
    free(l->memory);
}

static const struct volt_task_type leaving_type = {
    "listener leaves", sizeof(struct leaving), leaving_poll, leaving_drop, NULL};

void listener_leave(struct listener *l, struct volt_runtime *rt, void *memory)
{
    struct leaving here = {l, memory};

    if (!l->changes) {
        free(memory);
        return;
    }
    vlock_lock(&l->changes->lock);
    l->gone = true;
    vlock_unlock(&l->changes->lock);
    volt_waker_fini(&l->waker);
    struct leaving *task = take_some_out(l) ? volt_task_new(rt, &leaving_type) : NULL;
    if (!task) {
        leaving_drop(&here);
        return;
    }
    *task = here;
    (void)volt_task_spawn(task, NULL); /* closing: it is dropped */
}

/* --- the task ----------------------------------------------------------------------- */

struct reader {
    struct manager *m;
    int at;
    uint64_t seq; /* read up to */
    size_t n, next;
    struct job_news events[EVENTS_PER_READ];
    struct telling telling;
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

/* Begins to tell the next event. False: there is none. */
static bool next_event(struct reader *r, struct changes *c)
{
    static const struct job_owner root = {0};
    uint64_t lost = 0;

    if (r->next == r->n) {
        r->next = 0;
        r->n = manager_events_read(r->m, &root, r->seq, r->events, EVENTS_PER_READ,
                                   &r->seq, &lost);
    }
    if (lost)
        tell_everybody(&r->telling);
    else if (r->next < r->n)
        tell_news(c, &r->telling, &r->events[r->next++]);
    return r->telling.at != TELL_NOTHING;
}

/* True: there is more to tell, or to read. */
static bool tell_some(struct reader *r)
{
    struct changes *c = r->m->changes;
    size_t looks = CHANGES_LOOKS;

    while (looks > 0 && (r->telling.at != TELL_NOTHING || next_event(r, c)))
        go_on_telling(c, &r->telling, &looks);
    jobs_note_told(r->m, CHANGES_LOOKS - looks);
    return looks == 0;
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
        r->n = r->next = 0;
        r->telling.at = TELL_NOTHING;
        while (anybody(c, &from)) {
            volt_notified_fini(&r->news);
            volt_notified_init(&r->news, manager_events_notify(r->m));
            while (tell_some(r))
                VOLT_AWAIT(r->at, volt_yield_poll(cx, &r->turn));
            VOLT_AWAIT(r->at, volt_notified_poll(cx, &r->news));
            /* Tasks that are ready have news as well: one round of them, one reading. */
            VOLT_AWAIT(r->at, volt_yield_poll(cx, &r->turn));
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
