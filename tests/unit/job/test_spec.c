/* Specs: defaults, references, each cross-field check by the field it names. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "daemon/job/env.h"
#include "daemon/job/spec.h"

static char **list(const char *const *items, size_t n)
{
    char **v = calloc(n + 1, sizeof(*v));

    assert_non_null(v);
    for (size_t i = 0; i < n; i++)
        v[i] = strdup(items[i]);
    return v;
}

static struct job_spec *exec_spec(const char *program)
{
    struct job_spec *s = job_spec_new();

    assert_non_null(s);
    s->argv = list((const char *const[]){program, "{i}"}, 2);
    return s;
}

/* Takes s. field NULL: it must be valid. */
static void check(struct job_spec *s, const char *field)
{
    const char *named = NULL;
    struct volt_error err = {{0}};
    int r = job_spec_validate(s, &named, &err);

    if (field) {
        assert_int_equal(r, -EINVAL);
        assert_string_equal(named, field);
        assert_true(err.text[0] != '\0');
        assert_int_equal(job_spec_validate(s, NULL, NULL), -EINVAL);
    } else {
        assert_int_equal(r, 0);
    }
    job_spec_unref(s);
}

static void defaults(void **state)
{
    (void)state;
    struct job_spec *s = job_spec_new();

    assert_int_equal(s->kind, JOB_KIND_EXEC);
    assert_int_equal(s->umask, JOB_NO_UMASK);
    assert_int_equal(s->stop_signal, SIGTERM);
    assert_int_equal(s->kill_after_usec, JOB_KILL_AFTER_USEC_DEFAULT);
    assert_int_equal(job_spec_count(s), 1);
    assert_ptr_equal(job_spec_ref(s), s);
    job_spec_unref(s);
    job_spec_unref(s);
    job_spec_unref(NULL);
}

static void bring_script(struct job_spec *s, const char *text)
{
    s->script = calloc(1, sizeof(*s->script) + strlen(text));
    s->script->n = strlen(text);
    memcpy(s->script->bytes, text, strlen(text));
}

#define EXEC_WITH(field_name, ...)                                                       \
    do {                                                                                 \
        struct job_spec *s = exec_spec("/bin/true");                                     \
        __VA_ARGS__;                                                                     \
        check(s, field_name);                                                            \
    } while (0)

static void checks_of_exec(void **state)
{
    (void)state;
    EXEC_WITH(NULL, (void)s);
    check(job_spec_new(), "argv");
    check(exec_spec(""), "argv");
    EXEC_WITH("duration_usec", s->duration_usec = 1);
    EXEC_WITH("cwd", s->cwd = strdup("tmp"));
    EXEC_WITH(NULL, s->cwd = strdup("/tmp"));
    EXEC_WITH("stdin", s->stdin_path = strdup("x"));
    EXEC_WITH("output_path", s->output = JOB_OUTPUT_PATH);
    EXEC_WITH("output_path", s->output_path = strdup("/x"));
    EXEC_WITH("output_path", s->output = JOB_OUTPUT_PATH; s->output_path = strdup("x"));
    EXEC_WITH(NULL, s->output = JOB_OUTPUT_PATH; s->output_path = strdup("/x"));
    EXEC_WITH("output_split", s->output = JOB_OUTPUT_NULL; s->output_split = true);
    EXEC_WITH(NULL, s->error_path = strdup("/x"));
    EXEC_WITH("error_path", s->error_path = strdup("x"));
    EXEC_WITH("error_path", s->error_path = strdup("/x"); s->output_split = true);
    EXEC_WITH("open_mode", s->open_mode = JOB_OPEN_TRUNCATE);
    EXEC_WITH(NULL, s->input = calloc(1, sizeof(*s->input)));
    EXEC_WITH("stdin_data", s->input = calloc(1, sizeof(*s->input));
              s->stdin_path = strdup("/x"));
    EXEC_WITH(NULL, bring_script(s, "#!/bin/sh"));
    EXEC_WITH("script", bring_script(s, "#!/bin/sh"); s->shell = true);
    EXEC_WITH("script", bring_script(s, "true\n"));
    EXEC_WITH(NULL, s->open_mode = JOB_OPEN_TRUNCATE; s->error_path = strdup("/x"));
    EXEC_WITH("env", s->env = job_env_new((char *const[]){"A=1", "=x", NULL}));
    EXEC_WITH("env", s->env = job_env_new((char *const[]){"A", NULL}));
    EXEC_WITH(NULL, s->env = job_env_new((char *const[]){"A=", NULL}));
    EXEC_WITH("umask", s->umask = 01000);
    EXEC_WITH(NULL, s->umask = 0777);
    EXEC_WITH("priority", s->priority = JOB_PRIORITY_MAX + 1);
    EXEC_WITH("priority", s->priority = JOB_PRIORITY_MIN - 1);
    EXEC_WITH("stop_signal", s->stop_signal = 0);
    EXEC_WITH("stop_signal", s->stop_signal = 65);
    EXEC_WITH(NULL, s->queue = strdup("default"));
    EXEC_WITH(NULL, s->queue = strdup("gpu"));
}

