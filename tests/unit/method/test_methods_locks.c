/* Acquire, over a connection: a lock or permits for this process, for as long as it has the
 * descriptor that came with the reply. */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "tests/support/whole.h"

/* Those that wait hear so each millisecond. */
static int setup(void **state)
{
    struct config config;

    (void)state;
    whole_defaults(&config);
    config.heartbeat_usec = 1000;
    return whole_start(&config);
}

/* The next reply is in whole.buf then, if only in part. The descriptor that came with it;
 * -1: none has come. */
static int descriptor_of_reply(void)
{
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))];
    struct iovec iov = {whole.buf + whole.n, sizeof(whole.buf) - whole.n};
    struct msghdr msg = {.msg_iov = &iov,
                         .msg_iovlen = 1,
                         .msg_control = control,
                         .msg_controllen = sizeof(control)};
    int fd = -1;

    assert_int_equal(whole.n, 0);
    ssize_t n = recvmsg(whole.client, &msg, MSG_CMSG_CLOEXEC);
    assert_true(n > 0);
    whole.n = (size_t)n;
    struct cmsghdr *h = CMSG_FIRSTHDR(&msg);
    if (h)
        memcpy(&fd, CMSG_DATA(h), sizeof(fd));
    return fd;
}

static unsigned long lease_of(const char *reply)
{
    const char *at = strstr(reply, "\"lease\":");

    assert_non_null(at);
    return strtoul(at + strlen("\"lease\":"), NULL, 10);
}

/* Of one that waits, when it has its claim. */
static unsigned long last_lease(void)
{
    const char *reply;

    do {
        reply = hear();
        assert_non_null(reply);
    } while (strstr(reply, "continues"));
    return lease_of(reply);
}

/* Its descriptor; *ret_lease: its number. */
static int acquire(const char *parameters, unsigned long *ret_lease)
{
    ask(LOCKS("Acquire"), parameters, false);
    int fd = descriptor_of_reply();
    *ret_lease = lease_of(answer());
    assert_true(*ret_lease > 0 && fd >= 0);
    return fd;
}

static void is_busy(const char *parameters, bool more, const char *reason)
{
    const char *reply;

    ask(LOCKS("Acquire"), parameters, more);
    do
        reply = hear();
    while (reply && strstr(reply, "continues"));
    assert_non_null(reply);
    assert_has(reply, "'org.voltd.locks.Busy'");
    assert_has(reply, reason);
}

static void a_lock_for_as_long_as_its_descriptor_is_open(void **state)
{
    unsigned long lease, waits, again;
    char listed[60];

    (void)state;
    int fd = acquire("{'name':'db','command':'make'}", &lease);
    (void)snprintf(listed, sizeof(listed), "'lease':%lu,'mode':'exclusive'", lease);
    assert_has(call(LOCKS("List"), "{}"), listed);
    assert_has(call(LOCKS("List"), "{}"), "'command':'make'");
    assert_has(call(LOCKS("List"), "{}"), "'kind':'lock','name':'db','used':1");
    is_busy("{'name':'db','mode':'shared'}", false, "'name':'db','reason':'lock db: held by");
    is_busy("{'name':'db','timeout_usec':0}", true, "'name':'db'");
    is_busy("{'name':'db','timeout_usec':5000}", true, "'name':'db'");

    ask(LOCKS("Acquire"), "{'name':'db','mode':'shared'}", true);
    int place = descriptor_of_reply();
    waits = lease_of(answer());
    assert_true(waits > lease);
    for (int i = 0; i < 3; i++) /* no descriptor with these */
        assert_int_equal(lease_of(answer()), waits);
    int waiting = whole.client;
    whole.client = -1;
    whole_connect();
    (void)snprintf(listed, sizeof(listed), "'leases_waiting':[{'command':'','lease':%lu",
                   waits);
    assert_has(call(LOCKS("List"), "{}"), listed);
    assert_has(call(LOCKS("List"), "{}"), "{'exclusive':true,'holders':[{");
    assert_has(call(LOCKS("List"), "{}"), "'name':'db','used':1,'waiting':1");
    (void)close(whole.client);
    whole.client = waiting;
    (void)close(fd);
    assert_int_equal(last_lease(), waits);
    (void)snprintf(listed, sizeof(listed), "'lease':%lu,'mode':'shared'", waits);
    assert_has(call(LOCKS("List"), "{}"), listed);
    int beside = acquire("{'name':'db','mode':'shared'}", &again);
    assert_true(again > waits);
    (void)close(beside);
    (void)close(place);
}

