/* See spec_pack.h. Packing and unpacking use one table of the fields, made from
 * spec_fields.def and indexed by tag. */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/job/env.h"
#include "daemon/job/limits_pack.h"
#include "daemon/job/retry.h"
#include "daemon/job/spec_pack.h"

/* Tags named in this file; all are in spec_fields.def. */
enum {
    TAG_END = 0,
    TAG_KIND = 1,
    TAG_ARGV_SHARED = 3, /* in place of argv's: its strings are in a part of their own */
    TAG_RANGES = 30,     /* in place of array's: has gaps */
    TAG_WAS = 36,        /* what was known of the jobs in `after` */
    TAG_HAD = 41,        /* capacities of semaphores that claims had */
    TAG_EACH = 53,       /* edges that are element by element; absent: none */
    TAG_KEYS = 54,       /* keys by which `after` was named; absent: none */
    TAG_CGROUP = 59,     /* limits of its cgroup; absent: none */
    TAG_CGROUP_DEFAULT = 60, /* those of the configuration */
};

/* A union whose size is one more than the greatest tag. */
union tags {
    char cgroup_default[TAG_CGROUP_DEFAULT + 1];
#define SPEC_NUMBER(tag, member, ...) char member[(tag) + 1];
#define SPEC_LIMIT(...)               SPEC_NUMBER(__VA_ARGS__)
#define SPEC_ARRAY(...)               SPEC_NUMBER(__VA_ARGS__)
#define SPEC_RETRY(...)               SPEC_NUMBER(__VA_ARGS__)
#define SPEC_OCTAL(...)               SPEC_NUMBER(__VA_ARGS__)
#define SPEC_SIGNED(...)              SPEC_NUMBER(__VA_ARGS__)
#define SPEC_SIGNAL(...)              SPEC_NUMBER(__VA_ARGS__)
#define SPEC_CHOICE(...)              SPEC_NUMBER(__VA_ARGS__)
#define SPEC_FLAG(...)                SPEC_NUMBER(__VA_ARGS__)
#define SPEC_TEXT(...)                SPEC_NUMBER(__VA_ARGS__)
#define SPEC_KEPT(...)                SPEC_NUMBER(__VA_ARGS__)
#define SPEC_OWN(...)                 SPEC_NUMBER(__VA_ARGS__)
#define SPEC_OWN_LIMIT(...)           SPEC_NUMBER(__VA_ARGS__)
#define SPEC_OWN_RETRY(...)           SPEC_NUMBER(__VA_ARGS__)
#include "daemon/job/spec_fields.def"
};
enum { TAG_COUNT = sizeof(union tags) };

enum type {
    NONE = 0, /* no such tag */
    OWN,
    TEXT,
    FLAG,
    WORD,    /* 32 bits, also enums */
    INTEGER, /* 32 bits, signed */
    LONG,
};

/* A row of the table. */
struct packed {
    enum type type;
    bool beside; /* not part of the body: job_spec_pack_body() */
    uint32_t offset;
    uint64_t max; /* of numbers */
    /* For OWN. put: writes tag and value, or nothing. */
    void (*put)(const struct job_spec *s, uint64_t tag, struct spec_pack *to);
    void (*get)(struct unpack *u, const struct spec_parts *parts, struct job_spec *s);
};

_Static_assert(sizeof(enum job_kind) == sizeof(uint32_t), "enums are words");

static size_t strings_length(char *const *v)
{
    size_t n = 0;

    for (; *v; v++)
        n += strlen(*v) + 1;
    return n;
}

static void put_argv(const struct job_spec *s, uint64_t tag, struct spec_pack *to)
{
    if (!s->argv || s->input || s->script)
        return;
    if (strings_length(s->argv) < SPEC_SHARED_ARGV) {
        pack_number(&to->own, tag);
        pack_strings(&to->own, s->argv);
    } else {
        pack_number(&to->own, TAG_ARGV_SHARED);
        pack_strings(&to->argv, s->argv);
    }
}

