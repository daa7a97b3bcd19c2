/* Queues of live jobs: what is configured, what is set by hand, and which of it counts
 * after a change of either, and after a restart. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "daemon/admit/job_queue.h"
#include "daemon/core/conditions.h"
#include "daemon/core/state.h"
#include "daemon/query/queues.h"
#include "daemon/store/reader.h"
#include "tests/support/bare_core.h"
#include "tests/support/told_queue.h"
#include "tests/support/unwell.h"

unsigned __wrap_cpus_usable(void);
static unsigned usable = 2;

unsigned __wrap_cpus_usable(void)
{
    return usable;
}

static struct core core;
static struct queue *q;
static const struct job_owner somebody = {6, 6};

/* "default", and "night" with as many slots of its own, for user 7 and group 8; without
 * that: UINT64_MAX. */
static void configure_both(uint64_t slots, uint64_t nominal)
{
    struct queue_config both[2];

    queue_config_init(&both[0], "default");
    queue_config_init(&both[1], "night");
    both[0].value[QUEUE_SLOTS] = slots;
    both[1].value[QUEUE_NOMINAL] = nominal;
    if (nominal != UINT64_MAX) {
        both[1].allowed[QUEUE_USERS] = told_allow("ada", 7);
        both[1].allowed[QUEUE_GROUPS] = (struct queue_allowed){
            .names = "staff", .gids = malloc(sizeof(gid_t)), .ngids = 1};
        both[1].allowed[QUEUE_GROUPS].gids[0] = 8;
    }
    assert_int_equal(queues_configure(&core, both, nominal == UINT64_MAX ? 1 : 2), 0);
    assert_null(both[1].allowed[QUEUE_USERS].uids);
}

static void configure(uint64_t slots)
{
    configure_both(slots, UINT64_MAX);
}

static int setup(void **state)
{
    (void)state;
    told_init("default");
    bare_core_init(&core, NULL, &told.store, 1);
    configure(8);
    q = queues_find(&core, "default");
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    bare_core_fini(&core);
    return 0;
}

static int set_slots(uint64_t n)
{
    return told_change(&core, &(struct queue_change){.verb = QUEUE_DO_SET,
                                                     .given = {[QUEUE_SLOTS] = true},
                                                     .value = {[QUEUE_SLOTS] = n}});
}

static uint32_t slots(void)
{
    return admission_count(core.parts.admit).slots;
}

/* As the next voltd, whose configuration says so many slots. */
static void restart_both(uint64_t configured, uint64_t nominal)
{
    bare_core_fini(&core);
    bare_core_init(&core, NULL, &told.store, 1);
    configure_both(configured, nominal);
    told_replay(&core);
    q = queues_find(&core, told.of);
}

static void restart(uint64_t configured)
{
    restart_both(configured, UINT64_MAX);
}

static struct queue_view all[QUEUES_MOST];

static struct queue_view look(void)
{
    assert_int_equal(query_queues(&core, all), 1);
    assert_string_equal(all[0].name, "default");
    return all[0];
}

/* --- tests -------------------------------------------------------------------------- */

static void a_queue_that_is_not_there(void **state)
{
    (void)state;
    assert_ptr_equal(queues_find(&core, NULL), q);
    assert_null(queues_find(&core, "night"));
    assert_int_equal(
        queues_replay(&core, &(struct store_loaded_queue){"default", NULL, 0}), 0);
    assert_false(look().paused);
    assert_int_equal(slots(), 8);
}

static void slots_by_default_are_two_or_more(void **state)
{
    (void)state;
    usable = 1;
    configure(0);
    assert_int_equal(slots(), 2);
    usable = 5;
    configure(0);
    assert_int_equal(slots(), 5);
    assert_int_equal(look().value[QUEUE_SLOTS], slots());
    configure(1);
    assert_int_equal(slots(), 1);
}

