/* See spec_json.h. */
#include "daemon/method/spec_json.h"

#include "daemon/method/signal_name.h"
#include "wire/json.h"
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_MAX_BYTES  255
#define LABELS_MAX      64
#define LABEL_MAX_BYTES 255
#define USEC_MAX        INT64_C(3155760000000000) /* 100 years */

const char *const spec_kind_names[] = {"exec", "sleep", "noop", NULL};
static const char *const kill_mode_names[] = {"tree", "main", NULL};
static const char *const on_exists_names[] = {"same", "reject", "coalesce", "replace",
                                              NULL};
static const char *const on_lost_names[] = {"fail", "retry", NULL};
static const char *const output_names[] = {"file", "null", "path", NULL};

/* Takes argv; the command can be given in one way only. */
static int set_argv(void *member, char **argv, struct field_error *err)
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

    return r < 0 ? r : set_argv(member, argv, err);
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
        return set_argv(member, argv, err);
    field_strings_free(argv);
    return field_no_memory(err);
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
        s->nlabels++; /* freed with the spec, also when one of them is NULL */
        if (!l->name || !l->value)
            return field_no_memory(err);
    }
    return 0;
}

static int read_env(json_t *value, void *member, struct field_error *err)
{
    char **env, **next;
    const char *name;
    json_t *item;

    if (!json_is_object(value))
        return field_fail(err, "", "must be an object of strings");
    next = env = calloc(json_object_size(value) + 1, sizeof(*env));
    if (!env)
        return field_no_memory(err);
    *(char ***)member = env;
    json_object_foreach(value, name, item)
    {
        const char *text = field_string(item, name, err);

        if (!text)
            return -EINVAL;
        if (!name[0] || strchr(name, '='))
            return field_fail(err, name,
                              "is not a name of a variable: it must not be empty or "
                              "contain \"=\"");
        if (asprintf(next, "%s=%s", name, text) < 0) {
            *next = NULL;
            return field_no_memory(err);
        }
        next++;
    }
    return 0;
}

static int read_signal(json_t *value, void *member, struct field_error *err)
{
    const char *text = field_string(value, "", err);
    int n = text ? signal_from_name(text) : -EINVAL;

    if (!text)
        return -EINVAL;
    if (n < 0)
        return field_fail(err, "", "must be the name of a signal, such as \"TERM\"");
    *(int *)member = n;
    return 0;
}

#define SPEC(member_, name_, ...) FIELD_AS(struct job_spec, member_, name_, __VA_ARGS__)

/* Relative to the spec, not to a struct of their own. */
static const struct field range_fields[] = {
    SPEC(array_first, "first", FIELD_INT, .required = true, .max = INT64_MAX),
    SPEC(array_last, "last", FIELD_INT, .required = true, .max = INT64_MAX),
    {.name = NULL},
};

static const struct field limit_fields[] = {
    SPEC(output_limit, "output_bytes", FIELD_INT, .min = 1, .max = INT64_MAX),
    {.name = NULL},
};

static const struct field spec_fields[] = {
    SPEC(kind, "kind", FIELD_ENUM, .names = spec_kind_names),
    SPEC(argv, "argv", FIELD_CUSTOM, .read = read_argv),
    SPEC(argv, "shell", FIELD_CUSTOM, .read = read_shell,
         .present = FIELD_PRESENT(struct job_spec, shell)),
    SPEC(name, "name", FIELD_STRDUP, .min = 1, .max = NAME_MAX_BYTES),
    SPEC(key, "key", FIELD_STRDUP, .min = 1, .max = NAME_MAX_BYTES),
    SPEC(on_exists, "on_exists", FIELD_ENUM, .names = on_exists_names),
    SPEC(labels, "labels", FIELD_CUSTOM, .read = read_labels),
    SPEC(cwd, "cwd", FIELD_STRDUP, .max = PATH_MAX - 1),
    SPEC(env, "env", FIELD_CUSTOM, .read = read_env),
    SPEC(umask, "umask", FIELD_INT, .max = 0777),
    SPEC(stdin_path, "stdin", FIELD_STRDUP, .max = PATH_MAX - 1),
    SPEC(queue, "queue", FIELD_STRDUP, .min = 1, .max = NAME_MAX_BYTES),
    SPEC(priority, "priority", FIELD_INT, .min = JOB_PRIORITY_MIN,
         .max = JOB_PRIORITY_MAX),
    SPEC(timeout_usec, "timeout_usec", FIELD_INT, .max = USEC_MAX),
    SPEC(kill_after_usec, "kill_after_usec", FIELD_INT, .max = USEC_MAX),
    SPEC(stop_signal, "stop_signal", FIELD_CUSTOM, .read = read_signal),
    SPEC(kill_mode, "kill_mode", FIELD_ENUM, .names = kill_mode_names),
    SPEC(on_lost, "on_lost", FIELD_ENUM, .names = on_lost_names),
    SPEC(output, "output", FIELD_ENUM, .names = output_names),
    SPEC(output_path, "output_path", FIELD_STRDUP, .max = PATH_MAX - 1),
    SPEC(output_split, "output_split", FIELD_BOOL),
    {.name = "array",
     .type = FIELD_STRUCT,
     .offset = 0,
     .fields = range_fields,
     .present = FIELD_PRESENT(struct job_spec, is_array)},
    {.name = "limits", .type = FIELD_STRUCT, .offset = 0, .fields = limit_fields},
    SPEC(duration_usec, "duration_usec", FIELD_INT, .max = USEC_MAX),
    {.name = NULL},
};

