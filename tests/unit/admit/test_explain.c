/* Why a waiter does not start: a golden text for each kind of conditions and resources,
 * and for each reason. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "daemon/admit/admission.h"
#include "daemon/admit/condition.h"
#include "daemon/admit/explain.h"
#include "daemon/admit/job_queue.h"
#include "daemon/admit/named.h"

#define SECOND UINT64_C(1000000)

static struct admission *a;
static uint64_t now, ids;
static struct waiter w[8];

static int set_up(void **state)
{
    static const struct siphash_key key = {1, 2};

    (void)state;
    memset(w, 0, sizeof(w));
    now = 1000 * SECOND;
    ids = 0;
    a = admission_new(&key, 2);
    return a ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    admission_free(a);
    return 0;
}

static void enter_as(struct waiter *x, uid_t uid, struct admission_ask ask)
{
    ask.uid = uid;
    ask.slot = true;
    assert_int_equal(admission_assign(a, x, &ask, ++ids), 0);
    admission_enter(a, x, now);
}

static void claim(struct waiter *x, uid_t uid, struct resource *r, uint32_t n,
                  bool exclusive)
{
    const struct claim of = {r, n, exclusive};

    enter_as(x, uid, (struct admission_ask){.claims = &of, .n = 1});
}

static struct resource *global(const char *name, const struct resource_kind *kind,
                               uint64_t capacity)
{
    const struct named_ask ask = {.global = true,
                                  .name = name,
                                  .kind = kind,
                                  .capacity = capacity,
                                  .per_usec = kind == &resource_rate ? 20 * SECOND : 0};
    struct resource *r;

    assert_int_equal(named_get(a, &ask, &r), 0);
    return r;
}

/* Whatever may start does. */
static void dispatch(void)
{
    unsigned budget = 1000;

    for (struct waiter *x; (x = admission_next(a, now, &budget));)
        admission_take(a, x, false, now);
    assert_true(budget > 0);
}

static void says(const struct waiter *x, const char *expected)
{
    const struct admission_times times = {now, 5000 * SECOND};
    struct reason reason;
    char text[REASON_TEXT];

    assert_int_equal(explain(a, x, now, &reason, 1), 1);
    explain_text(&reason, &times, text, sizeof(text));
    assert_string_equal(text, expected);
    if (x->state == WAITER_LINE) {
        const struct explain_brief brief = explain_brief(a, x, now);
        assert_int_equal(brief.kind, reason.kind);
        assert_ptr_equal(brief.resource, reason.resource);
    }
}

static uint32_t group(const struct waiter *x)
{
    const struct explain_brief brief = explain_brief(a, x, now);

    return explain_group(&brief);
}

static enum job_wait wait_of(const struct waiter *x, bool in_front)
{
    return explain_wait(explain_brief(a, x, now).kind, in_front);
}

/* --- one row for each kind ---------------------------------------------------------- */

static struct elements_wait *elements_home;

static struct waiter *apart(void)
{
    static const struct admission_ask ask = {.uid = 1};

    assert_int_equal(admission_assign(a, &w[0], &ask, ++ids), 0);
    return &w[0];
}

/* The first one, with what it waits on: whether that was made. */
static struct waiter *enters(int r)
{
    assert_int_equal(r, 0);
    admission_enter(a, &w[0], now);
    return &w[0];
}

static struct waiter *held(int by_admin)
{
    return enters(condition_hold_add(a, apart(), &(struct hold){0, by_admin}));
}

static struct waiter *after(int when)
{
    return enters(condition_after_add(a, apart(), 41, (enum job_after)when));
}

static struct waiter *never(int when)
{
    struct waiter *x = after(when);
    unsigned budget = 9;

    condition_after_enter(a, x);
    condition_after_ended(a, 41, JOB_RESULT_SUCCESS);
    assert_null(condition_after_due(a, &budget));
    return x;
}

static struct waiter *elements(int when)
{
    elements_home = condition_elements_new();
    assert_non_null(elements_home);
    condition_elements_add(a, apart(), &elements_home, 41, (enum job_after)when);
    return enters(0);
}

