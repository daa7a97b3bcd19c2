/* The configuration: defaults, units, drop-ins, and errors that name file,
 * line and key. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "daemon/config/config.h"
#include "daemon/config/paths.h"
#include "tests/support/scratch.h"

static char dir[SCRATCH_MAX], main_path[128];

static void put(const char *path, const char *text)
{
    FILE *f = fopen(path, "we");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

static void put_dropin(const char *name, const char *text)
{
    char path[256];
    (void)snprintf(path, sizeof(path), "%s.d", main_path);
    (void)mkdir(path, 0700);
    (void)snprintf(path, sizeof(path), "%s.d/%s", main_path, name);
    put(path, text);
}

static int setup(void **state)
{
    (void)state;
    if (scratch_make(dir) < 0)
        return -1;
    (void)snprintf(main_path, sizeof(main_path), "%s/voltd.conf", dir);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    return scratch_remove(dir);
}

/* Loads text as the main file and expects success. */
static struct config load(const char *text)
{
    struct config cfg;
    struct volt_error err = {.text = ""};
    put(main_path, text);
    if (config_load(main_path, true, &cfg, NULL, &err) != 0)
        fail_msg("%s", err.text);
    return cfg;
}

/* Loads text as the main file and expects an error that contains each of the words. */
static void refuse(const char *text, const char *word1, const char *word2)
{
    struct config cfg, before;
    struct volt_error err = {.text = ""};
    memset(&cfg, 0x5a, sizeof(cfg));
    before = cfg;
    put(main_path, text);
    assert_int_equal(config_load(main_path, true, &cfg, NULL, &err), -EINVAL);
    if (!strstr(err.text, word1) || !strstr(err.text, word2))
        fail_msg("'%s' lacks '%s' or '%s'", err.text, word1, word2);
    assert_memory_equal(&cfg, &before, sizeof(cfg));
    assert_int_equal(config_load(main_path, true, &cfg, NULL, NULL), -EINVAL);
}

static void test_defaults_are_those_of_the_protocol(void **state)
{
    (void)state;
    struct config cfg;
    config_defaults(&cfg);
    assert_int_equal(cfg.max_message, 256 * 1024);
    assert_int_equal(cfg.max_batch, 16 * 1024 * 1024);
    assert_int_equal(cfg.max_depth, 32);
    assert_int_equal(cfg.heartbeat_usec, 15000000);
    assert_int_equal(cfg.sync, 1);
}

static void test_missing_files(void **state)
{
    (void)state;
    struct config cfg, defaults;
    struct volt_error err;
    config_defaults(&defaults);
    assert_int_equal(config_load(main_path, false, &cfg, NULL, NULL), 0);
    assert_memory_equal(&cfg, &defaults, sizeof(cfg));
    assert_int_equal(config_load(main_path, true, &cfg, NULL, &err), -ENOENT);
    assert_non_null(strstr(err.text, main_path));
    assert_int_equal(config_load(dir, true, &cfg, NULL, &err), -EISDIR);
}

static void test_values_and_units(void **state)
{
    (void)state;
    struct config cfg = load("; a comment\n[Daemon]\nWorkers=3\n# another\n"
                             "[Limits]\nMaxMessage = 64K\nMaxBatch=2097152\n"
                             "FrameTimeoutSec=1min 30s\nIdleTimeoutSec=infinity\n"
                             "DrainTimeoutSec=2\n[Jobs]\nKillAfterSec=500ms\n"
                             "OutputLimit=3M\n");
    assert_int_equal(cfg.workers, 3);
    assert_int_equal(cfg.max_message, 65536);
    assert_int_equal(cfg.max_batch, 2097152);
    assert_int_equal(cfg.frame_timeout_usec, 90000000);
    assert_true(cfg.idle_timeout_usec == CONFIG_INFINITY);
    assert_int_equal(cfg.drain_timeout_usec, 2000000);
    assert_int_equal(cfg.kill_after_usec, 500000);
    assert_int_equal(cfg.output_limit, 3 << 20);
    assert_true(load("[Jobs]\nOutputLimit=infinity\n").output_limit == CONFIG_INFINITY);
    cfg = load("[Limits]\nFrameTimeoutSec=10min\nIdleTimeoutSec=1h30min\n"
               "MaxBytesPerUser=2G\nMaxRunningPerUser=7\n");
    assert_int_equal(cfg.frame_timeout_usec, 600000000);
    assert_int_equal(cfg.idle_timeout_usec, 5400000000);
    assert_int_equal(cfg.max_bytes_per_user, 2147483648);
    assert_int_equal(cfg.max_running_per_user, 7);
    assert_int_equal(load("").max_running_per_user, 0);
}

