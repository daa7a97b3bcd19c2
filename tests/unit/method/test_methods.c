/* The methods, as a client calls them (tests/support/whole.h): what each answers, and what it
 * says to parameters that are none. */
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/atomic.h"
#include "daemon/query/why.h"
#include "tests/support/whole.h"

/* The jobs have gone on since they were counted. */
static vat_u32 have_gone_on;
/* What has what they wait for was left by this process, not 0. */
static vat_u32 left_by;

int __real_query_why(struct core *core, const struct asker *asker, uint64_t id,
                     int64_t index, struct quota *quota, struct why *ret);
int __wrap_query_why(struct core *core, const struct asker *asker, uint64_t id,
                     int64_t index, struct quota *quota, struct why *ret);
int __wrap_query_why(struct core *core, const struct asker *asker, uint64_t id,
                     int64_t index, struct quota *quota, struct why *ret)
{
    int r = __real_query_why(core, asker, id, index, quota, ret);

    if (vat_u32_load(&have_gone_on, VAT_SC))
        ret->n = 0;
    if (ret->n)
        ret->reason[0].pid = (pid_t)vat_u32_load(&left_by, VAT_SC);
    return r;
}

/* --- what they answer ----------------------------------------------------------------------- */

static void a_job_from_its_submission_to_its_end(void **state)
{
    (void)state;
    assert_has(call(JOBS("Submit"), "{'spec':{'argv':['/bin/sh','-c','echo out; echo err "
                                    ">&2; exit 3'],'name':'first','labels':{'a':'b'}}}"),
               "'created':true,'durable':false,'id':'1'");
    assert_has(wait_for("'1'"), "'exit_code':3");
    const char *job = call(JOBS("Get"), "{'id':'1','with_spec':true}");
    assert_has(job, "'state':'done'");
    assert_has(job, "'result':'exit'");
    assert_has(job, "'exit_status':3");
    assert_has(job, "'name':'first'");
    assert_has(job, "'labels':{'a':'b'}");
    assert_has(call(LOGS("Read"), "{'id':'1','stream':'stdout'}"),
               "'data':'b3V0CmVycgo='"); /* "out\nerr\n": one file has both */
    assert_has(call(JOBS("List"), "{'filter':{'labels':{'a':'b'}},'with_spec':true}"),
               "'id':'1'");
    assert_has(call(JOBS("List"), "{'filter':{'name':'second'}}"), "'jobs':[]");
    assert_has(
        call(JOBS("List"), "{'filter':{'results':['failed']},'fields':['id','state']}"),
        "{'jobs':[{'id':'1','state':'done'}]}");
    assert_has(call(JOBS("Forget"), "{}"), "'count':1");
    refuses(JOBS("Get"), "{'id':'1'}", "NoSuchJob", "");
    refuses(LOGS("Read"), "{'id':'1'}", "NoSuchJob", "");
}

static void a_batch_an_array_and_their_ends(void **state)
{
    (void)state;
    const char *r =
        call(JOBS("SubmitBatch"),
             "{'defaults':{'kind':'noop','queue':'default'},'specs':[{'name':'a'},"
             "{'name':'b','priority':5},{'kind':'sleep'},{'name':'c'}]}");
    assert_has(r, "'ids':['1','2','','3']");
    assert_has(r, "'position':2");
    r = call(JOBS("SubmitBatch"),
             "{'atomic':true,'specs':[{'kind':'noop'},{'kind':'sleep'}]}");
    assert_has(r, "'ids':['','']");
    assert_has(r, "'parameter':'duration_usec','position':1");
    r = call(JOBS("SubmitBatch"),
             "{'specs':[{'kind':'noop','local':'a'},{'kind':'sleep'},{'kind':'noop'}]}");
    assert_has(r, "'ids':['','','']"); /* with a local name it is atomic */
    assert_has(call(JOBS("Submit"),
                    "{'spec':{'argv':['/bin/sleep','1000'],'array':{'first':1,"
                    "'last':3}}}"),
               "'id':'4'");
    assert_has(call(JOBS("Get"), "{'id':'4_2'}"), "'id':'4_2'");
    assert_has(call(JOBS("List"), "{'filter':{'ids':['4'],'elements':true}}"),
               "'id':'4_3'");
    assert_has(call(JOBS("Cancel"), "{'ids':['4_1']}"), "'count':1");
    assert_has(
        call(JOBS("Cancel"), "{'filter':{'states':['queued','starting','running']}}"),
        "'count':");
    assert_has(wait_for("'1','2','3','4'"), "'left':0");
    assert_has(call(JOBS("Get"), "{'id':'4'}"), "'result':'cancelled'");
    refuses(JOBS("Get"), "{'id':'4_7'}", "NoSuchJob", "");
    assert_has(call(JOBS("List"), "{'newest_first':true,'limit':1}"), "'id':'4'");
}

