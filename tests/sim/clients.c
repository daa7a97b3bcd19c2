/* Clients: tasks that ask voltd for what its methods do, by the same calls, and hand what
 * they are told to the oracle. A client dies with its voltd, or goes earlier. */
#include "tests/sim/disk.h"
#include "tests/sim/lends.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/core/state.h"
#include "daemon/job/spec_edit.h"
#include "daemon/life/life.h"
#include "daemon/log/event_log.h"
#include "daemon/query/changes.h"
#include "daemon/query/query.h"
#include "daemon/steer/steer.h"
#include "daemon/submit/submit.h"

#define ITEMS_MAX 6

enum client_kind {
    SUBMIT,
    WAIT,
    WATCH,
    LIST,
    CANCEL,
    CANCEL_ALL,
    SIGNAL,
    FORGET,
    HOLD,
    RELEASE,
    HOLD_ALL,
    RELEASE_ALL,
    QUEUE,
    PAUSE,
    RESUME,
    PAUSE_ALL,
    RESUME_ALL,
    EDIT,
};

struct client {
    enum client_kind kind;
    unsigned polls_left; /* then it goes; 0: it stays */
    bool begun, counted;
    struct asker asker;
    uint64_t id;
    int64_t index;
    struct job_filter filter;
    struct query_walk walk;
    struct quota quota; /* of a poll */
    union {
        struct {
            struct jobs_submit call;
            struct jobs_submit_item items[ITEMS_MAX];
            uint32_t numbers[ITEMS_MAX];
        } submit;
        struct {
            struct job_subscriber subscriber;
            struct job_subscription job;
            struct lends inside;
        } wait;
        struct {
            struct subscriber subscriber;
            struct subscription of_log;
            uint64_t cursor, from;
        } watch;
        struct steer_at cancel;
        struct steer_all all;
        struct {
            struct steer_at at;
            struct volt_sleep rest;
            struct steer_barrier kept;
            bool keeps;
        } hold;
        struct {
            struct job_edit what;
            struct job_spec *changes;
        } edit;
        struct steer_signal signal;
        struct steer_forget forget;
        struct store_commit queue;
    };
};

#define WATCHERS_MAX 64

static struct {
    unsigned open;                        /* that are to be answered */
    struct client *watcher[WATCHERS_MAX]; /* of the voltd that lives */
} clients;

void clients_reset(void)
{
    clients_voltd_died();
}

void clients_voltd_died(void)
{
    memset(&clients, 0, sizeof(clients));
}

unsigned clients_open(void)
{
    return clients.open;
}

/* --- submissions ------------------------------------------------------------------------- */

static char *text_of(const char *word, uint32_t n)
{
    char text[32];

    (void)snprintf(text, sizeof(text), "%s%u", word, n);
    return strdup(text);
}

/* As orders have it. */
static void set_claims(struct job_spec *s, uint32_t lock, uint32_t claims)
{
    s->claims = calloc(1, sizeof(*s->claims));
    s->nclaims = 1;
    s->claims[0].name = text_of("lock ", lock);
    s->claims[0].mode = lock == 3 ? JOB_CLAIM_PERMITS
                        : claims  ? JOB_CLAIM_EXCLUSIVE
                                  : JOB_CLAIM_SHARED;
    if (lock == 3) {
        s->claims[0].permits = claims;
        s->claims[0].capacity = ORACLE_PERMITS;
    }
}

static struct job_spec *spec_of(const struct order *o)
{
    struct job_spec *s = job_spec_new();

