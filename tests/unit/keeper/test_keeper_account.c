/* What a job is told of the account, by what the keeper's environment says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "daemon/job/account_path.def"
#include "daemon/keeper/account.h"
#include "daemon/keeper/protocol.h"

#define PATH_ "PATH=" ACCOUNT_PATH

/* What there is then beside `given`, of a keeper with this environment. */
static void check(char *const *environment, uid_t uid, char *const *given,
                  const char *const *want)
{
    char *env[16] = {NULL};
    struct launch l = {.env = env, .adds_account = true};

    while (given[l.envc]) {
        env[l.envc] = given[l.envc];
        l.envc++;
    }
    account_init(environment, uid);
    account_add(&l);
    for (size_t i = 0; i < l.envc; i++)
        assert_string_equal(env[i], want[i]);
    assert_null(want[l.envc]);
    assert_null(env[l.envc]);
}

#define LIST(...) ((char *const[]){__VA_ARGS__ __VA_OPT__(, ) NULL})
#define WANT(...) ((const char *const[]){__VA_ARGS__, NULL})

static void all_of_it(void **state)
{
    (void)state;
    check(LIST("X=1", "LANG=xx", "SHELL=/bin/zsh", "USER=alice", "HOME=/tmp",
               "LOGNAME=alice", "PATH=/elsewhere", "HOMES=/"),
          1000, LIST(),
          WANT("HOME=/tmp", "LOGNAME=alice", "USER=alice", "SHELL=/bin/zsh", PATH_,
               "LANG=xx"));
    assert_string_equal(account_home(), "/tmp");
    check(LIST("HOME=/tmp"), 0, LIST(),
          WANT("HOME=/tmp", "SHELL=/bin/sh", "PATH=" ACCOUNT_PATH_ROOT));
}

static void what_a_job_brings_stays(void **state)
{
    (void)state;
    check(LIST("HOME=/tmp", "USER=alice"), 1000,
          LIST("A=1", "HOME=/mine", "PATH=", "USERS=2"),
          WANT("USER=alice", "SHELL=/bin/sh", "A=1", "HOME=/mine", "PATH=", "USERS=2"));
    assert_string_equal(account_home(), "/tmp");
}

static void what_is_no_home_and_no_shell(void **state)
{
    static char *const homes[] = {"HOME=", "HOME=/does/not/exist", "HOME=tmp",
                                  "HOME=/dev/null", "OTHER="};
    static char *const shells[] = {"SHELL=", "SHELL=/usr/sbin/nologin",
                                   "SHELL=/bin/false", "SHELL=bash", "OTHER="};

    (void)state;
    for (size_t i = 0; i < sizeof(homes) / sizeof(*homes); i++) {
        check(LIST(homes[i], shells[i]), 1000, LIST(),
              WANT("HOME=/", "SHELL=/bin/sh", PATH_));
        assert_string_equal(account_home(), "/");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_of_it),
        cmocka_unit_test(what_a_job_brings_stays),
        cmocka_unit_test(what_is_no_home_and_no_shell),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