static struct waiter *begins(int clock)
{
    const uint64_t at = clock == CLOCK_OF_DATES ? 5060 * SECOND : now + 3 * SECOND / 2;

    return enters(
        condition_time_add(a, apart(), &condition_begin, (enum clock)clock, at));
}

static struct waiter *backs_off(int n)
{
    (void)n;
    return enters(condition_time_add(a, apart(), &condition_backoff, CLOCK_OF_DELAYS,
                                     now + 3 * SECOND / 2));
}

static struct waiter *replaces(int id)
{
    return enters(condition_replace_add(a, apart(), (uint64_t)id));
}

/* The last of n of which the second is of another user. */
static struct waiter *last_of(int n, struct job_queue *q)
{
    for (int i = 0; i < n; i++)
        enter_as(&w[i], (uid_t)(1 + (i == 1)), (struct admission_ask){.queue = q});
    dispatch();
    return &w[n - 1];
}

static struct waiter *all(int n)
{
    return last_of(n, NULL);
}

static struct waiter *of_queue(int n, struct queue_policy policy)
{
    policy.weight = 1;
    policy.name = "night";
    struct job_queue *q = admission_add_queue(a, &policy);
    assert_non_null(q);
    return last_of(n, policy.nominal ? NULL : q);
}

static struct waiter *full(int n)
{
    return of_queue(n, (struct queue_policy){.most = 1});
}

static struct waiter *users_share(int n)
{
    return of_queue(n, (struct queue_policy){.user_most = 1});
}

static struct waiter *users_share_all(int n)
{
    admission_set_user_most(a, 1);
    return last_of(n, NULL);
}

static struct waiter *paused(int n)
{
    return of_queue(n, (struct queue_policy){.paused = true});
}

/* Its user is. */
static struct waiter *away(int n)
{
    assert_int_equal(admission_set_away(a, 1, true), 0);
    return last_of(n, NULL);
}

/* In the other queue, which has no slots of its own. */
static struct waiter *kept(int n)
{
    return of_queue(n, (struct queue_policy){.nominal = 1});
}

static struct waiter *next(int n)
{
    for (int i = 0; i < n; i++)
        enter_as(&w[i], 1, (struct admission_ask){0});
    return &w[n - 1];
}

static struct waiter *array(int most)
{
    enter_as(&w[0], 1, (struct admission_ask){.most = (uint32_t)most});
    for (int i = 0; i < most; i++)
        admission_take(a, &w[0], true, now);
    return &w[0];
}

static struct resource *lock(void)
{
    return global("/l", &resource_rwlock, 0);
}

/* A user has a part of it that another one, of user 1, wants all of. */
static struct waiter *behind(int holder, struct resource *r)
{
    claim(&w[0], (uid_t)holder, r, 1, true);
    dispatch();
    claim(&w[1], 1, r, r->capacity ? 2 : 1, true);
    dispatch();
    return &w[1];
}

static struct waiter *alone(int holder)
{
    return behind(holder, lock());
}

static struct waiter *reserved(int holder)
{
    admission_set_bypass(a, &(struct admission_bypass){0, UINT64_MAX});
    return alone(holder);
}

static struct waiter *shared(int holder)
{
    claim(&w[0], (uid_t)holder, lock(), 1, true);
    dispatch();
    claim(&w[1], 1, lock(), 1, false);
    return &w[1];
}

/* The last of those that share it, behind one that wants it alone. */
static struct waiter *left_lock(int n)
{
    claim(&w[0], 1, lock(), 1, false);
    dispatch();
    claim(&w[1], 1, lock(), 1, true);
    claim(&w[2], 1, lock(), 1, false);
    dispatch();
    return &w[n];
}

static struct waiter *semaphore(int holder)
{
    return behind(holder, global("/s", &resource_semaphore, 2));
}

static struct waiter *rate(int holder)
{
    return behind(holder, global("/r", &resource_rate, 2));
}

static struct waiter *left_rate(int holder)
{
    (void)rate(holder);
    claim(&w[2], 1, global("/r", &resource_rate, 2), 1, false);
    return &w[2];
}

