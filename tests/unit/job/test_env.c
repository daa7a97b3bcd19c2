/* Environments of jobs: their two forms, and what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "daemon/job/env.h"

static struct job_env *unpacked(const struct pack *p, bool *ret_failed)
{
    struct unpack u = unpack_of(p->bytes, p->n);
    struct job_env *env = job_env_unpack(&u);

    *ret_failed = u.failed;
    assert_true(!env == u.failed);
    assert_false(u.no_memory);
    return env;
}

static void there_and_back(void **state)
{
    char *const strings[] = {"A=1", "EMPTY=", "PATH=/bin:/usr/bin", "B==", NULL};
    struct job_env *env = job_env_new(strings);
    struct pack mine = {0}, plain = {0};
    bool failed;

    (void)state;
    assert_non_null(env);
    for (size_t i = 0; i < 5; i++)
        if (strings[i])
            assert_string_equal(job_env_strings(env)[i], strings[i]);
    assert_null(job_env_strings(env)[4]);
    assert_true(job_env_is_valid(env));
    job_env_pack(env, &mine);
    pack_strings(&plain, strings); /* the form that stores have */
    assert_int_equal(mine.n, plain.n);
    assert_memory_equal(mine.bytes, plain.bytes, plain.n);
    struct job_env *back = unpacked(&mine, &failed);
    assert_true(job_env_equal(env, back));
    assert_true(job_env_bytes(env) > plain.n + sizeof(strings));
    job_env_unref(back);
    pack_fini(&mine);
    pack_fini(&plain);
    job_env_unref(env);
}

static void equality(void **state)
{
    struct job_env *none = job_env_new((char *const[]){NULL});
    struct job_env *one = job_env_new((char *const[]){"A=1", NULL});
    struct job_env *other = job_env_new((char *const[]){"A=2", NULL});
    struct job_env *shared = job_env_ref(one);

    (void)state;
    assert_null(job_env_strings(none)[0]);
    assert_true(job_env_is_valid(none));
    assert_true(job_env_equal(NULL, NULL));
    assert_false(job_env_equal(none, NULL)); /* an empty one is one */
    assert_false(job_env_equal(NULL, none));
    assert_false(job_env_equal(none, one));
    assert_false(job_env_equal(one, other));
    assert_true(job_env_equal(one, shared));
    job_env_unref(one);
    assert_string_equal(job_env_strings(shared)[0], "A=1");
    job_env_unref(shared);
    job_env_unref(other);
    job_env_unref(none);
    job_env_unref(NULL);
}

static void without_a_name_or_a_value(void **state)
{
    static char *const wrong[][3] = {{"A", NULL}, {"=1", NULL}, {"A=1", "", NULL}};

    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct job_env *env = job_env_new(wrong[i]);
        assert_false(job_env_is_valid(env));
        job_env_unref(env);
    }
}

/* Cut anywhere, with a NUL inside, or a count that is a lie. */
static void bytes_that_are_none(void **state)
{
    struct pack p = {0};
    bool failed;

    (void)state;
    pack_strings(&p, (char *const[]){"A=1", "B=2", NULL});
    for (size_t n = 0; n < p.n; n++) {
        const struct pack cut = {.bytes = p.bytes, .n = n};
        assert_null(unpacked(&cut, &failed));
        assert_true(failed);
    }
    p.bytes[3] = '\0';
    assert_null(unpacked(&p, &failed));
    p.bytes[3] = '=';
    p.bytes[0] = 3;
    assert_null(unpacked(&p, &failed));
    p.bytes[0] = 1; /* what follows is somebody else's */
    struct job_env *env = unpacked(&p, &failed);
    assert_null(job_env_strings(env)[1]);
    job_env_unref(env);
    pack_fini(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(there_and_back),
        cmocka_unit_test(equality),
        cmocka_unit_test(without_a_name_or_a_value),
        cmocka_unit_test(bytes_that_are_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
