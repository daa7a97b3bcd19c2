/* Stress of the synchronisation primitives and timers: actors take permits, locks and
 * messages in random order on more workers than CPUs, while the main thread cancels some
 * of them at random moments. At the end nothing may be missing: permits, locks, messages,
 * tasks, timers.
 *
 * Options: tests/support/stress.h. The order of events is the machine's; the seed fixes
 * what each actor does. */
#include "base/atomic.h"
#include "tests/support/stress.h"

enum { ACTORS = 600, SLOTS = 64 /* alive at once */, ROUNDS = 40, PERMITS = 10 };

static struct stress st;
static struct volt_sem sem;
static struct volt_mutex mutex;
static struct volt_rwlock rwlock;
static struct volt_notify notify;
static struct volt_channel *channel;

static vat_u64 held;     /* permits in actors' hands */
static uint64_t counter; /* under the mutex; plain, for the race detector */
static uint64_t pair[2]; /* under the rwlock: always equal */
static vat_u64 counted;  /* what counter must be */
static vat_u64 dropped;  /* actors */
/* Values of the channel; those of cancelled senders may or may not have been sent. */
static vat_u64 values_sent, values_maybe, values_received;

enum holds {
    HOLD_NOTHING,
    HOLD_PERMITS,
    HOLD_MUTEX,
    HOLD_READ,
    HOLD_WRITE,
};

/* --- the actor ---------------------------------------------------------------------- */

struct actor {
    uint64_t seed;
    int at, round;
    unsigned what;
    uint64_t permits;
    enum holds holds;
    struct volt_yield yield;
    struct volt_sleep sleep;
    struct volt_notified notified;
    struct volt_oneshot_recv message;
    uint64_t sent, got;
    bool ended; /* READY was answered */
    enum {
        LEAF_NONE,
        LEAF_SEM,
        LEAF_MUTEX,
        LEAF_RWLOCK,
        LEAF_SLEEP,
        LEAF_NOTIFIED,
        LEAF_SEND
    } leaf;
    union {
        struct volt_sem_acquire sem;
        struct volt_mutex_lock mutex;
        struct volt_rwlock_acquire rwlock;
        struct volt_channel_send send;
    } u;
};

static struct volt_runtime *any_runtime(uint64_t *seed)
{
    return st.rt[stress_random(seed, st.runtimes)];
}

static void give_back(struct actor *s)
{
    switch (s->holds) {
    case HOLD_NOTHING:
        break;
    case HOLD_PERMITS:
        vat_u64_sub(&held, s->permits, VAT_AR);
        CHECK(volt_sem_release(&sem, s->permits) == 0);
        break;
    case HOLD_MUTEX:
        volt_mutex_unlock(&mutex);
        break;
    case HOLD_READ:
        volt_rwlock_read_unlock(&rwlock);
        break;
    case HOLD_WRITE:
        volt_rwlock_write_unlock(&rwlock);
        break;
    }
    s->holds = HOLD_NOTHING;
}

static void leaf_fini(struct actor *s)
{
    switch (s->leaf) {
    case LEAF_NONE:
        break;
    case LEAF_SEM:
        volt_sem_acquire_fini(&s->u.sem);
        break;
    case LEAF_MUTEX:
        volt_mutex_lock_fini(&s->u.mutex);
        break;
    case LEAF_RWLOCK:
        volt_rwlock_acquire_fini(&s->u.rwlock);
        break;
    case LEAF_SLEEP:
        volt_sleep_fini(&s->sleep);
        break;
    case LEAF_NOTIFIED:
        volt_notified_fini(&s->notified);
        break;
    case LEAF_SEND:
        volt_channel_send_fini(&s->u.send);
        break;
    }
    s->leaf = LEAF_NONE;
}

/* Sends s->sent from a task of its own; ends are dropped by whoever is cancelled. */
struct sender {
    struct volt_oneshot *oneshot;
    uint64_t value;
    struct volt_yield yield;
    int at;
};

static enum volt_poll sender_poll(struct volt_cx *cx, void *state)
{
    struct sender *s = state;

    VOLT_BEGIN(s->at);
    if (s->value % 2)
        VOLT_AWAIT(s->at, volt_yield_poll(cx, &s->yield));
    (void)volt_oneshot_try_send(s->oneshot,
                                &s->value); /* -EPIPE: the actor was cancelled */
    s->oneshot = NULL;
    VOLT_END(s->at);
}

static void sender_drop(void *state)
{
    struct sender *s = state;

    if (s->oneshot)
        volt_oneshot_send_fini(s->oneshot);
}

static const struct volt_task_type sender_type = {
    .name = "sender",
    .size = sizeof(struct sender),
    .poll = sender_poll,
    .drop = sender_drop,
};

