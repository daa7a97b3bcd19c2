/* See spec_pack.h. Packing and unpacking go by one table of the fields, made from
 * spec_fields.def and indexed by their tags. */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/job/spec_pack.h"

/* Those that are spoken of here; all of them are in spec_fields.def. */
enum {
    TAG_END = 0,
    TAG_KIND = 1,
    TAG_ARGV_SHARED =
        3,           /* instead of argv's own: its strings are in a part of their own */
    TAG_RANGES = 30, /* instead of array's own: not all from first to last */
    TAG_COUNT = 31,
};

enum type {
    NONE = 0, /* no such tag */
    OWN,
    TEXT,
    FLAG,
    WORD,    /* 32 bits, enums too */
    INTEGER, /* the same, signed */
    LONG,
};

/* Of one tag. */
struct packed {
    enum type type;
    bool beside; /* not a part of the body: job_spec_pack_body() */
    uint32_t offset;
    uint64_t max, fallback; /* of numbers; the fallback is not packed */
    /* OWN. put: with the tag, or nothing. */
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
    if (!s->argv || s->input)
        return;
    if (strings_length(s->argv) < SPEC_SHARED_ARGV) {
        pack_number(&to->own, tag);
        pack_strings(&to->own, s->argv);
    } else {
        pack_number(&to->own, TAG_ARGV_SHARED);
        pack_strings(&to->argv, s->argv);
    }
}

