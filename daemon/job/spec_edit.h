/* Changes to the spec of a waiting job: an overlay.
 *
 * An edit names fields by their tags (spec_fields.def), and has a spec with their new
 * values, defaults included. The submitted spec stays in the store with SUBMIT, and stays
 * what the job's key stands for; the sum of its EDITs is laid over it when the job is
 * loaded or shown.
 *
 * An edit as bytes is the set of tags, then the fields that differ from their defaults,
 * as in spec_pack.h. A new field is a row of spec_edit.c; its tag is one whose value is
 * in the part `own`. Pure. */
#ifndef VOLTD_JOB_SPEC_EDIT_H
#define VOLTD_JOB_SPEC_EDIT_H

#include <sys/types.h>
#include <volt/error.h>
#include "daemon/job/job.h"
#include "daemon/job/pack.h"
#include "daemon/job/spec.h"

#define SPEC_TAG(tag)  (UINT64_C(1) << (tag))
#define TAG_NAME       5
#define TAG_QUEUE      11
#define TAG_PRIORITY   12
#define TAG_TIMEOUT    13
#define TAG_KILL_AFTER 14
#define TAG_OUTPUT     24 /* output_limit */
#define TAG_DELAY      32
#define TAG_AT         33
#define TAG_START_BY   34
#define TAG_AFTER      35
#define TAG_WAS        36 /* what was known of these jobs, ... */
#define TAG_EACH       53 /* ... which of them are waited for element by element, ... */
#define TAG_KEYS       54 /* ... and by which keys: follow after */
#define TAG_CLAIMS     40
#define TAG_HAD        41 /* capacities that claims had: follows claims */
#define TAG_CGROUP     59 /* limits of the cgroup */
#define TAG_QUEUE_TIME 52 /* queue_timeout_usec: follows queue and timeout */
#define TAGS_BESIDE                                                                      \
    (SPEC_TAG(TAG_WAS) | SPEC_TAG(TAG_KEYS) | SPEC_TAG(TAG_HAD) |                        \
     SPEC_TAG(TAG_QUEUE_TIME))
#define TAGS_OF_TIME (SPEC_TAG(TAG_DELAY) | SPEC_TAG(TAG_AT) | SPEC_TAG(TAG_START_BY))

#define TAGS_OF_AFTER                                                                    \
    (SPEC_TAG(TAG_AFTER) | SPEC_TAG(TAG_WAS) | SPEC_TAG(TAG_EACH) | SPEC_TAG(TAG_KEYS))

#define JOB_EDIT_ROOM 256 /* bytes: most edits are shorter, and need no heap */

struct job_edit {
    const struct job_spec *changes; /* NULL: no tags */
    uint64_t tags;   /* fields to take from it, with those that follow them */
    uint32_t limits; /* of TAG_CGROUP, bit n: take limit n; the others stay; 0: all */
    bool first;      /* also move the job before all others of its user */
    uid_t uid;       /* for TAG_AFTER: owner of the antecedents */
};

/* Names of what an edit may change: bits of `edited` in a status. Bit 0 is "first": the
 * rank. Ends with NULL. */
extern const char *const job_edit_names[];
/* Returns the bits of an EDIT. */
uint32_t job_edit_fields(const struct job_changes *c);
/* Returns the tag of that bit, with those that follow it; 0: no such bit. */
uint64_t job_edit_tags(unsigned bit);
/* Returns those of the tags, with what follows them, in which the specs differ. Without
 * memory it may return more. */
uint64_t job_edit_differs(const struct job_spec *a, const struct job_spec *b,
                          uint64_t tags);

/* Returns new in *ret: the spec after the edit. Returns 0; -ENOMEM; -EINVAL: not a valid
 * spec, with *ret_field and the reason from job_spec_validate(). */
int job_spec_edit(const struct job_spec *s, const struct job_edit *e,
                  struct job_spec **ret, const char **ret_field, struct volt_error *err);
/* Packs an edit of these tags, whose new values s has. */
void job_edit_pack(const struct job_spec *s, uint64_t tags, struct pack *ret);

/* Sum of the EDITs of one job, laid over its spec once. Zero-initialised is none. */
struct job_edits {
    struct job_spec *changes; /* NULL: no EDIT */
    uint64_t tags, front;     /* as in job_edit and job_changes */
};

/* Adds the next EDIT; for each field the latest counts. Returns 0; -ENOMEM; -EBADMSG: not
 * an edit. */
int job_edits_add(struct job_edits *all, const struct job_changes *c);
/* Like job_spec_edit(). -EBADMSG: not a valid spec. */
int job_edits_lay(const struct job_edits *all, const struct job_spec *s,
                  struct job_spec **ret);
void job_edits_fini(struct job_edits *all); /* none again */

#endif
