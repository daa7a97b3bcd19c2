/* Attempts with a keeper, and a store that refuses what it is told to
 * refuse. */
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
#include "daemon/core/state.h"
#include "daemon/dispatch/grant.h"
#include "daemon/keeper/record.h"
#include "daemon/life/life.h"
#include "daemon/link/record_watch.h"
#include "daemon/query/query.h"
#include "daemon/run/attempt.h"
#include "daemon/run/state.h"
#include "daemon/steer/steer.h"
#include "daemon/submit/submit.h"
#include "daemon/store/fact.h"
#include "tests/support/bare_core.h"
#include "tests/support/scratch.h"
#include "tests/support/steering.h"
#include "tests/support/submission.h"
#include "tests/support/memory_store.h"

static const struct asker me = {{.uid = 1234, .gid = 1234}, AUTH_MEMBER};
static char base[SCRATCH_MAX], records[64], keeper[512];
static struct config config;
static struct volt_runtime *rt;
static struct core *core;
static int record_fd;
static uint8_t boot[RECORD_ID_SIZE];

/* No end of this job can be stored; and so many events of a type, as without memory. Set
 * and counted with core's lock. */
static uint64_t refused;
static unsigned refusals[JOB_EV_COUNT];
static unsigned slotless; /* of the ends that were refused: of jobs without a slot */
static struct store_log_ops refusing;
static const struct store_log_ops *taking;

static int append(struct store *s, const struct store_fact *facts, size_t n,
                  struct store_commit *commit)
{
    for (size_t i = 0; i < n; i++) {
        if (facts[i].type != STORE_EVENT)
            continue;
        enum job_event_type type = facts[i].event.event->type;
        if (facts[i].event.key.id == refused && type == JOB_EV_EXITED)
            return -EIO;
        if (refusals[type] > 0) {
            const struct job *job = table_get(&core->table, facts[i].event.key.id);

            slotless += type == JOB_EV_EXITED && !work_has_slot(job->live);
            refusals[type]--;
            return -ENOMEM;
        }
    }
    return taking->append(s, facts, n, commit);
}

static int setup(void **state)
{
    const char *bin = getenv("VOLT_BIN");
    struct life_options o = {.config = &config,
                             .runtime_dir = base,
                             .state_dir = base,
                             .record_dir = records,
                             .keeper_path = keeper,
                             .socket = "/x"};
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
    config.fold_output = 0; /* the store keeps none */
    o.store = store_memory_new();
    config.slots = 1;
    refused = 0;
    assert_int_equal(volt_runtime_new(&(struct volt_options){.workers = 2}, &rt), 0);
    o.rt = rt;
    if (life_new(&o, &core, &err) < 0)
        fail_msg("%s", err.text);
    struct keeper_link_info info = {.keeper_pid = 0};
    keeper_link_info(run_link(core, 0), &info);
    assert_true(info.keeper_pid > 0 && info.connects == 1);
    taking = core->parts.store->log;
    refusing = *taking;
    refusing.append = append;
    core->parts.store->log = &refusing;
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    assert_int_equal(volt_runtime_shutdown(rt, UINT64_MAX), 0);
    life_free(core);
    volt_runtime_free(rt);
    (void)close(record_fd);
    return scratch_remove(base);
}

static bool only_checks;
static _Atomic unsigned grants_tried;
bool __real_grant_try(struct core *c, struct work *w);
bool __wrap_grant_try(struct core *c, struct work *w);

bool __wrap_grant_try(struct core *c, struct work *w)
{
    grants_tried++;
    return __real_grant_try(c, w);
}

/* Submits the spec, which is given up; returns the id. */
static uint64_t submit_spec(struct job_spec *spec)
{
    struct jobs_submit_item item = {.spec = spec};
    struct jobs_submit *s = volt_task_new(rt, &submission_type);
    struct volt_join join;

    jobs_submit_init(s, core, &me.who, &item, 1, false);
    s->only_checks = only_checks;
    assert_int_equal(volt_task_spawn(s, &join), 0);
    assert_int_equal(volt_join_wait(&join), 0);
    volt_join_fini(&join);
    assert_int_equal(item.ret_error, 0);
    job_spec_unref(spec);
    free(item.ret_text);
    return item.ret_id;
}

