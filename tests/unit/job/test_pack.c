/* Bytes for keeping: numbers, strings and specs come back as they were; anything
 * else is refused, whatever byte of it is wrong. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <cmocka.h>

#include "daemon/job/env.h"
#include "daemon/job/spec_pack.h"

static void numbers_and_strings(void **state)
{
    static const uint64_t values[] = {0,     1,     127,        128,
                                      16383, 16384, UINT32_MAX, UINT64_MAX};
    static const int64_t signs[] = {0, -1, 1, INT64_MIN, INT64_MAX};
    char *const strings[] = {(char *)(uintptr_t) "a", (char *)(uintptr_t) "", NULL};
    struct pack p = {0};

    (void)state;
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
        pack_number(&p, values[i]);
    for (size_t i = 0; i < sizeof(signs) / sizeof(signs[0]); i++)
        pack_signed(&p, signs[i]);
    pack_string(&p, "hello");
    pack_strings(&p, strings);
    pack_strings(&p, NULL);

    struct unpack u = unpack_of(p.bytes, p.n);
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
        assert_true(unpack_number(&u) == values[i]);
    for (size_t i = 0; i < sizeof(signs) / sizeof(signs[0]); i++)
        assert_true(unpack_signed(&u) == signs[i]);
    char *s = unpack_string(&u);
    assert_string_equal(s, "hello");
    free(s);
    char **v = unpack_strings(&u);
    assert_string_equal(v[0], "a");
    assert_string_equal(v[1], "");
    assert_null(v[2]);
    free(v[0]);
    free(v[1]);
    free(v);
    v = unpack_strings(&u);
    assert_null(v[0]);
    free(v);
    assert_false(u.failed);
    assert_true(u.at == u.end);
    assert_true(unpack_number(&u) == 0 && u.failed); /* over the end */
    pack_fini(&p);
}

static void memory_is_lent(void **state)
{
    uint8_t room[16] = "";
    struct pack p = pack_in(room, sizeof(room));

    (void)state;
    pack_raw(&p, "0123456789abcdef", 16);
    assert_ptr_equal(p.bytes, room); /* just enough */
    pack_fini(&p);
    p = pack_in(room, sizeof(room));
    pack_raw(&p, "0123", 4);
    pack_raw(&p, "456789abcdefg", 13);
    assert_ptr_not_equal(p.bytes, room);
    assert_int_equal(p.n, 17);
    for (uint64_t i = 0; i < 200; i++)
        pack_number(&p, i);
    assert_memory_equal(p.bytes, "0123456789abcdefg\0\1\2", 20);
    pack_fini(&p);
    p = pack_in(room, sizeof(room));
    pack_raw(&p, "0123", 4);
    pack_raw(&p, "0123456789abcdef0123456789abcdef",
             32); /* twice as much is too little */
    assert_true(p.n == 36 && p.n <= p.capacity);
    pack_fini(&p);
}

static void lengths_are_not_trusted(void **state)
{
    static const uint8_t huge[] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f};
    static const uint8_t long_number[] = {0x80, 0x80, 0x80, 0x80, 0x80,
                                          0x80, 0x80, 0x80, 0x80, 0x02};
    struct unpack u = unpack_of(huge, sizeof(huge));

    (void)state;
    assert_null(unpack_string(&u));
    assert_true(u.failed);
    u = unpack_of(huge, sizeof(huge));
    assert_null(unpack_strings(&u));
    assert_true(u.failed);
    u = unpack_of(long_number, sizeof(long_number));
    assert_true(unpack_number(&u) == 0 && u.failed);
    u = unpack_of("\2a\0", 3); /* a NUL inside */
    assert_null(unpack_string(&u));
    assert_true(u.failed);
}

/* --- specs ---------------------------------------------------------------------- */

static char **strings(const char *a, const char *b)
{
    char **v = calloc(3, sizeof(*v));

    v[0] = strdup(a);
    v[1] = b ? strdup(b) : NULL;
    return v;
}

static struct job_spec *full_spec(bool long_argv)
{
    struct job_spec *s = job_spec_new();
    char text[600];

