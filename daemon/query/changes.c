/* See changes.h. The lock of the table also guards the noted changes. */
#include <errno.h>
#include <stdlib.h>
#include <volt/volt.h>

#include "daemon/query/changes.h"
#include "daemon/core/jobs.h"
#include "daemon/core/keys.h"
#include "daemon/core/parts.h"
#include "daemon/query/query.h"

#define LISTS           65536 /* of each kind; untouched pages take no memory */
#define NEIGHBOURS      16    /* jobs whose lists share four cache lines */
#define EVENTS_PER_READ 64
#define REMOVED_AT_ONCE 256

/* Kinds of lists: by job or element, and by array for subscriptions to elements. */
enum by { BY_JOB, BY_ARRAY };

struct changes {
    struct core *core;
    struct siphash_key secret;  /* clients choose the ids they wait for */
    struct volt_notify arrived; /* somebody subscribed */
    struct subscriptions *table;
    uint64_t from; /* newest event at the first subscription; lock of the table */
};

/* --- the lists ---------------------------------------------------------------------- */

/* Returns the list of the first of NEIGHBOURS jobs or elements: those were submitted
 * together and mostly end together. */
static uint32_t first_list(const struct changes *c, uint64_t id, uint64_t index)
{
    const uint64_t words[] = {id, index};

    return (uint32_t)(siphash64(&c->secret, words, sizeof(words)) % (LISTS / NEIGHBOURS) *
                      NEIGHBOURS);
}

/* Returns the list of a job or a whole array (JOB_NO_INDEX), or of an element. */
static uint32_t list_of_job(const struct changes *c, uint64_t id, int64_t index)
{
    const uint64_t at = (uint64_t)index;

    if (index == JOB_NO_INDEX)
        return first_list(c, id / NEIGHBOURS, at) + (uint32_t)(id % NEIGHBOURS);
    return first_list(c, id, at / NEIGHBOURS) + (uint32_t)(at % NEIGHBOURS);
}

/* Cache of the neighbours looked up last; zeroes: none. */
struct neighbours {
    uint64_t behind; /* first id behind them */
    uint32_t first;  /* their first list */
};

/* Returns the list of a job or a whole array, mostly a neighbour of the one before. */
static uint32_t list_near(const struct changes *c, struct neighbours *near, uint64_t id)
{
    const uint64_t first = id - id % NEIGHBOURS;

    if (near->behind != first + NEIGHBOURS) {
        near->behind = first + NEIGHBOURS;
        near->first = list_of_job(c, first, JOB_NO_INDEX);
    }
    return near->first + (uint32_t)(id % NEIGHBOURS);
}

static uint32_t list_of_elements(const struct changes *c, uint64_t id)
{
    return LISTS + list_of_job(c, id, JOB_NO_INDEX);
}

static struct job_subscriber *subscriber_of(const struct job_subscription *j)
{
    return list_thing(j->of[BY_JOB].by, struct job_subscriber, subscriber);
}

/* --- notifications ------------------------------------------------------------------ */

/* The event being notified, and the progress. */
struct notification {
    enum {
        NOTIFY_NOTHING = 0,
        NOTIFY_JOB,      /* to subscriptions to the event's job or array, then ... */
        NOTIFY_ELEMENTS, /* ... to its element, or to all elements of the array */
        NOTIFY_ALL       /* to everybody: events were lost */
    } at;
    struct job_news event;
    struct neighbours near;
    uint32_t of_job; /* list of the event's job or array */
};

static bool same_place(int64_t a, int64_t b)
{
    return a == b || a == JOB_NO_INDEX || b == JOB_NO_INDEX;
}

static bool concerns(const struct job_subscription *j, const struct notification *n)
{
    const struct job_subscriber *s = subscriber_of(j);

    if (s->gone)
        return false;
    if (n->at == NOTIFY_ALL)
        return !j->change.notified || j->change.ended;
    return j->id == n->event.key.id && same_place(j->index, n->event.key.index) &&
           (!s->of_ends || job_news_may_end(&n->event));
}

