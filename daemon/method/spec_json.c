/* See spec_json.h. */
#include "daemon/method/spec_json.h"

#include "daemon/config/config.h"
#include "daemon/job/env.h"
#include "daemon/job/key.h"
#include "daemon/method/bytes_json.h"
#include "daemon/method/env_json.h"
#include "daemon/method/retry_json.h"
#include "wire/json.h"
#include "wire/rlimit.h"
#include "wire/signal_name.h"
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LABELS_MAX      64
#define LABEL_MAX_BYTES 255

const char *const claim_mode_names[] = {
#define CLAIM_MODE(constant, name, ...) #name,
#include "daemon/job/claim_modes.def"
    NULL};

static const char *const after_names[] = {"ok", "notok", "any", "start", NULL};

static const char *const spec_kind_names[] = {
#define KIND(constant, name, ...) [JOB_KIND_##constant] = #name,
#include "daemon/job/kinds.def"
    [JOB_KIND_COUNT] = NULL};
static const char *const spec_kill_mode_names[] = {"tree", "main", NULL};
static const char *const spec_on_exists_names[] = {"same", "reject", "coalesce",
                                                   "replace", NULL};
static const char *const spec_on_lost_names[] = {"fail", "retry", NULL};
static const char *const spec_output_names[] = {"file", "null", "path", NULL};
static const char *const spec_open_mode_names[] = {"append", "truncate", NULL};

const char *const spec_field_names[] = {
#define SPEC_NUMBER(tag, member, json, least, most, fallback) json,
#define SPEC_OCTAL(tag, member, json, most, fallback)         json,
#define SPEC_SIGNED(tag, member, json, least, most)           json,
#define SPEC_SIGNAL(tag, member, json, fallback)              json,
#define SPEC_CHOICE(tag, member, json, last)                  json,
#define SPEC_FLAG(tag, member, json)                          json,
#define SPEC_TEXT(tag, member, json, least, most)             json,
#define SPEC_OWN(tag, name, json)                             json,
#define SPEC_GROUP(name, json)                                json,
#include "daemon/job/spec_fields.def"
    NULL};
_Static_assert(SPEC_FIELDS <= 64, "a set of them is 64 bits");

/* Takes argv. A spec has one command, as argv or shell. */
static int take_argv(void *member, char **argv, struct field_error *err)
{
    if (*(char ***)member) {
        field_strings_free(argv);
        return field_fail(err, "", "is a second command: give either argv or shell");
    }
    *(char ***)member = argv;
    return 0;
}

static int read_argv(json_t *value, void *member, struct field_error *err)
{
    char **argv;
    int r = field_strings(value, &argv, err);

    return r < 0 ? r : take_argv(member, argv, err);
}

static int read_shell(json_t *value, void *member, struct field_error *err)
{
    const char *text = field_string(value, "", err);
    char **argv;

    if (!text)
        return -EINVAL;
    if (!text[0])
        return field_fail(err, "", "must not be empty");
    argv = calloc(4, sizeof(*argv));
    if (argv && (argv[0] = strdup("/bin/sh")) && (argv[1] = strdup("-c")) &&
        (argv[2] = strdup(text)))
        return take_argv(member, argv, err);
    field_strings_free(argv);
    return field_no_memory(err);
}

static int by_name(const void *a, const void *b)
{
    const struct job_label *x = a, *y = b;

    return strcmp(x->name, y->name);
}

static int read_labels(json_t *value, void *member, struct field_error *err)
{
    struct job_spec *s =
        (struct job_spec *)((char *)member - offsetof(struct job_spec, labels));
    const char *name;
    json_t *item;

    if (!json_is_object(value) || json_object_size(value) > LABELS_MAX)
        return field_fail(err, "", "must be an object of at most %d strings", LABELS_MAX);
    s->labels = calloc(json_object_size(value) + 1, sizeof(*s->labels));
    if (!s->labels)
        return field_no_memory(err);
    json_object_foreach(value, name, item)
    {
        struct job_label *l = &s->labels[s->nlabels];
        const char *text = field_string(item, name, err);

        if (!text)
            return -EINVAL;
        if (!name[0] || strlen(name) > LABEL_MAX_BYTES || strlen(text) > LABEL_MAX_BYTES)
            return field_fail(err, name,
                              "must have a name of 1 to %d bytes and a value "
                              "of at most as many",
                              LABEL_MAX_BYTES);
        l->name = strdup(name);
        l->value = strdup(text);
        s->nlabels++; /* freed with the spec, even if one of them is NULL */
        if (!l->name || !l->value)
            return field_no_memory(err);
    }
    /* Objects have no order: equal ones are stored, and compared, alike. */
    qsort(s->labels, s->nlabels, sizeof(*s->labels), by_name);
    return 0;
}

