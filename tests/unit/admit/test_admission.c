/* Admission of what wants slots only: order, users who share time, arrays and their
 * limits, places, the first of the line, allocations that pass from one to the next. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "daemon/admit/admission.h"
#include "daemon/admit/job_queue.h"
#include "daemon/admit/condition.h"
#include "daemon/admit/named.h"
#include "tests/support/admit_edit.h"

#define SECOND UINT64_C(1000000)

static struct admission *a;
static uint64_t ids;

static int set_up(void **state)
{
    static const struct siphash_key key = {1, 2};

    (void)state;
    ids = 0;
    a = admission_new(&key, 1);
    return a ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    admission_free(a);
    return 0;
}

static void assign(struct waiter *w, uid_t uid, int32_t priority, uint32_t most)
{
    const struct admission_ask ask = {
        .uid = uid, .priority = priority, .slot = true, .most = most};

    assert_int_equal(admission_assign(a, w, &ask, ++ids), 0);
}

static void enter(struct waiter *w, uid_t uid, int32_t priority)
{
    assign(w, uid, priority, 0);
    admission_enter(a, w, 0);
}

static struct waiter *next(void)
{
    unsigned budget = 64;

    return admission_next(a, 0, &budget);
}

/* The next one starts; it is this one. */
static void starts(struct waiter *w)
{
    assert_ptr_equal(next(), w);
    admission_take(a, w, false, 0);
}

static void ends(struct waiter *w, uint64_t usec)
{
    admission_ended(a, w, 1, usec, 0);
    admission_release_locks(a, w, 1, 0);
    admission_forget(a, w);
}

/* Each asks for what the other one did. */
static void both_are_exchanged(void **state)
{
    struct waiter w[3] = {{.rank = 0}};

    (void)state;
    for (size_t i = 0; i < 2; i++)
        enter(&w[i], 1, 0);
    assign(&w[2], 1, 5, 0);
    admission_exchange(a, &w[1], &w[2]);
    assert_true(w[1].rank == 3 && w[2].rank == 2);
    starts(&w[1]);
    ends(&w[1], 1);
    admission_enter(a, &w[2], 0);
    starts(&w[0]);
    ends(&w[0], 1);
    starts(&w[2]);
    ends(&w[2], 1);
}

static void priority_then_rank(void **state)
{
    (void)state;
    static const int32_t priorities[] = {0, 5, -1000, 0, 1000, 5, 0};
    static const size_t order[] = {4, 1, 5, 0, 3, 6, 2};
    struct waiter w[7] = {{.rank = 0}};

    admission_resize(a, 7);
    for (size_t i = 0; i < 7; i++)
        enter(&w[i], 1, priorities[i]);
    assert_int_equal(admission_count(a).eligible, 7);
    for (size_t i = 0; i < 7; i++)
        starts(&w[order[i]]);
    assert_null(next());
    assert_int_equal(admission_count(a).used, 7);
    assert_true(admission_is_idle(a));
    for (size_t i = 0; i < 7; i++)
        ends(&w[i], 1);
    assert_int_equal(admission_count(a).used, 0);
}

static void slots_bound_what_runs(void **state)
{
    (void)state;
    struct waiter w[3] = {{.rank = 0}};

    for (int i = 0; i < 3; i++)
        enter(&w[i], 1, 0);
    starts(&w[0]);
    assert_null(next());
    admission_resize(a, 2);
    starts(&w[1]);
    admission_resize(a, 0);
    ends(&w[0], 1);
    assert_null(next());
    admission_resize(a, 2);
    starts(&w[2]);
    assert_null(next());
}

