/* Specs: from JSON and back, and what is said about each wrong one. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <signal.h>
#include <sys/resource.h>

#include "daemon/job/env.h"
#include "daemon/config/config.h"
#include "daemon/method/spec_json.h"
#include "wire/error_name.h"
#include "wire/signal_name.h"

static struct config config;

static int read_spec(const char *text, struct job_spec **ret, struct field_error *err)
{
    json_t *v = json_loads(text, JSON_ALLOW_NUL | JSON_DECODE_ANY, NULL);
    int r;

    assert_non_null(v);
    config_defaults(&config);
    config.max_array = 100;
    r = spec_from_json(v, &config, NULL, ret, err);
    json_decref(v);
    return r;
}

/* What a client reads of a spec; new. */
static json_t *shown(const struct job_spec *s, uint64_t fields)
{
    struct wire_buf text = {0};
    struct wire_writer to = {.out = &text};
    json_error_t why;
    json_t *v;

    spec_write(&to, NULL, s, fields);
    assert_int_equal(to.error, 0);
    v = json_loadb(wire_buf_at(&text), wire_buf_len(&text), JSON_REJECT_DUPLICATES, &why);
    if (!v)
        fail_msg("%.*s: %s", (int)wire_buf_len(&text), wire_buf_at(&text), why.text);
    wire_buf_fini(&text);
    return v;
}

static void round_trip(const char *text)
{
    json_t *want = json_loads(text, 0, NULL), *got;
    struct field_error err = {"", "", 0};
    struct job_spec *s;

    if (read_spec(text, &s, &err) < 0)
        fail_msg("%s: %s %s", text, err.path, err.reason);
    got = shown(s, SPEC_ALL_FIELDS);
    if (!json_equal(want, got))
        fail_msg("%s becomes %s", text, json_dumps(got, 0));
    json_decref(want);
    json_decref(got);
    job_spec_unref(s);
}

static void there_and_back(void **state)
{
    (void)state;
    round_trip("{\"argv\":[\"true\"]}");
    round_trip("{\"shell\":\"exit 7\"}");
    round_trip("{\"kind\":\"noop\"}");
    round_trip("{\"kind\":\"sleep\",\"duration_usec\":60000000}");
    round_trip(
        "{\"argv\":[\"./step\",\"{i}\"],\"name\":\"n\",\"labels\":{\"a\":\"1\","
        "\"b\":\"\"},\"cwd\":\"/tmp\",\"env\":{\"PATH\":\"/bin\",\"E\":\"a=b\"},"
        "\"umask\":\"077\",\"stdin\":\"/etc/passwd\",\"queue\":\"default\","
        "\"priority\":-7,\"timeout_usec\":1,\"kill_after_usec\":0,"
        "\"stop_signal\":\"SIGINT\",\"kill_mode\":\"main\",\"on_lost\":\"retry\",\"output\":\"path\","
        "\"output_path\":\"/tmp/o\",\"array\":{\"first\":1,\"last\":100,\"at_once\":4}}");
    round_trip("{\"kind\":\"noop\",\"array\":{\"first\":1,\"last\":9,\"ranges\":["
               "{\"first\":1,\"last\":3},{\"first\":5,\"last\":9,\"step\":2}]}}");
    round_trip("{\"argv\":[\"x\"],\"output_split\":true}");
    round_trip("{\"argv\":[\"x\"],\"after\":[{\"job\":\"17\",\"when\":\"ok\"},"
               "{\"job\":\"9\",\"when\":\"start\"}]}");
    round_trip("{\"argv\":[\"x\"],\"retry\":{\"times\":3}}");
    round_trip("{\"argv\":[\"x\"],\"retry\":{\"times\":3,\"backoff_usec\":2000000,"
               "\"backoff_max_usec\":3000000,\"max_total_usec\":7,"
               "\"on\":[\"exit\",\"signal\",\"timeout\",\"exec_failed\"],"
               "\"exit_codes\":[0,63,64,255]},\"success_codes\":[0,3]}");
    round_trip("{\"argv\":[\"x\"],\"claims\":[{\"name\":\"db\",\"mode\":\"exclusive\"},"
               "{\"name\":\"f\",\"mode\":\"shared\"},"
               "{\"name\":\"t\",\"mode\":\"permits\",\"permits\":2,\"capacity\":3},"
               "{\"name\":\"r\",\"mode\":\"rate\",\"permits\":1,\"capacity\":5,"
               "\"interval_usec\":1000000}]}");
    round_trip("{\"argv\":[\"x\"],\"limits\":{\"output_bytes\":4096}}");
    round_trip("{\"argv\":[\"x\"],\"limits\":{\"memory_max\":1048576,\"swap_max\":0}}");
    round_trip("{\"argv\":[\"x\"],\"limits\":{\"rlimits\":{\"cpu\":\"7\"},"
               "\"memory_max\":4294967296,\"memory_high\":1073741824,\"swap_max\":1,"
               "\"pids_max\":4194304,\"cpu_max\":100000,\"cpu_weight\":1,"
               "\"io_weight\":10000}}");
    round_trip("{\"argv\":[\"x\"],\"limits\":{\"rlimits\":{\"nofile\":\"1024:524288\","
               "\"core\":\"0:infinity\",\"stack\":\"infinity\",\"cpu\":\"7\"}}}");
    round_trip("{\"argv\":[\"x\"],\"env\":{},\"limits\":{\"output_bytes\":1,"
               "\"rlimits\":{\"as\":\"0\"}}}");
    round_trip(
        "{\"argv\":[\"\\\"\",\"\\n\",\"\"],\"env\":{\"q\\\"\\u0001\":\"1\",\"\u00e4\":\"\u00e4\","
        "\"b\\\\\":\"\"},\"labels\":{\"l\\\"\":\"x\",\"m\":\"\\n\"}}");
}

