/* Leases: which waits and which has its claim, what goes back, which would wait for ever,
 * which are to be looked at. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "daemon/admit/job_queue.h"
#include "daemon/admit/named.h"
#include "daemon/dispatch/dispatch.h"
#include "daemon/dispatch/dispatcher.h"
#include "daemon/dispatch/grant.h"
#include "tests/support/memory_store.h"
#include "tests/support/bare_core.h"

enum { UID = 1000 };

static struct core core;
static struct store *memory;
static uint64_t latest;
static struct volt_error err;

static int setup(void **state)
{
    (void)state;
    memory = store_memory_new();
    assert_non_null(memory);
    bare_core_init(&core, NULL, memory, 1);
    core.dispatcher.on = true;
    latest = 100;
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    bare_core_fini(&core);
    store_free(memory);
    return 0;
}

static struct lease_ask ask_of(uid_t uid, const char *name, enum job_claim_mode mode)
{
    return (struct lease_ask){
        .id = ++latest,
        .uid = uid,
        .claim = {.name = (char *)(uintptr_t)name, .mode = mode, .permits = 1},
        .pid = (pid_t)latest,
        .command = "make all",
        .since_usec = 5};
}

static int ask(const struct lease_ask *a, bool waits, struct lease **ret)
{
    struct tx tx;

    core_begin(&tx, &core);
    int r = leases_ask(&tx, a, waits, ret, &err);
    dispatch_finish(&tx);
    return r;
}

/* One that may wait, as it is then. */
static struct lease *lease(const char *name, enum job_claim_mode mode)
{
    const struct lease_ask a = ask_of(UID, name, mode);
    struct lease *l = NULL;

    assert_int_equal(ask(&a, true, &l), 0);
    return l;
}

static void end(struct lease *l)
{
    struct tx tx;

    core_begin(&tx, &core);
    leases_end(&tx, l);
    dispatch_finish(&tx);
}

static void hold(struct lease *l)
{
    assert_int_equal(l->state, LEASE_GIVEN);
    leases_hold(&core, l);
}

static struct lease *held(const char *name, enum job_claim_mode mode)
{
    struct lease *l = lease(name, mode);

    hold(l);
    return l;
}

static int at_once(uid_t uid, const char *name, enum job_claim_mode mode)
{
    const struct lease_ask a = ask_of(uid, name, mode);
    struct lease *l;
    int r = ask(&a, false, &l);

    if (r == 0) {
        assert_int_equal(l->state, LEASE_GIVEN);
        end(l);
    }
    return r;
}

static void the_first_has_it_and_the_next_waits(void **state)
{
    struct lease *first = lease("db", JOB_CLAIM_EXCLUSIVE);

    (void)state;
    assert_int_equal(first->state, LEASE_GIVEN);
    assert_string_equal(lease_name(first), "db");
    assert_string_equal(first->command, "make all");
    assert_int_equal(first->pid, 101);
    struct lease *second = lease("db", JOB_CLAIM_EXCLUSIVE),
                 *third = lease("db", JOB_CLAIM_SHARED),
                 *fourth = lease("db", JOB_CLAIM_SHARED);
    assert_int_equal(second->state, LEASE_WAITS);
    assert_int_equal(second->since_usec, 5);
    assert_int_equal(at_once(UID, "db", JOB_CLAIM_SHARED), -EAGAIN);
    assert_int_equal(at_once(UID + 1, "db", JOB_CLAIM_EXCLUSIVE), 0);
    end(first);
    assert_int_equal(second->state, LEASE_GIVEN);
    assert_true(second->since_usec > 5); /* since it was given */
    assert_int_equal(third->state, LEASE_WAITS);
    end(second);
    assert_int_equal(third->state, LEASE_GIVEN);
    assert_int_equal(fourth->state, LEASE_GIVEN);
    assert_int_equal(at_once(UID, "db", JOB_CLAIM_SHARED), 0);
    assert_int_equal(at_once(UID, "db", JOB_CLAIM_EXCLUSIVE), -EAGAIN);
    end(third);
    assert_int_equal(at_once(UID, "db", JOB_CLAIM_EXCLUSIVE), -EAGAIN);
    end(fourth);
    assert_int_equal(at_once(UID, "db", JOB_CLAIM_EXCLUSIVE), 0);
    assert_null(named_find(core.parts.admit, UID, "db"));
    assert_null(leases_next(&core, UID, NULL));
}

