/* Files of leases: what they say and whether they are held, and what a voltd that starts
 * makes of them. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/crc.h"
#include "daemon/dispatch/dispatch.h"
#include "daemon/lease/lease_file.h"
#include "daemon/lease/leasing.h"
#include "tests/support/memory_store.h"
#include "tests/support/bare_core.h"
#include "tests/support/scratch.h"

enum { UID = 1000 };

static struct core core;
static struct store *memory;
static uint64_t latest;
static struct volt_error err;

static int setup(void **state)
{
    (void)state;
    memory = store_memory_new();
    assert_non_null(memory);
    bare_core_init(&core, NULL, memory, 1);
    core.dispatcher.on = true;
    latest = 100;
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    bare_core_fini(&core);
    store_free(memory);
    return 0;
}

static struct lease_ask ask_of(uid_t uid, const char *name, enum job_claim_mode mode)
{
    return (struct lease_ask){
        .id = ++latest,
        .uid = uid,
        .claim = {.name = (char *)(uintptr_t)name, .mode = mode, .permits = 1},
        .pid = (pid_t)latest,
        .command = "make all",
        .since_usec = 5};
}

static void end(struct lease *l)
{
    struct tx tx;

    core_begin(&tx, &core);
    leases_end(&tx, l);
    dispatch_finish(&tx);
}

static void end_all(void)
{
    struct lease *l;

    while ((l = leases_next(&core, UID, NULL)))
        end(l);
}

/* --- files -------------------------------------------------------------------------- */

static char dir[SCRATCH_MAX];
static int dir_fd = -1;

static int make_dir(void **state)
{
    (void)state;
    if (scratch_make(dir) < 0)
        return -1;
    dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return dir_fd < 0 ? -1 : 0;
}

static int remove_dir(void **state)
{
    (void)state;
    close(dir_fd);
    return scratch_remove(dir);
}

static struct lease_ask ask_for_file(void)
{
    struct lease_ask a = ask_of(UID, "db", JOB_CLAIM_PERMITS);

    a.id = 17;
    a.claim.permits = 3;
    a.claim.had = 4;
    a.pid = 6;
    a.since_usec = 7;
    a.in_job = (struct job_key){.id = 8, .index = 9};
    a.in_lease = 10;
    return a;
}