    s->kind = o->kind;
    s->name = text_of("p", o->number);
    s->priority = o->priority;
    s->output = JOB_OUTPUT_FILE;
    s->output_limit = o->number % 7 == 0 ? 1000 : JOB_NO_LIMIT;
    s->on_lost = o->retry ? JOB_ON_LOST_RETRY : JOB_ON_LOST_FAIL;
    s->duration_usec = o->duration_usec;
    s->hold = o->held;
    if (o->night)
        s->queue = strdup("night");
    s->delay_usec = o->delay_usec;
    s->at_usec = o->at_usec;
    s->start_by_usec = o->start_by_usec;
    s->timeout_usec = o->kind == JOB_KIND_NOOP ? 0 : o->timeout_usec;
    s->kill_after_usec = o->number % 3 ? 20000 : 300000;
    s->stop_signal = o->stop_kills ? SIGKILL : SIGTERM;
    if (o->kind == JOB_KIND_EXEC) {
        s->argv = calloc(4, sizeof(*s->argv));
        s->argv[0] = strdup("prog");
        s->argv[1] = text_of("", o->number);
        s->argv[2] = strdup("{i}");
    }
    if (o->retries) {
        s->retry_times = o->retries;
        s->backoff_usec = o->backoff_usec;
        s->max_total_usec = o->max_total_usec;
    }
    if (o->lock)
        set_claims(s, o->lock, o->claims);
    if (o->nafter) {
        s->after = calloc(o->nafter, sizeof(*s->after));
        s->nafter = o->nafter;
        memcpy(s->after, o->after, o->nafter * sizeof(*s->after));
        for (size_t i = 0; i < o->nafter; i++)
            if (edges_by_key(o, i)) {
                s->after[i].job = 0;
                s->after[i].key = text_of("key ", o->after_key[i] - 1);
            }
    }
    if (o->key_given)
        s->key = text_of("key ", o->key);
    if (o->replaces)
        s->on_exists = JOB_ON_EXISTS_REPLACE;
    if (o->count) {
        s->is_array = true;
        s->array_first = o->number % 5;
        s->array_last = s->array_first + o->count - 1;
        s->at_once = o->at_once;
    }
    return s;
}

static void choose_kind(struct order *o)
{
    uint32_t n = sim_below(10);

    o->kind = n == 0 ? JOB_KIND_NOOP : n == 1 ? JOB_KIND_SLEEP : JOB_KIND_EXEC;
    if (o->kind == JOB_KIND_SLEEP)
        o->duration_usec = sim_between(1, 100000);
    if (sim.timed || sim_one_in(6))
        o->timeout_usec = sim_between(1000, 60000);
    if (sim_one_in(8))
        o->count = sim_one_in(12) ? sim_between(60, 100) : sim_between(1, 8);
    if (o->kind == JOB_KIND_EXEC && o->count && sim_one_in(2))
        o->at_once = sim_between(1, 3);
}

static void choose_retries(struct order *o)
{
    o->retries = sim_between(1, 3);
    o->backoff_usec = sim_one_in(4) ? 0 : sim_between(1, 100000);
    if (sim.short_jobs && sim_one_in(6)) { /* more than the store has of one */
        o->retries = sim_between(JOB_ATTEMPTS_KEPT, 110);
        o->backoff_usec = 0;
    }
    if (sim_one_in(3))
        o->max_total_usec = sim_between(1000, 300000);
}

/* Jobs of the user, whatever has become of them, some with more than one edge. */
static void choose_edges(struct order *o)
{
    for (int tries = 0; tries < 4 && o->nafter < ORACLE_EDGES; tries++) {
        const struct order *p = oracle_order(sim_below(oracle_orders()));

        const uint64_t id = o->nafter && sim_one_in(3) ? o->after[0].job : p->id;

        if (!id || p->uid != o->uid)
            continue;
        o->after[o->nafter] = (struct job_edge){
            .job = id, .when = (enum job_after)sim_below(JOB_AFTER_START + 1)};
        if (p->key_given && id == p->id && sim_one_in(2)) {
            o->after[o->nafter].job = 0;
            o->after_key[o->nafter] = p->key + 1;
        }
        if (p->count && id == p->id && !o->after_key[o->nafter] &&
            (o->count == p->count || (!o->nafter && sim_one_in(2)))) {
            o->count = p->count;
            o->after[o->nafter].each = true;
        }
        o->nafter++;
    }
}

static struct order *new_order(uid_t uid)
{
    struct order *o = oracle_order_new();