static void claim(struct job_spec *s, const char *name, enum job_claim_mode mode,
                  uint64_t permits, uint64_t capacity)
{
    s->claims = realloc(s->claims, (s->nclaims + 1) * sizeof(*s->claims));
    assert_non_null(s->claims);
    s->claims[s->nclaims++] = (struct job_claim){
        .name = strdup(name), .mode = mode, .permits = permits, .capacity = capacity};
}

static void checks_of_claims(void **state)
{
    char longest[JOB_CLAIM_BYTES + 2];

    (void)state;
    memset(longest, 'x', sizeof(longest));
    longest[JOB_CLAIM_BYTES + 1] = '\0';
    EXEC_WITH(NULL, claim(s, "db", JOB_CLAIM_EXCLUSIVE, 0, 0);
              claim(s, longest + 1, JOB_CLAIM_SHARED, 0, 0);
              claim(s, "tape", JOB_CLAIM_PERMITS, 2, 1));
    EXEC_WITH("claims", claim(s, "", JOB_CLAIM_SHARED, 0, 0));
    EXEC_WITH("claims", claim(s, longest, JOB_CLAIM_SHARED, 0, 0));
    EXEC_WITH("claims", claim(s, "/db", JOB_CLAIM_SHARED, 0, 0));
    EXEC_WITH("claims", claim(s, "db", JOB_CLAIM_SHARED, 1, 0));
    EXEC_WITH("claims", claim(s, "db", JOB_CLAIM_EXCLUSIVE, 0, 1));
    EXEC_WITH("claims", claim(s, "db", JOB_CLAIM_PERMITS, 0, 1));
    EXEC_WITH("claims", claim(s, "db", JOB_CLAIM_RATE, 1, 1));
    EXEC_WITH(NULL, claim(s, "db", JOB_CLAIM_RATE, 1, 1);
              s->claims[0].interval_usec = JOB_INTERVAL_MAX);
    EXEC_WITH("claims", claim(s, "db", JOB_CLAIM_RATE, 1, 1);
              s->claims[0].interval_usec = JOB_INTERVAL_MAX + 1);
    EXEC_WITH(NULL, claim(s, "db", JOB_CLAIM_RATE, 1, 1000000);
              s->claims[0].interval_usec = JOB_INTERVAL_MAX);
    EXEC_WITH("claims", claim(s, "db", JOB_CLAIM_RATE, 1, 1000001);
              s->claims[0].interval_usec = JOB_INTERVAL_MAX);
    EXEC_WITH("claims", claim(s, "db", JOB_CLAIM_RATE, 1, 858993460); /* 2^64 and a bit */
              s->claims[0].interval_usec = UINT64_C(21474836480));
    EXEC_WITH("claims", claim(s, "db", JOB_CLAIM_PERMITS, 1, 1);
              s->claims[0].interval_usec = 1);
    EXEC_WITH("claims", claim(s, "db", JOB_CLAIM_PERMITS, JOB_PERMITS_MAX + 1, 0));
    EXEC_WITH("claims", claim(s, "db", JOB_CLAIM_PERMITS, 1, JOB_PERMITS_MAX + 1));
    EXEC_WITH("claims", claim(s, "db", JOB_CLAIM_SHARED, 0, 0);
              s->kill_mode = JOB_KILL_MAIN);
    EXEC_WITH("claims", for (int i = 0; i <= JOB_CLAIMS_MAX; i++)
                            claim(s, "db", JOB_CLAIM_SHARED, 0, 0));
}

