/* The store's interface, on the memory backend: done at once, not durable, nothing
 * kept. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "daemon/store/store.h"

static int refuse_fact(void *arg, const struct store_fact *fact)
{
    (void)arg;
    (void)fact;
    return -1;
}

static void memory(void **state)
{
    (void)state;
    struct store *s = store_memory_new();
    struct job_event ev = {.type = JOB_EV_SUBMIT, .at_usec = 1};
    struct store_fact facts[2] = {{.key = {.id = 1, .index = -1}, .event = &ev},
                                  {.key = {.id = 2, .index = -1}, .event = &ev}};
    struct store_commit c;

    assert_non_null(s);
    assert_false(store_durable(s));
    assert_string_equal(s->backend->name, "memory");
    memset(&c, 0xff, sizeof(c)); /* append sets it up */
    assert_int_equal(store_append(s, facts, 2, &c), 0);
    assert_int_equal(store_commit_poll(NULL, &c), VOLT_READY);
    assert_int_equal(c.status, 0);
    store_commit_fini(&c);
    store_commit_fini(&c); /* any state */
    assert_int_equal(store_load(s, refuse_fact, NULL, NULL), 0);
    store_free(s);
    store_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(memory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