    o->uid = uid;
    o->kind = JOB_KIND_EXEC;
    o->retry = sim_one_in(3);
    o->priority = sim_one_in(4) ? (int)sim_below(5) - 2 : 0;
    o->stop_kills = sim_one_in(6);
    o->held = sim_one_in(12);
    o->night = sim_one_in(3);
    if (sim_one_in(10))
        o->delay_usec = sim_between(1, 300000);
    if (sim_one_in(14))
        o->at_usec = sim_date() + sim_below(300000) - 50000;
    if (sim_one_in(8))
        o->start_by_usec = sim_date() + sim_below(200000);
    choose_kind(o);
    if (o->kind == JOB_KIND_EXEC && sim_one_in(4))
        choose_retries(o);
    if (sim_one_in(5))
        choose_edges(o);
    if (sim.few_locks ? !sim_one_in(6) : sim_one_in(4)) {
        o->lock = sim.few_locks ? 1 : sim_between(1, 3);
        o->claims = o->lock == 3 ? sim_between(1, ORACLE_PERMITS)
                                 : sim.few_locks || sim_one_in(2);
    }
    if (sim_one_in(sim.few_keys ? 2 : 5)) {
        o->key_given = true;
        o->key = sim_below(sim.few_keys ? 2 : 6);
        o->replaces = sim.few_keys || sim_one_in(2);
    }
    return o;
}

/* A new one, or one that has a key once more. */
static struct order *an_order(uid_t uid)
{
    if (oracle_orders() && sim_one_in(8)) {
        struct order *o = oracle_order(sim_below(oracle_orders()));

        if (o->key_given && o->uid == uid && edges_known(o))
            return o;
    }
    return new_order(uid);
}

/* A new order waits for others of its batch as well. */
static void choose_inner_edges(const struct client *c, size_t i, struct order *o)
{
    for (int tries = 0; i > 0 && tries < 2 && o->nafter < ORACLE_EDGES; tries++)
        if (sim_one_in(2))
            o->after[o->nafter++] =
                (struct job_edge){.item = 1 + c->submit.numbers[sim_below((uint32_t)i)],
                                  .when = (enum job_after)sim_below(JOB_AFTER_START + 1)};
}

/* Of an order to a place in the batch. */
static void place_inner_edges(const struct client *c, size_t i, struct job_spec *s)
{
    for (size_t k = 0; k < s->nafter; k++) {
        size_t at = 0;

        if (s->after[k].job || !s->after[k].item) {
            s->after[k].item = 0;
            continue;
        }
        while (at < i && c->submit.numbers[at] + 1 != s->after[k].item)
            at++;
        s->after[k].item = at + 1;
    }
}

static void prepare_submit(struct client *c)
{
    size_t n = sim_one_in(3) ? 1 + sim_below(ITEMS_MAX) : 1;
    const bool atomic = sim_one_in(3);

    for (size_t i = 0; i < n; i++) {
        struct order *o = an_order(c->asker.who.uid);

        for (size_t k = 0; k < i; k++)
            if (c->submit.numbers[k] == o->number)
                o = new_order(c->asker.who.uid);
        if (atomic && !o->sends)
            choose_inner_edges(c, i, o);
        o->sends++;
        o->refused = false;
        if (!o->sent_usec) {
            o->sent_usec = sim.now + 1;
            o->sent_date = sim_date();
        }
        c->submit.numbers[i] = o->number;
        c->submit.items[i].spec = spec_of(o);
        place_inner_edges(c, i, c->submit.items[i].spec);
    }
    jobs_submit_init(&c->submit.call, sim.core, &c->asker.who, c->submit.items, n,
                     atomic);
}

static void take_answer(struct client *c)
{
    for (size_t i = 0; i < c->submit.call.count; i++) {
        const struct jobs_submit_item *item = &c->submit.items[i];

        oracle_answered(oracle_order(c->submit.numbers[i]), item->ret_id,
                        item->ret_existed, item->ret_error);
    }
}