/* Puts the input into the part argv, after the strings. */
static void put_input(const struct job_spec *s, uint64_t tag, struct spec_pack *to)
{
    if (!s->input)
        return;
    pack_number(&to->own, tag);
    pack_strings(&to->argv, s->argv);
    pack_raw(&to->argv, s->input->bytes, s->input->n);
}

/* Puts the script behind the input, if any. The tag's value is its length. */
static void put_script(const struct job_spec *s, uint64_t tag, struct spec_pack *to)
{
    if (!s->script)
        return;
    pack_number(&to->own, tag);
    pack_number(&to->own, s->script->n);
    if (!s->input)
        pack_strings(&to->argv, s->argv);
    pack_raw(&to->argv, s->script->bytes, s->script->n);
}

static void put_shell(const struct job_spec *s, uint64_t tag, struct spec_pack *to)
{
    if (s->argv && s->shell)
        pack_number(&to->own, tag);
}

static void put_labels(const struct job_spec *s, uint64_t tag, struct spec_pack *to)
{
    if (!s->nlabels)
        return;
    pack_number(&to->own, tag);
    pack_number(&to->own, s->nlabels);
    for (size_t i = 0; i < s->nlabels; i++) {
        pack_string(&to->own, s->labels[i].name);
        pack_string(&to->own, s->labels[i].value);
    }
}

static void put_array(const struct job_spec *s, uint64_t tag, struct spec_pack *to)
{
    if (!s->is_array || s->ranges)
        return;
    pack_number(&to->own, tag);
    pack_number(&to->own, s->array_first);
    pack_number(&to->own, s->array_last);
}

/* Packs each range relative to the one before. */
static void put_ranges(const struct job_spec *s, uint64_t tag, struct spec_pack *to)
{
    uint64_t at = 0;

    if (!s->is_array || !s->ranges)
        return;
    pack_number(&to->own, tag);
    pack_number(&to->own, s->nranges);
    for (size_t i = 0; i < s->nranges; i++) {
        const struct job_range *r = &s->ranges[i];

        pack_number(&to->own, r->first - at);
        pack_number(&to->own, (r->last - r->first) / r->step);
        pack_number(&to->own, r->step);
        at = r->last;
    }
}

static void put_claims(const struct job_spec *s, uint64_t tag, struct spec_pack *to)
{
    if (!s->nclaims)
        return;
    pack_number(&to->own, tag);
    pack_number(&to->own, s->nclaims);
    for (size_t i = 0; i < s->nclaims; i++) {
        const struct job_claim *c = &s->claims[i];

        pack_string(&to->own, c->name);
        pack_number(&to->own, c->mode);
        if (!job_claim_counts(c->mode))
            continue;
        pack_number(&to->own, c->permits);
        pack_number(&to->own, c->capacity);
        if (c->mode == JOB_CLAIM_RATE)
            pack_number(&to->own, c->interval_usec);
    }
}

static void put_had(const struct job_spec *s, uint64_t tag, struct spec_pack *to)
{
    if (!s->nclaims)
        return;
    pack_number(&to->own, tag);
    for (size_t i = 0; i < s->nclaims; i++)
        pack_number(&to->own, s->claims[i].had);
}

static void put_retry_on(const struct job_spec *s, uint64_t tag, struct spec_pack *to)
{
    if (!s->retry_on)
        return;
    pack_number(&to->own, tag);
    pack_number(&to->own, s->retry_on);
}

static void put_retry_codes(const struct job_spec *s, uint64_t tag, struct spec_pack *to)
{
    job_codes_pack(&s->retry_codes, tag, &to->own);
}

static void put_success(const struct job_spec *s, uint64_t tag, struct spec_pack *to)
{
    job_codes_pack(&s->success, tag, &to->own);
}

/* Packs edges; for comparison without the ids of those named by key. */
static void put_after_by(const struct job_spec *s, uint64_t tag, struct spec_pack *to,
                         bool compared)
{
    if (!s->nafter)
        return;
    pack_number(&to->own, tag);
    pack_number(&to->own, s->nafter);
    for (size_t i = 0; i < s->nafter; i++) {
        pack_number(&to->own, compared && s->after[i].key ? 0 : s->after[i].job);
        pack_number(&to->own, s->after[i].when);
    }
}

