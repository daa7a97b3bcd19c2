/* Lists of users and groups that may submit to a queue: which of those that are configured
 * and those that are set by hand counts, also after a restart, and whom names mean. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "daemon/core/state.h"
#include "daemon/life/allowed.h"
#include "daemon/query/queues.h"
#include "daemon/store/reader.h"
#include "tests/support/bare_core.h"
#include "tests/support/told_queue.h"

static struct core core;
static struct queue *q;

static const char *configured_user;

/* "default", and "night", if with_night, for user 7 and group 8. */
static void configure(bool with_night)
{
    struct queue_config both[2];

    queue_config_init(&both[0], "default");
    queue_config_init(&both[1], "night");
    both[0].value[QUEUE_SLOTS] = 8;
    both[1].value[QUEUE_WEIGHT] = 3;
    if (with_night) {
        both[1].allowed[QUEUE_USERS] = told_allow(configured_user, 7);
        both[1].allowed[QUEUE_GROUPS] = (struct queue_allowed){
            .names = "staff", .gids = malloc(sizeof(gid_t)), .ngids = 1};
        both[1].allowed[QUEUE_GROUPS].gids[0] = 8;
    }
    assert_int_equal(queues_configure(&core, both, with_night ? 2 : 1), 0);
    assert_null(both[1].allowed[QUEUE_USERS].uids);
    q = queues_find(&core, "night");
}

static int setup(void **state)
{
    (void)state;
    told_init("night");
    configured_user = "ada";
    bare_core_init(&core, NULL, &told.store, 1);
    configure(true);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    bare_core_fini(&core);
    return 0;
}

/* As the next voltd. */
static void restart(void)
{
    bare_core_fini(&core);
    bare_core_init(&core, NULL, &told.store, 1);
    configure(true);
    told_replay(&core);
    q = queues_find(&core, told.of);
}

static struct queue_view all[QUEUES_MOST];

static struct queue_change list_of(enum queue_list list, const char *names, uid_t uid)
{
    struct queue_change c = {.verb = QUEUE_DO_SET};

    c.given_list[list] = true;
    if (*names)
        c.allowed[list] = told_allow(names, uid);
    return c;
}

static void set_list(enum queue_list list, const char *names, uid_t uid)
{
    struct queue_change c = list_of(list, names, uid);

    assert_int_equal(told_change(&core, &c), 0);
    assert_null(c.allowed[list].uids);
}

static void a_list_that_is_set_wins(void **state)
{
    struct volt_error err;

    (void)state;
    set_list(QUEUE_USERS, "eve", 9);
    assert_int_equal(told_take(&core, 9, 6, "night", &err), 0);
    assert_int_equal(told_take(&core, 7, 6, "night", &err), -EPERM);
    assert_int_equal(told_take(&core, 6, 8, "night", &err),
                     0); /* the other list is as it was */
    assert_int_equal(query_queues(&core, all), 2);
    assert_string_equal(all[1].names[QUEUE_USERS], "eve");
    assert_string_equal(all[1].names_configured[QUEUE_USERS], "ada");
    assert_string_equal(all[1].names[QUEUE_GROUPS], "staff");
    assert_true(all[1].list_by_hand[QUEUE_USERS]);
    assert_false(all[1].list_by_hand[QUEUE_GROUPS]);
    set_list(QUEUE_GROUPS, "staff", 8);
    assert_int_equal(query_queues(&core, all), 2);
    assert_false(all[1].list_by_hand[QUEUE_GROUPS]);
    set_list(QUEUE_GROUPS, "", 0);
    assert_int_equal(told_take(&core, 6, 8, "night", &err), -EPERM);
    set_list(QUEUE_USERS, " ", 0);
    assert_int_equal(told_take(&core, 6, 6, "night", &err), 0); /* both are empty */
    assert_int_equal(query_queues(&core, all), 2);
    assert_int_equal(told_ask(&core, QUEUE_DO_PAUSE), 0);
    assert_true(all[1].list_by_hand[QUEUE_USERS]);
    assert_int_equal(told_ask(&core, QUEUE_DO_RESET), 0);
    assert_int_equal(told.n, 0);
    assert_int_equal(told_take(&core, 7, 6, "night", &err), 0);
    assert_int_equal(told_take(&core, 9, 6, "night", &err), -EPERM);
}

static void a_list_that_the_store_refuses_is_not_set(void **state)
{
    struct queue_change c = list_of(QUEUE_USERS, "eve", 9);
    struct volt_error err;

    (void)state;
    told.refuses = true;
    assert_int_equal(told_change(&core, &c), -ENOMEM);
    assert_int_equal(c.allowed[QUEUE_USERS].nuids, 1);
    queue_allowed_fini(&c.allowed[QUEUE_USERS]);
    assert_null(c.allowed[QUEUE_USERS].uids);
    assert_int_equal(told_take(&core, 7, 6, "night", &err), 0);
    assert_int_equal(told_take(&core, 9, 6, "night", &err), -EPERM);
    told.refuses = false;
    assert_int_equal(told_ask(&core, QUEUE_DO_PAUSE), 0);
    assert_int_equal(told.n, 1);
}