static void a_file_says_what_it_is_and_whether_it_is_held(void **state)
{
    const struct lease_ask a = ask_for_file();
    struct lease_file_contents told;
    struct stat st;
    int fd = -1;

    (void)state;
    assert_int_equal(lease_file_is_held(dir_fd, 17), 0); /* there is none */
    assert_int_equal(lease_file_read(dir_fd, 17, &told), -ENOENT);
    assert_int_equal(lease_file_make(dir_fd, &a, false, &fd), 0);
    assert_int_equal(lease_file_make(dir_fd, &a, false, &fd), -EEXIST);
    assert_int_equal(lease_file_is_held(dir_fd, 17), 1);
    assert_int_equal(fstat(fd, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    assert_int_equal(fcntl(fd, F_GETFL) & O_ACCMODE, O_RDONLY);
    assert_int_equal(lease_file_read(dir_fd, 17, &told), 0);
    assert_string_equal(told.ask.claim.name, "db");
    assert_string_equal(told.ask.command, "make all");
    assert_int_equal(told.ask.id, 17);
    assert_int_equal(told.ask.uid, UID);
    assert_int_equal(told.ask.claim.mode, JOB_CLAIM_PERMITS);
    assert_int_equal(told.ask.claim.permits, 3);
    assert_int_equal(told.ask.claim.had, 4);
    assert_int_equal(told.ask.pid, 6);
    assert_int_equal(told.ask.since_usec, 7);
    assert_int_equal(told.ask.in_job.id, 8);
    assert_int_equal(told.ask.in_job.index, 9);
    assert_int_equal(told.ask.in_lease, 10);
    int copy = dup(fd);
    close(fd);
    assert_int_equal(lease_file_is_held(dir_fd, 17), 1);
    close(copy);
    assert_int_equal(lease_file_is_held(dir_fd, 17), 0);
    assert_int_equal(lease_file_remove(dir_fd, 17), 0);
    assert_int_equal(lease_file_remove(dir_fd, 17), -ENOENT);
}

static void a_file_says_whether_it_waits(void **state)
{
    const struct lease_ask a = ask_for_file();
    struct lease_file_contents told;
    int fd = -1;

    (void)state;
    assert_int_equal(lease_file_give(dir_fd, 17, 77, 5), -ENOENT);
    assert_int_equal(lease_file_make(dir_fd, &a, true, &fd), 0);
    assert_int_equal(lease_file_read(dir_fd, 17, &told), 0);
    assert_true(told.waits);
    assert_int_equal(lease_file_give(dir_fd, 17, 77, 5), 0);
    assert_int_equal(lease_file_is_held(dir_fd, 17), 1);
    assert_int_equal(lease_file_read(dir_fd, 17, &told), 0);
    assert_false(told.waits);
    assert_int_equal(told.ask.since_usec, 77);
    assert_int_equal(told.ask.claim.had, 5);
    assert_string_equal(told.ask.claim.name, "db");
    assert_int_equal(told.ask.claim.permits, 3);
    assert_int_equal(told.ask.in_lease, 10);
    close(fd);
    assert_int_equal(lease_file_is_held(dir_fd, 17), 0);
}

/* One without the last member. */
static void a_file_of_an_earlier_version_is_of_one_that_is_held(void **state)
{
    enum { SIZE = 472, HEAD = 8 };
    const struct lease_ask a = ask_for_file();
    struct lease_file_contents told;
    unsigned char bytes[SIZE];
    int held_fd = -1;

    (void)state;
    assert_int_equal(lease_file_make(dir_fd, &a, true, &held_fd), 0);
    int fd = openat(dir_fd, "17", O_RDWR | O_CLOEXEC);
    assert_int_equal(pread(fd, bytes, SIZE, 0), SIZE);
    const uint32_t head[] = {crc32c(0, bytes + HEAD, SIZE - HEAD), 0};
    memcpy(bytes, head, sizeof(head));
    assert_int_equal(pwrite(fd, bytes, SIZE, 0), SIZE);
    assert_int_equal(ftruncate(fd, SIZE), 0);
    assert_int_equal(lease_file_read(dir_fd, 17, &told), 0);
    assert_false(told.waits);
    assert_string_equal(told.ask.command, "make all");
    close(fd);
    close(held_fd);
}

/* Each byte of it. */
static void a_damaged_file_is_refused(void **state)
{
    const struct lease_ask a = ask_for_file();
    struct lease_file_contents told;
    struct stat st;
    int held_fd = -1;

    (void)state;
    assert_int_equal(lease_file_make(dir_fd, &a, false, &held_fd), 0);
    int fd = openat(dir_fd, "17", O_RDWR | O_CLOEXEC);
    assert_int_equal(fstat(fd, &st), 0);
    for (off_t at = 0; at < st.st_size; at++) {
        char byte;
        assert_int_equal(pread(fd, &byte, 1, at), 1);
        const char other = (char)(byte ^ 1);
        assert_int_equal(pwrite(fd, &other, 1, at), 1);
        assert_int_equal(lease_file_read(dir_fd, 17, &told),
                         at > 4 && at < 8 ? -EPROTONOSUPPORT /* a later version */
                                          : -EBADMSG);
        assert_int_equal(pwrite(fd, &byte, 1, at), 1);
    }
    assert_int_equal(renameat(dir_fd, "17", dir_fd, "18"), 0);
    assert_int_equal(lease_file_read(dir_fd, 18, &told), -EBADMSG); /* another id */
    assert_int_equal(ftruncate(fd, st.st_size - 1), 0);
    assert_int_equal(renameat(dir_fd, "18", dir_fd, "17"), 0);
    assert_int_equal(lease_file_read(dir_fd, 17, &told), -EBADMSG);
    assert_int_equal(ftruncate(fd, 8), 0); /* what tells its version, and no more */
    assert_int_equal(lease_file_read(dir_fd, 17, &told), -EBADMSG);
    assert_int_equal(ftruncate(fd, 7), 0);
    assert_int_equal(lease_file_read(dir_fd, 17, &told), -EBADMSG);
    assert_int_equal(ftruncate(fd, 0), 0);
    assert_int_equal(lease_file_read(dir_fd, 17, &told), -EBADMSG);
    close(fd);
    close(held_fd);
}

struct found {
    uint64_t sum;
    int n, r, replaces; /* the descriptor that is read, or -1 */
};

static int find(uint64_t id, void *arg)
{
    struct found *f = arg;

    f->sum += id;
    f->n++;
    if (f->replaces >= 0) { /* by one that is no directory */
        int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
        assert_int_equal(dup2(null, f->replaces), f->replaces);
        close(null);
    }
    return f->r;
}

static void make_files(void)
{
    struct lease_ask a = ask_for_file();
    int fd;

    for (a.id = 17; a.id < 20; a.id++) {
        assert_int_equal(lease_file_make(dir_fd, &a, false, &fd), 0);
        close(fd);
    }
    fd = openat(dir_fd, "other", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    close(fd);
}

static void all_files_are_found_or_it_is_said(void **state)
{
    struct found f = {.replaces = -1};

    (void)state;
    make_files();
    for (int turn = 1; turn <= 2; turn++) {
        assert_int_equal(lease_dir_scan(dir_fd, find, &f), 0);
        assert_int_equal(f.n, 3 * turn);
        assert_int_equal(f.sum, (17 + 18 + 19) * turn);
    }
    f = (struct found){.r = -EBADMSG, .replaces = -1};
    assert_int_equal(lease_dir_scan(dir_fd, find, &f), -EBADMSG);
    assert_int_equal(f.n, 1);
    f = (struct found){.r = 1, .replaces = -1};
    assert_int_equal(lease_dir_scan(dir_fd, find, &f), 0);
    assert_int_equal(f.n, 3);
    f = (struct found){.replaces = dup(dir_fd)}; /* the lowest that is free */
    close(f.replaces);
    assert_int_equal(lease_dir_scan(dir_fd, find, &f), -ENOTDIR);
    assert_int_equal(dup(dir_fd), f.replaces); /* it was closed */
    close(f.replaces);
}

static void one_descriptor_too_few_is_called_so(void **state)
{
    struct found f = {.replaces = -1};
    struct rlimit before, none;

    (void)state;
    make_files();
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    const int next = dup(dir_fd);
    close(next);
    none = (struct rlimit){.rlim_cur = (rlim_t)next, .rlim_max = before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    const int r = lease_dir_scan(dir_fd, find, &f);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(r, -EMFILE);
    assert_int_equal(f.n, 0);
}

static int make_both(void **state)
{
    return setup(state) < 0 ? -1 : make_dir(state);
}

static int remove_both(void **state)
{
    teardown(state);
    return remove_dir(state);
}

static void change_byte(int fd, off_t at)
{
    char byte;

    assert_int_equal(pread(fd, &byte, 1, at), 1);
    byte ^= 1;
    assert_int_equal(pwrite(fd, &byte, 1, at), 1);
}

/* What stands in the way is named; without that it is opened. */
static void open_leases(const char *said, uint64_t max_id)
{
    uint64_t max = 0;

    const int r = leasing_open(&core, dir_fd, &max, &err);
    assert_int_equal(r == 0, said == NULL);
    if (said)
        assert_string_equal(err.text, said);
    assert_int_equal(max, max_id);
    leasing_free(core.parts.leasing);
    core.parts.leasing = NULL;
}

/* More than fit at first, made from the last to the first. */
static void places_are_taken_up_in_their_order(int leases)
{
    enum { N = 100 };
    struct lease_ask a = ask_for_file();
    uint64_t before = 0;
    int fd[N], n = 0;

    for (int i = 0; i < N; i++) {
        a.id = (uint64_t)(200 - (i * 37) % N);
        assert_int_equal(lease_file_make(leases, &a, true, &fd[i]), 0);
    }
    open_leases(NULL, 200);
    for (const struct lease *l = NULL; (l = leases_next(&core, UID, l)); n++) {
        assert_true(l->id > before);
        before = l->id;
    }
    assert_int_equal(n, N);
    end_all();
    for (int i = 0; i < N; i++)
        close(fd[i]);
    open_leases(NULL, 200); /* which are removed */
}

static void a_file_in_the_way_of_the_start_is_named(void **state)
{
    const struct lease_ask a = ask_for_file();
    int held_fd = -1, leases = lease_dir_open(dir_fd);

    (void)state;
    assert_true(leases >= 0);
    assert_int_equal(lease_file_make(leases, &a, false, &held_fd), 0);
    int fd = openat(leases, "17", O_RDWR | O_CLOEXEC);
    change_byte(fd, 100);
    open_leases("the file leases/17 of the state: it is held, and damaged", 17);
    change_byte(fd, 100);
    change_byte(fd, 5);
    open_leases(
        "the file leases/17 of the state: it is held, and a newer voltd has made it", 17);
    change_byte(fd, 5);
    open_leases(NULL, 17);
    end_all();
    close(fd);
    close(held_fd);
    open_leases(NULL, 17); /* which is removed */
    places_are_taken_up_in_their_order(leases);
    open_leases(NULL, 0);
    close(leases);
    assert_int_equal(unlinkat(dir_fd, "leases", AT_REMOVEDIR), 0);
    close(openat(dir_fd, "leases", O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    open_leases("the directory leases of the state: Not a directory", 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_file_says_what_it_is_and_whether_it_is_held,
                                        make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(a_file_says_whether_it_waits, make_dir,
                                        remove_dir),
        cmocka_unit_test_setup_teardown(
            a_file_of_an_earlier_version_is_of_one_that_is_held, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(a_damaged_file_is_refused, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(a_file_in_the_way_of_the_start_is_named,
                                        make_both, remove_both),
        cmocka_unit_test_setup_teardown(all_files_are_found_or_it_is_said, make_dir,
                                        remove_dir),
        cmocka_unit_test_setup_teardown(one_descriptor_too_few_is_called_so, make_dir,
                                        remove_dir),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
