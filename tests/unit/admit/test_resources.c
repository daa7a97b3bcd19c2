/* Claims on locks, semaphores and rates; queues over the slots; the right to a lock, and
 * how often what has it is passed. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "daemon/admit/admission.h"
#include "daemon/admit/job_queue.h"
#include "daemon/admit/named.h"

#define SECOND UINT64_C(1000000)

static struct admission *a;
static uint64_t now, ids;

static int set_up(void **state)
{
    static const struct siphash_key key = {1, 2};

    (void)state;
    now = 1000 * SECOND;
    ids = 0;
    a = admission_new(&key, 8);
    return a ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    admission_free(a);
    return 0;
}

/* --- words -------------------------------------------------------------------------- */

static struct resource *make(uid_t owner, const char *name,
                             const struct resource_kind *kind, uint64_t capacity,
                             uint64_t per_usec)
{
    const struct named_ask ask = {.owner = owner,
                                  .name = name,
                                  .kind = kind,
                                  .capacity = capacity,
                                  .per_usec = per_usec};
    struct resource *r;

    assert_int_equal(named_get(a, &ask, &r), 0);
    return r;
}

static struct resource *lock(const char *name)
{
    return make(1, name, &resource_rwlock, 0, 0);
}

static int assign(struct waiter *w, bool slot, const struct claim *claims, size_t n)
{
    const struct admission_ask ask = {.uid = 1, .slot = slot, .claims = claims, .n = n};

    return admission_assign(a, w, &ask, ++ids);
}

static void enter(struct waiter *w, struct claim claim)
{
    assert_int_equal(assign(w, true, &claim, 1), 0);
    admission_enter(a, w, now);
}

static struct claim shared(struct resource *r)
{
    return (struct claim){r, 1, false};
}

static struct claim exclusive(struct resource *r)
{
    return (struct claim){r, 1, true};
}

static struct claim some(struct resource *r, uint32_t n)
{
    return (struct claim){r, n, false};
}

static struct waiter *next(void)
{
    unsigned budget = 1000;

    return admission_next(a, now, &budget);
}

static void starts(struct waiter *w)
{
    assert_ptr_equal(next(), w);
    admission_take(a, w, false, now);
}

static void ends(struct waiter *w)
{
    admission_ended(a, w, 1, SECOND, now);
    admission_release_locks(a, w, 1, now);
}

/* --- locks -------------------------------------------------------------------------- */

static void readers_and_a_writer(void **state)
{
    (void)state;
    struct resource *l = lock("l");
    struct waiter r[4] = {{.rank = 0}}, x = {.rank = 0}, y = {.rank = 0};

    enter(&r[0], shared(l));
    enter(&r[1], shared(l));
    enter(&x, exclusive(l));
    enter(&r[2], shared(l)); /* behind the writer, though the lock would do for it */
    enter(&y, exclusive(l));
    enter(&r[3], shared(l));
    starts(&r[0]);
    starts(&r[1]);
    assert_null(next());
    ends(&r[0]);
    assert_null(next());
    ends(&r[1]);
    starts(&x);
    assert_null(next());
    ends(&x);
    starts(&r[2]);
    assert_null(next());
    admission_leave(a, &y); /* the reader behind it need not wait any more */
    starts(&r[3]);
}

/* Only admission_next() finds out what does not fit. */
static void asking_whether_all_is_settled_settles_nothing(void **state)
{
    (void)state;
    struct resource *l = lock("l");
    struct waiter x = {.rank = 0}, y = {.rank = 0};

    assert_true(admission_is_settled(a));
    enter(&x, exclusive(l));
    enter(&y, exclusive(l));
    starts(&x);
    for (int i = 0; i < 2; i++)
        assert_false(admission_is_settled(a)); /* nothing has looked at y yet */
    assert_null(next());
    assert_true(admission_is_settled(a));
    ends(&x);
    assert_false(admission_is_settled(a));
    starts(&y);
    assert_true(admission_is_settled(a));
}

static void kept_until_all_processes_are_gone(void **state)
{
    (void)state;
    struct resource *l = lock("l");
    struct waiter x = {.rank = 0}, y = {.rank = 0};

    enter(&x, exclusive(l));
    enter(&y, exclusive(l));
    starts(&x);
    admission_ended(a, &x, 1, SECOND, now);
    assert_int_equal(admission_count(a).used, 0);
    assert_null(next());
    admission_release_locks(a, &x, 1, now);
    starts(&y);
}

