/* A voltd that finds a running job and has no memory for its attempt: the job is looked
 * for again, and its end is that of its process. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <poll.h>
#include <sys/stat.h>

#include "base/atomic.h"
#include "daemon/config/config.h"
#include "daemon/life/life.h"
#include "daemon/query/query.h"
#include "daemon/run/attempt.h"
#include "daemon/submit/submit.h"
#include "tests/support/scratch.h"
#include "tests/support/submission.h"

static const struct asker me = {{.uid = 1234, .gid = 1234}, AUTH_MEMBER};
static char base[SCRATCH_MAX], records[64], keeper[512];
static struct config config;
static struct volt_runtime *rt;
static struct core *core;
static vat_u32 shortages; /* attempts that get no memory */

void *__real_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size)
{
    uint32_t left = vat_u32_load(&shortages, VAT_RLX);

    if (n != 1 || size != sizeof(struct attempt) || !left)
        return __real_calloc(n, size);
    vat_u32_store(&shortages, left - 1, VAT_RLX);
    return NULL;
}

static void begin(void)
{
    struct life_options o = {.config = &config,
                             .runtime_dir = base,
                             .state_dir = base,
                             .record_dir = records,
                             .keeper_path = keeper,
                             .socket = "/x"};
    struct volt_error err = {{0}};

    assert_int_equal(volt_runtime_new(&(struct volt_options){.workers = 1}, &rt), 0);
    o.rt = rt;
    if (life_new(&o, &core, &err) < 0)
        fail_msg("%s", err.text);
}

static void end(void)
{
    assert_int_equal(volt_runtime_shutdown(rt, UINT64_MAX), 0);
    life_free(core);
    volt_runtime_free(rt);
}

static int setup(void **state)
{
    const char *bin = getenv("VOLT_BIN");

    (void)state;
    assert_int_equal(scratch_make(base), 0);
    (void)snprintf(records, sizeof(records), "%s/rec", base);
    (void)snprintf(keeper, sizeof(keeper), "%s/voltd-keeper", bin ? bin : "build/bin");
    assert_int_equal(mkdir(records, 0700), 0);
    config_defaults(&config);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    return scratch_remove(base);
}

/* Runs until there is a file "go" beside the store, and ends with 7. */
static void submit(void)
{
    struct job_spec *spec = job_spec_new();
    struct jobs_submit_item item = {.spec = spec};
    struct jobs_submit *s = volt_task_new(rt, &submission_type);
    struct volt_join join;

    spec->argv = calloc(4, sizeof(*spec->argv));
    spec->argv[0] = strdup("/bin/sh");
    spec->argv[1] = strdup("-c");
    assert_true(asprintf(&spec->argv[2],
                         "until [ -e %s/go ]; do sleep 0.01; done; exit 7", base) > 0);
    jobs_submit_init(s, core, &me.who, &item, 1, false);
    assert_int_equal(volt_task_spawn(s, &join), 0);
    assert_int_equal(volt_join_wait(&join), 0);
    volt_join_fini(&join);
    assert_int_equal(item.ret_id, 1);
    job_spec_unref(spec);
}

static struct job_status wait_for(enum job_state state)
{
    struct job_view v;

    for (;;) {
        assert_int_equal(query_get(core, &me, 1, JOB_NO_INDEX, &v), 0);
        struct job_status st = v.status;
        job_view_fini(&v);
        if (st.state >= state)
            return st;
        (void)poll(NULL, 0, 1);
    }
}

static void its_end_is_not_invented(void **state)
{
    char go[SCRATCH_MAX + 8];

    (void)state;
    (void)snprintf(go, sizeof(go), "%s/go", base);
    begin();
    submit();
    (void)wait_for(JOB_RUNNING);
    end();
    vat_u32_store(&shortages, 2, VAT_RLX);
    begin();
    while (vat_u32_load(&shortages, VAT_RLX) && wait_for(JOB_QUEUED).state != JOB_DONE)
        (void)poll(NULL, 0, 1);
    assert_int_equal(mkdir(go, 0700), 0);
    struct job_status st = wait_for(JOB_DONE);
    assert_int_equal(st.result, JOB_RESULT_EXIT);
    assert_int_equal(st.code, 7);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(its_end_is_not_invented, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