static struct waiter *lowered_semaphore(int capacity)
{
    struct waiter *x = semaphore(1);

    admission_resize_named(a, global("/s", &resource_semaphore, 0), (uint64_t)capacity,
                           0);
    return x;
}

static struct waiter *lowered_rate(int burst)
{
    struct waiter *x = rate(1);

    admission_resize_named(a, global("/r", &resource_rate, 2), (uint64_t)burst,
                           20 * SECOND);
    return x;
}

#define OF(name)   .condition = &condition_##name
#define FROM(name) .resource = &resource_##name

/* What each is of; how it is made; its text. */
static const struct row {
    struct waiter *(*make)(int n);
    int n;
    const char *text;
    const struct condition_kind *condition; /* or */
    const struct resource_kind *resource;
} rows[] = {
    {held, false, "held by its user", OF(hold)},
    {held, true, "held by an admin, until an admin releases it", OF(hold)},
    {after, JOB_AFTER_OK, "until job 41 succeeds", OF(after)},
    {after, JOB_AFTER_NOTOK, "until job 41 fails", OF(after)},
    {after, JOB_AFTER_ANY, "until job 41 ends", OF(after)},
    {after, JOB_AFTER_START, "until job 41 runs", OF(after)},
    {never, JOB_AFTER_NOTOK, "job 41 never fails", OF(after)},
    {elements, JOB_AFTER_OK, "until the same element, for each, of job 41 succeeds",
     OF(elements)},
    {begins, CLOCK_OF_DELAYS, "begins in 1.5s", OF(begin)},
    {begins, CLOCK_OF_DATES, "begins in 1min 0s", OF(begin)},
    {backs_off, 0, "next attempt in 1.5s", OF(backoff)},
    {replaces, 43, "until job 43, which it replaces, is gone", OF(replace)},
    {all, 3, "2 of 2 slots in use (1 by others)", FROM(slots)},
    {all, 4, "2 of 2 slots in use (1 by others); 1 in front", FROM(slots)},
    {full, 2, "queue night has 1 of its 1 slots (1 by others)", FROM(slots)},
    {users_share, 3, "user has 1 of 1 slots in its queue night", FROM(slots)},
    {users_share_all, 3, "user has 1 of 1 slots over all queues (MaxRunningPerUser=)",
     FROM(slots)},
    {paused, 1, "queue night is paused", FROM(slots)},
    {away, 1, "nothing is there that runs jobs of its user", FROM(slots)},
    {kept, 2, "1 of 2 slots in use, and the others are kept for other queues",
     FROM(slots)},
    {next, 1, "starts soon", FROM(slots)},
    {next, 3, "starts soon; 2 in front", FROM(slots)},
    {array, 1, "array runs 1 of 1 elements at once", FROM(elements)},
    {alone, 1, "lock /l: held by 1, wanted exclusive", FROM(rwlock)},
    {alone, 2, "lock /l: held by 1 (1 of others), wanted exclusive", FROM(rwlock)},
    {shared, 1, "lock /l: held by 1, wanted shared", FROM(rwlock)},
    {left_lock, 2, "lock /l: left to what is in front; 1 in front", FROM(rwlock)},
    {reserved, 1, "lock /l: held by 1, wanted exclusive; reserved", FROM(rwlock)},
    {semaphore, 1, "semaphore /s: 1 of 2 in use (0 by others), 2 wanted",
     FROM(semaphore)},
    {semaphore, 2, "semaphore /s: 1 of 2 in use (1 by others), 2 wanted",
     FROM(semaphore)},
    {lowered_semaphore, 1, "impossible: semaphore /s: 2 wanted of 1", FROM(semaphore)},
    {rate, 1, "rate /r: 1 of 2 tokens left, 2 wanted; enough in 20.0s", FROM(rate)},
    {rate, 2, "rate /r: 1 of 2 tokens left, 2 wanted; enough in 20.0s", FROM(rate)},
    {left_rate, 1, "rate /r: left to what is in front; 1 in front", FROM(rate)},
    {lowered_rate, 1, "impossible: rate /r: 2 wanted of 1", FROM(rate)},
};