/* As soon as voltd knows that the call has gone which waited there. */
static void a_call_comes_back_to_its_place(void **state)
{
    unsigned long lease, waits, got;
    char again[80];

    (void)state;
    int fd = acquire("{'name':'db'}", &lease);
    ask(LOCKS("Acquire"), "{'name':'db'}", true);
    int place = descriptor_of_reply();
    assert_true(place >= 0);
    waits = lease_of(answer());
    (void)snprintf(again, sizeof(again), "{'name':'db','lease':%lu}", waits);
    do {
        whole_connect();
        ask(LOCKS("Acquire"), again, true);
        int another = descriptor_of_reply();
        got = lease_of(answer());
        assert_int_equal(another >= 0, got != waits);
        if (another >= 0)
            (void)close(another);
    } while (got != waits);
    (void)close(fd);
    assert_int_equal(last_lease(), waits);
    whole_connect();
    ask(LOCKS("Acquire"), again, true); /* it has it, and its descriptor */
    assert_int_equal(descriptor_of_reply(), -1);
    assert_int_equal(lease_of(answer()), waits);
    is_busy("{'name':'db'}", false, "held by");
    (void)close(place);
    ask(LOCKS("Acquire"), "{'name':'db'}", true);
    assert_true(last_lease() > waits);
}

static void permits_of_a_semaphore(void **state)
{
    unsigned long lease, other;

    (void)state;
    int fd = acquire("{'name':'s','mode':'permits','permits':2,'capacity':3}", &lease);
    ask(LOCKS("Acquire"), "{'name':'s','mode':'permits','capacity':4}", false);
    const char *reply = hear();
    assert_has(reply, "'org.voltd.locks.Refused'");
    assert_has(reply, "'reason'");
    is_busy("{'name':'s','mode':'permits','permits':2}", false, "semaphore s: 2 of 3 in use");
    int more = acquire("{'name':'s','mode':'permits'}", &other);
    assert_has(call(LOCKS("List"), "{}"), "'kind':'semaphore','name':'s','used':3");
    assert_has(call(LOCKS("List"), "{}"), "'capacity':3");
    is_busy("{'name':'s','mode':'permits'}", false, "semaphore s: 3 of 3 in use");
    (void)close(more);
    (void)close(fd);
}

static void what_is_no_call(void **state)
{
    static const struct {
        const char *parameters, *parameter;
    } cases[] = {
        {"{}", "name"},
        {"{'name':''}", "name"},
        {"{'name':'/all'}", "name"},
        {"{'name':'a','mode':'some'}", "mode"},
        {"{'name':'a','permits':2}", "permits"},
        {"{'name':'a','mode':'shared','capacity':2}", "capacity"},
        {"{'name':'a','mode':'permits','permits':0}", "permits"},
        {"{'name':'a','mode':'permits','capacity':0}", "capacity"},
        {"{'name':'a','timeout_usec':1}", "timeout_usec"},
        {"{'name':'a','lease':1}", "lease"},
        {"{'name':'a','inside_lease':0}", "inside_lease"},
        {"{'name':'a','inside_job':'x'}", "inside_job"},
    };
    char parameters[500];
    unsigned long lease;

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        refuses(LOCKS("Acquire"), cases[i].parameters, "InvalidParameter",
                cases[i].parameter);
    (void)snprintf(parameters, sizeof(parameters), "{'name':'a','command':'%0256d'}", 0);
    refuses(LOCKS("Acquire"), parameters, "InvalidParameter", "command");
    (void)snprintf(parameters, sizeof(parameters), "{'name':'%0129d'}", 0);
    refuses(LOCKS("Acquire"), parameters, "InvalidParameter", "name");
    (void)snprintf(parameters, sizeof(parameters), "{'name':'%0128d','command':'%0255d'}", 0, 0);
    (void)close(acquire(parameters, &lease));
}

/* --- given back by hand --------------------------------------------------------------------- */

