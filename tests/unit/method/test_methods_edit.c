/* Edit, over a connection: what it changes, and what it refuses. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "tests/support/whole.h"

static void refuses_with(const char *parameters, const char *why)
{
    const char *reply;

    ask(JOBS("Edit"), parameters, false);
    reply = hear();
    assert_non_null(reply);
    assert_has(reply, "error");
    assert_has(reply, why);
}

static const char *shown(const char *id)
{
    static char text[4096];
    char parameters[64];

    (void)snprintf(parameters, sizeof(parameters), "{'id':'%s','with_spec':true}", id);
    (void)snprintf(text, sizeof(text), "%s", call(JOBS("Get"), parameters));
    return text;
}

static void lacks(const char *text, const char *part)
{
    char quoted[64];

    (void)snprintf(quoted, sizeof(quoted), "%s", part);
    for (char *c = quoted; *c; c++)
        *c = *c == '\'' ? '"' : *c;
    assert_null(strstr(text, quoted));
}

static void changes(void **state)
{
    (void)state;
    (void)call(JOBS("Submit"), "{'spec':{'kind':'sleep','duration_usec':1,'hold':true}}");
    (void)call(JOBS("Submit"), "{'spec':{'kind':'noop','hold':true}}");
    assert_has(call(JOBS("Edit"), "{'ids':['1'],'changes':{'priority':3,'name':'n',"
                                  "'timeout_usec':7,'kill_after_usec':8}}"),
               "'count':1");
    assert_has(shown("1"),
               "'edited':['priority','name','timeout_usec','kill_after_usec']");
    assert_has(shown("1"), "'name':'n'");
    assert_has(shown("1"), "'priority':3");
    assert_has(shown("1"), "'timeout_usec':7");
    assert_has(shown("1"), "'kill_after_usec':8");
    assert_has(call(JOBS("Edit"), "{'filter':{},'changes':{'priority':-1,'name':null}}"),
               "'count':2");
    assert_has(shown("2"), "'edited':['priority']");
    assert_has(shown("2"), "'priority':-1");
    assert_has(shown("1"), "'name':'n'");
    assert_has(call(JOBS("Edit"), "{'ids':['1','2'],'first':true}"), "'count':2");
    assert_has(shown("2"), "'edited':['first','priority']");
    (void)call(JOBS("Release"), "{'ids':['1','2']}");
    (void)wait_for("'1','2'");
}

static void refusals(void **state)
{
    (void)state;
    (void)call(JOBS("Submit"), "{'spec':{'kind':'noop','hold':true}}");
    (void)call(JOBS("Submit"),
               "{'spec':{'kind':'noop','hold':true,'array':{'first':1,'last':2}}}");
    refuses(JOBS("Edit"), "{'ids':['1']}", "InvalidParameter", "changes");
    refuses(JOBS("Edit"), "{'ids':['1'],'changes':{}}", "InvalidParameter", "changes");
    refuses(JOBS("Edit"), "{'ids':['1'],'changes':7}", "InvalidParameter", "changes");
    refuses(JOBS("Edit"), "{'ids':['1'],'changes':{'argv':['x']}}", "InvalidParameter",
            "changes.argv");
    refuses(JOBS("Edit"), "{'ids':['1'],'changes':{'priority':1001}}", "InvalidParameter",
            "changes.priority");
    refuses(JOBS("Edit"), "{'ids':['1'],'changes':{'output_bytes':-1}}",
            "InvalidParameter", "changes.output_bytes");
    refuses(JOBS("Edit"), "{'ids':['1'],'changes':{'limits':{}}}", "InvalidParameter",
            "changes");
    refuses(JOBS("Edit"), "{'ids':['1'],'changes':{'limits':{'pids_max':-2}}}",
            "InvalidParameter", "changes.limits.pids_max");
    refuses(JOBS("Edit"), "{'ids':['1'],'changes':{'limits':{'pids_max':7}}}",
            "InvalidParameter", "changes.limits.pids_max"); /* no cgroup here */
    refuses(JOBS("Edit"), "{'ids':['1'],'changes':{'claims':[{}]}}", "InvalidParameter",
            "changes.claims[0].name");
    refuses(JOBS("Edit"), "{'filter':{},'first':true}", "InvalidParameter", "first");
    refuses(JOBS("Edit"), "{'changes':{'priority':1}}", "InvalidParameter", "ids");
    refuses(JOBS("Edit"), "{'ids':['77'],'changes':{'priority':1}}", "NoSuchJob", "");
    refuses_with("{'ids':['2_1'],'changes':{'priority':1}}",
                 "job 2_1 is an element: an array is edited as a whole");
    refuses_with("{'ids':['1'],'changes':{'queue':'x'}}", "job 1: there is no queue x");
    refuses_with("{'filter':{},'changes':{'queue':'x'}}", "there is no queue x");
    refuses_with("{'ids':['1'],'changes':{'claims':[{'name':'x'}]}}",
                 "without a process");
    refuses_with("{'ids':['1'],'changes':{'at_usec':9,'start_by_usec':8}}",
                 "job 1: start_by_usec: is before at_usec");
    (void)call(JOBS("Release"), "{'ids':['1']}");
    (void)wait_for("'1'");
    refuses_with("{'ids':['1'],'changes':{'priority':1}}", "job 1 has ended");
}