static void put_after(const struct job_spec *s, uint64_t tag, struct spec_pack *to)
{
    put_after_by(s, tag, to, false);
}

static void put_keys(const struct job_spec *s, uint64_t tag, struct spec_pack *to)
{
    bool any = false;

    for (size_t i = 0; i < s->nafter; i++)
        any |= s->after[i].key != NULL;
    if (!any)
        return;
    pack_number(&to->own, tag);
    for (size_t i = 0; i < s->nafter; i++)
        pack_string(&to->own, s->after[i].key ? s->after[i].key : "");
}

static void put_each(const struct job_spec *s, uint64_t tag, struct spec_pack *to)
{
    bool any = false;

    for (size_t i = 0; i < s->nafter; i++)
        any |= s->after[i].each;
    if (!any)
        return;
    pack_number(&to->own, tag);
    for (size_t i = 0; i < s->nafter; i++)
        pack_number(&to->own, s->after[i].each);
}

static void put_was(const struct job_spec *s, uint64_t tag, struct spec_pack *to)
{
    if (!s->nafter)
        return;
    pack_number(&to->own, tag);
    for (size_t i = 0; i < s->nafter; i++)
        pack_number(&to->own, (uint64_t)s->after[i].result << 1 | s->after[i].started);
}

/* Packs the part env: the resource limits if any, then whether there is an environment,
 * then the environment. */
static void put_env_by(const struct job_spec *s, uint64_t tag, struct spec_pack *to,
                       void (*pack)(const struct job_env *env, struct pack *to))
{
    if (s->rlimits) {
        rlimits_pack(s->rlimits, &to->env);
        pack_number(&to->env, s->env != NULL);
    }
    if (s->env)
        pack(s->env, &to->env);
    if (s->env && !s->rlimits)
        pack_number(&to->own, tag);
}

static void put_env(const struct job_spec *s, uint64_t tag, struct spec_pack *to)
{
    put_env_by(s, tag, to, job_env_pack);
}

static void put_env_given(const struct job_spec *s, uint64_t tag, struct spec_pack *to)
{
    if (!s->env_given)
        return;
    pack_number(&to->own, tag);
    pack_strings(&to->own, s->env_given);
}

static void pack_no_env(const struct job_env *env, struct pack *to)
{
    (void)env;
    (void)to;
}

static void put_rlimits(const struct job_spec *s, uint64_t tag, struct spec_pack *to)
{
    if (s->rlimits)
        pack_number(&to->own, tag);
}

static void put_cgroup(const struct job_spec *s, uint64_t tag, struct spec_pack *to)
{
    cgroup_pack(s->cgroup, tag, &to->own);
}

static void put_cgroup_default(const struct job_spec *s, uint64_t tag,
                               struct spec_pack *to)
{
    cgroup_pack(s->cgroup_default, tag, &to->own);
}

static const struct packed fields[TAG_COUNT];

static void put_field(const struct job_spec *s, uint64_t tag, struct pack *p)
{
    const struct packed *f = &fields[tag];
    const void *at = (const char *)s + f->offset;
    uint64_t v;

    if (f->type == TEXT) {
        pack_number(p, tag);
        pack_string(p, *(char *const *)at);
        return;
    }
    if (f->type == LONG)
        v = *(const uint64_t *)at;
    else if (f->type == FLAG)
        v = *(const bool *)at;
    else
        v = *(const uint32_t *)at;
    pack_number(p, tag);
    if (f->type == INTEGER)
        pack_signed(p, *(const int32_t *)at);
    else
        pack_number(p, v);
}

#define TAG(tag) (UINT64_C(1) << (tag))
_Static_assert(TAG_COUNT <= 64, "tags are bits");

/* Returns the tags of fields that differ from their default, and of OWN fields, which
 * may. Most fields are default, so this is no loop over the table. */