/* The store in memory has none of those before the latest. */
static void attempts_one_by_one(void **state)
{
    (void)state;
    (void)call(JOBS("Submit"),
               "{'spec':{'argv':['/bin/sh','-c','exit $((3 - VOLT_ATTEMPT))'],'retry':"
               "{'times':5,'backoff_usec':0}}}");
    (void)wait_for("'1'");
    const char *r = call(JOBS("Attempts"), "{'id':'1'}");
    assert_has(r, "{'attempts':[{'attempt':3,'ended_at_usec':");
    assert_has(r, "'exit_status':0,'result':'success','started_at_usec':");
    (void)call(JOBS("Submit"),
               "{'spec':{'argv':['/bin/false'],'array':{'first':4,'last':5},"
               "'retry':{'times':1,'backoff_usec':3600000000}}}");
    while (!strstr(call(JOBS("Get"), "{'id':'2_5'}"), "\"wait\":\"time\""))
        ;
    assert_has(call(JOBS("Attempts"), "{'id':'2_5'}"), "{'attempts':[]}");
    refuses(JOBS("Attempts"), "{'id':'2'}", "Refused", "");
    refuses(JOBS("Attempts"), "{'id':'3'}", "NoSuchJob", "");
    refuses(JOBS("Attempts"), "{}", "InvalidParameter", "id");
    assert_has(call(JOBS("Submit"), "{'spec':{'kind':'noop','hold':true}}"), "'id':'3'");
    assert_has(call(JOBS("Attempts"), "{'id':'3'}"), "{'attempts':[]}");
    assert_has(call(JOBS("Cancel"), "{'filter':{'states':['queued']}}"), "'count':");
}

static void output_in_pieces_and_as_it_grows(void **state)
{
    (void)state;
    (void)call(JOBS("Submit"), "{'spec':{'argv':['/bin/sh','-c','echo one two']}}");
    (void)wait_for("'1'");
    assert_has(call(LOGS("Read"), "{'id':'1','max_bytes':3}"),
               "'data':'b25l','end':false,'next_offset':3"); /* "one" */
    assert_has(call(LOGS("Read"), "{'id':'1','offset':4}"),
               "'data':'dHdvCg==','end':true,'next_offset':8"); /* "two\n" */
    assert_has(call(LOGS("Read"), "{'id':'1','offset':8}"), "'data':'','end':true");
    (void)call(JOBS("Submit"), "{'spec':{'kind':'noop'}}");
    (void)wait_for("'2'");
    refuses(LOGS("Read"), "{'id':'2'}", "NoOutput", "");
    refuses(LOGS("Read"), "{'id':'3'}", "NoSuchJob", "");
    (void)call(JOBS("Submit"), "{'spec':{'argv':['/bin/sh','-c','echo a; sleep 1000']}}");
    ask(LOGS("Read"), "{'id':'3'}", true);
    while (!strstr(answer(), "\"data\":\"YQo=\""))
        ; /* "a\n" */
    whole_connect();
    assert_has(call(JOBS("Cancel"), "{'ids':['3']}"), "'count':1");
    assert_has(wait_for("'3'"), "'exit_code':125");
}

#define QUEUES(name) "org.voltd.queues." name