/* Of each length, with names that are found again by the next voltd. */
static void lists_are_kept(void **state)
{
    struct volt_error err;
    char names[QUEUE_NAMES_BYTES + 1];

    (void)state;
    set_list(QUEUE_GROUPS, "wheel \377", 0);
    for (size_t n = 1; n <= QUEUE_NAMES_BYTES; n++) {
        memset(names, 'x', n);
        names[n] = '\0';
        set_list(QUEUE_USERS, names, 9);
        restart();
        assert_string_equal(q->by_hand[QUEUE_USERS].names, names);
        assert_string_equal(q->by_hand[QUEUE_GROUPS].names, "wheel \377");
        assert_int_equal(told_take(&core, 7, 6, "night", &err), -EPERM);
        assert_int_equal(told_take(&core, 9, 6, "night", &err),
                         -EPERM); /* the ids are found later */
    }
    configured_user = "bob";
    restart();
    assert_int_equal(told_take(&core, 7, 6, "night", &err),
                     0); /* the configuration says another */
    assert_string_equal(q->by_hand[QUEUE_USERS].names, "");
    assert_int_equal(told_take(&core, 6, 8, "night", &err),
                     -EPERM); /* of groups it says the same */
    told_tidy(&core);
    assert_int_equal(told.n, 1 + 3);
    assert_int_equal(told_ask(&core, QUEUE_DO_RESET), 0);
    assert_int_equal(told.n, 0);
}

static void a_number_behind_the_settings_is_passed_over(void **state)
{
    static const uint64_t numbers[] = {0, QUEUE_SETTINGS, 1, 2, 1002, 3, 4};

    (void)state;
    assert_int_equal(
        queues_replay(&core, &(struct store_loaded_queue){"night", numbers, 7}), 0);
    assert_false(q->stale);
    assert_false(q->hand.list[QUEUE_USERS].made);
    assert_false(q->hand.list[QUEUE_GROUPS].made);
}

/* night, which the configuration does not have any more, stays where others come. */
static void expect_place(void)
{
    configure(false);
    for (int i = 2; i <= QUEUES_MOST; i++) {
        char name[24];
        struct queue_change made = {.verb = QUEUE_DO_CREATE};

        (void)snprintf(name, sizeof(name), "q%d", i);
        told.of = name;
        assert_int_equal(told_change(&core, &made), i < QUEUES_MOST ? 0 : -E2BIG);
    }
    assert_non_null(queues_find(&core, "night"));
}

static void a_queue_with_a_list_keeps_its_place(void **state)
{
    struct queue_change c = list_of(QUEUE_GROUPS, "wheel", 9);

    (void)state;
    assert_int_equal(told_change(&core, &c), 0);
    expect_place();
}

static void a_queue_that_is_drained_keeps_its_place(void **state)
{
    (void)state;
    assert_int_equal(told_ask(&core, QUEUE_DO_DRAIN), 0);
    expect_place();
}

static void a_queue_that_is_made_anew_has_nothing_of_the_one_before(void **state)
{
    struct volt_error err;

    (void)state;
    assert_int_equal(queue_value(q, QUEUE_WEIGHT), 3);
    configure(false);
    assert_int_equal(told_ask(&core, QUEUE_DO_CREATE), 0);
    assert_int_equal(queue_value(queues_find(&core, "night"), QUEUE_WEIGHT), 1);
    assert_int_equal(told_take(&core, 6, 6, "night", &err), 0);
    assert_true(queue_name_is_valid("q"));
    assert_false(queue_name_is_valid(""));
}

static void names_are_found(void **state)
{
    struct queue_allowed a = {.names = "root, no-such-one root\tno-other"},
                         none = {.names = " "};
    char missing[QUEUE_NAMES_BYTES + 1];

    (void)state;
    assert_int_equal(allowed_find(&a, QUEUE_USERS, missing), -ENOENT);
    assert_string_equal(missing, "no-such-one");
    assert_int_equal(a.nuids, 2);
    assert_int_equal(a.uids[0], 0);
    assert_int_equal(a.ngids, 0);
    assert_true(queue_allowed_any(&a));
    queue_allowed_fini(&a);
    assert_false(queue_allowed_any(&a));
    assert_int_equal(allowed_find(&none, QUEUE_GROUPS, missing), 0);
    assert_string_equal(missing, "");
    assert_false(queue_allowed_any(&none));
    (void)snprintf(a.names, sizeof(a.names), "root");
    assert_int_equal(allowed_find(&a, QUEUE_GROUPS, missing), 0);
    assert_int_equal(a.ngids, 1);
    assert_int_equal(a.gids[0], 0);
    queue_allowed_fini(&a);
}

/* root is in no list. */
static void names_of_an_earlier_voltd_are_found(void **state)
{
    struct volt_error err;

    (void)state;
    set_list(QUEUE_USERS, "no-such-one daemon", 9);
    restart();
    assert_int_equal(allowed_find_all(&core), 0);
    assert_int_equal(q->by_hand[QUEUE_USERS].nuids, 1);
    assert_int_equal(told_take(&core, q->by_hand[QUEUE_USERS].uids[0], 6, "night", &err),
                     0);
    assert_int_equal(told_take(&core, 9, 6, "night", &err), -EPERM);
    assert_int_equal(q->by_hand[QUEUE_GROUPS].ngids, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        T(a_list_that_is_set_wins),
        T(a_list_that_the_store_refuses_is_not_set),
        T(lists_are_kept),
        T(a_number_behind_the_settings_is_passed_over),
        T(a_queue_with_a_list_keeps_its_place),
        T(a_queue_that_is_drained_keeps_its_place),
        T(a_queue_that_is_made_anew_has_nothing_of_the_one_before),
        T(names_are_found),
        T(names_of_an_earlier_voltd_are_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
