/* A START that the keeper cannot carry out leaves no record, also where the keeper lacks
 * what its removal might need; and what it left half-made once is not in its way. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include <cmocka.h>

#include "daemon/keeper/shim_pool.h"
#include "daemon/keeper/keeper.h"
#include "tests/support/scratch.h"

static char dir[SCRATCH_MAX];
static struct keeper_self self;
static const struct job_key key = {.id = 7, .index = JOB_NO_INDEX, .attempt = 1};
static bool no_descriptors, no_removal;

pid_t __wrap_shim_pool_start(const struct shim_args *args, bool may_reuse, bool *ret_new);

/* Linked in the place of shim_pool_start(): no shim is to be had. */
pid_t __wrap_shim_pool_start(const struct shim_args *args, bool may_reuse, bool *ret_new)
{
    struct rlimit limit;

    (void)args;
    (void)may_reuse;
    (void)ret_new;
    if (no_descriptors) {
        assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
        limit.rlim_cur = 0;
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    }
    return -EMFILE;
}

int __real_unlinkat(int fd, const char *path, int flags);
int __wrap_unlinkat(int fd, const char *path, int flags);

int __wrap_unlinkat(int fd, const char *path, int flags)
{
    if (!no_removal)
        return __real_unlinkat(fd, path, flags);
    errno = EIO;
    return -1;
}

static int setup(void **state)
{
    (void)state;
    no_descriptors = no_removal = false;
    if (scratch_make(dir) < 0)
        return -1;
    self.record_dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return self.record_dir_fd < 0 ? -1 : 0;
}

static int teardown(void **state)
{
    (void)state;
    (void)close(self.record_dir_fd);
    return scratch_remove(dir);
}

/* What START is answered. */
static int start(void)
{
    struct {
        struct keeper_start start;
        char launch[8];
    } m = {.start = {.flags = KEEPER_START_INLINE,
                     .key = keeper_key_pack(&key),
                     .launch_size = sizeof(m.launch),
                     .kill_mode = KEEPER_KILL_TREE}};
    struct rlimit before;
    bool is_new;

    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    int r = start_job(&self, &m.start, NULL, true, &is_new);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    no_descriptors = no_removal = false;
    return r;
}

static bool is_there(const char *name)
{
    return faccessat(self.record_dir_fd, name, F_OK, 0) == 0;
}

static void without_a_descriptor(void **state)
{
    (void)state;
    no_descriptors = true;
    assert_int_equal(start(), -EMFILE);
    assert_false(is_there("7.1"));
}

/* voltd is told that there is a record, looks at it, and has it removed. */
static void what_cannot_be_removed_is_told(void **state)
{
    (void)state;
    no_removal = true;
    assert_int_equal(start(), -EEXIST);
    assert_true(is_there("7.1"));
}

/* A name of its own that is taken is no record, of which -EEXIST would tell. */
static void a_leftover_is_not_in_the_way(void **state)
{
    char name[32];

    (void)state;
    (void)snprintf(name, sizeof(name), ".%d.new", (int)getpid());
    (void)close(openat(self.record_dir_fd, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    assert_true(is_there(name));
    assert_int_equal(start(), -EMFILE);
    assert_false(is_there("7.1"));
    assert_false(is_there(name));
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(without_a_descriptor),
        T(what_cannot_be_removed_is_told),
        T(a_leftover_is_not_in_the_way),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
