/* Each allocation and each system call of a whole voltd fails once, while a client asks it
 * something: the client gets the answer, or an error that is true, or its connection ends.
 * Afterwards everything is as before: nothing acknowledged is lost, nothing is done twice, no
 * descriptor is left. The test's own thread is spared. */
#include "tests/support/call_hook.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "daemon/server/connection.h"
#include "tests/support/whole.h"

/* --- what is asked again and again ------------------------------------------------------ */

struct question {
    const char *method, *parameters;
    bool more;
    const char *has;   /* of the answer; of a stream: of one of its answers */
    const char *error; /* another one that is true; NULL: none */
};

static const struct question questions[] = {
    {JOBS("Get"), "{'id':'1','with_spec':true}", false, "'exit_status':3", NULL},
    {JOBS("Get"), "{'id':'99'}", false, "NoSuchJob", NULL},
    {JOBS("List"), "{'filter':{'ids':['1','2','3_1'],'labels':{'a':'b'}}}", false,
     "'id':'1'", NULL},
    {JOBS("List"),
     "{'filter':{'elements':true,'has_labels':['a'],'name_glob':'*','queue':'default','user':"
     "'0'}}",
     false, "'jobs':[", NULL},
    {JOBS("List"),
     "{'limit':1,'newest_first':true,'fields':['id'],'spec_fields':['argv']}", true,
     "'id':'4'", NULL},
    {JOBS("Wait"), "{'ids':['1']}", false, "'exit_code':3", NULL},
    {JOBS("Wait"), "{'ids':['1','1']}", true, "'exit_code':3", NULL},
    {JOBS("Wait"), "{'filter':{'name':'first'}}", true, "'exit_code':3", NULL},
    {JOBS("Wait"), "{'ids':['1'],'any':true}", true, "'exit_code':3", NULL},
    {JOBS("Wait"), "{'filter':{'states':['queued']}}", true, "'left':", NULL},
    {JOBS("Watch"), "{'filter':{'name':'first'}}", true, "'id':'1'", NULL},
    {JOBS("Watch"), "{'after':0}", true, "'event':'exited'", NULL},
    {JOBS("Why"), "{}", false, "'wait':'hold'", NULL},
    {JOBS("Why"), "{'id':'2'}", false, "'wait':'hold'", NULL},
    {JOBS("Signal"), "{'id':'4','signal':'SIGTERM'}", false, "not a process", NULL},
    {JOBS("Hold"), "{'ids':['1']}", false, "job 1 has ended", NULL},
    {JOBS("Release"), "{'ids':['4']}", false, "job 4 is not held", NULL},
    {JOBS("Cancel"), "{'ids':['1']}", false, "'count':0", NULL},
    {JOBS("Cancel"), "{'filter':{'name':'none'}}", false, "'count':0", NULL},
    {JOBS("Forget"), "{'filter':{'name':'none'}}", false, "'count':0", NULL},
    {LOGS("Read"), "{'id':'1'}", false, "'data':'b3V0Cg=='", "OutputUnreadable"},
    {LOGS("Read"), "{'id':'1','stream':'stderr'}", true, "'data':'ZXJyCg=='",
     "OutputUnreadable"},
    {LOGS("Open"), "{'id':'1'}", false, "'size_bytes':4", "OutputUnreadable"},
    {LOCKS("List"), "{}", false, "'name':'db'", NULL},
    {LOCKS("Free"), "{'name':'none'}", false, "Refused", NULL},
    {CONTROL("Stats"), "{}", false, "'workers':[{", NULL},
    {CONTROL("WatchStats"), "{}", true, "'workers':[{", NULL},
    {CONTROL("Tasks"), "{}", false, "'type':'connection'", NULL},
    {CONTROL("Config"), "{}", false, "'Queue.Slots':'2'", NULL},
    {CONTROL("Reload"), "{}", false, "'needs_restart':[", "ReloadFailed"},
    {SERVICE("GetInfo"), "{}", false, "org.voltd.jobs", NULL},
    {SERVICE("GetInterfaceDescription"), "{'interface':'org.voltd.logs'}", false,
     "interface org.voltd.logs", NULL},
};
#define QUESTIONS (sizeof(questions) / sizeof(questions[0]))

