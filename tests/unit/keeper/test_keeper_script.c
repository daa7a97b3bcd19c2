/* A keeper that is handed scripts: only such as cannot change any more, and a job runs
 * with its script or not at all. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>

#include "tests/support/keeper_job.h"

static int text_of(const char *bytes, size_t n, int seals)
{
    int fd = memfd_create("script", MFD_CLOEXEC | MFD_ALLOW_SEALING);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, n), n);
    assert_int_equal(fcntl(fd, F_ADD_SEALS, seals), 0);
    return fd;
}

/* The reply to a START of sh with SCRIPT, or alone: script_at 0. script -1: none. */
static int start(struct keeper_client *c, const struct job_key *key, size_t script_at,
                 int script)
{
    char *argv[] = {(char[]){"/bin/sh"}, (char[]){""}, NULL}, *env[] = {NULL};
    const struct launch l = {.cwd = c->dir,
                             .argv = argv,
                             .argc = script_at > 0 ? 2 : 1,
                             .env = env,
                             .script_at = script_at};
    union keeper_message m = {
        .start = {.head.op = KEEPER_START,
                  .key = keeper_key_pack(key),
                  .flags = KEEPER_START_INLINE,
                  .fds = script >= 0 ? KEEPER_FD_SCRIPT : 0,
                  .limits = KEEPER_NO_LIMITS,
                  .launch_size = (uint64_t)launch_encode(&l, NULL, 0)}};
    const int fds[] = {keeper_client_record(c, key, &m), script};
    assert_true(fds[0] >= 0);
    assert_true(launch_encode(&l, m.bytes + sizeof(m.start), KEEPER_INLINE_MAX) > 0);
    uint64_t serial = keeper_client_send(c, &m, sizeof(m.start) + m.start.launch_size,
                                         fds, script >= 0 ? 2 : 1);
    (void)close(fds[0]);
    int r = keeper_client_reply(c, serial).status;
    if (r < 0)
        assert_int_equal(keeper_client_remove(c, key), 0);
    return r;
}

static const int all = F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK;

static void one_that_may_change(void **state)
{
    static const int each[] = {F_SEAL_WRITE, F_SEAL_GROW, F_SEAL_SHRINK};
    struct keeper_client *c = *state;
    const struct job_key key = keeper_job_key();
    struct record r;

    for (size_t i = 0; i < 3; i++) {
        int fd = text_of("a\0exit 3", 8, all & ~each[i]);

        assert_int_equal(start(c, &key, 1, fd), -EBADMSG);
        (void)close(fd);
    }
    assert_int_equal(record_probe(c->record_fd, &key, c->boot_id, &r), 0);
    assert_int_equal(r.verdict, RECORD_ABSENT);
}

static void assert_failed(struct keeper_client *c, const struct job_key *key,
                          enum child_step step, int error)
{
    struct record r = keeper_client_wait(c, key);

    keeper_job_assert_end(&r, RECORD_END_EXEC_FAILED, error);
    assert_int_equal(r.exited.step, step);
}

/* This keeper has no folder for scripts. */
static void one_that_cannot_be_written(void **state)
{
    struct keeper_client *c = *state;
    const struct job_key key = keeper_job_key();
    int fd = text_of("a\0exit 3", 8, all);

    assert_int_equal(start(c, &key, 1, fd), 0);
    (void)close(fd);
    assert_failed(c, &key, CHILD_STEP_SCRIPT, ENOTDIR);
    const struct job_key other = keeper_job_key();
    assert_int_equal(start(c, &other, 0, -1), 0); /* its shim goes on */
    struct record r = keeper_client_wait(c, &other);
    keeper_job_assert_end(&r, RECORD_END_EXIT, 0);
}

static void a_place_for_none(void **state)
{
    struct keeper_client *c = *state;
    const struct job_key key = keeper_job_key();

    assert_int_equal(start(c, &key, 1, -1), 0);
    assert_failed(c, &key, CHILD_STEP_LAUNCH, EBADMSG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(one_that_may_change, keeper_client_setup,
                                        keeper_client_teardown),
        cmocka_unit_test_setup_teardown(one_that_cannot_be_written, keeper_client_setup,
                                        keeper_client_teardown),
        cmocka_unit_test_setup_teardown(a_place_for_none, keeper_client_setup,
                                        keeper_client_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
