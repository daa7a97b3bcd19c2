/* A session: every rule of the protocol with its negative, without a socket. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/server/session.h"
#include "wire/fields.h"

/* --- an interface to talk to -------------------------------------------------------- */

static int dropped, polled;
static bool released; /* lets Hold go on */
static size_t made;   /* bytes that Hold makes of its parameters, and holds instead */

static enum volt_poll echo_poll(struct volt_cx *cx, struct call *call, void *state)
{
    (void)cx;
    (void)state;
    polled++;
    return call_reply(call, json_incref(call_parameters(call)));
}

static enum volt_poll typed_poll(struct volt_cx *cx, struct call *call, void *state)
{
    struct params {
        int64_t n;
    } in = {0};
    static const struct field fields[] = {
        FIELD(struct params, n, FIELD_INT),
        {.name = NULL},
    };
    struct field_error err;

    (void)cx;
    (void)state;
    if (fields_read(fields, call_parameters(call), 0, &in, &err) < 0)
        return call_invalid_parameter(call, err.path, err.reason);
    return call_reply(call, json_pack("{s:I}", "n", (json_int_t)in.n));
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

static enum volt_poll hold_poll(struct volt_cx *cx, struct call *call, void *state)
{
    (void)cx;
    (void)state;
    polled++;
    if (made) {
        call_holds(call, made);
        call_parameters_read(call);
        made = 0;
    }
    return released ? call_reply(call, json_object()) : VOLT_PENDING;
}

static void hold_drop(struct call *call, void *state)
{
    (void)call;
    assert_non_null(state);
    dropped++;
}

static enum volt_poll fd_poll(struct volt_cx *cx, struct call *call, void *state)
{
    (void)cx;
    (void)state;
    if (call_push_fd(call, open("/dev/null", O_RDONLY | O_CLOEXEC)) < 0)
        return call_abort(call);
    return call_reply(call, json_object());
}

/* Never comes to its reply. */
static enum volt_poll loose_fd_poll(struct volt_cx *cx, struct call *call, void *state)
{
    (void)cx;
    (void)state;
    (void)call_push_fd(call, open("/dev/null", O_RDONLY | O_CLOEXEC));
    return VOLT_READY;
}

static enum volt_poll mute_poll(struct volt_cx *cx, struct call *call, void *state)
{
    (void)cx;
    (void)call;
    (void)state;
    return VOLT_READY;
}

/* What a method does behind the end of its call is not heard of. */
static enum volt_poll abort_poll(struct volt_cx *cx, struct call *call, void *state)
{
    (void)cx;
    (void)state;
    (void)call_abort(call);
    return call_reply(call, json_object());
}

struct listing {
    json_t *taken;
    size_t size; /* as it was said at first */
};

/* Takes one entry in each poll; answers with all of them, and with what else there was. */
static enum volt_poll list_poll(struct volt_cx *cx, struct call *call, void *state)
{
    struct listing *l = state;
    json_t *entry;