static enum volt_poll submit_poll(struct volt_cx *cx, struct client *c)
{
    if (jobs_submit_poll(cx, &c->submit.call) == VOLT_PENDING)
        return VOLT_PENDING;
    take_answer(c);
    return VOLT_READY;
}

/* --- questions ------------------------------------------------------------------------------ */

static int look(void *arg, const struct job_view *v)
{
    (void)arg;
    oracle_look(v);
    edits_look(v);
    return 0;
}

static enum volt_poll list_poll(struct volt_cx *cx, struct client *c)
{
    int r;

    if (!c->begun)
        c->walk = (struct query_walk){.quota = &c->quota,
                                      .kept = sim_one_in(2),
                                      .specs = QUERY_SPECS_WHOLE,
                                      .limit = 1000,
                                      .at_once = 1 + sim_below(20)};
    c->begun = true;
    c->quota = (struct quota){.entries = QUOTA_ENTRIES - 1 - sim_below(30)};
    r = query_walk_step(cx, sim.core, &c->asker, &c->filter, &c->walk, look, c);
    if (r < 0 || c->walk.end || !c->walk.cursor)
        return VOLT_READY;
    volt_cx_wake(cx);
    return VOLT_PENDING;
}

/* READY: it has ended, or is not known any more. */
static enum volt_poll look_poll(struct volt_cx *cx, struct client *c)
{
    struct job_view v;
    int r = query_look(cx, sim.core, &c->asker, c->id, c->index, &v);

    if (r == -ENOENT && disk_keeps(c->id))
        sim_violation("job %llu_%lld is durable, and found nowhere",
                      (unsigned long long)c->id, (long long)c->index);
    if (r == -ENOENT)
        return VOLT_READY;
    if (r < 0) { /* no memory */
        volt_cx_wake(cx);
        return VOLT_PENDING;
    }
    bool done = v.status.state == JOB_DONE;
    oracle_look(&v);
    edits_look(&v);
    job_view_fini(&v);
    return done ? VOLT_READY : VOLT_PENDING;
}

static enum volt_poll wait_poll(struct volt_cx *cx, struct client *c)
{
    const struct job_key key = {c->id, c->index, 0};
    struct change change;
    bool again = !c->begun;

    if (!c->begun) {
        job_subscriber_init(cx, &c->wait.subscriber, sim.core, true, &c->wait.job,
                            sizeof(c->wait.job));
        job_subscriber_add(&c->wait.subscriber, &key);
        c->begun = true;
        if (lends_begin(c->asker.who.uid, &key, &c->wait.inside) < 0)
            return VOLT_READY;
    }
    while (job_subscriber_next(&c->wait.subscriber, &change)) {
        if (change.ended) {
            oracle_told_end(c->id, c->index);
            return VOLT_READY;
        }
        again = true;
    }
    return again || sim.memory_fails ? look_poll(cx, c) : VOLT_PENDING;
}

/* --- watches: all that has happened, in order, without a gap ------------------------------------ */

static void check_events(struct client *c, const struct job_news *events, size_t n,
                         uint64_t next)
{
    size_t i = 0;

    for (uint64_t seq = c->watch.cursor + 1; seq <= next; seq++) {
        const struct job_news *is = image_news(seq);

        if (!is)
            sim_violation("a watcher is told of event %llu, which is not durable",
                          (unsigned long long)seq);
        if (c->asker.who.uid != 0 && is->owner != c->asker.who.uid)
            continue;
        if ((i == n || events[i].seq != seq) && !disk_has(is->key.id))
            continue; /* of a job that was forgotten before this voltd began */
        if (i == n || events[i].seq != seq || events[i].type != is->type ||
            events[i].key.id != is->key.id || events[i].state != is->state)
            sim_violation("a watcher has missed event %llu", (unsigned long long)seq);
        i++;
    }
    if (i != n)
        sim_violation("a watcher is told of an event twice");
    c->watch.cursor = next;
}

static bool read_events(struct client *c)
{
    struct job_news events[16];
    uint64_t next, lost;
    size_t n = event_log_read(query_log(sim.core), &c->asker, c->watch.cursor, events, 16,
                              500, &next, &lost);
    bool any = next != c->watch.cursor;

    if (lost)
        sim_violation("the log has lost events");
    check_events(c, events, n, next);
    return any;
}