static uint64_t given(const struct job_spec *s)
{
    uint64_t tags = TAG(TAG_RANGES) | TAG(TAG_WAS) | TAG(TAG_HAD) | TAG(TAG_EACH) |
                    TAG(TAG_KEYS) | TAG(TAG_CGROUP) | TAG(TAG_CGROUP_DEFAULT);

#define GIVEN(tag, is) tags |= (is) ? TAG(tag) : 0;
#define SPEC_NUMBER(tag, member, json, least, most, fallback)                            \
    GIVEN(tag, s->member != (fallback))
#define SPEC_LIMIT(...)                               SPEC_NUMBER(__VA_ARGS__)
#define SPEC_ARRAY(...)                               SPEC_NUMBER(__VA_ARGS__)
#define SPEC_RETRY(...)                               SPEC_NUMBER(__VA_ARGS__)
#define SPEC_OCTAL(tag, member, json, most, fallback) GIVEN(tag, s->member != (fallback))
#define SPEC_KEPT(tag, member)                        GIVEN(tag, s->member != 0)
#define SPEC_SIGNED(tag, member, ...)                 GIVEN(tag, s->member != 0)
#define SPEC_SIGNAL(tag, member, json, fallback)      GIVEN(tag, s->member != (fallback))
#define SPEC_CHOICE(tag, member, json, last)          GIVEN(tag, s->member != 0)
#define SPEC_FLAG(tag, member, json)                  GIVEN(tag, s->member)
#define SPEC_TEXT(tag, member, ...)                   GIVEN(tag, s->member != NULL)
#define SPEC_OWN(tag, name, json)                     GIVEN(tag, true)
#define SPEC_OWN_LIMIT(...)                           SPEC_OWN(__VA_ARGS__)
#define SPEC_OWN_RETRY(...)                           SPEC_OWN(__VA_ARGS__)
#include "daemon/job/spec_fields.def"
    return tags;
}

static void put(const struct job_spec *s, unsigned tag, struct spec_pack *ret)
{
    if (fields[tag].type != OWN)
        put_field(s, tag, &ret->own);
    else
        fields[tag].put(s, tag, ret);
}

/* Ends the list, after all fields. */
static int put_end(struct spec_pack *ret)
{
    pack_number(&ret->own, TAG_END);
    return ret->own.failed || ret->env.failed || ret->argv.failed ? -ENOMEM : 0;
}

/* Packs in ascending order, like the next two functions. */
int job_spec_pack(const struct job_spec *s, struct spec_pack *ret)
{
    for (uint64_t tags = given(s); tags; tags &= tags - 1)
        put(s, (unsigned)__builtin_ctzll(tags), ret);
    return put_end(ret);
}

/* Returns whether the field belongs to the place of submission, if those are marked. */
static bool is_of_place(const struct job_spec *s, const struct packed *f)
{
    const bool is_umask =
        f->type == WORD && f->offset == offsetof(struct job_spec, umask);

    return s->env_given && (f->put == put_env_given || f->put == put_env ||
                            f->put == put_rlimits || is_umask);
}

int job_spec_pack_body(const struct job_spec *s, struct spec_pack *ret)
{
    for (uint64_t tags = given(s); tags; tags &= tags - 1) {
        const unsigned tag = (unsigned)__builtin_ctzll(tags);
        const struct packed *f = &fields[tag];

        if (f->beside || is_of_place(s, f))
            continue;
        if (f->put == put_env)
            put_env_by(s, tag, ret, pack_no_env);
        else if (f->put == put_after)
            put_after_by(s, tag, ret, true);
        else
            put(s, tag, ret);
    }
    return put_end(ret);
}

void job_spec_pack_some(const struct job_spec *s, uint64_t tags, struct pack *ret)
{
    struct spec_pack to = {.own = *ret};

    for (tags &= given(s); tags; tags &= tags - 1)
        put(s, (unsigned)__builtin_ctzll(tags), &to);
    pack_number(&to.own, TAG_END);
    *ret = to.own;
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

    return unpack_number(&u) != TAG_KIND; /* the first tag; exec is its default */
}

