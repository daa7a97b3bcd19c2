/* The elements of one array that a filter wants, a portion at a time, from memory or from
 * the store, in order of their indexes or the other way round.
 *
 * Each element is looked at, but for those of memory to which nothing has happened: of
 * ARRAY_CHUNK of these that the filter does not want, the first one is looked at. What is
 * known of the array says before whether any of them can be wanted. */
#ifndef VOLTD_QUERY_EXPAND_H
#define VOLTD_QUERY_EXPAND_H

#include "daemon/auth/auth.h"
#include "daemon/core/jobs.h"
#include "daemon/query/job_view.h"

struct expansion {
    struct core *core; /* filled in by the caller, with those up to the blank line */
    struct asker asker;
    struct volt_cx *cx;
    bool kept;                  /* also what only the store has */
    const struct job_filter *f; /* states, results and newest_first of it */
    uint64_t id;
    struct job_spec *spec; /* of the array, borrowed; NULL: not at hand */
    bool within;           /* it goes on behind `index`, otherwise it begins; */
    int64_t index;         /* afterwards: the element that was looked at last */
    size_t looks;          /* entries that it may look at, and one of the store more */
    size_t most;           /* elements that it may find, at least 1 */
    size_t bytes;          /* of specs that it may show, and one spec more; 0: any */

    bool end; /* there are no more */
    size_t looked, kept_looked;
    size_t n;
    struct job_view views[JOBS_SLICE]; /* found, for job_view_fini() */
};

/* 0; -ENOMEM; as history_page(). */
int expand_portion(struct expansion *e);
/* Whether the filter may want elements of an array of which these are the counts. */
bool expand_may_find(const struct job_view *array, const struct job_filter *f);
/* The filter for the arrays and other jobs that may have, or be, what it wants. */
struct job_filter expand_jobs(const struct job_filter *f);

#endif
