/* What the methods refuse of calls that are well formed, and why: keys, limits, dependencies,
 * locks, output that is not there, descriptors that are no files, jobs that do not take it; and
 * a voltd that ends. */
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "tests/support/whole.h"

static int setup(void **state)
{
    struct config config;

    (void)state;
    whole_defaults(&config);
    config.max_jobs_per_user = 20;
    config.max_array = 10;
    config.max_stdin = 100;
    config.max_stream_memory_per_user = 100000;
    return whole_start(&config);
}

/* The error's text has this part. */
static void refuses_with(const char *method, const char *parameters, const char *error,
                         const char *why)
{
    const char *reply;

    ask(method, parameters, false);
    reply = hear();
    assert_non_null(reply);
    assert_has(reply, error);
    assert_has(reply, why);
}

static void submissions(void **state)
{
    (void)state;
    (void)call(JOBS("Submit"), "{'spec':{'kind':'noop','hold':true,'key':'k'}}");
    assert_has(call(JOBS("Submit"), "{'spec':{'kind':'noop','hold':true,'key':'k'}}"),
               "'created':false,'durable':false,'id':'1'");
    refuses_with(JOBS("Submit"), "{'spec':{'kind':'noop','key':'k'}}", "KeyTaken",
                 "key \\\"k\\\" belongs to");
    refuses_with(JOBS("Submit"), "{'spec':{'kind':'noop','array':{'first':1,'last':11}}}",
                 "InvalidParameter", "must have at most 10 elements");
    refuses_with(JOBS("Submit"), "{'spec':{'kind':'noop','after':[{'job':'77'}]}}",
                 "Refused", "77");
    refuses_with(
        JOBS("Submit"),
        "{'spec':{'kind':'noop','claims':[{'name':'a','mode':'permits','permits':5,"
        "'capacity':2}]}}",
        "Refused", "semaphore a has 2 permits");
    for (int i = 0; i < 19; i++)
        (void)call(JOBS("Submit"), "{'spec':{'kind':'noop','hold':true}}");
    refuses_with(JOBS("Submit"), "{'spec':{'kind':'noop'}}", "TooManyJobs",
                 "'limit':20,'reason':'more than 20 jobs that have not ended "
                 "(MaxJobsPerUser)'");
    assert_has(call(JOBS("SubmitBatch"), "{'specs':[{'kind':'noop'}]}"),
               "'parameter':'','position':0,'reason':'");
}

static void jobs_that_do_not_take_it(void **state)
{
    (void)state;
    (void)call(JOBS("Submit"),
               "{'spec':{'argv':['/bin/sleep','1000'],'array':{'first':1,'last':2}}}");
    (void)call(JOBS("Submit"), "{'spec':{'kind':'noop'}}");
    while (!strstr(call(JOBS("Get"), "{'id':'1_1'}"), "\"state\":\"running\""))
        (void)poll(NULL, 0, 1);
    refuses_with(JOBS("Signal"), "{'id':'1','signal':'SIGTERM'}", "Refused",
                 "it is an array");
    refuses_with(JOBS("Hold"), "{'ids':['1_1']}", "Refused",
                 "an array is held as a whole");
    refuses_with(JOBS("Release"), "{'ids':['1_1']}", "Refused",
                 "an array is released as a whole");
    refuses_with(JOBS("Release"), "{'ids':['1']}", "Refused", "job 1 is not held");
    refuses_with(JOBS("Forget"), "{'filter':{'ids':['1']}}", "Refused",
                 "job 1 has not ended");
    refuses_with(JOBS("Forget"), "{'filter':{'ids':['77']}}", "NoSuchJob", "77");
    refuses_with(JOBS("Cancel"), "{'ids':['77']}", "NoSuchJob", "77");
    refuses_with(JOBS("Cancel"), "{}", "InvalidParameter", "ids");
    assert_has(call(JOBS("Signal"), "{'id':'1_1','signal':'SIGKILL','whom':'main'}"),
               "{}");
    assert_has(wait_for("'1_1'"), "'exit_code':137");
    assert_has(call(JOBS("Cancel"), "{'filter':{'ids':['1']}}"), "'count':1");
    (void)wait_for("'1','2'");
    refuses_with(JOBS("Forget"), "{'filter':{'ids':['1_1']}}", "Refused",
                 "job 1_1 is an element");
    assert_has(call(JOBS("Forget"), "{'filter':{'ids':['1','2']}}"), "'count':2");
    assert_has(call(JOBS("List"), "{}"), "'jobs':[]");
}