static bool has(const char *text, const char *part)
{
    char copy[200];
    size_t n = strlen(part);

    assert_true(n < sizeof(copy));
    for (size_t i = 0; i <= n; i++)
        copy[i] = part[i] == '\'' ? '"' : part[i];
    return strstr(text, copy) != NULL;
}

static unsigned descriptors(void)
{
    unsigned n = 0;

    for (int fd = 0; fd < 256; fd++)
        n += fcntl(fd, F_GETFD) >= 0;
    return n;
}

static unsigned usual; /* descriptors, with one connection */

/* Another connection, alone: what failed may be of the one before it, behind its answer. */
static void reconnect(void)
{
    whole_connect();
    (void)call(JOBS("Get"), "{'id':'1'}");
    while (descriptors() > usual)
        (void)poll(NULL, 0, 1);
}

/* One job that has ended, one that is held, an array that is, one that runs. No heartbeat
 * makes up for what is not noticed. */
static int setup(void **state)
{
    struct config config;

    (void)state;
    hook_spares = true;
    whole_defaults(&config);
    config.heartbeat_usec = UINT64_C(3600000000);
    int r = whole_start(&config);
    (void)call(JOBS("Submit"),
               "{'spec':{'argv':['/bin/sh','-c','echo out; echo err >&2; exit "
               "3'],'name':'first','labels':{'a':'b'},'output_split':true}}");
    (void)wait_for("'1'");
    (void)call(JOBS("Submit"), "{'spec':{'kind':'noop','hold':true}}");
    (void)call(JOBS("Submit"),
               "{'spec':{'kind':'noop','hold':true,'array':{'first':1,'last':3}}}");
    (void)call(JOBS("Submit"), "{'spec':{'kind':'sleep','duration_usec':3600000000,"
                               "'claims':[{'name':'db'}]}}");
    while (!has(call(JOBS("Get"), "{'id':'4'}"), "'state':'running'"))
        (void)poll(NULL, 0, 1);
    usual = descriptors();
    return r;
}

static int teardown(void **state)
{
    hook_arm(0, false);
    hook_arm_interrupts(0);
    return whole_teardown(state);
}

/* Asks, and hears until the answer has what it is to have. 1; 0: the connection has ended;
 * -1: there was an error that is true. Something else fails the test. */
static int put(const struct question *q, uint64_t n)
{
    const char *text;

    ask(q->method, q->parameters, q->more);
    for (;;) {
        if (!(text = hear()))
            return 0;
        if (has(text, q->has))
            return 1;
        if (q->error && has(text, q->error))
            return -1;
        if (!has(text, "'continues':true"))
            fail_msg("call %lu of %s(%s) fails: %s", (unsigned long)n, q->method,
                     q->parameters, text);
    }
}

/* Of one question each call fails in turn, of which there are more than `least`. */
static void sweep(const struct question *q, bool connects, uint64_t least)
{
    uint64_t calls = UINT64_MAX, n;

    for (n = 1; calls >= n - 1; n++) { /* the one before has failed */
        hook_arm(n, false);
        if (connects)
            whole_connect();
        (void)put(q, n);
        calls = hook_count();
        hook_arm(0, false);
        reconnect();
        if (put(q, 0) != 1)
            fail_msg("after call %lu of %s(%s)", (unsigned long)n, q->method,
                     q->parameters);
        if (q->more)
            reconnect();
    }
    assert_true(n - 2 > least);
}

static void whatever_fails_the_answer_is_true(void **state)
{
    (void)state;
    for (size_t i = 0; i < QUESTIONS; i++)
        sweep(&questions[i], false, 10);
}

static void nor_does_a_new_connection_depend_on_it(void **state)
{
    (void)state;
    sweep(&questions[0], true, 20);
}

static size_t connections(void)
{
    vlock_lock(&whole.server->lock);
    const size_t n = whole.server->count;
    vlock_unlock(&whole.server->lock);
    return n;
}

/* The client of a stream goes. Descriptors would not tell: what fails may be one of
 * voltd's end of its keeper, which makes another connection a moment later. */
