/* A START that the keeper cannot carry out: nobody has its record any more, so that voltd
 * sees that it never ran; and what is no record is not taken for one. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>

#include "daemon/keeper/keeper.h"
#include "daemon/keeper/shim_pool.h"
#include "daemon/link/record_make.h"
#include "tests/support/scratch.h"

static char dir[SCRATCH_MAX];
static int dir_fd;
static uint8_t boot[RECORD_ID_SIZE];
static const struct job_key key = {.id = 7, .index = JOB_NO_INDEX, .attempt = 1};
static unsigned asked;

pid_t __wrap_shim_pool_start(const struct shim_args *args, bool may_reuse);

/* Linked in the place of shim_pool_start(): no shim is to be had. */
pid_t __wrap_shim_pool_start(const struct shim_args *args, bool may_reuse)
{
    (void)may_reuse;
    assert_true(args->fd[SHIM_RECORD] >= 0);
    asked++;
    return -EMFILE;
}

static int setup(void **state)
{
    (void)state;
    asked = 0;
    if (scratch_make(dir) < 0)
        return -1;
    dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return dir_fd < 0 ? -1 : record_boot_id(boot);
}

static int teardown(void **state)
{
    (void)state;
    (void)close(dir_fd);
    return scratch_remove(dir);
}

/* What START is answered. */
static int start(int record)
{
    struct {
        struct keeper_start start;
        char launch[8];
    } m = {.start = {.flags = KEEPER_START_INLINE,
                     .key = keeper_key_pack(&key),
                     .launch_size = sizeof(m.launch),
                     .kill_mode = KEEPER_KILL_TREE}};

    return start_job(&m.start, &record, true);
}

static enum record_verdict verdict(void)
{
    struct record record;

    assert_int_equal(record_probe(dir_fd, &key, boot, &record), 0);
    return record.verdict;
}

static void without_a_shim(void **state)
{
    uint32_t seed;
    int fd = record_create(dir_fd, NULL, &key, boot, KEEPER_KILL_TREE, &seed);

    (void)state;
    assert_true(fd >= 0);
    assert_int_equal(start(fd), -EMFILE);
    assert_int_equal(asked, 1);
    assert_int_equal(verdict(), RECORD_RUNNING);
    (void)close(fd); /* as the keeper does with all of a message */
    assert_int_equal(verdict(), RECORD_NEVER_RAN);
}

static void what_is_no_record(void **state)
{
    int memory = memfd_create("record", MFD_CLOEXEC);

    (void)state;
    assert_int_equal(start(-1), -EBADF);
    assert_int_equal(start(dir_fd), -EBADMSG);
    assert_int_equal(start(memory), -EBADMSG); /* it is empty */
    (void)close(memory);
    assert_int_equal(asked, 0);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(without_a_shim),
        T(what_is_no_record),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
