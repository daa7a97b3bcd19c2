/* The agenda: jobs that are to end, all of them. Another one replaces them, and could not
 * end them itself: it was submitted to an earlier voltd, or there was no memory. Or they
 * are arrays of which a cancel has not come to all elements, for the same reasons. A post
 * changes its own job alone, and links the others in here, so that one change never nests
 * in another; the dispatcher (dispatcher.h) takes them out. Lock held, all of it. */
#ifndef VOLTD_CORE_AGENDA_H
#define VOLTD_CORE_AGENDA_H

struct job;
struct core;

/* A list through job.next; no allocation. */
struct agenda {
    struct job *first, **last; /* last: valid while there is a first */
};

/* Nothing happens to a job that is in it. */
void agenda_add(struct core *core, struct job *job);
/* Nothing happens to a job that is not in it. */
void agenda_remove(struct core *core, struct job *job);

#endif