/* By id or by key; what is so is shown, and goes on over other edits. */
static void antecedents(void **state)
{
    (void)state;
    (void)call(JOBS("Submit"), "{'spec':{'kind':'noop','hold':true}}");
    (void)call(JOBS("Submit"), "{'spec':{'kind':'noop','hold':true,'key':'k'}}");
    (void)call(JOBS("Submit"), "{'spec':{'kind':'noop','hold':true}}");
    assert_has(call(JOBS("Edit"), "{'ids':['1'],'changes':{'after':[{'key':'k',"
                                  "'when':'any'},{'job':'3'}]}}"),
               "'count':1");
    assert_has(shown("1"), "'after':[{'job':'2','when':'any'},{'job':'3','when':'ok'}]");
    assert_has(shown("1"), "'edited':['after']");
    assert_has(call(JOBS("Edit"), "{'ids':['1'],'changes':{'priority':-1}}"),
               "'count':1");
    assert_has(shown("1"), "'job':'2'");
    refuses_with("{'ids':['2'],'changes':{'after':[{'job':'1'}]}}",
                 "job 2: after: jobs that wait for each other: 2 -> 1 -> 2");
    refuses(JOBS("Edit"), "{'ids':['2'],'changes':{'after':[{'local':'x'}]}}",
            "InvalidParameter", "changes.after");
    refuses(JOBS("Edit"), "{'ids':['2'],'changes':{'after':[{'job':'x'}]}}",
            "InvalidParameter", "changes.after[0].job");
    refuses_with("{'ids':['2'],'changes':{'after':[{'job':'77'}]}}",
                 "after: job 77 is not known");
    refuses_with("{'ids':['2'],'changes':{'after':[{'key':'x'}]}}",
                 "after: none of your jobs has the key");
    assert_has(call(JOBS("Edit"), "{'filter':{},'changes':{'after':[]}}"), "'count':3");
    lacks(shown("1"), "'after':[{");
    lacks(shown("2"), "'edited'");
    (void)call(JOBS("Release"), "{'filter':{}}");
    (void)wait_for("'1','2','3'");
}

/* Of several that are named none is changed where one is refused; of those that match
 * the ones before it are, and it is said. */
static void all_or_none(void **state)
{
    (void)state;
    (void)call(JOBS("Submit"), "{'spec':{'kind':'noop','hold':true}}");
    (void)call(JOBS("Submit"), "{'spec':{'kind':'noop','hold':true}}");
    (void)call(JOBS("Submit"), "{'spec':{'kind':'noop','hold':true}}");
    refuses_with("{'ids':['1','2','3'],'changes':{'after':[{'job':'3'}]}}",
                 "job 3: after: jobs that wait for each other: 3 -> 3'");
    lacks(shown("1"), "'edited'");
    refuses_with("{'filter':{},'changes':{'after':[{'job':'3'}]}}",
                 "3 -> 3; 2 jobs before it: edited'");
    assert_has(shown("2"), "'edited':['after']");
    (void)call(JOBS("Edit"), "{'filter':{},'changes':{'after':[]}}");
    refuses_with("{'filter':{},'changes':{'after':[{'job':'2'}]}}",
                 "2 -> 2; 1 job before it: edited'");
    (void)call(JOBS("Release"), "{'filter':{}}");
    (void)wait_for("'1','2','3'");
}

#define T(test) cmocka_unit_test_setup_teardown(test, whole_setup, whole_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {T(changes), T(refusals), T(antecedents),
                                       T(all_or_none)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
