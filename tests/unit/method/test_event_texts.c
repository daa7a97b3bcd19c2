/* Texts of events: the same from the cache as made anew, whoever was there before. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "daemon/method/event_texts.h"

static struct job_news news(uint64_t seq)
{
    return (struct job_news){.seq = seq,
                             .at_usec = 17,
                             .key = {.id = seq * 10, .index = JOB_NO_INDEX, .attempt = 2},
                             .type = JOB_EV_EXITED,
                             .state = JOB_DONE,
                             .end = {.result = JOB_RESULT_EXIT,
                                     .code = 3,
                                     .code_is = JOB_CODE_STATUS,
                                     .exit_code = 3}};
}

static void put(struct event_texts *t, const struct job_news *ev, const char *name,
                struct wire_writer *to)
{
    if (!event_texts_copy(t, ev->seq, to))
        event_texts_put(t, ev, name, to);
}

static void expect(struct event_texts *t, uint64_t seq, const char *text)
{
    const struct job_news ev = news(seq);
    struct wire_buf bytes = {NULL};
    struct wire_writer to = {.out = &bytes};

    wire_open(&to, NULL, '[');
    wire_put_int(&to, NULL, 7);
    put(t, &ev, "n", &to);
    assert_int_equal(to.error, 0);
    assert_int_equal(wire_buf_len(&bytes), 3 + strlen(text));
    assert_memory_equal(wire_buf_at(&bytes), "[7,", 3);
    assert_memory_equal(wire_buf_at(&bytes) + 3, text, strlen(text));
    wire_buf_fini(&bytes);
}

static void made_once_and_copied(void **state)
{
    static const char one[] =
        "{\"cursor\":1,\"at_usec\":17,\"id\":\"10\",\"name\":\"n\",\"event\":\"exited\","
        "\"state\":\"done\",\"result\":\"exit\",\"exit_status\":3,\"exit_code\":3,"
        "\"attempt\":2}";
    static const char later[] =
        "{\"cursor\":4097,\"at_usec\":17,\"id\":\"40970\",\"name\":\"n\",\"event\":\"exited\","
        "\"state\":\"done\",\"result\":\"exit\",\"exit_status\":3,\"exit_code\":3,"
        "\"attempt\":2}";
    struct event_texts *t = event_texts_new();

    (void)state;
    assert_non_null(t);
    for (int i = 0; i < 2; i++)
        expect(t, 1, one);
    for (int i = 0; i < 2; i++)
        expect(t, 4097, later); /* in the same slot */
    for (int i = 0; i < 2; i++)
        expect(t, 1, one); /* who is late */
    expect(t, 4097, later);
    event_texts_free(t);
    event_texts_free(NULL);
}

/* Of a job whose name nobody knows any more. */
static void without_a_name(void **state)
{
    static const char text[] =
        "[{\"cursor\":1,\"at_usec\":17,\"id\":\"10\",\"event\":\"started\","
        "\"state\":\"running\",\"attempt\":2}";
    struct job_news ev = news(1);
    struct event_texts *t = event_texts_new();
    struct wire_buf bytes = {NULL};
    struct wire_writer to = {.out = &bytes};

    (void)state;
    ev.type = JOB_EV_STARTED;
    ev.state = JOB_RUNNING;
    ev.end = (struct job_end){.code = 0};
    wire_open(&to, NULL, '[');
    put(t, &ev, NULL, &to);
    assert_int_equal(wire_buf_len(&bytes), strlen(text));
    assert_memory_equal(wire_buf_at(&bytes), text, strlen(text));
    wire_buf_fini(&bytes);
    event_texts_free(t);
}

static void the_longest(void **state)
{
    struct job_news ev = news(UINT64_MAX >> 1);
    struct event_texts *t = event_texts_new();
    struct wire_buf to[2] = {{NULL}, {NULL}};
    char name[600];

    (void)state;
    memset(name, '\1', sizeof(name));
    name[sizeof(name) - 1] = '\0';
    ev.at_usec = ev.key.id = UINT64_MAX >> 1;
    ev.key.index = INT64_MAX;
    ev.end.code = INT32_MIN;
    ev.end.result = JOB_RESULT_OUTPUT_LIMIT;
    for (int i = 0; i < 2; i++) {
        struct wire_writer w = {.out = &to[i]};

        put(t, &ev, name, &w);
        assert_int_equal(w.error, 0);
    }
    assert_int_equal(wire_buf_len(&to[0]), wire_buf_len(&to[1]));
    assert_memory_equal(wire_buf_at(&to[0]), wire_buf_at(&to[1]), wire_buf_len(&to[0]));
    for (int i = 0; i < 2; i++)
        wire_buf_fini(&to[i]);
    event_texts_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(made_once_and_copied),
        cmocka_unit_test(without_a_name),
        cmocka_unit_test(the_longest),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