static void queues(void **state)
{
    (void)state;
    refuses(QUEUES("Pause"), "{}", "InvalidParameter", "name");
    refuses(QUEUES("Set"), "{'name':'default','slots':100001}", "InvalidParameter",
            "slots");
    refuses(QUEUES("Drain"), "{'name':'night'}", "NoSuchQueue", "");
    refuses(QUEUES("Set"), "{'name':'default','users':'root'}", "InvalidParameter",
            "users");
    refuses(QUEUES("Set"), "{'name':'default','users':['root','a b']}",
            "InvalidParameter", "users[1]");
    refuses(QUEUES("Set"), "{'name':'default','groups':['']}", "InvalidParameter",
            "groups[0]");
    refuses(QUEUES("Set"), "{'name':'default','groups':['a,b']}", "InvalidParameter",
            "groups[0]");
    refuses(QUEUES("Set"), "{'name':'default','groups':[7]}", "InvalidParameter",
            "groups[0]");
    refuses(QUEUES("Set"), "{'name':'default','groups':['no-such-one']}", "Refused", "");
    assert_has(call(QUEUES("Set"), "{'name':'default','users':['root','root']}"), "{}");
    assert_has(call(QUEUES("List"), "{}"), "'overridden':{'users':[]}");
    assert_has(call(QUEUES("List"), "{}"), "'users':['root','root']");
    assert_has(call(QUEUES("Reset"), "{'name':'default'}"), "{}");
    assert_has(call(QUEUES("Set"), "{'name':'default','slots':100000}"), "{}");
    assert_has(call(QUEUES("List"), "{}"), "'overridden':{'slots':");
    assert_has(call(QUEUES("List"), "{}"), "'slots':100000,'weight':1}");
    assert_has(call(QUEUES("Pause"), "{'name':'default'}"), "{}");
    (void)call(JOBS("Submit"), "{'spec':{'kind':'noop'}}");
    assert_has(call(JOBS("Why"), "{'id':'1'}"),
               "'reasons':[{'text':'queue default is paused','wait':'paused'}]");
    vat_u32_store(&left_by, (uint32_t)getpid(), VAT_SC);
    assert_has(call(JOBS("Why"), "{'id':'1'}"), "'text':'queue default is paused',");
    vat_u32_store(&left_by, INT32_MAX, VAT_SC); /* there is no such process */
    assert_has(call(JOBS("Why"), "{'id':'1'}"),
               "paused; 2147483647 has ended, what it has left has it',");
    vat_u32_store(&left_by, 0, VAT_SC);
    assert_has(call(JOBS("Get"), "{'id':'1'}"), "'wait':'paused'");
    assert_has(call(QUEUES("List"), "{}"), "'waiting':1");
    assert_has(call(QUEUES("Drain"), "{'name':'default'}"), "{}");
    refuses(JOBS("Submit"), "{'spec':{'kind':'noop'}}", "Refused", "");
    assert_has(call(QUEUES("Resume"), "{'name':'default'}"), "{}");
    assert_has(wait_for("'1'"), "'exit_code':0");
    assert_has(call(QUEUES("Reset"), "{'name':'default'}"), "{}");
    refuses(QUEUES("Create"), "{'name':'default'}", "Refused", "");
    refuses(QUEUES("Delete"), "{'name':'default'}", "Refused", "");
    assert_has(call(QUEUES("Create"), "{'name':'tape','lend':false}"), "{}");
    assert_has(call(QUEUES("List"), "{}"), "'lend':false");
    assert_has(call(QUEUES("Delete"), "{'name':'tape'}"), "{}");
    assert_has(call(QUEUES("List"), "{}"), "'overridden':{}");
}

/* It is not held by a filter either. */
static void held_too_often(void **state)
{
    (void)state;
    (void)call(JOBS("Submit"), "{'spec':{'kind':'noop','delay_usec':3600000000}}");
    for (int i = 0; i < JOB_HOLDS_MAX; i++) {
        (void)call(JOBS("Hold"), "{'ids':['1']}");
        (void)call(JOBS("Release"), "{'ids':['1']}");
    }
    ask(JOBS("Hold"), "{'ids':['1']}", false);
    assert_has(hear(), "job 1 has been held 1000 times, and is not once more");
    assert_has(call(JOBS("Hold"), "{'filter':{}}"), "'count':0");
    assert_has(call(JOBS("Cancel"), "{'ids':['1']}"), "'count':1");
}

