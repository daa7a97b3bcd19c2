/* The map of idempotency keys: what is put is found, what is removed is not; users do not
 * meet, whatever they choose; a body is its whole spec. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "daemon/job/env.h"
#include "daemon/core/keys.h"

static struct siphash128 name(uint64_t lo, uint64_t hi)
{
    return (struct siphash128){lo, hi};
}

static void put_find_remove(void **state)
{
    struct keys k = {.secret = {42, 0}};

    (void)state;
    assert_null(keys_find(&k, name(7, 7)));
    for (uint64_t i = 1; i <= 1000; i++) {
        struct keys_entry *e = keys_put(&k, name(i, i), 1000);

        assert_non_null(e);
        e->id = i;
    }
    for (uint64_t i = 1; i <= 1000; i += 2)
        keys_remove(&k, keys_find(&k, name(i, i)));
    assert_int_equal(k.table.count, 500);
    for (uint64_t i = 1; i <= 1000; i++) {
        const struct keys_entry *e = keys_find(&k, name(i, i));

        assert_int_equal(e != NULL, i % 2 == 0);
        assert_true(!e || e->id == i);
    }
    keys_fini(&k);
}

/* The place alone is no name: all 128 bits are. */
static void half_a_name_is_none(void **state)
{
    struct keys k = {.secret = {42, 0}};

    (void)state;
    for (uint64_t i = 1; i <= 40; i++) {
        struct keys_entry *e = keys_put(&k, name(7, i), 1000);

        assert_non_null(e);
        e->id = 100 + i;
    }
    for (uint64_t i = 1; i <= 40; i += 3)
        keys_remove(&k, keys_find(&k, name(7, i)));
    for (uint64_t i = 1; i <= 40; i++) {
        const struct keys_entry *e = keys_find(&k, name(7, i));

        assert_int_equal(e ? e->id : 0, i % 3 != 1 ? 100 + i : 0);
    }
    assert_null(keys_find(&k, name(7, 41)));
    keys_fini(&k);
}

static bool same_name(const struct keys *k, uid_t a, const char *x, uid_t b,
                      const char *y)
{
    return keys_same(keys_name(k, a, x), keys_name(k, b, y));
}

static void names(void **state)
{
    struct keys k = {.secret = {42, 0}}, l = {.secret = {43, 0}};

    (void)state;
    assert_true(same_name(&k, 1, "a", 1, "a"));
    assert_false(same_name(&k, 1, "a", 2, "a"));
    assert_false(same_name(&k, 1, "a", 1, "b"));
    assert_false(keys_same(keys_name(&k, 1, "a"), keys_name(&l, 1, "a")));
    assert_true(keys_is_name(keys_name(&k, 0, "")));
}

/* Among the submissions that want the same keys there is always an oldest one. */
static void ages_wrap(void **state)
{
    struct keys k = {.claimers = UINT32_MAX - 2};
    uint32_t ages[5];

    (void)state;
    for (size_t i = 0; i < 5; i++) {
        ages[i] = keys_new_age(&k);
        assert_int_not_equal(ages[i], 0); /* 0: not claimed */
        assert_false(keys_is_older(ages[i], ages[i]));
        for (size_t j = 0; j < i; j++) {
            assert_true(keys_is_older(ages[j], ages[i]));
            assert_false(keys_is_older(ages[i], ages[j]));
        }
    }
}

/* 34 ^ 35 is 'b' ^ 'c': a user's number must not cancel out with the key's first byte. */
static void keys_of_two_users_never_meet(void **state)
{
    enum { USERS = 64, NUMBERS = 40 };
    struct keys k = {.secret = {UINT64_C(0x123456789abcdef), 5}};
    char text[16];

    (void)state;
    assert_false(same_name(&k, 34, "backup", 35, "cackup"));
    for (uid_t uid = 0; uid < USERS; uid++) {
        for (int i = 0; i < NUMBERS; i++) {
            (void)snprintf(text, sizeof(text), "%d", i);
            struct siphash128 n = keys_name(&k, 1000 + uid, text);

            assert_null(keys_find(&k, n));
            assert_non_null(keys_put(&k, n, 1000));
        }
    }
    assert_int_equal(k.table.count, USERS * NUMBERS);
    keys_fini(&k);
}

static struct job_spec *spec_of(const char *program, const char *env)
{
    struct job_spec *s = job_spec_new();

    s->argv = calloc(2, sizeof(*s->argv));
    s->argv[0] = strdup(program);
    s->env = job_env_new((char *const[]){(char *)(uintptr_t)env, NULL});
    return s;
}

static bool same_body(const struct keys *k, const struct job_spec *a,
                      const struct job_spec *b)
{
    struct keys_bodies of_a = {0}, of_b = {0};
    struct siphash128 x, y;

    assert_int_equal(keys_body(k, a, &of_a, &x), 0);
    assert_int_equal(keys_body(k, b, &of_b, &y), 0);
    return keys_same(x, y);
}

static void bodies(void **state)
{
    const struct keys k = {.secret = {42, 0}};
    struct job_spec *a = spec_of("x", "A=1"), *b = spec_of("x", "A=1");

    (void)state;
    assert_true(same_body(&k, a, b));
    b->on_exists = JOB_ON_EXISTS_REPLACE; /* are of one submission only */
    b->replaces = 7;
    b->queue_timeout_usec = 8;
    assert_true(same_body(&k, a, b));
    b->priority = 1;
    assert_false(same_body(&k, a, b));
    job_spec_unref(b);
    b = spec_of("x", "A=2");
    assert_false(same_body(&k, a, b));
    job_spec_unref(b);
    b = spec_of("y", "A=1");
    assert_false(same_body(&k, a, b));
    job_spec_unref(a);
    job_spec_unref(b);
}

