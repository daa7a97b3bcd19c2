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
                             .key = {.id = seq * 10, .index = JOB_NO_INDEX},
                             .type = JOB_EV_EXITED,
                             .state = JOB_DONE,
                             .result = JOB_RESULT_EXIT,
                             .code = -3};
}

static void expect(struct event_texts *t, uint64_t seq, const char *text)
{
    const struct job_news ev = news(seq);
    struct wire_buf bytes = {NULL};
    struct wire_writer to = {.out = &bytes};

    wire_open(&to, NULL, '[');
    wire_put_int(&to, NULL, 7);
    event_texts_put(t, &ev, &to);
    assert_int_equal(to.error, 0);
    assert_int_equal(wire_buf_len(&bytes), 3 + strlen(text));
    assert_memory_equal(wire_buf_at(&bytes), "[7,", 3);
    assert_memory_equal(wire_buf_at(&bytes) + 3, text, strlen(text));
    wire_buf_fini(&bytes);
}

static void made_once_and_copied(void **state)
{
    static const char one[] =
        "{\"cursor\":1,\"at_usec\":17,\"id\":\"10\",\"event\":\"exited\","
        "\"state\":\"done\",\"result\":\"exit\",\"code\":-3}";
    static const char later[] =
        "{\"cursor\":4097,\"at_usec\":17,\"id\":\"40970\",\"event\":\"exited\","
        "\"state\":\"done\",\"result\":\"exit\",\"code\":-3}";
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

static void the_longest(void **state)
{
    struct job_news ev = news(UINT64_MAX >> 1);
    struct event_texts *t = event_texts_new();
    struct wire_buf to[2] = {{NULL}, {NULL}};

    (void)state;
    ev.at_usec = ev.key.id = UINT64_MAX >> 1;
    ev.key.index = INT64_MAX;
    ev.code = INT32_MIN;
    ev.result = JOB_RESULT_OUTPUT_LIMIT;
    for (int i = 0; i < 2; i++) {
        struct wire_writer w = {.out = &to[i]};

        event_texts_put(t, &ev, &w);
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
        cmocka_unit_test(the_longest),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