/* Sets the limits of "*" for all resources that are not named. */
static void set_others(struct job_rlimits *l, uint64_t soft, uint64_t hard)
{
    for (int i = 0; i < RLIMIT_COUNT; i++) {
        if (l->given >> i & 1)
            continue;
        l->soft[i] = soft;
        l->hard[i] = hard;
    }
    l->given = (UINT32_C(1) << RLIMIT_COUNT) - 1;
}

/* A value that is set already is kept: spec_from_json(). */
static int read_rlimits(json_t *value, void *member, struct field_error *err)
{
    struct job_rlimits *l;
    const char *name;
    json_t *item;
    uint64_t soft, hard, others[2] = {0};
    bool all = false;

    if (!json_is_object(value))
        return field_fail(err, "", "must be an object of strings");
    if (json_object_size(value) == 0 || *(struct job_rlimits **)member)
        return 0;
    l = calloc(1, sizeof(*l));
    if (!l)
        return field_no_memory(err);
    *(struct job_rlimits **)member = l;
    json_object_foreach(value, name, item)
    {
        const char *text = field_string(item, name, err);
        int i = rlimit_number(name);

        if (!text)
            return -EINVAL;
        bool rest = strcmp(name, "*") == 0;
        if (i < 0 && !rest)
            return field_fail(err, name, "is no resource; one is \"nofile\"");
        if (rlimit_parse(text, &soft, &hard) < 0)
            return field_fail(err, name,
                              "must be a limit such as \"1024\", \"1024:4096\" (soft, "
                              "then hard) or \"infinity\"");
        if (rest) {
            others[0] = soft;
            others[1] = hard;
            all = true;
            continue;
        }
        l->soft[i] = soft;
        l->hard[i] = hard;
        l->given |= UINT32_C(1) << i;
    }
    if (all)
        set_others(l, others[0], others[1]);
    return 0;
}

/* Reads file mode bits, as octal text. */
static int read_mode(json_t *value, void *member, struct field_error *err)
{
    const char *text = field_string(value, "", err);
    size_t len = text ? strlen(text) : 0;

    if (!text)
        return -EINVAL;
    if (len < 1 || len > 4 || strspn(text, "01234567") != len ||
        strtoul(text, NULL, 8) > 0777)
        return field_fail(err, "", "must be octal digits from \"0\" to \"777\"");
    *(uint32_t *)member = (uint32_t)strtoul(text, NULL, 8);
    return 0;
}

int read_signal(json_t *value, void *member, struct field_error *err)
{
    const char *text = field_string(value, "", err);
    int n = text ? signal_from_name(text) : -EINVAL;

    if (!text)
        return -EINVAL;
    if (n < 0)
        return field_fail(err, "", "must be a signal, such as \"SIGTERM\" or \"TERM\"");
    *(int *)member = n;
    return 0;
}

#define SPEC(member_, name_, ...) FIELD_AS(struct job_spec, member_, name_, __VA_ARGS__)