static void what_is_set_wins(void **state)
{
    (void)state;
    assert_false(look().by_hand[QUEUE_SLOTS]);
    assert_int_equal(set_slots(4), 0);
    assert_int_equal(slots(), 4);
    const struct queue_view view = look();
    assert_true(view.by_hand[QUEUE_SLOTS]);
    assert_int_equal(view.value[QUEUE_SLOTS], 4);
    assert_int_equal(view.configured[QUEUE_SLOTS], 8);
    restart(8);
    assert_int_equal(slots(), 4);
    configure(8); /* a reload */
    assert_int_equal(slots(), 4);
    assert_int_equal(set_slots(5), 0);
    restart(8);
    assert_int_equal(slots(), 5);
    assert_int_equal(set_slots(8), 0);
    assert_false(look().by_hand[QUEUE_SLOTS]); /* to what it was */
}

/* Also if it goes back to what was overridden. */
static void a_change_of_the_configuration_wins(void **state)
{
    (void)state;
    assert_int_equal(set_slots(4), 0);
    told_tidy(&core);
    assert_int_equal(told.appends, 1);
    configure(6);
    assert_int_equal(slots(), 6);
    assert_false(look().by_hand[QUEUE_SLOTS]);
    told.refuses = true;
    told_tidy(&core);
    told.refuses = false;
    told_tidy(&core);
    told_tidy(&core);
    assert_int_equal(told.appends, 2);
    assert_int_equal(told.n, 0);
    assert_int_equal(set_slots(4), 0);
    configure(7);
    assert_int_equal(told_ask(&core, QUEUE_DO_PAUSE), 0); /* which keeps that as well */
    told_tidy(&core);
    assert_int_equal(told.appends, 4);
    assert_int_equal(told_ask(&core, QUEUE_DO_RESUME), 0);
    restart(8);
    assert_int_equal(slots(), 8);
}

static void a_change_while_voltd_was_away_wins(void **state)
{
    (void)state;
    assert_int_equal(set_slots(4), 0);
    assert_int_equal(told_ask(&core, QUEUE_DO_PAUSE), 0);
    restart(6);
    assert_int_equal(slots(), 6);
    assert_true(look().paused);
    told_tidy(&core);
    assert_int_equal(told.n, 1);
    restart(8);
    assert_int_equal(slots(), 8);
    assert_true(look().paused);
}

static void what_the_store_refuses_has_not_changed(void **state)
{
    (void)state;
    told.refuses = true;
    assert_int_equal(set_slots(4), -ENOMEM);
    assert_int_equal(told_ask(&core, QUEUE_DO_PAUSE), -ENOMEM);
    assert_int_equal(slots(), 8);
    assert_false(look().paused);
}

static void a_reset_forgets_all(void **state)
{
    (void)state;
    assert_int_equal(set_slots(4), 0);
    assert_int_equal(told_ask(&core, QUEUE_DO_PAUSE), 0);
    assert_int_equal(told_ask(&core, QUEUE_DO_DRAIN), 0);
    assert_true(look().paused && look().drained);
    assert_int_equal(told_ask(&core, QUEUE_DO_RESET), 0);
    assert_int_equal(told.n, 0);
    assert_false(look().paused || look().drained);
    assert_int_equal(slots(), 8);
}

static void a_resume_ends_pause_and_drain(void **state)
{
    static const enum queue_verb verbs[] = {QUEUE_DO_PAUSE, QUEUE_DO_DRAIN};

    (void)state;
    assert_int_equal(set_slots(4), 0);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(told_ask(&core, verbs[i]), 0);
        restart(8);
        assert_int_equal(look().paused, i == 0);
        assert_int_equal(look().drained, i == 1);
        assert_int_equal(told_ask(&core, QUEUE_DO_RESUME), 0);
        assert_false(look().paused || look().drained);
    }
    restart(8);
    assert_false(look().paused || look().drained);
    assert_int_equal(slots(), 4);
}

/* Of a voltd that can set more. */
static void a_setting_that_is_not_known_is_passed_over(void **state)
{
    static const uint64_t numbers[] = {0, 60, 1, 2, QUEUE_SLOTS, 300, 8, 61, 1};

    (void)state;
    assert_int_equal(
        queues_replay(&core, &(struct store_loaded_queue){"default", numbers, 9}), 0);
    assert_int_equal(slots(), 300);
    assert_int_equal(set_slots(5), 0);
    assert_int_equal(told.n, 4);
}

