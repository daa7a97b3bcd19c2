/* A session, environments and limits: what the same user sends again is not parsed
 * again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "daemon/job/env.h"
#include "daemon/call/known_texts.h"
#include "daemon/server/session.h"

/* Answers how many members the parameters have in spec.env, and the environment that is
 * known instead; learns that of A=1, whatever the members are. */
static json_t *limits; /* of the latest call; NULL: it had none */

static enum volt_poll submit_poll(struct volt_cx *cx, struct call *call, void *state)
{
    const json_t *env =
        json_object_get(json_object_get(call_parameters(call), "spec"), "env");
    struct job_env *known = call_env(call);

    json_decref(limits);
    limits = json_incref(
        json_object_get(json_object_get(call_parameters(call), "spec"), "limits"));
    (void)cx;
    (void)state;
    if (!known) {
        struct job_env *read = job_env_new((char *const[]){"A=1", NULL});
        call_learn_env(call, read);
        job_env_unref(read);
    }
    return call_reply(call,
                      json_pack("{s:I,s:s}", "members", (json_int_t)json_object_size(env),
                                "known", known ? job_env_strings(known)[0] : ""));
}

static const struct method submit = {.name = "Submit", .poll = submit_poll};
static const struct interface interface = {
    .name = "org.voltd.jobs",
    .description = "",
    .methods = (const struct method *const[]){&submit, NULL},
};
static const struct interface *const interfaces[] = {&interface, NULL};

static struct service service;

static void answers(uid_t uid, const char *message, const char *reply)
{
    const struct asker peer = auth_user(uid);
    size_t len = strlen(message) + 1, room;
    struct config config;
    struct session s;
    char *at;

    config_defaults(&config);
    session_init(&s, &service, interfaces, &peer, &config);
    assert_int_equal(frame_space(&s.in, &at, &room), 0);
    assert_true(room >= len);
    memcpy(at, message, len);
    frame_filled(&s.in, len);
    (void)session_step(NULL, &s);
    if (reply)
        assert_string_equal(wire_buf_at(&s.out.bytes), reply);
    else
        assert_int_equal(wire_buf_len(&s.out.bytes), 0);
    session_fini(&s);
}

#define SUBMIT(env)                                                                      \
    "{\"method\":\"org.voltd.jobs.Submit\",\"parameters\":{\"spec\":{\"env\":" env "}}}"
#define PARSED "{\"parameters\":{\"members\":1,\"known\":\"\"}}"
#define KNOWN  "{\"parameters\":{\"members\":0,\"known\":\"A=1\"}}"

static void the_second_time_it_is_known(void **state)
{
    (void)state;
    service.environments = known_texts_new(&known_env);
    answers(7, SUBMIT("{\"A\":\"1\"}"), PARSED);
    answers(7, SUBMIT("{\"A\":\"1\"}"), KNOWN);
    answers(7, SUBMIT("{\"A\": \"1\"}"), PARSED); /* another text */
    answers(8, SUBMIT("{\"A\":\"1\"}"), PARSED);  /* another user */
    answers(8, SUBMIT("{\"A\":\"1\"}"), KNOWN);
    answers(7, SUBMIT("{\"A\":\"1\"}"), KNOWN);
    known_texts_free(service.environments);
}

/* What is around it is parsed as ever. */
static void what_is_around_it_counts(void **state)
{
    (void)state;
    service.environments = known_texts_new(&known_env);
    answers(7, SUBMIT("{\"A\":\"1\"}"), PARSED);
    answers(7, SUBMIT("{\"A\":\"1\"},\"env\":{}"), NULL);
    answers(7, SUBMIT("{\"A\":\"1\"},\"\\u0065nv\":{}"), NULL);
    answers(7, SUBMIT("{\"A\":\"1\"},\"x\""), NULL);
    answers(7, SUBMIT("{\"A\":\"1\"}}"), NULL);
    known_texts_free(service.environments);
}

#define LIMITED(limits) "{\"A\":\"1\"},\"limits\":{" limits "}"
#define CORE            "\"rlimits\":{\"core\":\"0\"}"
#define SPACES          "                                                                "
#define LONG            SPACES SPACES SPACES SPACES SPACES SPACES SPACES SPACES

/* Which limits the latest call had: those that are kept are in one place. */
static json_t *limits_of(uid_t uid, const char *message, const char *reply)
{
    answers(uid, message, reply);
    const char *core =
        json_string_value(json_object_get(json_object_get(limits, "rlimits"), "core"));
    if (reply)
        assert_string_equal(core, "0");
    return limits;
}

static void limits_are_as_they_were(void **state)
{
    (void)state;
    service.environments = known_texts_new(&known_env);
    service.limits = known_texts_new(&known_json);
    json_t *first = limits_of(7, SUBMIT(LIMITED(CORE)), PARSED);
    assert_ptr_equal(limits_of(7, SUBMIT(LIMITED(CORE)), KNOWN), first);
    assert_ptr_equal(
        limits_of(7, SUBMIT("{\"B\":\"2\"},\"limits\":{" CORE "},\"x\":1"), PARSED),
        first);
    answers(
        7,
        "{\"method\":\"org.voltd.jobs.Submit\",\"parameters\":{\"spec\":{\"limits\":{" CORE
        "},\"env\":{\"A\":\"1\"}}}}",
        KNOWN);
    assert_ptr_equal(limits, first);
    assert_ptr_not_equal(limits_of(8, SUBMIT(LIMITED(CORE)), PARSED), first);
    assert_ptr_not_equal(limits_of(7, SUBMIT(LIMITED(" " CORE)), KNOWN), first);
    answers(7, SUBMIT(LIMITED(CORE) ",\"limits\":{}"), NULL);
    answers(7, SUBMIT("{\"A\":\"1\"},\"limits\":null"), KNOWN);
    assert_true(json_is_null(limits));

    json_t *one = json_incref(limits_of(7, SUBMIT(LIMITED(LONG LONG CORE)), KNOWN));
    assert_ptr_not_equal(limits_of(7, SUBMIT(LIMITED(LONG LONG CORE)), KNOWN), one);
    json_decref(one);
    json_decref(limits);
    limits = NULL;
    known_texts_free(service.environments);
    known_texts_free(service.limits);
    service.limits = NULL;
}

static void without_a_place_nothing_is_known(void **state)
{
    (void)state;
    service.environments = NULL;
    answers(7, SUBMIT("{\"A\":\"1\"}"), PARSED);
    answers(7, SUBMIT("{\"A\":\"1\"}"), PARSED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_second_time_it_is_known),
        cmocka_unit_test(what_is_around_it_counts),
        cmocka_unit_test(limits_are_as_they_were),
        cmocka_unit_test(without_a_place_nothing_is_known),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