    memset(text, 'x', sizeof(text));
    text[long_argv ? sizeof(text) - 1 : 5] = '\0';
    s->argv = strings("/bin/echo", text);
    s->name = strdup("name");
    s->key = strdup("key");
    s->labels = calloc(2, sizeof(*s->labels));
    s->nlabels = 2;
    s->labels[0] = (struct job_label){strdup("k"), strdup("v")};
    s->labels[1] = (struct job_label){strdup("k2"), strdup("")};
    s->cwd = strdup("/tmp");
    s->env = job_env_new((char *const[]){"A=1", "B=", NULL});
    s->umask = 0;
    s->stdin_path = strdup("/dev/null");
    s->queue = strdup("default");
    s->priority = -7;
    s->timeout_usec = 1;
    s->queue_timeout_usec = 2;
    s->kill_after_usec = UINT64_MAX;
    s->stop_signal = SIGINT;
    s->kill_mode = JOB_KILL_MAIN;
    s->on_lost = JOB_ON_LOST_RETRY;
    s->replaces = 12;
    s->output = JOB_OUTPUT_PATH;
    s->output_path = strdup("/tmp/out");
    s->output_limit = 12345;
    s->rlimits = calloc(1, sizeof(*s->rlimits));
    s->rlimits->given = 1 << RLIMIT_NOFILE | 1 << RLIMIT_CPU | 1 << RLIMIT_AS;
    s->rlimits->soft[RLIMIT_NOFILE] = 1024;
    s->rlimits->hard[RLIMIT_NOFILE] = 524288;
    s->rlimits->hard[RLIMIT_CPU] = JOB_NO_LIMIT;
    s->rlimits->soft[RLIMIT_AS] = s->rlimits->hard[RLIMIT_AS] = JOB_NO_LIMIT;
    s->is_array = true;
    s->array_first = 3;
    s->array_last = 9;
    return s;
}

static int unpack_spec(const struct spec_pack *p, struct job_spec **ret)
{
    const struct spec_parts parts = {.own = p->own.bytes,
                                     .own_n = p->own.n,
                                     .env = p->env.bytes,
                                     .env_n = p->env.n,
                                     .argv = p->argv.bytes,
                                     .argv_n = p->argv.n};
    return job_spec_unpack(&parts, ret);
}

static void round_trip(struct job_spec *s, bool shared_argv)
{
    struct spec_pack p = {{0}, {0}, {0}};
    struct job_spec *back = NULL;

    assert_int_equal(job_spec_pack(s, &p), 0);
    assert_int_equal(p.argv.n > 0, shared_argv);
    assert_int_equal(unpack_spec(&p, &back), 0);
    assert_true(job_spec_equal(s, back));
    assert_int_equal(s->queue_timeout_usec, back->queue_timeout_usec);
    assert_memory_equal(&s->cgroup, &back->cgroup, sizeof(s->cgroup));
    assert_memory_equal(&s->cgroup_default, &back->cgroup_default, sizeof(s->cgroup));
    for (size_t i = 0; i < s->nclaims; i++)
        assert_int_equal(s->claims[i].had, back->claims[i].had);
    for (size_t i = 0; i < s->nafter; i++) {
        assert_int_equal(s->after[i].started, back->after[i].started);
        assert_int_equal(s->after[i].result, back->after[i].result);
    }
    job_spec_unref(back);
    spec_pack_fini(&p);
    job_spec_unref(s);
}

static void bring_script(struct job_spec *s, const char *text)
{
    s->script = calloc(1, sizeof(*s->script) + strlen(text));
    s->script->n = strlen(text);
    memcpy(s->script->bytes, text, strlen(text));
}

/* Of a list the text is not wanted, and its argv is; what other bytes say of the length
 * is not believed. */