/* What its semaphore had when it was taken is no part of what was asked for. */
static void checks_of_retry(void **state)
{
    (void)state;
    EXEC_WITH(NULL, s->retry_times = JOB_RETRIES_MAX);
    EXEC_WITH("retry.times", s->retry_times = JOB_RETRIES_MAX + 1);
    EXEC_WITH("retry.times", s->backoff_usec = 5);
    EXEC_WITH("retry.times", s->backoff_max_usec = JOB_USEC_MAX);
    EXEC_WITH("retry.times", s->max_total_usec = 5);
    EXEC_WITH("retry.times", s->retry_on = 1u << JOB_RESULT_EXIT);
    EXEC_WITH("retry.times", s->retry_codes.word[1] = 1);
    EXEC_WITH("retry", s->retry_times = 1; s->kill_mode = JOB_KILL_MAIN);
    EXEC_WITH(NULL, s->kill_mode = JOB_KILL_MAIN);
    EXEC_WITH("retry.backoff_max_usec", s->retry_times = 1; s->backoff_usec = 5;
              s->backoff_max_usec = 4);
    EXEC_WITH(NULL, s->retry_times = 1; s->backoff_usec = s->backoff_max_usec = 5);
    EXEC_WITH("retry.on", s->retry_times = 1; s->retry_on = 1u << JOB_RESULT_LOST);
    EXEC_WITH("retry.on", s->retry_times = 1;
              s->retry_on = 1u << JOB_RESULT_OUTPUT_LIMIT);
    EXEC_WITH("retry.exit_codes", s->retry_times = 1; s->retry_codes.word[1] = 1;
              s->retry_on = 1u << JOB_RESULT_SIGNAL);
    EXEC_WITH(NULL, s->retry_times = 1; s->retry_codes.word[1] = 1);
    EXEC_WITH(NULL, s->retry_times = 1; s->retry_codes.word[1] = 1;
              s->retry_on = 1u << JOB_RESULT_EXIT);
}

static void equal_claims(void **state)
{
    struct job_spec *a = exec_spec("x"), *b = exec_spec("x");

    (void)state;
    claim(a, "db", JOB_CLAIM_PERMITS, 1, 0);
    assert_false(job_spec_equal(a, b));
    claim(b, "db", JOB_CLAIM_PERMITS, 1, 0);
    b->claims[0].had = 7;
    assert_true(job_spec_equal(a, b));
    b->claims[0].permits = 2;
    assert_false(job_spec_equal(a, b));
    b->claims[0].permits = 1;
    b->claims[0].capacity = 2;
    assert_false(job_spec_equal(a, b));
    b->claims[0].capacity = 0;
    b->claims[0].interval_usec = 2;
    assert_false(job_spec_equal(a, b));
    assert_true(job_spec_bytes(a) > 0);
    job_spec_unref(a);
    job_spec_unref(b);
}

static void checks_of_arrays(void **state)
{
    (void)state;
    EXEC_WITH("array", s->is_array = true; s->array_first = 2; s->array_last = 1);
    EXEC_WITH("array", s->is_array = true; s->array_last = JOB_ARRAY_MAX);
    EXEC_WITH("array", s->is_array = true; s->array_first = s->array_last = UINT64_MAX);
    EXEC_WITH(NULL, s->is_array = true; s->array_last = JOB_ARRAY_MAX - 1;
              assert_int_equal(job_spec_count(s), JOB_ARRAY_MAX));
}

static struct job_spec *with_ranges(const struct job_range *r, size_t n)
{
    struct job_spec *s = exec_spec("/bin/true");

    s->is_array = true;
    s->nranges = n;
    s->ranges = calloc(n, sizeof(*r));
    memcpy(s->ranges, r, n * sizeof(*r));
    return s;
}