static void test_empty_assignment_restores_the_default(void **state)
{
    (void)state;
    assert_int_equal(load("[Limits]\nMaxDepth=8\nMaxDepth=\n").max_depth, 32);
}

static void test_dropins_win_in_byte_order(void **state)
{
    (void)state;
    put_dropin("20-b.conf", "[Daemon]\nWorkers=2\n");
    put_dropin("10-a.conf", "[Daemon]\nWorkers=1\n[Limits]\nMaxDepth=9\n");
    put_dropin("30-c.txt", "this is not read");
    struct config cfg = load("[Daemon]\nWorkers=7\n[Queue]\nSlots=5\n");
    assert_int_equal(cfg.workers, 2);
    assert_int_equal(cfg.max_depth, 9);
    assert_int_equal(cfg.slots, 5);
    put_dropin("10-a.conf", "\n[Daemon]\nWorkers=none\n");
    struct volt_error err;
    assert_int_equal(config_load(main_path, true, &cfg, NULL, &err), -EINVAL);
    assert_non_null(strstr(err.text, "voltd.conf.d/10-a.conf:3: Workers=none"));
}

static void test_errors_name_line_key_and_what_is_allowed(void **state)
{
    (void)state;
    refuse("[Daemon]\n\nWorkers=many\n", "voltd.conf:3: Workers=many", "from 0");
    refuse("[Daemon]\nWorkers=257\n", "voltd.conf:2: Workers=257", "to 256");
    refuse("[Daemon]\nWorkers=-1\n", "Workers=-1", "a number");
    refuse("[Daemon]\nWorkers=99999999999999999999999\n", ":2: Workers=9999", "a number");
    refuse("[Limits]\nMaxMessage=16X\n", ":2: MaxMessage=16X", "a size from 1K to 16M");
    refuse("[Limits]\nMaxMessage=17M\n", "MaxMessage=17M", "16M");
    refuse("[Limits]\nMaxMessage=1K 1K\n", "MaxMessage=1K 1K", "a size");
    refuse("[Limits]\nFrameTimeoutSec=5parsec\n", ":2: FrameTimeoutSec=5parsec",
           "a time");
    refuse("[Limits]\nFrameTimeoutSec=soon\n", "FrameTimeoutSec=soon", "infinity");
    refuse("[Daemon]\nHeartbeatSec=infinity\n", "HeartbeatSec=infinity", "40s");
    refuse("[Store]\nSync=sometimes\n", ":2: Sync=sometimes", "on or off");
    refuse("[Store]\nBackend=memory\n", ":2: Backend=memory", "Sync=off");
}

static void test_unknown_names_are_errors(void **state)
{
    (void)state;
    refuse("[Daemon]\nWorker=3\n",
           "voltd.conf:2: unknown key Worker=", "did you mean Workers=?");
    refuse("[Daemon]\nSlot=3\n", "unknown key Slot= in [Daemon]", "Slots= of [Queue]?");
    refuse("[Limits]\nmaxmessage=4K\n",
           "unknown key maxmessage=", "did you mean MaxMessage=?");
    refuse("[Daemon]\nColour=red\n", "unknown key Colour=", "lists every key");
    refuse("[Demon]\nColour=red\n", ":2: unknown section [Demon]", "[Daemon]");
    refuse("[Daemon]\nMaxDepth=3\n", ":2: MaxDepth= does not belong in [Daemon]",
           "[Limits]");
    refuse("Workers=3\n", ":1: Workers= stands before any", "[Daemon]");
    refuse("Colour=red\n", ":1: Colour= stands before any", "[Section]");
}

