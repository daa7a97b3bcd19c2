/* Survivors: a pid and a start time are one process; the end of an attempt names them. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "daemon/keeper/tree.h"
#include "daemon/run/attempt.h"
#include "daemon/run/survivors.h"
#include "tests/support/bare_core.h"

static bool no_memory;

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_malloc(size_t size)
{
    return no_memory ? NULL : __real_malloc(size);
}

void *__real_reallocarray(void *old, size_t n, size_t size);
void *__wrap_reallocarray(void *old, size_t n, size_t size);
void *__wrap_reallocarray(void *old, size_t n, size_t size)
{
    return no_memory ? NULL : __real_reallocarray(old, n, size);
}

static pid_t sleeper(void)
{
    pid_t pid = fork();

    if (pid == 0) {
        (void)pause();
        _exit(0);
    }
    assert_true(pid > 0);
    return pid;
}

static void a_process_lives_until_it_is_dead(void **state)
{
    const pid_t pid = sleeper();
    struct job_named named = {.pid = {(uint32_t)getpid(), (uint32_t)pid}};
    siginfo_t info;

    (void)state;
    survivors_note(&named, mono_usec());
    assert_true(named.start[0] && named.start[1] && !named.start[2]);
    assert_true(survivor_lives(&named, 0) && survivor_lives(&named, 1));
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
    assert_false(survivor_lives(&named, 1)); /* it is not reaped yet */
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_false(survivor_lives(&named, 1));
    assert_true(survivor_lives(&named, 0));
}

static void another_process_with_its_pid_is_none(void **state)
{
    struct job_named named = {.pid = {(uint32_t)getpid()}};

    (void)state;
    assert_true(survivor_lives(&named, 0)); /* of a store that has no start times */
    survivors_note(&named, mono_usec());
    named.start[0]++;
    assert_false(survivor_lives(&named, 0));
}

/* It was seen when the machine began: what has the pid now came after it. */
static void what_began_later_is_none(void **state)
{
    struct job_named named = {.pid = {(uint32_t)getpid()}};

    (void)state;
    survivors_note(&named, 0);
    assert_int_not_equal(named.start[0], 0);
    assert_false(survivor_lives(&named, 0));
}

/* No file can be opened: that says nothing about the process. */
static void what_cannot_be_read_lives_on(void **state)
{
    struct job_named named = {.pid = {(uint32_t)getpid()}, .start = {1}};
    struct rlimit files, none;

    (void)state;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
    none = (struct rlimit){.rlim_cur = 0, .rlim_max = files.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    survivors_note(&named, mono_usec());
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &files), 0);
    assert_int_equal(named.start[0], 0);
    assert_true(survivor_lives(&named, 0));
}

/* An attempt that has begun has what it takes to name what it leaves. */
static void an_end_names_them_without_memory(void **state)
{
    const struct job_key key = {.id = 1, .index = JOB_NO_INDEX, .attempt = 1};
    struct job job = {.id = key.id, .kind = JOB_KIND_EXEC, .spec = job_spec_new()};
    struct core core;
    struct work w = {.core = &core, .job = &job, .offset = NO_OFFSET, .adopted = true};

    (void)state;
    bare_core_init(&core, NULL, NULL, 1);
    no_memory = true;
    work_prepare(NULL, &w, &key);
    assert_null(w.attempt);
    no_memory = false;
    work_prepare(NULL, &w, &key);
    w.attempt->state.phase = ATTEMPT_RUNNING;
    w.attempt->record =
        (struct record){.verdict = RECORD_DONE,
                        .exited = {.end = RECORD_END_EXIT,
                                   .mono_usec = mono_usec(),
                                   .survivors = 1,
                                   .survivor = {(uint32_t)getpid()}}};
    no_memory = true;
    attempt_take(NULL, &w, ON_OVER);
    no_memory = false;
    assert_int_equal(w.attempt->state.phase, ATTEMPT_ENDING);
    assert_int_equal(w.attempt->end.survivors, 1);
    const struct job_named *named = w.attempt->end.named;
    assert_non_null(named);
    attempt_free(w.attempt);
    assert_int_equal(named->pid[0], getpid());
    assert_true(survivor_lives(named, 0));
    bare_core_fini(&core);
    job_spec_unref(job.spec);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_process_lives_until_it_is_dead),
        cmocka_unit_test(another_process_with_its_pid_is_none),
        cmocka_unit_test(what_began_later_is_none),
        cmocka_unit_test(what_cannot_be_read_lives_on),
        cmocka_unit_test(an_end_names_them_without_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