/* 1, 3, 5, 7, 20, 21 */
static void arrays_that_leave_indexes_out(void **state)
{
    static const struct job_range some[] = {{1, 7, 2, 0}, {20, 21, 1, 0}};
    static const int64_t indexes[] = {1, 3, 5, 7, 20, 21};
    struct job_spec *s = with_ranges(some, 2);
    int64_t offset = 0;

    (void)state;
    assert_int_equal(job_spec_set_ranges(s), 0);
    assert_int_equal(s->array_first, 1);
    assert_int_equal(s->array_last, 21);
    assert_int_equal(job_spec_count(s), 6);
    for (int64_t i = 0; i < 30; i++) {
        bool there = offset < 6 && indexes[offset] == i;

        assert_int_equal(job_spec_offset(s, i), there ? offset : -1);
        assert_int_equal(job_spec_offset_from(s, i), offset);
        if (there)
            assert_int_equal(job_spec_index(s, offset++), i);
    }
    assert_int_equal(job_spec_offset(s, -1), -1);
    check(s, NULL);
    s = exec_spec("/bin/true");
    assert_int_equal(job_spec_offset(s, 0), -1); /* no array */
    s->is_array = true;
    s->array_first = 5;
    s->array_last = 7;
    assert_int_equal(job_spec_offset(s, 4), -1);
    assert_int_equal(job_spec_offset(s, 7), 2);
    assert_int_equal(job_spec_offset(s, 8), -1);
    assert_int_equal(job_spec_offset_from(s, -1), 0);
    assert_int_equal(job_spec_offset_from(s, 5), 0);
    assert_int_equal(job_spec_offset_from(s, 7), 2);
    assert_int_equal(job_spec_offset_from(s, 8), 3);
    assert_int_equal(job_spec_index(s, 2), 7);
    job_spec_unref(s);
}

static void ranges_that_are_none(void **state)
{
    static const struct job_range bad[][2] = {
        {{1, 2, 1, 0}, {2, 3, 1, 0}}, {{5, 6, 1, 0}, {1, 2, 1, 0}},
        {{1, 2, 0, 0}, {5, 6, 1, 0}}, {{1, 4, 2, 0}, {5, 6, 1, 0}},
        {{2, 1, 1, 0}, {5, 6, 1, 0}}, {{1, 2, 1, 0}, {5, UINT64_MAX, 1, 0}}};

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct job_spec *s = with_ranges(bad[i], 2);
        assert_int_equal(job_spec_set_ranges(s), -EINVAL);
        job_spec_unref(s);
    }
    struct job_range many[JOB_RANGES_MAX + 1];
    for (uint64_t i = 0; i <= JOB_RANGES_MAX; i++)
        many[i] = (struct job_range){2 * i, 2 * i, 1, 0};
    struct job_spec *s = with_ranges(many, JOB_RANGES_MAX + 1);
    assert_int_equal(job_spec_set_ranges(s), 0);
    check(s, "array");
}

static void elements_that_truncate_have_paths_of_their_own(void **state)
{
    (void)state;
#define TRUNCATES(...)                                                                   \
    s->is_array = true;                                                                  \
    s->open_mode = JOB_OPEN_TRUNCATE;                                                    \
    __VA_ARGS__
    EXEC_WITH("open_mode", TRUNCATES(s->error_path = strdup("/x")));
    EXEC_WITH(NULL, TRUNCATES(s->error_path = strdup("/x.{i}")));
    EXEC_WITH(NULL, TRUNCATES(s->error_path = strdup("/{id}/x")));
    EXEC_WITH("open_mode",
              TRUNCATES(s->error_path = strdup("/{i}"); s->output = JOB_OUTPUT_PATH;
                        s->output_path = strdup("/{name}")));
#undef TRUNCATES
}

static void checks_of_other_kinds(void **state)
{
    (void)state;
    struct job_spec *s = job_spec_new();
    s->kind = JOB_KIND_SLEEP;
    check(s, "duration_usec");
    s = job_spec_new();
    s->kind = JOB_KIND_SLEEP;
    s->duration_usec = 1;
    check(s, NULL);
    s = job_spec_new();
    s->kind = JOB_KIND_NOOP;
    s->duration_usec = 1;
    check(s, "duration_usec");
    s = exec_spec("/bin/true");
    s->kind = JOB_KIND_NOOP;
    check(s, "argv");
    s = exec_spec("/bin/true");
    s->at_once = 1;
    check(s, "array.at_once");
    s = job_spec_new();
    s->kind = JOB_KIND_NOOP;
    s->is_array = true;
    s->at_once = 1;
    check(s, "array.at_once");
    s = exec_spec("/bin/true");
    s->rlimits = calloc(1, sizeof(*s->rlimits));
    check(s, "limits.rlimits");
    s = exec_spec("/bin/true");
    s->rlimits = calloc(1, sizeof(*s->rlimits));
    s->rlimits->given = 1 << JOB_RLIMITS;
    check(s, "limits.rlimits");
    s = exec_spec("/bin/true");
    s->rlimits = calloc(1, sizeof(*s->rlimits));
    s->rlimits->given = 1;
    s->rlimits->soft[0] = 1;
    check(s, "limits.rlimits");
    s = exec_spec("/bin/sh");
    s->shell = true;
    s->kind = JOB_KIND_SLEEP;
    check(s, "shell");
    s = job_spec_new();
    s->kind = JOB_KIND_NOOP;
    s->input = calloc(1, sizeof(*s->input));
    check(s, "stdin_data");
    s = job_spec_new();
    s->kind = JOB_KIND_NOOP;
    bring_script(s, "#!/bin/sh");
    check(s, "script");
    s = job_spec_new();
    s->kind = (enum job_kind)99;
    check(s, "kind");
}

