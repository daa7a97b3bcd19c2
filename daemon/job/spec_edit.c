/* See spec_edit.h. */
#include "daemon/job/spec_edit.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "daemon/job/queue.h"
#include "daemon/job/spec_pack.h"

/* Bits of `edited` from 1 on, in order; each with the tags that follow it. */
#define ROWS                                                                             \
    ROW(TAG_QUEUE, SPEC_TAG(TAG_QUEUE_TIME), "queue")                                    \
    ROW(TAG_PRIORITY, 0, "priority")                                                     \
    ROW(TAG_NAME, 0, "name")                                                             \
    ROW(TAG_DELAY, 0, "delay_usec")                                                      \
    ROW(TAG_AT, 0, "at_usec")                                                            \
    ROW(TAG_START_BY, 0, "start_by_usec")                                                \
    ROW(TAG_CLAIMS, SPEC_TAG(TAG_HAD), "claims")                                         \
    ROW(TAG_TIMEOUT, SPEC_TAG(TAG_QUEUE_TIME), "timeout_usec")                           \
    ROW(TAG_KILL_AFTER, 0, "kill_after_usec")                                            \
    ROW(TAG_OUTPUT, 0, "output_bytes")                                                   \
    ROW(TAG_AFTER, TAGS_OF_AFTER, "after")                                               \
    ROW(TAG_CGROUP, 0, "limits")

static const struct {
    unsigned tag;
    uint64_t all; /* with those that follow it */
} tags_of[] = {
#define ROW(tag, follow, name) {tag, SPEC_TAG(tag) | (follow)},
    ROWS
#undef ROW
};
#define NTAGS (sizeof(tags_of) / sizeof(tags_of[0]))

const char *const job_edit_names[] = {"first",
#define ROW(tag, follow, name) name,
                                      ROWS
#undef ROW
                                          NULL};

_Static_assert(NTAGS < 16, "each has a bit");

uint32_t job_edit_fields(const struct job_changes *c)
{
    struct unpack u = unpack_of(c->bytes, c->n);
    const uint64_t tags = unpack_number(&u);
    uint32_t fields = c->front != 0;

    for (size_t i = 0; i < NTAGS; i++)
        if (tags & SPEC_TAG(tags_of[i].tag))
            fields |= UINT32_C(2) << i;
    return fields;
}

uint64_t job_edit_tags(unsigned bit)
{
    if (bit == 0 || bit > NTAGS)
        return 0;
    return tags_of[bit - 1].all;
}

static bool is_same_queue(const struct job_spec *a, const struct job_spec *b)
{
    return strcmp(a->queue ? a->queue : QUEUE_DEFAULT,
                  b->queue ? b->queue : QUEUE_DEFAULT) == 0;
}

/* Compares fields that users ask for: not TAGS_BESIDE. */
static bool is_same(const struct job_spec *a, const struct job_spec *b, uint64_t tags)
{
    uint8_t room[2][JOB_EDIT_ROOM];
    struct pack p[2] = {pack_in(room[0], sizeof(room[0])),
                        pack_in(room[1], sizeof(room[1]))};

    job_spec_pack_some(a, tags & ~TAGS_BESIDE, &p[0]);
    job_spec_pack_some(b, tags & ~TAGS_BESIDE, &p[1]);
    const bool same = !p[0].failed && !p[1].failed && p[0].n == p[1].n &&
                      memcmp(p[0].bytes, p[1].bytes, p[0].n) == 0;
    pack_fini(&p[0]);
    pack_fini(&p[1]);
    return same;
}

uint64_t job_edit_differs(const struct job_spec *a, const struct job_spec *b,
                          uint64_t tags)
{
    uint64_t differs = 0;

    for (unsigned bit = 1; bit <= NTAGS; bit++) {
        const unsigned tag = tags_of[bit - 1].tag;
        const uint64_t all = job_edit_tags(bit);

        if (tags & SPEC_TAG(tag) &&
            !(tag == TAG_QUEUE ? is_same_queue(a, b) : is_same(a, b, all)))
            differs |= all;
    }
    return differs;
}