/* What lends its slot has everything else, and its slot when it wants. */
static void a_slot_is_lent(void **state)
{
    (void)state;
    struct waiter array = {.rank = 0}, w = {.rank = 0};

    assign(&array, 1, 0, 1);
    admission_enter(a, &array, 0);
    assert_ptr_equal(next(), &array);
    admission_take(a, &array, true, 0);
    enter(&w, 2, 0);
    assert_null(next());
    admission_lend(a, &array, 0);
    assert_int_equal(admission_count(a).used, 0);
    assert_int_equal(admission_count_queue(admission_default_queue(a)).slots, 0);
    starts(&w);
    admission_resize(a, 2);
    assert_null(next()); /* one element at a time */
    admission_resize(a, 1);
    admission_take_back(a, &array, 0);
    assert_int_equal(admission_count(a).used, 2);
    assert_int_equal(admission_count_queue(admission_default_queue(a)).slots, 2);
    ends(&w, 1);
    enter(&w, 2, 0);
    assert_null(next()); /* there is one slot */
    admission_ended(a, &array, 1, 1, 0);
    admission_release_locks(a, &array, 1, 0);
    assert_int_equal(admission_count(a).used, 0);
    assert_non_null(next());
}

/* Nor do limits of queues and of users in them count it. */
static void what_is_lent_is_free_in_its_queue(void **state)
{
    const struct queue_policy policies[] = {
        {.weight = 1, .most = 1, .name = "default"},
        {.weight = 1, .user_most = 1, .name = "default"}};

    (void)state;
    admission_resize(a, 5);
    for (int i = 0; i < 2; i++) {
        struct waiter w[2] = {{.rank = 0}};

        admission_set_queue(a, admission_default_queue(a), &policies[i]);
        enter(&w[0], 1, 0);
        enter(&w[1], 1, 0);
        starts(&w[0]);
        assert_null(next());
        admission_lend(a, &w[0], 0);
        starts(&w[1]);
        admission_take_back(a, &w[0], 0);
        ends(&w[0], 1);
        ends(&w[1], 1);
    }
}

/* Without a slot there is nothing to wait for. */
static void no_slot_no_wait(void **state)
{
    (void)state;
    struct waiter slotted = {.rank = 0}, w = {.rank = 0};
    const struct admission_ask ask = {.uid = 1};

    admission_resize(a, 0);
    enter(&slotted, 1, 7);
    assert_int_equal(admission_assign(a, &w, &ask, ++ids), 0);
    admission_enter(a, &w, 0);
    starts(&w);
    assert_null(next());
}

static void one_that_leaves(void **state)
{
    (void)state;
    struct waiter w[3] = {{.rank = 0}};

    for (int i = 0; i < 3; i++)
        enter(&w[i], 1, 0);
    admission_leave(a, &w[0]);
    assert_false(admission_waits(&w[0]));
    admission_leave(a, &w[0]);
    starts(&w[1]);
    ends(&w[1], 1);
    admission_enter(a, &w[0], 0); /* to the place that its rank says */
    starts(&w[0]);
    admission_forget(a, &w[2]);
    admission_forget(a, &w[2]);
    assert_true(admission_is_idle(a));
}

/* One user's 10,000 jobs, and then one of another user: at most one of the first starts
 * before it for each slot. */
static void a_new_user_is_next(void **state)
{
    enum { MANY = 10000, SLOTS = 2 };
    static struct waiter many[MANY];
    struct waiter one = {.rank = 0};

    (void)state;
    memset(many, 0, sizeof(many));
    admission_resize(a, SLOTS);
    for (int i = 0; i < MANY; i++)
        enter(&many[i], 1, 0);
    for (int i = 0; i < 10; i++) {
        starts(&many[i]);
        ends(&many[i], SECOND);
    }
    starts(&many[10]);
    starts(&many[11]);
    enter(&one, 2, 0);
    ends(&many[10], SECOND);
    starts(&one);
    ends(&one, SECOND);
    starts(&many[12]);
}

/* Jobs of one user take a hundred times as long: over time both have as much of the
 * slots. */