static void get_labels(struct unpack *u, const struct spec_parts *parts,
                       struct job_spec *s)
{
    size_t n = unpack_number_max(u, unpack_left(u));

    (void)parts;
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

static void get_claim(struct unpack *u, struct job_claim *ret)
{
    ret->name = unpack_string(u);
    ret->mode = (enum job_claim_mode)unpack_number_max(u, JOB_CLAIM_MODES - 1);
    if (!job_claim_counts(ret->mode))
        return;
    ret->permits = unpack_number(u);
    ret->capacity = unpack_number(u);
    if (ret->mode == JOB_CLAIM_RATE)
        ret->interval_usec = unpack_number(u);
}

static void get_claims(struct unpack *u, const struct spec_parts *parts,
                       struct job_spec *s)
{
    const size_t n = unpack_number_max(u, JOB_CLAIMS_MAX);

    (void)parts;
    if (u->failed)
        return;
    s->claims = calloc(n + 1, sizeof(*s->claims));
    u->failed |= u->no_memory |= !s->claims;
    for (; s->nclaims < n && !u->failed; s->nclaims++)
        get_claim(u, &s->claims[s->nclaims]);
}

static void get_had(struct unpack *u, const struct spec_parts *parts, struct job_spec *s)
{
    (void)parts;
    for (size_t i = 0; i < s->nclaims; i++)
        s->claims[i].had = unpack_number(u);
}

static void get_after(struct unpack *u, const struct spec_parts *parts,
                      struct job_spec *s)
{
    const size_t n = unpack_number_max(u, JOB_AFTER_MAX);

    (void)parts;
    if (u->failed)
        return;
    s->after = calloc(n + 1, sizeof(*s->after));
    u->failed |= u->no_memory |= !s->after;
    for (; s->nafter < n && !u->failed; s->nafter++) {
        s->after[s->nafter].job = unpack_number(u);
        s->after[s->nafter].when = (enum job_after)unpack_number_max(u, JOB_AFTER_START);
    }
}

static void get_retry_on(struct unpack *u, const struct spec_parts *parts,
                         struct job_spec *s)
{
    (void)parts;
    s->retry_on = (uint32_t)unpack_number_max(u, JOB_RETRY_ON_MOST);
}

static void get_retry_codes(struct unpack *u, const struct spec_parts *parts,
                            struct job_spec *s)
{
    (void)parts;
    job_codes_unpack(u, &s->retry_codes);
}

static void get_success(struct unpack *u, const struct spec_parts *parts,
                        struct job_spec *s)
{
    (void)parts;
    job_codes_unpack(u, &s->success);
}

static void get_was(struct unpack *u, const struct spec_parts *parts, struct job_spec *s)
{
    (void)parts;
    for (size_t i = 0; i < s->nafter; i++) {
        const uint64_t was = unpack_number_max(u, 2 * JOB_RESULT_COUNT - 1);

        s->after[i].started = was & 1;
        s->after[i].result = (enum job_result)(was >> 1);
    }
}

static void get_each(struct unpack *u, const struct spec_parts *parts, struct job_spec *s)
{
    (void)parts;
    for (size_t i = 0; i < s->nafter; i++)
        s->after[i].each = unpack_number_max(u, 1);
}

static void get_keys(struct unpack *u, const struct spec_parts *parts, struct job_spec *s)
{
    (void)parts;
    for (size_t i = 0; i < s->nafter && !u->failed; i++) {
        struct job_edge *edge = &s->after[i];

        edge->key = unpack_string(u);
        if (!edge->key || *edge->key)
            continue;
        free(edge->key);
        edge->key = NULL;
    }
}

static void get_cgroup(struct unpack *u, const struct spec_parts *parts,
                       struct job_spec *s)
{
    (void)parts;
    cgroup_unpack(u, &s->cgroup);
}

static void get_cgroup_default(struct unpack *u, const struct spec_parts *parts,
                               struct job_spec *s)
{
    (void)parts;
    cgroup_unpack(u, &s->cgroup_default);
}

/* Reads the limits, then the environment. */
static void get_rlimits(struct unpack *u, const struct spec_parts *parts,
                        struct job_spec *s)
{
    struct unpack part = unpack_of(parts->env, parts->env_n);

