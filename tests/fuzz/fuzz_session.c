/* What a peer sends to a session: the input twice, whole and in pieces, must be answered
 * with the same bytes, which are whole messages. The first byte is the size of the
 * pieces. */
#include "daemon/server/session.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

static enum volt_poll echo_poll(struct volt_cx *cx, struct call *call, void *state)
{
    (void)cx, (void)state;
    return call_reply(call, json_incref(call_parameters(call)));
}

static enum volt_poll count_poll(struct volt_cx *cx, struct call *call, void *state)
{
    int *n = state;

    (void)cx;
    while (*n < 3)
        if (call_continue(call, json_pack("{s:i}", "n", (*n)++)) < 0)
            return call_abort(call);
    return call_reply(call, NULL);
}

static const struct method echo = {.name = "Echo", .poll = echo_poll};
static const struct method count = {.name = "Count",
                                    .flags = METHOD_MORE_REQUIRED,
                                    .state_size = sizeof(int),
                                    .poll = count_poll};
static const struct interface test_interface = {
    .name = "org.volt.test",
    .description = "interface org.volt.test\n",
    .methods = (const struct method *const[]){&echo, &count, NULL},
};
static const struct interface *const interfaces[] = {&test_interface, NULL};
static const struct service service;

static void take_output(struct session *s, struct wire_buf *all)
{
    const char *at;
    size_t len;
    int fd;

    while (output_next(&s->out, &at, &len, &fd)) {
        FUZZ_CHECK(fd == -1);
        FUZZ_CHECK(wire_buf_append(all, at, len) == 0);
        output_sent(&s->out, len);
    }
}

static enum session_state steps(struct session *s, struct wire_buf *all)
{
    enum session_state state;

    do {
        state = session_step(NULL, s);
        FUZZ_CHECK(state != SESSION_IN_CALL);
        take_output(s, all);
    } while (state == SESSION_FULL || state == SESSION_MORE_CALLS);
    return state;
}

static void converse(const uint8_t *data, size_t size, size_t piece, struct wire_buf *all)
{
    const struct job_owner peer = {.uid = 7};
    enum session_state state = SESSION_WANTS_INPUT;
    struct config config;
    struct session s;

    config_defaults(&config);
    config.max_message = 4000;
    config.max_depth = 8;
    config.max_tokens = 200;
    session_init(&s, &service, interfaces, &peer, &config);
    while (size > 0 && state == SESSION_WANTS_INPUT) {
        size_t room, n = piece < size ? piece : size;
        char *at;

        FUZZ_CHECK(frame_space(&s.in, &at, &room) == 0 && room > 0);
        n = n < room ? n : room;
        memcpy(at, data, n);
        frame_filled(&s.in, n);
        data += n;
        size -= n;
        state = steps(&s, all);
    }
    session_fini(&s);
}

static void whole_messages(const char *at, size_t len)
{
    for (const char *end = at + len; at < end; at += strlen(at) + 1) {
        json_t *reply = json_loads(at, 0, NULL);

        FUZZ_CHECK(json_is_object(reply));
        json_decref(reply);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct wire_buf whole = {0}, parts = {0};

    if (size < 2)
        return 0;
    converse(data + 1, size - 1, size, &whole);
    converse(data + 1, size - 1, (size_t)data[0] + 1, &parts);
    size_t len = wire_buf_len(&whole);
    FUZZ_CHECK(wire_buf_len(&parts) == len);
    if (len > 0) {
        FUZZ_CHECK(memcmp(wire_buf_at(&whole), wire_buf_at(&parts), len) == 0);
        FUZZ_CHECK(wire_buf_at(&whole)[len - 1] == '\0');
        whole_messages(wire_buf_at(&whole), len);
    }
    wire_buf_fini(&whole);
    wire_buf_fini(&parts);
    return 0;
}
