/* See spec_pack.h. One table of tags: packing and unpacking go through it. */
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

static void get_field(struct unpack *u, enum tag tag, const struct spec_parts *parts,
                      struct job_spec *s)
{
    switch (tag) {
    case TAG_KIND:
        s->kind = (enum job_kind)unpack_number_max(u, JOB_KIND_NOOP);
        return;
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
    case TAG_NAME:
        s->name = unpack_string(u);
        return;
    case TAG_LABELS:
        get_labels(u, s);
        return;
    case TAG_CWD:
        s->cwd = unpack_string(u);
        return;
    case TAG_ENV_SHARED:
        s->env = get_shared(u, parts->env, parts->env_n);
        return;
    case TAG_UMASK:
        s->umask = (uint32_t)unpack_number_max(u, 0777);
        return;
    case TAG_STDIN:
        s->stdin_path = unpack_string(u);
        return;
    case TAG_QUEUE:
        s->queue = unpack_string(u);
        return;
    case TAG_PRIORITY:
        s->priority = (int32_t)unpack_signed(u);
        return;
    case TAG_TIMEOUT:
        s->timeout_usec = unpack_number(u);
        return;
    case TAG_KILL_AFTER:
        s->kill_after_usec = unpack_number(u);
        return;
    case TAG_STOP_SIGNAL:
        s->stop_signal = (int)unpack_number_max(u, 64);
        return;
    case TAG_KILL_MODE:
        s->kill_mode = (enum job_kill_mode)unpack_number_max(u, JOB_KILL_MAIN);
        return;
    case TAG_OUTPUT:
        s->output = (enum job_output)unpack_number_max(u, JOB_OUTPUT_PATH);
        return;
    case TAG_OUTPUT_PATH:
        s->output_path = unpack_string(u);
        return;
    case TAG_OUTPUT_SPLIT:
        s->output_split = unpack_number_max(u, 1);
        return;
    case TAG_ARRAY:
        s->is_array = true;
        s->array_first = unpack_number(u);
        s->array_last = unpack_number(u);
        return;
    case TAG_DURATION:
        s->duration_usec = unpack_number(u);
        return;
    case TAG_KEY:
        s->key = unpack_string(u);
        return;
    case TAG_ON_LOST:
        s->on_lost = (enum job_on_lost)unpack_number_max(u, JOB_ON_LOST_RETRY);
        return;
    case TAG_OUTPUT_LIMIT:
        s->output_limit = unpack_number(u);
        return;
    case TAG_REPLACES:
        s->replaces = unpack_number(u);
        return;
    case TAG_END:
    case TAG_COUNT:
        break;
    }
    u->failed = true;
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
        if (!u.failed)
            get_field(&u, (enum tag)tag, parts, s);
    }
    if (!u.failed && u.at == u.end && job_spec_validate(s, &field, NULL) == 0) {
        *ret = s;
        return 0;
    }
    job_spec_unref(s);
    return u.no_memory ? -ENOMEM : -EBADMSG;
}