/* Which reasons and waits the rows have; a new kind does not compile without a place
 * here. */
static struct seen {
    bool reason[REASON_TURN + 1], wait[JOB_WAIT_INSIDE + 1];
} seen;

static void note(const struct reason *r)
{
    const enum job_wait wait = r->condition ? r->condition->kind->wait
                                            : explain_wait(r->kind, r->in_front > 0);

    seen.wait[wait] = true;
    switch (r->kind) {
    case REASON_CONDITION:
    case REASON_PAUSED:
    case REASON_AWAY:
    case REASON_QUEUE:
    case REASON_USER:
    case REASON_USER_ALL:
    case REASON_ARRAY:
    case REASON_IMPOSSIBLE:
    case REASON_RATE:
    case REASON_LOCK:
    case REASON_SLOTS:
    case REASON_KEPT:
    case REASON_TURN:
        seen.reason[r->kind] = true;
    }
}

static void check_row(const struct row *row)
{
    struct reason r;

    assert_int_equal(set_up(NULL), 0);
    const struct waiter *x = row->make(row->n);
    says(x, row->text);
    assert_int_equal(explain(a, x, now, &r, 1), 1);
    if (r.condition)
        assert_ptr_equal(r.condition->kind, row->condition);
    else if (r.resource)
        assert_ptr_equal(r.resource->kind, row->resource);
    note(&r);
    (void)tear_down(NULL);
    condition_elements_free(elements_home, elements_home);
    elements_home = NULL;
}

static bool has_row(const struct condition_kind *condition,
                    const struct resource_kind *resource)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (rows[i].condition == condition && rows[i].resource == resource)
            return true;
    return false;
}

/* What has begun waits for the keeper, for processes that are left, or for what is waited
 * for inside of it: query/why.c. */
static bool is_told_here(size_t wait)
{
    return wait != JOB_WAIT_NONE && wait != JOB_WAIT_KEEPER &&
           wait != JOB_WAIT_SURVIVORS && wait != JOB_WAIT_INSIDE;
}