static void that_it_goes_is_noticed(void **state)
{
    uint64_t calls = UINT64_MAX;

    (void)state;
    for (uint64_t n = 1; calls >= n - 1; n++) {
        ask(JOBS("Wait"), "{'ids':['4']}", true);
        assert_true(has(hear(), "'left':1"));
        hook_arm(n, false);
        (void)close(whole.client);
        whole.client = -1;
        while (connections() > 0)
            (void)poll(NULL, 0, 1);
        calls = hook_count();
        hook_arm(0, false);
        whole_connect();
        reconnect();
    }
}

/* What is interrupted is done again: the client does not see it. */
static void what_is_interrupted_is_done_again(void **state)
{
    (void)state;
    for (size_t i = 0; i < QUESTIONS; i++) {
        const struct question *q = &questions[i];
        uint64_t calls = UINT64_MAX;

        for (uint64_t n = 1; calls >= n - 1; n++) {
            hook_arm_interrupts(n);
            int r = put(q, n);
            calls = hook_count();
            hook_arm_interrupts(0);
            if (r != 1)
                fail_msg("interrupt %lu of %s", (unsigned long)n, q->method);
            if (q->more)
                reconnect();
        }
    }
}

/* --- what changes something --------------------------------------------------------------- */

/* The number behind this in the text. */
static unsigned long number(const char *text, const char *name)
{
    const char *at = strstr(text, name);

    assert_non_null(at);
    return strtoul(at + strlen(name), NULL, 10);
}

/* How often that line is in the file. */
static unsigned lines_of(const char *path, const char *line)
{
    FILE *f = fopen(path, "re");
    char text[200];
    unsigned n = 0;

    while (f && fgets(text, sizeof(text), f)) {
        text[strcspn(text, "\n")] = '\0';
        n += strcmp(text, line) == 0;
    }
    if (f)
        (void)fclose(f);
    return n;
}

/* What is answered is there, once: the same key is the same job, which has run once. */
static uint64_t submit_once(uint64_t n, bool until_end)
{
    char spec[400], path[100], key[40], id[40];
    const char *text;
    unsigned long first = 0;

    (void)snprintf(path, sizeof(path), "%s/ran", whole.base);
    (void)snprintf(key, sizeof(key), "%c%lu", until_end ? 'e' : 's', (unsigned long)n);
    (void)snprintf(
        spec, sizeof(spec),
        "{'spec':{'argv':['/bin/sh','-c','echo %s >>%s'],'key':'%s','env':{'A':"
        "'%s'}}}",
        key, path, key, key);
    hook_arm(n, false);
    ask(JOBS("Submit"), spec, false);
    if ((text = hear()) && !has(text, "'error'"))
        first = number(text, "\"id\":\"");
    else if (text && !has(text, "StoreUnavailable"))
        fail_msg("call %lu: %s", (unsigned long)n, text);
    if (first && until_end) {
        (void)snprintf(id, sizeof(id), "{'ids':['%lu']}", first);
        ask(JOBS("Wait"), id, true);
        while ((text = hear()) && has(text, "'continues':true"))
            ;
    }
    uint64_t calls = hook_count();
    hook_arm(0, false);
    reconnect();
    text = call(JOBS("Submit"), spec);
    unsigned long second = number(text, "\"id\":\"");
    if (first && (first != second || !has(text, "'created':false")))
        fail_msg("call %lu: job %lu is lost: %s", (unsigned long)n, first, text);
    (void)snprintf(id, sizeof(id), "'%lu'", second);
    text = wait_for(id);
    unsigned ran = lines_of(path, key);
    if (ran > 1 || (ran == 0) != !has(text, "'exit_code':0"))
        fail_msg("call %lu: it has run %u times: %s", (unsigned long)n, ran, text);
    return calls;
}

static void what_is_acknowledged_is_there_once(void **state)
{
    (void)state;
    for (uint64_t n = 1; submit_once(n, false) >= n; n++)
        ;
}

static void and_runs_once(void **state)
{
    (void)state;
    for (uint64_t n = 1; submit_once(n, true) >= n; n++)
        ;
}

/* Jobs that are held, of each of which a call makes something else. */
struct steering {
    const char *method, *parameters; /* with # for the id */
    const char *then;                /* what the job shows when that is done */
};