static void users_share_time(void **state)
{
    (void)state;
    static const uint64_t takes[] = {SECOND / 100, SECOND};
    uint64_t had[2] = {0, 0}, until[4] = {0}, now = 0;
    struct waiter *running[4] = {NULL};
    static struct waiter jobs[2][3000];
    size_t at[2] = {0, 0};

    admission_resize(a, 4);
    memset(jobs, 0, sizeof(jobs));
    for (size_t u = 0; u < 2; u++)
        for (size_t i = 0; i < 3000; i++)
            enter(&jobs[u][i], (uid_t)u, 0);
    while (now < 15 * SECOND) {
        size_t slot = 0;
        for (size_t i = 0; i < 4; i++)
            if (!running[i] || (running[slot] && until[i] < until[slot]))
                slot = i;
        if (running[slot]) {
            const size_t u = running[slot] >= jobs[1];
            now = until[slot];
            had[u] += takes[u];
            ends(running[slot], takes[u]);
        }
        struct waiter *w = next();
        assert_non_null(w);
        const size_t u = w >= jobs[1];
        assert_ptr_equal(w, &jobs[u][at[u]++]);
        admission_take(a, w, false, now);
        running[slot] = w;
        until[slot] = now + takes[u];
    }
    assert_in_range(had[0] * 100 / had[1], 80, 120);
}

/* An array keeps its place while it has elements; its limit holds it up alone. */
static void array_and_its_limit(void **state)
{
    (void)state;
    struct waiter array = {.rank = 0}, w = {.rank = 0}, other = {.rank = 0};

    admission_resize(a, 4);
    assign(&array, 1, 0, 2);
    admission_enter(a, &array, 0);
    enter(&w, 1, 0);
    for (int i = 0; i < 2; i++) {
        assert_ptr_equal(next(), &array);
        admission_take(a, &array, true, 0);
    }
    starts(&w);
    assert_null(next());
    admission_ended(a, &array, 1, SECOND, 0);
    enter(&other, 1, 0);
    assert_ptr_equal(next(), &array);
    admission_take(a, &array, false, 0);
    starts(&other);
    assert_int_equal(admission_count(a).used, 4);
    admission_ended(a, &array, 2, SECOND, 0);
    assert_null(next());
    assert_int_equal(admission_count(a).used, 2);
}

static void grant_that_is_not_used(void **state)
{
    (void)state;
    struct waiter w[2] = {{.rank = 0}}, b = {.rank = 0};

    enter(&w[0], 1, 0);
    enter(&w[1], 1, 0);
    enter(&b, 2, 0);
    starts(&w[0]);
    admission_put_back(a, &w[0], 0);
    starts(&w[0]); /* nor was its user charged for it */
    assert_int_equal(admission_count(a).used, 1);
}

/* Nor has its user's account learnt that its jobs take no time. */
static void start_that_was_none(void **state)
{
    (void)state;
    struct waiter w[2] = {{.rank = 0}}, b[2] = {{.rank = 0}};

    for (int i = 0; i < 2; i++)
        assign(&w[i], 1, 0, 0);
    for (int i = 0; i < 30; i++) {
        admission_take(a, &w[0], false, 0);
        admission_undo(a, &w[0], 0);
        assert_false(admission_waits(&w[0]));
        assert_int_equal(admission_count(a).used, 0);
    }
    admission_resize(a, 2);
    enter(&b[0], 2, 0);
    starts(&b[0]);
    ends(&b[0], SECOND / 2);
    admission_take(a, &w[0], false, 0); /* it is expected to take a second */
    admission_enter(a, &w[1], 0);
    enter(&b[1], 2, 0);
    starts(&b[1]);
}

static void taken_without_asking(void **state)
{
    (void)state;
    struct waiter w[3] = {{.rank = 0}};

    for (int i = 0; i < 3; i++)
        assign(&w[i], 1, 0, 0);
    assert_true(admission_try(a, &w[0], 0));
    assert_false(admission_try(a, &w[1], 0));
    admission_take(a, &w[1], false, 0); /* recovery */
    assert_int_equal(admission_count(a).used, 2);
    ends(&w[0], 1);
    assert_false(admission_try(a, &w[2], 0));
    ends(&w[1], 1);
    assert_true(admission_try(a, &w[2], 0));
    ends(&w[2], 1);
    struct waiter waits = {.rank = 0}, late = {.rank = 0};
    enter(&waits, 1, 0);
    assign(&late, 1, 0, 0);
    assert_false(admission_try(a, &late, 0));
}

