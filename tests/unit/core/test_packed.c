/* Dormant specs: they wake as they were, equal parts are shared, and go with the last. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "daemon/job/env.h"
#include "daemon/core/packed.h"

static const struct siphash_key secret = {1, 2};

static struct job_spec *spec_new(const char *name, const char *env)
{
    struct job_spec *s = job_spec_new();
    char text[400];

    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    s->argv = calloc(3, sizeof(*s->argv));
    s->argv[0] = strdup("echo");
    s->argv[1] = strdup(text);
    s->env = job_env_new((char *const[]){(char *)(uintptr_t)env, NULL});
    s->name = strdup(name);
    return s;
}

static void they_wake_as_they_were(void **state)
{
    struct job_spec *a = spec_new("a", "E=1"), *back;
    struct shares s;

    (void)state;
    shares_init(&s, &secret);
    struct packed *d = packed_new(&s, a);
    assert_non_null(d);
    assert_int_equal(packed_unpack(d, &back), 0);
    assert_true(job_spec_equal(a, back));
    job_spec_unref(back);
    packed_free(d);
    packed_free(NULL);
    job_spec_unref(a);
    shares_fini(&s);
}

static void equal_parts_are_shared(void **state)
{
    struct packed *d[300];
    struct job_spec *spec;
    struct shares s;
    char env[2] = "A", name[2] = "a";

    (void)state;
    shares_init(&s, &secret);
    for (size_t i = 0; i < 300; i++) {
        char text[4] = {env[0], '=', (char)('0' + i % 10), '\0'};

        spec = spec_new(name, text);
        d[i] = packed_new(&s, spec);
        assert_non_null(d[i]);
        job_spec_unref(spec);
    }
    assert_int_equal(s.table.count, 11); /* ten environments, one argv */
    for (size_t i = 0; i < 300; i++) {
        assert_int_equal(packed_unpack(d[i], &spec), 0);
        assert_int_equal(job_env_strings(spec->env)[0][2], '0' + i % 10);
        job_spec_unref(spec);
        packed_free(d[i]);
    }
    assert_int_equal(s.table.count, 0);
    for (int i = 0; i < SHARES_PARTS; i++) /* nor is it looked at again */
        assert_null(s.latest[i]);
    shares_fini(&s);
}

/* --- environments that a client has chosen ---------------------------------------- */

#define FACTOR UINT64_C(0xff51afd7ed558ccd)

/* A hash without a key, of which a client can solve the last word: what comes out is what
 * the client wants. Eight bytes of a packed environment at a time. */
static uint64_t weak_step(uint64_t h, uint64_t word)
{
    h = (h ^ word) * FACTOR;
    return h ^ h >> 32;
}

static uint64_t weak_solve(uint64_t h, uint64_t wanted)
{
    uint64_t inverse = FACTOR; /* by Newton's steps, each doubles the right bits */

    for (int i = 0; i < 6; i++)
        inverse *= 2 - FACTOR * inverse;
    wanted ^= wanted >> 32;
    return h ^ wanted * inverse;
}

enum { LENGTH = 22, CHOSEN = 44000 }; /* with the two bytes before it: three words */

/* The next one of weak hash 7 after *at; false: this one would hold a NUL. */
static bool choose(uint64_t *at, char env[LENGTH + 1])
{
    uint8_t bytes[LENGTH + 2] = {1, LENGTH, 'E', '=', 'x', 'x', 'x', 'x'};
    uint64_t word, h;
    char digits[9];

    (void)snprintf(digits, sizeof(digits), "%08u", (unsigned)(*at)++);
    memcpy(bytes + 8, digits, 8);
    memcpy(&word, bytes, 8);
    h = weak_step(sizeof(bytes), word);
    memcpy(&word, bytes + 8, 8);
    h = weak_step(h, word);
    word = weak_solve(h, 7);
    assert_true(weak_step(h, word) == 7);
    memcpy(bytes + 16, &word, 8);
    memcpy(env, bytes + 2, LENGTH);
    env[LENGTH] = '\0';
    return strlen(env) == LENGTH;
}

static void chosen_environments_do_not_meet(void **state)
{
    struct packed **d = calloc(CHOSEN, sizeof(struct packed *));
    char env[LENGTH + 1];
    struct shares s;
    uint64_t at = 0;

    (void)state;
    assert_non_null(d);
    shares_init(&s, &secret);
    for (size_t i = 0; i < CHOSEN; i++) {
        while (!choose(&at, env))
            ;
        struct job_spec *spec = spec_new("a", env);
        d[i] = packed_new(&s, spec);
        assert_non_null(d[i]);
        job_spec_unref(spec);
    }
    assert_int_equal(s.table.count, CHOSEN + 1); /* and one argv */
    assert_true(hash_table_longest(&s.table) <= 10);
    for (size_t i = 0; i < CHOSEN; i++)
        packed_free(d[i]);
    assert_int_equal(s.table.count, 0);
    shares_fini(&s);
    free(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(they_wake_as_they_were),
        cmocka_unit_test(equal_parts_are_shared),
        cmocka_unit_test(chosen_environments_do_not_meet),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