static const struct steering steerings[] = {
    {JOBS("Cancel"), "{'ids':['#']}", "'result':'cancelled'"},
    {JOBS("Cancel"), "{'filter':{'ids':['#']}}", "'result':'cancelled'"},
    {JOBS("Release"), "{'ids':['#']}", "'result':'success'"},
    {JOBS("Release"), "{'filter':{'ids':['#']}}", "'result':'success'"},
};
#define STEERINGS (sizeof(steerings) / sizeof(steerings[0]))

static void await_job(unsigned long id, const char *shows)
{
    char parameters[60];

    (void)snprintf(parameters, sizeof(parameters), "{'id':'%lu'}", id);
    while (!has(call(JOBS("Get"), parameters), shows))
        (void)poll(NULL, 0, 1);
}

/* What is answered is so; without an answer it is so or not, and so when it is asked for
 * again. */
static uint64_t steer_once(const struct steering *s, uint64_t n)
{
    char parameters[100];
    unsigned long id =
        number(call(JOBS("Submit"), "{'spec':{'kind':'noop','hold':true}}"), "\"id\":\"");
    const char *mark = strchr(s->parameters, '#'), *text;

    (void)snprintf(parameters, sizeof(parameters), "%.*s%lu%s",
                   (int)(mark - s->parameters), s->parameters, id, mark + 1);
    hook_arm(n, false);
    ask(s->method, parameters, false);
    text = hear();
    bool done = text && has(text, "'count':1");
    if (text && !done)
        fail_msg("call %lu of %s: %s", (unsigned long)n, s->method, text);
    uint64_t calls = hook_count();
    hook_arm(0, false);
    reconnect();
    if (!done) {
        ask(s->method, parameters, false);
        assert_non_null(hear()); /* it counts, or says that there is nothing to do */
    }
    await_job(id, s->then);
    return calls;
}

static void what_is_asked_of_a_job_is_done_or_not(void **state)
{
    (void)state;
    for (size_t i = 0; i < STEERINGS; i++) {
        uint64_t n;

        for (n = 1; steer_once(&steerings[i], n) >= n; n++)
            ;
        assert_true(n > 10);
    }
}

/* All of a batch that is atomic, or nothing; the same keys are the same jobs then. */
static uint64_t submit_all_or_none(uint64_t n)
{
    char specs[300], filter[60];
    const char *text;

    (void)snprintf(
        specs, sizeof(specs),
        "{'atomic':true,'defaults':{'kind':'noop','name':'b%lu'},'specs':[{'key':"
        "'b%lu.1','after':[{'local':'x'}]},{'local':'x','key':'b%lu.2','env':{'A':'1'}}]}",
        (unsigned long)n, (unsigned long)n, (unsigned long)n);
    (void)snprintf(filter, sizeof(filter), "{'filter':{'name':'b%lu'}}",
                   (unsigned long)n);
    hook_arm(n, false);
    ask(JOBS("SubmitBatch"), specs, false);
    text = hear();
    assert_false(text && has(text, "local name"));
    bool all = text && has(text, "'rejected':[]");
    unsigned long first = all ? number(text, "\"ids\":[\"") : 0;
    uint64_t calls = hook_count();
    hook_arm(0, false);
    reconnect();
    text = call(JOBS("List"), filter);
    if (all && !has(text, "'id'"))
        fail_msg("call %lu: the batch is lost", (unsigned long)n);
    text = call(JOBS("SubmitBatch"), specs);
    assert_true(has(text, "'rejected':[]"));
    if (all)
        assert_int_equal(number(text, "\"ids\":[\""), first);
    text = call(JOBS("List"), filter);
    for (unsigned jobs = 0;; jobs++, text++)
        if (!(text = strstr(text, "\"id\""))) {
            assert_int_equal(jobs, 2);
            return calls;
        }
}

static void a_batch_is_there_as_a_whole(void **state)
{
    uint64_t n;

    (void)state;
    for (n = 1; submit_all_or_none(n) >= n; n++)
        ;
    assert_true(n > 20);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(whatever_fails_the_answer_is_true),
        T(nor_does_a_new_connection_depend_on_it),
        T(that_it_goes_is_noticed),
        T(what_is_interrupted_is_done_again),
        T(what_is_acknowledged_is_there_once),
        T(and_runs_once),
        T(what_is_asked_of_a_job_is_done_or_not),
        T(a_batch_is_there_as_a_whole),
    };

    hook_begin_json();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
