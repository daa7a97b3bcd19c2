/* See agenda.h. */
#include "daemon/exec/agenda.h"

#include "daemon/exec/jobs.h"

void agenda_add(struct manager *m, struct job *job, enum due_action action)
{
    struct agenda *a = &m->agenda;

    if (!job->due) {
        if (!a->first)
            a->last = &a->first;
        job->next = NULL;
        *a->last = job;
        a->last = &job->next;
    }
    job->due |= (uint8_t)action;
}

void agenda_remove(struct manager *m, struct job *job)
{
    struct agenda *a = &m->agenda;
    struct job **at = &a->first;

    if (!job->due)
        return;
    while (*at != job)
        at = &(*at)->next;
    *at = job->next;
    if (a->last == &job->next)
        a->last = at;
    job->due = 0;
}
