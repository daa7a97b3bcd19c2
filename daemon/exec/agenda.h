/* The agenda: jobs that the change of another one concerns. A post changes its own job
 * alone, and links the others in here, so that one change never nests in another; the
 * dispatcher (dispatcher.h) takes them out. Lock held, all of it. */
#ifndef VOLTD_EXEC_AGENDA_H
#define VOLTD_EXEC_AGENDA_H

struct job;
struct manager;

enum due_action {
    DUE_RELEASE = 1, /* the job that it replaces has gone: it may start */
    DUE_CANCEL = 2,  /* all of it is to end: it is replaced, or voltd is told to end */
};

/* A list through job.next; no allocation. */
struct agenda {
    struct job *first, **last; /* last: valid while there is a first */
};

void agenda_add(struct manager *m, struct job *job, enum due_action action);
/* Nothing happens to a job that is not in it. */
void agenda_remove(struct manager *m, struct job *job);

#endif
