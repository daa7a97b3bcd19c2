/* The index of the table: which jobs a question about many of them may mean.
 *
 * For each user three sets of ids (users.h), of the jobs that wait, that are busy, and
 * that have ended; and the ids by name and by label (postings.h), under hashes of the
 * user, the kind of the key and its bytes: a user's question does not look at the jobs of
 * others, not even at those of the same name. Arrays are in here as a whole, in the state
 * that follows from their counts.
 *
 * It says where to look, and no more: a candidate may have another name of the same tag,
 * and is asked itself (jobs_view_wanted()). Other filters (queue, result, time) have no
 * index: candidates or the whole table are looked at, in portions.
 *
 * A job is in here from index_enter() to index_leave(), with all that it has or not at
 * all. Where there is no memory for it, it is `missing`, and while any is missing
 * questions go through the table as if there were no index: no job is refused for it, and
 * no answer is wrong. It ends when those that are missing have left the table.
 *
 * Cost: for its name and for each label 9 bytes, or a bit where many jobs in a row have
 * it; a bit in its user's set, or 9 bytes where those in it are far apart. Lock held in
 * all functions; before there are tasks, without it. */
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

/* `indexed` of a job: one of these, or INDEX_IN and its class. */
enum index_place {
    INDEX_OUT = 0, /* not in the table */
    INDEX_MISSING,
    INDEX_IN,
};

/* The tags of a user's keys. Any thread, without the lock. */
uint32_t index_tag_of_name(const struct core *core, uid_t uid, const char *name);
uint32_t index_tag_of_label(const struct core *core, uid_t uid,
                            const struct job_label *label);

/* The job is about to enter: what that looks at is fetched meanwhile. */
void index_prepare(const struct core *core, const struct job *job);
/* The job has entered the table, with its state. */
void index_enter(struct core *core, struct job *job);
/* It has another state or other counts. Nothing happens to one that is not in the
 * table. */
void index_follow(struct core *core, struct job *job);
/* It leaves the table. */
void index_leave(struct core *core, struct job *job);

#endif
