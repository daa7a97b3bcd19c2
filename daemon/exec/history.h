/* Jobs that have ended and that memory has let go, from the store. */
#ifndef VOLTD_EXEC_HISTORY_H
#define VOLTD_EXEC_HISTORY_H

#include "daemon/exec/jobs.h"

/* A walk through ended jobs. The caller sets the first fields, the rest is zero. */
struct history {
    struct manager *m;
    uid_t uid;            /* of the asker */
    uint64_t first, last; /* ids, both included; what is left of them */
    bool newest_first;
    size_t max;    /* of a page, at most JOBS_SLICE */
    int64_t index; /* an element of the one job asked for; else JOB_NO_INDEX */

    bool end; /* nothing is left behind this page */
    size_t looked;
    size_t n, at; /* views of this page; those from `at` on are the walk's */
    struct job_view views[JOBS_SLICE];

    int result;         /* private, as all below: the view under way */
    struct array array; /* its counts; no elements */
    bool in_element;    /* events of an element are passing by */
    int64_t element_index;
    struct job_status element;
};

/* The greatest id of a job that memory has let go; 0: none. */
uint64_t history_max(struct manager *m);
/* Reads the next page: views[0..n). Blocks, on behalf of the poll that cx is of; NULL:
 * the caller is no worker. 0; -EBADMSG: the store is damaged (logged); another errno. */
int history_page(struct volt_cx *cx, struct history *h);
void history_fini(struct history *h); /* the views that nobody took */

/* The same of one job or element: -ENOENT when the store does not have it. */
int history_get(struct volt_cx *cx, struct manager *m, uid_t uid, uint64_t id,
                int64_t index, struct job_view *ret);

#endif
