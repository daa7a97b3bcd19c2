/* See interned.h. */
#include <stdlib.h>
#include <string.h>

#include "daemon/exec/interned.h"

#define NAMED_BACK 64 /* how far back an equal one is looked for */

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
    for (size_t i = 0; i < in->nnamed; i++)
        free(in->named[i]);
    free(in->named);
    pthread_mutex_destroy(&in->lock);
}

/* Lock held. There are as many steps as there are causes, so few. */
static const char *find_step(struct interned *in, const char *step)
{
    for (size_t i = 0; i < in->nsteps; i++)
        if (strcmp(in->steps[i], step) == 0)
            return in->steps[i];

    char **grown = reallocarray(in->steps, in->nsteps + 1, sizeof(*grown));
    if (!grown)
        return "";
    in->steps = grown;
    char *copy = strdup(step);
    if (!copy)
        return "";
    return in->steps[in->nsteps++] = copy;
}

const char *interned_step(struct interned *in, const char *step)
{
    if (!step)
        return NULL;
    pthread_mutex_lock(&in->lock);
    const char *copy = find_step(in, step);
    pthread_mutex_unlock(&in->lock);
    return copy;
}

/* Lock held. Each end with survivors has some, which differ from those of others; the
 * events of one job follow each other, so equal ones stand close together. 32 bytes each,
 * 56 with the allocation and the pointer, until voltd ends: a hundred thousand ends with
 * processes that SIGKILL did not end are 5.6 MB. */
static const struct job_named *find_named(struct interned *in,
                                          const struct job_named *named)
{
    size_t first = in->nnamed > NAMED_BACK ? in->nnamed - NAMED_BACK : 0;

    for (size_t i = first; i < in->nnamed; i++)
        if (memcmp(in->named[i], named, sizeof(*named)) == 0)
            return in->named[i];

    struct job_named **grown = reallocarray(in->named, in->nnamed + 1, sizeof(*grown));
    if (!grown)
        return NULL;
    in->named = grown;
    struct job_named *copy = malloc(sizeof(*copy));
    if (!copy)
        return NULL;
    *copy = *named;
    return in->named[in->nnamed++] = copy;
}

const struct job_named *interned_named(struct interned *in, const struct job_named *named)
{
    if (!named || !named->pid[0])
        return NULL;
    pthread_mutex_lock(&in->lock);
    const struct job_named *copy = find_named(in, named);
    pthread_mutex_unlock(&in->lock);
    return copy;
}