static void a_queue_is_for_those_that_are_allowed(void **state)
{
    struct volt_error err = {{0}};

    (void)state;
    assert_int_equal(told_take(&core, 6, 6, "night", &err), -ENOENT);
    assert_string_equal(err.text, "there is no queue night; there are for you: default");
    configure_both(8, 3);
    assert_int_equal(told_take(&core, 6, 6, "default", &err), 0);
    assert_int_equal(told_take(&core, 6, 6, "night", &err), -EPERM);
    assert_string_equal(err.text,
                        "you may not use queue night; there are for you: default");
    assert_int_equal(told_take(&core, 7, 6, "night", &err), 0);
    assert_int_equal(told_take(&core, 6, 8, "night", &err), 0);
    assert_int_equal(told_take(&core, 0, 0, "night", &err), 0);
    assert_int_equal(told_take(&core, 7, 6, "nigh", &err), -ENOENT);
    assert_string_equal(err.text,
                        "there is no queue nigh; there are for you: default, night");
    configure(8);
    assert_int_equal(told_take(&core, 7, 6, "night", &err), -ENOENT);
}

static void a_queue_has_limits_of_time(void **state)
{
    struct job_spec spec = {.queue = NULL};
    struct volt_error err = {{0}};

    (void)state;
    q->as_read.value[QUEUE_MAX_TIMEOUT] = 500;
    assert_int_equal(queues_take(&core, &somebody, &spec, &err), 0);
    assert_int_equal(job_spec_timeout(&spec), 500);
    q->as_read.value[QUEUE_DEFAULT_TIMEOUT] = 300;
    assert_int_equal(queues_take(&core, &somebody, &spec, &err), 0);
    assert_int_equal(job_spec_timeout(&spec), 300);
    assert_int_equal(spec.timeout_usec, 0);
    q->as_read.value[QUEUE_DEFAULT_TIMEOUT] = 600; /* beyond what it may have */
    assert_int_equal(queues_take(&core, &somebody, &spec, &err), 0);
    assert_int_equal(job_spec_timeout(&spec), 500);
    spec.timeout_usec = 400;
    assert_int_equal(queues_take(&core, &somebody, &spec, &err), 0);
    assert_int_equal(job_spec_timeout(&spec), 400);
    assert_int_equal(spec.queue_timeout_usec, 0);
    spec.timeout_usec = 501;
    assert_int_equal(queues_take(&core, &somebody, &spec, &err), -EINVAL);
    assert_string_equal(
        err.text, "timeout_usec: queue default allows at most 0.0005 s (MaxTimeoutSec=)");
    q->as_read.value[QUEUE_MAX_TIMEOUT] = 0;
    assert_int_equal(queues_take(&core, &somebody, &spec, &err), 0);
    assert_int_equal(job_spec_timeout(&spec), 501);
}

static int set_one(enum queue_setting s, uint64_t value)
{
    struct queue_change c = {.verb = QUEUE_DO_SET};

    c.given[s] = true;
    c.value[s] = value;
    return told_change(&core, &c);
}

/* Slots of their own, together. */
static void queues_have_no_more_than_there_is(void **state)
{
    struct queue_change c = {.verb = QUEUE_DO_SET,
                             .given = {[QUEUE_SLOTS] = true, [QUEUE_NOMINAL] = true},
                             .value = {[QUEUE_SLOTS] = 6, [QUEUE_NOMINAL] = 4}};
    struct tx tx;

    (void)state;
    configure_both(8, 3);
    tx_init(&tx, &core);
    assert_int_equal(queues_change(&tx, told.of, &c, NULL), -ERANGE);
    assert_int_equal(told.appends, 0);
    c.value[QUEUE_NOMINAL] = 3;
    assert_int_equal(queues_change(&tx, told.of, &c, NULL), 0);
    core.held = (struct quota){0};
    assert_int_equal(slots(), 6);
    assert_int_equal(set_slots(5), -ERANGE);
    assert_int_equal(set_slots(6), 0);
    q = queues_find(&core, "night");
    told.of = "night";
    assert_int_equal(queues_change(&tx, told.of, &c, NULL), -EINVAL);
    c = (struct queue_change){.verb = QUEUE_DO_SET, .given = {[QUEUE_NOMINAL] = true}};
    c.value[QUEUE_NOMINAL] = 4;
    assert_int_equal(queues_change(&tx, told.of, &c, NULL), -ERANGE);
    c.value[QUEUE_NOMINAL] = 2;
    assert_int_equal(queues_change(&tx, told.of, &c, NULL), 0);
    core.held = (struct quota){0};
}