static void enter_watcher(struct client *c)
{
    for (unsigned i = 0; i < WATCHERS_MAX; i++)
        if (!clients.watcher[i]) {
            clients.watcher[i] = c;
            return;
        }
}

static void leave_watcher(const struct client *c)
{
    for (unsigned i = 0; i < WATCHERS_MAX; i++)
        if (clients.watcher[i] == c)
            clients.watcher[i] = NULL;
}

void clients_check_watchers(void)
{
    for (unsigned i = 0; i < WATCHERS_MAX; i++)
        if (clients.watcher[i] && clients.watcher[i]->watch.cursor != disk_seq())
            sim_violation("a watcher was told of all up to %llu of %llu events",
                          (unsigned long long)clients.watcher[i]->watch.cursor,
                          (unsigned long long)disk_seq());
}

static enum volt_poll watch_poll(struct volt_cx *cx, struct client *c)
{
    if (!c->begun) {
        subscriber_init(cx, &c->watch.subscriber,
                        event_log_subscriptions(query_log(sim.core)));
        subscription_add(&c->watch.subscriber, &c->watch.of_log, 0);
        query_log_begin(sim.core);
        c->begun = true;
        enter_watcher(c);
        c->watch.cursor = event_log_newest(query_log(sim.core));
        if (sim_one_in(2)) /* goes on where an earlier one was */
            c->watch.cursor = sim_below((uint32_t)c->watch.cursor + 1);
        c->watch.from = c->watch.cursor;
        c->walk = (struct query_walk){.limit = 1000, .specs = QUERY_SPECS_BRIEF};
        (void)query_walk_step(cx, sim.core, &c->asker, &c->filter, &c->walk, look, c);
    }
    do
        while (read_events(c))
            ;
    while (subscriber_arm(&c->watch.subscriber));
    return VOLT_PENDING;
}

/* --- what changes jobs ------------------------------------------------------------------------- */

/* The job itself takes an entry. */
static struct quota few_left(void)
{
    return (struct quota){.entries = QUOTA_ENTRIES - 2 - sim_below(20)};
}

static enum volt_poll cancel_poll(struct volt_cx *cx, struct client *c)
{
    int r;

    oracle_cancelled(c->id);
    c->quota = few_left();
    c->cancel.quota = &c->quota;
    r = steer_step(sim.core, &c->asker, c->id, c->index, &c->cancel);
    if (r == -EALREADY)
        oracle_too_late(c->id);
    c->cancel.begun = r == -EAGAIN;
    if (r != -EAGAIN)
        return VOLT_READY;
    volt_cx_wake(cx);
    return VOLT_PENDING;
}

static enum volt_poll all_poll(struct volt_cx *cx, struct client *c)
{
    static const enum steer_verb verbs[] = {[CANCEL_ALL] = STEER_CANCEL,
                                            [HOLD_ALL] = STEER_HOLD,
                                            [RELEASE_ALL] = STEER_RELEASE,
                                            [PAUSE_ALL] = STEER_PAUSE,
                                            [RESUME_ALL] = STEER_RESUME};

    if (!c->begun)
        c->all = (struct steer_all){.core = sim.core,
                                    .verb = verbs[c->kind],
                                    .asker = c->asker,
                                    .filter = &c->filter,
                                    .paced = true};
    c->begun = true;
    if (c->kind == CANCEL_ALL)
        oracle_cancelled_all(c->asker.who.uid);
    return steer_all_poll(cx, &c->all);
}

/* READY: it is held, and that is kept, or cannot be. */
static enum volt_poll hold_poll(struct volt_cx *cx, struct client *c)
{
    int r;

