/* What the methods of a voltd answer whose store is full: what nobody needs in order to end
 * something is refused as submissions are, and what ends, releases or takes back is taken,
 * and answered when there is room. */
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include <sqlite3.h>
#include <unistd.h>

#include "daemon/core/parts.h"
#include "daemon/store/commit_log.h"
#include "tests/support/failing_vfs.h"
#include "tests/support/whole.h"

#define QUEUES(m) "org.voltd.queues." m

static int setup(void **state)
{
    struct config config;

    (void)state;
    whole_defaults(&config);
    failing_vfs_put();
    return whole_start_with(&config, NULL);
}

/* What runs would outlive the test. */
static int teardown(void **state)
{
    (void)call(JOBS("Cancel"), "{'filter':{}}");
    (void)wait_for("'3','4','5'");
    const int r = whole_teardown(state);

    failing_vfs_take();
    return r;
}

static void await_state(const char *id, const char *name)
{
    char parameters[40], shows[40];

    (void)snprintf(parameters, sizeof(parameters), "{'id':'%s'}", id);
    (void)snprintf(shows, sizeof(shows), "\"state\":\"%s\"", name);
    while (!strstr(call(JOBS("Get"), parameters), shows))
        (void)poll(NULL, 0, 1);
}

/* Job 1 waits, 2 is held, 3 runs, 4 is paused, 5 runs. */
static void begin(void)
{
    static const char runs[] = "{'spec':{'argv':['/bin/sleep','1000']}}";

    (void)call(JOBS("Submit"), "{'spec':{'kind':'noop','delay_usec':3600000000}}");
    (void)call(JOBS("Submit"), "{'spec':{'kind':'noop','hold':true}}");
    (void)call(QUEUES("Set"), "{'name':'default','slots':8}");
    for (int i = 0; i < 3; i++)
        (void)call(JOBS("Submit"), runs);
    await_state("3", "running");
    await_state("4", "running");
    await_state("5", "running");
    (void)call(JOBS("Pause"), "{'ids':['4']}");
    (void)call(LOCKS("Resize"), "{'name':'licence','capacity':3}");
    (void)call(QUEUES("Create"), "{'name':'night'}");
}

/* The answer waits for the store: another connection is used from now on. */
static int ask_apart(const char *method, const char *parameters)
{
    ask(method, parameters, false);
    const int client = whole.client;
    whole.client = -1;
    whole_connect();
    return client;
}

static void answer_of(int client)
{
    (void)close(whole.client);
    whole.client = client;
    (void)answer();
}

/* The store is full as long as it cannot write that job 2 is released, whose answer is
 * waited for on the connection that is returned. */
static int fill(void)
{
    struct store_health h = {.full = false};

    failing_vfs_set(SQLITE_FULL, 0, 0);
    const int client = ask_apart(JOBS("Release"), "{'ids':['2']}");
    while (!h.full)
        store_health(parts_of(whole.core)->store, &h);
    return client;
}

struct row {
    const char *method, *parameters;
};

static const struct row refused[] = {
    {JOBS("Submit"), "{'spec':{'kind':'noop'}}"},
    {JOBS("Hold"), "{'ids':['1']}"},
    {JOBS("Hold"), "{'filter':{'states':['queued']}}"},
    {JOBS("Pause"), "{'ids':['3']}"},
    {JOBS("Pause"), "{'filter':{}}"},
    {JOBS("Edit"), "{'ids':['1'],'changes':{'priority':-1}}"},
    {JOBS("Edit"), "{'ids':['1'],'first':true}"},
    {JOBS("Edit"), "{'filter':{},'changes':{'priority':-1}}"},
    {QUEUES("Set"), "{'name':'default','slots':7}"},
    {QUEUES("Create"), "{'name':'day'}"},
    {QUEUES("Pause"), "{'name':'default'}"},
    {QUEUES("Drain"), "{'name':'default'}"},
    {LOCKS("Resize"), "{'name':'seats','capacity':2}"},
};

static const struct taken {
    const char *method, *parameters;
    const char *then, *of, *shows; /* what tells that it is done */
} taken[] = {
    {JOBS("Resume"), "{'ids':['4']}", JOBS("Get"), "{'id':'4'}", "\"state\":\"running\""},
    {JOBS("Cancel"), "{'ids':['3']}", JOBS("Get"), "{'id':'3'}",
     "\"state\":\"stopping\""},
    {JOBS("Cancel"), "{'filter':{'ids':['5']}}", JOBS("Get"), "{'id':'5'}",
     "\"state\":\"stopping\""},
    {QUEUES("Resume"), "{'name':'default'}", QUEUES("List"), "{}", "\"paused\":false"},
    {QUEUES("Reset"), "{'name':'default'}", QUEUES("List"), "{}", "\"overridden\":{}"},
    {LOCKS("Reset"), "{'name':'licence'}", LOCKS("List"), "{}", "\"locks\":[]"},
};
#define TAKEN (sizeof(taken) / sizeof(taken[0]))

static void what_ends_nothing_is_refused(void **state)
{
    (void)state;
    begin();
    const int client = fill();
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
        ask(refused[i].method, refused[i].parameters, false);
        const char *text = hear();

        if (!strstr(text, "the disk of the store is full; the log of voltd says where") ||
            (strncmp(refused[i].method, JOBS(""), strlen(JOBS(""))) == 0 &&
             !strstr(text, "StoreUnavailable")))
            fail_msg("%s(%s): %s", refused[i].method, refused[i].parameters, text);
    }
    failing_vfs_set(0, 0, 0);
    answer_of(client);
    assert_has(call(JOBS("Get"), "{'id':'1'}"), "\"priority\":0");
    assert_has(call(JOBS("Get"), "{'id':'3'}"), "\"state\":\"running\"");
}

static void what_ends_or_takes_back_is_taken(void **state)
{
    int clients[TAKEN];

    (void)state;
    begin();
    (void)call(QUEUES("Pause"), "{'name':'default'}");
    const int client = fill();
    for (size_t i = 0; i < TAKEN; i++) {
        clients[i] = ask_apart(taken[i].method, taken[i].parameters);
        while (!strstr(call(taken[i].then, taken[i].of), taken[i].shows))
            (void)poll(NULL, 0, 1);
    }
    failing_vfs_set(0, 0, 0);
    for (size_t i = 0; i < TAKEN; i++)
        answer_of(clients[i]);
    answer_of(client);
    assert_has(wait_for("'3'"), "\"result\":\"cancelled\"");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_ends_nothing_is_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(what_ends_or_takes_back_is_taken, setup,
                                        teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
