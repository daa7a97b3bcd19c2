/* The methods with many ids, many specs, many jobs, and as streams: what takes several turns of
 * a connection, what is told by and by, and what a message with a list that ends in nothing
 * comes to. */
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "tests/support/whole.h"

#define MANY 1500

static char text[200000];

/* Heartbeats of a millisecond; limits that tests can reach. */
static int setup(void **state)
{
    struct config config;

    (void)state;
    whole_defaults(&config);
    config.heartbeat_usec = 1000;
    config.max_batch_jobs = 2000;
    config.max_parse_memory = 100000;
    config.max_watch_backlog = 10;
    config.max_output_backlog = 4096;
    return whole_start(&config);
}

static bool has(const char *in, const char *part)
{
    return strstr(in, part) != NULL;
}

/* Appends the entry with the number in the place of each #. */
static size_t put_entry(size_t n, const char *entry, unsigned number)
{
    for (; *entry; entry++)
        if (*entry == '#')
            n += (size_t)snprintf(text + n, sizeof(text) - n, "%u", number);
        else
            text[n++] = *entry;
    return n;
}

/* {"NAME":[ENTRY,ENTRY,...]REST}, one entry for each number, in that order. */
static const char *list_of(const char *name, const char *entry, unsigned first,
                           unsigned last, const char *rest)
{
    const int by = first <= last ? 1 : -1;
    size_t n = (size_t)snprintf(text, sizeof(text), "{'%s':[", name);

    for (unsigned i = first;; i += (unsigned)by) {
        n = put_entry(n, entry, i);
        if (i == last)
            break;
        text[n++] = ',';
    }
    (void)snprintf(text + n, sizeof(text) - n, "]%s}", rest);
    return text;
}

static void submit_many(unsigned n, const char *defaults)
{
    char rest[200];

    (void)snprintf(rest, sizeof(rest), ",'defaults':%s", defaults);
    assert_has(call(JOBS("SubmitBatch"), list_of("specs", "{'name':'n#'}", 1, n, rest)),
               "'rejected':[]");
}

static unsigned long count_of(const char *reply, const char *name)
{
    char key[40];

    (void)snprintf(key, sizeof(key), "\"%s\":", name);
    const char *at = strstr(reply, key);
    assert_non_null(at);
    return strtoul(at + strlen(key), NULL, 10);
}

/* --- turns --------------------------------------------------------------------------------- */

enum { HELD = 512, HOLDER_K, HOLDER_L }; /* ids of jobs */

/* Inside one job it waits for jobs that wait for all that are held, and then for one that
 * waits for the first holder. */
static void ask_inside(unsigned inside)
{
    char wait[80];

    (void)snprintf(wait, sizeof(wait), "{'ids':['515','516','517'],'inside_job':'%u'}",
                   inside);
    ask(JOBS("Wait"), wait, true);
}

static uint64_t largest_turn(void)
{
    (void)call(CONTROL("Stats"), "{}");
    return vat_u64_load(&whole.turns.largest_entries, VAT_RLX);
}

/* Until one was small: that of the call before has ended, which one that follows may share. */
static void forget_turns(void)
{
    do
        vat_u64_store(&whole.turns.largest_entries, 0, VAT_RLX);
    while (largest_turn() == 0 || largest_turn() > 20);
}

static void expect_a_turn_of(uint64_t least)
{
    for (unsigned calls = 0; largest_turn() < least; calls++)
        assert_true(calls < 1000);
}

static void expect_a_long_turn(void)
{
    assert_true(has(hear(), "Deadlock"));
    expect_a_turn_of(HELD + 1);
}

static void submit_after(unsigned first, unsigned last)
{
    (void)list_of("after", "{'job':'#'}", first, last, ",'kind':'noop'}");
    memmove(text + 8, text, strlen(text) + 1);
    memcpy(text, "{'spec':", 8);
    (void)call(JOBS("Submit"), text);
}

static void submit_holder(char lock)
{
    char spec[120];

    (void)snprintf(spec, sizeof(spec),
                   "{'spec':{'kind':'sleep','duration_usec':3600000000,"
                   "'claims':[{'name':'%c'}]}}",
                   lock);
    (void)call(JOBS("Submit"), spec);
}