static void readers_do_not_pass_a_writer(void **state)
{
    struct lease *reader = lease("db", JOB_CLAIM_SHARED),
                 *writer = lease("db", JOB_CLAIM_EXCLUSIVE);

    (void)state;
    assert_int_equal(at_once(UID, "db", JOB_CLAIM_SHARED), -EAGAIN);
    struct lease *late = lease("db", JOB_CLAIM_SHARED);
    assert_int_equal(late->state, LEASE_WAITS);
    end(writer); /* it waits no longer */
    assert_int_equal(late->state, LEASE_GIVEN);
    end(late);
    end(reader);
}

static void they_are_found_in_the_order_of_their_ids(void **state)
{
    struct lease *a = lease("a", JOB_CLAIM_EXCLUSIVE), *b = lease("a", JOB_CLAIM_SHARED);

    (void)state;
    assert_ptr_equal(leases_find(&core, a->id), a);
    assert_ptr_equal(leases_find(&core, b->id), b);
    assert_null(leases_find(&core, b->id + 1));
    assert_ptr_equal(leases_next(&core, UID, NULL), a);
    assert_ptr_equal(leases_next(&core, UID, a), b);
    assert_null(leases_next(&core, UID, b));
    assert_null(leases_next(&core, UID + 1, NULL));
    assert_true(lease_claims(a, named_find(core.parts.admit, UID, "a")));
    assert_false(lease_claims(a, NULL));
    const uint64_t id = a->id;
    end(b);
    end(a);
    assert_null(leases_find(&core, id));
}

static void permits_are_counted_and_their_number_is_kept(void **state)
{
    struct lease_ask a = ask_of(UID, "tape", JOB_CLAIM_PERMITS);
    struct lease *l, *other;

    (void)state;
    a.claim.permits = 2;
    a.claim.capacity = 3;
    assert_int_equal(ask(&a, true, &l), 0);
    assert_int_equal(l->capacity, 3);
    assert_int_equal(l->permits, 2);
    assert_int_equal(l->mode, JOB_CLAIM_PERMITS);
    a.id++;
    a.claim.capacity = 0;
    assert_int_equal(ask(&a, false, &other), -EAGAIN);
    assert_int_equal(at_once(UID, "tape", JOB_CLAIM_PERMITS), 0);
    a.claim.permits = 4;
    assert_int_equal(ask(&a, true, &other), -EINVAL);
    assert_string_equal(err.text, "semaphore tape has 3 permits, and 4 are claimed");
    assert_int_equal(at_once(UID, "tape", JOB_CLAIM_SHARED), -EINVAL);
    end(l);
}

static void what_is_closed_gives_nothing(void **state)
{
    struct lease *first = lease("db", JOB_CLAIM_EXCLUSIVE),
                 *second = lease("db", JOB_CLAIM_EXCLUSIVE);

    (void)state;
    core.closed = true;
    end(first);
    assert_int_equal(second->state, LEASE_WAITS);
    assert_int_equal(at_once(UID, "x", JOB_CLAIM_SHARED), -ESHUTDOWN);
    core.closed = false;
    end(second);
}