static void test_syntax_errors(void **state)
{
    (void)state;
    refuse("[Daemon]\nWorkers=1\nnonsense\n", "voltd.conf:3:", "Key=Value");
    refuse("[Daemon\n", "voltd.conf:1:", "[Section]");
    refuse("[Daemon\nWorkers=3\n", "voltd.conf:1:", "neither"); /* not what follows */
    refuse("[Daemon]\nWorkers=1\n  Slots=3\n", ":3: Workers=Slots=3", "a number");
    char line[400] = "[Daemon]\n#";
    memset(line + 10, 'x', sizeof(line) - 12);
    line[sizeof(line) - 2] = '\n';
    line[sizeof(line) - 1] = '\0';
    refuse(line, "voltd.conf:2:", "longer than");
}

/* conf/voltd.conf is the manual: it must name every key in its section with the true
 * default. */
static void test_shipped_file_equals_the_defaults(void **state)
{
    (void)state;
    char line[256], key[64], section[32] = "", plain[16384] = "";
    struct config cfg, defaults;
    struct config_item item;
    size_t seen = 0, len = 0, n = 0;
    FILE *f = fopen("conf/voltd.conf", "re");
    assert_non_null(f);
    while (fgets(line, sizeof(line), f)) {
        assert_true(line[0] == '#' || line[0] == '[' || line[0] == '\n');
        char *assignment =
            line[0] == '#' && line[1] >= 'A' && line[1] <= 'Z' ? line + 1 : line;
        len += (size_t)snprintf(plain + len, sizeof(plain) - len, "%s", assignment);
        assert_true(len < sizeof(plain));
        (void)sscanf(line, "[%31[^]]", section);
        if (assignment == line)
            continue;
        config_defaults(&defaults);
        for (n = 0; config_item(&defaults, n, &item) == 0; n++) {
            (void)snprintf(key, sizeof(key), "%s=%s\n", item.name, item.text);
            seen += strcmp(item.section, section) == 0 && strcmp(key, assignment) == 0;
        }
    }
    (void)fclose(f);
    assert_int_equal(seen, n);
    cfg = load(plain);
    assert_memory_equal(&cfg, &defaults, sizeof(cfg));
}

static void test_items_read_back(void **state)
{
    (void)state;
    struct config cfg = load("[Limits]\nMaxMessage=1025\nIdleTimeoutSec=90s\n"
                             "FrameTimeoutSec=1500ms\nDrainTimeoutSec=infinity\n"),
                  again;
    struct config_item item;
    char text[8192] = "", *end = text;
    for (size_t i = 0; config_item(&cfg, i, &item) == 0; i++)
        end += sprintf(end, "[%s]\n%s=%s\n", item.section, item.name, item.text);
    assert_non_null(strstr(text, "MaxMessage=1025\n"));
    assert_non_null(strstr(text, "FrameTimeoutSec=1500ms\n"));
    again = load(text);
    assert_memory_equal(&cfg, &again, sizeof(cfg));
}

static struct config_queues queues;

static const struct config_queue *queue_named(const char *name)
{
    for (size_t i = 0; i < queues.n; i++)
        if (strcmp(queues.all[i].name, name) == 0)
            return &queues.all[i];
    return NULL;
}

static void load_queues(const char *text)
{
    struct volt_error err = {""};

    put(main_path, text);
    if (config_load(main_path, true, NULL, &queues, &err) != 0)
        fail_msg("%s", err.text);
}

