/* What a user's connections hold together: below the limit nobody waits, above it one at a
 * time goes on, in the order of the line, and nothing that waits is forgotten. What streams
 * keep. And which connections are served. */
#include "tests/support/lone.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "daemon/call/share.h"

#define KIB   UINT64_C(1024)
#define LIMIT (1024 * KIB)
#define LONG  (768 * KIB) /* of it */
#define SHORT (256 * KIB)

enum { SHARES = 4 };

static struct fixture {
    struct volt_runtime *rt;
    struct holder *user;
    uint64_t limit;
    struct share share[SHARES];
    bool goes_on[SHARES];
    enum share_pool pool;
    unsigned replies[9], nreplies; /* which streams have replied */
    int others_first;
    struct volt_join join[SHARES];
} f;

struct asker {
    unsigned i;
    bool for_time;
    enum share_pool pool;
};

static enum volt_poll asker_poll(struct volt_cx *cx, void *state)
{
    struct asker *a = state;
    struct share *s = &f.share[a->i];

    if (a->for_time && share_enter_poll(cx, s) == VOLT_PENDING)
        return VOLT_PENDING;
    if (!a->for_time && share_room_poll(cx, s, a->pool, f.limit) == VOLT_PENDING)
        return VOLT_PENDING;
    f.goes_on[a->i] = true;
    return VOLT_READY;
}

static const struct volt_task_type asker_type = {
    .name = "asker", .size = sizeof(struct asker), .poll = asker_poll};

/* One after the other each of them asks, for room or to be served. */
static void ask_for(bool time, unsigned first, unsigned last)
{
    for (unsigned i = first; i <= last; i++) {
        struct asker *a = volt_task_new(f.rt, &asker_type);

        assert_non_null(a);
        a->i = i;
        a->for_time = time;
        a->pool = f.pool;
        lone_spawn(a, &f.join[i]);
        lone_settle(f.rt);
    }
}

static void ask(unsigned first, unsigned last)
{
    ask_for(false, first, last);
}

static void hold(unsigned i, uint64_t bytes)
{
    share_hold(&f.share[i], bytes, f.limit);
    lone_settle(f.rt);
}

static unsigned going(void)
{
    unsigned n = 0;

    for (unsigned i = 0; i < SHARES; i++)
        n |= (unsigned)f.goes_on[i] << i;
    return n;
}

static int set_up(void **state)
{
    (void)state;
    f = (struct fixture){.rt = lone_runtime(),
                         .user = holder_new(12345, 2),
                         .limit = LIMIT,
                         .pool = SHARE_LONG};
    assert_non_null(f.user);
    for (unsigned i = 0; i < SHARES; i++)
        f.share[i] = (struct share){.of = f.user, .pool = SHARE_LONG, .heavy = true};
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    for (unsigned i = 0; i < SHARES; i++) {
        if (f.goes_on[i])
            assert_int_equal(lone_join(&f.join[i]), 0);
        else
            volt_join_fini(&f.join[i]); /* it never asked, or waits still */
        share_fini(&f.share[i], f.limit);
    }
    volt_runtime_free(f.rt);
    assert_int_equal(f.user->line[SHARE_SHORT].held, 0);
    assert_int_equal(f.user->line[SHARE_LONG].held, 0);
    assert_int_equal(f.user->kept, 0);
    assert_null(f.user->pass);
    holder_free(f.user);
    return 0;
}

/* However few may be served, one is. */
static void one_is_served(void **state)
{
    (void)state;
    for (unsigned served = 0; served < 3; served++) {
        struct holder *h = holder_new(1, served);
        const uint64_t n = served ? served : 1;

        assert_non_null(h);
        assert_int_equal(volt_sem_available(&h->served), n);
        assert_int_equal(volt_sem_available(&h->gate), n);
        assert_int_equal(volt_sem_available(&h->reserved), 1);
        assert_int_equal(h->can_withhold, served == 2);
        holder_free(h);
    }
}

static void below_the_limit_nobody_waits(void **state)
{
    (void)state;
    hold(0, LONG - 4 * KIB);
    hold(1, 4 * KIB - 1); /* less than a page is nothing */
    ask(0, 3);
    assert_int_equal(going(), 15);
}

