/* What a call does where the connections of its user hold as much as they may: it stands in
 * line, goes on, or is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "daemon/server/session.h"
#include "tests/support/fn_task.h"
#include "tests/support/lone.h"

/* --- an interface to talk to -------------------------------------------------------- */

static enum volt_poll echo_poll(struct volt_cx *cx, struct call *call, void *state)
{
    (void)cx;
    (void)state;
    return call_reply(call, json_incref(call_parameters(call)));
}

static enum volt_poll count_poll(struct volt_cx *cx, struct call *call, void *state)
{
    int *n = state;

    while (*n < 3) {
        if (call_drained_poll(cx, call) == VOLT_PENDING)
            return VOLT_PENDING;
        if (call_continue(call, json_pack("{s:i}", "n", (*n)++)) < 0)
            return call_abort(call);
    }
    return call_reply(call, json_pack("{s:i}", "n", *n));
}

/* Keeps 1,000 bytes more for each reply. */
static enum volt_poll keep_poll(struct volt_cx *cx, struct call *call, void *state)
{
    (void)cx;
    (void)state;
    if (call_keep(call, 1000) < 0)
        return VOLT_READY;
    (void)call_continue(call, json_object());
    return VOLT_PENDING;
}

#define T "t.test."
static const struct method echo = {.name = "Echo", .poll = echo_poll};
static const struct method count = {
    .name = "Count", .flags = METHOD_MORE, .state_size = sizeof(int), .poll = count_poll};
static const struct method long_count = {.name = "LongCount",
                                         .flags = METHOD_MORE | METHOD_BULKY,
                                         .state_size = sizeof(int),
                                         .poll = count_poll};
static const struct method keep = {
    .name = "Keep", .flags = METHOD_MORE, .poll = keep_poll};
static const struct interface test_interface = {
    .name = "t.test",
    .description = "",
    .methods = (const struct method *const[]){&echo, &count, &long_count, &keep, NULL},
};
static const struct interface *const interfaces[] = {&test_interface, NULL};

/* --- talking to it ------------------------------------------------------------------ */

static struct session s;
static const struct service service;

/* The share of a user, and another connection that holds all of it or nothing. */
static struct {
    struct volt_runtime *rt;
    struct holder *user;
    struct share mine, others;
    enum session_state got;
} room;

static void set_room(bool is_there)
{
    const uint64_t limit = s.config.max_buffers_per_user;

    share_hold(&room.others, is_there ? 0 : limit, limit);
}

static void begin(bool is_there)
{
    const struct asker peer = auth_user(7);
    struct config config;

    config_defaults(&config);
    session_init(&s, &service, interfaces, &peer, &config);
    room.rt = lone_runtime();
    room.user = holder_new(7, 1);
    assert_non_null(room.user);
    room.mine = room.others = (struct share){.of = room.user};
    s.call.caller.share = &room.mine;
    set_room(is_there);
}

static void end(void)
{
    const uint64_t limit = s.config.max_buffers_per_user;

    session_fini(&s);
    share_fini(&room.mine, limit);
    share_fini(&room.others, limit);
    holder_free(room.user);
    volt_runtime_free(room.rt);
}

static enum volt_poll step_poll(struct volt_cx *cx, struct fn_task *f)
{
    (void)f;
    room.got = session_step(cx, &s);
    return VOLT_READY;
}

/* In a task, which can stand in line. */
static enum session_state step(void)
{
    struct volt_join join;

    lone_spawn(fn_task_new(room.rt, step_poll, NULL), &join);
    assert_int_equal(lone_join(&join), 0);
    return room.got;
}

static void push(const char *bytes, size_t len)
{
    while (len > 0) {
        size_t space, n;
        char *at;
        assert_int_equal(frame_space(&s.in, &at, &space), 0);
        n = len < space ? len : space;
        memcpy(at, bytes, n);
        frame_filled(&s.in, n);
        bytes += n;
        len -= n;
    }
}

static enum session_state say(const char *text)
{
    push(text, strlen(text) + 1);
    return step();
}

/* The next message of the output is this. */
static void hear(const char *text)
{
    if (wire_buf_len(&s.out.bytes) == 0)
        fail_msg("nothing was answered; expected %s", text);
    assert_string_equal(wire_buf_at(&s.out.bytes), text);
    output_sent(&s.out, strlen(text) + 1);
}

static void hear_nothing(void)
{
    if (wire_buf_len(&s.out.bytes) > 0)
        fail_msg("unexpected: %s", wire_buf_at(&s.out.bytes));
}

/* --- the tests ---------------------------------------------------------------------- */

static void without_room_no_call_begins(void **state)
{
    (void)state;
    begin(false);
    assert_int_equal(say("{\"method\":\"" T "Echo\"}"), SESSION_WANTS_ROOM);
    assert_true(room.mine.waits && room.mine.waits_for == SHARE_SHORT);
    assert_false(s.drains);
    hear_nothing();
    set_room(true);
    assert_int_equal(step(), SESSION_WANTS_INPUT);
    assert_int_equal(say("{\"method\":\"" T "Echo\"}"), SESSION_WANTS_INPUT);
    set_room(false); /* the peer has to read first */
    assert_int_equal(say("{\"method\":\"" T "Echo\"}"), SESSION_FULL);
    assert_true(s.drains);
    hear("{\"parameters\":{}}");
    hear("{\"parameters\":{}}");
    hear_nothing();
    assert_int_equal(step(), SESSION_WANTS_ROOM);
    end();
}

