/* Dependencies: jobs that wait for other jobs to start or to end (`after` in a spec), and
 * what these become. Lock held in all functions; in a replay, before there are tasks.
 *
 * Each is an edge in admission (admit/condition.h). What was known of an antecedent when
 * the job was taken is kept with its spec, and each edge that is met later is a fact, MET
 * of the job that waits: an antecedent may leave the store while others are waited for.
 * An edge that can be met no more is the end of the job: DEPENDENCY. Both facts follow
 * the antecedent's in the log. After a crash in between the antecedent is looked at
 * again, and the fact is made then; until the fact is there, Forget leaves it. Retention
 * does not ask: after a crash a job that it removed in that moment counts as LOST. */
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

/* Edges that were met before a restart, while recovery reads of them, by the ids of the
 * jobs that wait. */
struct met_edges {
    struct met_edge {
        uint64_t job, antecedent;
        enum job_after when;
    } * all;
    size_t n, at;
};

/* MET of a job, which is not behind those of later ones. 0; -ENOMEM. */
int dependencies_replay(struct core *core, const struct job *job,
                        const struct job_event *ev);
/* Recovery needs these no more. */
void dependencies_forget(struct core *core);
/* Whether that was met. Jobs are asked about in the order of their ids. */
bool dependencies_was_met(struct core *core, const struct job *job,
                          const struct job_edge *edge);

/* The antecedent is known no more: it counts as lost, with its elements. 0; -ENOMEM. */
int dependencies_lose(struct job_edge *edge);
/* Jobs of this user that are named by their keys get their ids, as far as these are
 * known; forgets: their keys are compared with nothing. */
void dependencies_find_keys(struct core *core, uid_t uid, struct job_spec *spec,
                            bool forgets);
/* -ENOENT, with the reason: nothing is known of the antecedent. */
int dependencies_unknown(const struct job_edge *edge, struct volt_error *ret);
/* What memory knows of the antecedent, into *edge. False: it does not, or it is not this
 * user's. */
bool dependencies_look(struct core *core, uid_t uid, struct job_edge *edge);
/* The job gets its edges, but for those that are met; a recovered one also those, unless
 * its spec or a fact says so: they are due at once. Not those that have an item: others
 * of the same submission (submit/bind.c). 0; -ENOMEM; -EAGAIN: of an antecedent neither
 * memory nor the spec says anything. */
int dependencies_begin(struct core *core, struct job *job, struct job_spec *spec);
/* The same for one edge, whatever its item. */
int dependencies_begin_one(struct core *core, struct job *job, struct job_edge *edge);
/* The first edge of a spec that can be met no more by what it says of the antecedent, but
 * for those from element to element; NULL: there is none. */
const struct job_edge *dependencies_vain(const struct job_spec *spec);
/* The job gets this edge, and what it says of the antecedent counts, which may be entered
 * later. 0; -ENOMEM. */
int dependencies_add(struct core *core, struct job *job, const struct job_edge *edge);
/* A job waits for this one, or is still to end because of what this one did. */
bool dependencies_is_awaited(const struct core *core, uint64_t antecedent);
/* The job, whose event was applied, has started or ended: what waits for it is due. */
void dependencies_follow(struct core *core, const struct job *job);

#endif