static void display_name_and_bytes(void **state)
{
    (void)state;
    struct job_spec *s = exec_spec("/usr/bin/make");
    size_t before;

    assert_string_equal(job_spec_display_name(s), "make");
    s->shell = true;
    assert_string_equal(job_spec_display_name(s), "sh");
    before = job_spec_bytes(s);
    assert_true(before > sizeof(*s));
    s->name = strdup("nightly");
    assert_string_equal(job_spec_display_name(s), "nightly");
    assert_true(job_spec_bytes(s) >= before + sizeof("nightly"));
    s->labels = calloc(1, sizeof(*s->labels));
    s->labels[0].name = strdup("a");
    s->labels[0].value = strdup("b");
    s->nlabels = 1;
    before = job_spec_bytes(s);
    s->rlimits = calloc(1, sizeof(*s->rlimits));
    assert_true(job_spec_bytes(s) >= before + sizeof(*s->rlimits));
    before = job_spec_bytes(s);
    s->env = job_env_new((char *const[]){"A=1", NULL});
    assert_true(job_spec_bytes(s) > before);
    s->after = calloc(3, sizeof(*s->after));
    s->nafter = 3;
    before = job_spec_bytes(s);
    s->nafter = 2; /* admission has an edge for each, in a block of its own */
    assert_true(before - job_spec_bytes(s) >= sizeof(*s->after) + JOB_EDGE_BYTES);
    s->is_array = true;
    s->array_last = 999;
    before = job_spec_bytes(s);
    s->after[1].each = true;
    assert_int_equal(job_spec_bytes(s), before + 2500);
    s->after[0].key = strdup("weekly");
    assert_true(job_spec_bytes(s) >= before + 2500 + sizeof("weekly"));
    job_spec_unref(s);

    s = job_spec_new();
    s->kind = JOB_KIND_NOOP;
    assert_string_equal(job_spec_display_name(s), "noop");
    s->kind = JOB_KIND_SLEEP;
    assert_string_equal(job_spec_display_name(s), "sleep");
    job_spec_unref(s);
}