static void a_user_has_so_many(void **state)
{
    (void)state;
    for (int i = 0; i < LEASES_MOST; i++)
        (void)lease("db", JOB_CLAIM_SHARED);
    assert_int_equal(at_once(UID, "db", JOB_CLAIM_SHARED), -EINVAL);
    assert_string_equal(err.text, "more than 10000 leases of locks");
    const struct lease_ask a = ask_of(UID, "db", JOB_CLAIM_SHARED);
    assert_int_equal(leases_recover(&core, &a, false), 0); /* it was given before */
    for (int i = 0; i <= LEASES_MOST; i++)
        end(leases_next(&core, UID, NULL));
    assert_int_equal(at_once(UID, "db", JOB_CLAIM_SHARED), 0);
}

static void what_was_held_is_held_again(void **state)
{
    struct lease_ask a = ask_of(UID, "tape", JOB_CLAIM_PERMITS);

    (void)state;
    a.claim.had = 2;
    assert_int_equal(leases_recover(&core, &a, false), 0);
    struct lease *l = leases_find(&core, a.id);
    assert_int_equal(l->state, LEASE_HELD);
    assert_int_equal(l->since_usec, 5);
    assert_int_equal(core.leases.nlisted, 1);
    assert_int_equal(named_find(core.parts.admit, UID, "tape")->capacity, 2);
    assert_int_equal(named_find(core.parts.admit, UID, "tape")->used, 1);
    a.id = ++latest;
    assert_int_equal(leases_recover(&core, &a, false), 0);
    assert_int_equal(at_once(UID, "tape", JOB_CLAIM_PERMITS), -EAGAIN);
    end(l);
    assert_int_equal(core.leases.nlisted, 1);
    assert_int_equal(at_once(UID, "tape", JOB_CLAIM_PERMITS), 0);
}

static void what_waited_has_its_place_again(void **state)
{
    struct lease_ask first = ask_of(UID, "db", JOB_CLAIM_EXCLUSIVE),
                     inner = ask_of(UID, "db", JOB_CLAIM_EXCLUSIVE);

    (void)state;
    first.claim.had = inner.claim.had = 0;
    struct lease *has = held("db", JOB_CLAIM_SHARED), *late;
    late = lease("db", JOB_CLAIM_EXCLUSIVE);
    assert_int_equal(leases_recover(&core, &first, true), 0);
    struct lease *l = leases_find(&core, first.id);
    assert_int_equal(l->state, LEASE_WAITS);
    assert_int_equal(l->since_usec, 5);
    assert_int_equal(core.leases.nlisted, 2);
    inner.in_lease = has->id;
    assert_int_equal(leases_recover(&core, &inner, true), 0);
    struct lease *in = leases_find(&core, inner.id);
    end(has);
    assert_int_equal(in->state, LEASE_GIVEN); /* it is inside of something */
    end(in);
    assert_int_equal(l->state, LEASE_GIVEN);
    assert_int_equal(late->state, LEASE_WAITS);
    leases_attach(&core, l);
    assert_int_equal(core.leases.nlisted, 0);
    hold(l);
    assert_int_equal(core.leases.nlisted, 1);
    end(l);
    assert_int_equal(core.leases.nlisted, 0);
    assert_int_equal(late->state, LEASE_GIVEN);
    end(late);
}

/* --- which are to be looked at ------------------------------------------------------ */

static void note(uint64_t id)
{
    struct tx tx;

    core_begin(&tx, &core);
    leases_note(&tx, id);
    dispatch_finish(&tx);
}

static void note_some(size_t n, bool once)
{
    struct tx tx;

    core_begin(&tx, &core);
    leases_note_some(&tx, n, once);
    dispatch_finish(&tx);
}

static struct lease *due(uint64_t now, uint64_t next)
{
    uint64_t at;
    struct lease *l = leases_take_due(&core, now, &at);

    assert_int_equal(at, next);
    return l;
}

