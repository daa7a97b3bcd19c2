/* What of a spec may be changed while its job waits, and how that is said: an overlay.
 *
 * An edit names fields by their tags (spec_fields.def), and has a spec that says what
 * they are from then on, defaults included. The spec that was submitted stays what the
 * store has with SUBMIT, and what the key of the job stands for; what its EDITs come to
 * is laid over it when the job is loaded or told.
 *
 * As bytes: the tags, a bit each, then those of the fields that differ from their
 * defaults, as in spec_pack.h. A new field is a row of spec_edit.c; its tag is one whose
 * value is in the part `own`. Pure. */
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
#define TAG_EACH       53 /* ... which are waited for element to element, ... */
#define TAG_KEYS       54 /* ... and by which keys: follow after */
#define TAG_CLAIMS     40
#define TAG_HAD        41 /* what claims had: follows these */
#define TAG_QUEUE_TIME 52 /* queue_timeout_usec: follows the queue and the time limit */
#define TAGS_BESIDE                                                                      \
    (SPEC_TAG(TAG_WAS) | SPEC_TAG(TAG_KEYS) | SPEC_TAG(TAG_HAD) |                        \
     SPEC_TAG(TAG_QUEUE_TIME))
#define TAGS_OF_TIME   (SPEC_TAG(TAG_DELAY) | SPEC_TAG(TAG_AT) | SPEC_TAG(TAG_START_BY))

#define TAGS_OF_AFTER                                                                    \
    (SPEC_TAG(TAG_AFTER) | SPEC_TAG(TAG_WAS) | SPEC_TAG(TAG_EACH) | SPEC_TAG(TAG_KEYS))

#define JOB_EDIT_ROOM 256 /* bytes: most edits are shorter, and need no heap */

struct job_edit {
    const struct job_spec *changes; /* NULL: no tags */
    uint64_t tags; /* of these fields of it, with those that follow them; */
    bool first;    /* and the job goes in front of all others of its user */
    uid_t uid;     /* of TAG_AFTER: whose jobs it is to wait for */
};

/* What an edit may change: the bits of `edited` in a status, by their names. Bit 0 is
 * "first": the rank. Then NULL. */
extern const char *const job_edit_names[];
/* The bits of an EDIT. */
uint32_t job_edit_fields(const struct job_changes *c);
/* The tag of that bit, with those that follow it; 0: there is no such bit. */
uint64_t job_edit_tags(unsigned bit);
/* Those of the tags, with what follows them, of which two specs ask for something else.
 * Without memory for it more may be among them. */
uint64_t job_edit_differs(const struct job_spec *a, const struct job_spec *b,
                          uint64_t tags);

/* Returns new in *ret: the spec as it is after the edit. 0; -ENOMEM; -EINVAL: that is no
 * spec, with *ret_field and the reason as job_spec_validate() says them. */
int job_spec_edit(const struct job_spec *s, const struct job_edit *e,
                  struct job_spec **ret, const char **ret_field, struct volt_error *err);
/* The bytes of an edit of these tags, which have become what the spec says. */
void job_edit_pack(const struct job_spec *s, uint64_t tags, struct pack *ret);

/* What the EDITs of one job come to, so that they are laid over its spec once, however
 * many there are. Zero-initialised is none. */
struct job_edits {
    struct job_spec *changes; /* NULL: there is no EDIT */
    uint64_t tags, front;     /* as in a job_edit, and in job_changes */
};

/* The next EDIT: of what several change, the latest counts. 0; -ENOMEM; -EBADMSG: these
 * bytes are no edit. */
int job_edits_add(struct job_edits *all, const struct job_changes *c);
/* As job_spec_edit(). -EBADMSG: that is no spec. */
int job_edits_lay(const struct job_edits *all, const struct job_spec *s,
                  struct job_spec **ret);
void job_edits_fini(struct job_edits *all); /* none again */

#endif
