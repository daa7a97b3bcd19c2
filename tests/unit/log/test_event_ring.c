/* The event ring: numbers without a gap, owners, what was overwritten. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "daemon/auth/auth.h"
#include "daemon/log/event_ring.h"

static const struct asker all = {{0}, AUTH_ROOT};

static struct event_ring *ring_with(uint64_t n)
{
    struct event_ring *r = calloc(1, sizeof(*r));

    assert_non_null(r);
    for (uint64_t i = 1; i <= n; i++) {
        struct job_news ev = {.key = {.id = i}, .owner = i % 2 ? 1000 : 2000};
        event_ring_push(r, &ev);
    }
    return r;
}

static void gap_free(void **state)
{
    (void)state;
    struct event_ring *r = ring_with(10);
    struct job_news buf[4];
    uint64_t next = 0, lost = 1, seen = 0;
    size_t n;

    while ((n = event_ring_read(r, &all, next, buf, 4, 100, &next, &lost)))
        for (size_t i = 0; i < n; i++) {
            assert_int_equal(buf[i].seq, ++seen);
            assert_int_equal(buf[i].key.id, seen);
        }
    assert_int_equal(seen, 10);
    assert_int_equal(next, 10);
    assert_int_equal(lost, 0);
    free(r);
}

static void own_events_only(void **state)
{
    (void)state;
    struct event_ring *r = ring_with(10);
    const struct asker one = auth_user(1000), nobody = auth_user(3000);
    struct job_news buf[10];
    uint64_t next, lost;

    assert_int_equal(event_ring_read(r, &one, 0, buf, 10, 100, &next, &lost), 5);
    assert_int_equal(next, 10);
    assert_int_equal(buf[4].seq, 9);
    assert_int_equal(event_ring_read(r, &nobody, 0, buf, 10, 100, &next, &lost), 0);
    assert_int_equal(next, 10);
    assert_int_equal(event_ring_read(r, &nobody, 0, buf, 10, 4, &next, &lost), 0);
    assert_int_equal(next, 4); /* looked at four */
    free(r);
}

static void overwritten_ones_are_counted(void **state)
{
    (void)state;
    struct event_ring *r = ring_with(EVENT_RING_CAPACITY + 100);
    struct job_news buf[1];
    uint64_t next, lost;

    assert_int_equal(event_ring_read(r, &all, 0, buf, 1, 1, &next, &lost), 1);
    assert_int_equal(lost, 100);
    assert_int_equal(buf[0].seq, 101);
    assert_int_equal(event_ring_read(r, &all, 100, buf, 1, 1, &next, &lost), 1);
    assert_int_equal(lost, 0);
    assert_int_equal(buf[0].seq, 101);
    /* One from the future. */
    assert_int_equal(event_ring_read(r, &all, UINT64_MAX, buf, 1, 1, &next, &lost), 0);
    assert_int_equal(next, EVENT_RING_CAPACITY + 100);
    free(r);
}

static void numbers_begin_behind_the_base(void **state)
{
    (void)state;
    enum { BASE = 1795277537945092 };
    struct event_ring *r = calloc(1, sizeof(*r));
    struct job_news ev = {.owner = 1000}, buf[4];
    uint64_t next, lost;

    event_ring_init(r, BASE);
    assert_int_equal(event_ring_read(r, &all, BASE, buf, 4, 4, &next, &lost), 0);
    assert_int_equal(next, BASE);
    for (int i = 0; i < 3; i++)
        event_ring_push(r, &ev);
    assert_int_equal(event_ring_read(r, &all, BASE, buf, 4, 4, &next, &lost), 3);
    assert_int_equal(lost, 0);
    assert_int_equal(buf[0].seq, BASE + 1);
    assert_int_equal(next, BASE + 3);
    for (int i = 0; i < EVENT_RING_CAPACITY; i++)
        event_ring_push(r, &ev);
    assert_int_equal(event_ring_read(r, &all, BASE, buf, 4, 4, &next, &lost), 4);
    assert_int_equal(lost, 3);
    assert_int_equal(buf[0].seq, BASE + 4);
    free(r);
}

/* With numbers from elsewhere: those that are skipped are not there, but may come
 * late. */
static void given_numbers(void **state)
{
    (void)state;
    struct event_ring *r = calloc(1, sizeof(*r));
    struct job_news buf[4];
    uint64_t next, lost;

    event_ring_init(r, 100);
    r->seq = 110; /* an earlier life came so far */
    event_ring_put(r, &(struct job_news){.seq = 112});
    event_ring_put(r, &(struct job_news){.seq = 105});
    assert_int_equal(r->seq, 112);
    assert_int_equal(event_ring_read(r, &all, 100, buf, 4, 100, &next, &lost), 2);
    assert_int_equal(buf[0].seq, 105);
    assert_int_equal(buf[1].seq, 112);
    assert_int_equal(next, 112);
    assert_int_equal(lost, 0);
    assert_int_equal(event_ring_read(r, &all, 105, buf, 4, 100, &next, &lost), 1);
    /* A slot that another number had before. */
    event_ring_put(r, &(struct job_news){.seq = 105 + EVENT_RING_CAPACITY + 10});
    assert_int_equal(
        event_ring_read(r, &all, 113, buf, 4, EVENT_RING_CAPACITY, &next, &lost), 1);
    assert_int_equal(lost, 2); /* 114 and 115 */
    free(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gap_free),
        cmocka_unit_test(own_events_only),
        cmocka_unit_test(overwritten_ones_are_counted),
        cmocka_unit_test(numbers_begin_behind_the_base),
        cmocka_unit_test(given_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