/* As after a reload, or with Slots=0 on a smaller machine. */
static void each_has_its_part_of_what_there_is(void **state)
{
    (void)state;
    configure_both(8, 4);
    q = queues_find(&core, "night");
    queues_first(&core)->as_read.value[QUEUE_NOMINAL] = 2;
    assert_int_equal(queues_own(&core), 6);
    assert_int_equal(queues_slots(&core), 8);
    configure_both(3, 4);
    assert_int_equal(q->admitted->policy.nominal, 3);
    q = queues_first(&core);
    assert_int_equal(set_one(QUEUE_NOMINAL, 1), -ERANGE);
    q = queues_find(&core, told.of = "night");
    assert_int_equal(set_one(QUEUE_NOMINAL, 4), 0); /* no more than before */
    assert_int_equal(set_one(QUEUE_NOMINAL, 5), -ERANGE);
    assert_int_equal(set_one(QUEUE_MAX, 2), 0);
    assert_int_equal(q->admitted->policy.nominal, 2);
    assert_int_equal(set_one(QUEUE_MAX, 3), 0);
    assert_int_equal(q->admitted->policy.nominal, 3);
}

static void a_part_is_rounded_down(void **state)
{
    const uint64_t numbers[] = {0, QUEUE_NOMINAL, 2, 0};

    (void)state;
    assert_int_equal(
        queues_replay(&core, &(struct store_loaded_queue){"default", numbers, 4}), 0);
    configure_both(5, 4);
    assert_int_equal(queues_own(&core), 6);
    assert_int_equal(q->admitted->policy.nominal, 1);
    assert_int_equal(queues_find(&core, "night")->admitted->policy.nominal, 3);
    configure_both(6, 4);
    assert_int_equal(q->admitted->policy.nominal, 2);
    assert_int_equal(queues_find(&core, "night")->admitted->policy.nominal, 4);
}

static void a_reset_leaves_no_more_than_there_is(void **state)
{
    (void)state;
    configure_both(2, 0);
    assert_int_equal(set_slots(10), 0);
    q = queues_find(&core, told.of = "night");
    assert_int_equal(set_one(QUEUE_NOMINAL, 5), 0);
    q = queues_find(&core, told.of = "default");
    assert_int_equal(told_ask(&core, QUEUE_DO_RESET), -ERANGE);
    assert_int_equal(slots(), 10);
    q = queues_find(&core, told.of = "night");
    assert_int_equal(told_ask(&core, QUEUE_DO_RESET), 0);
    assert_int_equal(set_one(QUEUE_NOMINAL, 2), 0);
    q = queues_find(&core, told.of = "default");
    assert_int_equal(told_ask(&core, QUEUE_DO_RESET), 0);
    assert_int_equal(slots(), 2);
    configure(2); /* what is gone has none */
    assert_int_equal(queues_own(&core), 0);
}

static void only_what_grows_is_refused(void **state)
{
    struct job job = {.id = 7, .elsewhere = true, .spec = job_spec_new()};

    (void)state;
    configure_both(8, 3);
    q = queues_find(&core, told.of = "night");
    assert_int_equal(set_one(QUEUE_NOMINAL, 8), 0);
    job.spec->queue = strdup("night");
    assert_int_equal(waiting_assign_again(&core, &job), 0);
    configure(8);
    q = queues_find(&core, told.of = "default");
    assert_int_equal(set_one(QUEUE_NOMINAL, 8), 0);
    q = queues_find(&core,
                    told.of = "night"); /* is gone, and grows only when it returns */
    assert_int_equal(told_ask(&core, QUEUE_DO_PAUSE), 0);
    assert_true(core.queues.any_paused);
    assert_int_equal(told_ask(&core, QUEUE_DO_RESUME), 0);
    assert_false(core.queues.any_paused);
    waiting_forget(&core, &job);
    job_spec_unref(job.spec);
}

