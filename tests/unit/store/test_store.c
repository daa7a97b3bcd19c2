/* The store's interface, on the store of tests: done at once, not durable, nothing
 * kept. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "daemon/store/retention.h"
#include "tests/support/memory_store.h"
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

static struct {
    size_t n, calls, largest;
    uint64_t last; /* id */
} heard;

static void hear(void *arg, const struct job_news *news, size_t n)
{
    assert_ptr_equal(arg, &heard);
    heard.calls++;
    heard.n += n;
    heard.largest = n > heard.largest ? n : heard.largest;
    for (size_t i = 0; i < n; i++)
        assert_int_equal(news[i].key.id, ++heard.last);
}

static struct store_draft *draft_of(struct store *s, size_t portions)
{
    struct store_draft *d = store_draft(s);
    struct store_fact facts[50];
    uint64_t id = heard.last;

    assert_non_null(d);
    for (size_t p = 0; p < portions; p++) {
        for (size_t i = 0; i < 50; i++)
            facts[i] = fact_submit(++id, 1, NULL);
        store_draft_add(d, facts, 50);
    }
    return d;
}

/* Told in order and in portions, by its polls or at the end, once it is appended. */
static void a_draft_in_memory(void **state)
{
    (void)state;
    struct store *s = store_memory_new();
    struct store_commit c;

    assert_non_null(s);
    memset(&heard, 0, sizeof(heard));
    store_subscribe(s, hear, &heard);
    store_draft_free(draft_of(s, 3));
    store_draft_free(NULL);
    assert_int_equal(heard.n, 0);
    assert_int_equal(store_draft_append(draft_of(s, 1), &c), 0);
    assert_int_equal(heard.n, 0);
    assert_int_equal(store_commit_poll(NULL, &c), VOLT_READY);
    assert_int_equal(c.status, 0);
    assert_int_equal(heard.n, 50);
    store_commit_fini(&c);
    assert_int_equal(store_draft_append(draft_of(s, 5), &c), 0);
    store_commit_fini(&c);
    assert_int_equal(heard.n, 300);
    assert_in_range(heard.largest, 1, 64);
    assert_int_equal(heard.calls, 5);
    store_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(memory),
                                       cmocka_unit_test(a_draft_in_memory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
