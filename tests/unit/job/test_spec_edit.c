/* The overlay that an edit lays over a spec. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "daemon/job/spec_edit.h"

static struct job_spec *spec, *changes, *edited;

static int set_up(void **state)
{
    (void)state;
    spec = job_spec_new();
    changes = job_spec_new();
    edited = NULL;
    spec->argv = calloc(2, sizeof(char *));
    spec->argv[0] = strdup("true");
    spec->queue = strdup("day");
    spec->priority = 3;
    spec->timeout_usec = 17;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    job_spec_unref(spec);
    job_spec_unref(changes);
    job_spec_unref(edited);
    return 0;
}

static uint32_t limits; /* of the edits */

static int edit(uint64_t tags)
{
    struct volt_error err;
    const char *field = "";
    struct job_edit e = {.changes = changes, .tags = tags, .limits = limits};

    job_spec_unref(edited);
    edited = NULL;
    return job_spec_edit(spec, &e, &edited, &field, &err);
}

/* As a replay does. */
static int again(const struct job_changes *c, struct job_spec **ret)
{
    struct job_edits all = {.changes = NULL};
    int r = job_edits_add(&all, c);

    if (r == 0)
        r = job_edits_lay(&all, spec, ret);
    job_edits_fini(&all);
    return r;
}

static void what_is_not_named_stays(void **state)
{
    (void)state;
    changes->priority = -4;
    changes->queue = strdup("night");
    assert_int_equal(edit(SPEC_TAG(TAG_PRIORITY)), 0);
    assert_int_equal(edited->priority, -4);
    assert_string_equal(edited->queue, "day");
    assert_int_equal(edited->timeout_usec, 17);
    assert_string_equal(edited->argv[0], "true");
    assert_int_equal(edit(SPEC_TAG(TAG_PRIORITY) | SPEC_TAG(TAG_QUEUE)), 0);
    assert_string_equal(edited->queue, "night");
    assert_int_equal(spec->priority, 3); /* it is another spec */
}

/* What is as it is by default has no bytes, and counts all the same. */
static void a_field_may_go_back_to_its_default(void **state)
{
    (void)state;
    assert_int_equal(edit(SPEC_TAG(TAG_PRIORITY) | SPEC_TAG(TAG_QUEUE)), 0);
    assert_int_equal(edited->priority, 0);
    assert_null(edited->queue);
    assert_int_equal(edited->timeout_usec, 17);
}

/* By its bytes the edit does the same again. */
static void its_bytes_say_the_same(void **state)
{
    const uint64_t tags =
        SPEC_TAG(TAG_PRIORITY) | SPEC_TAG(TAG_QUEUE) | SPEC_TAG(TAG_QUEUE_TIME);
    struct job_spec *seen = NULL;
    struct pack p = {0};

    (void)state;
    changes->queue = strdup("night");
    changes->queue_timeout_usec = 99;
    assert_int_equal(edit(tags), 0);
    job_edit_pack(edited, tags, &p);
    assert_false(p.failed);
    const struct job_changes c = {.bytes = p.bytes, .n = (uint32_t)p.n};
    assert_int_equal(again(&c, &seen), 0);
    assert_true(job_spec_equal(seen, edited));
    assert_int_equal(seen->queue_timeout_usec, 99);
    assert_int_equal(seen->priority, 0);
    assert_int_equal(job_edit_fields(&c), 6);
    job_spec_unref(seen);
    pack_fini(&p);
}

/* Of limits those that are named change; one may go. The bytes have what is then. */
static void limits_change_one_by_one(void **state)
{
    const uint64_t tags = SPEC_TAG(TAG_CGROUP);
    struct job_spec *seen = NULL;
    struct pack p = {0};

    (void)state;
    spec->cgroup.memory_max = 2 << 20;
    spec->cgroup.pids_max = 9;
    changes->cgroup.swap_max = 0;
    limits = 1 << 2 | 1 << 3; /* swap_max, and pids_max to none */
    assert_int_equal(edit(tags), 0);
    limits = 0;
    assert_int_equal(edited->cgroup.memory_max, 2 << 20);
    assert_int_equal(edited->cgroup.swap_max, 0);
    assert_true(edited->cgroup.pids_max == JOB_NO_LIMIT);
    job_edit_pack(edited, tags, &p);
    const struct job_changes c = {.bytes = p.bytes, .n = (uint32_t)p.n};
    assert_int_equal(again(&c, &seen), 0);
    assert_true(job_spec_equal(seen, edited));
    assert_int_equal(job_edit_differs(spec, edited, tags), tags);
    job_spec_unref(seen);
    pack_fini(&p);
    changes->cgroup.cpu_max = 0;
    assert_int_equal(edit(tags), -EINVAL);
}

