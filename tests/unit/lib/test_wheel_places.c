/* Where the timer wheel puts its entries, in a wheel of three levels and portions of 4,
 * compiled into this program, so that every boundary is near. Beside it stands the plain
 * definition: an array of due times.
 *
 * After every operation: each entry lies where the rules of wheel.h let it lie, the
 * counts and bounds of each slot are true, the published next time is not later than the
 * earliest entry, and not earlier but for a portion or a cancelled entry; what fired is
 * what was due. How much one hold of the lock and one look may do is asserted by
 * counting entries. */
#define WHEEL_LEVELS  3
#define WHEEL_PORTION 4
#include "driver/wheel.c" /* with the sizes above */

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define TICK ((uint64_t)WHEEL_TICK_USEC)
/* An entry that is farther away than this, or than a slot of the last level less, waits
 * in that level's farthest slot and is placed again. */
#define REACH (64u * 32 * 32)

enum { TIMERS = 600 };

/* A timer, the task that it wakes, and what the definition knows of it. */
struct timer {
    struct volt_sleep sleep;
    struct volt_task task;
    uint64_t when; /* tick */
    bool armed;
};

static struct wheel wheel;
static struct timer timers[TIMERS];
static uint64_t tick;      /* the clock */
static uint64_t behind;    /* by so much the clock of one that arms a timer */
static unsigned cancelled; /* entries that were a slot's earliest, since the last look */
static uint64_t rng_state = 1;

static uint64_t rnd(uint64_t below)
{
    rng_state ^= rng_state << 13;
    rng_state ^= rng_state >> 7;
    rng_state ^= rng_state << 17;
    return rng_state % below;
}

static void begin(uint64_t at)
{
    tick = at;
    behind = 0;
    cancelled = 0;
    wheel_init(&wheel, tick * TICK);
    memset(timers, 0, sizeof(timers));
}

/* An entry goes to level 0 if its tick is among the next 63, otherwise to a slot that
 * begins later than the end of the next one. */
static void check_place(const struct timer *t)
{
    unsigned level = t->sleep.slot / WHEEL_SLOTS;
    uint64_t span = UINT64_C(1) << (SLOT_BITS * level);
    uint64_t when = t->when > wheel.elapsed ? t->when : wheel.elapsed;
    uint64_t away = when - wheel.elapsed, begin_tick = when / span * span;

    assert_true((level == 0) == (away <= 63));
    if (level == 0)
        return;
    assert_true(begin_tick >= (wheel.elapsed / span + 2) * span);
    assert_true(away > 63 * span / 32);
    assert_true(level == TOP || away < 64 * span);
}

static void timer_arm(struct timer *t, uint64_t when)
{
    uint64_t next = wheel_next(&wheel), elapsed = wheel.elapsed;
    uint64_t now = tick > behind ? tick - behind : 0;
    int earlier;

    memset(t, 0, sizeof(*t));
    vat_u64_init(&t->task.state, TASK_REF_ONE);
    t->sleep.deadline_usec = when * TICK;
    t->when = when;
    t->armed = true;
    earlier = wheel_insert(&wheel, &t->sleep, &t->task, now * TICK);
    assert_true(wheel.elapsed >= elapsed);
    assert_int_equal(earlier, wheel_next(&wheel) < next);
    check_place(t);
}

static void timer_cancel(struct timer *t)
{
    struct wheel_slot *slot =
        &wheel.level[t->sleep.slot / WHEEL_SLOTS].slot[t->sleep.slot % WHEEL_SLOTS];

    if (t->sleep.slot >= WHEEL_SLOTS && t->when <= slot->earliest && slot->count > 1)
        cancelled++;
    wheel_cancel(&t->sleep);
    t->armed = false;
}