    if (c->hold.keeps) {
        if (steer_barrier_poll(cx, &c->hold.kept) == VOLT_PENDING)
            return VOLT_PENDING;
        if (c->hold.kept.commit.status == 0)
            oracle_held(c->id);
        return VOLT_READY;
    }
    if (c->hold.rest.deadline_usec && volt_sleep_poll(cx, &c->hold.rest) == VOLT_PENDING)
        return VOLT_PENDING;
    volt_sleep_fini(&c->hold.rest);
    c->hold.at.verb = c->kind == HOLD ? STEER_HOLD : STEER_RELEASE;
    c->begun = true;
    r = pauses_answered(
        c->id, steer_step(sim.core, &c->asker, c->id, JOB_NO_INDEX, &c->hold.at));
    if (r == -EAGAIN) {
        volt_sleep_init(&c->hold.rest, STEER_AGAIN);
        volt_cx_wake(cx);
        return VOLT_PENDING;
    }
    if (r < 0 || c->kind == RELEASE)
        return VOLT_READY;
    steer_barrier_init(&c->hold.kept, sim.core);
    c->hold.keeps = true;
    volt_cx_wake(cx);
    return VOLT_PENDING;
}

/* READY: it stands still, or goes on, or cannot. */
static enum volt_poll pause_poll(struct volt_cx *cx, struct client *c)
{
    if (c->hold.rest.deadline_usec && volt_sleep_poll(cx, &c->hold.rest) == VOLT_PENDING)
        return VOLT_PENDING;
    volt_sleep_fini(&c->hold.rest);
    c->hold.rest = (struct volt_sleep){0};
    c->hold.at.verb = c->kind == PAUSE ? STEER_PAUSE : STEER_RESUME;
    c->quota = few_left();
    c->hold.at.quota = &c->quota;
    c->begun = true;
    if (steer_step(sim.core, &c->asker, c->id, c->index, &c->hold.at) != -EAGAIN)
        return VOLT_READY;
    if (c->hold.at.rests)
        volt_sleep_init(&c->hold.rest, STEER_AGAIN);
    volt_cx_wake(cx);
    return VOLT_PENDING;
}

static void choose_edit(struct client *c)
{
    struct job_spec *s = job_spec_new();
    uint64_t tags = 0;

    if (sim_one_in(3))
        tags |= edits_choose_times(s);
    if (sim_one_in(3))
        tags |= edges_choose(s, c->id);
    if (sim_one_in(4)) {
        tags |= SPEC_TAG(TAG_CLAIMS) | SPEC_TAG(TAG_HAD);
        const uint32_t lock = sim.few_locks ? sim_below(2) : sim_below(4);
        if (lock)
            set_claims(s, lock,
                       lock == 3 ? sim_between(1, ORACLE_PERMITS) : sim_below(2));
    }

    s->priority = (int)sim_below(5) - 2;
    s->queue = strdup(sim_one_in(2) ? "night" : "default");
    if (sim_one_in(2))
        tags |= SPEC_TAG(TAG_PRIORITY);
    if (sim_one_in(2))
        tags |= SPEC_TAG(TAG_QUEUE) | SPEC_TAG(TAG_QUEUE_TIME);
    c->edit.changes = s;
    c->edit.what = (struct job_edit){.tags = tags, .first = !tags || sim_one_in(2)};
}

/* READY at once. */
static enum volt_poll edit_poll(struct volt_cx *cx, struct client *c)
{
    edits_ask(cx, &c->asker, &(struct job_key){.id = c->id, .index = c->index},
              &c->edit.what, c->edit.changes);
    return VOLT_READY;
}

static enum volt_poll signal_poll(struct volt_cx *cx, struct client *c)
{
    if (!c->begun)
        c->signal = (struct steer_signal){.core = sim.core,
                                          .asker = c->asker,
                                          .id = c->id,
                                          .index = c->index,
                                          .signal = sim_one_in(2) ? SIGKILL : SIGTERM,
                                          .tree = sim_one_in(2)};
    c->begun = true;
    oracle_signalled(c->id);
    return steer_signal_poll(cx, &c->signal);
}