/* Those that are asked for, and no other. */
static void some_fields(void **state)
{
    static const char text[] =
        "{\"argv\":[\"a\"],\"name\":\"n\",\"labels\":{\"k\":\"v\"},\"env\":{\"E\":\"1\"},"
        "\"priority\":3,\"limits\":{\"output_bytes\":4096}}";
    struct field_error err = {"", "", 0};
    struct job_spec *s;
    json_t *whole = json_loads(text, 0, NULL);

    (void)state;
    assert_int_equal(read_spec(text, &s, &err), 0);
    for (int i = 0; i < SPEC_FIELDS; i++) {
        json_t *got = shown(s, UINT64_C(1) << i);
        json_t *value = json_object_get(whole, spec_field_names[i]);
        assert_int_equal(json_object_size(got), value ? 1 : 0);
        assert_true(json_equal(json_object_get(got, spec_field_names[i]), value) ||
                    !value);
        json_decref(got);
    }
    assert_null(spec_field_names[SPEC_FIELDS]);
    json_decref(whole);
    job_spec_unref(s);
}

/* Resource limits that have been read before are taken as they are, once they are limits. */
static void rlimits_that_are_known(void **state)
{
    static const struct {
        const char *text;
        int r;
    } specs[] = {
        {"{\"argv\":[\"x\"],\"limits\":{\"rlimits\":{\"core\":\"5\"}}}", 0},
        {"{\"argv\":[\"x\"],\"limits\":{\"rlimits\":7}}", -EINVAL},
    };
    const struct job_rlimits before = {
        .given = 1U << RLIMIT_CPU, .soft[RLIMIT_CPU] = 3, .hard[RLIMIT_CPU] = 4};
    const struct spec_known known = {.rlimits = &before};

    (void)state;
    config_defaults(&config);
    for (int i = 0; i < 2; i++) {
        json_t *v = json_loads(specs[i].text, 0, NULL);
        struct field_error err;
        struct job_spec *s;

        assert_int_equal(spec_from_json(v, &config, &known, &s, &err), specs[i].r);
        json_decref(v);
        if (specs[i].r < 0)
            continue;
        assert_ptr_not_equal(s->rlimits, &before);
        assert_memory_equal(s->rlimits, &before, sizeof(before));
        job_spec_unref(s);
    }
}

