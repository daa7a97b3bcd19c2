/* Attempts of a manager with a keeper, under a store that refuses what it is told to. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "daemon/config/config.h"
#include "daemon/exec/jobs.h"
#include "tests/support/scratch.h"
#include "tests/support/submission.h"

static const struct job_owner me = {.uid = 1234, .gid = 1234, .pid = 1};
static char base[SCRATCH_MAX], records[64], keeper[512];
static struct config config;
static struct volt_runtime *rt;
static struct manager *m;
static int record_fd;
static uint8_t boot[RECORD_ID_SIZE];

/* No end of this job can be stored: the Makefile redirects the calls. */
static uint64_t refused;
int __real_jobs_keep(struct manager *manager, struct job *job, int64_t offset,
                     const struct job_event *ev, bool last, struct store_commit *c,
                     struct aftermath *after);
int __wrap_jobs_keep(struct manager *manager, struct job *job, int64_t offset,
                     const struct job_event *ev, bool last, struct store_commit *c,
                     struct aftermath *after);

int __wrap_jobs_keep(struct manager *manager, struct job *job, int64_t offset,
                     const struct job_event *ev, bool last, struct store_commit *c,
                     struct aftermath *after)
{
    if (job->id != refused || !c || !ev || ev->type != JOB_EV_EXITED)
        return __real_jobs_keep(manager, job, offset, ev, last, c, after);
    *c = (struct store_commit){.status = -EIO};
    return -EIO;
}

static int setup(void **state)
{
    const char *bin = getenv("VOLT_BIN");
    struct manager_options o = {.config = &config,
                                .runtime_dir = base,
                                .state_dir = base,
                                .record_dir = records,
                                .keeper_path = keeper,
                                .address = "unix:/x"};
    struct volt_error err = {{0}};

    (void)state;
    assert_int_equal(scratch_make(base), 0);
    (void)snprintf(records, sizeof(records), "%s/rec", base);
    (void)snprintf(keeper, sizeof(keeper), "%s/voltd-keeper", bin ? bin : "build/bin");
    assert_int_equal(mkdir(records, 0700), 0);
    record_fd = open(records, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(record_fd >= 0);
    assert_int_equal(record_boot_id(boot), 0);
    config_defaults(&config);
    config.backend = CONFIG_BACKEND_MEMORY;
    assert_int_equal(volt_runtime_new(&(struct volt_options){.workers = 2}, &rt), 0);
    o.rt = rt;
    if (manager_new(&o, &m, &err) < 0)
        fail_msg("%s", err.text);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    assert_int_equal(volt_runtime_shutdown(rt, UINT64_MAX), 0);
    manager_free(m);
    volt_runtime_free(rt);
    (void)close(record_fd);
    return scratch_remove(base);
}

/* The id of a job that ends with that exit code. */
static uint64_t submit(const char *code)
{
    struct job_spec *spec = job_spec_new();
    struct manager_submit_item item = {.spec = spec};
    struct manager_submit *s = volt_task_new(rt, &submission_type);
    struct volt_join join;

    spec->argv = calloc(4, sizeof(*spec->argv));
    spec->argv[0] = strdup("/bin/sh");
    spec->argv[1] = strdup("-c");
    assert_true(asprintf(&spec->argv[2], "exit %s", code) > 0);
    manager_submit_init(s, m, &me, &item, 1, false);
    assert_int_equal(volt_task_spawn(s, &join), 0);
    assert_int_equal(volt_join_wait(&join), 0);
    volt_join_fini(&join);
    assert_int_equal(item.ret_error, 0);
    job_spec_unref(spec);
    free(item.ret_text);
    return item.ret_id;
}

static void wait_ended(uint64_t id, int32_t code)
{
    struct job_view v;
    bool done = false;

    while (!done) {
        assert_int_equal(manager_get(m, &me, id, JOB_NO_INDEX, &v), 0);
        done = v.status.state == JOB_DONE;
        if (done)
            assert_int_equal(v.status.code, code);
        job_view_fini(&v);
        (void)poll(NULL, 0, 1);
    }
}

static enum record_verdict probe(uint64_t id, struct record *ret)
{
    const struct job_key key = {id, JOB_NO_INDEX, 1};

    assert_int_equal(record_probe(record_fd, &key, boot, ret), 0);
    return ret->verdict;
}

/* It alone knows how the job ended, and tells the next daemon. */
static void a_record_whose_end_is_not_stored_stays(void **state)
{
    struct record r;

    (void)state;
    refused = 1;
    assert_int_equal(submit("3"), refused);
    wait_ended(1, 3);
    assert_int_equal(submit("4"), 2);
    wait_ended(2, 4);
    while (probe(2, &r) != RECORD_ABSENT) /* records are removed in the order of ends */
        (void)poll(NULL, 0, 1);
    assert_int_equal(probe(1, &r), RECORD_DONE);
    assert_int_equal(r.exited.status, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_record_whose_end_is_not_stored_stays, setup,
                                        teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
