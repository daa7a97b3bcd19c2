/* What a question about jobs gets, and what it may ask for. Values: nothing in here is
 * guarded by a lock. */
#ifndef VOLTD_QUERY_JOB_VIEW_H
#define VOLTD_QUERY_JOB_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "base/siphash.h"
#include "daemon/job/job.h"
#include "daemon/job/key.h"
#include "daemon/job/owner.h"
#include "daemon/job/spec.h"

/* A snapshot of one job, one array (index -1, counts filled) or one element. */
struct job_view {
    struct job_key key; /* with the current attempt */
    struct job_owner owner;
    struct job_spec *spec; /* a reference of the view's own; NULL: orphan */
    struct job_status status;
    uint32_t survivors;     /* known of it, or JOB_SURVIVORS_UNKNOWN; */
    struct job_named named; /* the first of them */
    enum job_wait wait;
    uint64_t wait_usec;      /* TIME: until then, ... */
    uint64_t wait_ends_usec; /* ... which is this date; 0: not known */
    uint32_t wait_group;     /* of those with equal `wait` and `wait_lock`: those with the
                              * same wait for the same */
    uint64_t wait_position;  /* jobs in front of it in its queue */
    char wait_lock[JOB_CLAIM_BYTES + 1]; /* LOCK, RATE: its name */
    bool lends; /* its slot, while something waits inside it: core/lent.h */
    bool durable;
    bool orphan;                /* only a record is known */
    bool forgotten;             /* only how it ended is known, and perhaps: */
    struct siphash128 key_name; /* of the key that is left of it; zeroes: none is */
    bool has_counts;
    uint64_t total, queued, running, done, failed; /* arrays as a whole, with the next */
    uint64_t cancelled;       /* of done, beside those that failed */
    uint32_t name_tag;        /* of its name: core/index.h */
    uint64_t paused, resting; /* of running; of queued: until their next attempts */
    int exit_code;            /* when done; arrays: the largest */
    size_t unpacked;          /* bytes of the spec, if it was unpacked for the view */
};
void job_view_fini(struct job_view *v);

struct job_filter {
    uint32_t states;  /* bit per enum job_state; 0: all */
    uint32_t results; /* bit per enum job_result; 0: all */
    bool of_user;     /* only those of uid */
    uid_t uid;
    const char *name;      /* exact; NULL: any */
    const char *name_glob; /* fnmatch(3); NULL: any */
    const char *queue;
    const struct job_label *labels; /* all must match; a value that is NULL: any */
    size_t nlabels;
    const struct job_key *keys; /* any of these (none of none), in the order of
                                 * job_key_compare(); NULL: any */
    size_t nkeys;
    uint64_t since_usec, until_usec; /* of submission, both included; 0: any */
    bool orphans;                    /* only records without a job */
    bool elements; /* of arrays their elements instead: states and results are of these */
    bool newest_first;
};
/* Whether the filter wants this job; its keys are not looked at. */
bool job_filter_wants_view(const struct job_view *v, const struct job_filter *f);
/* The same of what is in the spec; NULL: nothing is. */
bool job_filter_wants_spec(const struct job_spec *spec, const struct job_filter *f);
/* What its pattern takes, at most, as bytes of specs that take as long. */
size_t job_filter_cost(const struct job_spec *spec, const struct job_filter *f);
/* The same of its states and results alone. */
bool job_filter_wants_status(const struct job_status *st, const struct job_filter *f);

#endif
