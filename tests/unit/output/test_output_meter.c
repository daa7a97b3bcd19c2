/* How much a job has printed: it is looked at when that may have changed, and as often as
 * it is worth; and in any case its meter hears of too much. */
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <sys/inotify.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <volt/volt.h>

#include "daemon/output/output_meter.h"
#include "tests/support/scratch.h"

#define LIMIT 1000

static struct fixture {
    char dir[SCRATCH_MAX];
    int state_fd;
    struct outputs outputs;
    struct meters *meters;
    struct volt_runtime *rt;
    struct volt_join join;
    bool split;
} f;

static const struct job_key key = {.id = 5, .index = JOB_NO_INDEX, .attempt = 1};

static enum volt_poll user_poll(struct volt_cx *cx, void *state)
{
    return meter_poll(cx, state, f.meters, &f.outputs, &key, f.split, LIMIT);
}

static void user_drop(void *state)
{
    meter_fini(state);
}

static const struct volt_task_type user_type = {"user", sizeof(struct meter), user_poll,
                                                user_drop, NULL};

static int set_up_with(bool inotify)
{
    struct rlimit files, none;

    f = (struct fixture){.outputs = {.dir_fd = -1, .spare_fd = -1}};
    if (scratch_make(f.dir) < 0)
        return -1;
    f.state_fd = open(f.dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (outputs_open(&f.outputs, f.state_fd, f.dir) < 0)
        return -1;
    if (volt_runtime_new(&(struct volt_options){.workers = 1}, &f.rt) < 0)
        return -1;
    (void)getrlimit(RLIMIT_NOFILE, &files);
    none = (struct rlimit){.rlim_cur = 0, .rlim_max = files.rlim_max};
    if (!inotify) /* no descriptor, no instance */
        (void)setrlimit(RLIMIT_NOFILE, &none);
    int r = meters_open(&f.meters);
    (void)setrlimit(RLIMIT_NOFILE, &files);
    return r < 0 ? r : meters_start(f.meters, f.rt);
}

static int set_up(void **state)
{
    (void)state;
    return set_up_with(true);
}

static int set_up_without(void **state)
{
    (void)state;
    return set_up_with(false);
}

static int tear_down(void **state)
{
    (void)state;
    volt_runtime_free(f.rt);
    meters_free(f.meters);
    outputs_close(&f.outputs);
    close(f.state_fd);
    return scratch_remove(f.dir);
}

static void begin(void)
{
    assert_int_equal(volt_task_spawn(volt_task_new(f.rt, &user_type), &f.join), 0);
}

/* The meter has heard of too much. */
static void ends(void)
{
    assert_int_equal(volt_join_wait(&f.join), 0);
    volt_join_fini(&f.join);
}

/* It has looked so many times, at least. */
static void await_looks(uint64_t n)
{
    while (meters_looks(f.meters) < n)
        sched_yield();
}

static void print(int fd, size_t n)
{
    static const char bytes[2 * LIMIT];

    assert_int_equal(write(fd, bytes, n), n);
}

static void the_pause_is_what_the_rest_takes(void **state)
{
    const uint64_t gb = UINT64_C(1000000000);

    (void)state;
    assert_int_equal(meter_pause(0, 2 * gb, false), METER_MOST);
    assert_int_equal(meter_pause(0, 1000 * gb, false), METER_MOST);
    assert_int_equal(meter_pause(gb, 2 * gb, false), 500000);
    assert_int_equal(meter_pause(2 * gb - 20000000, 2 * gb, false), 10000);
    assert_int_equal(meter_pause(2 * gb - 1, 2 * gb, false), METER_LEAST);
    assert_int_equal(meter_pause(0, 1 << 20, false), METER_LEAST);
    assert_int_equal(meter_pause(10, 5, false), METER_LEAST);
    assert_int_equal(meter_pause(0, 1 << 20, true), METER_SLOW);
    assert_int_equal(meter_pause(gb, 2 * gb, true), 500000);
    assert_int_equal(meter_pause(0, 1000 * gb, true), METER_MOST);
}

/* Slow is little beside what may still be printed: near the limit nothing is. */
static void slow_is_little_beside_the_rest(void **state)
{
    (void)state;
    assert_true(meter_is_slow(0, 1, 1 << 20));
    assert_true(meter_is_slow(1 << 19, (1 << 19) + 100, 1 << 20));
    assert_false(meter_is_slow(0, 1 << 15, 1 << 20));
    assert_false(meter_is_slow((1 << 20) - 60, (1 << 20) - 50, 1 << 20));
    assert_false(meter_is_slow(1 << 20, 1 << 20, 1 << 20));
    assert_false(meter_is_slow(5, 10, 6));
}

static void too_much_is_heard_of(void **state)
{
    int fd = output_create(&f.outputs, &key, JOB_STDOUT);

    (void)state;
    begin();
    await_looks(2); /* it is quiet */
    print(fd, LIMIT);
    await_looks(3);
    print(fd, 1);
    ends();
    close(fd);
}

/* Each quiet time begins with a look after the watch: what came between is seen. */
static void quiet_and_loud_in_turns(void **state)
{
    int fd = output_create(&f.outputs, &key, JOB_STDOUT);

    (void)state;
    begin();
    for (unsigned i = 0; i < 50; i++) {
        uint64_t looks = meters_looks(f.meters);
        print(fd, 1);
        await_looks(looks + 1 + i % 3);
    }
    print(fd, LIMIT);
    ends();
    close(fd);
}

static void both_files_count_together(void **state)
{
    int out = output_create(&f.outputs, &key, JOB_STDOUT);
    int err = output_create(&f.outputs, &key, JOB_STDERR);

    (void)state;
    f.split = true;
    begin();
    await_looks(2);
    print(err, LIMIT);
    await_looks(5); /* quiet again */
    print(out, 1);
    ends();
    close(out);
    close(err);
}

/* A job that prints byte by byte is not looked at byte by byte. */
static void small_writes_cost_little(void **state)
{
    int fd = output_create(&f.outputs, &key, JOB_STDOUT);

    (void)state;
    begin();
    await_looks(2);
    uint64_t before = volt_now_usec();
    for (unsigned i = 0; i < LIMIT; i++)
        print(fd, 1);
    uint64_t pauses = (volt_now_usec() - before) / METER_LEAST;
    assert_true(meters_looks(f.meters) <= 2 + 3 * (pauses + 1));
    print(fd, 1);
    ends();
    close(fd);
}

/* The inotify instance, the only one here. */
static int watches_fd(void)
{
    DIR *all = opendir("/proc/self/fd");
    char path[300], to[64];
    int fd = -1;

    for (struct dirent *e; (e = readdir(all)) && fd < 0;) {
        (void)snprintf(path, sizeof(path), "/proc/self/fd/%s", e->d_name);
        ssize_t n = readlink(path, to, sizeof(to) - 1);
        to[n < 0 ? 0 : n] = '\0';
        if (strcmp(to, "anon_inode:inotify") == 0)
            fd = atoi(e->d_name);
    }
    (void)closedir(all);
    assert_true(fd >= 0);
    return fd;
}

/* How many files it watches. */
static unsigned watches(void)
{
    char path[64], line[256];
    unsigned n = 0;

    (void)snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", watches_fd());
    FILE *info = fopen(path, "re");
    assert_non_null(info);
    while (fgets(line, sizeof(line), info))
        n += strncmp(line, "inotify wd:", 11) == 0;
    (void)fclose(info);
    return n;
}

/* A user has only so many watches. */
static void nothing_is_watched_when_a_job_has_ended(void **state)
{
    int out = output_create(&f.outputs, &key, JOB_STDOUT);
    int err = output_create(&f.outputs, &key, JOB_STDERR);

    (void)state;
    f.split = true;
    begin();
    while (watches() != 2)
        sched_yield();
    print(out, LIMIT + 1);
    ends();
    assert_int_equal(watches(), 0);
    close(out);
    close(err);
}

/* What has been there is counted when a new daemon comes. */
static void what_was_printed_before_counts(void **state)
{
    int fd = output_create(&f.outputs, &key, JOB_STDOUT);

    (void)state;
    print(fd, LIMIT + 1);
    begin();
    ends();
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_pause_is_what_the_rest_takes),
        cmocka_unit_test(slow_is_little_beside_the_rest),
        cmocka_unit_test_setup_teardown(too_much_is_heard_of, set_up, tear_down),
        cmocka_unit_test_setup_teardown(quiet_and_loud_in_turns, set_up, tear_down),
        cmocka_unit_test_setup_teardown(both_files_count_together, set_up, tear_down),
        cmocka_unit_test_setup_teardown(small_writes_cost_little, set_up, tear_down),
        cmocka_unit_test_setup_teardown(nothing_is_watched_when_a_job_has_ended, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(what_was_printed_before_counts, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(too_much_is_heard_of, set_up_without, tear_down),
        cmocka_unit_test_setup_teardown(both_files_count_together, set_up_without,
                                        tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