static void edited(void **state)
{
    (void)state;
    struct waiter w[3] = {{.rank = 0}};
    const struct admission_ask urgent = {.uid = 1, .priority = 1, .slot = true};

    for (int i = 0; i < 3; i++)
        enter(&w[i], 1, 0);
    assert_int_equal(admit_edit(a, &w[2], &urgent, w[2].rank), 0);
    starts(&w[2]);
    ends(&w[2], 1);
    starts(&w[0]);
}

static void replaced_job_goes_first(void **state)
{
    (void)state;
    struct waiter w = {.rank = 0}, x = {.rank = 0}, gone = {.rank = 0};

    assign(&w, 1, 0, 0);
    assign(&x, 1, 0, 0);
    assign(&gone, 1, 0, 0);
    assert_int_equal(condition_replace_add(a, &w, 77), 0);
    assert_int_equal(condition_replace_add(a, &w, 78), 0);
    assert_int_equal(condition_replace_add(a, &gone, 77), 0);
    admission_enter(a, &w, 0);
    admission_enter(a, &gone, 0);
    admission_enter(a, &x, 0);
    assert_int_equal(admission_count(a).unmet, 2);
    assert_int_equal(condition_replace_of(&gone), 77);
    assert_int_equal(condition_replace_of(&x), 0);
    admission_leave(a, &gone);
    assert_ptr_equal(next(), &x);
    condition_replace_gone(a, 77, 0);
    assert_ptr_equal(next(), &x);
    condition_replace_gone(a, 79, 0);
    condition_replace_gone(a, 78, 0);
    starts(&w); /* its rank is the smaller one */
    assert_int_equal(admission_count(a).unmet, 0);
    assert_int_equal(condition_replace_add(a, &x, 80), 0); /* while it is in the line */
    ends(&w, 1);
    assert_null(next());
    condition_replace_gone(a, 80, 0);
    starts(&x);
    assert_int_equal(condition_replace_add(a, &gone, 81), 0); /* left for the end */
}

static void the_first_of_the_line(void **state)
{
    (void)state;
    struct waiter w[40], *seen[64], array = {.rank = 0}, urgent = {.rank = 0};

    memset(w, 0, sizeof(w));
    assert_int_equal(admission_peek(a, seen, 64), 0);
    assign(&array, 1, 0, 1);
    admission_enter(a, &array, 0);
    for (uid_t i = 0; i < 40; i++)
        enter(&w[i], 1 + i / 20, 0); /* 20 of each user */
    enter(&urgent, 2, 3);
    admission_resize(a, 42);
    assert_int_equal(admission_peek(a, seen, 64), 42);
    assert_ptr_equal(seen[0], &urgent);
    assert_ptr_equal(seen[1], &array); /* user 2 is charged for the urgent one */
    for (size_t i = 0; i < 42; i++) {  /* as they start in fact */
        assert_ptr_equal(next(), seen[i]);
        for (size_t k = i + 1; k < 42; k++)
            assert_true(seen[i] == &urgent || seen[i]->class != seen[k]->class ||
                        admission_before(seen[i], seen[k]));
        admission_take(a, seen[i], false, 0);
    }
}

static void an_array_at_its_limit_is_not_peeked(void **state)
{
    (void)state;
    struct waiter array = {.rank = 0}, w = {.rank = 0}, *seen[2];

    assign(&array, 1, 0, 1);
    admission_enter(a, &array, 0);
    enter(&w, 1, 0);
    assert_int_equal(admission_peek(a, seen, 1), 1);
    assert_ptr_equal(seen[0], &array);
    admission_take(a, &array, true, 0);
    assert_int_equal(admission_peek(a, seen, 2), 1);
    assert_ptr_equal(seen[0], &w);
}

