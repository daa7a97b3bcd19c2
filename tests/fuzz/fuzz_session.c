/* What a peer sends to a session: the input whole and in pieces must be answered with the
 * same bytes, which are whole messages; and so where environments are known by their
 * texts from one to the next. The first byte is the size of the pieces. */
#include "daemon/job/env.h"
#include "daemon/call/known_texts.h"
#include "daemon/server/session.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

/* Of an environment the parameters have nothing where it is known, so that is left out. */
static enum volt_poll echo_poll(struct volt_cx *cx, struct call *call, void *state)
{
    json_t *spec = json_object_get(call_parameters(call), "spec");

    (void)cx, (void)state;
    json_object_del(spec, "env");
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

/* An object of strings as an environment; NULL: it is none. */
static struct job_env *env_of(json_t *object)
{
    struct pack p = {0};
    struct job_env *env = NULL;
    const char *name;
    json_t *value;
    bool good = json_is_object(object);

    pack_number(&p, json_object_size(object));
    json_object_foreach(object, name, value)
    {
        size_t n = strlen(name), m = json_string_length(value);

        good &= json_is_string(value) && strlen(json_string_value(value)) == m;
        pack_number(&p, n + 1 + m);
        pack_raw(&p, name, n);
        pack_raw(&p, "=", 1);
        pack_raw(&p, json_string_value(value), m);
    }
    if (good) {
        struct unpack u = unpack_of(p.bytes, p.n);
        FUZZ_CHECK((env = job_env_unpack(&u)) != NULL);
    }
    pack_fini(&p);
    return env;
}

/* Tells the environment and the limits, as read or as known, and what else the spec has. */
static enum volt_poll submit_poll(struct volt_cx *cx, struct call *call, void *state)
{
    json_t *spec = json_object_get(call_parameters(call), "spec"), *told = json_array();
    json_t *limits = json_object_get(spec, "limits");
    struct job_env *known = call_env(call), *env;

    (void)cx, (void)state;
    env = known ? job_env_ref(known) : env_of(json_object_get(spec, "env"));
    call_learn_env(call, known ? NULL : env);
    for (char *const *s = env ? job_env_strings(env) : NULL; s && *s; s++)
        json_array_append_new(told, json_string(*s));
    job_env_unref(env);
    return call_reply(call, json_pack("{s:o,s:O?,s:I}", "env", told, "limits", limits,
                                      "members", (json_int_t)json_object_size(spec)));
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
static const struct method submit = {.name = "Submit", .poll = submit_poll};
static const struct interface jobs_interface = {
    .name = "org.voltd.jobs",
    .description = "",
    .methods = (const struct method *const[]){&submit, NULL},
};
static const struct interface *const interfaces[] = {&test_interface, &jobs_interface,
                                                     NULL};

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

static void converse(const struct service *service, const uint8_t *data, size_t size,
                     size_t piece, struct wire_buf *all)
{
    const struct asker peer = auth_user(7);
    enum session_state state = SESSION_WANTS_INPUT;
    struct config config;
    struct session s;

    config_defaults(&config);
    config.max_message = 4000;
    config.max_depth = 8;
    config.max_tokens = 200;
    session_init(&s, service, interfaces, &peer, &config);
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

static void check_same(const struct service *service, const uint8_t *data, size_t size,
                       const struct wire_buf *whole)
{
    struct wire_buf parts = {0};
    size_t len = wire_buf_len(whole);

    converse(service, data + 1, size - 1, (size_t)data[0] + 1, &parts);
    FUZZ_CHECK(wire_buf_len(&parts) == len);
    FUZZ_CHECK(len == 0 || memcmp(wire_buf_at(whole), wire_buf_at(&parts), len) == 0);
    wire_buf_fini(&parts);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct service plain = {.core = NULL},
                   knows = {.environments = known_texts_new(&known_env),
                            .limits = known_texts_new(&known_json)};
    struct wire_buf whole = {0};

    if (size >= 2) {
        converse(&plain, data + 1, size - 1, size, &whole);
        check_same(&plain, data, size, &whole);
        check_same(&knows, data, size, &whole);
        check_same(&knows, data, size, &whole);
    }
    if (wire_buf_len(&whole) > 0) {
        FUZZ_CHECK(wire_buf_at(&whole)[wire_buf_len(&whole) - 1] == '\0');
        whole_messages(wire_buf_at(&whole), wire_buf_len(&whole));
    }
    wire_buf_fini(&whole);
    known_texts_free(knows.environments);
    known_texts_free(knows.limits);
    return 0;
}