static int read_ranges(json_t *value, void *member, struct field_error *err)
{
    static const struct field fields[] = {
        FIELD(struct job_range, first, FIELD_INT, .required = true, .max = INT64_MAX),
        FIELD(struct job_range, last, FIELD_INT, .required = true, .max = INT64_MAX),
        FIELD(struct job_range, step, FIELD_INT, .min = 1, .max = INT64_MAX),
        {.name = NULL},
    };
    struct job_spec *s =
        (struct job_spec *)((char *)member - offsetof(struct job_spec, ranges));
    size_t i, n = json_array_size(value);
    json_t *item;
    char place[24];

    if (n < 1 || n > JOB_RANGES_MAX)
        return field_fail(err, "", "must be a list of 1 to %d ranges", JOB_RANGES_MAX);
    s->ranges = calloc(n, sizeof(*s->ranges));
    if (!s->ranges)
        return field_no_memory(err);
    s->nranges = n;
    json_array_foreach(value, i, item)
    {
        s->ranges[i].step = 1;
        (void)snprintf(place, sizeof(place), "[%zu]", i);
        if (!json_is_object(item))
            return field_fail(err, place,
                              "must be an object, such as {\"first\": 1, \"last\": 10}");
        int r = fields_read(fields, item, 0, &s->ranges[i], err);
        if (r < 0) {
            field_prefix(err, place);
            return r;
        }
    }
    return 0;
}

static const struct field claim_fields[] = {
    FIELD(struct job_claim, name, FIELD_STRDUP, .required = true, .min = 1,
          .max = JOB_CLAIM_BYTES),
    FIELD(struct job_claim, mode, FIELD_ENUM, .names = claim_mode_names),
    FIELD(struct job_claim, permits, FIELD_INT, .min = 1, .max = JOB_PERMITS_MAX),
    FIELD(struct job_claim, capacity, FIELD_INT, .min = 1, .max = JOB_PERMITS_MAX),
    FIELD(struct job_claim, interval_usec, FIELD_INT, .min = 1, .max = JOB_INTERVAL_MAX),
    {.name = NULL},
};

int read_claims(json_t *value, void *member, struct field_error *err)
{
    struct job_spec *s =
        (struct job_spec *)((char *)member - offsetof(struct job_spec, claims));
    size_t i, n = json_array_size(value);
    json_t *item;
    char place[24];

    if (n < 1 || n > JOB_CLAIMS_MAX)
        return field_fail(
            err, "", "must be a list of 1 to %d claims, such as [{\"name\": \"db\"}]",
            JOB_CLAIMS_MAX);
    s->claims = calloc(n, sizeof(*s->claims));
    if (!s->claims)
        return field_no_memory(err);
    s->nclaims = n;
    json_array_foreach(value, i, item)
    {
        struct job_claim *c = &s->claims[i];

        (void)snprintf(place, sizeof(place), "[%zu]", i);
        if (!json_is_object(item))
            return field_fail(err, place,
                              "must be an object, such as {\"name\": \"db\"}");
        int r = fields_read(claim_fields, item, 0, c, err);
        if (r < 0) {
            field_prefix(err, place);
            return r;
        }
        if (!job_claim_is_line(c->name)) {
            (void)field_fail(err, "name", JOB_CLAIM_NO_LINE);
            field_prefix(err, place);
            return -EINVAL;
        }
        if (job_claim_counts(c->mode) && !c->permits)
            c->permits = 1;
    }
    return 0;
}

static int read_antecedent(json_t *value, void *member, struct field_error *err)
{
    const char *text = field_string(value, "", err);
    struct job_key key;

    if (!text)
        return -EINVAL;
    if (job_key_parse(text, &key) < 0 || key.index != JOB_NO_INDEX)
        return field_fail(err, "", "must be the id of a job, or of an array as a whole");
    *(uint64_t *)member = key.id;
    return 0;
}

static const struct field edge_fields[] = {
    FIELD(struct job_edge, job, FIELD_CUSTOM, .read = read_antecedent),
    FIELD(struct job_edge, local, FIELD_STRDUP, .min = 1, .max = JOB_NAME_BYTES),
    FIELD(struct job_edge, key, FIELD_STRDUP, .min = 1, .max = JOB_NAME_BYTES),
    FIELD(struct job_edge, when, FIELD_ENUM, .names = after_names),
    FIELD(struct job_edge, each, FIELD_BOOL),
    {.name = NULL},
};