static void what_is_looked_at_for_deadlocks_counts(void **state)
{
    (void)state;
    submit_many(HELD, "{'kind':'noop','hold':true}");
    submit_holder('k');
    submit_holder('l');
    submit_after(1, HELD / 2);
    submit_after(HELD / 2 + 1, HELD);
    submit_after(HOLDER_K, HOLDER_K);
    forget_turns();
    ask_inside(HOLDER_K);
    expect_a_long_turn();

    ask_inside(HOLDER_L);
    (void)answer(); /* it waits */
    const int waits = whole.client;
    whole.client = -1;
    whole_connect();
    forget_turns();
    ask(LOCKS("Acquire"), "{'name':'l','inside_job':'513'}", true);
    expect_a_long_turn();
    (void)close(waits);

    forget_turns();
    assert_has(call(JOBS("Edit"), "{'filter':{'name':'n512'},"
                                  "'changes':{'after':[{'job':'515'}]}}"),
               "'count':1");
    expect_a_turn_of(HELD / 2 + 1);
}

static void locks_that_are_looked_at_count(void **state)
{
    enum { NAMES = 60 };

    (void)state;
    (void)call(JOBS("SubmitBatch"),
               list_of("specs", "{'claims':[{'name':'n#'}]}", 1, NAMES,
                       ",'defaults':{'kind':'noop','hold':true}"));
    forget_turns();
    assert_has(call(LOCKS("List"), "{}"), "'used':0");
    expect_a_turn_of(NAMES);
}

/* --- ids ------------------------------------------------------------------------------------ */

static void many_ids_in_any_order(void **state)
{
    const char *reply;

    (void)state;
    submit_many(MANY, "{'kind':'noop','hold':true}");
    ask(JOBS("Wait"), list_of("ids", "'#','1'", MANY, 1, ""), false);
    reply = answer();
    assert_int_equal(count_of(reply, "total"), MANY);
    assert_int_equal(count_of(reply, "left"), MANY);
    ask(JOBS("Wait"), "{'filter':{'name_glob':'n*'}}", false);
    reply = answer();
    assert_int_equal(count_of(reply, "total"), MANY);
    assert_int_equal(count_of(reply, "left"), MANY);
    reply = call(JOBS("Release"), list_of("ids", "'#'", MANY, 1, ""));
    assert_int_equal(count_of(reply, "count"), MANY);
    ask(JOBS("Wait"), list_of("ids", "'#'", 1, MANY, ""), true);
    do
        reply = answer();
    while (!has(reply, "\"jobs\""));
    assert_int_equal(count_of(reply, "total"), MANY);
    assert_int_equal(count_of(reply, "failed"), 0);
    assert_int_equal(count_of(reply, "exit_code"), 0);
    ask(JOBS("Cancel"), list_of("ids", "'#'", 1, MANY, ""), true);
    do
        reply = hear();
    while (has(reply, "continues"));
    assert_has(reply, "'count':0"); /* they have ended */
    reply = call(JOBS("Forget"), "{'filter':{'name_glob':'n1*'},'keep':1}");
    assert_true(count_of(reply, "count") > 600);
}

static void one_wrong_id_of_many(void **state)
{
    char broken[40000];

    (void)state;
    submit_many(10, "{'kind':'noop','hold':true}");
    (void)list_of("ids", "'#'", 1, MANY, "");
    memcpy(strstr(text, "'701'"), "'x01'", 5);
    refuses(JOBS("Hold"), text, "InvalidParameter", "ids[700]");
    (void)list_of("ids", "'#'", 1, MANY, "");
    memcpy(strstr(text, "'701'"), " 701 ", 5);
    refuses(JOBS("Hold"), text, "InvalidParameter", "ids[700]");
    (void)list_of("ids", "'#'", 1, MANY, ""); /* of 303 digits */
    char *digits = strstr(text, "'701'") + 1;
    memmove(digits + 300, digits, strlen(digits) + 1);
    memset(digits, '1', 300);
    refuses(JOBS("Hold"), text, "InvalidParameter", "ids[700]");
    (void)list_of("ids", "'#'", 1, MANY, "");
    refuses(JOBS("Wait"), text, "NoSuchJob", "");
    refuses(JOBS("Release"), text, "NoSuchJob", ""); /* and none is */
    assert_has(call(JOBS("Get"), "{'id':'1'}"), "'wait':'hold'");
    /* What is no JSON has no answer; what follows is not read. */
    (void)snprintf(broken, sizeof(broken),
                   "{\"method\":\"org.voltd.jobs.Cancel\",\"parameters\":%s",
                   list_of("ids", "\"#\"", 1, MANY, ""));
    memcpy(strstr(broken, "\"701\""), "nul  ", 5);
    for (char *p = strstr(broken, "{'ids'"); p < strstr(broken, "[\"1\""); p++)
        *p = *p == '\'' ? '"' : *p;
    (void)strcat(broken, "}");
    say(broken);
    assert_null(hear());
    whole_connect();
    assert_has(call(JOBS("Get"), "{'id':'1'}"), "'state':'queued'");
}