static void test_queues_by_their_sections(void **state)
{
    (void)state;
    load_queues("[Daemon]\nWorkers=3\n");
    assert_int_equal(queues.n, 1);
    assert_string_equal(queues.all[0].name, "default");
    load_queues("[Queue night]\n[Queue]\nSlots=9\nNominal=2\nWeight=4\n"
                "[Queue gpu_1.x-y]\nMax=5\nMaxPerUser=3\nLend=no\nNominal=7\n"
                "DefaultTimeoutSec=5min\nMaxTimeoutSec=1h\nAllowUsers=a b\n"
                "AllowGroups=c\n[Queue night]\nWeight=1000\nWeight=\nLend=on\n");
    assert_int_equal(queues.n, 3);
    const struct config_queue *q = queue_named("default");
    assert_int_equal(q->value[QUEUE_NOMINAL], 2);
    assert_int_equal(q->value[QUEUE_WEIGHT], 4);
    assert_int_equal(q->value[QUEUE_SLOTS], 0); /* config.slots has them */
    assert_string_equal(q->users, "");
    q = queue_named("gpu_1.x-y");
    assert_int_equal(q->value[QUEUE_MAX], 5);
    assert_int_equal(q->value[QUEUE_USER_MAX], 3);
    assert_int_equal(q->value[QUEUE_LEND], 0);
    assert_int_equal(q->value[QUEUE_DEFAULT_TIMEOUT], 300000000);
    assert_int_equal(q->value[QUEUE_MAX_TIMEOUT], UINT64_C(3600000000));
    assert_string_equal(q->users, "a b");
    assert_string_equal(q->groups, "c");
    q = queue_named("night");
    assert_int_equal(q->value[QUEUE_WEIGHT], 1);
    assert_int_equal(q->value[QUEUE_LEND], 1);
}

/* By user and group, beside those of everybody. */
static void test_limits_of_jobs(void **state)
{
    struct config cfg = load("[Limits]\nMemoryMax=2G\nCPUQuota=250%\nPidsMax=infinity\n");

    (void)state;
    assert_true(cfg.cgroup.memory_max == UINT64_C(2) << 30);
    assert_int_equal(cfg.cgroup.cpu_max, 250);
    assert_true(cfg.cgroup.pids_max == JOB_NO_LIMIT);
    load_queues("[Limits user:alice]\nMemoryMax=1M\nMemorySwapMax=0\nCPUQuota=1%\n"
                "[Limits group:alice]\nIOWeight=10000\nPidsMax=4194304\nCPUWeight=7\n"
                "[Limits user:1000]\nMemoryHigh=infinity\n"
                "[Limits user:alice]\nCPUQuota=\nPidsMax=9\n");
    assert_int_equal(queues.nlimits, 3);
    const struct config_limits *c = queues.limits;
    assert_int_equal(c[0].of, QUEUE_USERS);
    assert_string_equal(c[0].name, "alice");
    assert_int_equal(c[0].cgroup.memory_max, 1 << 20);
    assert_int_equal(c[0].cgroup.swap_max, 0);
    assert_true(c[0].cgroup.cpu_max == CONFIG_NOT_SAID);
    assert_int_equal(c[0].cgroup.pids_max, 9);
    assert_int_equal(c[1].of, QUEUE_GROUPS);
    assert_int_equal(c[1].cgroup.io_weight, 10000);
    assert_int_equal(c[1].cgroup.cpu_weight, 7);
    assert_string_equal(c[2].name, "1000");
    assert_true(c[2].cgroup.memory_high == JOB_NO_LIMIT);
}

static void test_mistakes_in_limits(void **state)
{
    (void)state;
    refuse("[Limits]\nMemoryMax=1000\n", ":2: MemoryMax=1000: it must be a size from 1M",
           "infinity");
    refuse("[Limits]\nCPUQuota=50\n", ":2: CPUQuota=50: it must be a percentage of one",
           "from 1% to 100000%");
    refuse("[Limits]\nCPUQuota=0%\n", ":2: CPUQuota=0%", "percentage");
    refuse("[Limits]\nCPUQuota=5%%\n", ":2: CPUQuota=5%%", "percentage");
    refuse("[Limits]\nPidsMax=0\n",
           ":2: PidsMax=0: it must be a number from 1 to 4194304", "infinity");
    refuse("[Limits user:a]\nIOWeight=10001\n", ":2: IOWeight=10001: it must be",
           "1 to 10000");
    refuse("[Limits user:]\nPidsMax=1\n",
           ":2: [Limits user:]: it must be [Limits user:", "[Limits group:NAME]");
    refuse("[Limits alice]\nPidsMax=1\n", ":2: [Limits alice]: it must be", "");
    refuse("[Limits group:a]\nMaxJobs=1\n",
           ":2: unknown key MaxJobs= in [Limits group:a]", "there are MemoryMax=");
    refuse("[Jobs]\nMemoryMax=1G\n",
           "MemoryMax= does not belong in [Jobs] but in [Limits]", "");
}