static void nothing_of_a_paused_queue_is_peeked(void **state)
{
    struct queue_policy policy = {.weight = 1, .paused = true};
    struct waiter w = {.rank = 0}, *seen[2];

    (void)state;
    enter(&w, 1, 3);
    assert_int_equal(admission_count_queue(admission_default_queue(a)).waiting, 1);
    admission_set_queue(a, admission_default_queue(a), &policy);
    assert_int_equal(admission_peek(a, seen, 2), 0);
    assert_null(next());
    policy.paused = false;
    admission_set_queue(a, admission_default_queue(a), &policy);
    assert_int_equal(admission_peek(a, seen, 2), 1);
    starts(&w);
    const struct admission_queue_counts counts =
        admission_count_queue(admission_default_queue(a));
    assert_int_equal(counts.waiting, 0);
    assert_int_equal(counts.slots, 1);
}

static struct job_queue *add_queue(struct queue_policy policy)
{
    policy.weight = policy.weight ? policy.weight : 1;
    struct job_queue *q = admission_add_queue(a, &policy);
    assert_non_null(q);
    return q;
}

static void enter_queue(struct waiter *x, struct job_queue *q, uid_t uid,
                        int32_t priority)
{
    static uint64_t rank = 900;
    const struct admission_ask ask = {
        .uid = uid, .priority = priority, .slot = true, .queue = q};

    assert_int_equal(admission_assign(a, x, &ask, ++rank), 0);
    admission_enter(a, x, 0);
}

/* By weight, below their own slots first, up to their limits: as they start in fact. */
static void queues_are_peeked_in_their_order(void **state)
{
    struct job_queue *queues[4] = {
        admission_default_queue(a), add_queue((struct queue_policy){.weight = 3}),
        add_queue((struct queue_policy){.nominal = 4, .lends = true, .weight = 2}),
        add_queue((struct queue_policy){.most = 2})};
    struct waiter w[60], *seen[64];

    (void)state;
    memset(w, 0, sizeof(w));
    for (int i = 0; i < 60; i++)
        enter_queue(&w[i], queues[i % 4], (uid_t)(1 + i / 4 % 2), i % 7 == 0);
    admission_resize(a, 64);
    const size_t n = admission_peek(a, seen, 64);
    assert_int_equal(n, 47); /* 15 of three, and two of the last one */
    for (size_t i = 0; i < n; i++) {
        assert_ptr_equal(next(), seen[i]);
        assert_true(admission_may_have_slot(seen[i]));
        admission_take(a, seen[i], false, 0);
    }
    assert_null(next());
    assert_int_equal(admission_peek(a, seen, 64), 0);
    assert_false(admission_may_have_slot(&w[59]));
    for (int i = 0; i < 60; i++) {
        if (admission_waits(&w[i]))
            continue;
        admission_ended(a, &w[i], 1, SECOND, 0);
        admission_release_locks(a, &w[i], 1, 0);
    }
    for (int i = 0; i < 60; i++)
        admission_forget(a, &w[i]);
}

/* The limit of a user over all queues does not count what is lent. */
static void what_is_lent_is_free_for_its_user(void **state)
{
    struct job_queue *other = add_queue((struct queue_policy){0});
    struct waiter w[3] = {{.rank = 0}};

    (void)state;
    admission_resize(a, 5);
    admission_set_user_most(a, 1);
    enter(&w[0], 1, 0);
    enter_queue(&w[1], other, 1, 0);
    starts(&w[0]);
    assert_null(next());
    admission_lend(a, &w[0], 0);
    starts(&w[1]);
    admission_take_back(a, &w[0], 0);
    enter_queue(&w[2], other, 1, 0);
    ends(&w[1], 1);
    assert_null(next()); /* the one that has its slot back is one */
    ends(&w[0], 1);
    starts(&w[2]);
    ends(&w[2], 1);
}

