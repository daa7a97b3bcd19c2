/* Specs: life, cross-field checks, what is derived from them.
 *
 * A spec belongs to the code that fills it in until it is submitted; from then on it is
 * read by any thread and never written, so the reference count is the only shared
 * word. */
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "daemon/job/spec.h"

struct job_spec *job_spec_new(void)
{
    struct job_spec *s = calloc(1, sizeof(*s));

    if (!s)
        return NULL;
    vat_u32_init(&s->refs, 1);
#define SPEC_NUMBER(tag, member, json, least, most, fallback) s->member = (fallback);
#define SPEC_LIMIT(...)                                       SPEC_NUMBER(__VA_ARGS__)
#define SPEC_SIGNAL(tag, member, json, fallback)              s->member = (fallback);
#include "daemon/job/spec_fields.def"
    return s;
}

/* Written by: every holder. Relaxed: the caller already has a reference. */
struct job_spec *job_spec_ref(struct job_spec *s)
{
    (void)vat_u32_add(&s->refs, 1, VAT_RLX);
    return s;
}

static void strings_free(char **v)
{
    if (!v)
        return;
    for (char **p = v; *p; p++)
        free(*p);
    free(v);
}

/* acq_rel: the reads of every other holder happen before the free. */
void job_spec_unref(struct job_spec *s)
{
    if (!s || vat_u32_sub(&s->refs, 1, VAT_AR) != 1)
        return;
    strings_free(s->argv);
    strings_free(s->env);
    for (size_t i = 0; i < s->nlabels; i++) {
        free(s->labels[i].name);
        free(s->labels[i].value);
    }
    free(s->labels);
    free(s->rlimits);
#define SPEC_TEXT(tag, member, ...) free(s->member);
#include "daemon/job/spec_fields.def"
    free(s);
}

__attribute__((format(printf, 4, 5))) static int refuse(const char **ret_field,
                                                        struct volt_error *err,
                                                        const char *field,
                                                        const char *fmt, ...)
{
    va_list ap;

    if (ret_field)
        *ret_field = field;
    va_start(ap, fmt);
    (void)error_vset(err, -EINVAL, fmt, ap);
    va_end(ap);
    return -EINVAL;
}

/* The fields that belong to one kind only. */
static int validate_kind(const struct job_spec *s, const char **field,
                         struct volt_error *err)
{
    switch (s->kind) {
    case JOB_KIND_EXEC:
        if (!s->argv || !s->argv[0])
            return refuse(field, err, "argv", "a command is needed: give argv or shell");
        if (s->argv[0][0] == '\0')
            return refuse(field, err, "argv", "the command is empty");
        if (s->duration_usec)
            return refuse(field, err, "duration_usec", "only kind sleep has a duration");
        return 0;
    case JOB_KIND_SLEEP:
    case JOB_KIND_NOOP:
        if (s->argv)
            return refuse(field, err, s->shell ? "shell" : "argv",
                          "only kind exec has a command");
        if (s->kind == JOB_KIND_SLEEP && !s->duration_usec)
            return refuse(field, err, "duration_usec",
                          "kind sleep needs a duration of more than nothing");
        if (s->kind == JOB_KIND_NOOP && s->duration_usec)
            return refuse(field, err, "duration_usec", "only kind sleep has a duration");
        return 0;
    }
    return refuse(field, err, "kind", "unknown kind");
}

static int validate_paths(const struct job_spec *s, const char **field,
                          struct volt_error *err)
{
    const struct {
        const char *field, *path;
    } paths[] = {
        {"cwd", s->cwd}, {"stdin", s->stdin_path}, {"output_path", s->output_path}};

    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
        if (paths[i].path && paths[i].path[0] != '/')
            return refuse(field, err, paths[i].field, "an absolute path is needed");
    if (s->output == JOB_OUTPUT_PATH && !s->output_path)
        return refuse(field, err, "output_path", "output \"path\" needs it");
    if (s->output != JOB_OUTPUT_PATH && s->output_path)
        return refuse(field, err, "output_path", "only with output \"path\"");
    if (s->output != JOB_OUTPUT_FILE && s->output_split)
        return refuse(field, err, "output_split", "only with output \"file\"");
    return 0;
}

static int validate_rlimits(const struct job_rlimits *l, const char **field,
                            struct volt_error *err)
{
    if (l && (l->given == 0 || l->given >> JOB_RLIMITS))
        return refuse(field, err, "limits.rlimits", "unknown resource");
    for (size_t i = 0; l && i < JOB_RLIMITS; i++)
        if (l->soft[i] > l->hard[i])
            return refuse(field, err, "limits.rlimits", "soft is greater than hard");
    return 0;
}

int job_spec_validate(const struct job_spec *s, const char **ret_field,
                      struct volt_error *err)
{
    int r = validate_kind(s, ret_field, err);