static void what_is_set_is_the_policy(void **state)
{
    static const uint64_t values[QUEUE_SETTINGS] = {[QUEUE_NOMINAL] = 2,
                                                    [QUEUE_MAX] = 5,
                                                    [QUEUE_USER_MAX] = 4,
                                                    [QUEUE_WEIGHT] = 7,
                                                    [QUEUE_LEND] = 0};

    (void)state;
    configure_both(8, 3);
    q = queues_find(&core, told.of = "night");
    const struct queue_policy *p = &q->admitted->policy;
    assert_true(p->nominal == 3 && !p->most && !p->user_most && p->weight == 1 &&
                p->lends && !p->paused);
    assert_string_equal(p->name, "night");
    for (int s = QUEUE_NOMINAL; s <= QUEUE_LEND; s++)
        assert_int_equal(set_one((enum queue_setting)s, values[s]), 0);
    assert_true(p->nominal == 2 && p->most == 5 && p->user_most == 4 && p->weight == 7 &&
                !p->lends);
    restart_both(8, 3);
    p = &q->admitted->policy;
    assert_true(p->nominal == 2 && p->most == 5 && p->user_most == 4 && p->weight == 7 &&
                !p->lends);
}

/* Whether there is room for "default" and n others, named from `first` on. */
static int configure_others(unsigned first, unsigned n)
{
    struct queue_config configs[QUEUES_MOST + 1];

    queue_config_init(&configs[0], "default");
    for (unsigned i = 0; i < n; i++) {
        char name[16];

        (void)snprintf(name, sizeof(name), "q%u", first + i);
        queue_config_init(&configs[i + 1], name);
    }
    return queues_configure(&core, configs, n + 1);
}

static void a_queue_that_is_over_leaves_its_place(void **state)
{
    struct job job = {.id = 7, .elsewhere = true, .spec = job_spec_new()};
    struct job other = {.id = 8, .elsewhere = true, .spec = job_spec_new()};

    (void)state;
    for (unsigned i = 0; i < 2 * QUEUES_MOST; i++)
        assert_int_equal(configure_others(i, 1), 0);
    assert_int_equal(query_queues(&core, all), 2);
    assert_string_equal(all[1].name, "q127");
    assert_int_equal(configure_others(1000, QUEUES_MOST - 1), 0);
    assert_int_equal(query_queues(&core, all), QUEUES_MOST);
    assert_null(queues_find(&core, "q127"));

    /* Not while there is something of it: a job that was taken and is not in the line, */
    job.spec->queue = strdup("q1000");
    assert_int_equal(waiting_assign_again(&core, &job), 0);
    assert_int_equal(configure_others(1001, QUEUES_MOST - 1), -E2BIG);
    other.spec->queue = strdup("other"); /* nothing has changed */
    assert_ptr_equal(queues_of(&core, &other), queues_first(&core));
    job_spec_unref(other.spec);
    assert_int_equal(configure_others(1001, QUEUES_MOST - 2), 0);
    assert_int_equal(configure_others(2000, QUEUES_MOST - 1), -E2BIG);
    assert_int_equal(configure_others(2000, QUEUES_MOST - 2), 0);
    waiting_forget(&core, &job);
    assert_int_equal(configure_others(1001, QUEUES_MOST - 1), 0);
    job_spec_unref(job.spec);

    /* or what was set of it. */
    q = queues_find(&core, told.of = "q1001");
    assert_int_equal(set_one(QUEUE_MAX, 2), 0);
    assert_int_equal(configure_others(3000, QUEUES_MOST - 1), -E2BIG);
    assert_int_equal(configure_others(3000, QUEUES_MOST - 2), 0);
    assert_ptr_equal(queues_find(&core, "q1001"), q);
    assert_int_equal(configure_others(1001, 1), 0);
    assert_int_equal(q->admitted->policy.most, 2);
    assert_int_equal(told_ask(&core, QUEUE_DO_DRAIN), 0);
    assert_int_equal(told_ask(&core, QUEUE_DO_RESET), 0);
    assert_int_equal(configure_others(3000, QUEUES_MOST - 1), 0);
    assert_null(queues_find(&core, "q1001"));
}