static void how_much_is_peeked(void **state)
{
    struct job_queue *limited = add_queue((struct queue_policy){.user_most = 1});
    static const struct admission_ask slotless = {.uid = 1};
    struct waiter w[9] = {{.rank = 0}}, v = {.rank = 0}, *seen[9];

    (void)state;
    for (int i = 0; i < 8; i++)
        enter_queue(&w[i], i ? add_queue((struct queue_policy){0}) : NULL, 1, 0);
    assert_int_equal(admission_peek(a, seen, 9), 8);
    enter_queue(&w[8], add_queue((struct queue_policy){0}), 1, 0);
    assert_int_equal(admission_peek(a, seen, 9), 0);
    admission_leave(a, &w[8]);
    assert_int_equal(admission_peek(a, seen, 9), 8);
    enter_queue(&v, limited, 1, 0);
    assert_int_equal(admission_peek(a, seen, 9), 0);
    admission_forget(a, &v);
    assert_int_equal(admission_assign(a, &v, &slotless, 899), 0);
    admission_enter(a, &v, 0); /* it is in the line before those that need slots */
    assert_int_equal(admission_peek(a, seen, 9), 8);
    assert_ptr_equal(seen[0], &w[0]);
    assert_int_equal(admission_peek(a, seen, 3), 3);
    admission_set_user_most(a, 1);
    assert_int_equal(admission_peek(a, seen, 3), 0);
    admission_set_user_most(a, 0);
    assert_int_equal(admission_peek(a, seen, 3), 3);
    for (int i = 0; i < 9; i++)
        admission_forget(a, &w[i]);
    admission_forget(a, &v);
}

/* The cost of a peek does not grow with what gives no waiter. */
static void a_peek_looks_at_so_many_classes(void **state)
{
    enum { MOST = 255 };
    static struct waiter claimant[MOST + 1];
    struct waiter w = {.rank = 0}, *seen[2];
    struct named_ask named = {
        .owner = 1, .name = "s", .kind = &resource_semaphore, .capacity = MOST + 1};
    struct claim permits = {.amount = 0};
    struct admission_ask ask = {.uid = 1, .slot = true, .claims = &permits, .n = 1};

    (void)state;
    memset(claimant, 0, sizeof(claimant));
    assert_int_equal(named_get(a, &named, &permits.resource), 0);
    for (int i = 0; i <= MOST; i++) {
        permits.amount++; /* a class each */
        assert_int_equal(admission_assign(a, &claimant[i], &ask, ++ids), 0);
        if (i < MOST)
            admission_enter(a, &claimant[i], 0);
    }
    enter(&w, 1, 0);
    assert_int_equal(admission_peek(a, seen, 2), 1);
    assert_ptr_equal(seen[0], &w);
    admission_enter(a, &claimant[MOST], 0);
    assert_int_equal(admission_peek(a, seen, 2), 0);
    for (int i = 0; i <= MOST; i++)
        admission_forget(a, &claimant[i]);
    named_put(a, permits.resource);
}

/* Also of one that changes its queue meanwhile. */
static void what_is_not_eligible_is_counted_by_queue(void **state)
{
    const struct queue_policy policy = {.weight = 1};
    struct job_queue *first = admission_default_queue(a);
    struct job_queue *q = admission_add_queue(a, &policy);
    const struct admission_ask ask = {.uid = 1, .slot = true, .queue = q};
    struct waiter w = {.rank = 0};

    (void)state;
    assign(&w, 1, 0, 0);
    assert_int_equal(condition_replace_add(a, &w, 80), 0);
    admission_enter(a, &w, 0);
    assert_int_equal(admission_count_queue(first).unmet, 1);
    assert_int_equal(admit_edit(a, &w, &ask, 900), 0);
    assert_int_equal(admission_count_queue(first).unmet, 0);
    assert_int_equal(admission_count_queue(q).unmet, 1);
    condition_replace_gone(a, 80, 0);
    assert_int_equal(admission_count_queue(q).unmet, 0);
    assert_int_equal(admission_count_queue(q).waiting, 1);
    assert_int_equal(condition_replace_add(a, &w, 81), 0);
    assert_int_equal(admission_count_queue(q).unmet, 1);
    assert_int_equal(admission_count_queue(q).waiting, 0);
    admission_forget(a, &w);
    assert_int_equal(admission_count_queue(q).unmet, 0);
}