/* The part argv holds it behind the strings: it is kept once, as they are. */
static void put_input(const struct job_spec *s, uint64_t tag, struct spec_pack *to)
{
    if (!s->input)
        return;
    pack_number(&to->own, tag);
    pack_strings(&to->argv, s->argv);
    pack_raw(&to->argv, s->input->bytes, s->input->n);
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

/* Each range by what it is behind the one before. */
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

/* One more than each value: most limits are infinity, 0 then. */
static void pack_rlimits(const struct job_rlimits *l, struct pack *p)
{
    pack_number(p, l->given);
    for (size_t i = 0; i < JOB_RLIMITS; i++) {
        if (!(l->given >> i & 1))
            continue;
        pack_number(p, l->soft[i] + 1);
        pack_number(p, l->hard[i] + 1);
    }
}

/* The part env holds the resource limits, if there are any, then whether there is an
 * environment, then that. */
static void put_env(const struct job_spec *s, uint64_t tag, struct spec_pack *to)
{
    if (s->rlimits) {
        pack_rlimits(s->rlimits, &to->env);
        pack_number(&to->env, s->env != NULL);
    }
    if (s->env)
        pack_strings(&to->env, s->env);
    if (s->env && !s->rlimits)
        pack_number(&to->own, tag);
}

static void put_rlimits(const struct job_spec *s, uint64_t tag, struct spec_pack *to)
{
    if (s->rlimits)
        pack_number(&to->own, tag);
}

static const struct packed fields[TAG_COUNT];

static void put_field(const struct job_spec *s, uint64_t tag, struct pack *p)
{
    const struct packed *f = &fields[tag];
    const void *at = (const char *)s + f->offset;
    uint64_t v;

    if (f->type == TEXT) {
        const char *text = *(char *const *)at;

        if (text) {
            pack_number(p, tag);
            pack_string(p, text);
        }
        return;
    }
    if (f->type == LONG)
        v = *(const uint64_t *)at;
    else if (f->type == FLAG)
        v = *(const bool *)at;
    else
        v = *(const uint32_t *)at;
    if (v == f->fallback)
        return;
    pack_number(p, tag);
    if (f->type == INTEGER)
        pack_signed(p, *(const int32_t *)at);
    else
        pack_number(p, v);
}

static int pack_all(const struct job_spec *s, bool body, struct spec_pack *ret)
{
    for (uint64_t tag = TAG_END + 1; tag < TAG_COUNT; tag++) {
        const struct packed *f = &fields[tag];

        if (f->type == NONE || (body && f->beside))
            continue;
        if (f->type != OWN)
            put_field(s, tag, &ret->own);
        else if (f->put)
            f->put(s, tag, ret);
    }
    pack_number(&ret->own, TAG_END);
    return ret->own.failed || ret->env.failed || ret->argv.failed ? -ENOMEM : 0;
}

int job_spec_pack(const struct job_spec *s, struct spec_pack *ret)
{
    return pack_all(s, false, ret);
}

int job_spec_pack_body(const struct job_spec *s, struct spec_pack *ret)
{
    return pack_all(s, true, ret);
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

static char **get_shared(struct unpack *u, const void *bytes, size_t n)
{
    struct unpack part = unpack_of(bytes, n);
    char **v = bytes ? unpack_strings(&part) : NULL;

    u->failed |= !v || part.at != part.end;
    u->no_memory |= part.no_memory;
    return v;
}

static struct job_rlimits *unpack_rlimits(struct unpack *u)
{
    struct job_rlimits *l = calloc(1, sizeof(*l));

    u->failed |= u->no_memory |= !l;
    if (l)
        l->given = (uint32_t)unpack_number_max(u, (UINT32_C(1) << JOB_RLIMITS) - 1);
    for (size_t i = 0; !u->failed && i < JOB_RLIMITS; i++) {
        if (!(l->given >> i & 1))
            continue;
        l->soft[i] = unpack_number(u) - 1;
        l->hard[i] = unpack_number(u) - 1;
    }
    return l;
}

/* The limits, and the environment behind them. */
static void get_rlimits(struct unpack *u, const struct spec_parts *parts,
                        struct job_spec *s)
{
    struct unpack part = unpack_of(parts->env, parts->env_n);

    u->failed |= s->env != NULL;
    if (u->failed || parts->without_env)
        return;
    s->rlimits = unpack_rlimits(&part);
    if (unpack_number_max(&part, 1))
        s->env = unpack_strings(&part);
    u->failed |= part.failed || part.at != part.end;
    u->no_memory |= part.no_memory;
}

static void get_argv(struct unpack *u, const struct spec_parts *parts, struct job_spec *s)
{
    (void)parts;
    s->argv = unpack_strings(u);
}

static void get_argv_shared(struct unpack *u, const struct spec_parts *parts,
                            struct job_spec *s)
{
    u->failed |= s->argv != NULL;
    if (!u->failed && !parts->own_only)
        s->argv = get_shared(u, parts->argv, parts->argv_n);
}

static void get_input(struct unpack *u, const struct spec_parts *parts,
                      struct job_spec *s)
{
    struct unpack part = unpack_of(parts->argv, parts->argv_n);

    u->failed |= s->argv != NULL;
    if (u->failed || parts->own_only)
        return;
    s->argv = parts->argv ? unpack_strings(&part) : NULL;
    u->failed |= !s->argv;
    u->no_memory |= part.no_memory;
    if (u->failed || parts->without_env)
        return;
    s->input = malloc(sizeof(*s->input) + unpack_left(&part));
    u->failed |= u->no_memory |= !s->input;
    if (!s->input)
        return;
    s->input->n = unpack_left(&part);
    memcpy(s->input->bytes, part.at, s->input->n);
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
    if (!parts->without_env)
        s->env = get_shared(u, parts->env, parts->env_n);
}

static void get_array(struct unpack *u, const struct spec_parts *parts,
                      struct job_spec *s)
{
    (void)parts;
    s->is_array = true;
    s->array_first = unpack_number(u);
    s->array_last = unpack_number(u);
}

/* Ranges whose numbers run over are out of order. */
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

/* The type of a number's member; others do not compile. */
#define TYPE_OF(member)                                                                  \
    _Generic(((struct job_spec *)0)->member, uint64_t : LONG, uint32_t : WORD)
#define MAX_OF(member, most)                                                             \
    (sizeof(((struct job_spec *)0)->member) == 8 ? UINT64_MAX : (uint64_t)(most))
/* What *type points to is what the member is. */
#define AT(member, type)                                                                 \
    .offset = offsetof(struct job_spec, member) +                                        \
              0 * sizeof(_Generic(&((struct job_spec *)0)->member, type * : 0))

static const struct packed fields[TAG_COUNT] = {
#define SPEC_NUMBER(tag, member, json, least, most, fallback_)                           \
    [tag] = {.type = TYPE_OF(member),                                                    \
             .offset = offsetof(struct job_spec, member),                                \
             .max = MAX_OF(member, most),                                                \
             .fallback = (fallback_)},
#define SPEC_LIMIT(...) SPEC_NUMBER(__VA_ARGS__)
#define SPEC_OCTAL(tag, member, json, most, fallback_)                                   \
    SPEC_NUMBER(tag, member, json, 0, most, fallback_)
#define SPEC_KEPT(tag, member)                                                           \
    [tag] = {.type = LONG, AT(member, uint64_t), .max = UINT64_MAX, .beside = true},
#define SPEC_SIGNED(tag, member, ...) [tag] = {.type = INTEGER, AT(member, int32_t)},
#define SPEC_SIGNAL(tag, member, json, fallback_)                                        \
    [tag] = {.type = WORD, AT(member, int), .max = 64, .fallback = (fallback_)},
#define SPEC_CHOICE(tag, member, json, last)                                             \
    [tag] = {.type = TYPE_OF(member),                                                    \
             .offset = offsetof(struct job_spec, member),                                \
             .max = (last)},
#define SPEC_FLAG(tag, member, json) [tag] = {.type = FLAG, AT(member, bool), .max = 1},
#define SPEC_TEXT(tag, member, ...)  [tag] = {.type = TEXT, AT(member, char *)},
#define SPEC_OWN(tag, name, json)                                                        \
    [tag] = {.type = OWN, .put = put_##name, .get = get_##name},
#define SPEC_OWN_LIMIT(...) SPEC_OWN(__VA_ARGS__)
#include "daemon/job/spec_fields.def"
    [TAG_ARGV_SHARED] = {.type = OWN, .get = get_argv_shared},
    [TAG_RANGES] = {.type = OWN, .put = put_ranges, .get = get_ranges},
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

/* All fields up to the end. */
static void get_fields(struct unpack *u, const struct spec_parts *parts,
                       struct job_spec *s)
{
    uint64_t tag, before = 0;

    /* Ascending: no field comes twice, so none leaks. */
    while (!u->failed && (tag = unpack_number_max(u, TAG_COUNT - 1)) != TAG_END) {
        u->failed |= tag <= before || fields[tag].type == NONE;
        before = tag;
        if (u->failed)
            break;
        if (fields[tag].type == OWN)
            fields[tag].get(u, parts, s);
        else
            get_field(u, &fields[tag], s);
    }
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
    get_fields(&u, parts, s);
    if (!u.failed && u.at == u.end && job_spec_validate(s, &field, NULL) == 0) {
        *ret = s;
        return 0;
    }
    job_spec_unref(s);
    return reason(&u);
}

int spec_pack_count(const void *own, size_t n, uint64_t *ret)
{
    const struct spec_parts parts = {.without_env = true, .own_only = true};
    struct unpack u = unpack_of(own, n);
    struct job_spec *s = job_spec_new();

    if (!s)
        return -ENOMEM;
    get_fields(&u, &parts, s);
    *ret = u.failed ? 0 : job_spec_count(s);
    job_spec_unref(s);
    return u.failed ? reason(&u) : 0;
}
