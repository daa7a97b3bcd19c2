/* Looks at many jobs that have left memory: each is found as it ended, and the store is
 * read a page at a time. One worker. */
#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "daemon/core/parts.h"
#include "daemon/query/query.h"
#include "daemon/store/reader.h"
#include "daemon/store/retention.h"
#include "daemon/submit/submit.h"
#include "tests/support/lone.h"
#include "tests/support/managed.h"
#include "tests/support/submission.h"

enum { N = 100, PAGE = 64 };

static const struct asker me = {{.uid = 1234, .gid = 1234}, AUTH_MEMBER};
static struct volt_runtime *rt;
static struct core *core;
static struct jobs_submit_item items[N + 1]; /* the last is whatever ended after them */

static void submit(size_t from, size_t n)
{
    struct jobs_submit *s = volt_task_new(rt, &submission_type);
    struct volt_join join;

    assert_non_null(s);
    for (size_t i = from; i < from + n; i++) {
        items[i] = (struct jobs_submit_item){.spec = job_spec_new()};
        assert_non_null(items[i].spec);
        items[i].spec->kind = JOB_KIND_NOOP;
    }
    jobs_submit_init(s, core, &me.who, &items[from], n, false);
    lone_spawn(s, &join);
    assert_int_equal(lone_join(&join), 0);
    for (size_t i = from; i < from + n; i++) {
        assert_int_equal(items[i].ret_error, 0);
        job_spec_unref(items[i].spec);
    }
}

static int set_up(void **state)
{
    (void)state;
    if (managed_up_on_disk(0, &rt, &core) < 0)
        return -1;
    submit(0, N);
    for (size_t i = 0; i < N; i++)
        while (managed_has(core, &me, items[i].ret_id)) { /* the latest end stays */
            submit(N, 1);
            (void)poll(NULL, 0, 1);
        }
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    return managed_down(core, rt);
}

static int look(struct query_looks *l, size_t i, struct job_view *ret)
{
    const struct job_key key = {.id = items[i].ret_id, .index = JOB_NO_INDEX};

    return query_looks_next(NULL, l, &key, ret);
}

static struct query_looks looks_at_all(void)
{
    return (struct query_looks){.core = core,
                                .asker = me,
                                .kept = true,
                                .status_only = true,
                                .last = items[N - 1].ret_id,
                                .most = PAGE};
}

static void pages_are_read(void **state)
{
    struct query_looks l = looks_at_all();
    struct job_view v;
    size_t pages = 0, read = 0;

    (void)state;
    for (size_t i = 0; i < N; i++) {
        assert_int_equal(look(&l, i, &v), 0);
        assert_int_equal(v.key.id, items[i].ret_id);
        assert_int_equal(v.status.result, JOB_RESULT_SUCCESS);
        assert_null(v.spec);
        pages += l.read > 0;
        read += l.read;
    }
    assert_int_equal(pages, (N + PAGE - 1) / PAGE);
    assert_int_equal(read, N);
    l.status_only = false; /* what the page lacks is read */
    assert_int_equal(look(&l, N - 1, &v), 0);
    assert_non_null(v.spec);
    assert_int_equal(l.read, 1);
    job_view_fini(&v);
    query_looks_fini(&l);
}

/* One of a page is purged: it is no job, and those beside it are found. */
static void one_of_a_page_was_purged(void **state)
{
    struct query_looks l = looks_at_all();
    struct store *store = parts_of(core)->store;
    struct store_commit commit;
    struct job_view v;

    (void)state;
    assert_int_equal(store_forget(store, &items[10].ret_id, 1, &commit), 0);
    store_kick(store, false);
    while (store_has(store, items[10].ret_id) > 0)
        (void)poll(NULL, 0, 1);
    store_commit_fini(&commit);
    for (size_t i = 0; i < N; i++)
        assert_int_equal(look(&l, i, &v), i == 10 ? -ENOENT : 0);
    assert_int_equal(look(&l, 10, &v), -ENOENT);
    query_looks_fini(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(pages_are_read, set_up, tear_down),
        cmocka_unit_test_setup_teardown(one_of_a_page_was_purged, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