static void all_or_nothing(void **state)
{
    (void)state;
    struct resource *l = lock("l"), *m = lock("m");
    const struct claim both[] = {exclusive(m), exclusive(l)};
    struct waiter x = {.rank = 0}, y = {.rank = 0}, z = {.rank = 0};

    enter(&x, exclusive(l));
    starts(&x);
    assert_int_equal(assign(&y, true, both, 2), 0);
    admission_enter(a, &y, now);
    enter(&z, exclusive(m));
    assert_null(next()); /* m is free, and y is not passed on it */
    assert_int_equal(m->used, 0);
    ends(&x);
    starts(&y);
    assert_null(next());
    ends(&y);
    starts(&z);
}

static void semaphores_count(void **state)
{
    (void)state;
    struct resource *s = make(1, "s", &resource_semaphore, 3, 0);
    const struct claim twice[] = {some(s, 1), some(s, 1)};
    const struct claim too_many[] = {some(s, 2), some(s, 2)};
    const struct claim overflow[] = {some(s, UINT32_MAX), some(s, UINT32_MAX)};
    struct waiter x = {.rank = 0}, y = {.rank = 0}, z = {.rank = 0};

    assert_int_equal(assign(&x, true, too_many, 2), -ERANGE);
    assert_int_equal(assign(&x, true, overflow, 2), -ERANGE);
    assert_int_equal(assign(&x, true, twice, ADMISSION_CLAIMS + 1), -E2BIG);
    assert_int_equal(assign(&x, true, twice, 2), 0);
    admission_enter(a, &x, now);
    enter(&y, some(s, 3));
    enter(&z, some(s, 1));
    starts(&x);
    assert_int_equal(s->used, 2);
    assert_null(next()); /* z would fit; it does not pass y */
    ends(&x);
    starts(&y);
    ends(&y);
    starts(&z);
}

static void shared_and_exclusive_is_exclusive(void **state)
{
    (void)state;
    struct resource *l = lock("l");
    const struct claim both[] = {shared(l), exclusive(l)};
    struct waiter x = {.rank = 0}, y = {.rank = 0};

    assert_int_equal(assign(&x, true, both, 2), 0);
    admission_enter(a, &x, now);
    enter(&y, shared(l));
    starts(&x);
    assert_null(next());
    assert_int_equal(l->used, 1);
    ends(&x);
    starts(&y);
}

static void resized_below_what_is_wanted(void **state)
{
    (void)state;
    struct resource *s = make(1, "s", &resource_semaphore, 3, 0);
    struct waiter x = {.rank = 0}, y = {.rank = 0}, z = {.rank = 0};

    enter(&x, some(s, 2));
    starts(&x);
    enter(&y, some(s, 3));
    enter(&z, some(s, 1));
    assert_null(next());
    admission_resize_named(a, s, 2, 0); /* y can not fit: it stands in no way */
    assert_null(next());
    ends(&x);
    starts(&z);
    ends(&z);
    assert_null(next());
    for (uint64_t n = 1; n <= 3; n++) {
        admission_resize_named(a, s, n == 2 ? 1 : n, 0);
        assert_ptr_equal(next(), n == 3 ? &y : NULL);
        assert_int_equal(s->nimpossible, n != 3);
    }
    starts(&y);
    assert_null(s->impossible.first);
}

/* One of them leaves: the others stay put aside, until there is enough again. */
static void what_is_put_aside_may_leave(void **state)
{
    (void)state;
    struct resource *s = make(1, "s", &resource_semaphore, 4, 0);
    struct waiter x[3] = {{.rank = 0}};

    for (uint32_t i = 0; i < 3; i++)
        enter(&x[i], some(s, 2 + i));
    admission_resize_named(a, s, 1, 0);
    assert_null(next());
    assert_int_equal(s->nimpossible, 3);
    admission_leave(a, &x[1]);
    assert_int_equal(s->nimpossible, 2);
    admission_resize_named(a, s, 2, 0);
    starts(&x[0]);
    ends(&x[0]);
    assert_null(next());
    assert_int_equal(s->nimpossible, 1);
    admission_resize_named(a, s, 4, 0);
    starts(&x[2]);
    assert_int_equal(s->nimpossible, 0);
    assert_null(s->impossible.first);
}

