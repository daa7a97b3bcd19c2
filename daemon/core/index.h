/* The index of the table: candidates for questions about many jobs.
 *
 * Each user has three sets of ids (users.h): jobs that wait, are busy, have ended. Ids by
 * name and by label are in postings (postings.h), under a hash of the user, the kind of
 * key and its bytes, so a user's question never looks at jobs of others, even of the same
 * name. An array is one entry, in the state that follows from its counts.
 *
 * The index only says where to look. A candidate may have another name with the same tag
 * and is checked itself (jobs_view_wanted()). Other filters (queue, result, time) have no
 * index: they scan candidates or the whole table, in portions.
 *
 * A job is in the index from index_enter() to index_leave(), with all its keys or with
 * none. Without memory for its keys a job is `missing`. While any job is missing,
 * questions scan the table, so that no job is refused and no answer is wrong. Scans end
 * when the missing jobs have left the table.
 *
 * Cost: 9 bytes for the name and for each label, or a bit where many consecutive jobs
 * share it; in the user's set a bit, or 9 bytes where ids are far apart. Lock held in all
 * functions, or before there are tasks. */
#ifndef VOLTD_CORE_INDEX_H
#define VOLTD_CORE_INDEX_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "daemon/core/postings.h"

struct job;
struct job_label;
struct core;

/* Zero-initialised is empty. */
struct index {
    struct postings keys;
    uint64_t missing; /* jobs */
};

/* Values of job.indexed: one of these, or INDEX_IN plus the class. */
enum index_place {
    INDEX_OUT = 0, /* not in the table */
    INDEX_MISSING,
    INDEX_IN,
};

/* Return the tags of a user's keys. Any thread, without the lock. */
uint32_t index_tag_of_name(const struct core *core, uid_t uid, const char *name);
uint32_t index_tag_of_label(const struct core *core, uid_t uid,
                            const struct job_label *label);

/* Prefetches what index_enter() of this job will read. */
void index_prepare(const struct core *core, const struct job *job);
/* Adds a job that has entered the table, in its state. */
void index_enter(struct core *core, struct job *job);
/* Follows a change of state or counts; does nothing if the job is not in the table. */
void index_follow(struct core *core, struct job *job);
/* Removes a job that leaves the table. */
void index_leave(struct core *core, struct job *job);

#endif