/* "*" is all that are not named, wherever it stands. */
static void rlimits_of_all_others(void **state)
{
    static const char *const texts[] = {
        "{\"argv\":[\"x\"],\"limits\":{\"rlimits\":{\"*\":\"5:6\",\"core\":\"0\"}}}",
        "{\"argv\":[\"x\"],\"limits\":{\"rlimits\":{\"core\":\"0\",\"*\":\"5:6\"}}}",
    };

    (void)state;
    for (int t = 0; t < 2; t++) {
        struct field_error err = {"", "", 0};
        struct job_spec *s;

        assert_int_equal(read_spec(texts[t], &s, &err), 0);
        assert_int_equal(s->rlimits->given, 0xffff);
        for (int i = 0; i < JOB_RLIMITS; i++) {
            assert_int_equal(s->rlimits->soft[i], i == RLIMIT_CORE ? 0 : 5);
            assert_int_equal(s->rlimits->hard[i], i == RLIMIT_CORE ? 0 : 6);
        }
        job_spec_unref(s);
    }
}

static void fields_of_the_spec(void **state)
{
    struct field_error err;
    struct job_spec *s;

    (void)state;
    assert_int_equal(read_spec("{\"shell\":\"exit 7\",\"env\":{\"A\":\"1\"},\"labels\":"
                               "{\"l\":\"v\"},\"array\":{\"first\":2,\"last\":4}}",
                               &s, &err),
                     0);
    assert_true(s->shell);
    assert_string_equal(s->argv[0], "/bin/sh");
    assert_string_equal(s->argv[1], "-c");
    assert_string_equal(s->argv[2], "exit 7");
    assert_null(s->argv[3]);
    assert_string_equal(job_env_strings(s->env)[0], "A=1");
    assert_null(job_env_strings(s->env)[1]);
    assert_int_equal(s->nlabels, 1);
    assert_true(s->is_array);
    assert_int_equal(s->array_first, 2);
    assert_int_equal(s->array_last, 4);
    assert_int_equal(s->umask, JOB_NO_UMASK);
    assert_int_equal(s->stop_signal, SIGTERM);
    assert_int_equal(s->kill_after_usec, config.kill_after_usec);
    job_spec_unref(s);
}

static void wrong(const char *text, const char *path, const char *reason)
{
    struct field_error err = {"", "", 0};
    struct job_spec *s;

    if (read_spec(text, &s, &err) != -EINVAL)
        fail_msg("%s is taken", text);
    if (strcmp(err.path, path) != 0)
        fail_msg("%s: the path is '%s'", text, err.path);
    if (!strstr(err.reason, reason))
        fail_msg("%s: '%s' does not say '%s'", text, err.reason, reason);
}

