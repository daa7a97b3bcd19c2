/* Why an attempt is lost that ran when an earlier voltd ended: by a reboot of the machine,
 * or else for want of its record. */
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>
#include <unistd.h>
#include <volt/volt.h>

#include "daemon/config/config.h"
#include "daemon/life/life.h"
#include "daemon/query/query.h"
#include "daemon/store/commit_log.h"
#include "tests/support/facts.h"
#include "tests/support/replay.h"

static const struct job_event starting = {
    .type = JOB_EV_STARTING, .at_usec = 200, .attempt = 1};
static const struct job_event started = {
    .type = JOB_EV_STARTED, .at_usec = 201, .pid = 7};

/* Job 1 runs. boot: in which it began; 0: this one. */
static void leave(uint8_t boot)
{
    struct job_spec *spec = job_spec_new();
    struct store *s = replay_store(boot);

    spec->argv = calloc(2, sizeof(*spec->argv));
    spec->argv[0] = strdup("/bin/true");
    const struct store_fact facts[] = {fact_submit(1, 100, spec),
                                       fact_event(1, JOB_NO_INDEX, &starting),
                                       fact_event(1, JOB_NO_INDEX, &started)};
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(store_append(s, &facts[i], 1, NULL), 0);
    job_spec_unref(spec);
    store_free(s);
}

/* Until the next voltd knows that it is lost: why. */
static void lost(const char *step)
{
    const struct asker root = auth_voltd();
    const char *bin = getenv("VOLT_BIN");
    struct volt_error err = {{0}};
    struct volt_runtime *rt;
    struct config config;
    char keeper[PATH_MAX];
    struct core *core;
    struct job_view v;

    (void)snprintf(keeper, sizeof(keeper), "%s/voltd-keeper", bin ? bin : "build/bin");
    config_defaults(&config);
    assert_int_equal(volt_runtime_new(&(struct volt_options){.workers = 1}, &rt), 0);
    struct life_options o = {.config = &config,
                             .rt = rt,
                             .runtime_dir = replay_dir,
                             .state_dir = replay_dir,
                             .record_dir = replay_records,
                             .keeper_path = keeper,
                             .socket = "/x"};
    if (life_new(&o, &core, &err) < 0)
        fail_msg("%s", err.text);
    for (bool done = false; !done;) {
        assert_int_equal(query_get(core, &root, 1, -1, &v), 0);
        done = v.status.state == JOB_DONE;
        if (done) {
            assert_int_equal(v.status.result, JOB_RESULT_LOST);
            assert_string_equal(v.status.step, step);
        }
        job_view_fini(&v);
        (void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    assert_int_equal(volt_runtime_shutdown(rt, UINT64_MAX), 0);
    life_free(core);
    volt_runtime_free(rt);
}

static void damage_record(void)
{
    int dir = open(replay_records, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int fd = openat(dir, "1.1", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

    assert_true(fd >= 0);
    (void)close(fd);
    (void)close(dir);
}

static void a_reboot_has_taken_the_record(void **state)
{
    (void)state;
    leave(1);
    lost("reboot");
}

static void a_power_cut_has_left_a_name_without_bytes(void **state)
{
    (void)state;
    leave(1);
    damage_record();
    lost("reboot");
}

static void somebody_has_taken_the_record(void **state)
{
    (void)state;
    leave(0);
    lost("record missing");
}

static void somebody_has_emptied_the_record(void **state)
{
    (void)state;
    leave(0);
    damage_record();
    lost("record damaged");
}

#define T(f) cmocka_unit_test_setup_teardown(f, replay_setup, replay_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(a_reboot_has_taken_the_record),
        T(a_power_cut_has_left_a_name_without_bytes),
        T(somebody_has_taken_the_record),
        T(somebody_has_emptied_the_record),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
