/* The rows of events: names, numbers and bytes that stores have, and what is refused.
 * What each does to a status is in test_job.c. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "daemon/job/event.h"

/* One of each that the store has as an event, with its bytes: those of earlier versions
 * are the same. */
static const struct {
    struct job_event ev;
    const char *bytes;
} packed[] = {
    {{.type = JOB_EV_STARTING, .at_usec = 5, .attempt = 3}, "01050363"},
    {{.type = JOB_EV_STARTED, .at_usec = 6, .pid = 4711}, "0206e724"},
    {{.type = JOB_EV_TIMEOUT, .at_usec = 7}, "0307"},
    {{.type = JOB_EV_CANCEL, .at_usec = 8}, "0408"},
    {{.type = JOB_EV_OUTPUT_LIMIT, .at_usec = 8}, "0608"},
    {{.type = JOB_EV_DEFERRED, .at_usec = 9}, "0709"},
    {{.type = JOB_EV_EXITED,
      .at_usec = 9,
      .result = JOB_RESULT_LOST,
      .code = -1,
      .step = "reboot",
      .usage = {1, 2, UINT64_MAX},
      .survivors = 12,
      .kept = 15},
     "f501090701067265626f6f740102ffffffffffffffffff010c"},
    {{.type = JOB_EV_EXITED,
      .at_usec = 10,
      .survivors = JOB_SURVIVORS_UNKNOWN,
      .named = &(const struct job_named){{1, 2, UINT32_MAX, 0, 5, 6, 7, 8}},
      .kept = 1},
     "95020a000000000000ffffffff0f0102ffffffff0f0005060708"},
    {{.type = JOB_EV_EXITED,
      .at_usec = 11,
      .result = JOB_RESULT_SIGNAL,
      .code = SIGKILL,
      .over_kib = 7},
     "85040b0312000000000007"},
};
#define PACKED (sizeof(packed) / sizeof(packed[0]))

static void rows_are_whole(void **state)
{
    static const char *const names[JOB_EV_COUNT] = {"submit",       "starting", "started",
                                                    "timeout",      "cancel",   "exited",
                                                    "output_limit", "deferred"};

    (void)state;
    for (unsigned t = 0; t < JOB_EV_COUNT; t++) {
        const struct job_event_row *row = &job_event_rows[t];

        assert_string_equal(row->name, names[t]);
        assert_string_equal(job_event_name((enum job_event_type)t), names[t]);
        assert_non_null(row->apply);
        assert_true(!row->pack == !row->unpack);
        assert_int_equal(row->is_own_entry, t != JOB_EV_SUBMIT);
        assert_int_equal(row->next[JOB_DONE], JOB_EVENT_NO); /* an end is the end */
    }
}

static void the_bytes_stay(void **state)
{
    (void)state;
    for (size_t i = 0; i < PACKED; i++) {
        struct pack p = {0};
        char hex[128] = "";

        job_event_pack(&p, &packed[i].ev, 99);
        assert_true(2 * p.n < sizeof(hex));
        for (size_t at = 0; at < p.n; at++)
            (void)snprintf(hex + 2 * at, 3, "%02x", p.bytes[at]);
        assert_string_equal(hex, packed[i].bytes);
        pack_fini(&p);
    }
}

static void check_equal(const struct job_event *ev, const struct job_event *want)
{
    assert_int_equal(ev->type, want->type);
    assert_true(ev->at_usec == want->at_usec);
    assert_int_equal(ev->attempt, want->attempt);
    assert_int_equal(ev->pid, want->pid);
    assert_int_equal(ev->result, want->result);
    assert_int_equal(ev->code, want->code);
    assert_int_equal(ev->survivors, want->survivors);
    assert_int_equal(ev->kept, want->kept);
    assert_int_equal(ev->over_kib, want->over_kib);
    assert_true(!ev->named == !want->named);
    if (ev->named)
        assert_memory_equal(ev->named, want->named, sizeof(*ev->named));
    assert_memory_equal(&ev->usage, &want->usage, sizeof(ev->usage));
    assert_true(!ev->step == !want->step);
    if (ev->step)
        assert_string_equal(ev->step, want->step);
}

static void events_come_back_as_they_were(void **state)
{
    struct pack p = {0};
    struct job_event ev;
    struct job_event_room room;
    uint64_t life;

    (void)state;
    for (size_t i = 0; i < PACKED; i++)
        job_event_pack(&p, &packed[i].ev, 99);
    struct unpack u = unpack_of(p.bytes, p.n);
    for (size_t i = 0; i < PACKED; i++) {
        assert_int_equal(job_event_unpack(&u, &ev, &life, &room), 0);
        check_equal(&ev, &packed[i].ev);
        assert_int_equal(life, ev.type == JOB_EV_STARTING ? 99 : 0);
    }
    assert_true(u.at == u.end);
    for (size_t n = p.n - 1; n > 0; n--) {
        int r = 0;

        u = unpack_of(p.bytes, n);
        while (r == 0 && u.at < u.end)
            r = job_event_unpack(&u, &ev, &life, &room);
        assert_true(r == 0 || r == -EBADMSG);
    }
    pack_fini(&p);
}

/* A type that is none or no entry of its own, and what only an end has beside it. */
static void other_bytes_are_refused(void **state)
{
    static const uint8_t bad[][4] = {
        {JOB_EV_SUBMIT, 1}, {JOB_EV_COUNT, 1},           {15, 1},
        {0x84, 0x02, 8},    {JOB_EV_CANCEL | 1 << 4, 8}, {0x85, 0x08, 8},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct unpack u = unpack_of(bad[i], sizeof(bad[i]));
        struct job_event_room room;
        struct job_event ev;
        uint64_t life;

        assert_int_equal(job_event_unpack(&u, &ev, &life, &room), -EBADMSG);
        assert_true(u.failed);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_whole),
        cmocka_unit_test(the_bytes_stay),
        cmocka_unit_test(events_come_back_as_they_were),
        cmocka_unit_test(other_bytes_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