/* Waits for the one, which had the key if there is one, and for the other. */
static struct job_spec *spec_after(uint64_t one, const char *key, uint64_t other)
{
    struct job_spec *s = spec_of("x", "A=1");

    s->after = calloc(2, sizeof(*s->after));
    s->nafter = 2;
    s->after[0] = (struct job_edge){.job = one, .key = key ? strdup(key) : NULL};
    s->after[1] = (struct job_edge){.job = other};
    return s;
}

static void is_like(bool same, bool equal, struct job_spec *b)
{
    const struct keys k = {.secret = {42, 0}};
    struct job_spec *a = spec_after(7, "key", 9);

    assert_int_equal(same_body(&k, a, b), same);
    assert_int_equal(job_spec_equal(a, b), equal);
    job_spec_unref(a);
    job_spec_unref(b);
}

/* Of a job that is named by its key this is compared, whatever job it is now. */
static void bodies_after_keys(void **state)
{
    struct job_spec *nine = spec_after(7, "key", 9), *start = spec_after(7, "key", 9);

    (void)state;
    nine->after[1].key = strdup("nine");
    start->after[0].when = JOB_AFTER_START;
    is_like(true, true, spec_after(7, "key", 9));
    is_like(true, false, spec_after(8, "key", 9));
    is_like(true, false, spec_after(0, "key", 9));
    is_like(false, false, spec_after(7, "kez", 9));
    is_like(false, false, spec_after(7, NULL, 9));
    is_like(false, false, spec_after(7, "key", 10));
    is_like(false, false, nine);
    is_like(false, false, start);
}

static struct job_spec *spec_with(char *const *env)
{
    struct job_spec *s = spec_of("x", "A=1");

    job_env_unref(s->env);
    s->env = job_env_new(env);
    return s;
}

/* The order of variables says nothing, and neither does what a shell notes for itself. */
static void bodies_from_shells(void **state)
{
    const struct keys k = {.secret = {42, 0}};
    struct job_spec *first = spec_with((char *const[]){"_=/bin/x", "A=1", "B=2", NULL});
    struct job_spec *again = spec_with((char *const[]){
        "B=2", "SHLVL=3", "A=1", "OLDPWD=/", "PWD=/tmp", "_=/bin/y", NULL});
    struct job_spec *other = spec_with((char *const[]){"A=2", "B=1", NULL});
    struct job_spec *more = spec_with((char *const[]){"A=1", "B=2", "_A=1", NULL});

    (void)state;
    assert_true(same_body(&k, first, again));
    assert_false(same_body(&k, first, other));
    assert_false(same_body(&k, first, more));
    job_spec_unref(first);
    job_spec_unref(again);
    job_spec_unref(other);
    job_spec_unref(more);
}

/* Two environments whose differences cancel out in a hash that multiplies word by word:
 * the highest bit of one word, and where that one's shift has put it in the next. No
 * secret of such a hash tells them apart. */
static void bodies_cannot_be_made_to_meet(void **state)
{
    const struct keys k = {.secret = {UINT64_C(0x123456789abcdef), 5}};
    char text[] = "A=xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx";
    struct job_spec *a = spec_of("x", text), *b;

    (void)state;
    for (size_t at = 2; at + 16 < sizeof(text); at++) {
        char other[sizeof(text)];

        memcpy(other, text, sizeof(text));
        other[at] = (char)(other[at] ^ 0x80);
        other[at + 4] = (char)(other[at + 4] ^ 0x80);
        other[at + 8] = (char)(other[at + 8] ^ 0x80);
        b = spec_of("x", other);
        assert_false(same_body(&k, a, b));
        job_spec_unref(b);
    }
    job_spec_unref(a);
}

/* A batch shares its environment: it is looked at for the first alone. */
static void an_environment_is_hashed_once(void **state)
{
    const struct keys k = {.secret = {42, 0}};
    struct keys_bodies one = {0}, both = {0};
    struct job_spec *a = spec_of("x", "A=1"), *b = spec_of("y", "A=2");
    struct siphash128 alone, x, y, z;

    (void)state;
    assert_int_equal(keys_body(&k, b, &one, &alone), 0);
    assert_true(one.bytes > job_env_bytes(b->env));
    assert_int_equal(keys_body(&k, a, &both, &x), 0);
    assert_int_equal(keys_body(&k, b, &both, &y), 0); /* not with that of the other */
    assert_true(keys_same(y, alone));
    job_env_unref(a->env);
    a->env = job_env_ref(b->env);
    const size_t before = both.bytes;
    assert_int_equal(keys_body(&k, a, &both, &z), 0);
    assert_true(both.bytes - before < job_env_bytes(a->env));
    assert_false(keys_same(x, z));
    job_spec_unref(a);
    job_spec_unref(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(put_find_remove),
        cmocka_unit_test(half_a_name_is_none),
        cmocka_unit_test(names),
        cmocka_unit_test(ages_wrap),
        cmocka_unit_test(keys_of_two_users_never_meet),
        cmocka_unit_test(bodies),
        cmocka_unit_test(bodies_after_keys),
        cmocka_unit_test(bodies_from_shells),
        cmocka_unit_test(bodies_cannot_be_made_to_meet),
        cmocka_unit_test(an_environment_is_hashed_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
