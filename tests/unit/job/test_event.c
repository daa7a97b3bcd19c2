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
    {{.type = JOB_EV_STARTING,
      .at_usec = 5,
      .attempt = 33,
      .is_base = true,
      .base = {{100, 200, 300}, JOB_LOST_MAX, JOB_RESULT_DEPENDENCY, true}},
     "1105216364c801ac02050a01"},
    {{.type = JOB_EV_STARTED, .at_usec = 6, .pid = 4711}, "0206e724"},
    {{.type = JOB_EV_TIMEOUT, .at_usec = 7}, "0307"},
    {{.type = JOB_EV_CANCEL, .at_usec = 8}, "0408"},
    {{.type = JOB_EV_OUTPUT_LIMIT, .at_usec = 8}, "0608"},
    {{.type = JOB_EV_DEFERRED, .at_usec = 9}, "0709"},
    {{.type = JOB_EV_HOLD, .at_usec = 9, .held = JOB_HELD_BY_ADMIN, .by = 1000},
     "080902e807"},
    {{.type = JOB_EV_RELEASE, .at_usec = 9, .by = 1000}, "0909e807"},
    {{.type = JOB_EV_EXPIRED, .at_usec = 9}, "0a09"},
    {{.type = JOB_EV_DEPENDENCY,
      .at_usec = 9,
      .antecedent = 300,
      .result = JOB_RESULT_SIGNAL},
     "0b09ac0203"},
    {{.type = JOB_EV_MET, .at_usec = 9, .antecedent = 300, .when = JOB_AFTER_ANY},
     "0c09ac0202"},
    {{.type = JOB_EV_PAUSE, .at_usec = 9, .by = 1000}, "0d09e807"},
    {{.type = JOB_EV_RESUME, .at_usec = 9, .by = 1000}, "0e09e807"},
    {{.type = JOB_EV_EDIT,
      .at_usec = 9,
      .by = 1000,
      .changes = {.front = 300, .bytes = "abc", .n = 3}},
     "0f09e807ac0203616263"},
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
      .named = &(const struct job_named){.pid = {1, 2, UINT32_MAX, 0, 5, 6, 7, 8}},
      .kept = 1},
     "95020a000000000000ffffffff0f0102ffffffff0f0005060708"},
    {{.type = JOB_EV_EXITED,
      .at_usec = 10,
      .survivors = 2,
      .named = &(const struct job_named){{7, 8}, {1, UINT32_MAX}},
      .kept = 1},
     "950a0a00000000000002070800000000000001ffffffff0f000000000000"},
    {{.type = JOB_EV_EXITED,
      .at_usec = 10,
      .survivors = 3,
      .named = &(const struct job_named){{7, 8, 9}, {0, UINT32_MAX, 0}},
      .kept = 1},
     "950a0a00000000000003070809000000000000ffffffff0f000000000000"},
    {{.type = JOB_EV_EXITED,
      .at_usec = 11,
      .result = JOB_RESULT_SIGNAL,
      .code = SIGKILL,
      .over_kib = 7},
     "85040b0312000000000007"},
    {{.type = JOB_EV_EXITED, .at_usec = 12, .left_killed = UINT8_MAX},
     "85100c00000000000000ff01"},
    {{.type = JOB_EV_EXITED, .at_usec = 13, .usage = {.contained = JOB_CONTAINED_NO}},
     "85400d00000000000000"},
    {{.type = JOB_EV_EXITED,
      .at_usec = 14,
      .result = JOB_RESULT_OOM,
      .code = SIGKILL,
      .step = "job",
      .usage = {.memory_peak_kib = JOB_PEAK_KIB_MAX,
                .oom_kills = 3,
                .contained = JOB_CONTAINED_YES},
      .left_killed = 2},
     "85d0010e0b12036a6f620000000002ffffffffff7f03"},
};
#define PACKED (sizeof(packed) / sizeof(packed[0]))