/* --- names -------------------------------------------------------------------------- */

static void names_have_owners(void **state)
{
    (void)state;
    struct resource *mine = lock("backup");
    struct resource *other = make(2, "backup", &resource_rwlock, 0, 0), *again, *all, *r;
    const struct named_ask global = {
        .global = true, .name = "backup", .kind = &resource_rwlock};
    struct named_ask ask = {.owner = 1, .name = "backup", .kind = &resource_semaphore};
    uid_t owner = 7;

    assert_ptr_not_equal(mine, other);
    again = lock("backup");
    assert_ptr_equal(mine, again);
    assert_int_equal(named_get(a, &global, &all), 0);
    assert_ptr_not_equal(mine, all);
    assert_false(named_owner(all, &owner));
    assert_true(named_owner(other, &owner));
    assert_int_equal(owner, 2);
    assert_string_equal(named_name(all), "backup");

    assert_int_equal(named_get(a, &ask, &r), -EEXIST); /* of another kind */
    ask.name = "";
    assert_int_equal(named_get(a, &ask, &r), -EINVAL);
    ask.name = "s";
    ask.capacity = 4;
    assert_int_equal(named_get(a, &ask, &r), 0);
    ask.capacity = 5;
    assert_int_equal(named_get(a, &ask, &again), -EEXIST);
    named_put(a, r); /* nothing refers to it: it goes */
    assert_int_equal(named_get(a, &ask, &r), 0);
    assert_int_equal(r->capacity, 5);
    named_declare(a, r, true);
    named_put(a, r);
    ask.capacity = 6;
    assert_int_equal(named_get(a, &ask, &r), -EEXIST);
    ask.capacity = 0; /* what it has */
    assert_int_equal(named_get(a, &ask, &r), 0);
    assert_int_equal(r->capacity, 5);
}

static void as_many_names(void **state)
{
    (void)state;
    struct resource *first = NULL, *r;

    for (int i = 0; i < NAMED_MOST; i++) {
        char name[16];

        snprintf(name, sizeof(name), "%d", i);
        r = lock(name);
        first = first ? first : r;
    }
    const struct named_ask ask = {.owner = 1, .name = "x", .kind = &resource_rwlock};
    const struct named_ask other = {.owner = 2, .name = "x", .kind = &resource_rwlock};
    assert_int_equal(named_get(a, &ask, &r), -EDQUOT);
    assert_int_equal(named_get(a, &other, &r), 0);
    const struct named_ask again = {
        .owner = 1, .name = "y", .kind = &resource_rwlock, .again = true};
    assert_int_equal(named_get(a, &again, &r), 0);
    named_put(a, r);
    named_put(a, first);
    assert_int_equal(named_get(a, &ask, &r), 0);
}

static void a_claim_keeps_its_resource(void **state)
{
    (void)state;
    struct resource *l = lock("l");
    struct waiter x = {.rank = 0};

    enter(&x, exclusive(l));
    named_put(a, l);
    starts(&x);
    assert_ptr_equal(lock("l"), l);
    named_put(a, l);
    ends(&x);
    admission_forget(a, &x);
    assert_int_equal(lock("l")->used, 0);
}

/* --- rates -------------------------------------------------------------------------- */

static void tick(uint64_t usec)
{
    now += usec;
    assert_true(admission_tick(a, &(struct admission_times){now, 0}, 64));
}

static void tokens_come_back(void **state)
{
    (void)state;
    struct resource *r = make(1, "r", &resource_rate, 2, 10 * SECOND);
    struct waiter w[5] = {{.rank = 0}}, big = {.rank = 0};

    assert_int_equal(assign(&big, true, &(struct claim){r, 3, false}, 1), -ERANGE);
    for (int i = 0; i < 4; i++)
        enter(&w[i], some(r, 1));
    starts(&w[0]);
    starts(&w[1]); /* the burst */
    assert_null(next());
    ends(&w[0]); /* gives no token back */
    assert_null(next());
    assert_int_equal(admission_tick_at(a).boottime, now + 10 * SECOND);
    tick(10 * SECOND - 1);
    assert_null(next());
    tick(1);
    starts(&w[2]);
    assert_null(next());
    tick(10 * SECOND);
    starts(&w[3]);
    admission_put_back(a, &w[3], now); /* it did not start: a refund */
    starts(&w[3]);
    enter(&w[4], some(r, 1));
    assert_null(next());
    tick(3600 * SECOND);
    assert_int_equal(rate_tokens(r, now), 2); /* not more than the burst */
    starts(&w[4]);
}

