/* Element to element: element i of an array waits for element i of another. Lock held in
 * all functions.
 *
 * The array as a whole waits for no antecedent: it is in the line while elements of its
 * rest are ready. Each edge has one bit for each element that must be looked at: all of
 * them when the array enters the table, later those whose antecedent changed. The
 * dispatcher looks at them in portions (dispatch/each_run.h). No fact says that an
 * element is ready. A restart looks at all of them again, so the antecedents stay in the
 * store while an element waits (dependencies_is_awaited()). */
#ifndef VOLTD_CORE_EACH_H
#define VOLTD_CORE_EACH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <volt/error.h>
#include "daemon/core/element_edges.h"

#define EACH_FOLLOWERS 16 /* followers of one array, at most */

struct core;
struct job;
struct job_edge;
struct job_spec;

/* Checks that the array may wait for its antecedents: those that are known have as many
 * elements, and fewer than EACH_FOLLOWERS followers. Returns 0, or -EINVAL with the
 * reason. */
int each_check(struct core *core, const struct job *job, const struct job_spec *spec,
               struct volt_error *err);
/* Returns whether memory has the elements of this antecedent of the user. */
bool each_is_live(struct core *core, uid_t uid, uint64_t antecedent);
/* Returns whether elements of an array still wait for those of this antecedent, which may
 * be in the store alone. */
bool each_is_followed(const struct core *core, uint64_t antecedent);
/* Gives the array its edges from element to element. Edges with an item, whose
 * antecedents come in the same submission, get their antecedent from each_bind(). Return
 * 0, -ENOMEM, or -EAGAIN: call past_edges_look() first. */
int each_begin(struct core *core, struct job *job, struct job_spec *spec);
int each_bind(struct core *core, struct job *job, struct job_spec *spec, size_t at,
              bool is_new);
/* Marks all elements as to be looked at, now that the array is in the table. */
void each_enter(struct core *core, struct job *job);
/* Exchanges the edges of an array that has not begun with those of `next`, which stands
 * for it in an edit. */
void each_take(struct core *core, struct job *job, struct job *next, uint64_t now);
/* Removes the edges. */
void each_forget(struct core *core, struct job *job);

/* Return the number of elements of the rest that may start, and the first of them. */
uint64_t each_rest(const struct job *job);
int64_t each_next(struct job *job);
/* Adds or removes the condition of an array that has no element to start. */
void each_settle(struct core *core, struct job *job, uint64_t now);
/* Marks what an applied event may decide: edges of the array's followers, and the array's
 * own element. */
void each_follow(struct core *core, struct job *job, int64_t item);
/* Returns the next edge to look at, and the offset of an element of its array. Takes each
 * look off the budget. NULL: none is due, or the budget is 0. */
struct each_edge *each_next_due(struct core *core, unsigned *budget,
                                uint64_t *ret_offset);
/* Returns what the antecedent's element at this offset has done. */
void each_status(struct core *core, const struct each_edge *edge, uint64_t offset,
                 bool *ret_started, enum job_result *ret_result);
/* Records the verdict on an edge for one element. Returns true if the element is ready
 * now (only if met). */
bool each_decide(struct each_edge *edge, uint64_t offset, bool met);
/* Makes the look due again: its verdict could not be recorded. */
void each_put_back(struct core *core, struct each_edge *edge, uint64_t offset);
bool each_is_due(const struct core *core);
/* Returns the offset of the first element of the rest in [from, end) that still waits for
 * the edge. Before the array has entered the table, every element waits. Takes one off
 * *looks for each element and each skipped word. ARRAY_WHOLE: none, or no looks are
 * left. */
int64_t each_waiting(const struct each_edge *edge, int64_t from, int64_t end,
                     unsigned *looks);
/* Returns an edge that an element of the rest still waits for. NULL: none. */
const struct each_edge *each_unmet(const struct job *job, uint64_t offset);

#endif
