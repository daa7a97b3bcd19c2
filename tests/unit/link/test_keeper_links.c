/* Links to the keepers of several users, and links that rest: with a real keeper, which
 * the tests start. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <cmocka.h>
#include <volt/runtime.h>
#include "base/atomic.h"
#include "daemon/link/keeper_link_parts.h"
#include "daemon/link/keeper_links.h"
#include "tests/support/keeper_client.h"

enum { ASKERS = 4, USERS = 200 };

struct rig {
    struct keeper_client files;
    struct volt_runtime *rt;
};

static int setup(void **state)
{
    struct rig *g = calloc(1, sizeof(*g));

    keeper_client_init(&g->files);
    assert_int_equal(volt_runtime_new(&(struct volt_options){.workers = 2}, &g->rt), 0);
    *state = g;
    return 0;
}

static int teardown(void **state)
{
    struct rig *g = *state;

    volt_runtime_free(g->rt);
    keeper_client_fini(&g->files);
    free(g);
    return 0;
}

/* Who is told, and asked. */
static struct {
    vat_u32 came, went, asked, awaits;
    vat_u32 wrong;  /* calls about somebody else: cmocka's checks would end in a worker */
    vat_u32 refuse; /* so many times that it is here */
} user;

static int here(void *arg, uid_t uid, bool is_here)
{
    vat_u32_add(&user.wrong, arg != &user || uid != 1000, VAT_RLX);
    if (is_here && vat_u32_load(&user.refuse, VAT_ACQ) > 0) {
        vat_u32_sub(&user.refuse, 1, VAT_REL);
        return -ENOMEM;
    }
    vat_u32_add(is_here ? &user.came : &user.went, 1, VAT_REL);
    return 0;
}

static bool awaits(void *arg, uid_t uid)
{
    (void)arg, (void)uid;
    vat_u32_add(&user.asked, 1, VAT_REL);
    return vat_u32_load(&user.awaits, VAT_ACQ) > 0;
}

static const struct keeper_callbacks told = {here, awaits, &user};

static void wait_for(vat_u32 *what, uint32_t n)
{
    while (vat_u32_load(what, VAT_ACQ) < n)
        poll(NULL, 0, 1);
}

static struct keeper_link *resting(struct rig *g, uint64_t rest_usec)
{
    memset(&user, 0, sizeof(user));
    const struct keeper_link_options opt = {.socket_path = g->files.socket_path,
                                            .rest_usec = rest_usec,
                                            .uid = 1000,
                                            .callbacks = &told,
                                            .record_fd = g->files.record_fd};
    struct volt_error err = {""};
    struct keeper_link *link = NULL;

    assert_int_equal(keeper_link_open(&opt, &err, &link), 0);
    assert_int_equal(keeper_link_start(link, g->rt), 0);
    return link;
}

/* Asks for what there is none of, from outside of the runtime. */
static void ask(struct keeper_call *call, struct keeper_link *link)
{
    const struct job_key key = {1, JOB_NO_INDEX, 1};

    keeper_call_init_signal(call, link, &key, SIGTERM, KEEPER_SCOPE_TREE);
    keeper_call_send(call);
}

static bool is_open(struct keeper_link *link)
{
    unsigned unsent;

    vlock_lock(&link->lock);
    const bool open = keeper_link_open_calls_locked(link, &unsent) > 0;
    vlock_unlock(&link->lock);
    return open;
}

static void await_answer(struct keeper_call *call, struct keeper_link *link)
{
    while (is_open(link))
        poll(NULL, 0, 1);
    assert_int_equal(keeper_call_status(call), -ESRCH);
    keeper_call_fini(call);
}

static uint32_t connects(struct keeper_link *link)
{
    struct keeper_link_info info;

    keeper_link_info(link, &info);
    return info.connects;
}

static void over(struct rig *g, struct keeper_link *link)
{
    assert_int_equal(volt_runtime_shutdown(g->rt, UINT64_MAX), 0);
    keeper_link_free(link, true);
    assert_int_equal(vat_u32_load(&user.wrong, VAT_ACQ), 0);
}

static void test_connects_for_a_call_and_leaves_again(void **state)
{
    struct rig *g = *state;
    struct keeper_call call;

    keeper_client_spawn(&g->files);
    struct keeper_link *link = resting(g, 1);
    assert_int_equal(connects(link), 0);
    for (uint32_t n = 1; n <= 3; n++) {
        ask(&call, link);
        await_answer(&call, link);
        assert_int_equal(connects(link), n);
        wait_for(&user.came, n);
        wait_for(&user.went, n);
    }
    over(g, link);
}

/* No call waits: it is connected because jobs wait for that. */
static void test_connects_because_it_is_wanted(void **state)
{
    struct rig *g = *state;

    keeper_client_spawn(&g->files);
    struct keeper_link *link = resting(g, UINT64_C(3600000000));
    keeper_link_want(link);
    wait_for(&user.came, 1);
    keeper_link_want(link); /* it is */
    keeper_client_kill(&g->files);
    wait_for(&user.went, 1);
    assert_int_equal(vat_u32_load(&user.came, VAT_ACQ), 1);
    over(g, link);
}