static void what_is_noted_is_due_once(void **state)
{
    struct lease *a = lease("a", JOB_CLAIM_EXCLUSIVE),
                 *b = lease("b", JOB_CLAIM_EXCLUSIVE);

    (void)state;
    note(a->id); /* not held yet */
    note(1);
    assert_null(due(0, UINT64_MAX));
    hold(a);
    hold(b);
    assert_null(due(0, UINT64_MAX));
    note(b->id);
    note(b->id);
    assert_ptr_equal(due(0, UINT64_MAX), b);
    assert_null(due(0, UINT64_MAX));
    note_some(1, false);
    assert_ptr_equal(due(0, UINT64_MAX), a); /* b was looked at later */
    assert_null(due(0, UINT64_MAX));
    note_some(5, false);
    note(a->id); /* behind b */
    end(b);
    assert_ptr_equal(due(0, UINT64_MAX), a);
    assert_null(due(0, UINT64_MAX));
    end(a);
}

static void what_is_still_held_is_looked_at_later_and_later(void **state)
{
    struct lease *a = lease("a", JOB_CLAIM_EXCLUSIVE),
                 *b = lease("b", JOB_CLAIM_EXCLUSIVE);
    uint64_t now = 10000;

    (void)state;
    hold(a);
    hold(b);
    note(a->id);
    for (uint64_t rest = 1000; rest <= 2048000; rest *= 2) {
        assert_ptr_equal(due(now, UINT64_MAX), a);
        leases_look_again(&core, a, now);
        assert_null(due(now + rest - 1, now + rest));
        now += rest;
    }
    assert_ptr_equal(due(now, UINT64_MAX), a);
    leases_look_again(&core, a, now); /* that was all */
    assert_null(due(now, UINT64_MAX));
    note(a->id);
    assert_ptr_equal(due(now, UINT64_MAX), a);
    leases_look_again(&core, a, now);
    note(b->id);
    assert_ptr_equal(due(now, now + 1000), b);
    leases_look_again(&core, b, now + 500);
    assert_null(due(now, now + 1000));
    note(a->id); /* anew, before its time */
    assert_ptr_equal(due(now, now + 1500), a);
    leases_look_again(&core, a, now);
    assert_int_equal(a->look_at_usec, now + 1000);
    note(a->id);
    leases_look_again(&core, a, now); /* it is due */
    assert_ptr_equal(due(now, now + 1500), a);
    note_some(9, true);
    assert_ptr_equal(due(now, now + 1500), a);
    leases_look_again(&core, a, now); /* once is enough */
    assert_null(due(now, now + 1500));
    note(
        a->id); /* of two that wait equally long the next is the one that has waited longer */
    note(b->id);
    assert_ptr_equal(due(now, UINT64_MAX), a);
    leases_look_again(&core, a, now);
    assert_ptr_equal(due(now, now + 1000), b);
    leases_look_again(&core, b, now + 1);
    assert_ptr_equal(due(now + 1001, now + 1001), a);
    assert_ptr_equal(due(now + 1001, UINT64_MAX), b);
    end(a);
    end(b);
    assert_null(due(now + 9000, UINT64_MAX));
}

static void detach(struct lease *l)
{
    struct tx tx;

    core_begin(&tx, &core);
    leases_detach(&tx, l);
    dispatch_finish(&tx);
}

static void a_place_without_a_call_is_looked_at_and_goes_on(void **state)
{
    struct lease *first = lease("a", JOB_CLAIM_EXCLUSIVE),
                 *second = lease("a", JOB_CLAIM_EXCLUSIVE),
                 *third = lease("a", JOB_CLAIM_EXCLUSIVE);

    (void)state;
    second->looks = 5;
    note(second->id); /* a call waits for it */
    assert_null(due(0, UINT64_MAX));
    detach(second);
    assert_int_equal(core.leases.nlisted, 1);
    assert_ptr_equal(due(7, UINT64_MAX), second);
    leases_look_again(&core, second, 7);
    assert_null(due(1006, 1007)); /* for the first time */
    end(first);
    assert_int_equal(second->state, LEASE_GIVEN);
    assert_int_equal(third->state, LEASE_WAITS);
    note(second->id);
    assert_ptr_equal(due(8, UINT64_MAX), second);
    leases_attach(&core, second);
    leases_look_again(&core, second, 8); /* a call has come back in between */
    note(second->id);
    assert_null(due(9, UINT64_MAX));
    assert_int_equal(core.leases.nlisted, 0);
    detach(second);
    end(second);
    assert_int_equal(core.leases.nlisted, 0);
    assert_int_equal(third->state, LEASE_GIVEN);
    end(third);
    assert_null(due(9, UINT64_MAX));
}