/* Every field makes a difference. */
static void equality(void **state)
{
    (void)state;
    struct job_spec *a = exec_spec("/bin/true");

#define DIFFERS(...)                                                                     \
    do {                                                                                 \
        struct job_spec *b = exec_spec("/bin/true");                                     \
        assert_true(job_spec_equal(a, b));                                               \
        __VA_ARGS__;                                                                     \
        assert_false(job_spec_equal(a, b));                                              \
        assert_false(job_spec_equal(b, a));                                              \
        job_spec_unref(b);                                                               \
    } while (0)
    DIFFERS(b->kind = JOB_KIND_NOOP);
    DIFFERS(b->shell = true);
    DIFFERS(b->umask = 0);
    DIFFERS(b->priority = 1);
    DIFFERS(b->timeout_usec = 1);
    DIFFERS(b->kill_after_usec = 1);
    DIFFERS(b->stop_signal = SIGINT);
    DIFFERS(b->kill_mode = JOB_KILL_MAIN);
    DIFFERS(b->on_lost = JOB_ON_LOST_RETRY);
    DIFFERS(b->output = JOB_OUTPUT_NULL);
    DIFFERS(b->output_split = true);
    DIFFERS(b->env_adds = true);
    DIFFERS(b->output_limit = 1);
    for (size_t i = 0; i < JOB_CGROUP_LIMITS; i++)
        DIFFERS(*job_cgroup_at(&b->cgroup, i) = 100);
    DIFFERS(b->is_array = true);
    DIFFERS(b->array_first = 1);
    DIFFERS(b->array_last = 1);
    DIFFERS(b->at_once = 1);
    DIFFERS(b->retry_times = 1);
    DIFFERS(b->backoff_usec = 1);
    DIFFERS(b->backoff_max_usec = 1);
    DIFFERS(b->max_total_usec = 1);
    DIFFERS(b->retry_on = 1u << JOB_RESULT_EXIT);
    DIFFERS(b->retry_codes.word[3] = 1);
    DIFFERS(b->success.word[0] = 1);
    DIFFERS(b->ranges = calloc(1, sizeof(*b->ranges)); b->nranges = 1);
    DIFFERS(b->duration_usec = 1);
    DIFFERS(b->name = strdup("x"));
    DIFFERS(b->cwd = strdup("/"));
    DIFFERS(b->stdin_path = strdup("/x"));
    DIFFERS(b->input = calloc(1, sizeof(*b->input)));
    DIFFERS(bring_script(b, "#!/bin/sh\n"));
    DIFFERS(b->queue = strdup("default"));
    DIFFERS(b->output_path = strdup("/x"));
    DIFFERS(b->error_path = strdup("/x"));
    DIFFERS(b->open_mode = JOB_OPEN_TRUNCATE);
    DIFFERS(b->env = job_env_new((char *const[]){"A=1", NULL}));
    DIFFERS(b->rlimits = calloc(1, sizeof(*b->rlimits)); b->rlimits->given = 1);
    DIFFERS(free(b->argv[1]); b->argv[1] = NULL);
    DIFFERS(free(b->argv[1]); b->argv[1] = strdup("x"));
    DIFFERS(b->labels = calloc(1, sizeof(*b->labels)); b->nlabels = 1;
            b->labels[0].name = strdup("x"); b->labels[0].value = strdup("y"));
#undef DIFFERS
    struct job_spec *c = exec_spec("/bin/true");
    for (struct job_spec *s = a; s; s = s == a ? c : NULL) {
        s->rlimits = calloc(1, sizeof(*s->rlimits));
        s->rlimits->given = 2;
    }
    assert_true(job_spec_equal(a, c));
    c->rlimits->hard[1] = 1;
    assert_false(job_spec_equal(a, c));
    c->rlimits->soft[1] = a->rlimits->hard[1] = 1;
    assert_false(job_spec_equal(a, c));
    job_spec_unref(c);
    job_spec_unref(a);
}

/* Where none is given, the configuration's counts. */
static void limits_in_force(void **state)
{
    struct job_spec *s = exec_spec("/bin/true");
    struct job_cgroup c;

    (void)state;
    assert_false(job_spec_cgroup(s, &c));
    s->cgroup_default.memory_max = 2 << 20;
    s->cgroup_default.pids_max = 5;
    s->cgroup.pids_max = 9;
    assert_true(job_spec_cgroup(s, &c));
    assert_int_equal(c.memory_max, 2 << 20);
    assert_int_equal(c.pids_max, 9);
    assert_true(c.swap_max == JOB_NO_LIMIT);
    assert_int_equal(job_cgroup_given(&c), 1 << 0 | 1 << 3);
    for (size_t i = 0; i < JOB_CGROUP_LIMITS; i++) {
        struct volt_error err;
        const char *field;

        *job_cgroup_at(&s->cgroup, i) = UINT64_MAX - 1; /* a negative number */
        assert_int_equal(job_spec_validate(s, &field, &err), -EINVAL);
        assert_string_equal(field + strlen("limits."), job_cgroup_names[i]);
        *job_cgroup_at(&s->cgroup, i) = JOB_NO_LIMIT;
    }
    job_spec_unref(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults),
        cmocka_unit_test(checks_of_exec),
        cmocka_unit_test(checks_of_claims),
        cmocka_unit_test(checks_of_retry),
        cmocka_unit_test(equal_claims),
        cmocka_unit_test(checks_of_arrays),
        cmocka_unit_test(arrays_that_leave_indexes_out),
        cmocka_unit_test(ranges_that_are_none),
        cmocka_unit_test(elements_that_truncate_have_paths_of_their_own),
        cmocka_unit_test(checks_of_other_kinds),
        cmocka_unit_test(display_name_and_bytes),
        cmocka_unit_test(equality),
        cmocka_unit_test(limits_in_force),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