    u->failed |= s->env != NULL;
    if (u->failed || parts->without_env)
        return;
    s->rlimits = rlimits_unpack(&part);
    if (unpack_number_max(&part, 1))
        s->env = job_env_unpack(&part);
    u->failed |= part.failed || part.at != part.end;
    u->no_memory |= part.no_memory;
}

static void get_argv(struct unpack *u, const struct spec_parts *parts, struct job_spec *s)
{
    (void)parts;
    s->argv = unpack_strings(u);
}

/* Reads the strings at the beginning of the part argv. *ret: the bytes behind them. */
static void get_shared(struct unpack *u, const struct spec_parts *parts,
                       struct job_spec *s, struct unpack *ret)
{
    *ret = unpack_of(parts->argv, parts->argv_n);
    u->failed |= s->argv != NULL;
    if (u->failed || parts->own_only)
        return;
    s->argv = parts->argv ? unpack_strings(ret) : NULL;
    u->failed |= !s->argv;
    u->no_memory |= ret->no_memory;
}

static void get_argv_shared(struct unpack *u, const struct spec_parts *parts,
                            struct job_spec *s)
{
    struct unpack part;

    get_shared(u, parts, s, &part);
    u->failed |= !parts->own_only && part.at != part.end;
}

static struct job_bytes *unpack_bytes(struct unpack *u, const uint8_t *at, size_t n)
{
    struct job_bytes *b = malloc(sizeof(*b) + n);

    u->failed |= u->no_memory |= !b;
    if (b) {
        b->n = n;
        memcpy(b->bytes, at, n);
    }
    return b;
}

static void get_input(struct unpack *u, const struct spec_parts *parts,
                      struct job_spec *s)
{
    struct unpack part;

    get_shared(u, parts, s, &part);
    if (!u->failed && !parts->own_only && !parts->without_env)
        s->input = unpack_bytes(u, part.at, unpack_left(&part));
}

/* Reads the end of the part. get_input(), if it was called, has read argv and the
 * input. */
static void get_script(struct unpack *u, const struct spec_parts *parts,
                       struct job_spec *s)
{
    struct unpack part = unpack_of(parts->argv, parts->argv_n);
    const size_t n = unpack_number_max(u, INT32_MAX);

    if (!s->argv) {
        get_shared(u, parts, s, &part);
        u->failed |= !parts->own_only && unpack_left(&part) != n;
    } else if (s->input && s->input->n >= n) {
        s->input->n -= n;
    } else {
        u->failed |= !parts->without_env;
    }
    if (!u->failed && !parts->own_only && !parts->without_env)
        s->script = unpack_bytes(u, part.end - n, n);
}

static void get_shell(struct unpack *u, const struct spec_parts *parts,
                      struct job_spec *s)
{
    (void)u;
    (void)parts;
    s->shell = true;
}

static void get_env(struct unpack *u, const struct spec_parts *parts, struct job_spec *s)
{
    struct unpack part = unpack_of(parts->env, parts->env_n);

    if (parts->without_env)
        return;
    s->env = parts->env ? job_env_unpack(&part) : NULL;
    u->failed |= !s->env || part.at != part.end;
    u->no_memory |= part.no_memory;
}

static void get_env_given(struct unpack *u, const struct spec_parts *parts,
                          struct job_spec *s)
{
    (void)parts;
    s->env_given = unpack_strings(u);
}

static void get_array(struct unpack *u, const struct spec_parts *parts,
                      struct job_spec *s)
{
    (void)parts;
    s->is_array = true;
    s->array_first = unpack_number(u);
    s->array_last = unpack_number(u);
}

/* Reads ranges; overflowing numbers are out of order. */
static void get_ranges(struct unpack *u, const struct spec_parts *parts,
                       struct job_spec *s)
{
    size_t n = unpack_number_max(u, JOB_RANGES_MAX);
    uint64_t at = 0;