static void a_script_is_left_out_or_refused(void **state)
{
    struct job_spec *s = full_spec(false), *brief, *bad = NULL;
    struct spec_pack p = {{0}, {0}, {0}};

    (void)state;
    bring_script(s, "#!/bin/sh\n");
    assert_int_equal(job_spec_pack(s, &p), 0);
    struct spec_parts parts = {.own = p.own.bytes,
                               .own_n = p.own.n,
                               .argv = p.argv.bytes,
                               .argv_n = p.argv.n,
                               .without_env = true};
    assert_int_equal(job_spec_unpack(&parts, &brief), 0);
    assert_null(brief->script);
    assert_string_equal(brief->argv[0], "/bin/echo");
    job_spec_unref(brief);
    parts.own_only = true;
    assert_int_equal(job_spec_unpack(&parts, &bad), -EBADMSG); /* no argv */
    parts.own_only = false;
    p.own.bytes[p.own.n - 2]--; /* the length, before the end */
    assert_int_equal(job_spec_unpack(&parts, &bad), -EBADMSG);
    p.own.bytes[p.own.n - 2] += 2;
    assert_int_equal(job_spec_unpack(&parts, &bad), -EBADMSG);
    assert_null(bad);
    spec_pack_fini(&p);
    job_spec_unref(s);
}

/* Of limits only those that there are have bytes. */
static void limits_of_cgroups(void **state)
{
    struct job_spec *s = full_spec(false);
    struct pack p = {0};

    (void)state;
    s->cgroup.memory_max = 1 << 20;
    s->cgroup.swap_max = 0;
    s->cgroup_default.pids_max = 7;
    job_spec_pack_some(s, UINT64_C(3) << 59, &p);
    static const uint8_t bytes[] = {59, 5, 0x80, 0x80, 0x40, 0, 60, 8, 7, 0};
    assert_int_equal(p.n, sizeof(bytes));
    assert_memory_equal(p.bytes, bytes, sizeof(bytes));
    pack_fini(&p);
    round_trip(job_spec_ref(s), false);
    for (size_t i = 0; i < JOB_CGROUP_LIMITS; i++) {
        *job_cgroup_at(&s->cgroup, i) = i < 2 ? JOB_NO_LIMIT : 10000;
        *job_cgroup_at(&s->cgroup_default, i) = i < 2 ? INT64_MAX : 1;
    }
    round_trip(s, false);
}

/* What a key stands for has those that were given, and not the configuration's. */
static void defaults_of_limits_are_not_compared(void **state)
{
    struct job_spec *s = full_spec(false);
    struct spec_pack with = {{0}, {0}, {0}}, without = {{0}, {0}, {0}};

    (void)state;
    assert_int_equal(job_spec_pack_body(s, &without), 0);
    s->cgroup_default.memory_max = 1 << 20;
    assert_int_equal(job_spec_pack_body(s, &with), 0);
    assert_int_equal(with.own.n, without.own.n);
    assert_memory_equal(with.own.bytes, without.own.bytes, with.own.n);
    spec_pack_fini(&with);
    with = (struct spec_pack){{0}, {0}, {0}};
    s->cgroup.memory_max = 1 << 20;
    assert_int_equal(job_spec_pack_body(s, &with), 0);
    assert_true(with.own.n > without.own.n);
    spec_pack_fini(&with);
    spec_pack_fini(&without);
    job_spec_unref(s);
}

