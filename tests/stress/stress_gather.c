/* Stress of what gathers many tasks: join sets, wait groups, broadcasts and watches, on more
 * workers than CPUs and over several runtimes, while the main thread cancels some of those
 * that wait. At the end nothing may be missing: members of sets, parts of groups, values;
 * each receiver has got or missed every value, in the order of its sender.
 *
 * Options: tests/support/stress.h. */
#include "base/atomic.h"
#include "tests/support/stress.h"

enum {
    TAKERS = 12,   /* tasks with a join set each */
    MEMBERS = 60,  /* of a set at most */
    LEADERS = 12,  /* tasks with a wait group each */
    HELPERS = 24,  /* of a group at most */
    SENDERS = 4,   /* of the broadcast */
    VALUES = 300,  /* of each */
    HEARERS = 10,  /* receivers of the broadcast; as many of the watch */
    WATCHED = 400, /* values of the watch */
    ROOM = 16,
};

static struct stress st;
static struct volt_broadcast *news;
static struct volt_watch *config;
static struct volt_wait_group sending; /* senders that have not ended */

static vat_u64 begun, ended; /* members and helpers */

static struct volt_runtime *any_runtime(uint64_t *seed)
{
    return st.rt[stress_random(seed, st.runtimes)];
}

/* --- members and helpers: what is awaited ------------------------------------------- */

struct part {
    uint64_t seed;
    int at, turns;
    struct volt_yield yield;
    struct volt_sleep sleep;
    uint32_t *result;              /* plain, read by the one that awaits it; or NULL */
    struct volt_wait_group *group; /* or NULL */
    uint32_t output;
};

static enum volt_poll part_poll(struct volt_cx *cx, void *state)
{
    struct part *p = state;

    VOLT_BEGIN(p->at);
    for (p->turns = (int)stress_random(&p->seed, 4); p->turns > 0; p->turns--) {
        p->yield.yielded = 0;
        VOLT_AWAIT(p->at, volt_yield_poll(cx, &p->yield));
    }
    if (stress_random(&p->seed, 4) == 0) {
        volt_sleep_init(&p->sleep, stress_random(&p->seed, 1000));
        VOLT_AWAIT(p->at, volt_sleep_poll(cx, &p->sleep));
    }
    p->output = 1;
    if (p->result)
        *p->result = 1;
    VOLT_END(p->at);
}

static void part_drop(void *state)
{
    struct part *p = state;

    volt_sleep_fini(&p->sleep);
    vat_u64_add(&ended, 1, VAT_AR);
    if (p->group)
        volt_wait_group_done(p->group); /* last: the leader may be gone with the group */
}

static const struct volt_task_type part_type = {
    .name = "part",
    .size = sizeof(struct part),
    .poll = part_poll,
    .drop = part_drop,
};

static void spawn_part(uint64_t *seed, struct volt_wait_group *group, uint32_t *result,
                       struct volt_join *join)
{
    vat_u64_add(&begun, 1, VAT_RLX);
    CHECK(VOLT_SPAWN(any_runtime(seed), &part_type, join, struct part,
                     .seed = stress_random(seed, UINT64_MAX) | 1, .group = group,
                     .result = result) == 0);
}

/* --- a join set: grows while it is awaited, and may be cancelled --------------------- */

struct taker {
    uint64_t seed;
    int at;
    unsigned added, got, cancelled;
    bool cancels;
    struct volt_join_set *set;
    struct volt_join_set_next next;
};

static void add_members(struct taker *t, unsigned n)
{
    for (; n > 0 && t->added < MEMBERS; n--, t->added++) {
        struct volt_join join;

        spawn_part(&t->seed, NULL, NULL, &join);
        CHECK(volt_join_set_add(t->set, &join) == 0);
        CHECK(join.task == NULL);
    }
}

static void count_member(struct taker *t)
{
    int status = volt_join_status(&t->next.join);

    t->got++;
    CHECK(status == 0 || (status == -ECANCELED && t->cancels));
    if (status == 0)
        CHECK(((struct part *)volt_join_state(&t->next.join))->output == 1);
    else
        t->cancelled++;
}

static enum volt_poll taker_poll(struct volt_cx *cx, void *state)
{
    struct taker *t = state;

    VOLT_BEGIN(t->at);
    t->set = volt_join_set_new();
    CHECK(t->set);
    volt_join_set_next_init(&t->next, t->set);
    add_members(t, 1 + (unsigned)stress_random(&t->seed, MEMBERS));
    for (;;) {
        VOLT_AWAIT(t->at, volt_join_set_next_poll(cx, &t->next));
        if (!t->next.join.task)
            break;
        count_member(t);
        add_members(t, (unsigned)stress_random(&t->seed, 3));
        if (stress_random(&t->seed, MEMBERS) == 0) {
            t->cancels = true;
            volt_join_set_cancel(t->set);
        }
    }
    CHECK(t->got == t->added);
    VOLT_END(t->at);
}

