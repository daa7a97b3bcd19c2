/* Environments, and other parts, by their texts: each user has its own, and no more than its share. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <jansson.h>

#include "daemon/job/env.h"
#include "daemon/call/known_texts.h"

static void add(struct known_texts *e, uid_t uid, const char *text)
{
    struct job_env *env = job_env_new((char *const[]){(char *)(uintptr_t)text, NULL});

    assert_non_null(env);
    known_texts_add(e, uid, strdup(text), strlen(text), env);
    job_env_unref(env);
}

/* Whether a text is known, and as what it was read. */
static bool knows(struct known_texts *e, uid_t uid, const char *text)
{
    struct job_env *env = known_texts_find(e, uid, text, strlen(text));
    bool known = env;

    if (env)
        assert_string_equal(job_env_strings(env)[0], text);
    job_env_unref(env);
    return known;
}

static void each_user_has_its_own(void **state)
{
    struct known_texts *e = known_texts_new(&known_env);

    (void)state;
    assert_false(knows(e, 1, "A=1"));
    add(e, 1, "A=1");
    assert_true(knows(e, 1, "A=1"));
    assert_false(knows(e, 2, "A=1"));
    assert_false(knows(e, 1, "A=2"));
    assert_false(knows(e, 1, "A=11"));
    assert_false(knows(e, 1, ""));
    add(e, 1, "A=1"); /* by two calls at once: once is enough */
    assert_true(knows(e, 1, "A=1"));
    known_texts_free(e);
}

static void the_one_not_asked_for_longest_goes(void **state)
{
    struct known_texts *e = known_texts_new(&known_env);
    char text[16];

    (void)state;
    add(e, 2, "B=1");
    for (int i = 0; i < KNOWN_OF_USER; i++) {
        (void)snprintf(text, sizeof(text), "A=%d", i);
        add(e, 1, text);
    }
    assert_true(knows(e, 1, "A=0"));
    add(e, 1, "A=more");
    assert_true(knows(e, 1, "A=0"));
    assert_false(knows(e, 1, "A=1"));
    assert_true(knows(e, 1, "A=2"));
    assert_true(knows(e, 1, "A=more"));
    assert_true(knows(e, 2, "B=1")); /* not by what others send */
    known_texts_free(e);
}

static void all_together_have_a_bound(void **state)
{
    struct known_texts *e = known_texts_new(&known_env);
    size_t n = 0;

    (void)state;
    for (uid_t uid = 0; uid <= KNOWN_MOST; uid++)
        add(e, uid, "A=1");
    assert_false(knows(e, 0, "A=1"));
    for (uid_t uid = 0; uid <= KNOWN_MOST; uid++)
        n += knows(e, uid, "A=1");
    assert_int_equal(n, KNOWN_MOST);
    known_texts_free(e);
}

static void long_ones_are_not_kept(void **state)
{
    struct known_texts *e = known_texts_new(&known_env);
    char text[16386];

    (void)state;
    memset(text, '=', sizeof(text));
    text[known_env.most] = '\0';
    add(e, 1, text);
    assert_true(knows(e, 1, text));
    text[known_env.most] = '=';
    text[known_env.most + 1] = '\0';
    add(e, 1, text);
    assert_false(knows(e, 1, text));
    known_texts_free(e);
}

/* What was found outlives its place. */
static void a_reference_stays(void **state)
{
    struct known_texts *e = known_texts_new(&known_env);

    (void)state;
    add(e, 1, "A=1");
    struct job_env *env = known_texts_find(e, 1, "A=1", 3);
    known_texts_free(e);
    assert_string_equal(job_env_strings(env)[0], "A=1");
    job_env_unref(env);
    assert_null(known_texts_find(NULL, 1, "A=1", 3));
    known_texts_add(NULL, 1, strdup("A=1"), 3, NULL);
    known_texts_free(NULL);
}

/* And what is no longer known is given back. */
static void references_are_given_back(void **state)
{
    struct known_texts *e = known_texts_new(&known_json);
    json_t *what[KNOWN_OF_USER + 1];
    char text[16];

    (void)state;
    for (int i = 0; i <= KNOWN_OF_USER; i++) {
        (void)snprintf(text, sizeof(text), "%d", i);
        what[i] = json_array();
        known_texts_add(e, 1, strdup(text), strlen(text), what[i]);
        assert_int_equal(what[i]->refcount, 2);
    }
    assert_int_equal(what[0]->refcount, 1);
    known_texts_free(e);
    for (int i = 0; i <= KNOWN_OF_USER; i++) {
        assert_int_equal(what[i]->refcount, 1);
        json_decref(what[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_user_has_its_own),
        cmocka_unit_test(the_one_not_asked_for_longest_goes),
        cmocka_unit_test(all_together_have_a_bound),
        cmocka_unit_test(long_ones_are_not_kept),
        cmocka_unit_test(a_reference_stays),
        cmocka_unit_test(references_are_given_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