static void beyond_it_they_take_turns(void **state)
{
    (void)state;
    hold(0, LONG);
    ask(1, 3);
    assert_int_equal(going(), 2);
    hold(1, 100 * KIB);
    assert_int_equal(going(), 2);
    hold(1, 8 * KIB); /* little again */
    assert_int_equal(going(), 6);
    share_fini(&f.share[2], f.limit); /* gone, with its turn */
    lone_settle(f.rt);
    assert_int_equal(going(), 14);
}

static void with_the_turn_it_need_not_ask_again(void **state)
{
    (void)state;
    hold(0, LONG);
    ask(1, 2);
    hold(1, 2 * LIMIT);
    assert_true(share_has_room(&f.share[1], SHARE_LONG, f.limit));
    assert_false(share_has_room(&f.share[0], SHARE_LONG, f.limit));
    hold(1, 0);
    assert_int_equal(going(), 6);
}

struct stream {
    unsigned i, replies;
};

/* Replies, is read, and asks again at once. */
static enum volt_poll stream_poll(struct volt_cx *cx, void *state)
{
    struct stream *t = state;
    struct share *s = &f.share[t->i];

    while (share_room_poll(cx, s, SHARE_LONG, f.limit) == VOLT_READY) {
        if (f.nreplies < 9)
            f.replies[f.nreplies++] = t->i;
        share_hold(s, 100 * KIB, f.limit);
        share_hold(s, 0, f.limit);
        if (++t->replies == 3) {
            f.goes_on[t->i] = true;
            return VOLT_READY;
        }
    }
    return VOLT_PENDING;
}

static const struct volt_task_type stream_type = {
    .name = "stream", .size = sizeof(struct stream), .poll = stream_poll};

/* Streams stand in line once for each reply: the pass goes round. */
static void the_turn_goes_to_the_next_in_line(void **state)
{
    static const unsigned rounds[9] = {1, 2, 3, 1, 2, 3, 1, 2, 3};
    struct share heavy = {.of = f.user, .pool = SHARE_LONG};

    (void)state;
    share_hold(&heavy, LONG, f.limit);
    ask(0, 0);
    hold(0, 100 * KIB);
    for (unsigned i = 1; i <= 3; i++) {
        struct stream *t = volt_task_new(f.rt, &stream_type);

        t->i = i;
        lone_spawn(t, &f.join[i]);
    }
    lone_settle(f.rt);
    assert_int_equal(f.nreplies, 0);
    hold(0, 0);
    assert_memory_equal(f.replies, rounds, sizeof(rounds));
    assert_int_equal(going(), 15);
    share_fini(&heavy, f.limit);
}

static void room_is_for_all_that_wait(void **state)
{
    (void)state;
    hold(0, 2 * LIMIT);
    ask(1, 3);
    hold(1, 64 * KIB); /* keeps the pass */
    assert_int_equal(going(), 2);
    hold(0, 0);
    assert_int_equal(going(), 14);
}

/* A limit that is raised is crossed by nobody. */
static void a_new_limit_is_for_all_that_wait(void **state)
{
    (void)state;
    hold(0, 2 * LIMIT);
    ask(1, 3);
    f.limit = 4 * LIMIT;
    hold(1, 0);
    assert_int_equal(going(), 14);
}

/* Calls of every day go on beside any number of long ones, and the other way round. */
static void short_calls_have_a_part_of_their_own(void **state)
{
    (void)state;
    hold(0, 2 * LIMIT);
    f.pool = SHARE_SHORT;
    ask(1, 1);
    hold(1, SHORT);
    assert_int_equal(going(), 2);
    ask(2, 2); /* nobody gets a turn there */
    assert_int_equal(going(), 2);
    f.pool = SHARE_LONG;
    ask(3, 3);
    assert_int_equal(going(), 2 | 8);
    hold(1, SHORT - 4 * KIB);
    assert_int_equal(going(), 2 | 4 | 8);
}

/* What has held much and holds nothing is like one that has just come. */
static void holding_nothing_it_begins_among_the_short_ones(void **state)
{
    (void)state;
    hold(0, 100 * KIB);
    assert_int_equal(f.user->line[SHARE_LONG].held, 100 * KIB);
    hold(0, 0);
    hold(0, 8 * KIB);
    assert_int_equal(f.user->line[SHARE_LONG].held, 0);
    assert_int_equal(f.user->line[SHARE_SHORT].held, 8 * KIB);
}