static void what_is_wrong(void **state)
{
    (void)state;
    wrong("[]", "", "must be an object");
    wrong("{}", "argv", "give argv or shell");
    wrong("{\"argv\":[]}", "argv", "");
    wrong("{\"argv\":[\"\"]}", "argv", "empty");
    wrong("{\"argv\":[\"a\",1]}", "argv[1]", "must be a string");
    wrong("{\"argv\":\"true\"}", "argv", "must be an array");
    wrong("{\"argv\":[\"a\\u0000b\"]}", "argv[0]", "NUL");
    wrong("{\"argv\":[\"a\"],\"shell\":\"b\"}", "shell", "either argv or shell");
    wrong("{\"shell\":\"b\",\"argv\":[\"a\"]}", "argv", "either argv or shell");
    wrong("{\"shell\":\"\"}", "shell", "must not be empty");
    wrong("{\"kind\":\"http\"}", "kind", "\"exec\", \"sleep\", \"noop\"");
    wrong("{\"kind\":\"sleep\"}", "duration_usec", "needs a duration");
    wrong("{\"kind\":\"noop\",\"argv\":[\"a\"]}", "argv", "only kind exec");
    wrong("{\"argv\":[\"a\"],\"commmand\":1}", "commmand", "known are: kind, argv");
    wrong("{\"argv\":[\"a\"],\"name\":\"\"}", "name", "must not be empty");
    wrong("{\"argv\":[\"a\"],\"after\":[]}", "after", "list of 1 to 256");
    wrong("{\"argv\":[\"a\"],\"after\":[17]}", "after[0]", "object");
    wrong("{\"argv\":[\"a\"],\"after\":[{\"job\":\"17\"},{}]}", "after[1].job", "");
    wrong("{\"argv\":[\"a\"],\"after\":[{\"job\":\"17\",\"local\":\"a\"}]}",
          "after[0].job", "one of them");
    wrong("{\"argv\":[\"a\"],\"after\":[{\"local\":\"a\",\"key\":\"b\"}]}",
          "after[0].job", "one of them");
    wrong("{\"argv\":[\"a\"],\"after\":[{\"key\":\"\"}]}", "after[0].key", "");
    wrong("{\"argv\":[\"a\"],\"after\":[{\"local\":\"\"}]}", "after[0].local", "");
    wrong("{\"argv\":[\"a\"],\"local\":\"\"}", "local", "");
    wrong("{\"argv\":[\"a\"],\"after\":[{\"job\":\"17_1\"}]}", "after[0].job", "whole");
    wrong("{\"argv\":[\"a\"],\"after\":[{\"job\":\"17\",\"when\":\"x\"}]}",
          "after[0].when", "");
    wrong("{\"argv\":[\"a\"],\"retry\":{\"times\":0}}", "retry.times", "1 to 1000");
    wrong("{\"argv\":[\"a\"],\"retry\":{\"backoff_usec\":0}}", "retry.times", "needed");
    wrong("{\"argv\":[\"a\"],\"retry\":{\"times\":1,\"on\":[]}}", "retry.on", "list");
    wrong("{\"argv\":[\"a\"],\"retry\":{\"times\":1,\"on\":[1]}}", "retry.on", "string");
    wrong("{\"argv\":[\"a\"],\"retry\":{\"times\":1,\"on\":[\"lost\"]}}", "retry.on",
          "on_lost");
    wrong("{\"argv\":[\"a\"],\"retry\":{\"times\":1,\"on\":[\"output_limit\"]}}",
          "retry.on", "attempts print together");
    wrong("{\"argv\":[\"a\"],\"retry\":{\"times\":1,\"on\":[\"success\"]}}", "retry.on",
          "alone");
    wrong("{\"argv\":[\"a\"],\"retry\":{\"times\":1,\"exit_codes\":[]}}",
          "retry.exit_codes", "list");
    wrong("{\"argv\":[\"a\"],\"retry\":{\"times\":1,\"exit_codes\":[256]}}",
          "retry.exit_codes", "0 to 255");
    wrong("{\"argv\":[\"a\"],\"success_codes\":[-1]}", "success_codes", "0 to 255");
    wrong("{\"argv\":[\"a\"],\"success_codes\":[\"3\"]}", "success_codes", "0 to 255");
    wrong("{\"kind\":\"noop\",\"success_codes\":[0]}", "success_codes", "kind exec");
    wrong("{\"kind\":\"noop\",\"retry\":{\"times\":1}}", "retry", "kind exec");
    wrong("{\"argv\":[\"a\"],\"claims\":{}}", "claims", "list of 1 to 16");
    wrong("{\"argv\":[\"a\"],\"claims\":[1]}", "claims[0]", "object");
    wrong("{\"argv\":[\"a\"],\"claims\":[{\"name\":\"a\"},{}]}", "claims[1].name", "");
    wrong("{\"argv\":[\"a\"],\"claims\":[{\"name\":\"a\"},{\"name\":\"b\\nc\"}]}",
          "claims[1].name", "must not have control characters");
    wrong("{\"argv\":[\"a\"],\"claims\":[{\"name\":\"\\u007f\"}]}", "claims[0].name",
          "must not have control characters");
    wrong("{\"argv\":[\"a\"],\"claims\":[{\"name\":\"a\",\"mode\":\"x\"}]}",
          "claims[0].mode", "");
    wrong("{\"argv\":[\"a\"],\"claims\":[{\"name\":\"a\",\"permits\":0}]}",
          "claims[0].permits", "");
    wrong("{\"argv\":[\"a\"],\"claims\":[{\"name\":\"a\",\"permits\":1}]}", "claims",
          "takes mode permits");
    wrong("{\"argv\":[\"a\"],\"labels\":[]}", "labels", "object");
    wrong("{\"argv\":[\"a\"],\"labels\":{\"a\":1}}", "labels.a", "string");
    wrong("{\"argv\":[\"a\"],\"labels\":{\"\":\"x\"}}", "labels", "name of 1 to 255");
    wrong("{\"argv\":[\"a\"],\"cwd\":\"tmp\"}", "cwd", "absolute");
    wrong("{\"argv\":[\"a\"],\"env\":{\"A=\":\"x\"}}", "env.A=", "\"=\"");
    wrong("{\"argv\":[\"a\"],\"env\":{\"\":\"x\"}}", "env", "must not be empty");
    wrong("{\"argv\":[\"a\"],\"env\":{\"A\":1}}", "env.A", "string");
    wrong("{\"argv\":[\"a\"],\"env\":[\"A=1\"]}", "env", "object of strings");
    wrong("{\"argv\":[\"a\"],\"umask\":\"1000\"}", "umask", "octal digits");
    wrong("{\"argv\":[\"a\"],\"umask\":\"8\"}", "umask", "octal digits");
    wrong("{\"argv\":[\"a\"],\"umask\":\"00022\"}", "umask", "octal digits");
    wrong("{\"argv\":[\"a\"],\"umask\":\"\"}", "umask", "octal digits");
    wrong("{\"argv\":[\"a\"],\"umask\":18}", "umask", "string");
    wrong("{\"argv\":[\"a\"],\"priority\":1001}", "priority", "from -1000 to 1000");
    wrong("{\"argv\":[\"a\"],\"timeout_usec\":-1}", "timeout_usec", "integer from 0");
    wrong("{\"argv\":[\"a\"],\"stop_signal\":\"HUGE\"}", "stop_signal", "\"TERM\"");
    wrong("{\"argv\":[\"a\"],\"stop_signal\":9}", "stop_signal", "string");
    wrong("{\"argv\":[\"x\"],\"limits\":{\"output_bytes\":0}}", "limits.output_bytes",
          "");
    wrong("{\"argv\":[\"x\"],\"limits\":{\"more\":1}}", "limits.more", "");
    wrong("{\"argv\":[\"x\"],\"limits\":{\"memory_max\":1048575}}", "limits.memory_max",
          "from 1048576 to");
    wrong("{\"argv\":[\"x\"],\"limits\":{\"swap_max\":-1}}", "limits.swap_max",
          "from 0 to");
    wrong("{\"argv\":[\"x\"],\"limits\":{\"pids_max\":0}}", "limits.pids_max",
          "from 1 to 4194304");
    wrong("{\"argv\":[\"x\"],\"limits\":{\"cpu_max\":100001}}", "limits.cpu_max",
          "from 1 to 100000");
    wrong("{\"argv\":[\"x\"],\"limits\":{\"cpu_weight\":10001}}", "limits.cpu_weight",
          "from 1 to 10000");
    wrong("{\"argv\":[\"x\"],\"limits\":{\"io_weight\":\"9\"}}", "limits.io_weight",
          "from 1 to 10000");
    wrong("{\"argv\":[\"x\"],\"limits\":{\"rlimits\":[]}}", "limits.rlimits", "object");
    wrong("{\"argv\":[\"x\"],\"limits\":{\"rlimits\":{\"files\":\"1\"}}}",
          "limits.rlimits.files", "no resource");
    wrong("{\"argv\":[\"x\"],\"limits\":{\"rlimits\":{\"*\":\"2:1\"}}}",
          "limits.rlimits.*", "soft, then hard");
    wrong("{\"argv\":[\"x\"],\"limits\":{\"rlimits\":{\"nofile\":1}}}",
          "limits.rlimits.nofile", "string");
    wrong("{\"argv\":[\"x\"],\"limits\":{\"rlimits\":{\"nofile\":\"2:1\"}}}",
          "limits.rlimits.nofile", "soft, then hard");
    wrong("{\"argv\":[\"a\"],\"output\":\"path\"}", "output_path", "");
    wrong("{\"argv\":[\"a\"],\"array\":{\"first\":1}}", "array.last", "is missing");
    wrong("{\"argv\":[\"a\"],\"array\":{\"first\":2,\"last\":1}}", "array", "greater");
    wrong("{\"argv\":[\"a\"],\"array\":{\"first\":1,\"last\":101}}", "array",
          "at most 100");
    wrong("{\"argv\":[\"a\"],\"array\":{\"first\":-1,\"last\":1}}", "array.first",
          "integer from 0");
    wrong("{\"argv\":[\"a\"],\"array\":[1,2]}", "array", "must be an object");
    wrong("{\"kind\":\"noop\",\"array\":{\"first\":1,\"last\":2,\"ranges\":[]}}",
          "array.ranges", "must be a list of 1 to");
    wrong("{\"kind\":\"noop\",\"array\":{\"first\":1,\"last\":2,\"ranges\":[7]}}",
          "array.ranges[0]", "must be an object");
    wrong("{\"kind\":\"noop\",\"array\":{\"first\":1,\"last\":2,\"ranges\":["
          "{\"first\":1,\"last\":1},{\"first\":2}]}}",
          "array.ranges[1].last", "is missing");
    wrong("{\"argv\":[\"a\"],\"array\":{\"first\":1,\"last\":2,\"at_once\":-1}}",
          "array.at_once", "from 0 to 1000000");
    wrong("{\"kind\":\"noop\",\"array\":{\"first\":1,\"last\":2,\"at_once\":1}}",
          "array.at_once", "only kind exec takes slots");
}