/* The next connection is one of a process that has gone, which left it to this one. */
static void connect_as_one_that_has_gone(void)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    int status, fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    (void)snprintf(a.sun_path, sizeof(a.sun_path), "%s", whole.socket);
    assert_true(fd >= 0);
    pid_t pid = fork();
    if (pid == 0)
        _exit(connect(fd, (const struct sockaddr *)&a, sizeof(a)) < 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    (void)close(whole.client);
    whole.client = fd;
    whole.n = 0;
}

static int count_files(void)
{
    char path[sizeof(whole.base) + 16];
    int n = 0;

    (void)snprintf(path, sizeof(path), "%s/leases", whole.base);
    DIR *d = opendir(path);
    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d));)
        n += e->d_name[0] != '.';
    (void)closedir(d);
    return n;
}

static void what_has_been_left_has_the_lock(void **state)
{
    unsigned long lease;

    (void)state;
    connect_as_one_that_has_gone();
    const int fd = acquire("{'name':'left'}", &lease);
    is_busy("{'name':'left'}", false, " has ended, what it has left has it'");
    (void)close(fd);
}

/* Those of that name whose process has gone, however many there are, and are in front of
 * them; their descriptors are open. */
static void what_has_been_left_is_freed(void **state)
{
    enum { OURS = 40, LEFT = 70, ALL = OURS + LEFT + 1 };
    static const char db[] = "{'name':'db','mode':'shared'}";
    unsigned long lease;
    int fds[ALL];

    (void)state;
    for (int i = 0; i < OURS; i++)
        fds[i] = acquire(db, &lease);
    connect_as_one_that_has_gone();
    for (int i = OURS; i < OURS + LEFT; i++)
        fds[i] = acquire(db, &lease);
    fds[OURS + LEFT] = acquire("{'name':'other'}", &lease);
    ask(LOCKS("Acquire"), "{'name':'other'}", true);
    int waits = descriptor_of_reply();
    whole_connect();
    assert_int_equal(count_files(), ALL + 1);
    assert_has(call(LOCKS("List"), "{}"), "'name':'db','used':110,'waiting':0");
    assert_has(call(LOCKS("Free"), "{'name':'db'}"), "'freed':70");
    assert_has(call(LOCKS("List"), "{}"), "'name':'db','used':40,'waiting':0");
    assert_int_equal(count_files(), OURS + 2);
    refuses(LOCKS("Free"), "{'name':'db'}", "Refused", "");
    is_busy("{'name':'db'}", false, "held by");
    is_busy("{'name':'other'}", false, "held by");
    assert_has(call(LOCKS("Free"), "{'name':'other'}"), "'freed':1");
    (void)close(waits);
    for (int i = 0; i < ALL; i++)
        (void)close(fds[i]);
}

/* More at once than are looked at in one go. */
static void many_that_end_at_once(void **state)
{
    enum { MANY = 200 };
    unsigned long lease;
    int fds[MANY];

    (void)state;
    for (int i = 0; i < MANY; i++)
        fds[i] = acquire("{'name':'db','mode':'shared'}", &lease);
    for (int i = 0; i < MANY; i++)
        (void)close(fds[i]);
    ask(LOCKS("Acquire"), "{'name':'db'}", true);
    assert_true(last_lease() > lease);
}

/* What cannot be removed is not freed by hand, but looked at: it has no file. */
static void what_has_lost_its_file_ends(void **state)
{
    char path[sizeof(whole.base) + 40];
    unsigned long lease;

    (void)state;
    connect_as_one_that_has_gone();
    int fd = acquire("{'name':'db'}", &lease);
    whole_connect();
    (void)snprintf(path, sizeof(path), "%s/leases/%lu", whole.base, lease);
    assert_int_equal(unlink(path), 0);
    refuses(LOCKS("Free"), "{'name':'db'}", "Refused", "");
    ask(LOCKS("Acquire"), "{'name':'db'}", true);
    assert_true(last_lease() > lease);
    (void)close(fd);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, whole_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(a_lock_for_as_long_as_its_descriptor_is_open),
        T(a_call_comes_back_to_its_place),
        T(permits_of_a_semaphore),
        T(what_is_no_call),
        T(what_has_been_left_has_the_lock),
        T(what_has_been_left_is_freed),
        T(many_that_end_at_once),
        T(what_has_lost_its_file_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