/* Returns what the event says of the job's end. */
static struct change change_of(const struct job_subscription *j,
                               const struct notification *n)
{
    const struct job_news *event = &n->event;

    if (n->at == NOTIFY_ALL || j->change.notified || event->state != JOB_DONE ||
        j->index != event->key.index)
        return (struct change){.ended = false};
    return (struct change){
        .ended = true, .result = event->end.result, .exit_code = event->end.exit_code};
}

/* Elements are listed by array if the event is of the whole array. */
static enum by lists_of(const struct notification *n)
{
    return n->at == NOTIFY_ELEMENTS && n->event.key.index == JOB_NO_INDEX ? BY_ARRAY
                                                                          : BY_JOB;
}

/* Lock held. Notes the change and puts the subscription on its subscriber's list. */
static void note_change(struct job_subscription *j, const struct notification *n)
{
    struct job_subscriber *s = subscriber_of(j);
    bool again = j->change.notified;

    j->change = change_of(j, n);
    j->change.notified = true;
    if (!again) {
        j->next_notified = s->notified;
        s->notified = j;
    }
}

/* Visits as many subscriptions as `looks` allows. True: the lists are not done. */
static bool notify_round(struct changes *c, const struct notification *n, size_t *looks)
{
    const enum by by = lists_of(n);
    struct subscriptions_round round;
    struct subscription *s;

    subscriptions_begin_round(&round, c->table, looks);
    while ((s = subscriptions_next(&round))) {
        struct job_subscription *j = list_thing(s - by, struct job_subscription, of);

        if (!concerns(j, n))
            continue;
        note_change(j, n);
        subscriptions_wake(&round, s);
    }
    return round.more;
}

static void begin_event(struct changes *c, struct notification *n,
                        const struct job_news *event)
{
    n->of_job = list_near(c, &n->near, event->key.id);
    n->event = *event;
    n->at = NOTIFY_JOB;
    subscriptions_begin(c->table, n->of_job);
}

static void begin_all(struct changes *c, struct notification *n)
{
    n->at = NOTIFY_ALL;
    subscriptions_begin_first(c->table, LISTS);
}

/* Goes on to the lists of elements, or ends the notification. */
static void begin_next(struct changes *c, struct notification *n)
{
    const struct job_key *key = &n->event.key;
    const uint32_t elements = LISTS + n->of_job;

    if (n->at != NOTIFY_JOB || subscriptions_list_is_empty(c->table, elements)) {
        n->at = NOTIFY_NOTHING;
        return;
    }
    n->at = NOTIFY_ELEMENTS;
    subscriptions_begin(c->table, key->index == JOB_NO_INDEX
                                      ? elements
                                      : list_of_job(c, key->id, key->index));
}

static void go_on(struct changes *c, struct notification *n, size_t *looks)
{
    while (*looks > 0 && n->at != NOTIFY_NOTHING)
        if (!notify_round(c, n, looks))
            begin_next(c, n);
}

/* --- subscribers -------------------------------------------------------------------- */

void job_subscriber_init(struct volt_cx *cx, struct job_subscriber *s, struct core *core,
                         bool of_ends, struct job_subscription *first, size_t stride)
{
    *s = (struct job_subscriber){.changes = parts_of(core)->changes,
                                 .subscriptions = (char *)first,
                                 .stride = stride,
                                 .since = query_event_seq(core),
                                 .of_ends = of_ends};
    subscriber_init(cx, &s->subscriber, parts_of(core)->changes->table);
}

static struct job_subscription *subscription_at(const struct job_subscriber *s, size_t n)
{
    return (struct job_subscription *)(void *)(s->subscriptions + n * s->stride);
}