static void signals(void **state)
{
    char buf[SIGNAL_NAME_MAX];

    (void)state;
    assert_int_equal(signal_from_name("TERM"), SIGTERM);
    assert_int_equal(signal_from_name("SIGKILL"), SIGKILL);
    assert_int_equal(signal_from_name("9"), 9);
    assert_int_equal(signal_from_name("RTMIN+2"), SIGRTMIN + 2);
    assert_int_equal(signal_from_name("SIGRTMIN+2"), SIGRTMIN + 2);
    assert_int_equal(signal_from_name("SIG9"), -EINVAL);
    assert_int_equal(signal_from_name("0"), -EINVAL);
    assert_int_equal(signal_from_name("99"), -EINVAL);
    assert_int_equal(signal_from_name("-9"), -EINVAL);
    assert_int_equal(signal_from_name("term"), -EINVAL);
    assert_int_equal(signal_from_name(""), -EINVAL);
    assert_int_equal(signal_from_name("RTMIN+99"), -EINVAL);
    assert_string_equal(signal_name(SIGHUP, buf), "SIGHUP");
    assert_string_equal(signal_name(SIGRTMIN, buf), "SIGRTMIN");
    assert_string_equal(signal_name(SIGRTMAX, buf), "SIGRTMIN+30");
    assert_string_equal(signal_name(33, buf), "33");
    for (int n = 1; n <= SIGRTMAX; n++)
        assert_int_equal(signal_from_name(signal_name(n, buf)), n);
}

static void errors(void **state)
{
    char buf[ERROR_NAME_MAX];

    (void)state;
    assert_string_equal(error_name(ENOENT, buf), "ENOENT");
    assert_string_equal(error_name(EAGAIN, buf), "EAGAIN");
    assert_string_equal(error_name(0, buf), "0");
    assert_string_equal(error_name(-2, buf), "-2");
    assert_int_equal(error_from_name("ENOEXEC"), ENOEXEC);
    assert_int_equal(error_from_name("EWOULD"), 0);
    assert_int_equal(error_from_name(""), 0);
    for (int n = 1; n < 4096; n++)
        assert_int_equal(error_from_name(error_name(n, buf)), n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(there_and_back),
        cmocka_unit_test(some_fields),
        cmocka_unit_test(rlimits_that_are_known),
        cmocka_unit_test(rlimits_of_all_others),
        cmocka_unit_test(fields_of_the_spec),
        cmocka_unit_test(what_is_wrong),
        cmocka_unit_test(signals),
        cmocka_unit_test(errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
