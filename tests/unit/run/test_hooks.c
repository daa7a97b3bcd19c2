/* Hooks of an attempt: what they put together for the keeper, and that nothing is left of
 * it where one of them fails. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "daemon/run/attempt.h"
#include "daemon/run/hook.h"
#include "tests/support/bare_core.h"
#include "tests/support/scratch.h"

static struct core core;
static struct job_spec *spec;
static struct keeper_start_args args;
static const char *step;

static int setup(void **state)
{
    static char socket_path[] = "/x";

    (void)state;
    bare_core_init(&core, NULL, NULL, 1);
    core.parts.run->socket = socket_path;
    spec = job_spec_new();
    assert_non_null(spec);
    spec->argv = calloc(2, sizeof(*spec->argv));
    spec->argv[0] = strdup("/bin/true");
    spec->input = calloc(1, sizeof(*spec->input) + 3);
    spec->input->n = 3;
    memcpy(spec->input->bytes, "abc", 3);
    args = (struct keeper_start_args){.launch_fd = -1,
                                      .stdin_fd = -1,
                                      .stdout_fd = -1,
                                      .stderr_fd = -1,
                                      .script_fd = -1};
    step = NULL;
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    job_spec_unref(spec);
    bare_core_fini(&core);
    return 0;
}

static int prepare_again(bool again)
{
    const struct job_key key = {.id = 7, .index = JOB_NO_INDEX, .attempt = 1};

    return hooks_prepare(NULL, &(struct preparing){&core, spec, &key, again, &args},
                         &step);
}

static int prepare(void)
{
    return prepare_again(false);
}

static void check_closed(void)
{
    assert_int_equal(args.stdin_fd, -1);
    assert_int_equal(args.stdout_fd, -1);
    assert_int_equal(args.stderr_fd, -1);
    assert_int_equal(args.launch_fd, -1);
    assert_null(args.launch);
}

static void all_of_them_prepare(void **state)
{
    char text[8];

    (void)state;
    spec->output = JOB_OUTPUT_NULL;
    spec->kill_mode = JOB_KILL_MAIN;
    assert_int_equal(prepare(), 0);
    assert_int_equal(pread(args.stdin_fd, text, sizeof(text), 0), 3);
    assert_memory_equal(text, "abc", 3);
    assert_true(pwrite(args.stdin_fd, "x", 1, 0) < 0); /* nobody can change it */
    assert_int_equal(args.stdout_fd, -1);
    assert_non_null(args.launch);
    assert_int_equal(args.umask, 022);
    assert_int_equal(args.kill_mode, KEEPER_KILL_MAIN);
    hooks_close(&args);
    check_closed();
}

/* Those in force go with START, the others are none. */
static void limits_go_along(void **state)
{
    (void)state;
    spec->output = JOB_OUTPUT_NULL;
    assert_int_equal(prepare(), 0);
    assert_null(args.limits);
    hooks_close(&args);
    spec->cgroup.memory_max = 1 << 20;
    spec->cgroup_default.cpu_max = 50;
    assert_int_equal(prepare(), 0);
    assert_int_equal(args.limits->memory_max, 1 << 20);
    assert_int_equal(args.limits->cpu_max, 50);
    assert_true(args.limits->pids_max == KEEPER_NO_LIMIT);
    hooks_close(&args);
    assert_null(args.limits);
}

/* There is no directory of outputs here. */
static void one_fails_and_nothing_is_left(void **state)
{
    (void)state;
    int free_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    assert_true(free_fd >= 0);
    close(free_fd);
    assert_true(prepare() < 0);
    assert_string_equal(step, "output");
    check_closed();
    assert_int_equal(open("/dev/null", O_RDONLY | O_CLOEXEC), free_fd);
    close(free_fd);
}

/* The name of a job is one part of a path, and none that leads out of its folder. */
static void names_in_paths(void **state)
{
    static const struct {
        const char *name, *path;
    } cases[] = {
        {"a", "/x/a.7"},   {"a/b/", "/x/a_b_.7"}, {".", "/x/_.7"},
        {"..", "/x/__.7"}, {"...", "/x/....7"},   {"a.", "/x/a..7"},
    };
    struct launch l;

    (void)state;
    spec->output = JOB_OUTPUT_PATH;
    spec->output_path = strdup("/x/{name}.{id}");
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        free(spec->name);
        spec->name = strdup(cases[i].name);
        assert_int_equal(prepare(), 0);
        assert_int_equal(launch_decode(args.launch, args.launch_size, &l), 0);
        assert_string_equal(l.stdout_path, cases[i].path);
        hooks_close(&args);
    }
}

static ino_t file_of(int fd)
{
    struct stat st;

    assert_int_equal(fstat(fd, &st), 0);
    return st.st_ino;
}

static int spare_file(struct outputs *o, uint32_t number, const char *name)
{
    int fd = openat(o->spare_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

    assert_true(fd >= 0);
    o->spare[o->nspare++] = number;
    return fd;
}

/* A new attempt takes a spare file; one that is started again has the file that it had, or
 * gets one. */
static void files_of_outputs(void **state)
{
    char dir[SCRATCH_MAX];
    struct outputs *o = &core.outputs;
    ino_t first, second;

    (void)state;
    assert_int_equal(scratch_make(dir), 0);
    int at = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(outputs_open(o, at, dir), 0);
    int spare = spare_file(o, 1, "1");
    first = file_of(spare);
    assert_int_equal(close(spare), 0);
    assert_int_equal(prepare(), 0);
    assert_int_equal(o->nspare, 0);
    assert_true(file_of(args.stdout_fd) == first);
    assert_int_equal(args.stderr_fd, -1);
    assert_int_equal(write(args.stdout_fd, "abc", 3), 3);
    hooks_close(&args);

    spare = spare_file(o, 2, "2");
    second = file_of(spare);
    assert_int_equal(close(spare), 0);
    spec->output_split = true;
    assert_int_equal(prepare_again(true), 0);
    assert_true(file_of(args.stdout_fd) == first);
    assert_int_equal(lseek(args.stdout_fd, 0, SEEK_END), 3);
    assert_true(file_of(args.stderr_fd) == second);
    hooks_close(&args);
    outputs_close(o);
    close(at);
    assert_int_equal(scratch_remove(dir), 0);
}

/* A job that was cancelled in the queue has had no attempt. */
static void without_an_attempt_there_is_nothing_to_do(void **state)
{
    struct work w = {.core = &core};

    (void)state;
    hooks_exited(NULL, &w);
    hooks_retired(&w);
    assert_null(w.printed);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(all_of_them_prepare),
        T(limits_go_along),
        T(one_fails_and_nothing_is_left),
        T(names_in_paths),
        T(files_of_outputs),
        T(without_an_attempt_there_is_nothing_to_do),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