static void one_that_runs_is_not_held(void **state)
{
    (void)state;
    (void)call(JOBS("Submit"), "{'spec':{'kind':'sleep','duration_usec':3600000000}}");
    while (!strstr(call(JOBS("Get"), "{'id':'1'}"), "\"state\":\"running\""))
        (void)poll(NULL, 0, 1);
    refuses_with(JOBS("Hold"), "{'ids':['1']}", "Refused", "job 1 has started");
    (void)call(JOBS("Submit"), "{'spec':{'kind':'noop','hold':true}}");
    assert_has(call(JOBS("Hold"), "{'filter':{'states':['queued']}}"), "'count':");
    assert_has(call(JOBS("Release"), "{'filter':{}}"), "'count':1");
    assert_has(wait_for("'2'"), "'exit_code':0");
}

static void output_that_is_not_there(void **state)
{
    char path[200];

    (void)state;
    (void)call(JOBS("Submit"),
               "{'spec':{'argv':['/bin/sh','-c','echo a'],'output':'null'}}");
    (void)wait_for("'1'");
    refuses_with(LOGS("Read"), "{'id':'1'}", "NoOutput", "its output goes elsewhere");
    (void)snprintf(path, sizeof(path), "%s/out", whole.base);
    char spec[400];
    (void)snprintf(
        spec, sizeof(spec),
        "{'spec':{'argv':['/bin/sh','-c','echo a'],'output':'path','output_path':"
        "'%s'}}",
        path);
    (void)call(JOBS("Submit"), spec);
    (void)wait_for("'2'");
    refuses_with(LOGS("Open"), "{'id':'2'}", "NoOutput", "its output goes elsewhere");
    assert_int_equal(access(path, F_OK), 0);
    (void)call(JOBS("Submit"), "{'spec':{'argv':['/bin/sh','-c','echo a']}}");
    (void)wait_for("'3'");
    (void)snprintf(path, sizeof(path), "%s/output", whole.base);
    assert_int_equal(scratch_remove(path), 0);
    refuses_with(LOGS("Read"), "{'id':'3'}", "OutputGone", "/output/");
    refuses_with(LOGS("Open"), "{'id':'3'}", "OutputGone", "/output/");
}

static void locks_and_their_sizes(void **state)
{
    (void)state;
    assert_has(call(LOCKS("Resize"), "{'name':'s','capacity':2}"), "'made':true");
    assert_has(call(LOCKS("Resize"), "{'name':'s','capacity':3}"), "{}");
    (void)call(JOBS("Submit"),
               "{'spec':{'kind':'sleep','duration_usec':3600000000,'claims':[{"
               "'name':'s','mode':'permits','permits':3},{'name':'l'}]}}");
    (void)call(JOBS("Submit"), "{'spec':{'kind':'noop','claims':[{'name':'s','mode':"
                               "'permits'}]}}");
    const char *locks = call(LOCKS("List"), "{}");
    assert_has(locks, "'name':'s'");
    assert_has(locks, "'name':'l'");
    assert_has(call(LOCKS("List"), "{'cursor':'m'}"), "'name':'s'");
    refuses_with(LOCKS("Resize"), "{'name':'l','capacity':2}", "Refused",
                 "it is in use as a lock or a rate");
    refuses_with(LOCKS("Reset"), "{'name':'s'}", "Refused", "jobs claim it");
    refuses_with(LOCKS("Reset"), "{'name':'none'}", "Refused", "no size was set of it");
    refuses_with(LOCKS("Resize"), "{'name':'/s','capacity':2}", "InvalidParameter",
                 "must not begin with a slash");
    refuses_with(LOCKS("Acquire"), "{'name':'a\\nb'}", "InvalidParameter",
                 "must not have control characters");
    refuses_with(LOCKS("Resize"), "{'name':'s','capacity':0}", "InvalidParameter",
                 "capacity");
    refuses_with(LOCKS("List"), "{'cursor':''}", "InvalidParameter", "cursor");
    (void)call(JOBS("Cancel"), "{'filter':{}}");
    (void)wait_for("'1','2'");
    while (strstr(call(LOCKS("List"), "{}"), "\"holders\":[{"))
        (void)poll(NULL, 0, 1);
    assert_has(call(LOCKS("Reset"), "{'name':'s'}"), "{}");
    assert_has(call(LOCKS("List"), "{}"), "'locks':[]");
}