void job_subscriber_add(struct job_subscriber *s, const struct job_key *key)
{
    struct changes *c = s->changes;
    struct job_subscription *j = subscription_at(s, s->n++);
    const uint32_t of_job = list_of_job(c, key->id, key->index);
    const uint32_t of_array =
        key->index == JOB_NO_INDEX ? 0 : list_of_elements(c, key->id);

    *j = (struct job_subscription){.id = key->id, .index = key->index};
    jobs_subscribe_all(c->core, !s->of_ends);
    vlock_lock(&c->table->lock);
    bool first = c->table->count == 0;
    if (first)
        c->from = s->since;
    subscription_add_locked(&s->subscriber, &j->of[BY_JOB], of_job);
    if (of_array)
        subscription_add_locked(&s->subscriber, &j->of[BY_ARRAY], of_array);
    vlock_unlock(&c->table->lock);
    if (first)
        volt_notify_all(&c->arrived);
}

struct job_subscription *job_subscriber_next(struct job_subscriber *s, struct change *ret)
{
    vlock_lock(&s->changes->table->lock);
    struct job_subscription *j = s->notified;
    s->subscriber.armed = !j;
    if (j) {
        s->notified = j->next_notified;
        j->change.notified = false;
        *ret = j->change;
    }
    vlock_unlock(&s->changes->table->lock);
    return j;
}

/* Removes some subscriptions from the lists. False: none is left. */
static bool take_some_out(struct job_subscriber *s)
{
    struct subscriptions *t = s->changes->table;
    struct neighbours near = {0};

    vlock_lock(&t->lock);
    s->notified = NULL;
    for (int n = 0; n < REMOVED_AT_ONCE && s->n > 0; n++) {
        struct job_subscription *j = subscription_at(s, --s->n);
        const uint32_t of_job = j->index == JOB_NO_INDEX
                                    ? list_near(s->changes, &near, j->id)
                                    : list_of_job(s->changes, j->id, j->index);

        jobs_unsubscribe_all(s->changes->core, !s->of_ends);
        subscription_remove_locked(t, &j->of[BY_JOB], of_job);
        if (j->index != JOB_NO_INDEX)
            subscription_remove_locked(t, &j->of[BY_ARRAY],
                                       list_of_elements(s->changes, j->id));
    }
    vlock_unlock(&t->lock);
    return s->n > 0;
}

void job_subscriber_fini(struct job_subscriber *s)
{
    if (!s->changes)
        return;
    while (take_some_out(s))
        ;
    subscriber_fini(&s->subscriber);
    s->changes = NULL;
}

struct leaving {
    struct job_subscriber *subscriber;
    void *memory;
};

static enum volt_poll leaving_poll(struct volt_cx *cx, void *state)
{
    const struct leaving *l = state;

    if (!take_some_out(l->subscriber))
        return VOLT_READY;
    volt_cx_wake(cx);
    return VOLT_PENDING;
}

static void leaving_drop(void *state)
{
    const struct leaving *l = state;

    while (take_some_out(l->subscriber)) /* voltd ends */
        ;
    free(l->memory);
}

static const struct volt_task_type leaving_type = {
    "subscriber leaves", sizeof(struct leaving), leaving_poll, leaving_drop, NULL};

void job_subscriber_leave(struct job_subscriber *s, struct volt_runtime *rt, void *memory)
{
    struct leaving here = {s, memory};

    if (!s->changes) {
        free(memory);
        return;
    }
    vlock_lock(&s->changes->table->lock);
    s->gone = true;
    s->subscriber.armed = false;
    vlock_unlock(&s->changes->table->lock);
    subscriber_fini(&s->subscriber);
    struct leaving *task = take_some_out(s) ? volt_task_new(rt, &leaving_type) : NULL;
    if (!task) {
        leaving_drop(&here);
        return;
    }
    *task = here;
    (void)volt_task_spawn(task, NULL); /* a closing runtime drops it */
}

/* --- the task ----------------------------------------------------------------------- */

struct reader {
    struct core *core;
    int at;
    uint64_t seq;   /* read up to */
    bool is_read;   /* read to the newest event */
    bool ends_only; /* only ends concern anybody */
    size_t n, next;
    struct job_news events[EVENTS_PER_READ];
    struct notification notification;
    struct volt_notified news;
    struct volt_yield turn; /* for other tasks */
};