static void test_words_of_a_flag(void **state)
{
    static const char *const words[][2] = {
        {"no", "yes"}, {"off", "on"}, {"false", "true"}, {"0", "1"}};
    struct config cfg;
    char text[128];

    (void)state;
    for (size_t i = 0; i < 4; i++)
        for (uint64_t v = 0; v < 2; v++) {
            snprintf(text, sizeof(text), "[Store]\nSync=%s\n[Queue]\nLend=%s\n",
                     words[i][v], words[i][v]);
            put(main_path, text);
            assert_int_equal(config_load(main_path, true, &cfg, &queues, NULL), 0);
            assert_int_equal(cfg.sync, v);
            assert_int_equal(queue_named("default")->value[QUEUE_LEND], v);
        }
    refuse("[Store]\nSync=Yes\n", "Sync=Yes", "on or off");
}

static void test_mistakes_in_queues(void **state)
{
    char text[4096] = "", *end = text;

    (void)state;
    refuse("[Queue .night]\n", ":1: [Queue .night]: the name of a queue has",
           "32 letters");
    refuse("[Queue a b]\nMax=3\n", ":1: [Queue a b]", "begins with none");
    refuse("[Queue aaaaaaaaaabbbbbbbbbbccccccccccddd]\n", ":1: [Queue aaaaa", "1 to 32");
    refuse("[Queues]\nMax=3\n", ":2: unknown section [Queues]", "did you mean [Queue]?");
    refuse("[Queue night]\nSlots=3\n", ":2: Slots= are those of the machine",
           "Max= of [Queue night] is how many");
    refuse("[Queue night]\nSlices=3\n", ":2: unknown key Slices= in [Queue night]",
           "voltd.conf(5)");
    refuse("[Queue night]\nWeight=0\n",
           ":2: Weight=0: it must be a number from 1 to 1000", "");
    refuse("[Queue night]\nWeight=1001\n", ":2: Weight=1001", "a number from 1 to 1000");
    refuse("[Queue]\nLend=perhaps\n", ":2: Lend=perhaps: it must be yes or no", "");
    refuse("[Queue]\nMaxTimeoutSec=366d\n",
           "MaxTimeoutSec=366d: it must be a time up to 365d; 0: none", "");
    refuse("[Queue]\nSlots=4\nNominal=3\n[Queue night]\nNominal=2\n",
           "Nominal= of all queues is 5, and Slots= of [Queue] 4", "");
    load_queues("[Queue q]\n[Queue aaaaaaaaaabbbbbbbbbbccccccccccdd]\n");
    assert_int_equal(queues.n, 3);
    load_queues("[Queue]\nSlots=5\nNominal=3\n[Queue night]\nNominal=2\n");
    end += sprintf(end, "[Queue]\nAllowUsers=%0*d\n", CONFIG_NAMES, 0);
    load_queues(text);
    end = text + sprintf(text, "[Queue]\nAllowGroups=%0*d\n", CONFIG_NAMES + 1, 0);
    refuse(text, ":2: AllowGroups= has more than 160 bytes", "");
    end = text;
    for (int i = 1; i < QUEUES_MOST; i++)
        end += sprintf(end, "[Queue q%d]\n", i);
    load_queues(text);
    assert_int_equal(queues.n, QUEUES_MOST);
    (void)sprintf(end, "[Queue more]\n");
    refuse(text, ":64: [Queue more]: more than 64 queues", "");
}