/* A claim of two is not passed by claims of one; others are not held up by it. */
static void in_order_of_one_rate(void **state)
{
    (void)state;
    struct resource *r = make(1, "r", &resource_rate, 2, SECOND), *l = lock("l");
    const struct claim both[] = {some(r, 2), exclusive(l)};
    struct waiter x = {.rank = 0}, y = {.rank = 0}, z = {.rank = 0}, o = {.rank = 0};

    enter(&x, some(r, 1));
    starts(&x);
    assert_int_equal(assign(&y, true, both, 2), 0);
    admission_enter(a, &y, now);
    enter(&z, some(r, 1));
    enter(&o, exclusive(l));
    starts(&o); /* the lock is not kept for what waits for a rate */
    assert_null(next());
    tick(SECOND);
    starts(&z); /* y has its tokens, and no lock: then they are for others */
    ends(&o);
    assert_null(next());
    tick(SECOND);
    starts(&y);
}

static void spent_by_what_is_forgotten(void **state)
{
    (void)state;
    struct resource *r = make(1, "r", &resource_rate, 1, 10 * SECOND);
    struct waiter x = {.rank = 0};

    enter(&x, some(r, 1));
    named_put(a, r);
    starts(&x);
    ends(&x);
    admission_forget(a, &x);
    r = make(1, "r", &resource_rate, 1, 10 * SECOND);
    assert_int_equal(rate_tokens(r, now), 0); /* it was kept for that */
    named_put(a, r);
    tick(10 * SECOND);
    assert_int_equal(admission_tick_at(a).boottime, TIMED_NEVER);
    r = make(1, "r", &resource_rate, 7, SECOND); /* and then it went */
    named_put(a, r);
}

/* --- queues ------------------------------------------------------------------------- */

static struct job_queue *queue(struct queue_policy policy)
{
    struct job_queue *q = admission_add_queue(a, &policy);

    assert_non_null(q);
    return q;
}

static void enter_queue(struct waiter *w, struct job_queue *q, uid_t uid,
                        int32_t priority)
{
    const struct admission_ask ask = {
        .uid = uid, .slot = true, .queue = q, .priority = priority};

    assert_int_equal(admission_assign(a, w, &ask, ++ids), 0);
    admission_enter(a, w, now);
}

static void nominal_slots(void **state)
{
    (void)state;
    struct queue_policy policy = {.nominal = 2, .weight = 1};
    struct job_queue *q = queue(policy);
    struct waiter w[4] = {{.rank = 0}}, o[4] = {{.rank = 0}};

    admission_resize(a, 3);
    for (int i = 0; i < 4; i++)
        enter_queue(&o[i], NULL, 1, 1000);
    starts(&o[0]);
    assert_null(next()); /* two are kept */
    policy.lends = true;
    admission_set_queue(a, q, &policy);
    starts(&o[1]);
    enter_queue(&w[0], q, 1, -1000);
    enter_queue(&w[1], q, 1, -1000);
    enter_queue(&w[2], q, 1, -1000);
    starts(&w[0]); /* below nominal: before any priority */
    ends(&o[0]);
    starts(&w[1]);
    ends(&o[1]);
    starts(&o[2]); /* it has its own: queues share what is left */
    policy.paused = true;
    admission_set_queue(a, q, &policy);
    ends(&w[0]);
    starts(&o[3]); /* what is paused lends */
    ends(&w[1]);
    assert_null(next());
}

/* What it was left behind for comes after it then. */
static void a_class_that_comes_to_the_front(void **state)
{
    struct resource *l = lock("l"), *m = lock("m");
    const struct claim one = exclusive(l), two[] = {exclusive(l), exclusive(m)};
    struct waiter holder = {.rank = 0}, first = {.rank = 0}, last = {.rank = 0};
    struct waiter both = {.rank = 0};

    (void)state;
    enter(&holder, exclusive(m));
    starts(&holder);
    assert_int_equal(assign(&first, true, &one, 1), 0); /* it is held as yet */
    assert_int_equal(assign(&both, true, two, 2), 0);
    admission_enter(a, &both, now);
    enter(&last, one);
    assert_null(next()); /* l is left to the one that waits for both */
    admission_enter(a, &first, now);
    starts(&first);
}