static void an_id_that_is_too_large_to_be_parsed(void **state)
{
    (void)state;
    char *at;

    (void)list_of("ids", "'#'", 1, MANY, "");
    at = strstr(text, "'901'");
    memset(at, '[', 2);
    for (unsigned i = 2; i + 2 < 5000; i += 2)
        memcpy(at + i, "0,", 2);
    (void)strcpy(at + 4998, "0]]]}");
    refuses(JOBS("Cancel"), text, "InvalidParameter", "ids[900]");
}

/* --- specs ---------------------------------------------------------------------------------- */

static void specs_with_the_environment_of_their_defaults(void **state)
{
    const char *reply;

    (void)state;
    reply =
        call(JOBS("SubmitBatch"),
             "{'defaults':{'argv':['/bin/sh','-c','echo $A'],'env':{'A':'one'}},'specs':["
             "{},{},{'env':{'A':'two'}},{'priority':'x'},{'argv':['/bin/true']}]}");
    assert_has(reply, "'ids':['1','2','3','','4']");
    assert_has(reply, "'parameter':'priority','position':3");
    (void)wait_for("'1','2','3','4'");
    assert_has(call(LOGS("Read"), "{'id':'2'}"), "'data':'b25lCg=='"); /* "one\n" */
    assert_has(call(LOGS("Read"), "{'id':'3'}"), "'data':'dHdvCg=='"); /* "two\n" */
    assert_has(call(JOBS("Get"), "{'id':'2','with_spec':true}"), "'env':{'A':'one'}");
}

/* Longer than what is read ahead, and than a turn. */
static void a_long_message(void **state)
{
    const char *reply;

    (void)state;
    (void)list_of("specs",
                  "{'kind':'noop','hold':true,'name':'one of so many, and long enough to "
                  "make a long message of them, #'}",
                  1, MANY, "");
    assert_true(strlen(text) > 150000);
    reply = call(JOBS("SubmitBatch"), text);
    assert_has(reply, "'1500'");
    assert_has(reply, "'rejected':[]");
}

static void too_many_specs_and_too_large_ones(void **state)
{
    char defaults[1000], broken[60000];

    (void)state;
    refuses(JOBS("SubmitBatch"), list_of("specs", "{}", 1, 2001, ""), "InvalidParameter",
            "specs");
    /* Defaults count for each. */
    (void)snprintf(defaults, sizeof(defaults), ",'defaults':{'name':'%0800d'}", 0);
    whole.config.max_batch = 100000;
    server_reload(whole.server, &whole.config);
    refuses(JOBS("SubmitBatch"), list_of("specs", "{}", 1, 500, defaults),
            "InvalidParameter", "defaults");
    (void)list_of("specs", "{'kind':'noop'}", 1, 600, "");
    char *at = text + strlen(text) - 2;
    *at++ = ',';
    *at++ = '[';
    for (unsigned i = 0; i < 2500; i++, at += 2)
        memcpy(at, "0,", 2);
    (void)strcpy(at, "0]]}");
    refuses(JOBS("SubmitBatch"), text, "InvalidParameter", "specs[600]");
    /* Some hundred good ones and then nothing: no job is made, and nobody is answered. */
    (void)snprintf(
        broken, sizeof(broken),
        "{\"method\":\"org.voltd.jobs.SubmitBatch\",\"parameters\":{\"specs\":[");
    for (unsigned i = 0; i < 600; i++)
        (void)strcat(broken, "{\"kind\":\"noop\"},");
    (void)strcat(broken, "nul]}}");
    say(broken);
    assert_null(hear());
    whole_connect();
    assert_has(call(JOBS("List"), "{}"), "'jobs':[]");
}

