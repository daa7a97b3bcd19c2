/* Dependencies: jobs that wait for other jobs to start or to end (`after` in a spec).
 * Lock held in all functions, or during replay, before there are tasks.
 *
 * Each is an edge in admission (admit/condition.h). The spec stores what was known of an
 * antecedent at submission. Each edge that is met later is a fact, MET of the waiting
 * job, because the antecedent may leave the store while other edges are unmet. An edge
 * that can no longer be met ends the job: DEPENDENCY. Both facts follow the antecedent's
 * fact in the log. After a crash in between, the antecedent is looked at again and the
 * fact is made then; until that fact exists, Forget refuses the antecedent. Retention
 * does not check: an antecedent that it removed before the crash counts as LOST. */
#ifndef VOLTD_CORE_DEPENDENCIES_H
#define VOLTD_CORE_DEPENDENCIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <volt/error.h>
#include "daemon/job/job.h"

struct core;
struct job;
struct job_edge;
struct job_spec;

/* Edges met before a restart, in the order of the waiting jobs' ids; used during
 * recovery. */
struct met_edges {
    struct met_edge {
        uint64_t job, antecedent;
        enum job_after when;
    } * all;
    size_t n, at;
};

/* Notes MET of a job. Jobs come in the order of their ids. Returns 0 or -ENOMEM. */
int dependencies_replay(struct core *core, const struct job *job,
                        const struct job_event *ev);
/* Frees the met edges when recovery is done. */
void dependencies_forget(struct core *core);
/* Returns whether the edge was met. Jobs must be asked about in the order of their
 * ids. */
bool dependencies_was_met(struct core *core, const struct job *job,
                          const struct job_edge *edge);

/* Marks the antecedent and its elements as LOST: nothing is known of them any more.
 * Returns 0 or -ENOMEM. */
int dependencies_lose(struct job_edge *edge);
/* Fills in the ids of this user's jobs that the spec names by key, where known. forgets:
 * drops those keys, as no later submission is compared with them. */
void dependencies_find_keys(struct core *core, uid_t uid, struct job_spec *spec,
                            bool forgets);
/* Returns -ENOENT with the reason: the antecedent is unknown. */
int dependencies_unknown(const struct job_edge *edge, struct volt_error *ret);
/* Copies what memory knows of the antecedent to *edge. Returns false if memory does not
 * know it, or if it belongs to another user. */
bool dependencies_look(struct core *core, uid_t uid, struct job_edge *edge);
/* Adds the job's edges that are not met. A recovered job also gets met edges that neither
 * its spec nor a fact knows as met; they are due at once. Skips edges with an item: their
 * antecedents come in the same submission (submit/bind.c). Returns 0, -ENOMEM, or
 * -EAGAIN: neither memory nor the spec knows an antecedent. */
int dependencies_begin(struct core *core, struct job *job, struct job_spec *spec);
/* Does the same for one edge, with or without an item. */
int dependencies_begin_one(struct core *core, struct job *job, struct job_edge *edge);
/* Returns the first edge that can no longer be met, by what the spec says of its
 * antecedent; skips edges from element to element. NULL: none. */
const struct job_edge *dependencies_vain(const struct job_spec *spec);
/* Adds this edge and applies what it says of the antecedent, which may enter the table
 * later. Returns 0 or -ENOMEM. */
int dependencies_add(struct core *core, struct job *job, const struct job_edge *edge);
/* Returns whether a job waits for this one, or must still end because of it. */
bool dependencies_is_awaited(const struct core *core, uint64_t antecedent);
/* Makes edges due after an event was applied to the job: it may have started or ended. */
void dependencies_follow(struct core *core, const struct job *job);

#endif