static void test_files_in_their_order(void **state)
{
    (void)state;
    char **files, expected[128];
    assert_int_equal(config_files(main_path, &files), 0);
    assert_null(files[0]);
    free(files);
    put_dropin("20-b.conf", "");
    put_dropin("10-a.conf", "");
    put(main_path, "");
    assert_int_equal(config_files(main_path, &files), 0);
    assert_string_equal(files[0], main_path);
    (void)snprintf(expected, sizeof(expected), "%s/voltd.conf.d/10-a.conf", dir);
    assert_string_equal(files[1], expected);
    assert_non_null(strstr(files[2], "20-b.conf"));
    assert_null(files[3]);
    free(files);
}

static void test_keys_that_need_a_restart(void **state)
{
    (void)state;
    char **names;
    struct config before = load(""),
                  after = load("[Daemon]\nWorkers=5\n[Queue]\nSlots=9\n");
    assert_int_equal(config_needs_restart(&before, &after, &names), 0);
    assert_string_equal(names[0], "Daemon.Workers");
    assert_null(names[1]);
    free(names);
}

static void test_default_paths(void **state)
{
    (void)state;
    char buf[64];
    assert_int_equal(config_default_path(false, buf, sizeof(buf)), 0);
    assert_string_equal(buf, "/etc/voltd/voltd.conf");
    assert_int_equal(setenv("XDG_CONFIG_HOME", "/x", 1), 0);
    assert_int_equal(config_default_path(true, buf, sizeof(buf)), 0);
    assert_string_equal(buf, "/x/voltd/voltd.conf");
    assert_int_equal(setenv("XDG_CONFIG_HOME", "relative", 1), 0);
    assert_int_equal(setenv("HOME", "/h", 1), 0);
    assert_int_equal(config_default_path(true, buf, sizeof(buf)), 0);
    assert_string_equal(buf, "/h/.config/voltd/voltd.conf");
    assert_int_equal(config_default_path(true, buf, 8), -ENAMETOOLONG);
    assert_int_equal(unsetenv("HOME"), 0);
    char account[PATH_MAX]; /* what the account says */
    (void)snprintf(account, sizeof(account), "%s/.config/voltd/voltd.conf", paths_home());
    assert_int_equal(config_default_path(true, buf, sizeof(buf)), 0);
    assert_string_equal(buf, account);
}

unsigned __wrap_cpus_usable(void);
static unsigned usable;

unsigned __wrap_cpus_usable(void)
{
    return usable;
}

static void test_workers_by_default_are_half_of_the_cpus(void **state)
{
    struct config cfg = {.workers = 0};

    (void)state;
    usable = 1;
    assert_int_equal(config_workers(&cfg), 1);
    usable = 2;
    assert_int_equal(config_workers(&cfg), 1);
    usable = 511;
    assert_int_equal(config_workers(&cfg), 256);
    usable = 4096;
    assert_int_equal(config_workers(&cfg), 256); /* as many as a runtime takes */
    cfg.workers = 3;
    assert_int_equal(config_workers(&cfg), 3);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_defaults_are_those_of_the_protocol),
        TEST(test_missing_files),
        TEST(test_values_and_units),
        TEST(test_empty_assignment_restores_the_default),
        TEST(test_dropins_win_in_byte_order),
        TEST(test_errors_name_line_key_and_what_is_allowed),
        TEST(test_unknown_names_are_errors),
        TEST(test_syntax_errors),
        TEST(test_shipped_file_equals_the_defaults),
        TEST(test_items_read_back),
        TEST(test_limits_of_jobs),
        TEST(test_mistakes_in_limits),
        TEST(test_queues_by_their_sections),
        TEST(test_words_of_a_flag),
        TEST(test_mistakes_in_queues),
        TEST(test_files_in_their_order),
        TEST(test_keys_that_need_a_restart),
        TEST(test_default_paths),
        TEST(test_workers_by_default_are_half_of_the_cpus),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