    (void)cx;
    if (!l->taken) {
        l->taken = json_array();
        l->size = call_list_size(call);
    }
    int r = call_list_next(call, &entry);
    if (r < 0)
        return call_abort(call);
    if (r > 0) {
        json_array_append_new(l->taken, entry);
        return VOLT_PENDING;
    }
    assert_in_range(l->size, json_array_size(l->taken), json_array_size(l->taken) + 1);
    json_object_del(call_parameters(call), "specs");
    return call_reply(
        call, json_pack("{s:O,s:O}", "taken", l->taken, "others", call_parameters(call)));
}

static void list_drop(struct call *call, void *state)
{
    struct listing *l = state;

    (void)call;
    json_decref(l->taken);
}

static const struct method list = {.name = "SubmitBatch",
                                   .state_size = sizeof(struct listing),
                                   .poll = list_poll,
                                   .drop = list_drop};
static const struct method echo = {.name = "Echo", .poll = echo_poll};
static const struct method typed = {.name = "Typed", .poll = typed_poll};
static const struct method count = {
    .name = "Count",
    .flags = METHOD_MORE_REQUIRED,
    .state_size = sizeof(int),
    .poll = count_poll,
};
static const struct method hold = {
    .name = "Hold", .state_size = 1, .poll = hold_poll, .drop = hold_drop};
static const struct method give = {.name = "Fd", .poll = fd_poll};
static const struct method lose = {.name = "LooseFd", .poll = loose_fd_poll};
static const struct method mute = {.name = "Mute", .poll = mute_poll};
static const struct method cut = {.name = "Cut", .poll = abort_poll};

static const struct interface test_interface = {
    .name = "org.volt.test",
    .description = "# A test.\ninterface org.volt.test\n",
    .methods = (const struct method *const[]){&echo, &typed, &count, &hold, &give, &lose,
                                              &mute, &cut, NULL},
};
static const struct interface list_interface = {
    .name = "org.voltd.jobs",
    .description = "",
    .methods = (const struct method *const[]){&list, NULL},
};
static const struct interface *const interfaces[] = {&test_interface, &list_interface,
                                                     NULL};

/* --- talking to it ------------------------------------------------------------------ */

static struct session s;
static const struct service service;

static void begin(void)
{
    const struct asker peer = auth_user(7);
    struct config config;

    config_defaults(&config);
    config.max_message = 1000;
    config.max_depth = 8;
    config.max_tokens = 100;
    config.max_output_backlog = 65536;
    session_init(&s, &service, interfaces, &peer, &config);
    polled = dropped = 0;
    released = false;
}

static void push(const char *bytes, size_t len)
{
    while (len > 0) {
        size_t room, n;
        char *at;
        assert_int_equal(frame_space(&s.in, &at, &room), 0);
        n = len < room ? len : room;
        memcpy(at, bytes, n);
        frame_filled(&s.in, n);
        bytes += n;
        len -= n;
    }
}

static enum session_state say(const char *text)
{
    push(text, strlen(text) + 1);
    return session_step(NULL, &s);
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

/* Answers to a call that leaves the session open. */
static void answers(const char *call, const char *reply)
{
    begin();
    assert_int_equal(say(call), SESSION_WANTS_INPUT);
    hear(reply);
    hear_nothing();
    session_fini(&s);
}

/* What was answered before still goes out; the call itself and what follows
 * get nothing. */
static void closes(const char *message)
{
    static const char good[] = "{\"method\":\"org.volt.test.Echo\"}";

    begin();
    push(good, sizeof(good));
    push(message, strlen(message) + 1);
    push(good, sizeof(good));
    if (session_step(NULL, &s) != SESSION_CLOSING)
        fail_msg("%s does not close", message);
    hear("{\"parameters\":{}}");
    hear_nothing();
    session_fini(&s);
}

#define T "org.volt.test."
#define V "org.varlink.service."

static void calls_and_parameters(void **state)
{
    (void)state;
    answers("{\"method\":\"" T "Echo\",\"parameters\":{\"a\":[1,\"x\",null]}}",
            "{\"parameters\":{\"a\":[1,\"x\",null]}}");
    /* Absent, null and {} are the same. */
    answers("{\"method\":\"" T "Echo\"}", "{\"parameters\":{}}");
    answers("{\"method\":\"" T "Echo\",\"parameters\":null}", "{\"parameters\":{}}");
    answers("{\"parameters\":{},\"method\":\"" T "Echo\"}", "{\"parameters\":{}}");
    answers("\n {\"method\" : \"" T "Echo\" } \t", "{\"parameters\":{}}");
    /* A key with a dot is an extension; flags may be false. */
    answers("{\"method\":\"" T "Echo\",\"com.example.x\":[{}],\"oneway\":false,"
            "\"more\":false,\"upgrade\":false}",
            "{\"parameters\":{}}");
    /* `more` on a method that answers once: it answers once. */
    answers("{\"method\":\"" T "Echo\",\"more\":true}", "{\"parameters\":{}}");
}

static void what_closes(void **state)
{
    (void)state;
    closes("");
    closes("nonsense");
    closes("{");
    closes("[]");
    closes("null");
    closes("\"x\"");
    closes("{}");
    closes("{\"method\":1}");
    closes("{\"method\":null}");
    closes("{\"method\":\"a\\u0000b\"}");
    closes("{\"parameters\":{}}");
    closes("{\"method\":\"" T "Echo\",\"parameters\":[]}");
    closes("{\"method\":\"" T "Echo\",\"parameters\":7}");
    closes("{\"method\":\"" T "Echo\",\"extra\":1}");
    closes("{\"method\":\"" T "Echo\",\"method\":\"" T "Echo\"}");
    closes("{\"method\":\"" T "Echo\",\"parameters\":{\"a\":1,\"a\":2}}");
    closes("{\"method\":\"" T "Echo\",\"more\":1}");
    closes("{\"method\":\"" T "Echo\",\"oneway\":\"true\"}");
    closes("{\"method\":\"" T "Echo\",\"upgrade\":null}");
    closes("{\"method\":\"" T "Count\",\"more\":true,\"oneway\":true}");
    closes("{\"method\":\"" T "Echo\",\"more\":true,\"upgrade\":true}");
    closes("{\"method\":\"" T "Echo\",\"oneway\":true,\"upgrade\":true}");
    closes("{\"method\":\"" T "Echo\",\"parameters\":{\"a\":\"\xff\"}}");
    closes("{\"method\":\"" T "Echo\"} {}");
}

static void errors(void **state)
{
    (void)state;
    answers("{\"method\":\"org.volt.nope.Echo\"}",
            "{\"error\":\"" V "InterfaceNotFound\",\"parameters\":{\"interface\":"
            "\"org.volt.nope\"}}");
    /* The other socket's interface is not on this one. */
    answers("{\"method\":\"org.voltd.control.Stats\"}",
            "{\"error\":\"" V "InterfaceNotFound\",\"parameters\":{\"interface\":"
            "\"org.voltd.control\"}}");
    answers("{\"method\":\"" T "Nope\"}",
            "{\"error\":\"" V "MethodNotFound\",\"parameters\":{\"method\":\"" T
            "Nope\"}}");
    answers("{\"method\":\"Echo\"}",
            "{\"error\":\"" V "MethodNotFound\",\"parameters\":{\"method\":\"Echo\"}}");
    answers("{\"method\":\"" T "Count\"}",
            "{\"error\":\"" V "ExpectedMore\",\"parameters\":{}}");
    answers("{\"method\":\"" T "Echo\",\"upgrade\":true}",
            "{\"error\":\"" V
            "InvalidParameter\",\"parameters\":{\"parameter\":\"upgrade\","
            "\"reason\":\"no method here takes the connection over\"}}");
    answers("{\"method\":\"" T "Typed\",\"parameters\":{\"other\":1}}",
            "{\"error\":\"" V
            "InvalidParameter\",\"parameters\":{\"parameter\":\"other\","
            "\"reason\":\"is not known here; known are: n\"}}");
    answers("{\"method\":\"" T "Typed\",\"parameters\":{\"n\":9223372036854775808}}",
            "{\"error\":\"" V "InvalidParameter\",\"parameters\":{\"parameter\":\"n\","
            "\"reason\":\"must be an integer of 64 bits\"}}");
    answers("{\"method\":\"" T "Typed\",\"parameters\":{\"n\":1.5}}",
            "{\"error\":\"" V "InvalidParameter\",\"parameters\":{\"parameter\":\"n\","
            "\"reason\":\"must be an integer of 64 bits\"}}");
    answers("{\"method\":\"" T "Typed\",\"parameters\":{\"n\":-9223372036854775808}}",
            "{\"parameters\":{\"n\":-9223372036854775808}}");
}

static void oneway_gets_nothing(void **state)
{
    static const char *const calls[] = {
        "{\"method\":\"" T "Echo\",\"oneway\":true}",
        "{\"method\":\"" T "Nope\",\"oneway\":true}",
        "{\"method\":\"no.such.Interface\",\"oneway\":true}",
        "{\"method\":\"" T "Count\",\"oneway\":true}",
        "{\"method\":\"" T "Typed\",\"oneway\":true,\"parameters\":{\"m\":1}}",
        "{\"method\":\"" T "Fd\",\"oneway\":true}",
    };

    (void)state;
    begin();
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        assert_int_equal(say(calls[i]), SESSION_WANTS_INPUT);
        hear_nothing();
    }
    assert_int_equal(polled, 1); /* it did run */
    assert_int_equal(say("{\"method\":\"" T "Echo\"}"), SESSION_WANTS_INPUT);
    hear("{\"parameters\":{}}");
    session_fini(&s);
}

static void pipelined_replies_keep_their_order(void **state)
{
    char bytes[8000];
    size_t len = 0;

    (void)state;
    begin();
    for (int i = 0; i < 100; i++)
        len +=
            (size_t)sprintf(bytes + len,
                            "{\"method\":\"" T "Echo\",\"parameters\":{\"i\":%d}}", i) +
            1;
    /* In two pieces, cut in the middle of a message. */
    push(bytes, len / 2 + 3);
    assert_int_equal(session_step(NULL, &s), SESSION_WANTS_INPUT);
    push(bytes + len / 2 + 3, len - len / 2 - 3);
    assert_int_equal(session_step(NULL, &s), SESSION_WANTS_INPUT);
    for (int i = 0; i < 100; i++) {
        char text[64];
        (void)snprintf(text, sizeof(text), "{\"parameters\":{\"i\":%d}}", i);
        hear(text);
    }
    hear_nothing();
    session_fini(&s);
}

static void a_waiting_call_holds_the_next_back(void **state)
{
    (void)state;
    begin();
    assert_int_equal(say("{\"method\":\"" T "Hold\"}"), SESSION_IN_CALL);
    assert_int_equal(say("{\"method\":\"" T "Echo\"}"), SESSION_IN_CALL);
    hear_nothing();
    released = true;
    assert_int_equal(session_step(NULL, &s), SESSION_WANTS_INPUT);
    hear("{\"parameters\":{}}");
    hear("{\"parameters\":{}}");
    assert_int_equal(dropped, 1);
    session_fini(&s);
    assert_int_equal(dropped, 1);

    /* A client that goes away in the middle. */
    begin();
    assert_int_equal(say("{\"method\":\"" T "Hold\"}"), SESSION_IN_CALL);
    session_fini(&s);
    assert_int_equal(dropped, 1);

    begin();
    assert_int_equal(say("{\"method\":\"" T "Hold\"}"), SESSION_IN_CALL);
    session_cut(&s);
    assert_int_equal(dropped, 1);
    assert_int_equal(session_step(NULL, &s), SESSION_CLOSING);
    session_fini(&s);
}

static void a_stream_ends_without_continues(void **state)
{
    (void)state;
    begin();
    assert_int_equal(say("{\"method\":\"" T "Count\",\"more\":true}"),
                     SESSION_WANTS_INPUT);
    hear("{\"continues\":true,\"parameters\":{\"n\":0}}");
    hear("{\"continues\":true,\"parameters\":{\"n\":1}}");
    hear("{\"continues\":true,\"parameters\":{\"n\":2}}");
    hear("{\"parameters\":{\"n\":3}}");
    hear_nothing();
    session_fini(&s);
}

static void too_much(const char *message, size_t len, const char *what)
{
    begin();
    push(message, len);
    assert_int_equal(session_step(NULL, &s), SESSION_CLOSING);
    assert_non_null(strstr(wire_buf_at(&s.out.bytes), "InvalidParameter"));
    if (!strstr(wire_buf_at(&s.out.bytes), what))
        fail_msg("%s does not say %s", wire_buf_at(&s.out.bytes), what);
    session_fini(&s);
}

static void limits_are_named_before_the_end(void **state)
{
    char text[1200];

    (void)state;
    memset(text, ' ', sizeof(text));
    memcpy(text, "{\"method\":\"" T "Echo\"", strlen("{\"method\":\"" T "Echo\""));
    too_much(text, 1001, "too many bytes; the limit is 1000");
    static const char deep[] = "{\"method\":\"a.B\",\"parameters\":{\"a\":[[[[[[[";
    too_much(deep, sizeof(deep) - 1, "too deeply; the limit is 8");
    memcpy(text, "{\"oneway\":true ", 15);
    begin();
    push(text, 1001);
    assert_int_equal(session_step(NULL, &s), SESSION_CLOSING);
    hear_nothing();
    session_fini(&s);

    strcpy(text, "{\"method\":\"a.B\",\"parameters\":{\"a\":[");
    for (int i = 0; i < 100; i++)
        strcat(text, "1,");
    too_much(text, strlen(text), "too many values; the limit is 100");
}

static void memory_of_a_parse_is_bounded(void **state)
{
    (void)state;
    begin();
    s.config.max_parse_memory = 600;
    assert_int_equal(say("{\"method\":\"" T "Echo\",\"parameters\":{\"a\":[{},{},{}]}}"),
                     SESSION_CLOSING);
    assert_non_null(strstr(wire_buf_at(&s.out.bytes), "the limit is 600"));
    session_fini(&s);
}

#define B "{\"method\":\"org.voltd.jobs.SubmitBatch\",\"parameters\":"

/* To the end of the call, while more arrives: the list's text stays where it can be found. */
static enum session_state step_all(void)
{
    enum session_state got = session_step(NULL, &s);