/* Those that have places already keep them when others of the same configuration need
 * some. */
static void places_of_a_configuration_are_its_own(void **state)
{
    (void)state;
    assert_int_equal(configure_others(0, QUEUES_MOST - 1), 0);
    assert_int_equal(configure_others(0, 0), 0);
    assert_int_equal(query_queues(&core, all), 1);
    assert_int_equal(configure_others(QUEUES_MOST / 2, QUEUES_MOST - 1), 0);
    assert_int_equal(query_queues(&core, all), QUEUES_MOST);
    for (unsigned i = 1; i < QUEUES_MOST; i++)
        assert_false(all[i].gone);
}

/* With what was set of it, which counts again when it comes back. */
static void a_queue_that_has_gone_keeps_its_jobs(void **state)
{
    struct job job = {.id = 7, .elsewhere = true, .spec = job_spec_new()};

    (void)state;
    configure_both(8, 3);
    q = queues_find(&core, told.of = "night");
    assert_int_equal(set_one(QUEUE_NOMINAL, 2), 0);
    assert_non_null(job.spec);
    job.spec->queue = strdup("night");
    assert_ptr_equal(queues_of(&core, &job), q);
    assert_int_equal(waiting_assign_again(&core, &job), 0);
    configure(8);
    assert_false(queue_is_over(q)); /* as of an array all of whose elements back off */
    waiting_enter(&core, &job);
    assert_true(queue_is_gone(q) && !queue_is_over(q));
    assert_int_equal(q->admitted->policy.nominal, 0);
    assert_int_equal(query_queues(&core, all), 2);
    assert_true(all[1].gone && !all[0].gone);
    assert_string_equal(all[1].name, "night");
    assert_int_equal(all[1].waiting, 1);
    waiting_forget(&core, &job);
    assert_true(queue_is_over(q));
    assert_int_equal(query_queues(&core, all), 1);
    configure_both(8, 3);
    assert_false(queue_is_gone(q));
    assert_int_equal(q->admitted->policy.nominal, 2);
    assert_int_equal(query_queues(&core, all), 2);
    restart(8);
    assert_ptr_equal(queues_of(&core, &job), q);
    assert_true(queue_is_gone(q));
    assert_int_equal(q->admitted->policy.nominal, 0);
    job_spec_unref(job.spec);
}

static void a_queue_that_is_made_by_hand(void **state)
{
    struct queue_change c = {.verb = QUEUE_DO_CREATE, .given = {[QUEUE_NOMINAL] = true}};
    struct volt_error err;

    (void)state;
    told.of = "none";
    assert_int_equal(told_ask(&core, QUEUE_DO_PAUSE), -ENOENT);
    told.of = "-x";
    assert_int_equal(told_ask(&core, QUEUE_DO_CREATE), -ENAMETOOLONG);
    told.of = "default";
    assert_int_equal(told_ask(&core, QUEUE_DO_CREATE), -EEXIST);
    assert_int_equal(told_ask(&core, QUEUE_DO_DELETE), -EBUSY);
    told.of = "tape";
    c.value[QUEUE_NOMINAL] = 9;
    assert_int_equal(told_change(&core, &c), -ERANGE);
    assert_int_equal(query_queues(&core, all), 1);
    assert_int_equal(told_ask(&core, QUEUE_DO_RESUME), -ENOENT);
    c.value[QUEUE_NOMINAL] = 2;
    assert_int_equal(told_change(&core, &c), 0);
    assert_int_equal(told_change(&core, &c), -EEXIST);
    restart(8);
    assert_int_equal(query_queues(&core, all), 2);
    assert_string_equal(all[1].name, "tape");
    assert_int_equal(all[1].value[QUEUE_NOMINAL], 2);
    assert_false(all[1].gone);
    assert_int_equal(told_take(&core, 6, 6, "tape", &err), 0);
    configure(8);
    assert_int_equal(q->admitted->policy.nominal, 2);
    assert_int_equal(told_ask(&core, QUEUE_DO_RESET), 0);
    assert_int_equal(q->admitted->policy.nominal, 0);
    assert_false(queue_is_gone(q));
    struct job job = {.id = 7, .elsewhere = true, .spec = job_spec_new()};
    assert_non_null(job.spec);
    job.spec->queue = strdup("tape");
    assert_int_equal(waiting_assign_again(&core, &job), 0);
    assert_int_equal(told_ask(&core, QUEUE_DO_DELETE), -ENOTEMPTY);
    assert_false(queue_is_gone(q));
    waiting_forget(&core, &job);
    job_spec_unref(job.spec);
    assert_int_equal(told_ask(&core, QUEUE_DO_DELETE), 0);
    assert_int_equal(told.n, 0);
    assert_int_equal(query_queues(&core, all), 1);
    assert_int_equal(told_take(&core, 6, 6, "tape", &err), -ENOENT);
    assert_int_equal(told_ask(&core, QUEUE_DO_DELETE), -ENOENT);
    told.of = "default";
    assert_int_equal(set_one(QUEUE_NOMINAL, 9), -ERANGE); /* what is gone has none */
    assert_int_equal(set_one(QUEUE_NOMINAL, 8), 0);
    told.of = "tape";
    assert_int_equal(told_ask(&core, QUEUE_DO_CREATE), 0);
    assert_int_equal(told.n, 1);
    assert_int_equal(query_queues(&core, all), 2);
}