static struct job_spec *shell(const char *what, const char *arg)
{
    struct job_spec *spec = job_spec_new();

    spec->argv = calloc(4, sizeof(*spec->argv));
    spec->argv[0] = strdup("/bin/sh");
    spec->argv[1] = strdup("-c");
    assert_true(asprintf(&spec->argv[2], "%s %s", what, arg) > 0);
    return spec;
}

/* The id of a job that ends with that exit code. */
static uint64_t submit(const char *code)
{
    return submit_spec(shell("exit", code));
}

static void refuse(enum job_event_type type, unsigned times)
{
    fair_lock(&core->lock);
    refusals[type] = times;
    fair_unlock(&core->lock);
}

static unsigned left(enum job_event_type type)
{
    fair_lock(&core->lock);
    unsigned n = refusals[type];
    fair_unlock(&core->lock);
    return n;
}

static enum job_state state_of(uint64_t id, enum job_result *ret_result)
{
    struct job_view v;

    assert_int_equal(query_get(core, &me, id, JOB_NO_INDEX, &v), 0);
    enum job_state state = (enum job_state)v.status.state;
    *ret_result = (enum job_result)v.status.result;
    job_view_fini(&v);
    return state;
}

static void wait_result(uint64_t id, enum job_result result)
{
    enum job_result seen;

    while (state_of(id, &seen) != JOB_DONE)
        (void)poll(NULL, 0, 1);
    assert_int_equal(seen, result);
}