/* Every slot against its entries. */
static uint64_t check_slots(void)
{
    uint64_t entries = 0;

    for (unsigned l = 0; l < WHEEL_LEVELS; l++) {
        assert_int_equal(wheel.occupied >> l & 1, wheel.level[l].occupied != 0);
        for (unsigned i = 0; i < WHEEL_SLOTS; i++) {
            const struct wheel_slot *slot = &wheel.level[l].slot[i];
            const struct volt_sleep *before = NULL;
            uint32_t n = 0;

            assert_int_equal(wheel.level[l].occupied >> i & 1, slot->head != NULL);
            for (const struct volt_sleep *s = slot->head; s; before = s, s = s->next) {
                uint64_t number = slot_number(slot->earliest, l);

                n++;
                assert_ptr_equal(s->prev, before);
                assert_int_equal(s->slot, l * WHEEL_SLOTS + i);
                assert_true(number - slot_number(wheel.elapsed, l) <= 63);
                assert_int_equal(number % WHEEL_SLOTS, i);
                assert_true(due_tick(s) >= slot->earliest || l == 0);
                assert_true(slot_number(due_tick(s), l) <= number || l == TOP);
            }
            assert_ptr_equal(slot->tail, before);
            assert_int_equal(slot->count, n);
            /* Nothing of size is left when a slot begins. */
            if (l > 0 && n > WHEEL_PORTION)
                assert_true(slot_begin(slot, l) >= wheel.elapsed);
            entries += n;
        }
    }
    return entries;
}

/* True: an entry is farther than the wheel reaches, and due to be placed again. */
static bool beyond_waits(void)
{
    for (unsigned i = 0; i < TIMERS; i++) {
        const struct volt_sleep *s = &timers[i].sleep;

        if (timers[i].armed && s->slot / WHEEL_SLOTS == TOP &&
            slot_number(timers[i].when, TOP) % WHEEL_SLOTS != s->slot % WHEEL_SLOTS)
            return true;
    }
    return false;
}

/* True: a coarse slot is being emptied, or is about to be. */
static bool portions_wait(void)
{
    for (unsigned l = 1; l < WHEEL_LEVELS; l++)
        for (unsigned i = 0; i < WHEEL_SLOTS; i++)
            if (wheel.level[l].slot[i].count > WHEEL_PORTION)
                return true;
    return false;
}

static void check_all(void)
{
    uint64_t earliest = WHEEL_NEVER, alive = 0, next = wheel_next(&wheel);

    for (unsigned i = 0; i < TIMERS; i++) {
        if (!timers[i].armed)
            continue;
        alive++;
        if (timers[i].when < earliest)
            earliest = timers[i].when;
    }
    assert_int_equal(check_slots(), alive);
    assert_int_equal(vat_u64_load(&wheel.armed, VAT_RLX), alive);
    if (alive == 0) {
        assert_true(next == WHEEL_NEVER);
        return;
    }
    if (earliest < wheel.elapsed)
        earliest = wheel.elapsed;
    assert_true(next <= earliest * TICK);
    if (!portions_wait() && !beyond_waits() && cancelled == 0)
        assert_true(next == earliest * TICK);
}

/* Looks at `at`: what fires is what is due. Returns how many. */
static unsigned look(uint64_t at)
{
    struct task_chain chain = {0};
    unsigned due = 0;

    tick = at;
    wheel.longest = 0;
    wheel_fire(&wheel, tick * TICK, &chain);
    for (unsigned i = 0; i < TIMERS; i++) {
        struct timer *t = &timers[i];

        if (!t->armed)
            continue;
        assert_int_equal(wheel_fired(&t->sleep), t->when <= tick);
        if (t->when <= tick) {
            t->armed = false;
            due++;
        }
    }
    assert_int_equal(chain.count, due);
    assert_true(wheel.longest <= WHEEL_PORTION);
    return due;
}

/* One timer at every phase of the wheel and every distance about a boundary, looked at
 * when the wheel says: it fires at its tick, at the first look. */