static void signals_holds_and_reasons(void **state)
{
    (void)state;
    (void)call(JOBS("Submit"), "{'spec':{'argv':['/bin/sleep','1000']}}");
    (void)call(JOBS("Submit"), "{'spec':{'argv':['/bin/true'],'hold':true}}");
    assert_has(call(JOBS("Get"), "{'id':'2'}"), "'state':'queued'");
    assert_has(call(JOBS("Why"), "{'id':'2'}"), "'reasons':[{");
    assert_has(call(JOBS("Why"), "{}"),
               "{'reasons':[{'count':1,'id':'2','text':'held by its user','uid':");
    vat_u32_store(&have_gone_on, 1, VAT_SC);
    assert_has(call(JOBS("Why"), "{}"),
               "{'reasons':[{'count':1,'id':'2','text':'hold','uid':");
    (void)call(
        JOBS("Submit"),
        "{'spec':{'kind':'sleep','duration_usec':3600000000,'claims':[{'name':'db'}]}}");
    (void)call(JOBS("Submit"), "{'spec':{'kind':'noop','claims':[{'name':'db'}]}}");
    assert_has(call(JOBS("Why"), "{}"), "'text':'lock db','uid':");
    vat_u32_store(&have_gone_on, 0, VAT_SC);
    assert_has(call(JOBS("Cancel"), "{'ids':['3','4']}"), "'count':2");
    refuses(LOCKS("Free"), "{'name':'db'}", "Refused", "");
    refuses(LOCKS("Free"), "{'name':'/db'}", "Refused", "");
    refuses(LOCKS("Free"), "{}", "InvalidParameter", "name");
    refuses(JOBS("Signal"), "{'id':'2','signal':'SIGTERM'}", "NotRunning", "");
    assert_has(call(JOBS("Release"), "{'ids':['2']}"), "'count':1");
    assert_has(wait_for("'2'"), "'exit_code':0");
    while (!strstr(call(JOBS("Get"), "{'id':'1'}"), "\"state\":\"running\""))
        (void)poll(NULL, 0, 1);
    assert_has(call(JOBS("Signal"), "{'id':'1','signal':'SIGKILL'}"), "{}");
    assert_has(wait_for("'1'"), "'exit_code':137");
    assert_has(call(JOBS("Get"), "{'id':'1'}"), "'signal':'SIGKILL'");
    refuses(JOBS("Hold"), "{'ids':['1']}", "Refused", "");
    refuses(JOBS("Signal"), "{'id':'1','signal':'SIGTERM'}", "NotRunning", "");
    refuses(JOBS("Signal"), "{'id':'9','signal':'SIGTERM'}", "NoSuchJob", "");
}

/* Read in pieces, each as long as all before it. */
static void a_long_input(void **state)
{
    enum { N = 60000 };
    static char bytes[N];
    FILE *f = tmpfile();

    (void)state;
    assert_non_null(f);
    for (int i = 0; i < N; i++)
        bytes[i] = (char)(i / 100 % 64 + ' ');
    assert_int_equal(fwrite(bytes, 1, N, f), N);
    assert_int_equal(fflush(f), 0);
    rewind(f);
    ask_with_fd(JOBS("Submit"), "{'spec':{'argv':['/bin/sh','-c','cksum']},'stdin_fd':0}",
                fileno(f));
    assert_has(answer(), "'id':'1'");
    (void)fclose(f);
    assert_has(wait_for("'1'"), "'exit_code':0");
    assert_has(call(LOGS("Read"), "{'id':'1'}"),
               "'data':'NDEyNjIyOTQwOSA2MDAwMAo='"); /* "4126229409 60000\n" */
}

static void a_watcher_is_told_of_what_happens(void **state)
{
    (void)state;
    ask(JOBS("Watch"), "{}", true);
    assert_has(answer(), "'jobs':[]");
    int watching = whole.client;
    whole.client = -1;
    whole_connect();
    (void)call(JOBS("Submit"), "{'spec':{'kind':'noop','name':'seen'}}");
    (void)close(whole.client);
    whole.client = watching;
    whole.n = 0;
    for (bool done = false; !done;)
        done = strstr(answer(), "\"exited\"");
}

static void the_service_describes_itself(void **state)
{
    (void)state;
    assert_has(call(SERVICE("GetInfo"), "{}"), "org.voltd.jobs");
    assert_has(call(SERVICE("GetInterfaceDescription"), "{'interface':'org.voltd.logs'}"),
               "interface org.voltd.logs");
    refuses(SERVICE("GetInterfaceDescription"), "{'interface':'org.x'}",
            "InterfaceNotFound", "");
    refuses(JOBS("Nothing"), "{}", "MethodNotFound", "");
    refuses("org.nobody.Get", "{}", "InterfaceNotFound", "");
}

static void what_the_control_socket_tells(void **state)
{
    (void)state;
    (void)call(JOBS("Submit"), "{'spec':{'kind':'sleep','duration_usec':1000000000}}");
    const char *r = call(CONTROL("Stats"), "{}");
    assert_has(r, "'workers':[{");
    assert_has(r, "'turns':{");
    assert_has(call(CONTROL("Tasks"), "{}"), "job sleep");
    assert_has(call(CONTROL("Config"), "{}"), "'Queue.Slots':'2'");
    ask(CONTROL("WatchStats"), "{'interval_usec':100000}", true);
    assert_has(answer(), "'workers':[{");
    assert_has(answer(), "'totals':{");
    whole_connect();
    FILE *f = fopen(whole.config_path, "w");
    assert_non_null(f);
    assert_true(fputs("[Queue]\nSlots=none\n", f) >= 0);
    assert_int_equal(fclose(f), 0);
    refuses(CONTROL("Reload"), "{}", "ReloadFailed", "");
    assert_has(call(CONTROL("Config"), "{}"), "'Queue.Slots':'2'");
    refuses(CONTROL("WatchStats"), "{'interval_usec':1000}", "ExpectedMore", "");
}

