/* Answers to questions about jobs, and filters. Plain values: no lock guards them. */
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

/* A snapshot of one job, one array (index -1, with counts) or one element. */
struct job_view {
    struct job_key key; /* with the current attempt */
    struct job_owner owner;
    struct job_spec *spec; /* a reference of its own; NULL: orphan */
    struct job_status status;
    uint32_t survivors;     /* processes left; JOB_SURVIVORS_UNKNOWN: not known */
    struct job_named named; /* the first survivor */
    enum job_wait wait;
    uint64_t wait_usec;      /* TIME: time left ... */
    uint64_t wait_ends_usec; /* ... until this date; 0: not known */
    uint32_t wait_group;     /* jobs with the same wait for the same thing have the same
                              * group, among equal `wait` and `wait_lock` */
    uint64_t wait_after;     /* DEPENDENCY: the same for jobs that wait for the same one
                              * job in the same way; 0: for several, or elements */
    uint64_t wait_position;  /* jobs in front of it in its queue */
    char wait_lock[JOB_CLAIM_BYTES + 1]; /* LOCK, RATE: its name */
    bool held_by_admin;                  /* HOLD: only admins release it */
    bool lends; /* its slot, while something inside it waits: core/lent.h */
    bool durable;
    bool orphan;                /* only a record is known */
    bool forgotten;             /* purged: only its end is known, and perhaps key_name */
    struct siphash128 key_name; /* of the key that is left; zeroes: none */
    bool has_counts;
    /* Of a whole array, with the next six. */
    uint64_t total, queued, running, done, failed;
    uint64_t cancelled;       /* part of done, not of failed */
    uint32_t name_tag;        /* of its name: core/index.h */
    uint64_t paused, resting; /* part of running: paused; part of queued: backing off */
    int exit_code;            /* when done; arrays: the largest */
    size_t unpacked;          /* bytes of the spec if it was unpacked for the view */
};
void job_view_fini(struct job_view *v);

struct job_filter {
    uint32_t states;  /* bit per enum job_state; 0: all */
    uint32_t results; /* bit per enum job_result; 0: all */
    bool of_user;     /* only jobs of uid */
    uid_t uid;
    const char *name;      /* exact; NULL: any */
    const char *name_glob; /* fnmatch(3); NULL: any */
    const char *queue;
    const struct job_label *labels; /* all must match; value NULL: any */
    size_t nlabels;
    const struct job_key *keys; /* any of these (0 keys: no job), in the order of
                                 * job_key_compare(); NULL: any */
    size_t nkeys;
    uint64_t since_usec, until_usec; /* of submission, both included; 0: any */
    bool orphans;                    /* only records without a job */
    bool elements; /* elements instead of their arrays: states and results mean
                    * elements */
    bool newest_first;
};
/* Returns whether the filter, without its keys, wants the job. */
bool job_filter_wants_view(const struct job_view *v, const struct job_filter *f);
/* Likewise for the conditions on the spec; NULL: the job has none. */
bool job_filter_wants_spec(const struct job_spec *spec, const struct job_filter *f);
/* Returns the cost of matching the name pattern, in bytes of unpacked spec that take as
 * long. */
size_t job_filter_cost(const struct job_spec *spec, const struct job_filter *f);
/* Returns whether states and results of the filter match. */
bool job_filter_wants_status(const struct job_status *st, const struct job_filter *f);

#endif