/* --- cycles ------------------------------------------------------------------------- */

static struct lease *inside(struct lease *outer, const char *name,
                            enum job_claim_mode mode, int expected)
{
    struct lease_ask a = ask_of(UID, name, mode);
    struct lease *l = NULL;

    a.in_lease = outer->id;
    assert_int_equal(ask(&a, true, &l), expected);
    return l;
}

static void end_all(void)
{
    struct lease *l;

    while ((l = leases_next(&core, UID, NULL)))
        end(l);
}

static void two_that_wait_for_each_other(void **state)
{
    struct lease *a = held("a", JOB_CLAIM_EXCLUSIVE), *b = held("b", JOB_CLAIM_SHARED);

    (void)state;
    inside(a, "a", JOB_CLAIM_SHARED, -EDEADLK);
    assert_string_equal(err.text, "it would wait for ever: lock a: volt-lock (pid 101) "
                                  "has it, and waits for this");
    struct lease *wants_b = inside(a, "b", JOB_CLAIM_EXCLUSIVE, 0);
    assert_int_equal(wants_b->state, LEASE_WAITS);
    inside(b, "a", JOB_CLAIM_EXCLUSIVE, -EDEADLK);
    assert_string_equal(err.text,
                        "it would wait for ever: lock a: volt-lock (pid 101) has it, and "
                        "waits for lock b: volt-lock (pid 102) has it, and waits for "
                        "this");
    end(wants_b); /* it waits no longer */
    struct lease *wants_a = inside(b, "a", JOB_CLAIM_EXCLUSIVE, 0);
    assert_int_equal(wants_a->state, LEASE_WAITS);
    struct lease *shares_b = inside(a, "b", JOB_CLAIM_SHARED, 0);
    assert_int_equal(shares_b->state, LEASE_GIVEN);
    end_all();
}

static void a_chain_over_what_is_inside_of_what_is_inside(void **state)
{
    struct lease *a = held("a", JOB_CLAIM_EXCLUSIVE);
    struct lease *b = inside(a, "b", JOB_CLAIM_EXCLUSIVE, 0);
    struct lease *c = held("c", JOB_CLAIM_EXCLUSIVE);

    (void)state;
    hold(b);
    inside(b, "a", JOB_CLAIM_EXCLUSIVE, -EDEADLK);
    struct lease *wants_c = inside(b, "c", JOB_CLAIM_EXCLUSIVE, 0);
    inside(c, "a", JOB_CLAIM_EXCLUSIVE, -EDEADLK);
    inside(c, "b", JOB_CLAIM_EXCLUSIVE, -EDEADLK);
    struct lease *d = inside(c, "d", JOB_CLAIM_EXCLUSIVE, 0);
    assert_int_equal(d->state, LEASE_GIVEN);
    assert_int_equal(wants_c->state, LEASE_WAITS);
    const struct lease *other = lease("a", JOB_CLAIM_EXCLUSIVE); /* inside of nothing */
    assert_int_equal(other->state, LEASE_WAITS);
    end_all();
}

static struct job job;
static struct work work;