static void rows_are_whole(void **state)
{
    static const char *const names[JOB_EV_COUNT] = {
        "submit",       "starting", "started", "timeout", "cancel",  "exited",
        "output_limit", "deferred", "hold",    "release", "expired", "dependency",
        "met",          "pause",    "resume",  "edit"};

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
    assert_int_equal(ev->is_base, want->is_base);
    assert_memory_equal(&ev->base.again, &want->base.again, sizeof(ev->base.again));
    assert_int_equal(ev->base.lost, want->base.lost);
    assert_int_equal(ev->base.last, want->base.last);
    assert_int_equal(ev->base.has_started, want->base.has_started);
    assert_int_equal(ev->pid, want->pid);
    assert_int_equal(ev->result, want->result);
    assert_int_equal(ev->code, want->code);
    assert_int_equal(ev->survivors, want->survivors);
    assert_int_equal(ev->kept, want->kept);
    assert_int_equal(ev->over_kib, want->over_kib);
    assert_int_equal(ev->left_killed, want->left_killed);
    assert_int_equal(ev->held, want->held);
    assert_int_equal(ev->by, want->by);
    assert_true(ev->changes.front == want->changes.front);
    assert_int_equal(ev->changes.n, want->changes.n);
    if (want->changes.n)
        assert_memory_equal(ev->changes.bytes, want->changes.bytes, want->changes.n);
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

static void a_glance_tells_bases_and_what_passes(void **state)
{
    (void)state;
    for (size_t i = 0; i < PACKED; i++) {
        const struct job_event *ev = &packed[i].ev;
        struct pack p = {0};

        job_event_pack(&p, ev, 99);
        const struct job_event_glance is = job_event_glance(p.bytes, p.n);
        assert_int_equal(is.base, ev->is_base ? ev->attempt : 0);
        assert_int_equal(is.passes, ev->type != JOB_EV_MET && ev->type != JOB_EV_EDIT &&
                                        ev->type != JOB_EV_CANCEL &&
                                        ev->type != JOB_EV_EXPIRED &&
                                        ev->type != JOB_EV_DEPENDENCY);
        pack_fini(&p);
    }
}

/* A type that is none or no entry of its own, and what only an end has beside it. */
static void other_bytes_are_refused(void **state)
{
    static const uint8_t bad[][4] = {
        {JOB_EV_SUBMIT, 1}, {JOB_EV_COUNT, 1},           {15, 1},
        {0x84, 0x02, 8},    {JOB_EV_CANCEL | 1 << 4, 8}, {0x85, 0x20, 8},
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

/* Figures of a cgroup, where no record speaks of one; and such as none has. */
static void figures_of_no_cgroup_are_refused(void **state)
{
    static const struct {
        uint8_t bytes[20];
        int r;
    } cases[] = {
        {{0x85, 0xc0, 1, 14, 0, 0, 0, 0, 0, 0, 0, 4, 3}, 0},
        {{0x85, 0x80, 1, 14, 0, 0, 0, 0, 0, 0, 0, 4, 3}, -EBADMSG},
        {{0x85, 0xc0, 1, 14, 0, 0, 0, 0, 0, 0, 0, 4, 0x80, 0x80, 0x40}, -EBADMSG},
        {{0x85, 0xc0, 1, 14, 0, 0, 0, 0, 0, 0, 0, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 1},
         -EBADMSG},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct unpack u = unpack_of(cases[i].bytes, sizeof(cases[i].bytes));
        struct job_event_room room;
        struct job_event ev;
        uint64_t life;

        assert_int_equal(job_event_unpack(&u, &ev, &life, &room), cases[i].r);
        if (cases[i].r == 0)
            assert_true(ev.usage.memory_peak_kib == 4 && ev.usage.oom_kills == 3);
    }
}

static void bases_of_other_bytes_are_refused(void **state)
{
    static const uint8_t bytes[][10] = {
        {0x11, 5, 33, 0, 1, 1, 1, JOB_LOST_MAX, JOB_RESULT_COUNT - 1, 1},
        {0x11, 5, 33, 0, 1, 1, 1, JOB_LOST_MAX + 1, 1, 1},
        {0x11, 5, 33, 0, 1, 1, 1, 1, JOB_RESULT_COUNT, 1},
        {0x11, 5, 33, 0, 1, 1, 1, 1, 1, 2},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(bytes) / sizeof(bytes[0]); i++) {
        struct unpack u = unpack_of(bytes[i], sizeof(bytes[i]));
        struct job_event_room room;
        struct job_event ev;
        uint64_t life;

        assert_int_equal(job_event_unpack(&u, &ev, &life, &room), i == 0 ? 0 : -EBADMSG);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_whole),
        cmocka_unit_test(the_bytes_stay),
        cmocka_unit_test(events_come_back_as_they_were),
        cmocka_unit_test(a_glance_tells_bases_and_what_passes),
        cmocka_unit_test(other_bytes_are_refused),
        cmocka_unit_test(figures_of_no_cgroup_are_refused),
        cmocka_unit_test(bases_of_other_bytes_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