/* While no slot is free a lock is left to what may be passed no more. Then its queue has
 * all that it may have, as it had before: what needs no slot passes. */
static void a_limit_that_is_reached_again(void **state)
{
    struct job_queue *q = queue((struct queue_policy){.most = 1, .weight = 1});
    struct resource *r = lock("r");
    const struct claim wanted = exclusive(r);
    struct admission_ask ask = {
        .uid = 1, .slot = true, .queue = q, .claims = &wanted, .n = 1};
    struct waiter first = {.rank = 0}, other = {.rank = 0}, left = {.rank = 0};
    struct waiter wants = {.rank = 0}, anyway = {.rank = 0};

    (void)state;
    admission_set_bypass(a, &(struct admission_bypass){0, UINT64_MAX});
    enter_queue(&first, q, 1, 0);
    starts(&first); /* it has all that it may have */
    enter_queue(&other, NULL, 1, 0);
    starts(&other);
    admission_resize(a, 1);
    ends(&first); /* it may have one more, and none is free */
    assert_int_equal(admission_assign(a, &left, &ask, ++ids), 0);
    admission_enter(a, &left, now);
    ask.slot = false;
    assert_int_equal(admission_assign(a, &wants, &ask, ++ids), 0);
    admission_enter(a, &wants, now);
    assert_null(next());
    enter_queue(&anyway, q, 1, 0);
    admission_take(a, &anyway, false, now);
    starts(&wants);
}

static void limits_of_queue_and_user(void **state)
{
    (void)state;
    struct job_queue *q =
        queue((struct queue_policy){.most = 2, .user_most = 1, .weight = 1});
    struct waiter w[6] = {{.rank = 0}};

    for (int i = 0; i < 6; i++)
        enter_queue(&w[i], q, (uid_t)(1 + i / 2), 0);
    starts(&w[0]);
    starts(&w[2]);
    assert_null(next());
    ends(&w[0]);
    starts(&w[4]); /* as its user has had nothing */
    ends(&w[2]);
    assert_ptr_not_equal(next(), &w[5]);
}

/* A lock is left to the first waiter. Its user gets to its limit as the limit is lowered,
 * or by a job of another queue: then the lock is for others. */
static void limit_of_a_user_over_all_queues(void **state)
{
    (void)state;
    struct job_queue *other = queue((struct queue_policy){.weight = 1});
    const struct named_ask global = {
        .global = true, .name = "l", .kind = &resource_rwlock};
    struct resource *l;
    assert_int_equal(named_get(a, &global, &l), 0);
    const struct claim part = shared(l);
    const struct admission_ask ask = {
        .uid = 2, .priority = -1, .slot = true, .claims = &part, .n = 1};
    struct waiter reader = {.rank = 0}, writer = {.rank = 0}, elsewhere = {.rank = 0},
                  behind[2] = {{.rank = 0}};

    enter(&reader, part);
    starts(&reader);
    enter(&writer, exclusive(l));
    for (int i = 0; i < 2; i++) {
        assert_int_equal(admission_assign(a, &behind[i], &ask, ++ids), 0);
        admission_enter(a, &behind[i], now);
        assert_null(next());
        if (i == 0) {
            admission_set_user_most(a, 1);
        } else {
            enter_queue(&elsewhere, other, 1, 0);
            starts(&elsewhere);
        }
        starts(&behind[i]);
        admission_set_user_most(a, 2);
        ends(&behind[i]);
    }
    ends(&elsewhere);
    assert_null(next());
    ends(&reader);
    starts(&writer);
}

/* --- bypass ------------------------------------------------------------------------- */

/* Slots are full: what needs none passes the waiter, so often and no more. */
static void passed_so_often(void **state)
{
    (void)state;
    struct resource *l = lock("l");
    struct waiter full = {.rank = 0}, x = {.rank = 0}, small[10];

    memset(small, 0, sizeof(small));
    admission_resize(a, 1);
    admission_set_bypass(a, &(struct admission_bypass){5, UINT64_MAX});
    enter(&full, shared(lock("other")));
    starts(&full);
    enter(&x, exclusive(l));
    for (int i = 0; i < 10; i++) {
        assert_int_equal(assign(&small[i], false, &(struct claim){l, 1, false}, 1), 0);
        admission_enter(a, &small[i], now);
    }
    for (int i = 0; i < 5; i++)
        starts(&small[i]);
    assert_null(next());
    ends(&full);
    assert_null(next()); /* the lock is not free */
    for (int i = 0; i < 5; i++)
        ends(&small[i]);
    starts(&x);
    ends(&x);
    starts(&small[5]);
}

