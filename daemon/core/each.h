/* Element to element: element i of an array waits for element i of others. Lock held in
 * all functions.
 *
 * The array as a whole waits for none of them: it is in the line while elements of its
 * rest are ready. Each edge has a bit for each element that is to be looked at: all of
 * them when the array has been entered, then those of which the antecedent has changed.
 * Looking is the dispatcher's, in portions (dispatch/each_run.h). No fact tells that an
 * element is ready: after a restart all are looked at again, and until no element waits
 * any more the antecedents stay in the store (dependencies_is_awaited()). */
#ifndef VOLTD_CORE_EACH_H
#define VOLTD_CORE_EACH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <volt/error.h>
#include "daemon/core/element_edges.h"

#define EACH_FOLLOWERS 16 /* arrays that may wait for one element to element */

struct core;
struct job;
struct job_edge;
struct job_spec;

/* Whether the antecedents are arrays of this one's size, as far as they are known, for
 * which it may wait. 0; -EINVAL, with the reason. */
int each_check(struct core *core, const struct job *job, const struct job_spec *spec,
               struct volt_error *err);
/* Memory knows the elements of the antecedent, which is of that user. */
bool each_is_live(struct core *core, uid_t uid, uint64_t antecedent);
/* The array gets its edges of that kind, also those of which the antecedent comes with it
 * (item of the edge): each_bind() says of these which it is. 0; -ENOMEM; -EAGAIN:
 * past_edges_look() first. */
int each_begin(struct core *core, struct job *job, struct job_spec *spec);
int each_bind(struct core *core, struct job *job, struct job_spec *spec, size_t at,
              bool is_new);
/* It is in the table: all are to be looked at. */
void each_enter(struct core *core, struct job *job);
/* The array, of which nothing has begun, waits by those of another one that stands for it
 * instead of its own, which that one has then. */
void each_take(struct core *core, struct job *job, struct job *next, uint64_t now);
/* It waits for nothing of that kind any more. */
void each_forget(struct core *core, struct job *job);

/* Elements of the array's rest that may start, and the first of these. */
uint64_t each_rest(const struct job *job);
int64_t each_next(struct job *job);
/* Whether it has one that may start, or had, decides whether it waits for one. */
void each_settle(struct core *core, struct job *job, uint64_t now);
/* An event has been applied to the array, or to an element: to what waits for it, and to
 * what it waits for itself. */
void each_follow(struct core *core, struct job *job, int64_t item);
/* What the next look is about: an edge, and the offset of an element of its array. Takes
 * what it looks at off the budget. NULL: there is none, or the budget is 0. */
struct each_edge *each_next_due(struct core *core, unsigned *budget,
                                uint64_t *ret_offset);
/* Of that element of its antecedent. */
void each_status(struct core *core, const struct each_edge *edge, uint64_t offset,
                 bool *ret_started, enum job_result *ret_result);
/* The edge is decided for that element. met: true: the element may be ready now. */
bool each_decide(struct each_edge *edge, uint64_t offset, bool met);
/* It is not: it is looked at again. */
void each_put_back(struct core *core, struct each_edge *edge, uint64_t offset);
bool each_is_due(const struct core *core);
/* The first element of the rest from this offset on, and before that one, that waits for
 * the edge still; of one that is to be an array's, and is not yet, any. Takes one off
 * *looks for each element that it looks at, and for each word of them that it passes
 * over. ARRAY_WHOLE: there is none, or no look is left before that. */
int64_t each_waiting(const struct each_edge *edge, int64_t from, int64_t end,
                     unsigned *looks);
/* An element of the rest waits for this edge still; NULL: for none. */
const struct each_edge *each_unmet(const struct job *job, uint64_t offset);

#endif