/* Job 50, which has this lock. */
static void begin_job(const char *name)
{
    struct job_claim claim = {.name = (char *)(uintptr_t)name};
    struct job_spec spec = {.claims = &claim, .nclaims = 1};

    job = (struct job){.id = 50,
                       .kind = JOB_KIND_EXEC,
                       .spec = &spec,
                       .owner = {.uid = UID},
                       .claims = true,
                       .live = &work};
    work = (struct work){.core = &core, .job = &job, .offset = NO_OFFSET};
    assert_non_null(users_get(&core.users, UID));
    assert_int_equal(table_put(&core.table, job.id, &job), 0);
    assert_int_equal(waiting_assign(&core, &job, NULL), 0);
    job.spec = NULL;
    waiting_enter(&core, &job);
    grant_take(&core, &work);
}

static void end_job(void)
{
    grant_end(&core, &work, NEVER_RAN);
    waiting_forget(&core, &job);
    table_remove(&core.table, job.id);
}

static struct lease *inside_job(uid_t uid, uint64_t id, int64_t index, const char *name,
                                int expected)
{
    struct lease_ask a = ask_of(uid, name, JOB_CLAIM_EXCLUSIVE);
    struct lease *l = NULL;

    a.in_job = (struct job_key){.id = id, .index = index};
    assert_int_equal(ask(&a, true, &l), expected);
    return l;
}

static void a_job_that_waits_for_what_it_has(void **state)
{
    (void)state;
    begin_job("a");
    inside_job(UID, 50, JOB_NO_INDEX, "a", -EDEADLK);
    assert_string_equal(err.text,
                        "it would wait for ever: lock a: job 50 has it, and waits "
                        "for this");
    struct lease *element = inside_job(UID, 50, 3, "a", 0); /* another one */
    assert_int_equal(element->state, LEASE_WAITS);
    assert_int_equal(element->in_job.id, 50);
    const struct lease *other = inside_job(UID, 49, JOB_NO_INDEX, "a", 0);
    assert_int_equal(other->state, LEASE_WAITS);
    assert_int_equal(other->in_job.id, 0);
    struct lease *of_another = inside_job(UID + 1, 50, JOB_NO_INDEX, "a", 0);
    assert_int_equal(of_another->state, LEASE_GIVEN);
    assert_int_equal(of_another->in_job.id, 0);
    end(of_another);
    end_all();
    end_job();
}

static void a_job_and_a_lease_that_wait_for_each_other(void **state)
{
    struct lease *b = held("b", JOB_CLAIM_EXCLUSIVE);

    (void)state;
    begin_job("a");
    struct lease *next = lease("b", JOB_CLAIM_EXCLUSIVE);
    struct lease *wants_b = inside_job(UID, 50, JOB_NO_INDEX, "b", 0);
    assert_int_equal(wants_b->state, LEASE_WAITS);
    inside(b, "a", JOB_CLAIM_EXCLUSIVE, -EDEADLK);
    assert_string_equal(err.text,
                        "it would wait for ever: lock a: job 50 has it, and waits "
                        "for lock b: volt-lock (pid 101) has it, and waits for "
                        "this");
    end(b);
    assert_int_equal(wants_b->state, LEASE_GIVEN); /* the job has something */
    assert_int_equal(next->state, LEASE_WAITS);
    end_all();
    end_job();
}

static void permits_of_others_may_be_enough(void **state)
{
    struct lease_ask ask_two = ask_of(UID, "s", JOB_CLAIM_PERMITS);
    struct lease *two, *other;

    (void)state;
    ask_two.claim.permits = 2;
    ask_two.claim.capacity = 3;
    assert_int_equal(ask(&ask_two, true, &two), 0);
    hold(two);
    other = held("s", JOB_CLAIM_PERMITS);
    struct lease *one = inside(two, "s", JOB_CLAIM_PERMITS, 0);
    assert_int_equal(one->state, LEASE_WAITS); /* for the other one's */
    end(one);
    ask_two.id = ++latest;
    ask_two.in_lease = two->id;
    assert_int_equal(ask(&ask_two, true, &one), -EDEADLK);
    assert_string_equal(err.text, "it would wait for ever: semaphore s: volt-lock (pid "
                                  "101) has permits, and waits for this");
    end(other);
    end_all();
}

