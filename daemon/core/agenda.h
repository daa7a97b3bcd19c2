/* The agenda: jobs that must be cancelled as a whole. Either another job replaces them
 * and could not cancel them itself (they were submitted to an earlier voltd, or memory
 * was short), or they are arrays whose cancel has not reached every element, for the same
 * reasons. A post changes only its own job and links other jobs in here, so that changes
 * never nest. The dispatcher (dispatcher.h) takes jobs out. Lock held in all
 * functions. */
#ifndef VOLTD_CORE_AGENDA_H
#define VOLTD_CORE_AGENDA_H

struct job;
struct core;

/* A list through job.next; needs no allocation. */
struct agenda {
    struct job *first, **last; /* last: valid only if first is set */
};

/* Adds the job at the end; does nothing if the job is already in the agenda. */
void agenda_add(struct core *core, struct job *job);
/* Removes the job; does nothing if the job is not in the agenda. */
void agenda_remove(struct core *core, struct job *job);

#endif