static enum volt_poll forget_poll(struct volt_cx *cx, struct client *c)
{
    if (!c->begun)
        c->forget = (struct steer_forget){.core = sim.core,
                                          .asker = c->asker,
                                          .filter = &c->filter,
                                          .keep = sim_below(3)};
    c->begun = true;
    return steer_forget_poll(cx, &c->forget);
}

/* One of the queues is paused, or goes on; at the end both go on. */
static enum volt_poll queue_poll(struct volt_cx *cx, struct client *c)
{
    struct queue_change change = {.verb = sim.calm || sim_one_in(2) ? QUEUE_DO_RESUME
                                                                    : QUEUE_DO_PAUSE};

    if (!c->begun &&
        steer_queue(sim.core, c->index ? "night" : "default", &change, &c->queue) < 0)
        return VOLT_READY;
    c->begun = true;
    return store_commit_poll(cx, &c->queue);
}

/* --- a client ------------------------------------------------------------------------------------ */

static enum volt_poll (*const polls[])(struct volt_cx *cx, struct client *c) = {
    [SUBMIT] = submit_poll, [WAIT] = wait_poll,      [WATCH] = watch_poll,
    [LIST] = list_poll,     [CANCEL] = cancel_poll,  [CANCEL_ALL] = all_poll,
    [SIGNAL] = signal_poll, [FORGET] = forget_poll,  [HOLD] = hold_poll,
    [RELEASE] = hold_poll,  [HOLD_ALL] = all_poll,   [RELEASE_ALL] = all_poll,
    [QUEUE] = queue_poll,   [PAUSE] = pause_poll,    [RESUME] = pause_poll,
    [PAUSE_ALL] = all_poll, [RESUME_ALL] = all_poll, [EDIT] = edit_poll};

static enum volt_poll client_poll(struct volt_cx *cx, void *state)
{
    struct client *c = state;

    if (c->polls_left && --c->polls_left == 0 && !sim.calm) {
        sim_count_fault(FAULT_CLIENT_GOES);
        return VOLT_READY;
    }
    return polls[c->kind](cx, c);
}

static void submit_drop(struct client *c)
{
    jobs_submit_fini(&c->submit.call);
    for (size_t i = 0; i < c->submit.call.count; i++) {
        job_spec_unref(c->submit.items[i].spec);
        free(c->submit.items[i].ret_text);
    }
}

static void client_drop(void *state)
{
    struct client *c = state;

    clients.open -= c->counted;
    if (c->kind == SUBMIT)
        submit_drop(c);
    if (c->kind == EDIT)
        job_spec_unref(c->edit.changes);
    if (c->kind == CANCEL)
        steer_leave(sim.core, &c->asker, c->id, &c->cancel);
    if (!c->begun)
        return;
    if (c->kind == WAIT) {
        job_subscriber_fini(&c->wait.subscriber);
        lends_end(&c->wait.inside);
    }
    if (polls[c->kind] == all_poll)
        steer_all_fini(&c->all);
    if (polls[c->kind] == hold_poll || polls[c->kind] == pause_poll) {
        volt_sleep_fini(&c->hold.rest);
        steer_barrier_fini(&c->hold.kept);
    }
    if (c->kind == QUEUE)
        store_commit_fini(&c->queue);
    if (c->kind == SIGNAL)
        steer_signal_fini(&c->signal);
    if (c->kind == FORGET)
        steer_forget_fini(&c->forget);
    if (c->kind == WATCH) {
        leave_watcher(c);
        subscription_remove(&c->watch.subscriber, &c->watch.of_log, 0);
        subscriber_fini(&c->watch.subscriber);
        query_log_end(sim.core);
    }
}

static const struct volt_task_type client_type = {"client", sizeof(struct client),
                                                  client_poll, client_drop, NULL};

static enum client_kind a_kind(void)
{
    static const uint8_t often[] = {
        [SUBMIT] = 40,    [WAIT] = 14,       [WATCH] = 3,  [LIST] = 8,  [CANCEL] = 12,
        [CANCEL_ALL] = 1, [SIGNAL] = 5,      [FORGET] = 2, [HOLD] = 8,  [RELEASE] = 6,
        [HOLD_ALL] = 1,   [RELEASE_ALL] = 2, [QUEUE] = 4,  [PAUSE] = 6, [RESUME] = 4,
        [PAUSE_ALL] = 1,  [RESUME_ALL] = 1,  [EDIT] = 14};
    uint32_t n = sim_below(132);
    enum client_kind k = SUBMIT;