    (void)parts;
    u->failed |= s->is_array || n == 0;
    if (u->failed)
        return;
    s->ranges = calloc(n, sizeof(*s->ranges));
    u->failed |= u->no_memory |= !s->ranges;
    for (; s->nranges < n && !u->failed; s->nranges++) {
        struct job_range *r = &s->ranges[s->nranges];

        r->first = at + unpack_number_max(u, INT64_MAX);
        uint64_t steps = unpack_number_max(u, JOB_ARRAY_MAX);
        r->step = unpack_number_max(u, INT64_MAX);
        if (__builtin_mul_overflow(steps, r->step, &steps) ||
            __builtin_add_overflow(r->first, steps, &r->last))
            u->failed = true;
        at = r->last;
    }
    s->is_array = true;
    u->failed |= job_spec_set_ranges(s) < 0;
}

/* Type of a number's member; others do not compile. */
#define TYPE_OF(member)                                                                  \
    _Generic(((struct job_spec *)0)->member, uint64_t : LONG, uint32_t : WORD)
#define MAX_OF(member, most)                                                             \
    (sizeof(((struct job_spec *)0)->member) == 8 ? UINT64_MAX : (uint64_t)(most))
/* Checks that the member has this type. */
#define AT(member, type)                                                                 \
    .offset = offsetof(struct job_spec, member) +                                        \
              0 * sizeof(_Generic(&((struct job_spec *)0)->member, type * : 0))

static const struct packed fields[TAG_COUNT] = {
#define SPEC_NUMBER(tag, member, json, least, most, ...)                                 \
    [tag] = {.type = TYPE_OF(member),                                                    \
             .offset = offsetof(struct job_spec, member),                                \
             .max = MAX_OF(member, most)},
#define SPEC_LIMIT(...)                          SPEC_NUMBER(__VA_ARGS__)
#define SPEC_ARRAY(...)                          SPEC_NUMBER(__VA_ARGS__)
#define SPEC_RETRY(...)                          SPEC_NUMBER(__VA_ARGS__)
#define SPEC_OCTAL(tag, member, json, most, ...) SPEC_NUMBER(tag, member, json, 0, most)
#define SPEC_KEPT(tag, member)                                                           \
    [tag] = {.type = LONG, AT(member, uint64_t), .max = UINT64_MAX, .beside = true},
#define SPEC_SIGNED(tag, member, ...) [tag] = {.type = INTEGER, AT(member, int32_t)},
#define SPEC_SIGNAL(tag, member, ...) [tag] = {.type = WORD, AT(member, int), .max = 64},
#define SPEC_CHOICE(tag, member, json, last)                                             \
    [tag] = {.type = TYPE_OF(member),                                                    \
             .offset = offsetof(struct job_spec, member),                                \
             .max = (last)},
#define SPEC_FLAG(tag, member, json) [tag] = {.type = FLAG, AT(member, bool), .max = 1},
#define SPEC_TEXT(tag, member, ...)  [tag] = {.type = TEXT, AT(member, char *)},
#define SPEC_OWN(tag, name, json)                                                        \
    [tag] = {.type = OWN, .put = put_##name, .get = get_##name},
#define SPEC_OWN_LIMIT(...) SPEC_OWN(__VA_ARGS__)
#define SPEC_OWN_RETRY(...) SPEC_OWN(__VA_ARGS__)
#include "daemon/job/spec_fields.def"
    [TAG_ARGV_SHARED] = {.type = OWN, .get = get_argv_shared},
    [TAG_RANGES] = {.type = OWN, .put = put_ranges, .get = get_ranges},
    [TAG_EACH] = {.type = OWN, .put = put_each, .get = get_each},
    [TAG_KEYS] = {.type = OWN, .put = put_keys, .get = get_keys},
    [TAG_WAS] = {.type = OWN, .beside = true, .put = put_was, .get = get_was},
    [TAG_HAD] = {.type = OWN, .beside = true, .put = put_had, .get = get_had},
    [TAG_CGROUP] = {.type = OWN, .put = put_cgroup, .get = get_cgroup},
    [TAG_CGROUP_DEFAULT] = {.type = OWN,
                            .beside = true,
                            .put = put_cgroup_default,
                            .get = get_cgroup_default},
};

static void get_field(struct unpack *u, const struct packed *f, struct job_spec *s)
{
    void *at = (char *)s + f->offset;

    if (f->type == TEXT) {
        *(char **)at = unpack_string(u);
        return;
    }
    if (f->type == INTEGER) {
        *(int32_t *)at = (int32_t)unpack_signed(u);
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

/* Reads fields up to the end; other tags fail. */
static void get_some(struct unpack *u, const struct spec_parts *parts, uint64_t tags,
                     struct job_spec *s)
{
    uint64_t tag, before = 0;

    /* Ascending: no field comes twice, so none leaks. */
    while (!u->failed && (tag = unpack_number_max(u, TAG_COUNT - 1)) != TAG_END) {
        u->failed |= tag <= before || fields[tag].type == NONE || !(tags & TAG(tag));
        before = tag;
        if (u->failed)
            break;
        if (fields[tag].type == OWN)
            fields[tag].get(u, parts, s);
        else
            get_field(u, &fields[tag], s);
    }
}

bool job_spec_unpack_some(struct unpack *u, uint64_t tags, struct job_spec *ret)
{
    get_some(u, &(struct spec_parts){.own_only = true}, tags, ret);
    return !u->failed;
}

static int reason(const struct unpack *u)
{
    return u->no_memory ? -ENOMEM : -EBADMSG;
}

int job_spec_unpack(const struct spec_parts *parts, struct job_spec **ret)
{
    struct unpack u = unpack_of(parts->own, parts->own_n);
    struct job_spec *s = job_spec_new();
    const char *field;

    if (!s)
        return -ENOMEM;
    get_some(&u, parts, UINT64_MAX, s);
    if (!u.failed && u.at == u.end && job_spec_validate(s, &field, NULL) == 0) {
        *ret = s;
        return 0;
    }
    job_spec_unref(s);
    return reason(&u);
}

/* Mixes packed fields of both specs. */
int job_spec_mix(const struct job_spec *s, const struct job_spec *other, uint64_t tags,
                 struct job_spec **ret)
{
    struct spec_pack p = {.own = {.n = 0}};
    struct job_spec *mixed = job_spec_new();

    const uint64_t changed = tags ? given(other) & tags : 0;

    for (uint64_t all = (given(s) & ~tags) | changed; all; all &= all - 1) {
        const unsigned tag = (unsigned)__builtin_ctzll(all);

        put(tags & TAG(tag) ? other : s, tag, &p);
    }
    int r = mixed ? put_end(&p) : -ENOMEM;
    if (r == 0) {
        const struct spec_parts parts = {p.own.bytes, p.env.bytes, p.argv.bytes, p.own.n,
                                         p.env.n,     p.argv.n,    false,        false};
        struct unpack u = unpack_of(p.own.bytes, p.own.n);

        get_some(&u, &parts, UINT64_MAX, mixed);
        r = u.failed ? reason(&u) : 0;
    }
    spec_pack_fini(&p);
    if (r < 0)
        job_spec_unref(mixed);
    else
        *ret = mixed;
    return r;
}

int spec_pack_count(const void *own, size_t n, uint64_t *ret)
{
    const struct spec_parts parts = {.without_env = true, .own_only = true};
    struct unpack u = unpack_of(own, n);
    struct job_spec *s = job_spec_new();

    if (!s)
        return -ENOMEM;
    get_some(&u, &parts, UINT64_MAX, s);
    *ret = u.failed ? 0 : job_spec_count(s);
    job_spec_unref(s);
    return u.failed ? reason(&u) : 0;
}
