/* Jobs that have ended and that memory has let go, from the store. */
#ifndef VOLTD_QUERY_HISTORY_H
#define VOLTD_QUERY_HISTORY_H

#include "daemon/auth/auth.h"
#include "daemon/core/jobs.h"
#include "daemon/core/tx.h"
#include "daemon/job/spec_edit.h"
#include "daemon/query/job_view.h"

/* A walk through ended jobs. The caller sets the first fields, the rest is zero. */
struct history {
    struct core *core;
    struct asker asker;
    uint64_t first, last; /* ids, both included; what is left of them */
    bool newest_first;
    bool keys;     /* newest first: also jobs of which the key alone is left */
    bool of_owner; /* only jobs of: */
    uid_t owner;
    size_t max;                 /* of a page, at most JOBS_SLICE */
    const struct job_filter *f; /* by which `wanted` is found; NULL: it is not */
    /* Elements of the one job asked for, both included, at most JOBS_SLICE: those that it
     * has become the views of the page. Else JOB_NO_INDEX. */
    int64_t index, index_last;

    bool at_start; /* nothing runs yet: nothing is newer in memory, and nobody asks */

    bool end; /* nothing is left behind this page */
    size_t looked;
    size_t n, at; /* views of this page; those from `at` on are the walk's */
    struct job_view views[JOBS_SLICE];
    bool wanted[JOBS_SLICE]; /* of each */

    int result; /* private, as all below: the job under way */
    uint64_t id;
    struct array array; /* its counts; no elements */
    struct array_fold fold;
    struct job_edits edits;
};

/* The greatest id of a job that memory has let go; 0: none. */
uint64_t history_max(struct core *core);
/* Reads the next page: views[0..n). Blocks, on behalf of the poll that cx is of; NULL:
 * the caller is no worker. 0; -EBADMSG: the store is damaged (logged); another errno. */
int history_page(struct volt_cx *cx, struct history *h);
void history_fini(struct history *h); /* the views that nobody took */

/* How an element of an array ended that was loaded as counts. At the start, when nothing
 * runs yet. 0; -ENOENT; as history_page(). */
int history_element(struct core *core, const struct job_key *key, struct job_status *ret);

#endif