static void ask_for_message(struct actor *s)
{
    struct sender *peer = volt_task_new(any_runtime(&s->seed), &sender_type);

    struct volt_oneshot *oneshot = volt_oneshot_new(sizeof(s->sent));

    CHECK(peer && oneshot);
    volt_oneshot_recv_init(&s->message, oneshot, &s->got);
    s->sent = stress_random(&s->seed, UINT64_MAX);
    *peer = (struct sender){.oneshot = oneshot, .value = s->sent};
    CHECK(volt_task_spawn(peer, NULL) == 0);
}

/* What an actor does while it holds something. */
static void work(struct actor *s)
{
    switch (s->holds) {
    case HOLD_PERMITS:
        CHECK(vat_u64_add(&held, s->permits, VAT_AR) + s->permits <= PERMITS);
        break;
    case HOLD_MUTEX:
        counter++;
        vat_u64_add(&counted, 1, VAT_RLX);
        break;
    case HOLD_READ:
        CHECK(pair[0] == pair[1]);
        break;
    case HOLD_WRITE:
        pair[0]++;
        pair[1]++;
        break;
    case HOLD_NOTHING:
        break;
    }
}

static enum volt_poll actor_poll(struct volt_cx *cx, void *state)
{
    struct actor *s = state;

    CHECK(!s->ended);
    VOLT_BEGIN(s->at);
    for (s->round = 0; s->round < ROUNDS; s->round++) {
        s->what = (unsigned)stress_random(&s->seed, 14);
        if (s->what < 4) {
            s->permits = 1 + stress_random(&s->seed, s->what == 0 ? PERMITS : 3);
            volt_sem_acquire_init(&s->u.sem, &sem, s->permits);
            s->leaf = LEAF_SEM;
            VOLT_AWAIT(s->at, volt_sem_acquire_poll(cx, &s->u.sem));
            s->holds = HOLD_PERMITS;
        } else if (s->what < 6) {
            volt_mutex_lock_init(&s->u.mutex, &mutex);
            s->leaf = LEAF_MUTEX;
            VOLT_AWAIT(s->at, volt_mutex_lock_poll(cx, &s->u.mutex));
            s->holds = HOLD_MUTEX;
        } else if (s->what < 9) {
            if (s->what == 6)
                volt_rwlock_acquire_init_write(&s->u.rwlock, &rwlock);
            else
                volt_rwlock_acquire_init_read(&s->u.rwlock, &rwlock);
            s->leaf = LEAF_RWLOCK;
            VOLT_AWAIT(s->at, volt_rwlock_acquire_poll(cx, &s->u.rwlock));
            s->holds = s->what == 6 ? HOLD_WRITE : HOLD_READ;
        } else if (s->what == 9) {
            ask_for_message(s);
            VOLT_AWAIT(s->at, volt_oneshot_recv_poll(cx, &s->message));
            CHECK(volt_oneshot_recv_status(&s->message) == 0 && s->got == s->sent);
            volt_oneshot_recv_fini(&s->message);
        } else if (s->what == 10) {
            volt_sleep_init(&s->sleep, stress_random(&s->seed, 2000));
            s->leaf = LEAF_SLEEP;
            VOLT_AWAIT(s->at, volt_sleep_poll(cx, &s->sleep));
        } else if (s->what >= 12) {
            s->sent = stress_random(&s->seed, UINT64_MAX);
            volt_channel_send_init(&s->u.send, channel, &s->sent);
            s->leaf = LEAF_SEND;
            VOLT_AWAIT(s->at, volt_channel_send_poll(cx, &s->u.send));
            CHECK(volt_channel_send_status(&s->u.send) == 0);
            vat_u64_add(&values_sent, 1, VAT_RLX);
        } else {
            /* One permit makes the rounds: whoever gets it passes it on. */
            volt_notified_init(&s->notified, &notify);
            s->leaf = LEAF_NOTIFIED;
            VOLT_AWAIT(s->at, volt_notified_poll(cx, &s->notified));
            volt_notify_one(&notify);
        }
        leaf_fini(s);
        work(s);
        if (stress_random(&s->seed, 3) == 0)
            VOLT_AWAIT(s->at, volt_yield_poll(cx, &s->yield));
        give_back(s);
    }
    s->ended = true;
    VOLT_END(s->at);
}

static void actor_drop(void *state)
{
    struct actor *s = state;

    /* A notify that was granted and not seen goes on by _fini; READY and passing on are
     * in one poll. Permits count as held from work() on, which follows READY in the same
     * poll, too. */
    if (s->leaf == LEAF_SEND)
        vat_u64_add(&values_maybe, 1, VAT_RLX);
    leaf_fini(s);
    give_back(s);
    volt_oneshot_recv_fini(&s->message);
    vat_u64_add(&dropped, 1, VAT_AR);
}

static const struct volt_task_type actor_type = {
    .name = "actor",
    .size = sizeof(struct actor),
    .poll = actor_poll,
    .drop = actor_drop,
};