static void each_kind(void **state)
{
    (void)state;
    seen = (struct seen){.reason = {false}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        check_row(&rows[i]);
#define CONDITION(name) assert_true(has_row(&condition_##name, NULL));
#include "daemon/admit/condition_kinds.def"
#define RESOURCE(name) assert_true(has_row(NULL, &resource_##name));
#include "daemon/admit/resource_kinds.def"
    for (size_t i = 0; i <= REASON_TURN; i++)
        assert_true(seen.reason[i]);
    for (size_t i = 0; job_wait_name((enum job_wait)i) || i == JOB_WAIT_NONE; i++)
        assert_true(seen.wait[i] || !is_told_here(i));
}

/* --- more of them, counts, groups --------------------------------------------------- */

/* The head of the line's only class is looked at, and is not in front of itself. */
static void it_is_said_at_how_many_it_was_looked(void **state)
{
    struct resource *lock = global("l", &resource_rwlock, 1);
    struct reason reason;

    (void)state;
    claim(&w[0], 1, lock, 1, true);
    dispatch();
    claim(&w[1], 1, lock, 1, true);
    dispatch();
    assert_int_equal(explain(a, &w[1], now, &reason, 1), 1);
    assert_int_equal(reason.kind, REASON_LOCK);
    assert_int_equal(reason.looks, 1);
    assert_int_equal(reason.in_front, 0);
}

/* Those that are like it too, and of others of its user those that came before it; of
 * another user all that wait, if its turn comes first. */
static void in_front_of_a_lock(void **state)
{
    struct resource *l = global("/l", &resource_rwlock, 0);

    (void)state;
    admission_resize(a, 1);
    claim(&w[0], 1, l, 1, true);
    dispatch();
    claim(&w[1], 1, l, 1, true);
    claim(&w[2], 1, l, 1, false);
    claim(&w[3], 1, l, 1, true);
    claim(&w[4], 1, l, 1, false);
    says(&w[1], "lock /l: held by 1, wanted exclusive");
    says(&w[2], "lock /l: held by 1, wanted shared; 1 in front");
    says(&w[3], "lock /l: held by 1, wanted exclusive; 2 in front");
    says(&w[4], "lock /l: held by 1, wanted shared; 3 in front");
    claim(&w[5], 2, l, 1, false);
    claim(&w[6], 2, l, 1, false);
    says(&w[3], "lock /l: held by 1, wanted exclusive; 4 in front");
    says(&w[6], "lock /l: held by 1 (1 of others), wanted shared; 1 in front");
}

/* No more than EXPLAIN_LOOKS are looked at. */
static void many_in_front_of_a_lock(void **state)
{
    static struct waiter many[EXPLAIN_LOOKS + 50];
    struct resource *l = global("/l", &resource_rwlock, 0);
    struct reason r;

    (void)state;
    memset(many, 0, sizeof(many));
    claim(&w[0], 1, l, 1, true);
    dispatch();
    for (size_t i = 0; i < EXPLAIN_LOOKS + 50; i++)
        claim(&many[i], 1, l, 1, true);
    assert_int_equal(explain(a, &many[EXPLAIN_LOOKS / 2], now, &r, 1), 1);
    assert_int_equal(r.in_front, EXPLAIN_LOOKS / 2);
    assert_int_equal(explain(a, &many[EXPLAIN_LOOKS + 49], now, &r, 1), 1);
    assert_in_range(r.in_front, EXPLAIN_LOOKS - 2, EXPLAIN_LOOKS);
    assert_in_range(r.looks, EXPLAIN_LOOKS, EXPLAIN_LOOKS + 1);
}

static void several_conditions(void **state)
{
    struct reason reasons[3];
    char text[REASON_TEXT];

    (void)state;
    assert_int_equal(condition_time_add(a, apart(), &condition_backoff, CLOCK_OF_DELAYS,
                                        now + 3 * SECOND / 2),
                     0);
    assert_int_equal(explain(a, &w[0], now, reasons, 3), 1); /* it is still apart */
    (void)enters(condition_time_add(a, &w[0], &condition_begin, CLOCK_OF_DELAYS, 1));
    assert_int_equal(explain(a, &w[0], now, reasons, 3), 2);
    explain_text(&reasons[1], &(struct admission_times){now, 0}, text, sizeof(text));
    assert_string_equal(text, "next attempt in 1.5s");
    assert_int_equal(explain(a, &w[0], now, reasons, 1), 2);
}

/* It would keep it back after these. */
static void a_condition_in_a_paused_queue(void **state)
{
    const struct queue_policy policy = {.weight = 1, .paused = true, .name = "night"};
    struct job_queue *q = admission_add_queue(a, &policy);
    struct reason reasons[3];
    char text[REASON_TEXT];

    (void)state;
    for (int i = 0; i < 2; i++) {
        const struct admission_ask ask = {.queue = q, .slot = i == 0};

        assert_int_equal(admission_assign(a, &w[i], &ask, ++ids), 0);
        assert_int_equal(condition_hold_add(a, &w[i], &(struct hold){0, false}), 0);
        admission_enter(a, &w[i], now);
    }
    assert_int_equal(explain(a, &w[0], now, reasons, 3), 2);
    explain_text(&reasons[0], &(struct admission_times){now, 0}, text, sizeof(text));
    assert_string_equal(text, "queue night is paused");
    explain_text(&reasons[1], &(struct admission_times){now, 0}, text, sizeof(text));
    assert_string_equal(text, "held by its user");
    assert_int_equal(explain(a, &w[0], now, reasons, 1), 2);
    assert_int_equal(reasons[0].kind, REASON_PAUSED);
    assert_int_equal(explain(a, &w[1], now, reasons, 3), 1); /* it needs no slot */
    assert_int_equal(reasons[0].kind, REASON_CONDITION);
}

static void slots(void **state)
{
    (void)state;
    for (int i = 0; i < 5; i++)
        enter_as(&w[i], (uid_t)(1 + (i == 1)), (struct admission_ask){0});
    dispatch();
    says(&w[2], "2 of 2 slots in use (1 by others)");
    says(&w[4], "2 of 2 slots in use (1 by others); 2 in front");
    assert_int_equal(group(&w[2]), group(&w[4]));
    assert_int_equal(wait_of(&w[2], false), JOB_WAIT_SLOT);
    assert_int_equal(wait_of(&w[4], true), JOB_WAIT_TURN);
}

static void queues(void **state)
{
    (void)state;
    struct queue_policy policy = {.weight = 1, .most = 1};
    struct job_queue *q = admission_add_queue(a, &policy);

    for (int i = 0; i < 3; i++)
        enter_as(&w[i], (uid_t)(1 + i), (struct admission_ask){.queue = q});
    dispatch();
    says(&w[1], "queue has 1 of its 1 slots (1 by others)");
    says(&w[2], "queue has 1 of its 1 slots (1 by others); 1 in front");
    policy = (struct queue_policy){.weight = 1, .user_most = 1};
    admission_set_queue(a, q, &policy);
    enter_as(&w[3], 1, (struct admission_ask){.queue = q});
    enter_as(&w[4], 9, (struct admission_ask){0}); /* elsewhere */
    admission_resize(a, 3);
    dispatch();
    says(&w[3], "user has 1 of 1 slots in its queue; 1 in front");
    assert_int_not_equal(group(&w[3]), group(&w[2]));
    policy.paused = true;
    policy.name = "night";
    admission_set_queue(a, q, &policy);
    enter_as(&w[5], 2, (struct admission_ask){.queue = q});
    says(&w[5], "queue night is paused; 1 in front");
    assert_int_equal(wait_of(&w[5], true), JOB_WAIT_PAUSED);
    assert_int_equal(group(&w[5]), group(&w[1]));
    assert_int_not_equal(group(&w[5]), group(&w[4])); /* of another queue */
    policy = (struct queue_policy){.weight = 1, .most = 1, .name = "night"};
    admission_set_queue(a, q, &policy);
    says(&w[5], "queue night has 2 of its 1 slots (1 by others); 1 in front");
    policy = (struct queue_policy){.weight = 1, .user_most = 1, .name = "night"};
    admission_set_queue(a, q, &policy);
    says(&w[3], "user has 1 of 1 slots in its queue night; 2 in front");
    assert_int_equal(admission_classes_of(a, 2), 1); /* two that are alike */
    enter_as(&w[6], 2, (struct admission_ask){0});
    assert_int_equal(admission_classes_of(a, 2), 2); /* in two queues */
    assert_int_equal(admission_classes_of(a, 77), 0);
}

/* What its user has in one queue counts in the other. */
static void all_queues(void **state)
{
    (void)state;
    struct job_queue *q = admission_add_queue(
        a, &(struct queue_policy){.weight = 1, .user_most = 1, .name = "night"});
    const struct admission_ask own = {0}, night = {.queue = q};

    admission_resize(a, 9);
    admission_set_user_most(a, 2);
    enter_as(&w[0], 1, own);
    enter_as(&w[1], 1, night);
    dispatch();
    enter_as(&w[2], 1, own);
    enter_as(&w[3], 1, night);
    says(&w[2], "user has 2 of 2 slots over all queues (MaxRunningPerUser=)");
    says(&w[3], "user has 1 of 1 slots in its queue night");
    assert_int_not_equal(group(&w[2]), group(&w[3]));
    assert_int_equal(wait_of(&w[2], false), JOB_WAIT_SLOT);
    admission_set_user_most(a, 1);
    says(&w[2], "user has 2 of 1 slots over all queues (MaxRunningPerUser=)");
    admission_set_user_most(a, 3);
    says(&w[2], "starts soon");
}

static void arrays(void **state)
{
    (void)state;
    unsigned budget = 9;

    enter_as(&w[0], 1, (struct admission_ask){.most = 1});
    assert_ptr_equal(admission_next(a, now, &budget), &w[0]);
    says(&w[0], "starts soon");
    admission_take(a, &w[0], true, now);
    says(&w[0], "array runs 1 of 1 elements at once");
    assert_int_equal(wait_of(&w[0], true), JOB_WAIT_ARRAY);
}

static void locks(void **state)
{
    (void)state;
    struct resource *l = global("/l", &resource_rwlock, 0);
    struct resource *s = global("/s", &resource_semaphore, 4);

    claim(&w[0], 1, l, 1, false);
    claim(&w[1], 2, l, 1, false);
    dispatch();
    claim(&w[2], 1, l, 1, true);
    claim(&w[3], 1, l, 1, false);
    admission_resize(a, 9);
    dispatch();
    says(&w[2], "lock /l: held by 2 (1 of others), wanted exclusive");
    says(&w[3], "lock /l: left to what is in front; 1 in front");

    claim(&w[4], 2, s, 3, false);
    dispatch();
    claim(&w[5], 1, s, 2, false);
    claim(&w[6], 1, s, 4, false);
    dispatch();
    says(&w[5], "semaphore /s: 3 of 4 in use (3 by others), 2 wanted");
    admission_resize_named(a, s, 3, 0);
    says(&w[6], "impossible: semaphore /s: 4 wanted of 3");
    assert_int_equal(wait_of(&w[5], true), JOB_WAIT_LOCK);
    assert_int_equal(wait_of(&w[6], false), JOB_WAIT_LOCK);
}

/* As it is told by query/why.c, which knows the jobs. */
static void what_has_a_lock(void **state)
{
    (void)state;
    const struct admission_times times = {now, 5000 * SECOND};
    struct resource *l = global("/l", &resource_rwlock, 0);
    struct reason r;
    char text[REASON_TEXT];

    claim(&w[0], 1, l, 1, true);
    dispatch();
    claim(&w[1], 1, l, 1, true);
    assert_int_equal(explain(a, &w[1], now, &r, 1), 1);
    r.holder = (struct job_key){.id = 17, .index = JOB_NO_INDEX};
    r.held_usec = 90 * SECOND;
    explain_text(&r, &times, text, sizeof(text));
    assert_string_equal(text, "lock /l: held by job 17 for 1min 30s, wanted exclusive");
    r.is_left_behind = true;
    r.used = 3;
    r.others = 2;
    explain_text(&r, &times, text, sizeof(text));
    assert_string_equal(
        text, "lock /l: held by what is left of job 17 for 1min 30s, and by 2 more (2 of "
              "others), wanted exclusive");
    r.is_lease = true;
    r.holder_pid = 4711;
    r.used = 1;
    r.others = 0;
    explain_text(&r, &times, text, sizeof(text));
    assert_string_equal(
        text, "lock /l: held by volt-lock (pid 4711) for 1min 30s, wanted exclusive");
}

static void rates(void **state)
{
    (void)state;
    struct resource *r = global("/r", &resource_rate, 2);

    claim(&w[0], 1, r, 2, false);
    claim(&w[1], 1, r, 2, false);
    claim(&w[2], 2, r, 1, false);
    dispatch();
    says(&w[1], "rate /r: 0 of 2 tokens left, 2 wanted; enough in 40.0s; 1 in front");
    says(&w[2], "rate /r: 0 of 2 tokens left, 1 wanted; enough in 20.0s");
    now += 20 * SECOND;
    says(&w[1], "rate /r: 1 of 2 tokens left, 2 wanted; enough in 20.0s; 1 in front");
}

/* --- what is known of its time ------------------------------------------------------- */

static struct reason reason_of(const struct waiter *x)
{
    struct reason reason;

    assert_int_equal(explain(a, x, now, &reason, 1), 1);
    return reason;
}

/* The tokens of the first in front, and of each behind it; time that is over is less than
 * nothing. */
static void when_there_are_tokens(void **state)
{
    (void)state;
    struct resource *r = global("/r", &resource_rate, 2);

    claim(&w[0], 1, r, 2, false);
    claim(&w[1], 1, r, 2, false);
    claim(&w[2], 2, r, 1, false);
    dispatch();
    struct reason of_two = reason_of(&w[1]), of_one = reason_of(&w[2]);
    assert_int_equal(of_two.usec, 40 * SECOND);
    assert_int_equal(of_two.step_usec, 40 * SECOND);
    assert_int_equal(of_two.first_usec, 40 * SECOND);
    assert_int_equal(of_one.usec, 20 * SECOND);
    assert_int_equal(of_one.step_usec, 20 * SECOND);
    assert_int_equal(of_one.first_usec, 20 * SECOND);
    assert_int_equal(of_two.slots.capacity, 2);
    assert_int_equal(of_two.slots.used, 1);
    assert_int_equal(of_two.slots.own, 1);
    assert_int_equal(of_one.slots.own, 0);
    now += 50 * SECOND;
    of_one = reason_of(&w[2]);
    assert_int_equal(of_one.usec, 0);
    assert_int_equal(of_one.first_usec, -30 * (int64_t)SECOND);
}

/* Whether nothing but tokens, or a place of its array, keeps it back. */
static void what_lacks_nothing_else(void **state)
{
    (void)state;
    struct resource *r = global("/r", &resource_rate, 2);
    struct resource *s = global("/s", &resource_semaphore, 9);
    const struct claim both[] = {{r, 2, false}, {s, 1, false}}, tokens = {r, 2, false};
    const struct queue_policy night = {.weight = 1, .most = 9, .name = "night"},
                              day = {.weight = 1, .user_most = 9, .name = "day"};
    struct job_queue *limited = admission_add_queue(a, &night),
                     *shared_out = admission_add_queue(a, &day);

    claim(&w[0], 1, r, 2, false);
    dispatch();
    claim(&w[1], 1, r, 2, false);
    admission_resize(a, 1); /* no slot is free */
    assert_int_equal(admission_position(&w[1]), 0);
    assert_false(reason_of(&w[1]).alone);
    admission_resize(a, 2);
    enter_as(&w[2], 2, (struct admission_ask){.claims = both, .n = 2});
    enter_as(&w[3], 3, (struct admission_ask){.claims = &tokens, .n = 1, .most = 2});
    enter_as(&w[4], 4,
             (struct admission_ask){.claims = &tokens, .n = 1, .queue = limited});
    enter_as(&w[5], 5,
             (struct admission_ask){.claims = &tokens, .n = 1, .queue = shared_out});
    dispatch();
    for (int i = 1; i < 6; i++)
        assert_int_equal(reason_of(&w[i]).kind, REASON_RATE);
    assert_true(reason_of(&w[1]).alone);
    for (int i = 2; i < 6; i++)
        assert_false(reason_of(&w[i]).alone);
    enter_as(&w[6], 6, (struct admission_ask){.most = 1});
    admission_take(a, &w[6], true, now); /* the last slot that is free */
    assert_false(reason_of(&w[1]).alone);
    assert_true(reason_of(&w[6]).alone); /* the next one has the slot of one that ends */
    admission_set_user_most(a, 9);
    assert_false(reason_of(&w[6]).alone);
}

/* Of a name as long as names may be nothing is written beyond the end. */
static void texts_are_cut(void **state)
{
    (void)state;
    char name[NAMED_BYTES + 1], text[40];
    struct reason reason;

    memset(name, 'n', NAMED_BYTES);
    name[NAMED_BYTES] = 0;
    struct resource *l = global(name, &resource_rwlock, 0);
    claim(&w[0], 1, l, 1, true);
    dispatch();
    claim(&w[1], 1, l, 1, true);
    claim(&w[2], 1, l, 1, true);
    dispatch();
    assert_int_equal(explain(a, &w[2], now, &reason, 1), 1);
    memset(text, 'x', sizeof(text));
    explain_text(&reason, &(struct admission_times){now, 0}, text, 20);
    assert_int_equal(strlen(text), 19);
    assert_int_equal(text[20], 'x');
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_kind),
        T(it_is_said_at_how_many_it_was_looked),
        T(several_conditions),
        T(a_condition_in_a_paused_queue),
        T(in_front_of_a_lock),
        T(many_in_front_of_a_lock),
        T(slots),
        T(queues),
        T(all_queues),
        T(arrays),
        T(locks),
        T(rates),
        T(what_has_a_lock),
        T(when_there_are_tokens),
        T(what_lacks_nothing_else),
        T(texts_are_cut)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
