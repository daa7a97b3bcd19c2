/* A spec as bytes: in the store, and in memory for a waiting job.
 *
 * There are three parts. `own` belongs to the job: a list of (tag, value). Each field
 * that differs from its default comes once, in ascending order of tags; tag 0 ends the
 * list. `env`, and `argv` from SPEC_SHARED_ARGV bytes on, are apart. Arrays and batches
 * repeat these, and the store has equal ones once. With `input` or `script` argv is
 * always apart, followed by the input, then the script. `env` is what came from the
 * submitter's process: the environment, or the resource limits followed by the
 * environment.
 *
 * A tag is never reused and never changes its meaning. A new field gets a new tag and a
 * new version of the schema. So an older voltd refuses the store instead of running half
 * a spec.
 *
 * Unpacking trusts nothing: its result has the invariants of job_spec_validate(). */
#ifndef VOLTD_JOB_SPEC_PACK_H
#define VOLTD_JOB_SPEC_PACK_H

#include "daemon/job/pack.h"
#include "daemon/job/spec.h"

#define SPEC_SHARED_ARGV 256

struct spec_pack {
    struct pack own, env, argv; /* n 0: no env; argv is in own */
};

/* Packs all. ret is zero-initialised, and to be finished in any case. Returns 0 or
 * -ENOMEM. */
int job_spec_pack(const struct job_spec *s, struct spec_pack *ret);
/* Packs what is compared between submissions. Leaves out what belongs to one submission
 * (replaces); has keys in place of the ids in `after`, and only whether there is an
 * environment. Specs are the same if these bytes and job_env_pack_compared() are
 * equal. */
int job_spec_pack_body(const struct job_spec *s, struct spec_pack *ret);
/* Packs those fields of `own` with these tags (bit n: tag n) that differ from their
 * defaults. */
void job_spec_pack_some(const struct job_spec *s, uint64_t tags, struct pack *ret);
/* Reads such fields into a spec of defaults. False: other tags, or damaged bytes; then
 * u->failed. */
bool job_spec_unpack_some(struct unpack *u, uint64_t tags, struct job_spec *ret);
/* Returns new in *ret, unchecked: s with the fields of these tags from `other`, which may
 * be NULL if there are none. Returns 0 or -ENOMEM. */
int job_spec_mix(const struct job_spec *s, const struct job_spec *other, uint64_t tags,
                 struct job_spec **ret);
void spec_pack_fini(struct spec_pack *p);

/* Returns whether a spec with this own part is of kind exec; reads nothing else. */
bool spec_pack_is_exec(const void *own, size_t n);
/* Sets the number of elements of a spec with this own part; 1 if no array. Returns 0;
 * -EBADMSG: not a spec; -ENOMEM. */
int spec_pack_count(const void *own, size_t n, uint64_t *ret);

/* Borrowed bytes of the three parts; NULL and 0: no such part. */
struct spec_parts {
    const void *own, *env, *argv;
    size_t own_n, env_n, argv_n;
    bool without_env; /* skip environment, limits, input and script */
    bool own_only;    /* skip all that is in the other parts */
};

/* Returns new in *ret, with one reference. Returns 0; -EBADMSG: not a spec; -ENOMEM. */
int job_spec_unpack(const struct spec_parts *parts, struct job_spec **ret);

#endif