static void claims_that_cannot_be_had(void **state)
{
    static const struct {
        const char *claims, *why;
    } cases[] = {
        {"{'name':'l','mode':'permits'}", "l is in use as a lock"},
        {"{'name':'s'}", "s is in use as a semaphore"},
        {"{'name':'s','mode':'permits','capacity':5}",
         "semaphore s is in use with 2 permits, not 5"},
        {"{'name':'s','mode':'permits'},{'name':'s','mode':'permits','capacity':5}",
         "semaphore s is in use with 2 permits, not 5"},
        {"{'name':'n','mode':'permits'},{'name':'n','mode':'permits','capacity':3},"
         "{'name':'n','mode':'permits','capacity':5}",
         "semaphore n is in use with 3 permits, not 5"},
        {"{'name':'s','mode':'permits','permits':2},{'name':'s','mode':'permits'}",
         "semaphore s has 2 permits, and 3 are claimed"},
        {"{'name':'r','mode':'rate','capacity':7,'interval_usec':3600000000}",
         "rate r is in use with 1/h and a burst of 1"},
        {"{'name':'r','mode':'rate','permits':2,'interval_usec':3600000000}",
         "rate r has 1 tokens, and 2 are claimed"},
        {"{'name':'d'}", "d is an earlier semaphore, which no job claims now"},
    };
    char spec[300];

    (void)state;
    (void)call(
        JOBS("Submit"),
        "{'spec':{'kind':'sleep','duration_usec':3600000000,'claims':[{'name':'l'},{"
        "'name':'s','mode':'permits','capacity':2},{'name':'r','mode':'rate',"
        "'interval_usec':3600000000}]}}");
    (void)call(LOCKS("Resize"), "{'name':'d','capacity':2}");
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        (void)snprintf(spec, sizeof(spec), "{'spec':{'kind':'noop','claims':[%s]}}",
                       cases[i].claims);
        refuses_with(JOBS("Submit"), spec, "org.voltd.jobs.Refused", cases[i].why);
    }
    assert_has(call(JOBS("List"), "{'fields':['id']}"), "'jobs':[{'id':'1'}]");
    assert_has(call(JOBS("Cancel"), "{'ids':['1']}"), "'count':1");
    (void)wait_for("'1'");
}

/* Of several claims on a new name the first number that is named counts for all. */
static void a_number_counts_for_the_claims_before_it(void **state)
{
    static const char *const cases[] = {
        "{'name':'s','mode':'permits'},{'name':'s','mode':'permits','capacity':3}",
        "{'name':'s','mode':'permits','capacity':3},{'name':'s','mode':'permits'}",
        "{'name':'r','mode':'rate','interval_usec':1},{'name':'r','mode':'rate',"
        "'interval_usec':1,'capacity':3}",
    };
    char spec[300];

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        (void)snprintf(spec, sizeof(spec), "{'spec':{'kind':'noop','claims':[%s]}}",
                       cases[i]);
        assert_has(call(JOBS("Submit"), spec), "'created':true");
        (void)snprintf(spec, sizeof(spec), "'%zu'", i + 1);
        assert_has(wait_for(spec), "'exit_code':0");
    }
}