static void taker_drop(void *state)
{
    struct taker *t = state;

    volt_join_set_next_fini(&t->next);
    if (t->set && stress_random(&t->seed, 2))
        volt_join_set_cancel(t->set);
    volt_join_set_free(t->set);
}

static const struct volt_task_type taker_type = {
    .name = "taker",
    .size = sizeof(struct taker),
    .poll = taker_poll,
    .drop = taker_drop,
};

/* --- a wait group, which goes with the task that has waited -------------------------- */

struct leader {
    uint64_t seed;
    int at;
    unsigned helpers;
    uint32_t result[HELPERS]; /* plain */
    struct volt_wait_group group;
    struct volt_wait_group_wait wait;
};

static enum volt_poll leader_poll(struct volt_cx *cx, void *state)
{
    struct leader *l = state;

    VOLT_BEGIN(l->at);
    volt_wait_group_init(&l->group, 1);
    l->helpers = (unsigned)stress_random(&l->seed, HELPERS);
    for (unsigned i = 0; i < l->helpers; i++) {
        volt_wait_group_add(&l->group, 1);
        spawn_part(&l->seed, &l->group, &l->result[i], NULL);
    }
    volt_wait_group_done(&l->group);
    volt_wait_group_wait_init(&l->wait, &l->group);
    volt_shield_begin(cx); /* they use its memory */
    VOLT_AWAIT(l->at, volt_wait_group_wait_poll(cx, &l->wait));
    volt_shield_end(cx);
    for (unsigned i = 0; i < l->helpers; i++)
        CHECK(l->result[i] == 1);
    volt_wait_group_fini(&l->group);
    VOLT_END(l->at);
}

static void leader_drop(void *state)
{
    struct leader *l = state;

    volt_wait_group_wait_fini(&l->wait);
}

static const struct volt_task_type leader_type = {
    .name = "leader",
    .size = sizeof(struct leader),
    .poll = leader_poll,
    .drop = leader_drop,
};

/* --- broadcast: several senders, and receivers that are there from the beginning ----- */

struct value {
    uint32_t sender, number;
};

struct sender {
    int at;
    struct value value;
    struct volt_yield yield;
};

static enum volt_poll sender_poll(struct volt_cx *cx, void *state)
{
    struct sender *s = state;

    VOLT_BEGIN(s->at);
    for (s->value.number = 1; s->value.number <= VALUES; s->value.number++) {
        CHECK(volt_broadcast_try_send(news, &s->value) == 0);
        s->yield.yielded = 0;
        if (s->value.number % (s->value.sender + 2) == 0)
            VOLT_AWAIT(s->at, volt_yield_poll(cx, &s->yield));
    }
    VOLT_END(s->at);
}

static void sender_drop(void *state)
{
    (void)state;
    volt_wait_group_done(&sending);
}

static const struct volt_task_type sender_type = {
    .name = "sender",
    .size = sizeof(struct sender),
    .poll = sender_poll,
    .drop = sender_drop,
};

struct hearer {
    uint64_t seed;
    int at;
    struct value value;
    uint32_t last[SENDERS];
    uint64_t heard, missed;
    struct volt_broadcast_recv recv;
    struct volt_yield yield;
};

static enum volt_poll hearer_poll(struct volt_cx *cx, void *state)
{
    struct hearer *h = state;

    VOLT_BEGIN(h->at);
    for (;;) {
        VOLT_AWAIT(h->at, volt_broadcast_recv_poll(cx, &h->recv));
        if (volt_broadcast_recv_status(&h->recv) < 0)
            break;
        CHECK(h->value.sender < SENDERS && h->value.number > h->last[h->value.sender]);
        h->last[h->value.sender] = h->value.number;
        h->heard++;
        h->missed += h->recv.missed;
        h->yield.yielded = 0;
        if (stress_random(&h->seed, 8) == 0)
            VOLT_AWAIT(h->at, volt_yield_poll(cx, &h->yield));
    }
    CHECK(h->heard + h->missed == SENDERS * VALUES);
    VOLT_END(h->at);
}

static void hearer_drop(void *state)
{
    struct hearer *h = state;

    volt_broadcast_recv_fini(&h->recv);
}

static const struct volt_task_type hearer_type = {
    .name = "hearer",
    .size = sizeof(struct hearer),
    .poll = hearer_poll,
    .drop = hearer_drop,
};

/* --- watch: the main thread sends, and each sees the last one ------------------------ */

struct watcher {
    int at;
    uint64_t value, before;
    struct volt_watch_recv recv;
};

static enum volt_poll watcher_poll(struct volt_cx *cx, void *state)
{
    struct watcher *w = state;