static void specs_come_back_as_they_were(void **state)
{
    struct job_spec *s;

    (void)state;
    round_trip(full_spec(false), false);
    round_trip(full_spec(true), true);
    s = job_spec_new();
    s->argv = strings("true", NULL);
    round_trip(s, false);
    s = job_spec_new();
    s->kind = JOB_KIND_NOOP;
    s->is_array = true;
    s->after = calloc(3, sizeof(*s->after));
    s->nafter = 3;
    s->after[0] = (struct job_edge){.job = 300, .result = JOB_RESULT_DEPENDENCY};
    s->after[1] = (struct job_edge){
        .job = 7, .when = JOB_AFTER_START, .started = true, .each = true};
    s->after[2] = (struct job_edge){
        .job = UINT64_MAX, .when = JOB_AFTER_ANY, .started = true, .result = 1};
    round_trip(job_spec_ref(s), false);
    s->after[0].key = strdup("first");
    s->after[2].key = strdup("third");
    round_trip(s, false);
    s = job_spec_new();
    s->kind = JOB_KIND_NOOP;
    round_trip(s, false);
    s = job_spec_new();
    s->kind = JOB_KIND_SLEEP;
    s->duration_usec = UINT64_C(1) << 60;
    round_trip(s, false);
    s = job_spec_new();
    s->argv = strings("/bin/sh", "-c");
    s->shell = true;
    s->output_split = true;
    round_trip(s, false);
    s = full_spec(false);
    s->is_array = false;
    s->array_first = s->array_last = 0;
    s->error_path = strdup("/tmp/err");
    s->open_mode = JOB_OPEN_TRUNCATE;
    round_trip(s, false);
    s = full_spec(false);
    free(s->stdin_path);
    s->stdin_path = NULL;
    s->input = calloc(1, sizeof(*s->input) + 3);
    s->input->n = 3;
    memcpy(s->input->bytes, "a\0b", 3);
    round_trip(s, true);
    bring_script(s = full_spec(false), "#!/bin/sh\ntrue\n");
    round_trip(s, true);
    bring_script(s = full_spec(true), "#!/bin/sh");
    free(s->stdin_path);
    s->stdin_path = NULL;
    s->input = calloc(1, sizeof(*s->input) + 3);
    s->input->n = 3;
    memcpy(s->input->bytes, "#\0!", 3);
    round_trip(s, true);
    s = full_spec(false);
    s->kill_mode = JOB_KILL_TREE;
    s->claims = calloc(3, sizeof(*s->claims));
    s->nclaims = 3;
    s->claims[0] = (struct job_claim){.name = strdup("db"), .mode = JOB_CLAIM_SHARED};
    s->claims[1] = (struct job_claim){
        .name = strdup("tape"), .mode = JOB_CLAIM_PERMITS, .permits = 2, .had = 300};
    s->claims[2] = (struct job_claim){.name = strdup("api"),
                                      .mode = JOB_CLAIM_RATE,
                                      .permits = 1,
                                      .capacity = 7,
                                      .interval_usec = 1000,
                                      .had = 7};
    round_trip(s, false);
    s = full_spec(false);
    s->nranges = 2;
    s->ranges = calloc(2, sizeof(*s->ranges));
    s->ranges[0] = (struct job_range){.first = 3, .last = 7, .step = 2};
    s->ranges[1] = (struct job_range){.first = 9, .last = 9, .step = 1};
    assert_int_equal(job_spec_set_ranges(s), 0);
    s->at_once = 4;
    s->kill_mode = JOB_KILL_TREE;
    s->retry_times = 3;
    s->backoff_usec = 5;
    s->backoff_max_usec = 6;
    s->max_total_usec = 7;
    s->retry_on = 1u << JOB_RESULT_EXIT;
    s->retry_codes.word[3] = 9;
    s->success.word[0] = 8;
    round_trip(s, false);
    s = job_spec_new();
    s->argv = strings("cat", NULL);
    s->input = calloc(1, sizeof(*s->input));
    round_trip(s, true);
    s = full_spec(false); /* an environment without limits */
    free(s->rlimits);
    s->rlimits = NULL;
    round_trip(s, false);
    s = full_spec(false); /* and limits without an environment */
    job_env_unref(s->env);
    s->env = NULL;
    round_trip(s, false);
}

static char *hex_of(const struct pack *p)
{
    char *hex = calloc(p->n + 1, 2);

    for (size_t i = 0; i < p->n; i++)
        (void)snprintf(hex + 2 * i, 3, "%02x", p->bytes[i]);
    return hex;
}