    if (r < 0)
        return r;
    r = validate_paths(s, ret_field, err);
    if (r == 0)
        r = validate_rlimits(s->rlimits, ret_field, err);
    if (r < 0)
        return r;
    for (char **e = s->env; e && *e; e++)
        if ((*e)[0] == '=' || !strchr(*e, '='))
            return refuse(ret_field, err, "env", "a variable needs a name");
    if (s->umask != JOB_NO_UMASK && s->umask > 0777)
        return refuse(ret_field, err, "umask", "at most 0777 (511)");
    if (s->on_exists != JOB_ON_EXISTS_SAME && !s->key)
        return refuse(ret_field, err, "on_exists", "only with a key");
    if (s->priority < JOB_PRIORITY_MIN || s->priority > JOB_PRIORITY_MAX)
        return refuse(ret_field, err, "priority", "from %d to %d", JOB_PRIORITY_MIN,
                      JOB_PRIORITY_MAX);
    if (s->stop_signal < 1 || s->stop_signal > SIGRTMAX)
        return refuse(ret_field, err, "stop_signal", "no such signal");
    if (s->queue && strcmp(s->queue, "default") != 0)
        return refuse(ret_field, err, "queue", "there is only the queue \"default\"");
    if (s->is_array) {
        if (s->array_first > s->array_last)
            return refuse(ret_field, err, "array", "first is greater than last");
        if (s->array_last > INT64_MAX)
            return refuse(ret_field, err, "array", "last is too large");
        if (s->array_last - s->array_first >= JOB_ARRAY_MAX)
            return refuse(ret_field, err, "array", "at most %d elements", JOB_ARRAY_MAX);
    }
    return 0;
}

static bool same_string(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static bool same_strings(char **a, char **b)
{
    if (!a || !b)
        return a == b;
    for (; *a && *b; a++, b++)
        if (strcmp(*a, *b) != 0)
            return false;
    return *a == *b; /* both at their ends */
}

static bool same_labels(const struct job_spec *a, const struct job_spec *b)
{
    if (a->nlabels != b->nlabels)
        return false;
    for (size_t i = 0; i < a->nlabels; i++)
        if (!same_string(a->labels[i].name, b->labels[i].name) ||
            !same_string(a->labels[i].value, b->labels[i].value))
            return false;
    return true;
}

static bool same_rlimits(const struct job_spec *a, const struct job_spec *b)
{
    const struct job_rlimits *x = a->rlimits, *y = b->rlimits;

    if (!x || !y)
        return x == y;
    return x->given == y->given && memcmp(x->soft, y->soft, sizeof(x->soft)) == 0 &&
           memcmp(x->hard, y->hard, sizeof(x->hard)) == 0;
}

/* What spec_fields.def calls composite, by name. */
static bool same_argv(const struct job_spec *a, const struct job_spec *b)
{
    return same_strings(a->argv, b->argv);
}

static bool same_shell(const struct job_spec *a, const struct job_spec *b)
{
    return a->shell == b->shell;
}

static bool same_env(const struct job_spec *a, const struct job_spec *b)
{
    return same_strings(a->env, b->env);
}

static bool same_array(const struct job_spec *a, const struct job_spec *b)
{
    return a->is_array == b->is_array && a->array_first == b->array_first &&
           a->array_last == b->array_last;
}

bool job_spec_equal(const struct job_spec *a, const struct job_spec *b)
{
#define SAME(tag, member, ...)          &&a->member == b->member
#define SPEC_NUMBER(...)                SAME(__VA_ARGS__)
#define SPEC_LIMIT(...)                 SAME(__VA_ARGS__)
#define SPEC_SIGNED(...)                SAME(__VA_ARGS__)
#define SPEC_SIGNAL(...)                SAME(__VA_ARGS__)
#define SPEC_CHOICE(...)                SAME(__VA_ARGS__)
#define SPEC_FLAG(...)                  SAME(__VA_ARGS__)
#define SPEC_TEXT(tag, member, ...)     &&same_string(a->member, b->member)
#define SPEC_OWN(tag, name, json)       &&same_##name(a, b)
#define SPEC_OWN_LIMIT(tag, name, json) &&same_##name(a, b)
    return true
#include "daemon/job/spec_fields.def"
        ;
#undef SAME
}

struct job_event job_spec_submission(const struct job_spec *s, uint64_t at_usec)
{
    return (struct job_event){.type = JOB_EV_SUBMIT,
                              .at_usec = at_usec,
                              .retry_lost = s->on_lost == JOB_ON_LOST_RETRY};
}

uint64_t job_spec_count(const struct job_spec *s)
{
    return s->is_array ? s->array_last - s->array_first + 1 : 1;
}

const char *job_spec_display_name(const struct job_spec *s)
{
    if (s->name)
        return s->name;
    if (s->kind == JOB_KIND_SLEEP)
        return "sleep";
    if (s->kind == JOB_KIND_NOOP)
        return "noop";
    if (s->shell)
        return "sh";

    const char *slash = strrchr(s->argv[0], '/');
    return slash && slash[1] ? slash + 1 : s->argv[0];
}

/* malloc's own overhead counts: a word per block, and blocks of 16 bytes. */
static size_t block(size_t n)
{
    return ((n + sizeof(void *) + 15) & ~(size_t)15);
}

static size_t string_bytes(const char *s)
{
    return s ? block(strlen(s) + 1) : 0;
}

static size_t strings_bytes(char **v)
{
    size_t n = 0, bytes = 0;

    if (!v)
        return 0;
    for (; v[n]; n++)
        bytes += string_bytes(v[n]);
    return bytes + block((n + 1) * sizeof(*v));
}

size_t job_spec_bytes(const struct job_spec *s)
{
    size_t bytes = block(sizeof(*s)) + strings_bytes(s->argv) + strings_bytes(s->env);

    for (size_t i = 0; i < s->nlabels; i++)
        bytes += string_bytes(s->labels[i].name) + string_bytes(s->labels[i].value);
    if (s->rlimits)
        bytes += block(sizeof(*s->rlimits));
    if (s->labels)
        bytes += block(s->nlabels * sizeof(*s->labels));
#define SPEC_TEXT(tag, member, ...) bytes += string_bytes(s->member);
#include "daemon/job/spec_fields.def"
    return bytes;
}