static void test_tries_as_long_as_jobs_wait(void **state)
{
    struct rig *g = *state;
    struct keeper_link *link = resting(g, UINT64_C(3600000000));

    vat_u32_store(&user.awaits, 1, VAT_REL);
    keeper_link_want(link);
    wait_for(&user.asked, 3);
    vat_u32_store(&user.awaits, 0, VAT_REL);
    while (keeper_link_away_usec(link) > 0)
        poll(NULL, 0, 1);
    keeper_client_spawn(&g->files);
    assert_int_equal(vat_u32_load(&user.came, VAT_ACQ), 0);
    keeper_link_want(link);
    wait_for(&user.came, 1);
    over(g, link);
}

/* A pause that doubled from one cycle to the next would be a minute long soon. */
enum { CYCLES = 40 };

static void test_a_link_that_rests_forgets_failures(void **state)
{
    struct rig *g = *state;
    struct keeper_link *link = resting(g, UINT64_C(3600000000));

    for (uint32_t n = 1; n <= CYCLES; n++) {
        keeper_link_want(link);
        wait_for(&user.asked, n);
        while (keeper_link_away_usec(link) > 0)
            poll(NULL, 0, 1);
    }
    over(g, link);
}

/* There was no answer that showed that the keeper is well. */
static void test_a_link_that_has_left_forgets_failures(void **state)
{
    struct rig *g = *state;

    keeper_client_spawn(&g->files);
    struct keeper_link *link = resting(g, 1);
    vat_u32_store(&user.awaits, 1, VAT_REL);
    for (uint32_t n = 1; n <= CYCLES; n++) {
        vat_u32_store(&user.refuse, 1, VAT_REL);
        keeper_link_want(link);
        wait_for(&user.came, n);
        wait_for(&user.went, 2 * n); /* the refused connection has gone, too */
    }
    over(g, link);
}

/* Without memory to say that it is here there is no connection. */
static void test_what_cannot_be_told_is_tried_again(void **state)
{
    struct rig *g = *state;

    keeper_client_spawn(&g->files);
    struct keeper_link *link = resting(g, UINT64_C(3600000000));
    vat_u32_store(&user.refuse, 2, VAT_REL);
    vat_u32_store(&user.awaits, 1, VAT_REL);
    keeper_link_want(link);
    wait_for(&user.came, 1);
    assert_int_equal(connects(link), 3);
    over(g, link);
}

static void test_stays_while_it_is_asked(void **state)
{
    struct rig *g = *state;
    struct keeper_call call;

    keeper_client_spawn(&g->files);
    struct keeper_link *link = resting(g, UINT64_C(3600000000));
    for (uint32_t n = 1; n <= 3; n++) {
        ask(&call, link);
        await_answer(&call, link);
    }
    assert_int_equal(connects(link), 1);
    over(g, link);
}

static void test_waits_for_a_keeper(void **state)
{
    struct rig *g = *state;
    struct keeper_call call;
    struct keeper_link *link = resting(g, UINT64_C(3600000000));

    assert_int_equal(keeper_link_away_usec(link), 0);
    ask(&call, link);
    while (keeper_link_away_usec(link) == 0)
        poll(NULL, 0, 1);
    keeper_client_spawn(&g->files);
    await_answer(&call, link);
    assert_int_equal(keeper_link_away_usec(link), 0);
    over(g, link);
}

/* What is given up is no reason to go on trying. */
static void test_rests_when_nobody_waits_any_more(void **state)
{
    struct rig *g = *state;
    struct keeper_call call;
    struct keeper_link *link = resting(g, UINT64_C(3600000000));

    ask(&call, link);
    while (keeper_link_away_usec(link) == 0)
        poll(NULL, 0, 1);
    assert_true(keeper_call_withdraw(&call));
    keeper_call_fini(&call);
    while (keeper_link_away_usec(link) > 0)
        poll(NULL, 0, 1);
    assert_int_equal(connects(link), 0);
    over(g, link);
}

static void listen_at(const char *dir, unsigned uid)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

    assert_true((size_t)snprintf(a.sun_path, sizeof(a.sun_path), "%s/%u", dir, uid) <
                sizeof(a.sun_path));
    assert_int_equal(bind(fd, (const struct sockaddr *)&a, sizeof(a)), 0);
    close(fd);
}