static void passed_for_so_long(void **state)
{
    (void)state;
    struct resource *l = lock("l");
    struct waiter full = {.rank = 0}, x = {.rank = 0}, small[3] = {{.rank = 0}};

    admission_resize(a, 1);
    admission_set_bypass(a, &(struct admission_bypass){UINT32_MAX, 80 * SECOND});
    enter(&full, shared(lock("other")));
    starts(&full);
    enter(&x, exclusive(l));
    for (int i = 0; i < 3; i++) {
        assert_int_equal(assign(&small[i], false, &(struct claim){l, 1, false}, 1), 0);
        admission_enter(a, &small[i], now);
    }
    starts(&small[0]);
    now += 70 * SECOND;
    starts(&small[1]);
    now += 20 * SECOND;
    assert_null(next());
    admission_leave(a, &x);
    starts(&small[2]);
}

/* What could not start anyway is passed without end, and counted. */
static void a_paused_queue_keeps_no_lock(void **state)
{
    (void)state;
    struct resource *l = lock("l");
    struct queue_policy policy = {.weight = 1, .paused = true};
    struct job_queue *q = queue(policy);
    const struct claim claim = exclusive(l);
    const struct admission_ask ask = {
        .uid = 1, .slot = true, .queue = q, .claims = &claim, .n = 1, .priority = 5};
    struct waiter x = {.rank = 0}, others[4] = {{.rank = 0}};

    admission_set_bypass(a, &(struct admission_bypass){2, UINT64_MAX});
    assert_int_equal(admission_assign(a, &x, &ask, 0), 0);
    admission_enter(a, &x, now);
    for (int i = 0; i < 4; i++)
        enter(&others[i], exclusive(l));
    for (int i = 0; i < 3; i++) {
        starts(&others[i]);
        ends(&others[i]);
    }
    policy.paused = false;
    admission_set_queue(a, q, &policy);
    admission_leave(a, &others[3]);
    starts(&x);
}

/* Passed on its second lock: that counts as well. */
static void passed_on_any_lock(void **state)
{
    (void)state;
    struct resource *l = lock("l"), *m = lock("m");
    const struct claim both[] = {exclusive(l), exclusive(m)};
    struct waiter full = {.rank = 0}, x = {.rank = 0}, small[4] = {{.rank = 0}};

    admission_resize(a, 1);
    admission_set_bypass(a, &(struct admission_bypass){2, UINT64_MAX});
    enter(&full, shared(lock("other")));
    starts(&full);
    assert_int_equal(assign(&x, true, both, 2), 0);
    admission_enter(a, &x, now);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(assign(&small[i], false, &(struct claim){m, 1, false}, 1), 0);
        admission_enter(a, &small[i], now);
    }
    starts(&small[0]);
    starts(&small[1]);
    assert_null(next());
}

/* In whatever order and parts they are given, equal claims are of one class. */
static void equal_claims_are_one_class(void **state)
{
    (void)state;
    struct resource *l = lock("l"), *s = make(1, "s", &resource_semaphore, UINT32_MAX, 0);
    const struct claim one[] = {exclusive(l), some(s, 2)};
    const struct claim other[] = {some(s, 1), exclusive(l), some(s, 1)};
    const struct claim all[] = {some(s, UINT32_MAX - 1), some(s, 1)};
    struct waiter x = {.rank = 0}, y = {.rank = 0}, z = {.rank = 0};

    assert_int_equal(assign(&x, true, one, 2), 0);
    assert_int_equal(assign(&y, true, other, 3), 0);
    assert_ptr_equal(x.class, y.class);
    assert_int_equal(assign(&z, true, all, 2), 0);
    admission_forget(a, &x);
    admission_forget(a, &y);
    admission_forget(a, &z);
    named_put(a, l);
    named_put(a, s);
    assert_int_equal(make(1, "l", &resource_semaphore, 2, 0)->capacity,
                     2); /* both went */
    assert_int_equal(make(1, "s", &resource_semaphore, 2, 0)->capacity, 2);
}