/* Returns whether anybody waits; *ret_from: the newest event that concerns nobody. */
static bool anybody(struct changes *c, uint64_t *ret_from)
{
    vlock_lock(&c->table->lock);
    bool any = c->table->count > 0;
    *ret_from = c->from;
    vlock_unlock(&c->table->lock);
    return any;
}

static bool is_at_end(const struct reader *r)
{
    return r->next == r->n && r->is_read;
}

/* Reads the next events. Returns how many were lost. A later subscriber needs only later
 * events: so the kind of wanted events is asked after the reading. */
static uint64_t read_on(struct reader *r)
{
    const struct asker all = auth_voltd();
    uint64_t lost;

    if (r->next < r->n || r->is_read)
        return 0;
    r->next = 0;
    r->n = query_events_read(r->core, &all, r->seq, r->events, EVENTS_PER_READ, &r->seq,
                             &lost);
    r->is_read = r->n < EVENTS_PER_READ;
    r->ends_only = !jobs_has_subscribed_all(r->core);
    return lost;
}

/* Begins to notify the first of the read events that may concern a subscription. */
static void begin_read(struct reader *r, struct changes *c, size_t *looks)
{
    while (*looks > 0 && r->next < r->n) {
        const struct job_news *event = &r->events[r->next++];

        if (!r->ends_only || job_news_may_end(event)) {
            begin_event(c, &r->notification, event);
            return;
        }
        --*looks;
    }
}

/* Begins with the next event. False: there is none, or no look is left. */
static bool next_event(struct reader *r, struct changes *c, size_t *looks)
{
    while (r->notification.at == NOTIFY_NOTHING && !is_at_end(r) && *looks > 0) {
        const uint64_t lost = read_on(r);

        if (lost)
            begin_all(c, &r->notification);
        else
            begin_read(r, c, looks);
    }
    return r->notification.at != NOTIFY_NOTHING;
}

/* Notifies some. True: more to notify or to read. */
static bool notify_some(struct reader *r)
{
    struct changes *c = parts_of(r->core)->changes;
    size_t looks = CHANGES_LOOKS;

    while (looks > 0 &&
           (r->notification.at != NOTIFY_NOTHING || next_event(r, c, &looks)))
        go_on(c, &r->notification, &looks);
    jobs_note_visited(r->core, CHANGES_LOOKS - looks);
    return looks == 0;
}

/* Sleeps until somebody subscribes: events alone do not wake this task. */
static enum volt_poll reader_poll(struct volt_cx *cx, void *state)
{
    struct reader *r = state;
    struct changes *c = parts_of(r->core)->changes;
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
        r->notification.at = NOTIFY_NOTHING;
        while (anybody(c, &from)) {
            volt_notified_fini(&r->news);
            volt_notified_init(&r->news, parts_of(r->core)->ends);
            r->is_read = false;
            while (notify_some(r))
                VOLT_AWAIT(r->at, volt_yield_poll(cx, &r->turn));
            VOLT_AWAIT(r->at, volt_notified_poll(cx, &r->news));
            /* Ready tasks are about to add news: let them run once, then read all
             * together. */
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

int changes_open(struct core *core, struct changes **ret)
{
    struct changes *c = calloc(1, sizeof(*c));

    if (!c)
        return -ENOMEM;
    c->table = subscriptions_new(2 * LISTS);
    if (!c->table) {
        free(c);
        return -ENOMEM;
    }
    c->core = core;
    c->secret = parts_of(core)->keys->secret;
    volt_notify_init(&c->arrived);
    *ret = c;
    return 0;
}

int changes_start(struct core *core)
{
    struct reader *r = volt_task_new(parts_of(core)->rt, &reader_type);

    if (!r)
        return -ENOMEM;
    r->core = core;
    return volt_task_spawn(r, NULL);
}

void changes_free(struct changes *c)
{
    if (!c)
        return;
    subscriptions_free(c->table);
    volt_notify_fini(&c->arrived);
    free(c);
}