    for (int i = 0; i < 100 && got == SESSION_IN_CALL; i++) {
        push("  {} ", 5);
        got = session_step(NULL, &s);
    }
    return got;
}

static void takes(const char *call, const char *reply)
{
    begin();
    push(call, strlen(call) + 1);
    push(" ", 1);
    assert_int_equal(step_all(), SESSION_WANTS_INPUT);
    hear(reply);
    hear_nothing();
    session_fini(&s);
}

static void breaks_off(const char *call)
{
    begin();
    push(call, strlen(call) + 1);
    if (step_all() != SESSION_CLOSING)
        fail_msg("%s does not close", call);
    hear_nothing();
    session_fini(&s);
}

#define TAKEN(entries, others)                                                           \
    "{\"parameters\":{\"taken\":" entries ",\"others\":" others "}}"

static void a_list_comes_entry_by_entry(void **state)
{
    (void)state;
    takes(B "{\"specs\":[]}}", TAKEN("[]", "{}"));
    takes(B "{\"specs\": [ \n ] }}", TAKEN("[]", "{}"));
    takes(B "{\"specs\":[1, \"]\", [2,[3,4]] ,{\"a\":[{}],\"specs\":[5]},null]}}",
          TAKEN("[1,\"]\",[2,[3,4]],{\"a\":[{}],\"specs\":[5]},null]", "{}"));
    takes(B "{\"b\":{\"specs\":[0]},\"specs\":[{}],\"c\":[[6]]}}",
          TAKEN("[{}]", "{\"b\":{\"specs\":[0]},\"c\":[[6]]}"));
    takes(B "{\"a\":\"specs\",\"specs\":[18446744073709551616,2]}}",
          TAKEN("[1.8446744073709552e19,2]", "{\"a\":\"specs\"}"));
    /* Not recognised in passing, and the same all the same. */
    takes(
        "{\"parameters\":{\"specs\":[1,[2]]},\"method\":\"org.voltd.jobs.SubmitBatch\"}",
        TAKEN("[1,[2]]", "{}"));
    takes(B "{\"sp\\u0065cs\":[1,[2]]}}", TAKEN("[1,[2]]", "{}"));
    takes(B "{\"b\":1}}", TAKEN("[]", "{\"b\":1}"));
    takes(B "{\"specs\":{\"specs\":[1]}}}", TAKEN("[]", "{}"));
    /* Of another method it is what it is. */
    answers("{\"method\":\"" T "Echo\",\"parameters\":{\"specs\":[1,2]}}",
            "{\"parameters\":{\"specs\":[1,2]}}");
    /* One message is not in the way of the next. */
    begin();
    for (int i = 0; i < 3; i++)
        push(B "{\"specs\":[7]}}", sizeof(B "{\"specs\":[7]}}"));
    push(" ", 1);
    assert_int_equal(step_all(), SESSION_WANTS_INPUT);
    for (int i = 0; i < 3; i++)
        hear(TAKEN("[7]", "{}"));
    session_fini(&s);
}

static enum volt_poll read_list_poll(struct volt_cx *cx, struct call *call, void *state)
{
    json_t *entry;