/* Of fields that stand beside others both are of the edit. */
static void claims_come_with_what_they_had(void **state)
{
    struct job_spec *seen = NULL;
    struct pack p = {0};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct job_spec *s = i ? changes : spec;

        s->claims = calloc(2 - i, sizeof(*s->claims));
        assert_non_null(s->claims);
        for (; s->nclaims < 2 - i; s->nclaims++) {
            s->claims[s->nclaims].name = strdup("x");
            s->claims[s->nclaims].had = 7 + i;
        }
    }
    const uint64_t tags = SPEC_TAG(TAG_CLAIMS) | SPEC_TAG(TAG_HAD);
    assert_int_equal(edit(tags), 0);
    assert_int_equal(edited->nclaims, 1);
    assert_int_equal(edited->claims[0].had, 8);
    job_edit_pack(edited, tags, &p);
    const struct job_changes c = {.bytes = p.bytes, .n = (uint32_t)p.n};
    assert_int_equal(again(&c, &seen), 0);
    assert_int_equal(seen->nclaims, 1);
    assert_int_equal(seen->claims[0].had, 8);
    job_spec_unref(seen);
    pack_fini(&p);
}

static struct job_edge *some_edges(struct job_spec *s, size_t n)
{
    s->after = calloc(n + 1, sizeof(*s->after));
    assert_non_null(s->after);
    for (s->nafter = 0; s->nafter < n; s->nafter++)
        s->after[s->nafter] = (struct job_edge){.job = 11 + s->nafter};
    return s->after;
}

/* What was known of them, and how they are waited for, comes with them; keys that they
 * were named by before are gone. */
static void edges_come_with_what_is_known(void **state)
{
    struct job_spec *seen = NULL;
    struct pack p = {0};

    (void)state;
    some_edges(spec, 3)[1].key = strdup("k");
    spec->key = strdup("own");
    some_edges(changes, 2)[1] = (struct job_edge){.job = 7,
                                                  .when = JOB_AFTER_ANY,
                                                  .each = true,
                                                  .started = true,
                                                  .result = JOB_RESULT_SIGNAL};
    spec->is_array = true;
    assert_int_equal(edit(TAGS_OF_AFTER), 0);
    assert_int_equal(edited->nafter, 2);
    assert_null(edited->after[1].key);
    job_edit_pack(edited, TAGS_OF_AFTER, &p);
    const struct job_changes c = {.bytes = p.bytes, .n = (uint32_t)p.n};
    assert_int_equal(again(&c, &seen), 0);
    assert_int_equal(seen->nafter, 2);
    assert_int_equal(seen->after[0].job, 11);
    assert_int_equal(seen->after[1].job, 7);
    assert_int_equal(seen->after[1].when, JOB_AFTER_ANY);
    assert_int_equal(seen->after[1].result, JOB_RESULT_SIGNAL);
    assert_true(seen->after[1].each && seen->after[1].started);
    assert_false(seen->after[0].each || seen->after[0].started);
    assert_int_equal(job_edit_fields(&c), UINT32_C(1) << 11);
    assert_string_equal(job_edit_names[11], "after");
    job_spec_unref(seen);
    pack_fini(&p);
    changes->nafter = 0;
    assert_int_equal(edit(TAGS_OF_AFTER), 0);
    assert_int_equal(edited->nafter, 0);
}

/* By what is asked for, not by what was known, or had. */
static void what_differs(void **state)
{
    const uint64_t all = SPEC_TAG(TAG_QUEUE) | SPEC_TAG(TAG_QUEUE_TIME) |
                         SPEC_TAG(TAG_PRIORITY) | SPEC_TAG(TAG_TIMEOUT);
    const uint64_t queue = SPEC_TAG(TAG_QUEUE) | SPEC_TAG(TAG_QUEUE_TIME);

    (void)state;
    assert_int_equal(job_edit_differs(spec, changes, all), all);
    assert_int_equal(job_edit_differs(spec, changes, SPEC_TAG(TAG_PRIORITY)),
                     SPEC_TAG(TAG_PRIORITY));
    assert_int_equal(job_edit_differs(spec, spec, all), 0);
    changes->priority = 3;
    changes->timeout_usec = 17;
    changes->queue_timeout_usec = 5;
    assert_int_equal(job_edit_differs(spec, changes, all), queue);
    free(spec->queue);
    spec->queue = strdup("default");
    assert_int_equal(job_edit_differs(spec, changes, all), 0);
    assert_int_equal(job_edit_differs(changes, spec, all), 0);
    some_edges(spec, 2)[0].started = true;
    some_edges(changes, 2)[1].result = JOB_RESULT_EXIT;
    assert_int_equal(job_edit_differs(spec, changes, TAGS_OF_AFTER), 0);
    spec->after[0].each = true;
    assert_int_equal(job_edit_differs(spec, changes, TAGS_OF_AFTER), TAGS_OF_AFTER);
    spec->after[0].each = false;
    spec->after[1].when = JOB_AFTER_START;
    assert_int_equal(job_edit_differs(spec, changes, TAGS_OF_AFTER), TAGS_OF_AFTER);
    spec->after[1].when = JOB_AFTER_OK;
    spec->nafter = 1;
    assert_int_equal(job_edit_differs(spec, changes, TAGS_OF_AFTER), TAGS_OF_AFTER);
}