/* --- the receiver of the channel: until it is closed */

struct collector {
    uint64_t value;
    struct volt_channel_recv recv;
};

static enum volt_poll collector_poll(struct volt_cx *cx, void *state)
{
    struct collector *c = state;

    if (!c->recv.channel)
        volt_channel_recv_init(&c->recv, channel, &c->value);
    for (;;) {
        if (volt_channel_recv_poll(cx, &c->recv) == VOLT_PENDING)
            return VOLT_PENDING;
        if (volt_channel_recv_status(&c->recv) < 0)
            return VOLT_READY;
        vat_u64_add(&values_received, 1, VAT_RLX);
    }
}

static void collector_drop(void *state)
{
    struct collector *c = state;

    volt_channel_recv_fini(&c->recv);
}

static const struct volt_task_type collector_type = {
    .name = "collector",
    .size = sizeof(struct collector),
    .poll = collector_poll,
    .drop = collector_drop,
};

static void spawn_collector(uint64_t *seed, struct volt_join *join)
{
    void *c = volt_task_new(any_runtime(seed), &collector_type);

    CHECK(c);
    CHECK(volt_task_spawn(c, join) == 0);
}

/* --- the run ------------------------------------------------------------------------ */

static void spawn_actor(uint64_t *seed, struct volt_join *join)
{
    struct actor *s = volt_task_new(any_runtime(seed), &actor_type);

    CHECK(s);
    s->seed = stress_random(seed, UINT64_MAX) | 1;
    CHECK(volt_task_spawn(s, join) == 0);
}

static void check_nothing_is_missing(const struct volt_stats *stats)
{
    struct volt_rwlock_info info;

    CHECK(vat_u64_load(&dropped, VAT_ACQ) == ACTORS);
    CHECK(vat_u64_load(&held, VAT_ACQ) == 0);
    CHECK(volt_sem_available(&sem) == PERMITS);
    CHECK(volt_sem_try_acquire(&sem, PERMITS));
    CHECK(volt_mutex_try_lock(&mutex));
    CHECK(counter == vat_u64_load(&counted, VAT_RLX));
    volt_rwlock_inspect(&rwlock, &info);
    CHECK(info.readers == 0 && !info.writer);
    CHECK(info.readers_waiting == 0 && info.writers_waiting == 0);
    CHECK(volt_rwlock_try_write(&rwlock));
    CHECK(pair[0] == pair[1]);
    uint64_t received = vat_u64_load(&values_received, VAT_ACQ);
    uint64_t sent = vat_u64_load(&values_sent, VAT_ACQ);
    CHECK(sent <= received && received <= sent + vat_u64_load(&values_maybe, VAT_ACQ));
    CHECK(stats->timers == 0);
    CHECK(stats->spawned == stats->completed);
}

static void one_round(void)
{
    uint64_t seed = stress_mix(st.seed, 0);
    struct volt_join join[SLOTS], collector;
    struct volt_stats stats;

    stress_start(&st, st.workers, NULL);
    channel = volt_channel_new(sizeof(uint64_t), 4);
    CHECK(channel);
    vat_u64_init(&values_sent, 0);
    vat_u64_init(&values_maybe, 0);
    vat_u64_init(&values_received, 0);
    spawn_collector(&seed, &collector);
    volt_sem_init(&sem, PERMITS, PERMITS);
    volt_mutex_init(&mutex);
    volt_rwlock_init(&rwlock);
    volt_notify_init(&notify);
    volt_notify_one(&notify);
    vat_u64_init(&held, 0);
    vat_u64_init(&counted, 0);
    vat_u64_init(&dropped, 0);
    counter = pair[0] = pair[1] = 0;
    for (unsigned i = 0; i < SLOTS; i++)
        spawn_actor(&seed, &join[i]);
    for (unsigned i = SLOTS; i < ACTORS; i++) {
        unsigned slot = (unsigned)stress_random(&seed, SLOTS);

        if (stress_random(&seed, 2))
            volt_join_cancel(&join[slot]);
        (void)volt_join_wait(&join[slot]);
        volt_join_fini(&join[slot]);
        spawn_actor(&seed, &join[slot]);
    }
    for (unsigned i = 0; i < SLOTS; i++) {
        (void)volt_join_wait(&join[i]);
        volt_join_fini(&join[i]);
    }
    volt_channel_close(channel);
    CHECK(volt_join_wait(&collector) == 0);
    volt_join_fini(&collector);
    do { /* senders are detached */
        stats = stress_stats(&st);
    } while (stats.live > 0);
    check_nothing_is_missing(&stats);
    volt_channel_free(channel);
    stress_stop(&st);
    stress_free(&st);
}

int main(int argc, char **argv)
{
    stress_init(&st, argc, argv);
    while (stress_next(&st))
        one_round();
    return 0;
}