static void what_is_inside_goes_first(void **state)
{
    struct lease *a = held("a", JOB_CLAIM_EXCLUSIVE), *b = held("b", JOB_CLAIM_EXCLUSIVE);
    struct lease *waits = lease("b", JOB_CLAIM_EXCLUSIVE);
    struct lease *first = inside(a, "b", JOB_CLAIM_EXCLUSIVE, 0);
    struct lease_ask none = ask_of(UID, "b", JOB_CLAIM_EXCLUSIVE);
    struct lease *last;

    (void)state;
    none.in_lease = waits->id; /* it has nothing */
    none.in_job = (struct job_key){.id = 9, .index = JOB_NO_INDEX};
    assert_int_equal(ask(&none, true, &last), 0);
    assert_int_equal(last->in_lease, 0);
    assert_int_equal(last->in_job.id, 0);
    end(b);
    assert_int_equal(first->state, LEASE_GIVEN);
    assert_int_equal(waits->state, LEASE_WAITS);
    end(first);
    assert_int_equal(waits->state, LEASE_GIVEN);
    end_all();
}

static void what_is_inside_goes_before_other_queues_and_in_a_paused_one(void **state)
{
    const struct queue_policy plain = {.weight = 1},
                              paused = {.weight = 1, .paused = true};
    struct job_queue *other = admission_add_queue(core.parts.admit, &plain);
    struct lease *a = held("a", JOB_CLAIM_EXCLUSIVE), *b = held("b", JOB_CLAIM_EXCLUSIVE);
    struct claim claim = {.resource = named_find(core.parts.admit, UID, "b"),
                          .amount = 1,
                          .exclusive = true};
    const struct admission_ask wants = {
        .uid = UID, .queue = other, .priority = 1000, .claims = &claim, .n = 1};
    struct waiter w = {.state = WAITER_NONE};

    (void)state;
    assert_non_null(other);
    assert_int_equal(admission_assign(core.parts.admit, &w, &wants, 1), 0);
    admission_enter(core.parts.admit, &w, 0);
    struct lease *first = inside(a, "b", JOB_CLAIM_EXCLUSIVE, 0);
    struct lease *plain_one = lease("c", JOB_CLAIM_EXCLUSIVE);
    assert_int_equal(plain_one->state, LEASE_GIVEN);
    admission_set_queue(core.parts.admit, admission_default_queue(core.parts.admit),
                        &paused);
    assert_int_equal(at_once(UID, "d", JOB_CLAIM_EXCLUSIVE), -EAGAIN);
    end(b);
    assert_int_equal(first->state, LEASE_GIVEN);
    assert_int_equal(w.state, WAITER_LINE);
    admission_forget(core.parts.admit, &w);
    end_all();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define OF_CORE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        OF_CORE(the_first_has_it_and_the_next_waits),
        OF_CORE(readers_do_not_pass_a_writer),
        OF_CORE(they_are_found_in_the_order_of_their_ids),
        OF_CORE(permits_are_counted_and_their_number_is_kept),
        OF_CORE(what_is_closed_gives_nothing),
        OF_CORE(a_user_has_so_many),
        OF_CORE(what_was_held_is_held_again),
        OF_CORE(what_waited_has_its_place_again),
        OF_CORE(what_is_noted_is_due_once),
        OF_CORE(what_is_still_held_is_looked_at_later_and_later),
        OF_CORE(a_place_without_a_call_is_looked_at_and_goes_on),
        OF_CORE(two_that_wait_for_each_other),
        OF_CORE(a_chain_over_what_is_inside_of_what_is_inside),
        OF_CORE(a_job_that_waits_for_what_it_has),
        OF_CORE(a_job_and_a_lease_that_wait_for_each_other),
        OF_CORE(permits_of_others_may_be_enough),
        OF_CORE(what_is_inside_goes_first),
        OF_CORE(what_is_inside_goes_before_other_queues_and_in_a_paused_one),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