static int check(const struct job_spec *s, const struct config *config,
                 struct field_error *err)
{
    struct volt_error why = {""};
    const char *field = "";

    if (job_spec_validate(s, &field, &why) < 0)
        return field_fail(err, field, "%s", why.text);
    if (job_spec_count(s) > config->max_array)
        return field_fail(err, "array", "must have at most %llu elements",
                          (unsigned long long)config->max_array);
    return 0;
}

int spec_from_json(json_t *object, const struct config *config, struct job_spec **ret,
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
    r = fields_read(spec_fields, object, 0, s, err);
    if (r == 0)
        r = check(s, config, err);
    if (r < 0)
        job_spec_unref(s);
    else
        *ret = s;
    return r;
}

/* --- the other way ------------------------------------------------------------------ */

static json_t *strings(char *const *from)
{
    json_t *array = json_array();

    while (from && *from)
        wire_add(&array, wire_text(*from++));
    return array;
}

static json_t *labels(const struct job_spec *s)
{
    json_t *object = json_object();

    for (size_t i = 0; i < s->nlabels; i++)
        wire_set(&object, s->labels[i].name, wire_text(s->labels[i].value));
    return object;
}

static json_t *environment(const struct job_spec *s)
{
    json_t *object = json_object();

    for (char *const *e = s->env; object && e && *e; e++) {
        const char *equals = strchr(*e, '=');
        char *name = equals ? strndup(*e, (size_t)(equals - *e)) : NULL;

        wire_set(&object, name ? name : "", name ? wire_text(equals + 1) : NULL);
        free(name);
    }
    return object;
}

static void set_text(json_t **to, const char *key, const char *text)
{
    if (text)
        wire_set(to, key, wire_text(text));
}

/* Left out where it is the default, or no number of JSON (infinity). */
static void set_number(json_t **to, const char *key, uint64_t value, uint64_t normal)
{
    if (value != normal && value <= INT64_MAX)
        wire_set(to, key, json_integer((json_int_t)value));
}

static void set_array(json_t **to, const struct job_spec *s)
{
    if (s->is_array)
        wire_set(to, "array",
                 json_pack("{s:I,s:I}", "first", (json_int_t)s->array_first, "last",
                           (json_int_t)s->array_last));
}

static void set_limits(json_t **to, const struct job_spec *s)
{
    json_t *limits;

    if (s->kind != JOB_KIND_EXEC || s->output_limit > INT64_MAX)
        return;
    limits = json_object();
    set_number(&limits, "output_bytes", s->output_limit, JOB_NO_LIMIT);
    wire_set(to, "limits", limits);
}

json_t *spec_to_json(const struct job_spec *s)
{
    json_t *o = json_object();
    char signal[SIGNAL_NAME_MAX];

    if (s->kind != JOB_KIND_EXEC)
        wire_set(&o, "kind", json_string(spec_kind_names[s->kind]));
    if (s->shell)
        set_text(&o, "shell", s->argv[2]);
    else if (s->argv)
        wire_set(&o, "argv", strings(s->argv));
    set_text(&o, "name", s->name);
    set_text(&o, "key", s->key);
    if (s->nlabels)
        wire_set(&o, "labels", labels(s));
    set_text(&o, "cwd", s->cwd);
    if (s->env)
        wire_set(&o, "env", environment(s));
    set_number(&o, "umask", s->umask, JOB_NO_UMASK);
    set_text(&o, "stdin", s->stdin_path);
    set_text(&o, "queue", s->queue);
    if (s->priority)
        wire_set(&o, "priority", json_integer(s->priority));
    set_number(&o, "timeout_usec", s->timeout_usec, 0);
    set_number(&o, "kill_after_usec", s->kill_after_usec, JOB_KILL_AFTER_USEC_DEFAULT);
    if (s->stop_signal != SIGTERM)
        wire_set(&o, "stop_signal", json_string(signal_name(s->stop_signal, signal)));
    if (s->kill_mode != JOB_KILL_TREE)
        wire_set(&o, "kill_mode", json_string(kill_mode_names[s->kill_mode]));
    if (s->on_lost != JOB_ON_LOST_FAIL)
        wire_set(&o, "on_lost", json_string(on_lost_names[s->on_lost]));
    if (s->output != JOB_OUTPUT_FILE)
        wire_set(&o, "output", json_string(output_names[s->output]));
    set_text(&o, "output_path", s->output_path);
    if (s->output_split)
        wire_set(&o, "output_split", json_true());
    set_array(&o, s);
    set_limits(&o, s);
    set_number(&o, "duration_usec", s->duration_usec, 0);
    return o;
}