/* A resource that was to be offered goes before that. */
#define PRIORITIES 2001
#define LOCKS      16

/* Of a user with a job at each priority, each of which wants all of its locks: a portion
 * looks at the lanes of one lock or two. */
static void long_lines_are_offered_in_portions(void **state)
{
    static struct waiter w[PRIORITIES], holder;
    struct claim all[LOCKS];
    struct admission_ask ask = {.uid = 1, .claims = all, .n = LOCKS};
    unsigned portions = 0, budget = 0;
    struct waiter *first = NULL;

    (void)state;
    for (size_t i = 0; i < LOCKS; i++)
        all[i] = exclusive(lock((char[]){(char)('a' + i), 0}));
    assert_int_equal(assign(&holder, false, all, LOCKS), 0);
    admission_enter(a, &holder, now);
    starts(&holder);
    for (size_t i = 0; i < PRIORITIES; i++) {
        ask.priority = 1000 - (int)i;
        assert_int_equal(admission_assign(a, &w[i], &ask, ++ids), 0);
        admission_enter(a, &w[i], now);
    }
    while (!(budget = 1000, admission_next(a, now, &budget)) && !budget)
        ;
    admission_ended(a, &holder, 1, SECOND, now);
    admission_release_locks(a, &holder, 1, now);
    for (budget = 0; !first && !budget; portions++) {
        const uint64_t before = admission_lanes_looked(a);

        budget = 64;
        first = admission_next(a, now, &budget);
        assert_in_range(admission_lanes_looked(a) - before, 0,
                        64 * ADMISSION_LANES + 4 * PRIORITIES);
    }
    assert_ptr_equal(first, &w[0]);
    assert_in_range(portions, LOCKS / 4, 1000);
}

/* Time orders no lane of the user but the one at whose priority another user waits. */
static void a_start_orders_what_others_have_beside_it(void **state)
{
    static struct waiter w[PRIORITIES], other;
    struct admission_ask ask = {.uid = 1, .slot = true};

    (void)state;
    for (size_t i = 0; i < PRIORITIES; i++) {
        ask.priority = 1000 - (int)i;
        assert_int_equal(admission_assign(a, &w[i], &ask, ++ids), 0);
        admission_enter(a, &w[i], now);
    }
    ask = (struct admission_ask){.uid = 2, .slot = true, .priority = 999};
    assert_int_equal(admission_assign(a, &other, &ask, ++ids), 0);
    admission_enter(a, &other, now);
    const uint64_t before = admission_lanes_looked(a);
    starts(&w[0]);
    starts(&other); /* the other user has started something */
    starts(&w[1]);
    ends(&w[0]);
    starts(&w[2]);
    assert_in_range(admission_lanes_looked(a) - before, 1, 20);
}

static void gone_while_it_is_due(void **state)
{
    (void)state;
    struct resource *l = lock("l");
    struct waiter x = {.rank = 0}, y = {.rank = 0};

    enter(&x, exclusive(l));
    named_put(a, l);
    starts(&x);
    ends(&x);
    admission_forget(a, &x);
    enter(&y, exclusive(lock("another")));
    starts(&y);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        T(readers_and_a_writer),
        T(asking_whether_all_is_settled_settles_nothing),
        T(kept_until_all_processes_are_gone),
        T(all_or_nothing),
        T(semaphores_count),
        T(shared_and_exclusive_is_exclusive),
        T(resized_below_what_is_wanted),
        T(what_is_put_aside_may_leave),
        T(names_have_owners),
        T(as_many_names),
        T(a_claim_keeps_its_resource),
        T(tokens_come_back),
        T(in_order_of_one_rate),
        T(spent_by_what_is_forgotten),
        T(nominal_slots),
        T(a_class_that_comes_to_the_front),
        T(a_limit_that_is_reached_again),
        T(limits_of_queue_and_user),
        T(limit_of_a_user_over_all_queues),
        T(passed_so_often),
        T(passed_for_so_long),
        T(a_paused_queue_keeps_no_lock),
        T(passed_on_any_lock),
        T(equal_claims_are_one_class),
        T(long_lines_are_offered_in_portions),
        T(a_start_orders_what_others_have_beside_it),
        T(gone_while_it_is_due),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