static void it_could_never_start(void **state)
{
    (void)state;
    changes->at_usec = 9;
    changes->start_by_usec = 8;
    assert_int_equal(edit(TAGS_OF_TIME), -EINVAL);
    changes->start_by_usec = 9;
    assert_int_equal(edit(TAGS_OF_TIME), 0);
}

static void add(struct job_edits *all, uint64_t tags, uint64_t front)
{
    struct pack p = {0};

    job_edit_pack(changes, tags, &p);
    const struct job_changes c = {.front = front, .bytes = p.bytes, .n = (uint32_t)p.n};
    assert_int_equal(job_edits_add(all, &c), 0);
    pack_fini(&p);
}

/* Of each field the latest counts, be it its default; and of "first". */
static void several_are_laid_at_once(void **state)
{
    struct job_edits all = {.changes = NULL};

    (void)state;
    changes->priority = 5;
    add(&all, SPEC_TAG(TAG_PRIORITY), 7);
    changes->queue = strdup("night");
    changes->priority = 9; /* not among its tags */
    add(&all, SPEC_TAG(TAG_QUEUE), 0);
    assert_int_equal(job_edits_lay(&all, spec, &edited), 0);
    assert_int_equal(edited->priority, 5);
    assert_string_equal(edited->queue, "night");
    assert_int_equal(all.front, 7);
    job_spec_unref(edited);
    changes->priority = 0;
    add(&all, SPEC_TAG(TAG_PRIORITY), 9);
    assert_int_equal(job_edits_lay(&all, spec, &edited), 0);
    assert_int_equal(edited->priority, 0);
    assert_string_equal(edited->queue, "night");
    assert_int_equal(edited->timeout_usec, 17);
    assert_int_equal(all.front, 9);
    assert_int_equal(job_edits_add(&all, &(struct job_changes){.bytes = "", .n = 0}),
                     -EBADMSG); /* those before it stay */
    assert_int_equal(all.tags, SPEC_TAG(TAG_PRIORITY) | SPEC_TAG(TAG_QUEUE));
    job_edits_fini(&all);
    assert_null(all.changes);
}

static void what_they_make_may_be_no_spec(void **state)
{
    struct job_edits all = {.changes = NULL};

    (void)state;
    changes->priority = JOB_PRIORITY_MAX + 1;
    add(&all, SPEC_TAG(TAG_PRIORITY), 0);
    assert_int_equal(job_edits_lay(&all, spec, &edited), -EBADMSG);
    assert_null(edited);
    job_edits_fini(&all);
}

static void none_is_refused(void **state)
{
    static const struct {
        const char *bytes;
        uint32_t n;
    } bad[] = {
        {"", 0},                             /* no tags */
        {"\x02", 1},                         /* no fields */
        {"\x02\0", 2},                       /* its kind */
        {"\x80\x20", 2},                     /* fields without their end */
        {"\x80\x20\x0b\x01q\0", 6},          /* a queue that is not among its tags */
        {"\x80\x20\0\0", 4},                 /* more behind it */
        {"\x80\x10\x0b\x01q\x0b\x01q\0", 9}, /* twice */
    };

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        const struct job_changes c = {.bytes = bad[i].bytes, .n = bad[i].n};

        assert_int_equal(again(&c, &edited), -EBADMSG);
    }
    const struct job_changes good = {.bytes = "\x80\x10\x0b\x01q\0", .n = 6};
    assert_int_equal(again(&good, &edited), 0);
    assert_string_equal(edited->queue, "q");
}

static void bits_have_names_and_tags(void **state)
{
    unsigned bit = 1;

    (void)state;
    assert_string_equal(job_edit_names[0], "first");
    assert_true(job_edit_tags(0) == 0);
    for (; job_edit_names[bit]; bit++) {
        const uint64_t tags = job_edit_tags(bit);
        struct pack p = {0};

        assert_true(tags);
        job_edit_pack(changes, tags, &p);
        const struct job_changes c = {.bytes = p.bytes, .n = (uint32_t)p.n};
        assert_int_equal(job_edit_fields(&c), UINT32_C(1) << bit);
        assert_int_equal(again(&c, &edited), 0);
        job_spec_unref(edited);
        edited = NULL;
        pack_fini(&p);
    }
    assert_true(job_edit_tags(bit) == 0);
    assert_int_equal(job_edit_fields(&(struct job_changes){.front = 7}), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_is_not_named_stays, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_field_may_go_back_to_its_default, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(its_bytes_say_the_same, set_up, tear_down),
        cmocka_unit_test_setup_teardown(limits_change_one_by_one, set_up, tear_down),
        cmocka_unit_test_setup_teardown(claims_come_with_what_they_had, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(edges_come_with_what_is_known, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_differs, set_up, tear_down),
        cmocka_unit_test_setup_teardown(it_could_never_start, set_up, tear_down),
        cmocka_unit_test_setup_teardown(several_are_laid_at_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_they_make_may_be_no_spec, set_up, tear_down),
        cmocka_unit_test_setup_teardown(none_is_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(bits_have_names_and_tags, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