/* --- weights: time of slots, not starts --------------------------------------------- */

#define SHARED_JOBS 10000 /* of 1:100 there are hundred short ones to each long one */
#define AT_A_TIME   64

struct shared_job {
    struct waiter w;
    uint64_t takes, ends; /* 0: it does not run */
    int queue;
};

static struct shared_job shared[AT_A_TIME];

static struct shared_job *first_to_end(void)
{
    struct shared_job *first = NULL;

    for (int i = 0; i < AT_A_TIME; i++)
        if (shared[i].ends && (!first || shared[i].ends < first->ends))
            first = &shared[i];
    assert_non_null(first);
    return first;
}

/* Half of the places are of each queue, so that something of each waits always. */
static void fill_up(struct job_queue *const queues[2], const uint64_t takes[2],
                    uint64_t *rank)
{
    for (int i = 0; i < AT_A_TIME; i++) {
        struct shared_job *j = &shared[i];
        const struct admission_ask ask = {.uid = 1, .slot = true, .queue = queues[i % 2]};

        if (j->w.state != WAITER_NONE)
            continue;
        j->queue = i % 2;
        j->takes = takes[i % 2];
        assert_int_equal(admission_assign(a, &j->w, &ask, ++*rank), 0);
        admission_enter(a, &j->w, 0);
    }
}

/* Of two queues with weights 3 and 1: what the first has had, in thousandths, of the slot
 * time when so many jobs have ended. */
static uint64_t share_of_first(uint32_t slots, const uint64_t takes[2])
{
    const struct queue_policy policies[2] = {{.weight = 3}, {.weight = 1}};
    struct job_queue *queues[2];
    uint64_t at = 0, had[2] = {0, 0}, rank = 0;

    memset(shared, 0, sizeof(shared));
    admission_resize(a, slots);
    for (int i = 0; i < 2; i++)
        assert_non_null(queues[i] = admission_add_queue(a, &policies[i]));
    for (int ended = 0; ended < SHARED_JOBS; ended++) {
        fill_up(queues, takes, &rank);
        for (struct waiter *w; (w = next());) {
            struct shared_job *j = list_thing(w, struct shared_job, w);

            admission_take(a, w, false, 0);
            j->ends = at + j->takes;
        }
        struct shared_job *first = first_to_end();
        at = first->ends;
        first->ends = 0;
        had[first->queue] += first->takes;
        ends(&first->w, first->takes);
    }
    for (int i = 0; i < AT_A_TIME; i++)
        if (shared[i].ends)
            ends(&shared[i].w, 1);
        else
            admission_forget(a, &shared[i].w);
    return 1000 * had[0] / (had[0] + had[1]);
}

/* 3 to 1, with a tenth of tolerance: from 2.7 to 3.3 to 1. */
static void queues_share_time_by_weight(void **state)
{
    static const uint32_t slots[] = {1, 2, 8};
    static const uint64_t takes[][2] = {
        {1000000, 1000000}, {100000, 10000000}, {10000000, 100000}};

    (void)state;
    for (size_t s = 0; s < 3; s++)
        for (size_t t = 0; t < 3; t++) {
            const uint64_t share = share_of_first(slots[s], takes[t]);

            if (share < 730 || share > 767)
                fail_msg("%u slots, %llu and %llu us: %llu of 1000", slots[s],
                         (unsigned long long)takes[t][0], (unsigned long long)takes[t][1],
                         (unsigned long long)share);
        }
}