static int read_edge(json_t *value, struct job_edge *edge, struct field_error *err)
{
    if (!json_is_object(value))
        return field_fail(err, "", "must be an object, such as {\"job\": \"17\"}");
    int r = fields_read(edge_fields, value, 0, edge, err);
    if (r == 0 && !!edge->job + !!edge->local + !!edge->key != 1)
        return field_fail(err, "job", "must be given, or local, or key: one of them");
    return r;
}

int read_after(json_t *value, void *member, struct field_error *err)
{
    struct job_spec *s =
        (struct job_spec *)((char *)member - offsetof(struct job_spec, after));
    size_t i, n = json_array_size(value);
    json_t *item;
    char place[24];

    if (!json_is_array(value))
        return field_fail(err, "", "must be a list, such as [{\"job\": \"17\"}]");
    if (n < 1 || n > JOB_AFTER_MAX)
        return field_fail(
            err, "",
            "must be a list of 1 to %d jobs; more of them can be one array, "
            "or jobs of kind noop that wait for some of them each",
            JOB_AFTER_MAX);
    s->after = calloc(n, sizeof(*s->after));
    if (!s->after)
        return field_no_memory(err);
    s->nafter = n;
    json_array_foreach(value, i, item)
    {
        int r = read_edge(item, &s->after[i], err);

        if (r < 0) {
            (void)snprintf(place, sizeof(place), "[%zu]", i);
            field_prefix(err, place);
            return r;
        }
    }
    return 0;
}

/* Offsets are relative to the spec. */
static const struct field range_fields[] = {
    SPEC(array_first, "first", FIELD_INT, .required = true, .max = INT64_MAX),
    SPEC(array_last, "last", FIELD_INT, .required = true, .max = INT64_MAX),
    SPEC(ranges, "ranges", FIELD_CUSTOM, .read = read_ranges),
#define SPEC_ARRAY(tag, member, json, least, most, fallback)                             \
    SPEC(member, json, FIELD_INT, .min = (least), .max = (most)),
#include "daemon/job/spec_fields.def"
    {.name = NULL},
};

/* How rows of spec_fields.def are read. Composite ones name their members: */
#define FIELD_argv SPEC(argv, "argv", FIELD_CUSTOM, .read = read_argv)
#define FIELD_shell                                                                      \
    SPEC(argv, "shell", FIELD_CUSTOM, .read = read_shell,                                \
         .present = FIELD_PRESENT(struct job_spec, shell))
#define FIELD_labels    SPEC(labels, "labels", FIELD_CUSTOM, .read = read_labels)
#define FIELD_env       SPEC(env, "env", FIELD_CUSTOM, .read = read_env)
#define FIELD_env_given SPEC(env_given, "env_given", FIELD_CUSTOM, .read = read_env_given)
#define FIELD_input     SPEC(input, "stdin_data", FIELD_CUSTOM, .read = read_input)
#define FIELD_script    SPEC(script, "script", FIELD_CUSTOM, .read = read_script)
#define FIELD_after     SPEC(after, "after", FIELD_CUSTOM, .read = read_after)
#define FIELD_claims    SPEC(claims, "claims", FIELD_CUSTOM, .read = read_claims)
#define FIELD_retry_on  SPEC(retry_on, "on", FIELD_CUSTOM, .read = read_retry_on)
#define FIELD_retry_codes                                                                \
    SPEC(retry_codes, "exit_codes", FIELD_CUSTOM, .read = read_codes)
#define FIELD_success SPEC(success, "success_codes", FIELD_CUSTOM, .read = read_codes)
#define FIELD_rlimits SPEC(rlimits, "rlimits", FIELD_CUSTOM, .read = read_rlimits)
#define FIELD_array                                                                      \
    {                                                                                    \
        .name = "array", .type = FIELD_STRUCT, .offset = 0, .fields = range_fields,      \
        .present = FIELD_PRESENT(struct job_spec, is_array),                             \
        .example = "{\"first\": 1, \"last\": 10, \"at_once\": 3}"                        \
    }

