/* What ends point to: equal values have one copy, others their own, and it stays. What has
 * its room needs no memory. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "daemon/core/interned.h"

static unsigned failing; /* of the next allocations; 0: none */

static bool fails(void)
{
    return failing && --failing == 0;
}

#define WRAP(result, name, parameters, ...)                                              \
    result __real_##name parameters;                                                     \
    result __wrap_##name parameters;                                                     \
    result __wrap_##name parameters                                                      \
    {                                                                                    \
        return fails() ? NULL : __real_##name(__VA_ARGS__);                              \
    }

WRAP(void *, malloc, (size_t size), size)
WRAP(void *, reallocarray, (void *old, size_t n, size_t size), old, n, size)
WRAP(char *, strdup, (const char *text), text)

static struct job_event step_event(const char *step)
{
    return (struct job_event){.type = JOB_EV_EXITED, .step = step};
}

static void steps_have_one_copy(void **state)
{
    struct interned in;
    char exec[] = "exec", cwd[] = "cwd";
    struct job_event none = step_event(NULL), a = step_event(exec), b = step_event(cwd),
                     again = step_event("exec"), other = step_event("cwd");

    (void)state;
    interned_init(&in);
    assert_int_equal(interned_event(&in, &none), 0);
    assert_null(none.step);
    assert_int_equal(interned_event(&in, &a), 0);
    assert_int_equal(interned_event(&in, &b), 0);
    assert_ptr_not_equal(a.step, exec);
    assert_string_equal(a.step, "exec");
    assert_string_equal(b.step, "cwd");
    assert_int_equal(interned_event(&in, &again), 0);
    assert_int_equal(interned_event(&in, &other), 0);
    assert_ptr_equal(again.step, a.step);
    assert_ptr_equal(other.step, b.step);
    assert_int_equal(in.nsteps, 2);
    memset(exec, 'x', 4);
    assert_string_equal(a.step, "exec");
    interned_fini(&in);
}

static struct job_named number(uint32_t n)
{
    return (struct job_named){.pid = {1 + n, n % 3}};
}

static const struct job_named *put(struct interned *in, const struct job_named *named)
{
    struct named_copy *room = interned_room();
    const struct job_named *copy;

    assert_non_null(room);
    failing = 1; /* the room is all that it needs */
    copy = interned_named(in, named, &room);
    failing = 0;
    free(room);
    return copy;
}

static void survivors_have_one_copy(void **state)
{
    enum { N = 300, BACK = 64 };
    struct interned in;
    const struct job_named *all[N], none = {.pid = {0}};

    (void)state;
    interned_init(&in);
    assert_null(put(&in, NULL));
    assert_null(put(&in, &none));
    for (uint32_t i = 0; i < N; i++) {
        const struct job_named one = number(i);
        const uint32_t first = i < BACK ? 0 : i - BACK + 1;
        const struct job_named near = number(first);

        all[i] = put(&in, &one);
        assert_ptr_not_equal(all[i], &one);
        assert_ptr_equal(put(&in, &one), all[i]); /* the latest */
        assert_ptr_equal(put(&in, &near), all[first]);
        assert_int_equal(in.nnamed, i + 1);
    }
    for (uint32_t i = 0; i < N; i++) {
        const struct job_named one = number(i);
        assert_memory_equal(all[i], &one, sizeof(one));
    }
    const struct job_named far = number(N - BACK - 1);
    assert_ptr_not_equal(put(&in, &far), all[N - BACK - 1]);
    interned_fini(&in);
}

static void an_event_has_copies_of_both_or_there_is_no_memory(void **state)
{
    const struct job_named named = number(7);
    struct interned in;
    int r = -ENOMEM;

    (void)state;
    interned_init(&in);
    for (unsigned n = 1; r < 0; n++) {
        struct job_event ev = step_event("exec");

        ev.named = &named;
        failing = n;
        r = interned_event(&in, &ev);
        failing = 0;
        assert_int_equal(r, n <= 3 ? -ENOMEM : 0);
        if (r < 0)
            continue;
        assert_string_equal(ev.step, "exec");
        assert_ptr_not_equal(ev.named, &named);
        assert_memory_equal(ev.named, &named, sizeof(named));
    }
    assert_int_equal(in.nnamed, 1);
    interned_fini(&in);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_have_one_copy),
        cmocka_unit_test(survivors_have_one_copy),
        cmocka_unit_test(an_event_has_copies_of_both_or_there_is_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