/* Returns all tags that an EDIT may name. */
static uint64_t known_tags(void)
{
    uint64_t tags = 0;

    for (unsigned bit = 1; bit <= NTAGS; bit++)
        tags |= job_edit_tags(bit);
    return tags;
}

/* Repeats a check of the submitting method, beside those of the fields. */
static int check(const struct job_spec *s, const char **ret_field, struct volt_error *err)
{
    int r = job_spec_validate(s, ret_field, err);

    if (r < 0 || !s->at_usec || !s->start_by_usec || s->start_by_usec >= s->at_usec)
        return r;
    if (ret_field)
        *ret_field = "start_by_usec";
    return error_set(err, -EINVAL, "is before at_usec (--at): it could never start");
}

/* Puts back the limits that the edit does not name. */
static void keep_limits(struct job_spec *edited, const struct job_spec *s,
                        const struct job_edit *e)
{
    struct job_cgroup before = s->cgroup;

    if (!(e->tags & SPEC_TAG(TAG_CGROUP)) || !e->limits)
        return;
    for (size_t i = 0; i < JOB_CGROUP_LIMITS; i++)
        if (!(e->limits >> i & 1))
            *job_cgroup_at(&edited->cgroup, i) = *job_cgroup_at(&before, i);
}

int job_spec_edit(const struct job_spec *s, const struct job_edit *e,
                  struct job_spec **ret, const char **ret_field, struct volt_error *err)
{
    struct job_spec *edited;
    int r = job_spec_mix(s, e->changes, e->tags, &edited);

    if (r == 0)
        keep_limits(edited, s, e);
    if (r == 0 && (r = check(edited, ret_field, err)) < 0)
        job_spec_unref(edited);
    else if (r == 0)
        *ret = edited;
    return r;
}

void job_edit_pack(const struct job_spec *s, uint64_t tags, struct pack *ret)
{
    pack_number(ret, tags);
    job_spec_pack_some(s, tags, ret);
}

/* Returns new; NULL: *ret is the error. */
static struct job_spec *read_changes(const struct job_changes *c, uint64_t *ret_tags,
                                     int *ret)
{
    struct unpack u = unpack_of(c->bytes, c->n);
    const uint64_t tags = *ret_tags = unpack_number(&u);
    struct job_spec *changes = job_spec_new();

    *ret = changes ? 0 : -ENOMEM;
    if (changes && (tags & ~known_tags() || !job_spec_unpack_some(&u, tags, changes) ||
                    u.at != u.end))
        *ret = u.no_memory ? -ENOMEM : -EBADMSG;
    if (*ret == 0)
        return changes;
    job_spec_unref(changes);
    return NULL;
}

int job_edits_add(struct job_edits *all, const struct job_changes *c)
{
    uint64_t tags;
    int r;
    struct job_spec *changes = read_changes(c, &tags, &r);
    struct job_spec *mixed = changes;

    if (!changes)
        return r;
    if (all->tags & ~tags) { /* fields of earlier EDITs stay */
        r = job_spec_mix(all->changes, changes, tags, &mixed);
        job_spec_unref(changes);
    }
    if (r < 0)
        return r;
    job_spec_unref(all->changes);
    all->changes = mixed;
    all->tags |= tags;
    if (c->front)
        all->front = c->front;
    return 0;
}

int job_edits_lay(const struct job_edits *all, const struct job_spec *s,
                  struct job_spec **ret)
{
    const struct job_edit e = {.changes = all->changes, .tags = all->tags};
    const int r = job_spec_edit(s, &e, ret, NULL, NULL);

    return r == -EINVAL ? -EBADMSG : r;
}

void job_edits_fini(struct job_edits *all)
{
    job_spec_unref(all->changes);
    *all = (struct job_edits){.changes = NULL};
}
