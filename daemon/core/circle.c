/* See circle.h. */
#include "daemon/core/circle.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "daemon/core/idset.h"
#include "daemon/core/state.h"
#include "daemon/core/unmet.h"

#define TOLD 8 /* jobs of a circle that the error names */
#define ROOT UINT32_MAX

/* A job that the search has reached, in order of discovery. */
struct place {
    uint64_t id;
    uint32_t from; /* place of a job that waits for this one; ROOT: the edited job */
};

struct search {
    uint64_t id; /* of the edited job */
    struct place *places;
    uint32_t n;
    struct idset seen;
    unsigned looks; /* so far */
};

static int append(struct search *s, uint64_t id, uint32_t from)
{
    if (!(s->n & (s->n + 1))) { /* may be full: n is 2^k - 1 */
        struct place *grown =
            reallocarray(s->places, 2 * ((size_t)s->n + 1), sizeof(*s->places));

        if (!grown)
            return -ENOMEM;
        s->places = grown;
    }
    s->places[s->n++] = (struct place){id, from};
    return 0;
}

/* Returns the number of jobs from the root to this place. */
static size_t length(const struct search *s, uint32_t at)
{
    size_t n = 0;

    for (; at != ROOT; at = s->places[at].from)
        n++;
    return n;
}

static uint64_t nth(const struct search *s, uint32_t last, size_t back)
{
    while (back-- > 0)
        last = s->places[last].from;
    return s->places[last].id;
}

/* Refuses a circle: the job at `last` waits for the edited job. */
static int refuse(const struct search *s, uint32_t last, struct volt_error *err)
{
    char ids[TOLD * 24 + 8] = "";
    const size_t n = length(s, last);
    size_t len = 0;

    for (size_t i = 0; i < n && i < TOLD - 1; i++)
        len += (size_t)snprintf(ids + len, sizeof(ids) - len, "%llu -> ",
                                (unsigned long long)nth(s, last, n - 1 - i));
    return error_set(err, -EINVAL,
                     "after: jobs that wait for each other: %llu -> %s%s%llu",
                     (unsigned long long)s->id, ids, n < TOLD ? "" : "... -> ",
                     (unsigned long long)s->id);
}

/* Follows an edge: the job at `from` waits for job `id`. */
static int look(struct search *s, uint64_t id, uint32_t from, struct volt_error *err)
{
    const uint64_t before = s->seen.count;

    if (++s->looks > CIRCLE_LOOKS)
        return error_set(err, -EINVAL,
                         "after: more than %d dependencies would have to be followed to "
                         "see that none of them leads back to this job",
                         CIRCLE_LOOKS);
    if (id == s->id)
        return refuse(s, from, err);
    int r = idset_add(&s->seen, id);
    return r < 0 || s->seen.count == before ? r : append(s, id, from);
}

static int look_at_job(struct search *s, const struct job *job, uint32_t from,
                       struct volt_error *err)
{
    struct unmet_edges edges;
    struct unmet_edge e;
    int r = 0;

    unmet_begin(&edges, job);
    while (r == 0 && unmet_next(&edges, &e))
        r = look(s, e.antecedent, from, err);
    return r;
}

static int search(struct search *s, struct core *core, const struct job_spec *spec,
                  struct volt_error *err)
{
    int r = 0;

    for (size_t i = 0; i < spec->nafter && r == 0; i++)
        r = look(s, spec->after[i].job, ROOT, err);
    for (uint32_t at = 0; at < s->n && r == 0; at++) {
        const struct job *job = table_get(&core->table, s->places[at].id);

        if (job && !jobs_done(job))
            r = look_at_job(s, job, at, err);
    }
    return r;
}

int circle_check(struct core *core, const struct job *job, const struct job_spec *spec,
                 struct volt_error *err)
{
    struct search s = {.id = job->id};
    const int r = search(&s, core, spec, err);

    core_did(core, s.looks, 0, 0);
    idset_fini(&s.seen);
    free(s.places);
    return r;
}
