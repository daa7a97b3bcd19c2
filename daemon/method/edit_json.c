/* See edit_json.h. */
#include "daemon/method/edit_json.h"

#include "daemon/method/spec_json.h"

/* Returns whether the list is empty: it removes all. */
static bool is_none(const json_t *value)
{
    return json_is_array(value) && json_array_size(value) == 0;
}

static int read_some_claims(json_t *value, void *member, struct field_error *err)
{
    return is_none(value) ? 0 : read_claims(value, member, err);
}

static int read_some_after(json_t *value, void *member, struct field_error *err)
{
    return is_none(value) ? 0 : read_after(value, member, err);
}

/* Reads an output limit; 0: no limit. */
static int read_output(json_t *value, void *member, struct field_error *err)
{
    int64_t n;

    if (!field_whole_number(value, &n) || n < 0)
        return field_fail(err, "", "must be a number of bytes; 0 is no limit");
    *(uint64_t *)member = n ? (uint64_t)n : JOB_NO_LIMIT;
    return 0;
}

/* -1 is JOB_NO_LIMIT; job_spec_validate() knows what is too little. */
static const struct field limits_fields[] = {
#define SPEC_CGROUP(member, json, least, most)                                           \
    FIELD_AS(struct job_spec, cgroup.member, json, FIELD_INT, .min = -1, .max = (most)),
#include "daemon/job/spec_fields.def"
    {.name = NULL},
};

static const struct field fields[] = {
    FIELD(struct job_spec, queue, FIELD_STRDUP, .min = 1, .max = JOB_NAME_BYTES),
    FIELD(struct job_spec, priority, FIELD_INT, .min = JOB_PRIORITY_MIN,
          .max = JOB_PRIORITY_MAX),
    FIELD(struct job_spec, name, FIELD_STRDUP, .min = 1, .max = JOB_NAME_BYTES),
    FIELD(struct job_spec, delay_usec, FIELD_INT, .max = JOB_USEC_MAX),
    FIELD(struct job_spec, at_usec, FIELD_INT, .max = JOB_DATE_MAX),
    FIELD(struct job_spec, start_by_usec, FIELD_INT, .max = JOB_DATE_MAX),
    FIELD(struct job_spec, claims, FIELD_CUSTOM, .read = read_some_claims),
    FIELD(struct job_spec, timeout_usec, FIELD_INT, .max = JOB_USEC_MAX),
    FIELD(struct job_spec, kill_after_usec, FIELD_INT, .max = JOB_USEC_MAX),
    FIELD_AS(struct job_spec, output_limit, "output_bytes", FIELD_CUSTOM,
             .read = read_output),
    FIELD(struct job_spec, after, FIELD_CUSTOM, .read = read_some_after),
    {.name = "limits", .type = FIELD_STRUCT, .offset = 0, .fields = limits_fields},
    {.name = NULL},
};

static bool is_given(const json_t *object, const char *name)
{
    const json_t *value = json_object_get(object, name);

    return value && !json_is_null(value);
}

/* Returns the limits that are given, a bit each. */
static uint32_t limits_given(const json_t *object)
{
    uint32_t given = 0;

    for (size_t i = 0; i < JOB_CGROUP_LIMITS; i++)
        if (is_given(object, job_cgroup_names[i]))
            given |= UINT32_C(1) << i;
    return given;
}

/* Returns the tags of the members given; null counts as absent. */
static uint64_t tags_given(const json_t *object)
{
    uint64_t tags = 0;

    for (unsigned bit = 1; job_edit_names[bit]; bit++)
        if (is_given(object, job_edit_names[bit]))
            tags |= job_edit_tags(bit);
    return tags;
}

int read_changes(json_t *value, void *member, struct field_error *err)
{
    struct edit_read *c = member;

    if (!json_is_object(value))
        return field_fail(err, "", "must be an object");
    c->spec = job_spec_new();
    if (!c->spec)
        return field_no_memory(err);
    c->tags = tags_given(value);
    c->limits = limits_given(json_object_get(value, "limits"));
    if (!c->limits) /* {}: nothing is to be changed */
        c->tags &= ~SPEC_TAG(TAG_CGROUP);
    int r = fields_read(fields, value, 0, c->spec, err);
    if (r == 0 && job_spec_local_edge(c->spec))
        return field_fail(err, "after",
                          "has a local name, which is for specs of one batch");
    return r;
}

void edit_read_fini(struct edit_read *c)
{
    job_spec_unref(c->spec);
    c->spec = NULL;
}
