/* The rwlock: sharing, exclusion, and the order between a queued writer and later readers
 * (A-13, A-14, F-E6, F-E7, F-E8). */
#include "tests/support/lone.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

struct holder {
    struct volt_rwlock_acquire acquire;
    bool *held;
};

static enum volt_poll holder_poll(struct volt_cx *cx, void *state)
{
    struct holder *s = state;

    if (volt_rwlock_acquire_poll(cx, &s->acquire) == VOLT_PENDING)
        return VOLT_PENDING;
    *s->held = true;
    return VOLT_READY;
}

static void holder_drop(void *state)
{
    struct holder *s = state;

    volt_rwlock_acquire_fini(&s->acquire);
}

static const struct volt_task_type holder_type = {
    .name = "holder",
    .size = sizeof(struct holder),
    .poll = holder_poll,
    .drop = holder_drop,
};

struct fixture {
    struct volt_runtime *rt;
    struct volt_rwlock lock;
    bool held[48];
    struct volt_join join[48];
};

static void ask(struct fixture *f, unsigned i, bool write)
{
    struct holder *s = volt_task_new(f->rt, &holder_type);

    assert_non_null(s);
    s->held = &f->held[i];
    if (write)
        volt_rwlock_acquire_init_write(&s->acquire, &f->lock);
    else
        volt_rwlock_acquire_init_read(&s->acquire, &f->lock);
    lone_spawn(s, &f->join[i]);
    lone_settle(f->rt);
}

static void begin(struct fixture *f)
{
    memset(f, 0, sizeof(*f));
    f->rt = lone_runtime();
    volt_rwlock_init(&f->lock);
}

static void end(struct fixture *f)
{
    volt_rwlock_fini(&f->lock);
    volt_runtime_free(f->rt);
}

static void test_A_13_readers_share_writers_exclude(void **state)
{
    struct volt_rwlock l;

    (void)state;
    assert_int_equal(VOLT_RWLOCK_MAX_READS, 536870911);
    volt_rwlock_init(&l);
    assert_true(volt_rwlock_try_read(&l));
    assert_true(volt_rwlock_try_read(&l));
    assert_false(volt_rwlock_try_write(&l));
    volt_rwlock_read_unlock(&l);
    assert_false(volt_rwlock_try_write(&l));
    volt_rwlock_read_unlock(&l);
    assert_true(volt_rwlock_try_write(&l));
    assert_false(volt_rwlock_try_write(&l));
    assert_false(volt_rwlock_try_read(&l));
    volt_rwlock_write_unlock(&l);
    assert_true(volt_rwlock_try_read(&l));
    volt_rwlock_read_unlock(&l);
    volt_rwlock_fini(&l);
}

static void test_A_14_queued_writer_blocks_later_readers(void **state)
{
    struct fixture f;

    (void)state;
    begin(&f);
    assert_true(volt_rwlock_try_read(&f.lock));
    ask(&f, 0, true);
    ask(&f, 1, false);
    ask(&f, 2, false);
    assert_false(volt_rwlock_try_read(&f.lock));
    assert_false(f.held[0] || f.held[1] || f.held[2]);
    volt_rwlock_read_unlock(&f.lock);
    assert_int_equal(lone_join(&f.join[0]), 0);
    lone_settle(f.rt);
    assert_true(f.held[0] && !f.held[1] && !f.held[2]);
    volt_rwlock_write_unlock(&f.lock);
    assert_int_equal(lone_join(&f.join[1]), 0);
    assert_int_equal(lone_join(&f.join[2]), 0);
    volt_rwlock_read_unlock(&f.lock);
    volt_rwlock_read_unlock(&f.lock);
    assert_true(volt_rwlock_try_write(&f.lock));
    volt_rwlock_write_unlock(&f.lock);
    end(&f);
}

/* The readers behind a writer that gives up go on, sharing with those before it. */
static void test_cancelled_writer_lets_the_readers_pass(void **state)
{
    struct fixture f;

    (void)state;
    begin(&f);
    assert_true(volt_rwlock_try_read(&f.lock));
    ask(&f, 0, true);
    ask(&f, 1, false);
    volt_join_cancel(&f.join[0]);
    assert_int_equal(lone_join(&f.join[0]), -ECANCELED);
    assert_int_equal(lone_join(&f.join[1]), 0);
    assert_true(volt_rwlock_try_read(&f.lock));
    for (int i = 0; i < 3; i++)
        volt_rwlock_read_unlock(&f.lock);
    assert_true(volt_rwlock_try_write(&f.lock)); /* nothing was lost */
    volt_rwlock_write_unlock(&f.lock);
    end(&f);
}

static void test_F_E6_writer_wakes_more_than_32_readers(void **state)
{
    struct fixture f;

    (void)state;
    begin(&f);
    assert_true(volt_rwlock_try_write(&f.lock));
    for (unsigned i = 0; i < 48; i++)
        ask(&f, i, false);
    volt_rwlock_write_unlock(&f.lock);
    for (unsigned i = 0; i < 48; i++)
        assert_int_equal(lone_join(&f.join[i]), 0);
    for (unsigned i = 0; i < 48; i++)
        volt_rwlock_read_unlock(&f.lock);
    assert_true(volt_rwlock_try_write(&f.lock));
    volt_rwlock_write_unlock(&f.lock);
    end(&f);
}

static void expect_info(struct fixture *f, unsigned readers, bool writer,
                        unsigned readers_waiting, unsigned writers_waiting)
{
    struct volt_rwlock_info i;

    volt_rwlock_inspect(&f->lock, &i);
    assert_int_equal(i.readers, readers);
    assert_int_equal(i.writer, writer);
    assert_int_equal(i.readers_waiting, readers_waiting);
    assert_int_equal(i.writers_waiting, writers_waiting);
}

/* A queued writer is no holder, and what readers hold is counted beside it. */
static void test_F_E8_inspect_tells_holders_from_waiters(void **state)
{
    struct fixture f;

    (void)state;
    begin(&f);
    expect_info(&f, 0, false, 0, 0);
    assert_true(volt_rwlock_try_read(&f.lock));
    assert_true(volt_rwlock_try_read(&f.lock));
    expect_info(&f, 2, false, 0, 0);
    ask(&f, 0, true);
    ask(&f, 1, false);
    expect_info(&f, 2, false, 1, 1);
    volt_rwlock_read_unlock(&f.lock);
    expect_info(&f, 1, false, 1, 1);
    volt_rwlock_read_unlock(&f.lock);
    assert_int_equal(lone_join(&f.join[0]), 0);
    expect_info(&f, 0, true, 1, 0);
    ask(&f, 2, true);
    expect_info(&f, 0, true, 1, 1);
    volt_rwlock_write_unlock(&f.lock);
    assert_int_equal(lone_join(&f.join[1]), 0);
    expect_info(&f, 1, false, 0, 1);
    volt_rwlock_read_unlock(&f.lock);
    assert_int_equal(lone_join(&f.join[2]), 0);
    expect_info(&f, 0, true, 0, 0);
    volt_rwlock_write_unlock(&f.lock);
    expect_info(&f, 0, false, 0, 0);
    end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_A_13_readers_share_writers_exclude),
        cmocka_unit_test(test_A_14_queued_writer_blocks_later_readers),
        cmocka_unit_test(test_cancelled_writer_lets_the_readers_pass),
        cmocka_unit_test(test_F_E6_writer_wakes_more_than_32_readers),
        cmocka_unit_test(test_F_E8_inspect_tells_holders_from_waiters),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