/* --- standard input by descriptor ----------------------------------------------------------- */

static void sends(int fd, const char *spec, const char *has)
{
    char parameters[300];
    const char *reply;

    (void)snprintf(parameters, sizeof(parameters), "{'spec':%s,'stdin_fd':0}", spec);
    ask_with_fd(JOBS("Submit"), parameters, fd);
    (void)close(fd);
    reply = hear();
    assert_non_null(reply);
    assert_has(reply, has);
}

static int file_with(const char *bytes, int flags)
{
    char path[100];

    (void)snprintf(path, sizeof(path), "%s/input", whole.base);
    int fd = open(path, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);
    assert_int_equal(write(fd, bytes, strlen(bytes)), strlen(bytes));
    (void)close(fd);
    fd = open(path, flags | O_CLOEXEC);
    assert_true(fd >= 0);
    return fd;
}

static void input_that_is_sent_along(void **state)
{
    static const char cat[] = "{'argv':['/bin/cat']}";
    char long_one[200];
    int ends[2];

    (void)state;
    sends(file_with("sent\n", O_RDONLY), cat, "'id':'1'");
    assert_has(wait_for("'1'"), "'exit_code':0");
    assert_has(call(LOGS("Read"), "{'id':'1'}"), "'data':'c2VudAo='");
    sends(file_with("", O_WRONLY), cat, "is not open for reading");
    sends(open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC), cat, "is a directory");
    sends(open("/dev/null", O_RDONLY | O_CLOEXEC), cat, "is a device or a terminal");
    sends(dup(whole.client), cat, "is a socket");
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    sends(ends[0], cat, "is a pipe");
    (void)close(ends[1]);
    memset(long_one, 'x', sizeof(long_one) - 1);
    long_one[sizeof(long_one) - 1] = '\0';
    sends(file_with(long_one, O_RDONLY), cat, "MaxStdin=");
    sends(file_with("x", O_RDONLY), "{'argv':['/bin/cat'],'stdin':'/dev/null'}",
          "not with stdin or stdin_data");
    sends(file_with("x", O_RDONLY), "{'kind':'noop'}", "InvalidParameter");
    refuses_with(JOBS("Submit"), "{'spec':{'argv':['/bin/cat']},'stdin_fd':0}",
                 "InvalidParameter", "none came with the call");
    /* One that no call is for is closed. */
    ask_with_fd(JOBS("Get"), "{'id':'1'}", file_with("x", O_RDONLY));
    assert_has(answer(), "'id':'1'");
    ask_with_fd(JOBS("Nothing"), "{}", file_with("x", O_RDONLY));
    assert_has(hear(), "MethodNotFound");
    sends(file_with("again\n", O_RDONLY), cat, "'id':'2'");
    assert_has(wait_for("'2'"), "'exit_code':0");
}

/* It is of the call that it came with, and not of one that waits in front of that. */
static void input_of_a_call_that_waits(void **state)
{
    int fd = file_with("sent\n", O_RDONLY);

    (void)state;
    (void)call(JOBS("Submit"), "{'spec':{'kind':'sleep','duration_usec':50000}}");
    ask(JOBS("Wait"), "{'ids':['1']}", true);
    ask(JOBS("Get"), "{'id':'1'}", false);
    ask_with_fd(JOBS("Submit"), "{'spec':{'argv':['/bin/cat']},'stdin_fd':0}", fd);
    (void)close(fd);
    while (strstr(answer(), "\"left\":1"))
        ;
    assert_has(answer(), "'id':'1'");
    assert_has(answer(), "'id':'2'");
    assert_has(wait_for("'2'"), "'exit_code':0");
    assert_has(call(LOGS("Read"), "{'id':'2'}"), "'data':'c2VudAo='");
}