    (void)cx;
    (void)state;
    while (call_list_next(call, &entry) > 0)
        json_decref(entry);
    return released ? call_reply(call, json_object()) : VOLT_PENDING;
}

/* A call that waits, for ever perhaps, does not keep the text of what it has read. */
static void a_list_that_was_read_is_given_back(void **state)
{
    static const struct method reader = {.name = "SubmitBatch", .poll = read_list_poll};
    static const struct method *const methods[] = {&reader, NULL};
    static const struct interface jobs = {
        .name = "org.voltd.jobs", .description = "", .methods = methods};
    static const struct interface *const all[] = {&jobs, NULL};

    (void)state;
    begin();
    s.call.caller.interfaces = all;
    assert_int_equal(say(B "{\"specs\":[1,2,3]}}"), SESSION_IN_CALL);
    assert_int_equal(frame_pending(&s.in), 0);
    released = true;
    assert_int_equal(session_step(NULL, &s), SESSION_WANTS_INPUT);
    hear("{\"parameters\":{}}");
    session_fini(&s);
}

static void a_list_that_is_none_closes(void **state)
{
    static const char *const calls[] = {
        B "{\"specs\":[1,]}}",
        B "{\"specs\":[,]}}",
        B "{\"specs\":[,1]}}",
        B "{\"specs\":[1 2]}}",
        B "{\"specs\":[1,,2]}}",
        B "{\"specs\":[1,2}}",
        B "{\"specs\":[1}]}",
        B "{\"specs\":[1} ,\"x\":[2]}}",
        B "{\"specs\":[{\"a\":[1}]]}}",
        B "{\"specs\":[{\"a\":1,\"a\":2}]}}",
        B "{\"specs\":[1],\"specs\":[2]}}",
        B "{\"specs\":[nul]}}",
        B "{\"specs\":[\"\xff\"]}}",
        B "{\"specs\":[1]",
        B "{\"specs\":[1]}",
        B "{\"specs\":[1]}}}",
        B "{\"specs\":[1] 2}}",
        B "[\"specs\",[1]]}",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
        breaks_off(calls[i]);
}

static void a_full_output_holds_calls_back(void **state)
{
    (void)state;
    begin();
    s.config.max_output_backlog = 10;
    assert_int_equal(say("{\"method\":\"" T "Echo\"}"), SESSION_FULL);
    assert_int_equal(say("{\"method\":\"" T "Echo\"}"), SESSION_FULL);
    hear("{\"parameters\":{}}");
    hear_nothing();
    assert_int_equal(session_step(NULL, &s), SESSION_FULL);
    hear("{\"parameters\":{}}");
    assert_int_equal(session_step(NULL, &s), SESSION_WANTS_INPUT);
    /* A stream waits in the middle. */
    assert_int_equal(say("{\"method\":\"" T "Count\",\"more\":true}"), SESSION_IN_CALL);
    hear("{\"continues\":true,\"parameters\":{\"n\":0}}");
    hear_nothing();
    assert_int_equal(session_step(NULL, &s), SESSION_IN_CALL);
    hear("{\"continues\":true,\"parameters\":{\"n\":1}}");
    session_fini(&s);
}

/* Values take more than their text, as long as the call lasts. */
static void a_call_in_hand_holds_its_values(void **state)
{
    char call[600];

    (void)state;
    begin();
    released = false;
    (void)snprintf(call, sizeof(call),
                   "{\"method\":\"" T "Hold\",\"parameters\":{\"a\":[%s]}}",
                   "0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0");
    size_t before = call_bytes_held(&s.call);
    assert_int_equal(say(call), SESSION_IN_CALL);
    assert_in_range(call_bytes_held(&s.call), before + 3000, before + 20000);
    released = true;
    assert_int_equal(session_step(NULL, &s), SESSION_WANTS_INPUT);
    assert_in_range(call_bytes_held(&s.call), before, before + 9000); /* buffers */
    session_fini(&s);
}

static void what_it_makes_of_them_is_held_instead(void **state)
{
    const char call[] =
        "{\"method\":\"" T "Hold\",\"parameters\":{\"a\":[0,0,0,0,0,0,0,0,0,0]}}";
    const size_t bytes = 1 << 20;

    (void)state;
    begin();
    released = false;
    size_t before = call_bytes_held(&s.call);
    made = bytes;
    assert_int_equal(say(call), SESSION_IN_CALL);
    assert_in_range(call_bytes_held(&s.call), before + bytes, before + bytes + 9000);
    call_gives_back(&s.call, bytes);
    assert_in_range(call_bytes_held(&s.call), before, before + 9000); /* buffers */
    released = true;
    assert_int_equal(session_step(NULL, &s), SESSION_WANTS_INPUT);
    session_fini(&s);
}

/* Scanning a long message and freeing it take a turn each, beside what its call does. */
static void a_long_message_takes_turns(void **state)
{
    enum { ENTRIES = 100, SIZE = 1000 };
    static const char head[] =
        "{\"method\":\"org.voltd.jobs.SubmitBatch\",\"parameters\":{\"specs\":[0";
    static const char tail[] = "]}}";
    char entry[SIZE];

    (void)state;
    memset(entry, ' ', SIZE);
    memcpy(entry, ",1", 2);
    begin();
    push(head, sizeof(head) - 1);
    for (int i = 0; i < ENTRIES; i++)
        push(entry, SIZE);
    push(tail, sizeof(tail));
    assert_int_equal(session_step(NULL, &s), SESSION_MORE_CALLS);
    assert_true(turn_is_over(&s.turn));
    assert_null(s.call.method);
    for (int i = 0; i <= ENTRIES; i++) {
        s.turn = (struct turn){.aside = false};
        assert_int_equal(session_step(NULL, &s), SESSION_IN_CALL);
        assert_false(turn_is_over(&s.turn));
    }
    assert_int_equal(session_step(NULL, &s), SESSION_MORE_CALLS);
    assert_true(turn_is_over(&s.turn));
    assert_true(wire_buf_len(&s.out.bytes) > 0);
    session_fini(&s);
}

static void others_get_a_turn(void **state)
{
    (void)state;
    begin();
    s.config.max_pipelined_calls = 2;
    for (int i = 0; i < 3; i++)
        push("{\"method\":\"" T "Echo\"}", sizeof("{\"method\":\"" T "Echo\"}"));
    assert_int_equal(session_step(NULL, &s), SESSION_MORE_CALLS);
    assert_int_equal(polled, 2);
    assert_int_equal(session_step(NULL, &s), SESSION_WANTS_INPUT);
    assert_int_equal(polled, 3);
    session_fini(&s);
}

static void descriptors_go_with_their_reply(void **state)
{
    const char *at;
    size_t len;
    int first, second, none;

    (void)state;
    begin();
    assert_int_equal(say("{\"method\":\"" T "Echo\"}"), SESSION_WANTS_INPUT);
    assert_int_equal(say("{\"method\":\"" T "Fd\"}"), SESSION_WANTS_INPUT);
    assert_int_equal(say("{\"method\":\"" T "Fd\"}"), SESSION_WANTS_INPUT);
    assert_true(output_next(&s.out, &at, &len, &none));
    assert_int_equal(none, -1);
    assert_int_equal(len, sizeof("{\"parameters\":{}}"));
    output_sent(&s.out, len);
    assert_true(output_next(&s.out, &at, &len, &first));
    assert_true(first >= 0);
    assert_int_equal(len, sizeof("{\"parameters\":{}}"));
    output_sent(&s.out, 1);
    assert_int_equal(fcntl(first, F_GETFD), -1);
    assert_true(output_next(&s.out, &at, &len, &none));
    assert_int_equal(none, -1);
    output_sent(&s.out, len);
    assert_true(output_next(&s.out, &at, &len, &second));
    assert_true(second >= 0);
    session_fini(&s);
    assert_int_equal(fcntl(second, F_GETFD), -1);

    /* So many and no more, until some are read. */
    begin();
    for (int i = 0; i < OUTPUT_FDS_MAX; i++)
        (void)say("{\"method\":\"" T "Fd\"}");
    assert_int_equal(say("{\"method\":\"" T "Fd\"}"), SESSION_FULL);
    assert_int_equal(s.out.nfds, OUTPUT_FDS_MAX);
    session_fini(&s);

    /* Without a reply it does not go with the next one. */
    begin();
    assert_int_equal(say("{\"method\":\"" T "LooseFd\"}"), SESSION_CLOSING);
    assert_int_equal(s.out.nfds, 0);
    session_fini(&s);
}

static void a_method_that_forgets_to_answer_closes(void **state)
{
    (void)state;
    begin();
    assert_int_equal(say("{\"method\":\"" T "Mute\"}"), SESSION_CLOSING);
    session_fini(&s);
    begin();
    assert_int_equal(say("{\"method\":\"" T "Cut\"}"), SESSION_CLOSING);
    hear_nothing();
    session_fini(&s);
}

static void introspection(void **state)
{
    (void)state;
    answers("{\"method\":\"" V "GetInfo\"}",
            "{\"parameters\":{\"vendor\":\"Volt\",\"product\":\"voltd\",\"version\":"
            "\"" VOLT_VERSION "\",\"url\":\"man:voltd(8)\",\"interfaces\":"
            "[\"org.varlink.service\",\"org.volt.test\",\"org.voltd.jobs\"]}}");
    answers("{\"method\":\"" V "GetInfo\",\"parameters\":{\"x\":1}}",
            "{\"error\":\"" V "InvalidParameter\",\"parameters\":{\"parameter\":\"x\","
            "\"reason\":\"is not known here; there are no fields\"}}");
    answers(
        "{\"method\":\"" V "GetInterfaceDescription\",\"parameters\":{\"interface\":"
        "\"org.volt.test\"}}",
        "{\"parameters\":{\"description\":\"# A test.\\ninterface org.volt.test\\n\"}}");
    answers("{\"method\":\"" V "GetInterfaceDescription\",\"parameters\":{\"interface\":"
            "\"org.volt.tes\"}}",
            "{\"error\":\"" V "InterfaceNotFound\",\"parameters\":{\"interface\":"
            "\"org.volt.tes\"}}");
    answers("{\"method\":\"" V "GetInterfaceDescription\"}",
            "{\"error\":\"" V "InvalidParameter\",\"parameters\":{\"parameter\":"
            "\"interface\",\"reason\":\"is missing\"}}");
    begin();
    assert_int_equal(say("{\"method\":\"" V "GetInterfaceDescription\",\"parameters\":"
                         "{\"interface\":\"org.varlink.service\"}}"),
                     SESSION_WANTS_INPUT);
    assert_non_null(strstr(wire_buf_at(&s.out.bytes), "# What every Varlink service"));
    session_fini(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_and_parameters),
        cmocka_unit_test(what_closes),
        cmocka_unit_test(errors),
        cmocka_unit_test(oneway_gets_nothing),
        cmocka_unit_test(pipelined_replies_keep_their_order),
        cmocka_unit_test(a_waiting_call_holds_the_next_back),
        cmocka_unit_test(a_stream_ends_without_continues),
        cmocka_unit_test(limits_are_named_before_the_end),
        cmocka_unit_test(memory_of_a_parse_is_bounded),
        cmocka_unit_test(a_list_comes_entry_by_entry),
        cmocka_unit_test(a_list_that_was_read_is_given_back),
        cmocka_unit_test(a_list_that_is_none_closes),
        cmocka_unit_test(a_full_output_holds_calls_back),
        cmocka_unit_test(a_call_in_hand_holds_its_values),
        cmocka_unit_test(what_it_makes_of_them_is_held_instead),
        cmocka_unit_test(a_long_message_takes_turns),
        cmocka_unit_test(others_get_a_turn),
        cmocka_unit_test(descriptors_go_with_their_reply),
        cmocka_unit_test(a_method_that_forgets_to_answer_closes),
        cmocka_unit_test(introspection),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
