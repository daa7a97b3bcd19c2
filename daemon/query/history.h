/* Ended jobs that have left memory, from the store. */
#ifndef VOLTD_QUERY_HISTORY_H
#define VOLTD_QUERY_HISTORY_H

#include "daemon/auth/auth.h"
#include "daemon/core/jobs.h"
#include "daemon/core/tx.h"
#include "daemon/job/spec_edit.h"
#include "daemon/query/job_view.h"

/* A walk through ended jobs. The caller sets the first members; the rest is zero. */
struct history {
    struct core *core;
    struct asker asker;
    uint64_t first, last; /* ids left to walk, both included */
    bool newest_first;
    bool keys;     /* newest first: also purged jobs whose key is left */
    bool of_owner; /* only jobs of `owner` */
    uid_t owner;
    size_t max;                 /* jobs per page, at most JOBS_SLICE */
    struct quota *quota;        /* charged with each page; may be NULL */
    const struct job_filter *f; /* sets `wanted`; NULL: not set */
    /* Elements wanted of the only job, both included, at most JOBS_SLICE: those that
     * exist become the views of the page. Otherwise JOB_NO_INDEX. */
    int64_t index, index_last;

    bool at_start; /* at the start of voltd: memory is not newer, no asker */

    bool end;      /* nothing is left behind this page */
    size_t looked; /* jobs, or elements, in all pages so far */
    size_t n, at;  /* views of this page; those from `at` on belong to the walk */
    struct job_view views[JOBS_SLICE];
    bool wanted[JOBS_SLICE]; /* for each view */

    int result; /* private, with all below: the job being read */
    uint64_t id;
    struct array array; /* its counts, without elements */
    struct array_fold fold;
    struct job_edits edits;
};

/* Returns the greatest id of a job that has left memory; 0: none. */
uint64_t history_max(struct core *core);
/* Reads the next page: views[0..n). Blocks, on behalf of the poll of cx; NULL: the caller
 * is no worker. 0; -EBADMSG: the store is damaged (logged); another errno. */
int history_page(struct volt_cx *cx, struct history *h);
void history_fini(struct history *h); /* frees the views that were not taken */

/* Reads how a job ended that is not in memory, or an element of an array loaded as
 * counts, and whose it is; at the start, when nothing runs. ret_uid: NULL is allowed.
 * Returns 0; -ENOENT; errors of history_page(). */
int history_one(struct core *core, const struct job_key *key, struct job_status *ret,
                uid_t *ret_uid);

#endif