/* Stores of earlier versions have these bytes. */
static void the_bytes_of_a_spec_stay(void **state)
{
    struct job_spec *s = full_spec(false);
    struct spec_pack p = {{0}, {0}, {0}}, body = {{0}, {0}, {0}};

    (void)state;
    assert_int_equal(job_spec_pack(s, &p), 0);
    assert_int_equal(job_spec_pack_body(s, &body), 0);
    char *own = hex_of(&p.own), *env = hex_of(&p.env), *own_body = hex_of(&body.own);
    assert_string_equal(own,
                        "0202092f62696e2f6563686f05787878787805046e616d650602016b0176026b"
                        "320007042f746d7009000a092f6465762f6e756c6c0b0764656661756c740c0d"
                        "0d010effffffffffffffffff010f021001110212082f746d702f6f7574140309"
                        "16036b6579170118b960190c1a340200");
    assert_string_equal(env, "8105010081088180200000010203413d3102423d");
    assert_string_equal(own_body,
                        "0202092f62696e2f6563686f05787878787805046e616d650602016b0176026b"
                        "320007042f746d7009000a092f6465762f6e756c6c0b0764656661756c740c0d"
                        "0d010effffffffffffffffff010f021001110212082f746d702f6f7574140309"
                        "16036b6579170118b9601a00");
    free(own);
    free(env);
    free(own_body);
    spec_pack_fini(&p);
    spec_pack_fini(&body);
    job_spec_unref(s);
}

/* A waiting job is no larger for them: they are part of what equal jobs share. */
static void limits_are_shared(void **state)
{
    struct job_spec *s = full_spec(false);
    struct spec_pack with = {{0}, {0}, {0}}, without = {{0}, {0}, {0}};

    (void)state;
    assert_int_equal(job_spec_pack(s, &with), 0);
    free(s->rlimits);
    s->rlimits = NULL;
    assert_int_equal(job_spec_pack(s, &without), 0);
    assert_int_equal(with.own.n, without.own.n);
    assert_true(with.env.n > without.env.n);
    spec_pack_fini(&with);
    spec_pack_fini(&without);
    job_spec_unref(s);
}

/* Any byte changed, any end cut off: refused, or a spec that holds its own rules. The
 * store's CRC comes before this; here nothing may be read or freed wrongly. */
static void damaged_specs_do_no_harm(void **state)
{
    struct job_spec *s = full_spec(true), *back;
    struct spec_pack p = {{0}, {0}, {0}};
    struct pack *parts[] = {&p.own, &p.env, &p.argv};
    const char *field;

    (void)state;
    assert_int_equal(job_spec_pack(s, &p), 0);
    for (size_t part = 0; part < 3; part++) {
        for (size_t i = 0; i < parts[part]->n; i++) {
            for (unsigned bit = 0; bit < 8; bit++) {
                parts[part]->bytes[i] ^= (uint8_t)(1u << bit);
                if (unpack_spec(&p, &back) == 0) {
                    assert_int_equal(job_spec_validate(back, &field, NULL), 0);
                    job_spec_unref(back);
                }
                parts[part]->bytes[i] ^= (uint8_t)(1u << bit);
            }
        }
        for (size_t whole = parts[part]->n; parts[part]->n > 0;) {
            parts[part]->n--;
            assert_int_equal(unpack_spec(&p, &back), -EBADMSG);
            if (parts[part]->n == 0) {
                parts[part]->n = whole;
                break;
            }
        }
    }
    spec_pack_fini(&p);
    job_spec_unref(s);
}

static void a_spec_without_its_environment_is_none(void **state)
{
    struct job_spec *s = full_spec(false), *back;
    struct spec_pack p = {{0}, {0}, {0}};

    (void)state;
    assert_int_equal(job_spec_pack(s, &p), 0);
    pack_fini(&p.env);
    assert_int_equal(unpack_spec(&p, &back), -EBADMSG);
    spec_pack_fini(&p);
    job_spec_unref(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_and_strings),
        cmocka_unit_test(memory_is_lent),
        cmocka_unit_test(lengths_are_not_trusted),
        cmocka_unit_test(limits_of_cgroups),
        cmocka_unit_test(defaults_of_limits_are_not_compared),
        cmocka_unit_test(specs_come_back_as_they_were),
        cmocka_unit_test(a_script_is_left_out_or_refused),
        cmocka_unit_test(the_bytes_of_a_spec_stay),
        cmocka_unit_test(limits_are_shared),
        cmocka_unit_test(damaged_specs_do_no_harm),
        cmocka_unit_test(a_spec_without_its_environment_is_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