static void test_alone_one_look_at_its_tick(void **state)
{
    static const uint64_t abouts[] = {
        1, 31, 63, 95, 63 * 32 - 1, 63 * 32 + 31, 65 * 32, 9999,
    };

    (void)state;
    for (uint64_t at = 0; at < 2 * 1024 + 3; at++) {
        for (unsigned a = 0; a < sizeof(abouts) / sizeof(*abouts); a++) {
            for (uint64_t d = abouts[a]; d <= abouts[a] + 1; d++) {
                struct task_chain chain = {0};

                wheel_init(&wheel, at * TICK);
                tick = at;
                timer_arm(&timers[0], at + d);
                assert_true(wheel_next(&wheel) == (at + d) * TICK);
                wheel_fire(&wheel, (at + d) * TICK - 1, &chain);
                assert_int_equal(chain.count, 0);
                wheel_fire(&wheel, (at + d) * TICK, &chain);
                assert_int_equal(chain.count, 1);
                assert_true(wheel_next(&wheel) == WHEEL_NEVER);
            }
        }
    }
}

/* The farthest slot of the last level, the one before it, and what lies beyond. */
static void test_last_slot_and_beyond(void **state)
{
    (void)state;
    for (uint64_t at = 1024 * 64 - 40; at < 1024 * 65 + 40; at += 13) {
        for (uint64_t d = REACH - 1030; d < REACH + 1030; d += 41) {
            unsigned looks = 0;

            begin(at);
            timer_arm(&timers[0], at + d);
            timer_arm(&timers[1], at + 3 * REACH);
            check_all();
            while (timers[0].armed) {
                (void)look(wheel_next(&wheel) / TICK);
                check_all();
                looks++;
            }
            assert_int_equal(tick, at + d);
            assert_true(looks <= 2);
            while (timers[1].armed)
                (void)look(wheel_next(&wheel) / TICK);
            assert_int_equal(tick, at + 3 * REACH);
        }
    }
}

static uint64_t some_delay(void)
{
    static const uint64_t about[] = {3, 32, 64, 1024, 2048, REACH - 1024, REACH};

    switch (rnd(4)) {
    case 0:
        return rnd(70);
    case 1:
        return rnd(UINT64_C(1) << (1 + rnd(17)));
    case 2: /* many into one coarse slot */
        return (tick / 1024 + 3) * 1024 - tick + rnd(1024);
    default:
        return about[rnd(7)] - 2 + rnd(5);
    }
}

/* Random insertions, cancellations and looks against the definition. */
static void test_random_against_definition(void **state)
{
    uint64_t moved = 0, portions = 0;

    (void)state;
    for (unsigned life = 0; life < 60; life++) {
        begin(rnd(100000));
        unsigned mostly = 1 + (unsigned)rnd(4), cancels = (unsigned)rnd(3);

        for (unsigned round = 0; round < 3000; round++) {
            struct timer *t = &timers[rnd(TIMERS)];

            behind = rnd(3) ? 0 : rnd(200);
            if (!t->armed)
                timer_arm(t, tick + some_delay());
            else if (rnd(4) < cancels)
                timer_cancel(t);
            if (round % 16 == 0)
                check_all();
            if (rnd(4 * mostly))
                continue;
            if (wheel_next(&wheel) != WHEEL_NEVER && rnd(3))
                (void)look(wheel_next(&wheel) / TICK);
            else
                (void)look(tick + rnd(UINT64_C(1) << rnd(mostly == 1 ? 16 : 9)));
            if (!cancels)
                check_all();
            portions += portions_wait();
        }
        check_all();
        moved += wheel.moved;
    }
    assert_true(moved > 5000 && portions > 10000); /* it was tried */
}

/* Nothing but looks when the wheel says: all that is armed fires at its very tick. */
static void test_every_timer_at_its_tick(void **state)
{
    (void)state;
    for (unsigned life = 0; life < 100; life++) {
        begin(rnd(100000));
        for (unsigned i = 0; i < TIMERS; i++)
            timer_arm(&timers[i], tick + some_delay());
        for (uint64_t next; (next = wheel_next(&wheel) / TICK) < WHEEL_NEVER / TICK;) {
            assert_true(next >= tick);
            for (unsigned i = 0; i < TIMERS; i++)
                assert_true(!timers[i].armed || timers[i].when >= next);
            (void)look(next);
            if (!timers[0].armed && rnd(8) == 0)
                timer_arm(&timers[0], tick + 1 + rnd(60));
        }
        for (unsigned i = 0; i < TIMERS; i++)
            assert_false(timers[i].armed);
    }
}