static const struct field limits_fields[] = {
#define SPEC_LIMIT(tag, member, json, least, most, fallback)                             \
    SPEC(member, json, FIELD_INT, .min = (least), .max = (most)),
#define SPEC_OWN_LIMIT(tag, name, json) FIELD_##name,
#define SPEC_CGROUP(member, json, least, most)                                           \
    SPEC(cgroup.member, json, FIELD_INT, .min = (least), .max = (most)),
#include "daemon/job/spec_fields.def"
    {.name = NULL},
};

static const struct field retry_fields[] = {
#define SPEC_RETRY(tag, member, json, least, most, fallback)                             \
    SPEC(member, json, FIELD_INT, .min = (least), .max = (most)),
#define SPEC_OWN_RETRY(tag, name, json) FIELD_##name,
#include "daemon/job/spec_fields.def"
    {.name = NULL},
};

#define EXAMPLE_retry  "{\"times\": 3}"
#define EXAMPLE_limits "{\"memory_max\": 1073741824}"

static const struct field spec_fields[] = {
#define SPEC_NUMBER(tag, member, json, least, most, fallback)                            \
    SPEC(member, json, FIELD_INT, .min = (least), .max = (most)),
#define SPEC_OCTAL(tag, member, json, most, fallback)                                    \
    SPEC(member, json, FIELD_CUSTOM, .read = read_mode),
#define SPEC_SIGNED(tag, member, json, least, most)                                      \
    SPEC(member, json, FIELD_INT, .min = (least), .max = (most)),
#define SPEC_SIGNAL(tag, member, json, fallback)                                         \
    SPEC(member, json, FIELD_CUSTOM, .read = read_signal),
#define SPEC_CHOICE(tag, member, json, last)                                             \
    SPEC(member, json, FIELD_ENUM, .names = spec_##member##_names),
#define SPEC_ASKED(member, json)                                                         \
    SPEC(member, json, FIELD_ENUM, .names = spec_##member##_names),
#define SPEC_CALLED(member, json, least, most)                                           \
    SPEC(member, json, FIELD_STRDUP, .min = (least), .max = (most)),
#define SPEC_FLAG(tag, member, json) SPEC(member, json, FIELD_BOOL),
#define SPEC_TEXT(tag, member, json, least, most)                                        \
    SPEC(member, json, FIELD_STRDUP, .min = (least), .max = (most)),
#define SPEC_OWN(tag, name, json) FIELD_##name,
#define SPEC_GROUP(name_, json)                                                          \
    {.name = (json),                                                                     \
     .type = FIELD_STRUCT,                                                               \
     .offset = 0,                                                                        \
     .fields = name_##_fields,                                                           \
     .example = EXAMPLE_##name_},
#include "daemon/job/spec_fields.def"
    {.name = NULL},
};

/* first and last must match the ranges: clients that do not know ranges use them. */
static int check_ranges(struct job_spec *s, struct field_error *err)
{
    const uint64_t first = s->array_first, last = s->array_last;

    if (job_spec_set_ranges(s) < 0)
        return field_fail(err, "array.ranges",
                          "must be in order, apart from each other, and each end at a "
                          "multiple of its step");
    if (s->array_first != first || s->array_last != last)
        return field_fail(err, "array.ranges", "must begin at first and end at last");
    return 0;
}

/* Refuses words that no program can be started with, before the job waits. */
static int check_words(const struct job_spec *s, struct field_error *err)
{
    for (size_t i = 0; s->argv && s->argv[i]; i++) {
        const size_t n = strlen(s->argv[i]);

        if (n > EXEC_STRING_MOST)
            return field_fail(err, s->shell ? "shell" : "argv",
                              "has %zu bytes in one %s, and the kernel starts no program "
                              "with more than %zu: keep it in a file",
                              n, s->shell ? "text" : "word", EXEC_STRING_MOST);
    }
    return 0;
}

static int check(const struct job_spec *s, const struct config *config,
                 struct field_error *err)
{
    struct volt_error why = {""};
    const char *field = "";

    if (job_spec_validate(s, &field, &why) < 0)
        return field_fail(err, field, "%s", why.text);
    if (check_words(s, err) < 0)
        return -EINVAL;
    if (s->at_usec && s->start_by_usec && s->start_by_usec < s->at_usec)
        return field_fail(err, "start_by_usec",
                          "is before at_usec (--at): it could never start");
    if (job_spec_count(s) > config->max_array)
        return field_fail(err, "array", "must have at most %llu elements",
                          (unsigned long long)config->max_array);
    return check_bytes(s, config, err);
}

/* Copies the known values. 0 or -ENOMEM. */
static int take_known(struct job_spec *s, const struct spec_known *known)
{
    s->env = known->env ? job_env_ref(known->env) : NULL;
    if (!known->rlimits)
        return 0;
    s->rlimits = malloc(sizeof(*s->rlimits));
    if (!s->rlimits)
        return -ENOMEM;
    *s->rlimits = *known->rlimits;
    return 0;
}

int spec_from_json(json_t *object, const struct config *config,
                   const struct spec_known *known, struct job_spec **ret,
                   struct field_error *err)
{
    struct job_spec *s;
    int r;

    if (!json_is_object(object))
        return field_fail(err, "", "must be an object");
    s = job_spec_new();
    if (!s)
        return field_no_memory(err);
    s->kill_after_usec = config->kill_after_usec;
    s->output_limit = config->output_limit;
    r = known && take_known(s, known) < 0 ? field_no_memory(err)
                                          : fields_read(spec_fields, object, 0, s, err);
    if (r == 0 && s->ranges)
        r = check_ranges(s, err);
    if (r == 0)
        r = name_script(s, err);
    if (r == 0)
        r = check(s, config, err);
    if (r < 0)
        job_spec_unref(s);
    else
        *ret = s;
    return r;
}

/* --- --- writing -------------------------------------------------------------------- */

static bool wants(uint64_t fields, enum spec_field field)
{
    return fields >> field & 1;
}

static void put_strings(struct wire_writer *to, const char *key, char *const *from)
{
    wire_open(to, key, '[');
    while (from && *from)
        wire_put_text(to, NULL, *from++);
    wire_close(to, ']');
}

/* Writes a member whose name a client chose: {"NAME":"VALUE"} without the braces. */
static void put_pair(struct wire_writer *to, const char *name, const char *value)
{
    json_t *pair = json_object();
    struct wire_buf text = {0};
    int r;

    wire_set(&pair, name, wire_text(value));
    r = pair ? wire_encode(&text, pair) : -ENOMEM;
    if (r == 0) /* without the braces and the NUL */
        wire_put_raw(to, NULL, wire_buf_at(&text) + 1, wire_buf_len(&text) - 3);
    else if (to->error == 0)
        to->error = r;
    wire_buf_fini(&text);
    json_decref(pair);
}

static bool is_plain(const char *name)
{
    while (*name > 0x1f && *name < 0x7f && *name != '"' && *name != '\\')
        name++;
    return !*name;
}

static void put_member(struct wire_writer *to, const char *name, const char *value)
{
    if (is_plain(name))
        wire_put_text(to, name, value);
    else
        put_pair(to, name, value);
}

/* Writes NAME=VALUE of an environment. */
static void put_variable(struct wire_writer *to, const char *variable)
{
    const char *equals = strchr(variable, '=');
    size_t len = equals ? (size_t)(equals - variable) : 0;
    char some[64], *name = len < sizeof(some) ? some : malloc(len + 1);

    if (!name) {
        to->error = -ENOMEM;
        return;
    }
    memcpy(name, variable, len);
    name[len] = '\0';
    put_member(to, name, equals ? equals + 1 : "");
    if (name != some)
        free(name);
}

/* Writes a number unless it is the default or infinite. */
static void put_number(struct wire_writer *to, const char *key, uint64_t value,
                       uint64_t normal)
{
    if (value != normal && value <= INT64_MAX)
        wire_put_int(to, key, (int64_t)value);
}

/* --- composite rows of spec_fields.def, by name ------------------------------------- */

static void put_argv(struct wire_writer *to, const struct job_spec *s)
{
    if (s->argv && !s->shell)
        put_strings(to, "argv", s->argv);
}

static void put_shell(struct wire_writer *to, const struct job_spec *s)
{
    if (s->shell)
        wire_put_text(to, "shell", s->argv[2]);
}

static void put_labels(struct wire_writer *to, const struct job_spec *s)
{
    if (!s->nlabels)
        return;
    wire_open(to, "labels", '{');
    for (size_t i = 0; i < s->nlabels; i++)
        put_member(to, s->labels[i].name, s->labels[i].value);
    wire_close(to, '}');
}

static void put_env(struct wire_writer *to, const struct job_spec *s)
{
    if (!s->env)
        return;
    wire_open(to, "env", '{');
    for (char *const *e = job_env_strings(s->env); *e; e++)
        put_variable(to, *e);
    wire_close(to, '}');
}

static void put_env_given(struct wire_writer *to, const struct job_spec *s)
{
    if (s->env_given)
        put_strings(to, "env_given", s->env_given);
}

static void put_ranges(struct wire_writer *to, const struct job_spec *s)
{
    wire_open(to, "ranges", '[');
    for (size_t i = 0; i < s->nranges; i++) {
        const struct job_range *r = &s->ranges[i];

        wire_open(to, NULL, '{');
        wire_put_int(to, "first", (int64_t)r->first);
        wire_put_int(to, "last", (int64_t)r->last);
        if (r->step != 1)
            wire_put_int(to, "step", (int64_t)r->step);
        wire_close(to, '}');
    }
    wire_close(to, ']');
}

static void put_array(struct wire_writer *to, const struct job_spec *s)
{
    if (!s->is_array)
        return;
    wire_open(to, "array", '{');
    wire_put_int(to, "first", (int64_t)s->array_first);
    wire_put_int(to, "last", (int64_t)s->array_last);
    if (s->ranges)
        put_ranges(to, s);
#define SPEC_ARRAY(tag, member, json, least, most, fallback)                             \
    put_number(to, json, s->member, fallback);
#include "daemon/job/spec_fields.def"
    wire_close(to, '}');
}

static void put_claims(struct wire_writer *to, const struct job_spec *s)
{
    if (!s->nclaims)
        return;
    wire_open(to, "claims", '[');
    for (size_t i = 0; i < s->nclaims; i++) {
        const struct job_claim *c = &s->claims[i];

        wire_open(to, NULL, '{');
        wire_put_text(to, "name", c->name);
        wire_put_text(to, "mode", claim_mode_names[c->mode]);
        if (job_claim_counts(c->mode))
            wire_put_int(to, "permits", (int64_t)c->permits);
        put_number(to, "capacity", c->capacity, 0);
        put_number(to, "interval_usec", c->interval_usec, 0);
        wire_close(to, '}');
    }
    wire_close(to, ']');
}

static void put_after(struct wire_writer *to, const struct job_spec *s)
{
    char text[JOB_KEY_TEXT_MAX];

    if (!s->nafter)
        return;
    wire_open(to, "after", '[');
    for (size_t i = 0; i < s->nafter; i++) {
        const struct job_key key = {.id = s->after[i].job, .index = JOB_NO_INDEX};

        (void)job_key_format_job(&key, text);
        wire_open(to, NULL, '{');
        wire_put_text(to, "job", text);
        wire_put_text(to, "when", after_names[s->after[i].when]);
        if (s->after[i].each)
            wire_put_bool(to, "each", true);
        wire_close(to, '}');
    }
    wire_close(to, ']');
}

static void put_rlimits(struct wire_writer *to, const struct job_spec *s)
{
    const struct job_rlimits *l = s->rlimits;
    char text[RLIMIT_TEXT_MAX];

    if (!l)
        return;
    wire_open(to, "rlimits", '{');
    for (size_t i = 0; i < JOB_RLIMITS; i++)
        if (l->given >> i & 1)
            wire_put_text(to, rlimit_names[i],
                          rlimit_format(l->soft[i], l->hard[i], text));
    wire_close(to, '}');
}

/* --- --- all fields ----------------------------------------------------------------- */

/* Writes the limits that are in force, some of which may be the configuration's. */
static void put_limits(struct wire_writer *to, const struct job_spec *s)
{
    struct job_cgroup cgroup;
    const size_t before = to->out->end;
    size_t opened;

    if (!job_kinds[s->kind].is_process)
        return;
    wire_open(to, "limits", '{');
    opened = to->out->end;
    (void)job_spec_cgroup(s, &cgroup);
#define SPEC_LIMIT(tag, member, json, least, most, fallback)                             \
    put_number(to, json, s->member, fallback);
#define SPEC_OWN_LIMIT(tag, name, json) put_##name(to, s);
#define SPEC_CGROUP(member, json, least, most)                                           \
    put_number(to, json, cgroup.member, JOB_NO_LIMIT);
#include "daemon/job/spec_fields.def"
    if (to->error == 0 && to->out->end == opened)
        to->out->end = before; /* no limits */
    else
        wire_close(to, '}');
}

static void put_success(struct wire_writer *to, const struct job_spec *s)
{
    put_codes(to, "success_codes", &s->success);
}

static void put_retry_on(struct wire_writer *to, const struct job_spec *s)
{
    put_results(to, "on", s->retry_on);
}

static void put_retry_codes(struct wire_writer *to, const struct job_spec *s)
{
    put_codes(to, "exit_codes", &s->retry_codes);
}

static void put_retry(struct wire_writer *to, const struct job_spec *s)
{
    if (!s->retry_times)
        return;
    wire_open(to, "retry", '{');
#define SPEC_RETRY(tag, member, json, least, most, fallback)                             \
    put_number(to, json, s->member, fallback);
#define SPEC_OWN_RETRY(tag, name, json) put_##name(to, s);
#include "daemon/job/spec_fields.def"
    wire_close(to, '}');
}

static void put_mode(struct wire_writer *to, const char *key, uint32_t mode,
                     uint32_t normal)
{
    char text[16];

    (void)snprintf(text, sizeof(text), "%03o", mode);
    if (mode != normal)
        wire_put_text(to, key, text);
}

static void put_signal(struct wire_writer *to, const char *key, int n, int normal)
{
    char text[SIGNAL_NAME_MAX];

    if (n != normal)
        wire_put_text(to, key, signal_name(n, text));
}

/* Returns the number; for the time limit the one in force, which may be the queue's. */
static uint64_t number_of(const struct job_spec *s, const uint64_t *member)
{
    return member == &s->timeout_usec ? job_spec_timeout(s) : *member;
}

void spec_write(struct wire_writer *to, const char *key, const struct job_spec *s,
                uint64_t fields)
{
    wire_open(to, key, '{');
#define SPEC_NUMBER(tag, member, json, least, most, fallback)                            \
    if (wants(fields, SPEC_FIELD_##member))                                              \
        put_number(to, json, number_of(s, &s->member), fallback);
#define SPEC_OCTAL(tag, member, json, most, fallback)                                    \
    if (wants(fields, SPEC_FIELD_##member))                                              \
        put_mode(to, json, s->member, fallback);
#define SPEC_SIGNED(tag, member, json, least, most)                                      \
    if (wants(fields, SPEC_FIELD_##member) && s->member)                                 \
        wire_put_int(to, json, s->member);
#define SPEC_SIGNAL(tag, member, json, fallback)                                         \
    if (wants(fields, SPEC_FIELD_##member))                                              \
        put_signal(to, json, s->member, fallback);
#define SPEC_CHOICE(tag, member, json, last)                                             \
    if (wants(fields, SPEC_FIELD_##member) && s->member)                                 \
        wire_put_text(to, json, spec_##member##_names[s->member]);
#define SPEC_FLAG(tag, member, json)                                                     \
    if (wants(fields, SPEC_FIELD_##member) && s->member)                                 \
        wire_put_bool(to, json, true);
#define SPEC_TEXT(tag, member, json, least, most)                                        \
    if (wants(fields, SPEC_FIELD_##member) && s->member)                                 \
        wire_put_text(to, json, s->member);
#define SPEC_OWN(tag, name, json)                                                        \
    if (wants(fields, SPEC_FIELD_##name))                                                \
        put_##name(to, s);
#define SPEC_GROUP(name, json) SPEC_OWN(0, name, json)
#include "daemon/job/spec_fields.def"
    wire_close(to, '}');
}