static void there_are_so_many_at_most(void **state)
{
    struct queue_config many[QUEUES_MOST + 1];
    struct job job = {.id = 7, .elsewhere = true, .spec = job_spec_new()};
    struct volt_error err;
    char name[16];

    (void)state;
    assert_non_null(job.spec);
    queue_config_init(&many[0], "default");
    for (int i = 1; i <= QUEUES_MOST; i++) {
        (void)snprintf(name, sizeof(name), "q%d", i);
        queue_config_init(&many[i], name);
    }
    job.spec->queue = strdup("lost");
    assert_string_equal(queues_of(&core, &job)->admitted->policy.name, "lost");
    assert_int_equal(waiting_assign_again(&core, &job), 0);
    free(job.spec->queue);
    assert_int_equal(queues_configure(&core, many, QUEUES_MOST), -E2BIG);
    assert_int_equal(queues_configure(&core, many, QUEUES_MOST - 1), 0);
    assert_int_equal(
        queues_replay(&core, &(struct store_loaded_queue){"x", (uint64_t[]){1}, 1}), 0);
    assert_int_equal(told_take(&core, 6, 6, "more", &err), -ENOENT);
    assert_string_equal(err.text, "there is no queue more; there are for you: "
                                  "default, q1, q2, q3, q4, q5, q6, q7, q8, q9, q10, "
                                  "q11, q12, q13, q14, q15, q16, q17, q18, q19, ...");
    job.spec->queue = strdup("more");
    assert_ptr_equal(queues_of(&core, &job), queues_first(&core));
    job_spec_unref(job.spec);
    told.of = "more";
    assert_int_equal(told_ask(&core, QUEUE_DO_CREATE), -E2BIG);
    waiting_forget(&core, &job);
    assert_int_equal(told_ask(&core, QUEUE_DO_CREATE), 0);
}

static void what_is_drained_takes_no_jobs(void **state)
{
    struct job_spec spec = {.queue = NULL};
    struct volt_error err = {{0}};

    (void)state;
    assert_int_equal(queues_take(&core, &somebody, &spec, &err), 0);
    assert_int_equal(told_ask(&core, QUEUE_DO_DRAIN), 0);
    assert_int_equal(queues_take(&core, &somebody, &spec, &err), -EBUSY);
    assert_string_equal(err.text, "queue default is drained and takes no jobs until it "
                                  "is resumed");
    assert_int_equal(told_ask(&core, QUEUE_DO_PAUSE), 0);
    assert_int_equal(told_ask(&core, QUEUE_DO_RESUME), 0);
    assert_int_equal(queues_take(&core, &somebody, &spec, &err), 0);
}