/* Its patience begins anew with each thing that moves where it stands. */
static void what_moves_is_waited_for(void **state)
{
    uint64_t before, now;

    (void)state;
    hold(0, LONG);
    ask(1, 2);
    before = share_patience(&f.share[2]);
    now = volt_now_usec();
    while (volt_now_usec() == now)
        ;
    hold(1, 100 * KIB); /* does something with its turn */
    assert_true(share_patience(&f.share[2]) > before);
    hold(1, 0);
    assert_int_equal(going(), 6);
}

/* What leaves the line without room lets the next one look. */
static void who_gives_up_lets_the_next_go(void **state)
{
    (void)state;
    hold(0, LONG);
    ask(1, 3);
    share_wait_no_more(&f.share[2], f.limit);
    assert_int_equal(share_patience(&f.share[2]), UINT64_MAX);
    assert_true(share_patience(&f.share[3]) != UINT64_MAX);
    hold(1, 0);
    assert_int_equal(going() & 8, 8);
}

static void what_streams_keep_has_a_limit(void **state)
{
    (void)state;
    assert_true(share_keep(&f.share[0], LIMIT - 10, LIMIT));
    assert_false(share_keep(&f.share[1], 11, LIMIT));
    assert_true(share_keep(&f.share[1], 10, LIMIT));
    assert_false(share_keep(&f.share[2], UINT64_MAX, LIMIT));
    ask(2, 2); /* and is no business of calls */
    assert_int_equal(going(), 4);
    share_keep_none(&f.share[0]);
    assert_true(share_keep(&f.share[2], LIMIT - 10, LIMIT));
}

static void leave(unsigned i)
{
    share_leave(&f.share[i], false);
    lone_settle(f.rt);
}

static void few_are_served_at_a_time(void **state)
{
    (void)state;
    ask_for(true, 0, 3);
    assert_int_equal(going(), 3);
    leave(1);
    assert_int_equal(going(), 7);
    leave(0);
    assert_int_equal(going(), 15);
    leave(2);
    leave(3);
}

/* While others are busy, one less is. */
static void one_less_is_served_beside_others(void **state)
{
    (void)state;
    ask_for(true, 0, 3);
    assert_int_equal(going(), 3);
    share_leave(&f.share[0], true);
    lone_settle(f.rt);
    assert_int_equal(going(), 3);
    share_leave(&f.share[1], true);
    lone_settle(f.rt);
    assert_int_equal(going(), 7);
    leave(2); /* alone again: for itself, and for the one that was withheld */
    assert_int_equal(going(), 15);
    leave(3);
    assert_int_equal(volt_sem_available(&f.user->served), 2);
}

/* All count together; before one that does little are no more that do much than can be
 * served at a time. */
static void what_does_little_is_not_behind_the_others(void **state)
{
    (void)state;
    f.share[3].heavy = false;
    ask_for(true, 0, 3);
    assert_int_equal(going(), 3);
    leave(0);
    assert_int_equal(going(), 3 | 8);
    leave(3); /* what it gives back is for any of them */
    assert_int_equal(going(), 15);
    leave(1);
    leave(2);
    assert_int_equal(volt_sem_available(&f.user->served), 2);
    assert_int_equal(volt_sem_available(&f.user->gate), 2);
}

static void those_that_do_little_are_few_too(void **state)
{
    (void)state;
    for (unsigned i = 0; i < SHARES; i++)
        f.share[i].heavy = false;
    ask_for(true, 0, 3);
    assert_int_equal(going(), 3);
    share_leave(&f.share[0], true); /* others are busy: one less */
    lone_settle(f.rt);
    assert_int_equal(going(), 3);
    share_leave(&f.share[1], true);
    lone_settle(f.rt);
    assert_int_equal(going(), 7);
    leave(2);
    leave(3);
    assert_int_equal(volt_sem_available(&f.user->served), 2);
}

/* One that goes away, from before the gate or behind it, is no hole in a line. */
static void what_goes_away_gives_its_place_back(void **state)
{
    (void)state;
    ask_for(true, 0, 3);
    share_fini(&f.share[2], f.limit); /* before the gate */
    leave(0);
    assert_int_equal(going(), 3 | 8);
    leave(1);
    leave(3);
    assert_int_equal(volt_sem_available(&f.user->gate), 2);
}

