/* A spec as bytes: what the store keeps, and what a waiting job is in memory.
 *
 * Three parts. `own` belongs to the job: a list of (tag, value), each field that differs
 * from its default once, in ascending order of the tags; tag 0 ends it. `env` and, from
 * SPEC_SHARED_ARGV bytes on, `argv` are apart, because the store keeps equal ones once:
 * arrays and batches repeat them. Of a job with `input` argv is always apart, with the
 * input behind it. `env` is what came from the submitter's process: the environment, or
 * the resource limits with the environment behind them. A tag is never reused and never
 * changes its meaning; a new field gets a new tag and a new version of the schema, so
 * that an older voltd refuses the store instead of running half a spec.
 *
 * Unpacking trusts nothing: what it returns has the invariants of job_spec_validate(). */
#ifndef VOLTD_JOB_SPEC_PACK_H
#define VOLTD_JOB_SPEC_PACK_H

#include "daemon/job/pack.h"
#include "daemon/job/spec.h"

#define SPEC_SHARED_ARGV 256

struct spec_pack {
    struct pack own, env,
        argv; /* env, argv: n 0 where there is none, or argv is in own */
};

/* 0; -ENOMEM. ret is to be zero-initialised, and finished in either case. */
int job_spec_pack(const struct job_spec *s, struct spec_pack *ret);
/* The same without what belongs to this submission alone (replaces), of jobs in `after`
 * that have keys these instead of their ids, and of the environment only whether there is
 * one: equal, as are the environments (job_env_pack_compared()), for specs that are to be
 * taken for the same. */
int job_spec_pack_body(const struct job_spec *s, struct spec_pack *ret);
/* Fields of the part `own` alone that have these tags (bit n: tag n), those that differ
 * from their defaults. Nothing is written about the others. */
void job_spec_pack_some(const struct job_spec *s, uint64_t tags, struct pack *ret);
/* Fills these in, of what is as it is by default. False: these bytes have others, or are
 * none; then u has failed. */
bool job_spec_unpack_some(struct unpack *u, uint64_t tags, struct job_spec *ret);
/* Returns new in *ret, unchecked: what the one says, but of these tags what the other
 * does, which may be NULL where there are none. 0; -ENOMEM. */
int job_spec_mix(const struct job_spec *s, const struct job_spec *other, uint64_t tags,
                 struct job_spec **ret);
void spec_pack_fini(struct spec_pack *p);

/* Whether a spec with this part of its own is of kind exec; nothing else is looked at. */
bool spec_pack_is_exec(const void *own, size_t n);
/* The elements of an array with this part of its own; of another job 1. 0; -EBADMSG:
 * these bytes are no spec; -ENOMEM. */
int spec_pack_count(const void *own, size_t n, uint64_t *ret);

/* Borrowed bytes of the three parts; NULL and 0 where there is none. */
struct spec_parts {
    const void *own, *env, *argv;
    size_t own_n, env_n, argv_n;
    bool without_env; /* the environment, resource limits and input are left out; */
    bool own_only;    /* and so is all else that is in another part */
};

/* Returns new in *ret, with one reference. 0; -EBADMSG: these bytes are no spec; -ENOMEM.
 */
int job_spec_unpack(const struct spec_parts *parts, struct job_spec **ret);

#endif