/* What takes nothing and has not started; of a running one nothing is held up. */
/* What takes back is kept all the same. */
static void a_full_store_is_asked_to_keep_nothing_new(void **state)
{
    static const enum queue_verb verbs[] = {QUEUE_DO_SET, QUEUE_DO_PAUSE, QUEUE_DO_DRAIN};

    (void)state;
    unwell = (struct store_health){.full = true};
    for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
        assert_int_equal(told_ask(&core, verbs[i]), -ENOSPC);
    assert_int_equal(told.appends, 0);
    assert_int_equal(told_ask(&core, QUEUE_DO_RESUME), 0);
    assert_int_equal(told_ask(&core, QUEUE_DO_RESET), 0);
    assert_int_equal(told.appends, 2);
    told.of = "fresh";
    assert_int_equal(told_ask(&core, QUEUE_DO_CREATE), -ENOSPC);
    assert_null(queues_find(&core, "fresh"));
    unwell = (struct store_health){.failing = true};
    assert_int_equal(told_ask(&core, QUEUE_DO_CREATE), -EIO);
    unwell = (struct store_health){.full = false};
    assert_int_equal(told_ask(&core, QUEUE_DO_CREATE), 0);
    unwell.full = true;
    assert_int_equal(told_ask(&core, QUEUE_DO_DELETE), 0);
    unwell.full = false;
}

static void what_needs_no_slot_waits_in_a_paused_queue(void **state)
{
    struct job_spec *spec = job_spec_new();
    struct job job = {.id = 7, .kind = JOB_KIND_NOOP, .spec = spec};
    struct volt_error err;
    unsigned budget = 64;

    (void)state;
    assert_non_null(spec);
    assert_int_equal(core_wait_for(&core, &job, &err), 0);
    assert_int_equal(job.waiter.state, WAITER_NONE);
    assert_int_equal(told_ask(&core, QUEUE_DO_PAUSE), 0);
    job.status.attempt = 1;
    assert_int_equal(core_wait_for(&core, &job, &err), 0);
    assert_int_equal(job.waiter.state, WAITER_NONE);
    job.status = (struct job_status){.state = JOB_DONE};
    assert_int_equal(core_wait_for(&core, &job, &err), 0);
    assert_int_equal(job.waiter.state, WAITER_NONE);
    job.status = (struct job_status){.state = JOB_QUEUED};
    assert_int_equal(core_wait_for(&core, &job, &err), 0);
    waiting_enter(&core, &job);
    assert_true(waiting_has_to(&job));
    assert_int_equal(look().waiting, 1);
    assert_null(admission_next(core.parts.admit, 0, &budget));
    assert_int_equal(told_ask(&core, QUEUE_DO_RESUME), 0);
    assert_ptr_equal(admission_next(core.parts.admit, 0, &budget), &job.waiter);
    waiting_forget(&core, &job);
    assert_int_equal(look().waiting, 0);
    job_spec_unref(spec);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(a_queue_that_is_not_there),
        T(slots_by_default_are_two_or_more),
        T(what_is_set_wins),
        T(a_change_of_the_configuration_wins),
        T(a_change_while_voltd_was_away_wins),
        T(what_the_store_refuses_has_not_changed),
        T(a_reset_forgets_all),
        T(a_resume_ends_pause_and_drain),
        T(a_setting_that_is_not_known_is_passed_over),
        T(a_queue_is_for_those_that_are_allowed),
        T(a_queue_has_limits_of_time),
        T(queues_have_no_more_than_there_is),
        T(each_has_its_part_of_what_there_is),
        T(a_part_is_rounded_down),
        T(a_reset_leaves_no_more_than_there_is),
        T(only_what_grows_is_refused),
        T(what_is_set_is_the_policy),
        T(a_queue_that_is_over_leaves_its_place),
        T(places_of_a_configuration_are_its_own),
        T(a_queue_that_has_gone_keeps_its_jobs),
        T(a_queue_that_is_made_by_hand),
        T(there_are_so_many_at_most),
        T(what_is_drained_takes_no_jobs),
        T(a_full_store_is_asked_to_keep_nothing_new),
        T(what_needs_no_slot_waits_in_a_paused_queue),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