/* What is in hand asks for each of its replies. */
static void a_stream_asks_between_its_replies(void **state)
{
    (void)state;
    begin(true);
    s.config.max_output_backlog = 1; /* a reply at a time */
    assert_int_equal(say("{\"method\":\"" T "Count\",\"more\":true}"), SESSION_IN_CALL);
    assert_true(s.drains);
    hear("{\"continues\":true,\"parameters\":{\"n\":0}}");
    set_room(false);
    assert_int_equal(step(), SESSION_IN_CALL);
    assert_false(s.drains); /* nothing has to go: it stands in line */
    hear_nothing();
    set_room(true);
    assert_int_equal(step(), SESSION_IN_CALL);
    hear("{\"continues\":true,\"parameters\":{\"n\":1}}");
    end();
}

#define LIMIT_REACHED                                                                     \
    "{\"error\":\"org.voltd.jobs.LimitReached\",\"parameters\":{\"key\":"                 \
    "\"MaxBuffersPerUser\",\"limit\":67108864,\"reason\":\"the connections of this user " \
    "hold as much as MaxBuffersPerUser= allows, and none of them goes on: read their "    \
    "replies, or close some\"}}"

/* In its place, and the calls behind it are served when there is room. */
static void what_waits_in_vain_is_told_why(void **state)
{
    (void)state;
    begin(false);
    (void)say("{\"method\":\"" T "Echo\"}");
    assert_int_equal(say("{\"method\":\"" T "Echo\"}"), SESSION_WANTS_ROOM);
    session_refuse_room(&s);
    hear(LIMIT_REACHED);
    set_room(true);
    assert_int_equal(step(), SESSION_WANTS_INPUT);
    hear("{\"parameters\":{}}");
    hear_nothing();

    /* A stream ends with it. */
    s.config.max_output_backlog = 1;
    (void)say("{\"method\":\"" T "Count\",\"more\":true}");
    hear("{\"continues\":true,\"parameters\":{\"n\":0}}");
    session_refuse_room(&s);
    hear(LIMIT_REACHED);
    assert_int_equal(say("{\"method\":\"" T "Echo\"}"), SESSION_FULL);
    hear("{\"parameters\":{}}");

    /* A oneway call is none the wiser; what came in part only cannot be left out. */
    set_room(false);
    (void)say("{\"method\":\"" T "Echo\",\"oneway\":true}");
    session_refuse_room(&s);
    hear_nothing();
    assert_int_equal(step(), SESSION_WANTS_INPUT);
    push("{\"method\":", 10);
    assert_int_equal(step(), SESSION_WANTS_INPUT);
    session_refuse_room(&s);
    hear(LIMIT_REACHED);
    assert_int_equal(step(), SESSION_CLOSING);
    end();
}

/* A long call of another connection has the pass, so that it waits; short ones do not. */
static void what_tells_much_is_in_the_line_of_the_long_ones(void **state)
{
    (void)state;
    begin(true);
    room.others.pool = SHARE_LONG;
    set_room(false);
    room.others.has_pass = true;
    room.user->pass = &room.others;
    assert_int_equal(say("{\"method\":\"" T "LongCount\",\"more\":true}"),
                     SESSION_IN_CALL);
    assert_true(room.mine.waits && room.mine.waits_for == SHARE_LONG);
    hear_nothing();
    set_room(true); /* the pass comes back with it */
    assert_int_equal(step(), SESSION_WANTS_INPUT);
    hear("{\"continues\":true,\"parameters\":{\"n\":0}}");
    end();
}

static void what_a_stream_keeps_is_counted_until_it_ends(void **state)
{
    (void)state;
    begin(true);
    s.config.max_stream_memory_per_user = 1999;
    assert_int_equal(say("{\"method\":\"" T "Keep\",\"more\":true}"), SESSION_IN_CALL);
    hear("{\"continues\":true,\"parameters\":{}}");
    assert_int_equal(room.user->kept, 1000);
    assert_int_equal(step(), SESSION_WANTS_INPUT);
    hear(
        "{\"error\":\"org.voltd.jobs.LimitReached\",\"parameters\":{\"key\":"
        "\"MaxStreamMemoryPerUser\",\"limit\":1999,\"reason\":\"what the streams of this "
        "user keep would be more than MaxStreamMemoryPerUser= allows: end some, or name "
        "less in each\"}}");
    assert_int_equal(room.user->kept, 0);
    end();
}

static void what_is_reserved_for_admins_waits_for_nothing(void **state)
{
    (void)state;
    begin(false);
    room.mine.reserved = true;
    assert_int_equal(say("{\"method\":\"" T "Echo\"}"), SESSION_WANTS_INPUT);
    hear("{\"parameters\":{}}");
    end();
}

/* What was read into is one buffer, what is to be read another. */
static void an_answer_is_held_until_it_is_read(void **state)
{
    (void)state;
    begin(true);
    assert_int_equal(say("{\"method\":\"" T "Echo\"}"), SESSION_WANTS_INPUT);
    assert_true(s.in.in.cap > 0 && s.out.bytes.cap > 0);
    assert_int_equal(call_bytes_held(&s.call), s.in.in.cap + s.out.bytes.cap);
    hear("{\"parameters\":{}}");
    assert_int_equal(call_bytes_held(&s.call), 0);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_room_no_call_begins),
        cmocka_unit_test(a_stream_asks_between_its_replies),
        cmocka_unit_test(what_tells_much_is_in_the_line_of_the_long_ones),
        cmocka_unit_test(what_waits_in_vain_is_told_why),
        cmocka_unit_test(what_a_stream_keeps_is_counted_until_it_ends),
        cmocka_unit_test(what_is_reserved_for_admins_waits_for_nothing),
        cmocka_unit_test(an_answer_is_held_until_it_is_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