static void places(void **state)
{
    (void)state;
    struct waiter w[300], urgent = {.rank = 0}, other = {.rank = 0};

    memset(w, 0, sizeof(w));
    for (int i = 0; i < 300; i++)
        enter(&w[i], 2, 0);
    enter(&urgent, 2, 9);
    enter(&other, 1, 0);
    assert_int_equal(admission_position(&urgent), 0);
    assert_int_equal(admission_position(&other), 1);
    assert_int_equal(admission_position(&w[0]), 2);
    assert_int_equal(admission_position(&w[100]), 102);
    assert_int_equal(admission_position(&w[299]), 2 + ADMISSION_EXACT);
    assert_true(admission_before(&urgent, &other));
    assert_true(admission_before(&other, &w[0]));
    assert_true(admission_before(&w[3], &w[4]));
    assert_false(admission_before(&w[4], &w[3]));
}

/* With the slot of the one that ends its queue has less than its nominal ones, and so comes
 * first, with what has been left to a class of another queue until then. */
static void what_comes_first_by_the_end_is_next(void **state)
{
    (void)state;
    struct job_queue *own = add_queue((struct queue_policy){.nominal = 1, .lends = true});
    struct resource *locks[2];
    struct claim both[2];
    struct waiter holder = {.rank = 0}, from = {.rank = 0}, to = {.rank = 0};
    struct waiter wants_both = {.rank = 0}, wants_one = {.rank = 0};
    struct admission_ask ask = {.uid = 1, .slot = true};

    for (int i = 0; i < 2; i++) {
        const struct named_ask named = {
            .owner = 1, .name = i ? "m" : "l", .kind = &resource_rwlock};

        assert_int_equal(named_get(a, &named, &locks[i]), 0);
        both[i] = (struct claim){locks[i], 1, true};
    }
    admission_resize(a, 4);
    ask.claims = &both[1];
    ask.n = 1;
    assert_int_equal(admission_assign(a, &holder, &ask, ++ids), 0);
    admission_enter(a, &holder, 0);
    starts(&holder);
    enter_queue(&from, own, 1, 0);
    starts(&from);
    ask.claims = both;
    ask.n = 2;
    assert_int_equal(admission_assign(a, &wants_both, &ask, ++ids), 0);
    admission_enter(a, &wants_both, 0);
    ask = (struct admission_ask){
        .uid = 1, .slot = true, .priority = 5, .queue = own, .claims = both, .n = 1};
    assert_int_equal(admission_assign(a, &wants_one, &ask, ++ids), 0);
    admission_enter(a, &wants_one, 0);
    enter_queue(&to, own, 1, 0);
    assert_ptr_equal(next(), &to); /* the first lock is left to the one that wants both */
    ends(&from, 1);
    starts(&wants_one);
    starts(&to);
    ends(&to, 1);
    ends(&wants_one, 1);
    ends(&holder, 1);
    starts(&wants_both);
    ends(&wants_both, 1);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        T(priority_then_rank),
        T(slots_bound_what_runs),
        T(a_slot_is_lent),
        T(what_is_lent_is_free_in_its_queue),
        T(what_is_lent_is_free_for_its_user),
        T(no_slot_no_wait),
        T(one_that_leaves),
        T(a_new_user_is_next),
        T(users_share_time),
        T(array_and_its_limit),
        T(grant_that_is_not_used),
        T(start_that_was_none),
        T(taken_without_asking),
        T(edited),
        T(both_are_exchanged),
        T(replaced_job_goes_first),
        T(the_first_of_the_line),
        T(an_array_at_its_limit_is_not_peeked),
        T(nothing_of_a_paused_queue_is_peeked),
        T(queues_are_peeked_in_their_order),
        T(how_much_is_peeked),
        T(a_peek_looks_at_so_many_classes),
        T(what_is_not_eligible_is_counted_by_queue),
        T(queues_share_time_by_weight),
        T(places),
        T(what_comes_first_by_the_end_is_next),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
