/* See spec_pack.h. Packing is a list of the fields in the order of their tags; unpacking
 * goes by a table of them. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/job/spec_pack.h"

enum tag {
    TAG_END = 0,
    TAG_KIND,
    TAG_ARGV, /* strings, or TAG_ARGV_SHARED */
    TAG_ARGV_SHARED,
    TAG_SHELL,
    TAG_NAME,
    TAG_LABELS,
    TAG_CWD,
    TAG_ENV_SHARED,
    TAG_UMASK,
    TAG_STDIN,
    TAG_QUEUE,
    TAG_PRIORITY,
    TAG_TIMEOUT,
    TAG_KILL_AFTER,
    TAG_STOP_SIGNAL,
    TAG_KILL_MODE,
    TAG_OUTPUT,
    TAG_OUTPUT_PATH,
    TAG_OUTPUT_SPLIT,
    TAG_ARRAY,
    TAG_DURATION,
    TAG_KEY,
    TAG_ON_LOST,
    TAG_OUTPUT_LIMIT,
    TAG_REPLACES,
    TAG_COUNT,
};

static void put_number(struct pack *p, enum tag tag, uint64_t v, uint64_t fallback)
{
    if (v == fallback)
        return;
    pack_number(p, tag);
    pack_number(p, v);
}

static void put_string(struct pack *p, enum tag tag, const char *s)
{
    if (!s)
        return;
    pack_number(p, tag);
    pack_string(p, s);
}

static size_t strings_length(char *const *v)
{
    size_t n = 0;

    for (; *v; v++)
        n += strlen(*v) + 1;
    return n;
}

static void put_argv(const struct job_spec *s, struct spec_pack *ret)
{
    if (!s->argv)
        return;
    if (strings_length(s->argv) < SPEC_SHARED_ARGV) {
        pack_number(&ret->own, TAG_ARGV);
        pack_strings(&ret->own, s->argv);
    } else {
        pack_number(&ret->own, TAG_ARGV_SHARED);
        pack_strings(&ret->argv, s->argv);
    }
    if (s->shell)
        pack_number(&ret->own, TAG_SHELL);
}

static void put_labels(const struct job_spec *s, struct pack *p)
{
    if (!s->nlabels)
        return;
    pack_number(p, TAG_LABELS);
    pack_number(p, s->nlabels);
    for (size_t i = 0; i < s->nlabels; i++) {
        pack_string(p, s->labels[i].name);
        pack_string(p, s->labels[i].value);
    }
}

static void put_priority(const struct job_spec *s, struct pack *p)
{
    if (!s->priority)
        return;
    pack_number(p, TAG_PRIORITY);
    pack_signed(p, s->priority);
}

static int pack_all(const struct job_spec *s, uint64_t replaces, struct spec_pack *ret)
{
    struct pack *p = &ret->own;

    put_number(p, TAG_KIND, s->kind, JOB_KIND_EXEC);
    put_argv(s, ret);
    put_string(p, TAG_NAME, s->name);
    put_labels(s, p);
    put_string(p, TAG_CWD, s->cwd);
    if (s->env) {
        pack_number(p, TAG_ENV_SHARED);
        pack_strings(&ret->env, s->env);
    }
    put_number(p, TAG_UMASK, s->umask, JOB_NO_UMASK);
    put_string(p, TAG_STDIN, s->stdin_path);
    put_string(p, TAG_QUEUE, s->queue);
    put_priority(s, p);
    put_number(p, TAG_TIMEOUT, s->timeout_usec, 0);
    put_number(p, TAG_KILL_AFTER, s->kill_after_usec, JOB_KILL_AFTER_USEC_DEFAULT);
    put_number(p, TAG_STOP_SIGNAL, (uint64_t)s->stop_signal, SIGTERM);
    put_number(p, TAG_KILL_MODE, s->kill_mode, JOB_KILL_TREE);
    put_number(p, TAG_OUTPUT, s->output, JOB_OUTPUT_FILE);
    put_string(p, TAG_OUTPUT_PATH, s->output_path);
    put_number(p, TAG_OUTPUT_SPLIT, s->output_split, false);
    if (s->is_array) {
        pack_number(p, TAG_ARRAY);
        pack_number(p, s->array_first);
        pack_number(p, s->array_last);
    }
    put_number(p, TAG_DURATION, s->duration_usec, 0);
    put_string(p, TAG_KEY, s->key);
    put_number(p, TAG_ON_LOST, s->on_lost, JOB_ON_LOST_FAIL);
    put_number(p, TAG_OUTPUT_LIMIT, s->output_limit, JOB_NO_LIMIT);
    put_number(p, TAG_REPLACES, replaces, 0);
    pack_number(p, TAG_END);
    return ret->own.failed || ret->env.failed || ret->argv.failed ? -ENOMEM : 0;
}

int job_spec_pack(const struct job_spec *s, struct spec_pack *ret)
{
    return pack_all(s, s->replaces, ret);
}

int job_spec_pack_body(const struct job_spec *s, struct spec_pack *ret)
{
    return pack_all(s, 0, ret);
}

void spec_pack_fini(struct spec_pack *p)
{
    pack_fini(&p->own);
    pack_fini(&p->env);
    pack_fini(&p->argv);
}

bool spec_pack_is_exec(const void *own, size_t n)
{
    struct unpack u = unpack_of(own, n);

    return unpack_number(&u) != TAG_KIND; /* the first tag, and exec is its default */
}