    VOLT_BEGIN(w->at);
    volt_watch_recv_init(&w->recv, config, &w->value);
    volt_watch_get(config, &w->value);
    do {
        w->before = w->value;
        VOLT_AWAIT(w->at, volt_watch_recv_poll(cx, &w->recv));
        CHECK(w->value >= w->before);
    } while (volt_watch_recv_status(&w->recv) == 0);
    CHECK(w->value == WATCHED);
    VOLT_END(w->at);
}

static void watcher_drop(void *state)
{
    struct watcher *w = state;

    volt_watch_recv_fini(&w->recv);
}

static const struct volt_task_type watcher_type = {
    .name = "watcher",
    .size = sizeof(struct watcher),
    .poll = watcher_poll,
    .drop = watcher_drop,
};

/* --- the run ------------------------------------------------------------------------ */

enum { TASKS = TAKERS + LEADERS + 2 * HEARERS };

static void spawn_hearer(uint64_t *seed, struct volt_join *join)
{
    struct hearer *h = volt_task_new(any_runtime(seed), &hearer_type);

    CHECK(h);
    h->seed = stress_random(seed, UINT64_MAX) | 1;
    volt_broadcast_recv_init(&h->recv, news, &h->value);
    CHECK(volt_task_spawn(h, join) == 0);
}

static void spawn_all(uint64_t *seed, struct volt_join *join)
{
    for (int i = 0; i < TAKERS; i++)
        CHECK(VOLT_SPAWN(any_runtime(seed), &taker_type, join++, struct taker,
                         .seed = stress_random(seed, UINT64_MAX) | 1) == 0);
    for (int i = 0; i < LEADERS; i++)
        CHECK(VOLT_SPAWN(any_runtime(seed), &leader_type, join++, struct leader,
                         .seed = stress_random(seed, UINT64_MAX) | 1) == 0);
    for (int i = 0; i < HEARERS; i++)
        CHECK(VOLT_SPAWN(any_runtime(seed), &watcher_type, join++, struct watcher, 0) ==
              0);
    for (int i = 0; i < HEARERS; i++)
        spawn_hearer(seed, join++);
    volt_wait_group_init(&sending, SENDERS);
    for (uint32_t i = 0; i < SENDERS; i++)
        CHECK(VOLT_SPAWN(any_runtime(seed), &sender_type, NULL, struct sender,
                         .value.sender = i) == 0);
}

/* The end of the broadcast waits for its senders as a task does. */
struct closer {
    struct volt_wait_group_wait wait;
};

static enum volt_poll closer_poll(struct volt_cx *cx, void *state)
{
    struct closer *c = state;

    if (!c->wait.group)
        volt_wait_group_wait_init(&c->wait, &sending);
    if (volt_wait_group_wait_poll(cx, &c->wait) == VOLT_PENDING)
        return VOLT_PENDING;
    volt_broadcast_close(news);
    return VOLT_READY;
}

static void closer_drop(void *state)
{
    struct closer *c = state;

    volt_wait_group_wait_fini(&c->wait);
}

static const struct volt_task_type closer_type = {
    .name = "closer",
    .size = sizeof(struct closer),
    .poll = closer_poll,
    .drop = closer_drop,
};

static void one_round(void)
{
    uint64_t seed = stress_mix(st.seed, 0), value = 0;
    struct volt_join join[TASKS], closer;
    struct volt_stats stats;

    stress_start(&st, st.workers, NULL);
    vat_u64_init(&begun, 0);
    vat_u64_init(&ended, 0);
    news = volt_broadcast_new(sizeof(struct value), ROOM);
    config = volt_watch_new(sizeof(value), &value);
    CHECK(news && config);
    spawn_all(&seed, join);
    CHECK(VOLT_SPAWN(any_runtime(&seed), &closer_type, &closer, struct closer, {0}) == 0);
    while (value < WATCHED) {
        value++;
        CHECK(volt_watch_try_send(config, &value) == 0);
        if (stress_random(&seed, 20) == 0)
            volt_join_cancel(&join[stress_random(&seed, TASKS)]);
    }
    volt_watch_close(config);
    for (int i = 0; i < TASKS; i++) {
        (void)volt_join_wait(&join[i]);
        volt_join_fini(&join[i]);
    }
    CHECK(volt_join_wait(&closer) == 0);
    volt_join_fini(&closer);
    do { /* members of sets that were cancelled are detached */
        stats = stress_stats(&st);
    } while (stats.live > 0);
    CHECK(vat_u64_load(&begun, VAT_ACQ) == vat_u64_load(&ended, VAT_ACQ));
    CHECK(stats.timers == 0 && stats.spawned == stats.completed);
    volt_wait_group_fini(&sending);
    volt_broadcast_free(news);
    volt_watch_free(config);
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
