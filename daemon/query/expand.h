/* Elements of one array that a filter wants, a portion at a time, from memory or from the
 * store, in order of their indexes or in reverse.
 *
 * Each element is looked at. An exception are untouched elements in memory: if the first
 * of a chunk (ARRAY_CHUNK) is not wanted, the rest of the chunk is skipped. The array's
 * counts tell beforehand whether any element can be wanted. */
#ifndef VOLTD_QUERY_EXPAND_H
#define VOLTD_QUERY_EXPAND_H

#include "daemon/auth/auth.h"
#include "daemon/core/jobs.h"
#include "daemon/query/job_view.h"

struct expansion {
    struct core *core; /* set by the caller, with the members up to the blank line */
    struct asker asker;
    struct volt_cx *cx;
    bool kept;                  /* also read the store */
    const struct job_filter *f; /* uses states, results and newest_first */
    uint64_t id;
    struct job_spec *spec; /* of the array, borrowed; NULL: not at hand */
    bool within;           /* goes on behind `index`; false: begins */
    int64_t index;         /* afterwards: the element looked at last */
    struct quota *quota;   /* bounds and is charged with what it looks at; may be NULL */
    size_t most;           /* elements that it may find, at least 1 */
    size_t bytes;          /* of specs that it may show, plus one spec; 0: any */

    bool end;           /* no more elements */
    size_t kept_looked; /* elements read from the store */
    size_t n;
    struct job_view views[JOBS_SLICE]; /* found; the caller calls job_view_fini() */
};

/* Finds the next portion. 0; -ENOMEM; errors of history_page(). */
int expand_portion(struct expansion *e);
/* Returns whether the filter may want elements of an array with these counts. */
bool expand_may_find(const struct job_view *array, const struct job_filter *f);
/* Returns the filter for jobs and arrays that are wanted or may have wanted elements. */
struct job_filter expand_jobs(const struct job_filter *f);

#endif