static void get_labels(struct unpack *u, struct job_spec *s)
{
    size_t n = unpack_number_max(u, unpack_left(u));

    if (u->failed)
        return;
    s->labels = calloc(n + 1, sizeof(*s->labels));
    if (!s->labels) {
        u->failed = u->no_memory = true;
        return;
    }
    for (; s->nlabels < n && !u->failed; s->nlabels++) {
        s->labels[s->nlabels].name = unpack_string(u);
        s->labels[s->nlabels].value = unpack_string(u);
    }
}

static char **get_shared(struct unpack *u, const void *bytes, size_t n)
{
    struct unpack part = unpack_of(bytes, n);
    char **v = bytes ? unpack_strings(&part) : NULL;

    u->failed |= !v || part.at != part.end;
    u->no_memory |= part.no_memory;
    return v;
}

enum type {
    OWN, /* shape: get_own() */
    STRING,
    BOOL,
    WORD, /* 32 bits, enums too */
    LONG,
};

static const struct packed {
    enum type type;
    uint32_t offset;
    uint64_t max; /* of numbers */
} fields[TAG_COUNT] = {
#define FIELD(type_, member_, ...)                                                       \
    {                                                                                    \
        type_, offsetof(struct job_spec, member_), __VA_ARGS__                           \
    }
    [TAG_KIND] = FIELD(WORD, kind, JOB_KIND_NOOP),
    [TAG_NAME] = FIELD(STRING, name, 0),
    [TAG_CWD] = FIELD(STRING, cwd, 0),
    [TAG_UMASK] = FIELD(WORD, umask, 0777),
    [TAG_STDIN] = FIELD(STRING, stdin_path, 0),
    [TAG_QUEUE] = FIELD(STRING, queue, 0),
    [TAG_TIMEOUT] = FIELD(LONG, timeout_usec, UINT64_MAX),
    [TAG_KILL_AFTER] = FIELD(LONG, kill_after_usec, UINT64_MAX),
    [TAG_STOP_SIGNAL] = FIELD(WORD, stop_signal, 64),
    [TAG_KILL_MODE] = FIELD(WORD, kill_mode, JOB_KILL_MAIN),
    [TAG_OUTPUT] = FIELD(WORD, output, JOB_OUTPUT_PATH),
    [TAG_OUTPUT_PATH] = FIELD(STRING, output_path, 0),
    [TAG_OUTPUT_SPLIT] = FIELD(BOOL, output_split, 1),
    [TAG_DURATION] = FIELD(LONG, duration_usec, UINT64_MAX),
    [TAG_KEY] = FIELD(STRING, key, 0),
    [TAG_ON_LOST] = FIELD(WORD, on_lost, JOB_ON_LOST_RETRY),
    [TAG_OUTPUT_LIMIT] = FIELD(LONG, output_limit, UINT64_MAX),
    [TAG_REPLACES] = FIELD(LONG, replaces, UINT64_MAX),
#undef FIELD
};

_Static_assert(sizeof(enum job_kind) == sizeof(uint32_t), "enums are words");

static void get_own(struct unpack *u, enum tag tag, const struct spec_parts *parts,
                    struct job_spec *s)
{
    switch (tag) {
    case TAG_ARGV:
        s->argv = unpack_strings(u);
        return;
    case TAG_ARGV_SHARED:
        u->failed |= s->argv != NULL;
        if (!u->failed)
            s->argv = get_shared(u, parts->argv, parts->argv_n);
        return;
    case TAG_SHELL:
        s->shell = true;
        return;
    case TAG_LABELS:
        get_labels(u, s);
        return;
    case TAG_ENV_SHARED:
        s->env = get_shared(u, parts->env, parts->env_n);
        return;
    case TAG_PRIORITY:
        s->priority = (int32_t)unpack_signed(u);
        return;
    case TAG_ARRAY:
        s->is_array = true;
        s->array_first = unpack_number(u);
        s->array_last = unpack_number(u);
        return;
    default:
        u->failed = true;
    }
}

static void get_field(struct unpack *u, const struct packed *f, struct job_spec *s)
{
    void *at = (char *)s + f->offset;

    if (f->type == STRING) {
        *(char **)at = unpack_string(u);
        return;
    }
    uint64_t v = unpack_number_max(u, f->max);
    if (f->type == LONG)
        *(uint64_t *)at = v;
    else if (f->type == WORD)
        *(uint32_t *)at = (uint32_t)v;
    else
        *(bool *)at = v;
}

int job_spec_unpack(const struct spec_parts *parts, struct job_spec **ret)
{
    struct unpack u = unpack_of(parts->own, parts->own_n);
    struct job_spec *s = job_spec_new();
    uint64_t tag, before = 0;
    const char *field;

    if (!s)
        return -ENOMEM;
    /* Ascending: no field comes twice, so none leaks. */
    while (!u.failed && (tag = unpack_number_max(&u, TAG_COUNT - 1)) != TAG_END) {
        u.failed |= tag <= before;
        before = tag;
        if (u.failed)
            break;
        if (fields[tag].type == OWN)
            get_own(&u, (enum tag)tag, parts, s);
        else
            get_field(&u, &fields[tag], s);
    }
    if (!u.failed && u.at == u.end && job_spec_validate(s, &field, NULL) == 0) {
        *ret = s;
        return 0;
    }
    job_spec_unref(s);
    return u.no_memory ? -ENOMEM : -EBADMSG;
}