/* --- what they refuse ---------------------------------------------------------------------------- */

static void parameters_that_are_none(void **state)
{
    static const struct {
        const char *method, *parameters, *parameter;
    } cases[] = {
        {JOBS("Submit"), "{}", "spec"},
        {JOBS("Submit"), "{'spec':{}}", ""},
        {JOBS("Submit"), "{'spec':7}", "spec"},
        {JOBS("Submit"), "{'spec':{'kind':'other'}}", "spec.kind"},
        {JOBS("Submit"), "{'spec':{'argv':[]}}", "spec.argv"},
        {JOBS("Submit"), "{'spec':{'argv':['a'],'priority':'high'}}", "spec.priority"},
        {JOBS("Submit"), "{'spec':{'argv':['a'],'unknown':1}}", "spec.unknown"},
        {JOBS("Submit"), "{'spec':{'argv':['a'],'umask':'9'}}", "spec.umask"},
        {JOBS("Submit"), "{'spec':{'argv':['a'],'env':{'A=B':'x'}}}", ""},
        {JOBS("Submit"), "{'spec':{'argv':['a'],'cwd':'relative'}}", "spec.cwd"},
        {JOBS("Submit"), "{'spec':{'argv':['a'],'stop_signal':'SIGNOTHING'}}", ""},
        {JOBS("Submit"), "{'spec':{'argv':['a']},'stdin_fd':3}", "stdin_fd"},
        {JOBS("Submit"), "{'spec':{'argv':['a'],'after':[{'local':'a'}]}}", "spec.after"},
        {JOBS("SubmitBatch"), "{}", "specs"},
        {JOBS("SubmitBatch"),
         "{'specs':[{'kind':'noop'},{'kind':'noop','local':'a','after':[{'local':'a'}]}]}",
         "specs[1].after"},
        {JOBS("SubmitBatch"),
         "{'specs':[{'kind':'noop','local':'a'},{'kind':'noop','local':'a'}]}",
         "specs[1].local"},
        {JOBS("SubmitBatch"), "{'specs':{}}", "specs"},
        {JOBS("Get"), "{}", "id"},
        {JOBS("Get"), "{'id':7}", "id"},
        {JOBS("Get"), "{'id':'x'}", "id"},
        {JOBS("Get"), "{'id':'1','more':true}", "more"},
        {JOBS("List"), "{'limit':0}", "limit"},
        {JOBS("List"), "{'cursor':'nothing'}", "cursor"},
        {JOBS("List"), "{'fields':['none']}", ""},
        {JOBS("List"), "{'filter':{'states':['sleeping']}}", ""},
        {JOBS("List"), "{'filter':{'ids':['1','']}}", ""},
        {JOBS("List"), "{'filter':{'labels':['a']}}", "filter.labels"},
        {JOBS("List"), "{'filter':{'labels':{'a':7}}}", "filter.labels.a"},
        {JOBS("List"), "{'filter':{'user':'no such user'}}", ""},
        {JOBS("Cancel"), "{'ids':'1'}", "ids"},
        {JOBS("Hold"), "{'ids':[1]}", ""},
        {JOBS("Forget"), "{'keep':-1}", "keep"},
        {JOBS("Signal"), "{'id':'1'}", "signal"},
        {JOBS("Signal"), "{'id':'1','signal':'SIGNOTHING'}", "signal"},
        {JOBS("Signal"), "{'id':'1','signal':'SIGTERM','whom':'all'}", "whom"},
        {LOGS("Read"), "{'id':'1','stream':'stdin'}", "stream"},
        {LOGS("Read"), "{'id':'1','offset':-1}", "offset"},
        {LOGS("Open"), "{}", "id"},
        {CONTROL("Shutdown"), "{'cancel':1}", "cancel"},
        {CONTROL("Stats"), "{'x':1}", "x"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        refuses(cases[i].method, cases[i].parameters, "InvalidParameter",
                cases[i].parameter);
    assert_has(call(JOBS("List"), "{}"), "'jobs':[]");
}

#define T(f) cmocka_unit_test_setup_teardown(f, whole_setup, whole_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(a_job_from_its_submission_to_its_end),
        T(a_batch_an_array_and_their_ends),
        T(attempts_one_by_one),
        T(output_in_pieces_and_as_it_grows),
        T(held_too_often),
        T(signals_holds_and_reasons),
        T(a_long_input),
        T(a_watcher_is_told_of_what_happens),
        T(the_service_describes_itself),
        T(what_the_control_socket_tells),
        T(parameters_that_are_none),
        T(queues),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