/* A slot of many is moved in even portions; a timer beside it is never behind them. */
static void test_portions_are_even_and_delay_nobody(void **state)
{
    enum { CROWD = 500 };

    (void)state;
    for (unsigned life = 0; life < 40; life++) {
        uint64_t at = 50000 + rnd(1024), from = (at / 1024 + 4) * 1024, most = 0;
        unsigned looks = 0, near_fired = 0;

        begin(at);
        /* The slot before waits for its last tick, and delays no portion. */
        timer_arm(&timers[0], from - 1);
        for (unsigned i = 1; i < CROWD; i++)
            timer_arm(&timers[i], from + rnd(1024));
        while (tick < from + 1024) {
            struct timer *near = &timers[CROWD + looks % (TIMERS - CROWD)];
            uint64_t before = wheel.moved, deadline = tick + 1;

            timer_arm(near, deadline);
            (void)look(deadline);
            looks++;
            near_fired += !near->armed;
            if (wheel.moved - before > most)
                most = wheel.moved - before;
        }
        assert_int_equal(near_fired, looks);
        /* 125 portions in 1024 ticks, then 16 entries on an average in 32 ticks: one
         * portion of each level in a tick, or what is left of a slot. */
        assert_true(most <= 3 * WHEEL_PORTION);
        assert_true(wheel.moved >= CROWD && wheel.moved <= 2 * CROWD);
        assert_int_equal(vat_u64_load(&wheel.armed, VAT_RLX), 0);
    }
}

/* Few entries in a coarse slot: nobody is woken before the first of them is due. */
static void test_few_need_no_look(void **state)
{
    (void)state;
    begin(7);
    for (unsigned i = 0; i < WHEEL_PORTION; i++)
        timer_arm(&timers[i], 5000 + i);
    assert_true(wheel_next(&wheel) == 5000 * TICK);
    timer_arm(&timers[WHEEL_PORTION], 5000); /* one more than a portion */
    assert_true(wheel_next(&wheel) == (4096 - 1024) * TICK);
    timer_cancel(&timers[0]);
    assert_true(wheel_next(&wheel) == 5000 * TICK);
}

/* One worker's clock is older than that of the last look: time does not run back. */
static void test_armed_by_an_older_clock(void **state)
{
    (void)state;
    begin(10000);
    timer_arm(&timers[0], 10005);
    timer_arm(&timers[1], 10030);
    behind = 100;
    timer_arm(&timers[2], 10003);
    timer_cancel(&timers[2]);
    check_all();
    assert_true(wheel_next(&wheel) == 10005 * TICK);
    assert_int_equal(look(10005), 1);
    assert_int_equal(look(10030), 1);
}

static void test_close_fires_all_in_portions(void **state)
{
    struct task_chain chain = {0};

    (void)state;
    begin(3);
    for (unsigned i = 0; i < TIMERS; i++)
        timer_arm(&timers[i], tick + some_delay());
    wheel_close(&wheel, &chain);
    assert_int_equal(chain.count, TIMERS);
    assert_true(wheel.longest <= WHEEL_PORTION);
    assert_int_equal(vat_u64_load(&wheel.armed, VAT_RLX), 0);
    assert_true(wheel_next(&wheel) == WHEEL_NEVER);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_alone_one_look_at_its_tick),
        cmocka_unit_test(test_last_slot_and_beyond),
        cmocka_unit_test(test_random_against_definition),
        cmocka_unit_test(test_every_timer_at_its_tick),
        cmocka_unit_test(test_portions_are_even_and_delay_nobody),
        cmocka_unit_test(test_few_need_no_look),
        cmocka_unit_test(test_armed_by_an_older_clock),
        cmocka_unit_test(test_close_fires_all_in_portions),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
