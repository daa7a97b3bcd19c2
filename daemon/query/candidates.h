/* Candidates: the jobs that a filter may want, from the index, in order of their ids.
 *
 * Of the filter's name, labels and states, the index of the one with the fewest jobs is
 * used. A user's candidates are one stream of ids. Root's are merged from the streams of
 * all users, up to CANDIDATES_USERS; with more users, and where root filters by no user,
 * state, name or label, the table itself is walked. Name patterns, and labels with any
 * value, have no index. The lock is held from the first candidate to the last. */
#ifndef VOLTD_QUERY_CANDIDATES_H
#define VOLTD_QUERY_CANDIDATES_H

#include "daemon/auth/auth.h"
#include "daemon/core/index.h"
#include "daemon/query/job_view.h"

#define CANDIDATES_USERS  64
#define CANDIDATES_LABELS 4 /* of a filter: further labels are not considered */

struct candidate_stream {
    const struct idset *set; /* NULL: the ids of `tag` */
    uint32_t tag;
    uint64_t next; /* 0: no more */
};

struct candidates {
    const struct postings *keys;
    bool down;
    size_t n;
    struct candidate_stream stream[CANDIDATES_USERS * 2];
};

/* Lock held. Begins at the first id above `after`, or with newest first below it. False:
 * walk the table instead. */
bool candidates_begin(struct candidates *c, struct core *core, const struct asker *asker,
                      const struct job_filter *f, uint64_t after);
/* Returns the next id; 0: no more. */
uint64_t candidates_next(struct candidates *c);

#endif