    while (n >= often[k])
        n -= often[k++];
    return k;
}

/* A job that somebody was told of, mostly one that has not ended. */
static bool choose_job(struct client *c)
{
    const struct order *o = NULL;

    for (int tries = 0; tries < 6 && oracle_orders() && !(o && oracle_lives(o)); tries++)
        o = oracle_order(sim_below(oracle_orders()));
    if (!o || !o->id)
        return false;
    c->id = o->id;
    c->index = JOB_NO_INDEX;
    c->asker = auth_user(o->uid);
    if (o->count && sim_one_in(2))
        c->index = o->number % 5 + sim_below(o->count);
    return true;
}

static void begin(struct client *c)
{
    c->asker = auth_user(1 + sim_below(ORACLE_USERS));
    if (c->kind == SUBMIT)
        prepare_submit(c);
    if (c->kind == QUEUE)
        c->index = sim_below(2);
    if ((c->kind == WATCH || c->kind == RELEASE_ALL) && sim_one_in(2))
        c->asker = auth_voltd();
    if (sim_may(FAULT_CLIENT_GOES) && sim_one_in(6))
        c->polls_left = 2 + sim_below(6);
    c->counted = c->kind != WATCH;
    clients.open += c->counted;
}

static bool is_of_one(enum client_kind kind)
{
    return kind == WAIT || kind == CANCEL || kind == SIGNAL || kind == HOLD ||
           kind == RELEASE || kind == PAUSE || kind == RESUME || kind == EDIT;
}

static void act_on_all(enum client_kind kind)
{
    sim.outside++;
    struct client *c = volt_task_new(sim.rt, &client_type);
    c->kind = kind;
    c->asker = auth_voltd();
    (void)volt_task_spawn(c, NULL);
    sim.outside--;
}

void clients_release_all(void)
{
    act_on_all(RELEASE_ALL);
}

void clients_resume_all(void)
{
    act_on_all(RESUME_ALL);
}

void clients_resume_queues(void)
{
    for (int i = 0; i < 2; i++) {
        sim.outside++;
        struct client *c = volt_task_new(sim.rt, &client_type);
        c->kind = QUEUE;
        c->index = i;
        (void)volt_task_spawn(c, NULL);
        sim.outside--;
    }
}

void clients_watch(void)
{
    act_on_all(WATCH);
}

void clients_steer(enum steer_job what, const struct job_key *key)
{
    const struct order *o = oracle_order_of_id(key->id);

    if (!o)
        return;
    sim.outside++;
    struct client *c = volt_task_new(sim.rt, &client_type);
    c->kind = what == STEER_JOB_CANCEL  ? CANCEL
              : what == STEER_JOB_PAUSE ? PAUSE
                                        : RESUME;
    c->id = key->id;
    c->index = key->index;
    c->asker = auth_user(o->uid);
    c->counted = true;
    clients.open++;
    (void)volt_task_spawn(c, NULL);
    sim.outside--;
}

void clients_act(void)
{
    enum client_kind kind = a_kind();

    sim.outside++; /* a client has its own memory */
    struct client *c = volt_task_new(sim.rt, &client_type);
    c->kind = kind;
    if (is_of_one(kind) && !choose_job(c)) {
        volt_task_discard(c);
    } else if (is_of_one(kind)) {
        if (kind == EDIT)
            choose_edit(c);
        if ((kind == HOLD || kind == RELEASE || kind == EDIT) && sim_one_in(5))
            c->asker = auth_voltd();
        c->counted = true;
        clients.open++;
        (void)volt_task_spawn(c, NULL);
    } else {
        begin(c);
        (void)volt_task_spawn(c, NULL);
    }
    sim.outside--;
}