/* --- limits of streams, and the end -------------------------------------------------------- */

static void streams_that_keep_too_much(void **state)
{
    char parameters[20000] = "{'filter':{'ids':['1'";

    (void)state;
    (void)call(JOBS("Submit"), "{'spec':{'kind':'noop','hold':true}}");
    for (int i = 0; i < 2500; i++)
        (void)strcat(parameters, ",'1_1'");
    (void)strcat(parameters, "]}}");
    whole.config.max_stream_memory_per_user = 100;
    server_reload(whole.server, &whole.config);
    ask(JOBS("Wait"), "{'ids':['1']}", true);
    assert_has(hear(), "'key':'MaxStreamMemoryPerUser'");
    ask(JOBS("Wait"), "{'filter':{}}", true);
    assert_has(hear(), "'key':'MaxStreamMemoryPerUser'");
    ask(JOBS("Watch"), parameters, true);
    assert_has(hear(), "'key':'MaxStreamMemoryPerUser'");
    ask(LOGS("Read"), "{'id':'1'}", true);
    assert_has(hear(), "'key':'MaxStreamMemoryPerUser'");
    assert_has(call(JOBS("Get"), "{'id':'1'}"), "'id':'1'");
}

static void messages_beyond_the_limits(void **state)
{
    (void)state;
    whole.config.max_depth = 6;
    server_reload(whole.server, &whole.config);
    assert_has(call(JOBS("List"), "{}"), "'jobs':[]"); /* takes it up */
    say("{\"method\":\"org.voltd.jobs.Get\",\"parameters\":{\"id\":[[[[[[[[1]]]]]]]]}}");
    assert_has(hear(), "nested too deeply");
    assert_null(hear());
    whole_connect();
    say("{\"method\":\"org.voltd.jobs.Get\",\"parameters\":7}");
    assert_null(hear());
    whole_connect();
    say("{\"method\":\"org.voltd.jobs.Submit\",\"oneway\":true,\"parameters\":{\"spec\":{"
        "\"kind\":\"noop\"}}}");
    while (!strstr(call(JOBS("List"), "{}"), "\"id\":\"1\""))
        (void)poll(NULL, 0, 1);
}

static void a_voltd_that_ends(void **state)
{
    const char *reply;

    (void)state;
    (void)call(JOBS("Submit"), "{'spec':{'kind':'sleep','duration_usec':3600000000}}");
    while (!strstr(call(JOBS("Get"), "{'id':'1'}"), "\"state\":\"running\""))
        (void)poll(NULL, 0, 1);
    life_close(whole.core);
    refuses_with(JOBS("Submit"), "{'spec':{'kind':'noop'}}", "ShuttingDown", "reason");
    refuses_with(JOBS("SubmitBatch"), "{'specs':[{'kind':'noop'},{'kind':'noop'}]}",
                 "ShuttingDown", "reason");
    refuses_with(
        JOBS("SubmitBatch"),
        "{'specs':[{'kind':'no'},{'kind':'noop'},{'kind':'noop'}],'atomic':false}",
        "ShuttingDown", "reason");
    refuses_with("org.voltd.locks.Acquire", "{'name':'db'}", "ShuttingDown", "reason");
    ask(CONTROL("Shutdown"), "{'wait':true,'cancel':true}", true);
    do {
        reply = hear();
        assert_non_null(reply);
    } while (strstr(reply, "continues"));
    assert_has(reply, "'left':0");
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, whole_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(submissions),
        T(jobs_that_do_not_take_it),
        T(one_that_runs_is_not_held),
        T(output_that_is_not_there),
        T(locks_and_their_sizes),
        T(claims_that_cannot_be_had),
        T(a_number_counts_for_the_claims_before_it),
        T(input_that_is_sent_along),
        T(input_of_a_call_that_waits),
        T(streams_that_keep_too_much),
        T(messages_beyond_the_limits),
        T(a_voltd_that_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
