/* The store's interface, on the memory backend: done at once, not durable, nothing
 * kept. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "daemon/store/retention.h"
#include "tests/support/facts.h"
#include "daemon/store/reader.h"

static int refuse(void *arg, const struct store_loaded *loaded)
{
    (void)arg;
    (void)loaded;
    return -1;
}

static void memory(void **state)
{
    (void)state;
    struct store *s = store_memory_new();
    const struct store_fact facts[2] = {fact_submit(1, 1, NULL), fact_submit(2, 1, NULL)};
    const uint64_t ids[] = {1, 2};
    struct store_commit c;

    assert_non_null(s);
    assert_false(store_durable(s));
    assert_string_equal(s->ops->name, "memory");
    memset(&c, 0xff, sizeof(c)); /* append sets it up */
    assert_int_equal(store_append(s, facts, 2, &c), 0);
    assert_int_equal(store_commit_poll(NULL, &c), VOLT_READY);
    assert_int_equal(c.status, 0);
    store_commit_fini(&c);
    store_commit_fini(&c); /* any state */
    memset(&c, 0xff, sizeof(c));
    assert_int_equal(store_forget(s, ids, 2, &c), 0);
    assert_int_equal(store_commit_poll(NULL, &c), VOLT_READY);
    assert_int_equal(c.status, 0);
    store_commit_fini(&c);
    assert_int_equal(store_load(s, refuse, NULL, NULL), 0);
    store_free(s);
    store_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(memory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
