/* See agenda.h. */
#include "daemon/core/agenda.h"

#include "daemon/core/state.h"

void agenda_add(struct core *core, struct job *job)
{
    struct agenda *a = &core->agenda;

    if (job->due)
        return;
    if (!a->first)
        a->last = &a->first;
    job->next = NULL;
    *a->last = job;
    a->last = &job->next;
    job->due = true;
}

void agenda_remove(struct core *core, struct job *job)
{
    struct agenda *a = &core->agenda;
    struct job **at = &a->first;

    if (!job->due)
        return;
    while (*at != job)
        at = &(*at)->next;
    *at = job->next;
    if (a->last == &job->next)
        a->last = at;
    job->due = false;
}