/* --- jobs ----------------------------------------------------------------------------------- */

static void a_list_comes_in_pages(void **state)
{
    char parameters[200];
    unsigned long n = 0;
    const char *reply;

    (void)state;
    submit_many(MANY, "{'kind':'noop','hold':true}");
    ask(JOBS("List"), "{'fields':['id'],'limit':1400}", true);
    do {
        reply = hear();
        for (const char *at = reply; (at = strstr(at, "\"id\":")); at++)
            n++;
    } while (has(reply, "continues"));
    assert_int_equal(n, 1400);
    assert_has(reply, "'cursor':'1400'");
    reply = call(JOBS("List"), "{'cursor':'1400','fields':['id'],'limit':2}");
    assert_has(reply, "{'cursor':'1402','jobs':[{'id':'1401'},{'id':'1402'}]}");
    refuses(JOBS("List"), "{'limit':1001}", "InvalidParameter", "limit");
    refuses(JOBS("List"), "{'cursor':'3_1'}", "InvalidParameter", "cursor");
    (void)call(JOBS("Submit"), "{'spec':{'kind':'noop','hold':true,'array':{'first':1,"
                               "'last':1200}}}");
    (void)snprintf(
        parameters, sizeof(parameters),
        "{'filter':{'ids':['%u'],'elements':true},'fields':['id'],'limit':1000}",
        MANY + 1);
    reply = call(JOBS("List"), parameters);
    assert_has(reply, "{'id':'1501_1000'}]");
    const char *cursor = strstr(reply, "\"cursor\":\"") + 10;
    (void)snprintf(parameters, sizeof(parameters),
                   "{'filter':{'ids':['%u'],'elements':true},'cursor':'%.*s',"
                   "'fields':['id']}",
                   MANY + 1, (int)strcspn(cursor, "\""), cursor);
    reply = call(JOBS("List"), parameters);
    assert_has(reply, "'jobs':[{'id':'1501_1001'}");
    assert_has(reply, "{'id':'1501_1200'}]");
    refuses(JOBS("Wait"), "{'filter':{'elements':true}}", "InvalidParameter",
            "filter.elements");
}

/* Each spends the token of a rate that the one behind it waits for: more reasons than are
 * told apart. */
static void what_many_jobs_wait_for(void **state)
{
    static const char spec[] = "{'kind':'noop','claims':[{'name':'r#','mode':'rate',"
                               "'interval_usec':3600000000}]}";

    (void)state;
    (void)call(JOBS("SubmitBatch"), list_of("specs", spec, 1, 90, ""));
    ask(JOBS("Wait"), "{'filter':{}}", true);
    while (has(hear(), "continues"))
        ;
    (void)call(JOBS("SubmitBatch"), list_of("specs", spec, 1, 90, ""));
    while (!has(call(JOBS("Why"), "{}"), "{\"others\":26,")) /* when all were looked at */
        (void)poll(NULL, 0, 1);
    assert_has(call(JOBS("Why"), "{'id':'91'}"), "'wait':'rate'");
    refuses(JOBS("Why"), "{'id':'999'}", "NoSuchJob", "");
    assert_has(call(JOBS("Cancel"), "{'filter':{}}"), "'count':90");
    (void)wait_for("'91'");
    assert_has(call(JOBS("Why"), "{'id':'91'}"), "{'reasons':[],'state':'done'}");
}

/* --- streams -------------------------------------------------------------------------------- */

/* Goes on until it is there. */
static const char *until(const char *part)
{
    const char *reply;

    do
        reply = answer();
    while (!has(reply, part));
    return reply;
}

static struct {
    int client;
    size_t n;
    char bytes[1 << 16];
} other;

