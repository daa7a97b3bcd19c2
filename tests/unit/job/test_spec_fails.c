/* Each allocation fails once while a spec is read from JSON and written again: it is read as it
 * is, or there is no memory; nothing is read in part, nothing is left allocated. */
#include "tests/support/call_hook.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "daemon/config/config.h"
#include "daemon/method/spec_json.h"

static const char *const specs[] = {
    "{\"argv\":[\"./step\",\"{i}\"],\"name\":\"n\",\"labels\":{\"a\":\"1\",\"b\":\"\"},\"cwd\":"
    "\"/tmp\",\"env\":{\"PATH\":\"/bin\",\"E\":\"a=b\"},\"umask\":\"077\",\"stdin\":"
    "\"/etc/passwd\",\"priority\":-7,\"stop_signal\":\"SIGINT\",\"kill_mode\":\"main\","
    "\"on_lost\":\"retry\",\"output\":\"path\",\"output_path\":\"/tmp/o\",\"error_path\":"
    "\"/tmp/e\",\"key\":\"k\",\"array\":{\"first\":1,\"last\":100,\"at_once\":4}}",
    "{\"shell\":\"exit 7\",\"stdin_data\":\"aGVsbG8=\",\"env\":{\"E\":\"1\"},\"env_adds\":true}",
    "{\"argv\":[\"x\"],\"after\":[{\"job\":\"17\",\"when\":\"ok\"},{\"job\":\"9\",\"when\":"
    "\"start\"}],\"claims\":[{\"name\":\"db\",\"mode\":\"exclusive\"},{\"name\":\"t\",\"mode\":"
    "\"permits\",\"permits\":2,\"capacity\":3},{\"name\":\"r\",\"mode\":\"rate\",\"permits\":1,"
    "\"capacity\":5,\"interval_usec\":1000000}]}",
    "{\"argv\":[\"x\"],\"retry\":{\"times\":3,\"on\":[\"exit\",\"signal\"],\"exit_codes\":[0,63]},"
    "\"success_codes\":[0,3],\"limits\":{\"output_bytes\":1,\"pids_max\":3,\"rlimits\":{\"nofile\":"
    "\"1024:524288\",\"cpu\":\"7\"}}}",
    "{\"kind\":\"sleep\",\"duration_usec\":60000000,\"hold\":true}",
};

static struct config config;

/* 0, and the text that is written; or -ENOMEM. It is the caller's. */
static int read_and_write(json_t *value, struct wire_buf *text)
{
    struct wire_writer to = {.out = text};
    struct field_error err = {"", "", 0};
    struct job_spec *spec;
    int r = spec_from_json(value, &config, NULL, &spec, &err);

    if (r < 0) {
        if (r != -ENOMEM || err.code != -ENOMEM)
            fail_msg("%d: %s %s", r, err.path, err.reason);
        return r;
    }
    spec_write(&to, NULL, spec, SPEC_ALL_FIELDS);
    job_spec_unref(spec);
    return to.error;
}

static uint64_t live(void)
{
    return vat_u64_load(&hook_live, VAT_RLX);
}

static void sweep(const char *text)
{
    json_t *value = json_loads(text, 0, NULL);
    struct wire_buf whole = {0};
    uint64_t calls = UINT64_MAX;

    assert_non_null(value);
    assert_int_equal(read_and_write(value, &whole), 0);
    for (uint64_t n = 1; calls >= n - 1; n++) {
        const uint64_t before = live();
        struct wire_buf got = {0};

        hook_arm(n, false);
        int r = read_and_write(value, &got);
        calls = hook_count();
        hook_arm(0, false);
        assert_int_equal(r, calls >= n ? -ENOMEM : 0);
        if (r == 0) {
            assert_int_equal(wire_buf_len(&got), wire_buf_len(&whole));
            assert_memory_equal(wire_buf_at(&got), wire_buf_at(&whole),
                                wire_buf_len(&whole));
        }
        wire_buf_fini(&got);
        if (live() != before)
            fail_msg("call %lu of %s: %ld are left", (unsigned long)n, text,
                     (long)(live() - before));
    }
    assert_true(calls > 1);
    wire_buf_fini(&whole);
    json_decref(value);
}

static void it_is_read_whole_or_not(void **state)
{
    (void)state;
    config_defaults(&config);
    for (size_t i = 0; i < sizeof(specs) / sizeof(specs[0]); i++)
        sweep(specs[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(it_is_read_whole_or_not)};

    hook_begin_json();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