static void test_one_for_each_user(void **state)
{
    struct rig *g = *state;
    const struct keeper_link_options opt = {.record_fd = g->files.record_fd};
    struct volt_error err = {""};
    struct keeper_links *links = NULL;

    assert_int_equal(keeper_links_open(g->files.dir, &opt, &err, &links), 0);
    assert_int_equal(
        keeper_links_start(links, g->rt, &(struct keeper_callbacks){NULL, NULL, NULL}),
        0);
    listen_at(g->files.dir, 1000);
    assert_int_equal(keeper_links_check(links, 1000), 0);
    assert_int_equal(keeper_links_check(links, 1001), -ENOENT);
    assert_int_equal(keeper_links_check(links, 0), -EPERM);
    struct keeper_link *one = keeper_links_of(links, 1000);
    assert_non_null(one);
    assert_ptr_equal(keeper_links_of(links, 1000), one);
    struct keeper_link *other = keeper_links_of(links, 1001);
    assert_non_null(other);
    assert_ptr_not_equal(other, one);
    assert_null(keeper_links_of(links, KEEPER_OF_NOBODY));
    assert_int_equal(keeper_links_away_usec(links, 1000), 0);
    assert_int_equal(keeper_links_away_usec(links, 1002), 0);
    assert_int_equal(volt_runtime_shutdown(g->rt, UINT64_MAX), 0);
    keeper_links_free(links, true);
}

struct asking {
    struct keeper_links *links;
    pthread_barrier_t *begin;
    struct keeper_link *found[USERS];
};

static void *ask_for_each(void *arg)
{
    struct asking *a = arg;

    for (uid_t i = 0; i < USERS; i++) {
        (void)pthread_barrier_wait(a->begin);
        a->found[i] = keeper_links_of(a->links, 1000 + i);
    }
    return NULL;
}

/* Threads that ask for a new user at once get one link. */
static void test_one_for_all_that_ask_at_once(void **state)
{
    struct rig *g = *state;
    const struct keeper_link_options opt = {.record_fd = g->files.record_fd};
    struct volt_error err = {""};
    struct keeper_links *links = NULL;
    pthread_t thread[ASKERS];
    pthread_barrier_t begin;
    static struct asking asking[ASKERS];

    assert_int_equal(keeper_links_open(g->files.dir, &opt, &err, &links), 0);
    assert_int_equal(
        keeper_links_start(links, g->rt, &(struct keeper_callbacks){NULL, NULL, NULL}),
        0);
    assert_int_equal(pthread_barrier_init(&begin, NULL, ASKERS), 0);
    for (int i = 0; i < ASKERS; i++) {
        asking[i] = (struct asking){.links = links, .begin = &begin};
        assert_int_equal(pthread_create(&thread[i], NULL, ask_for_each, &asking[i]), 0);
    }
    for (int i = 0; i < ASKERS; i++)
        assert_int_equal(pthread_join(thread[i], NULL), 0);
    (void)pthread_barrier_destroy(&begin);
    for (int i = 0; i < USERS; i++) {
        assert_non_null(asking[0].found[i]);
        for (int k = 1; k < ASKERS; k++)
            assert_ptr_equal(asking[k].found[i], asking[0].found[i]);
    }
    assert_int_equal(volt_runtime_shutdown(g->rt, UINT64_MAX), 0);
    keeper_links_free(links, true);
}

/* A call that no link can carry is answered, and the right to run goes with it. */
static void test_a_call_without_a_link(void **state)
{
    struct keeper_call call;
    const struct job_key key = {1, JOB_NO_INDEX, 1};
    int ends[2];
    char byte;

    (void)state;
    assert_int_equal(pipe(ends), 0);
    struct keeper_start_args args = {.record_fd = ends[1],
                                     .launch_fd = -1,
                                     .stdin_fd = -1,
                                     .stdout_fd = -1,
                                     .stderr_fd = -1,
                                     .script_fd = -1};
    keeper_call_init_start(&call, NULL, &key, &args);
    assert_int_equal(read(ends[0], &byte, 1), 0); /* closed */
    assert_int_equal(args.record_fd, -1);
    keeper_call_send(&call);
    assert_false(keeper_call_withdraw(&call));
    assert_int_equal(keeper_call_status(&call), -ENOTCONN);
    keeper_call_fini(&call);
    close(ends[0]);
    keeper_call_init_signal(&call, NULL, &key, SIGTERM, KEEPER_SCOPE_TREE);
    keeper_call_send(&call);
    assert_int_equal(keeper_call_status(&call), -ENOTCONN);
    keeper_call_fini(&call);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_connects_for_a_call_and_leaves_again, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_connects_because_it_is_wanted, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_tries_as_long_as_jobs_wait, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_link_that_rests_forgets_failures, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_a_link_that_has_left_forgets_failures, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_what_cannot_be_told_is_tried_again, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_stays_while_it_is_asked, setup, teardown),
        cmocka_unit_test_setup_teardown(test_waits_for_a_keeper, setup, teardown),
        cmocka_unit_test_setup_teardown(test_rests_when_nobody_waits_any_more, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_one_for_each_user, setup, teardown),
        cmocka_unit_test_setup_teardown(test_one_for_all_that_ask_at_once, setup,
                                        teardown),
        cmocka_unit_test(test_a_call_without_a_link),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
