/* Dormant specs: they wake as they were, equal parts are shared, and go with the last. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "daemon/exec/dormant.h"

static struct job_spec *spec_new(const char *name, const char *env)
{
    struct job_spec *s = job_spec_new();
    char text[400];

    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    s->argv = calloc(3, sizeof(*s->argv));
    s->argv[0] = strdup("echo");
    s->argv[1] = strdup(text);
    s->env = calloc(2, sizeof(*s->env));
    s->env[0] = strdup(env);
    s->name = strdup(name);
    return s;
}

static void they_wake_as_they_were(void **state)
{
    struct job_spec *a = spec_new("a", "E=1"), *back;
    struct shares s = {.n = 0};

    (void)state;
    shares_init(&s);
    struct dormant *d = dormant_new(&s, a);
    assert_non_null(d);
    assert_int_equal(dormant_wake(d, &back), 0);
    assert_true(job_spec_equal(a, back));
    job_spec_unref(back);
    dormant_free(d);
    dormant_free(NULL);
    job_spec_unref(a);
    shares_fini(&s);
}

static void equal_parts_are_shared(void **state)
{
    struct dormant *d[300];
    struct job_spec *spec;
    struct shares s = {.n = 0};
    char env[2] = "A", name[2] = "a";

    (void)state;
    shares_init(&s);
    for (size_t i = 0; i < 300; i++) {
        char text[4] = {env[0], '=', (char)('0' + i % 10), '\0'};

        spec = spec_new(name, text);
        d[i] = dormant_new(&s, spec);
        assert_non_null(d[i]);
        job_spec_unref(spec);
    }
    assert_int_equal(s.n, 11); /* ten environments, one argv */
    for (size_t i = 0; i < 300; i++) {
        assert_int_equal(dormant_wake(d[i], &spec), 0);
        assert_int_equal(spec->env[0][2], '0' + i % 10);
        job_spec_unref(spec);
        dormant_free(d[i]);
    }
    assert_int_equal(s.n, 0);
    shares_fini(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(they_wake_as_they_were),
        cmocka_unit_test(equal_parts_are_shared),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