static void also_when_it_is_behind_the_gate(void **state)
{
    (void)state;
    f.share[0].heavy = f.share[1].heavy = false;
    ask_for(true, 0, 3);
    assert_int_equal(going(), 3);
    assert_int_equal(volt_sem_available(&f.user->gate), 0);
    share_fini(&f.share[2], f.limit);
    assert_int_equal(volt_sem_available(&f.user->gate), 1);
    leave(0);
    assert_int_equal(going(), 3 | 8);
    leave(1);
    leave(3);
    assert_int_equal(volt_sem_available(&f.user->gate), 2);
    assert_int_equal(volt_sem_available(&f.user->served), 2);
}

/* With a single worker somebody has to be served. */
static void never_none(void **state)
{
    struct holder *lone = holder_new(12345, 1);

    (void)state;
    f.share[0].of = f.share[1].of = lone;
    ask_for(true, 0, 1);
    assert_int_equal(going(), 1);
    share_leave(&f.share[0], true);
    lone_settle(f.rt);
    assert_int_equal(going(), 3);
    leave(1);
    f.share[0].of = f.share[1].of = f.user;
    holder_free(lone);
}

static void admins_have_a_line_of_their_own(void **state)
{
    (void)state;
    f.share[3].reserved = true;
    ask_for(true, 0, 3);
    assert_int_equal(going(), 3 | 8);
    leave(3);
    assert_int_equal(going(), 3 | 8); /* what it gives back is for admins */
    leave(0);
    assert_int_equal(going(), 15);
    leave(1);
    leave(2);
}

static enum volt_poll other_poll(struct volt_cx *cx, void *state)
{
    (void)cx;
    (void)state;
    f.others_first += !f.goes_on[0];
    return VOLT_READY;
}

static const struct volt_task_type other_type = {
    .name = "other", .size = 1, .poll = other_poll};

/* Makes tasks that are queued in this order, but the last, which runs next. */
static enum volt_poll spawner_poll(struct volt_cx *cx, void *state)
{
    struct asker *a = volt_task_new(f.rt, &asker_type);

    (void)cx;
    (void)state;
    a->for_time = true;
    (void)volt_task_spawn(a, &f.join[0]);
    (void)volt_task_spawn(volt_task_new(f.rt, &other_type), NULL);
    (void)volt_task_spawn(volt_task_new(f.rt, &other_type), NULL);
    return VOLT_READY;
}

static const struct volt_task_type spawner_type = {
    .name = "spawner", .size = 1, .poll = spawner_poll};

static void others_that_can_run_go_first(void **state)
{
    struct volt_join join;

    (void)state;
    lone_spawn(volt_task_new(f.rt, &spawner_type), &join);
    lone_settle(f.rt);
    assert_int_equal(lone_join(&join), 0);
    assert_int_equal(going(), 1);
    assert_int_equal(f.others_first, 2);
    leave(0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(below_the_limit_nobody_waits, set_up, tear_down),
        cmocka_unit_test_setup_teardown(beyond_it_they_take_turns, set_up, tear_down),
        cmocka_unit_test_setup_teardown(with_the_turn_it_need_not_ask_again, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(the_turn_goes_to_the_next_in_line, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(room_is_for_all_that_wait, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_new_limit_is_for_all_that_wait, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(short_calls_have_a_part_of_their_own, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(holding_nothing_it_begins_among_the_short_ones,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_moves_is_waited_for, set_up, tear_down),
        cmocka_unit_test_setup_teardown(who_gives_up_lets_the_next_go, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_streams_keep_has_a_limit, set_up, tear_down),
        cmocka_unit_test(one_is_served),
        cmocka_unit_test_setup_teardown(few_are_served_at_a_time, set_up, tear_down),
        cmocka_unit_test_setup_teardown(one_less_is_served_beside_others, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(what_does_little_is_not_behind_the_others, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(those_that_do_little_are_few_too, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(what_goes_away_gives_its_place_back, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(also_when_it_is_behind_the_gate, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(never_none, set_up, tear_down),
        cmocka_unit_test_setup_teardown(admins_have_a_line_of_their_own, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(others_that_can_run_go_first, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