/* The connection at hand waits, another one is at hand; and back. */
static void put_aside(void)
{
    assert_true(whole.n <= sizeof(other.bytes));
    other.client = whole.client;
    other.n = whole.n;
    memcpy(other.bytes, whole.buf, whole.n);
    whole.client = -1;
    whole_connect();
}

static void take_back(void)
{
    (void)close(whole.client);
    whole.client = other.client;
    whole.n = other.n;
    memcpy(whole.buf, other.bytes, other.n);
}

static void silence_is_told(void **state)
{
    (void)state;
    (void)call(JOBS("Submit"), "{'spec':{'argv':['/bin/sh','-c','echo a; sleep 1000']}}");
    ask(JOBS("Wait"), "{'filter':{'states':['queued','starting','running']}}", true);
    (void)until("\"heartbeat\":true");
    whole_connect();
    ask(JOBS("Watch"), "{'filter':{'name':'none'}}", true);
    (void)until("\"heartbeat\":true");
    whole_connect();
    ask(LOGS("Read"), "{'id':'1','max_bytes':1000000}", true);
    (void)until("\"data\":\"YQo=\"");
    (void)until("\"heartbeat\":true");
    whole_connect();
    refuses(CONTROL("Shutdown"), "{'wait':true}", "ExpectedMore", "");
    ask(JOBS("Cancel"), "{'filter':{}}", true);
    for (const char *reply = hear(); has(reply, "continues"); reply = hear())
        ;
    (void)wait_for("'1'");
}

static void a_wait_for_an_array_and_others(void **state)
{
    const char *reply;

    (void)state;
    (void)call(JOBS("Submit"),
               "{'spec':{'argv':['/bin/sh','-c','exit $VOLT_ARRAY_INDEX'],'hold':true,"
               "'array':{'first':0,'last':2}}}");
    (void)call(JOBS("Submit"), "{'spec':{'kind':'sleep','duration_usec':3600000000}}");
    ask(JOBS("Wait"), "{'ids':['1_2','1','2']}", true);
    assert_int_equal(count_of(until("\"left\":5"), "total"), 5);
    while (!has(hear(), "\"heartbeat\":true"))
        ;
    whole_connect();
    (void)call(JOBS("Release"), "{'ids':['1']}");
    (void)wait_for("'1'");
    ask(JOBS("Wait"), "{'ids':['1_2','1','2']}", false);
    reply = answer();
    assert_int_equal(count_of(reply, "left"), 1);
    assert_int_equal(count_of(reply, "failed"), 3);
    ask(JOBS("Wait"), "{'ids':['2','1'],'any':true}", false);
    reply = answer();
    assert_has(reply, "'id':'1'");
    assert_int_equal(count_of(reply, "left"), 1);
    assert_int_equal(count_of(reply, "exit_code"), 2);
    (void)call(JOBS("Cancel"), "{'ids':['2']}");
    reply = wait_for("'1_2','1','2'");
    assert_int_equal(count_of(reply, "exit_code"), 125); /* the cancelled one */
    refuses(JOBS("Wait"), "{}", "InvalidParameter", "ids");
    refuses(JOBS("Wait"), "{'ids':['77']}", "NoSuchJob", "");
    refuses(JOBS("Wait"), "{'ids':['77'],'filter':{}}", "NoSuchJob", "");
}

/* An id of no job counts as ended if forgotten jobs may be named. */
static void a_wait_for_what_is_forgotten(void **state)
{
    const char *reply;

    (void)state;
    (void)call(JOBS("Submit"), "{'spec':{'kind':'noop'}}");
    (void)wait_for("'1'");
    for (int i = 0; i < 3; i++) {
        ask(JOBS("Wait"),
            i < 2 ? "{'ids':['1','77'],'forgotten':true}"
                  : "{'ids':['1','77'],'filter':{},'forgotten':true}",
            i == 0);
        reply = answer();
        assert_has(reply, "'id':'1'");
        assert_int_equal(count_of(reply, "total"), 2);
        assert_int_equal(count_of(reply, "failed"), 1);
        assert_int_equal(count_of(reply, "unknown"), 1);
        assert_int_equal(count_of(reply, "exit_code"), 125);
    }
}

