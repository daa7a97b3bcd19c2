/* Candidates: the jobs that a filter may want, by the index, in order of their ids.
 *
 * Of the filter's name, its labels and its states the one is taken that the fewest jobs
 * have. A user's are one stream of ids; root's are those of all users, as long as these
 * are CANDIDATES_USERS at most: with more of them, and where root asks for no user,
 * state, name or label, the table itself is walked. A pattern of names, and a label
 * whatever its value is, have no index. Between two candidates the lock is not let go. */
#ifndef VOLTD_QUERY_CANDIDATES_H
#define VOLTD_QUERY_CANDIDATES_H

#include "daemon/auth/auth.h"
#include "daemon/core/index.h"
#include "daemon/query/job_view.h"

#define CANDIDATES_USERS  64
#define CANDIDATES_LABELS 4 /* of a filter that are considered */

struct candidate_stream {
    const struct idset *set; /* NULL: the ids of a tag */
    uint32_t tag;
    uint64_t next; /* 0: that was all */
};

struct candidates {
    const struct postings *keys;
    bool down;
    size_t n;
    struct candidate_stream stream[CANDIDATES_USERS * 2];
};

/* Lock held. Those above the id `after`, or below it, newest first. False: the table is
 * to be walked. */
bool candidates_begin(struct candidates *c, struct core *core, const struct asker *asker,
                      const struct job_filter *f, uint64_t after);
/* 0: that was all. */
uint64_t candidates_next(struct candidates *c);

#endif