static void wait_ended(uint64_t id, int32_t code)
{
    struct job_view v;
    bool done = false;

    while (!done) {
        assert_int_equal(query_get(core, &me, id, JOB_NO_INDEX, &v), 0);
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

/* What begins in it would be durable before that end, and after a crash both would run. */
static void an_end_that_is_refused_keeps_its_slot(void **state)
{
    (void)state;
    slotless = 0;
    refuse(JOB_EV_EXITED, 3);
    wait_ended(submit("6"), 6);
    assert_int_equal(left(JOB_EV_EXITED), 0);
    assert_int_equal(slotless, 0);
}

/* What stops a job is posted until the store takes it; only then it is stopped. */
static void what_is_refused_is_posted_again(void **state)
{
    struct job_spec *spec = shell("exec sleep", "1000");
    enum job_result seen;

    (void)state;
    refuse(JOB_EV_TIMEOUT, 2);
    spec->timeout_usec = 1000;
    wait_result(submit_spec(spec), JOB_RESULT_TIMEOUT);
    assert_int_equal(left(JOB_EV_TIMEOUT), 0);

    refuse(JOB_EV_TIMEOUT, 2);
    spec = job_spec_new();
    spec->kind = JOB_KIND_SLEEP;
    spec->duration_usec = UINT64_C(1000000000);
    spec->timeout_usec = 1000;
    wait_result(submit_spec(spec), JOB_RESULT_TIMEOUT);
    assert_int_equal(left(JOB_EV_TIMEOUT), 0);

    refuse(JOB_EV_OUTPUT_LIMIT, 2);
    spec = shell("echo much; exec sleep", "1000");
    spec->output_limit = 1;
    wait_result(submit_spec(spec), JOB_RESULT_OUTPUT_LIMIT);
    assert_int_equal(left(JOB_EV_OUTPUT_LIMIT), 0);

    /* One that waits for the slot, and is told of a cancel that has not happened. */
    uint64_t first = submit_spec(shell("exec sleep", "1000")), second = submit("5");
    refuse(JOB_EV_CANCEL, 1);
    assert_int_equal(cancel_now(core, &me, first, JOB_NO_INDEX), -ENOMEM);
    assert_true(state_of(first, &seen) < JOB_STOPPING);
    assert_int_equal(state_of(second, &seen), JOB_QUEUED);
    refuse(JOB_EV_STARTING, 2);
    refuse(JOB_EV_EXITED, 2);
    assert_int_equal(cancel_now(core, &me, first, JOB_NO_INDEX), 0);
    wait_result(first, JOB_RESULT_CANCELLED);
    wait_ended(second, 5);
    assert_int_equal(left(JOB_EV_STARTING), 0);
    assert_int_equal(left(JOB_EV_EXITED), 0);
}

/* It takes SIGTERM only when it is continued; SIGKILL is far away. */
static void what_has_stopped_itself_is_asked_to_end(void **state)
{
    struct job_spec *spec =
        shell("trap 'exit 7' TERM; kill -STOP $$; exec sleep", "1000");

    (void)state;
    spec->timeout_usec = 200000;
    spec->kill_after_usec = UINT64_C(1000000000);
    wait_result(submit_spec(spec), JOB_RESULT_TIMEOUT);
}

static struct job_spec *keyed_sleep(uint64_t usec)
{
    struct job_spec *spec = job_spec_new();

    spec->kind = JOB_KIND_SLEEP;
    spec->duration_usec = usec;
    spec->key = strdup("nightly");
    spec->on_exists = JOB_ON_EXISTS_REPLACE;
    return spec;
}

/* The store has it that one job replaces another: without memory for the cancel it is the
 * dispatcher's, until there is. */
static void what_is_replaced_is_cancelled_in_the_end(void **state)
{
    (void)state;
    uint64_t first = submit_spec(keyed_sleep(UINT64_C(1000000000)));
    refuse(JOB_EV_CANCEL, 4);
    uint64_t second = submit_spec(keyed_sleep(1));
    wait_result(first, JOB_RESULT_CANCELLED);
    assert_int_equal(left(JOB_EV_CANCEL), 0);
    wait_result(second, JOB_RESULT_SUCCESS);
}

/* Nor has it a slot for a while. */
static void what_is_only_checked(void **state)
{
    const uint64_t first = submit("0");
    const unsigned tried = grants_tried;

    (void)state;
    wait_result(first, JOB_RESULT_SUCCESS);
    assert_true(tried > 0);
    only_checks = true;
    assert_int_equal(submit("0"), 0);
    only_checks = false;
    assert_int_equal(grants_tried, tried);
    const uint64_t second = submit("0");
    assert_int_equal(second, first + 1);
    wait_result(second, JOB_RESULT_SUCCESS);
}

/* Its STARTING might come to nothing with the next power cut, and it would run again. */
static void what_is_not_durable_does_not_begin(void **state)
{
    const struct job_key key = {.id = 1, .index = JOB_NO_INDEX, .attempt = 1};
    struct job job = {.id = key.id, .kind = JOB_KIND_EXEC, .spec = job_spec_new()};
    struct core bare;
    struct work w = {.core = &bare, .job = &job, .offset = NO_OFFSET, .adopted = true};

    (void)state;
    bare_core_init(&bare, NULL, NULL, 1);
    work_prepare(NULL, &w, &key);
    w.leaf.commit.status = -EIO;
    attempt_take_commit(NULL, &w);
    assert_int_equal(w.attempt->state.phase, ATTEMPT_ENDING);
    assert_int_equal(w.attempt->end.result, JOB_RESULT_EXEC_FAILED);
    assert_int_equal(w.attempt->end.code, EIO);
    assert_string_equal(w.attempt->end.step, "store");
    attempt_free(w.attempt);
    bare_core_fini(&bare);
    job_spec_unref(job.spec);
}

/* More than are removed at a time. */
static void many_records_are_to_be_removed(void **state)
{
    enum { MANY = 65 };
    struct core bare;

    (void)state;
    bare_core_init(&bare, NULL, NULL, 1);
    for (uint64_t id = 1; id <= MANY; id++) {
        const struct job_key key = {.id = id, .index = JOB_NO_INDEX, .attempt = 1};

        assert_int_equal(removal_add(&bare, &key, 0, false), 0);
    }
    assert_int_equal(bare.parts.run->removal.n, MANY);
    removal_fini(&bare);
    bare_core_fini(&bare);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_record_whose_end_is_not_stored_stays, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(an_end_that_is_refused_keeps_its_slot, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(what_is_refused_is_posted_again, setup, teardown),
        cmocka_unit_test_setup_teardown(what_has_stopped_itself_is_asked_to_end, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(what_is_replaced_is_cancelled_in_the_end, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(what_is_only_checked, setup, teardown),
        cmocka_unit_test(what_is_not_durable_does_not_begin),
        cmocka_unit_test(many_records_are_to_be_removed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
