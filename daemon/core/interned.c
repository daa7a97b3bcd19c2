/* See interned.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/core/interned.h"

#define NAMED_BACK 64 /* copies compared, from the latest back */

void interned_init(struct interned *in)
{
    *in = (struct interned){0};
    pthread_mutex_init(&in->lock, NULL);
}

void interned_fini(struct interned *in)
{
    for (size_t i = 0; i < in->nsteps; i++)
        free(in->steps[i]);
    free(in->steps);
    for (struct named_copy *n = in->latest, *before; n; n = before) {
        before = n->before;
        free(n);
    }
    pthread_mutex_destroy(&in->lock);
}

/* Lock held. Returns the copy of a step. NULL: no memory. There are only as many steps as
 * causes, so few. */
static const char *find_step(struct interned *in, const char *step)
{
    for (size_t i = 0; i < in->nsteps; i++)
        if (strcmp(in->steps[i], step) == 0)
            return in->steps[i];

    char **grown = reallocarray(in->steps, in->nsteps + 1, sizeof(*grown));
    if (!grown)
        return NULL;
    in->steps = grown;
    char *copy = strdup(step);
    if (!copy)
        return NULL;
    return in->steps[in->nsteps++] = copy;
}

struct named_copy *interned_room(void)
{
    return malloc(sizeof(struct named_copy));
}

/* Lock held. Returns the copy of a list. Lists of different ends differ, but the events
 * of one job follow each other, so an equal list is near the latest. A copy takes 80
 * bytes until voltd ends: a hundred thousand ends with survivors take 8 MB. */
static const struct job_named *find_named(struct interned *in,
                                          const struct job_named *named,
                                          struct named_copy **room)
{
    size_t looks = NAMED_BACK;

    for (struct named_copy *n = in->latest; n && looks > 0; n = n->before, looks--)
        if (memcmp(&n->named, named, sizeof(*named)) == 0)
            return &n->named;

    struct named_copy *copy = *room;
    *room = NULL;
    *copy = (struct named_copy){.before = in->latest, .named = *named};
    in->latest = copy;
    in->nnamed++;
    return &copy->named;
}

const struct job_named *interned_named(struct interned *in, const struct job_named *named,
                                       struct named_copy **room)
{
    if (!named || !named->pid[0])
        return NULL;
    pthread_mutex_lock(&in->lock);
    const struct job_named *copy = find_named(in, named, room);
    pthread_mutex_unlock(&in->lock);
    return copy;
}

static int step_of(struct interned *in, struct job_event *ev)
{
    if (!ev->step)
        return 0;
    pthread_mutex_lock(&in->lock);
    ev->step = find_step(in, ev->step);
    pthread_mutex_unlock(&in->lock);
    return ev->step ? 0 : -ENOMEM;
}

int interned_event(struct interned *in, struct job_event *ev)
{
    struct named_copy *room = ev->named ? interned_room() : NULL;

    if (ev->named && !room)
        return -ENOMEM;
    ev->named = interned_named(in, ev->named, &room);
    free(room);
    return step_of(in, ev);
}