/* Its own are told, and no others; then from a cursor on. */
static void a_watch_with_a_filter(void **state)
{
    char parameters[200];
    const char *reply;
    unsigned long cursor;

    (void)state;
    (void)call(JOBS("Submit"),
               "{'spec':{'kind':'noop','name':'before','queue':'default'}}");
    (void)wait_for("'1'");
    (void)snprintf(
        parameters, sizeof(parameters),
        "{'filter':{'states':['done'],'results':['success'],'user':'%u','name':"
        "'mine'},'fields':['id']}",
        (unsigned)geteuid());
    ask(JOBS("Watch"), parameters, true);
    assert_has(answer(), "'jobs':[]");
    (void)until("\"heartbeat\"");
    put_aside();
    (void)call(JOBS("Submit"), "{'spec':{'kind':'noop','name':'other'}}");
    (void)call(JOBS("Submit"), "{'spec':{'kind':'noop','name':'mine'}}");
    take_back();
    reply = until("\"events\"");
    assert_has(reply, "'id':'3'");
    assert_has(reply, "'event':'exited'");
    assert_false(has(reply, "\"submit\"") || has(reply, "other"));
    cursor = count_of(reply, "cursor");
    whole_connect();
    refuses(JOBS("Watch"), "{}", "ExpectedMore", "");
    ask(JOBS("Watch"), "{'after':1000000}", true);
    assert_has(hear(), "'parameter':'after'");
    (void)snprintf(parameters, sizeof(parameters),
                   "{'after':%lu,'filter':{'ids':['3','4']}}", cursor);
    ask(JOBS("Watch"), parameters, true);
    put_aside();
    (void)call(JOBS("Submit"), "{'spec':{'kind':'noop','name':'next'}}");
    take_back();
    assert_has(until("\"events\""), "'name':'next'");
}

/* One that does not read gets the newest, and how many it has missed. */
static void a_watcher_that_lags(void **state)
{
    (void)state;
    ask(JOBS("Watch"), "{'filter':{'name_glob':'n*'}}", true);
    (void)until("\"jobs\":[]");
    put_aside();
    for (int i = 0; i < 3; i++) {
        submit_many(MANY, "{'kind':'noop'}");
        ask(JOBS("Wait"), "{'filter':{}}", true);
        for (const char *reply = hear(); has(reply, "continues"); reply = hear())
            ;
    }
    take_back();
    assert_true(count_of(until("\"lagged\""), "lagged") > 0);
}

static void output_of_one_that_has_not_begun(void **state)
{
    (void)state;
    (void)call(JOBS("Submit"),
               "{'spec':{'argv':['/bin/sh','-c','head -c 200000 /dev/zero'],"
               "'hold':true}}");
    refuses(LOGS("Read"), "{'id':'1'}", "NoOutput", "");
    ask(LOGS("Read"), "{'id':'1','max_bytes':1000000}", true);
    (void)until("\"heartbeat\":true");
    put_aside();
    (void)call(JOBS("Release"), "{'ids':['1']}");
    take_back();
    assert_has(until("\"end\":true"), "'next_offset':200000");
    assert_has(call(LOGS("Read"), "{'id':'1','max_bytes':1000000}"),
               "'end':true,'next_offset':200000");
    (void)call(JOBS("Submit"), "{'spec':{'kind':'noop','array':{'first':1,'last':2}}}");
    refuses(LOGS("Read"), "{'id':'2'}", "NoOutput", "");
    refuses(LOGS("Open"), "{'id':'2'}", "NoOutput", "");
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, whole_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(locks_that_are_looked_at_count),
        cmocka_unit_test_setup_teardown(what_is_looked_at_for_deadlocks_counts,
                                        whole_setup, whole_teardown),
        T(many_ids_in_any_order),
        T(one_wrong_id_of_many),
        T(an_id_that_is_too_large_to_be_parsed),
        T(specs_with_the_environment_of_their_defaults),
        T(a_long_message),
        T(too_many_specs_and_too_large_ones),
        T(a_list_comes_in_pages),
        T(what_many_jobs_wait_for),
        T(silence_is_told),
        T(a_wait_for_an_array_and_others),
        T(a_wait_for_what_is_forgotten),
        T(a_watch_with_a_filter),
        T(a_watcher_that_lags),
        T(output_of_one_that_has_not_begun),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
