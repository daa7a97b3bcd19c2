/* Jobs that take the place of others (on_exists: replace).
 *
 * The successor's spec says that it replaces the one that had its key, so one fact in the
 * store, its SUBMIT, is the whole change: before it is kept nothing has happened, and
 * from then on the predecessor is cancelled, by us or by the next daemon (recover.c). The
 * successor is `held`: in the table, not in the queue, until the last task of the
 * predecessor has gone, so that the two never run side by side. Replacing a held
 * successor waits for the same predecessor. A succession is there exactly as long as
 * its next is held, and is between jobs of one user: a store that says otherwise, as one
 * may that was written when keys of two users could collide, ends nobody else's job. Lock
 * held in all functions. */
#include <errno.h>
#include <stdlib.h>

#include "daemon/exec/jobs.h"

bool succession_waits(struct manager *m, uid_t uid, uint64_t id)
{
    struct job *job = table_get(&m->table, id);

    return job && job->owner.uid == uid && !job->is_history && !jobs_done(job);
}

/* The one of a job that is held, or of a submission on its way. */
static struct succession *find(struct manager *m, uint64_t next, const void *by)
{
    for (size_t i = 0; i < m->nsuccessions; i++)
        if (m->successions[i].next == next && m->successions[i].by == by)
            return &m->successions[i];
    return NULL;
}

uint64_t succession_root(struct manager *m, uid_t uid, uint64_t id)
{
    const struct succession *s = find(m, id, NULL);

    if (s && succession_waits(m, uid, s->prev))
        return s->prev;
    return succession_waits(m, uid, id) ? id : 0;
}

static int add(struct manager *m, const struct succession *s)
{
    struct succession *grown =
        reallocarray(m->successions, m->nsuccessions + 1, sizeof(*grown));

    if (!grown)
        return -ENOMEM;
    m->successions = grown;
    grown[m->nsuccessions++] = *s;
    return 0;
}

static void drop(struct manager *m, struct succession *s)
{
    *s = m->successions[--m->nsuccessions];
}

int succession_reserve(struct manager *m, const void *by)
{
    if (m->nsuccessions >= SUCCESSIONS_MAX)
        return -EDQUOT;
    return add(m, &(struct succession){.by = by});
}

void succession_release(struct manager *m, const void *by)
{
    struct succession *s = find(m, 0, by);

    if (s)
        drop(m, s);
}

void succession_cancel(struct manager *m, uid_t uid, uint64_t id)
{
    if (succession_waits(m, uid, id))
        agenda_add(m, table_get(&m->table, id), DUE_CANCEL);
}

void succession_begin(struct manager *m, uint64_t earlier, struct job *job, uint64_t id)
{
    struct succession *s = find(m, 0, job);
    uint64_t root = succession_root(m, job->owner.uid, earlier);


    if (!s)
        return;
    if (!root) {
        drop(m, s);
        return;
    }
    *s = (struct succession){.prev = root, .next = id};
    job->held = true;
}

int succession_restore(struct manager *m, uid_t uid, uint64_t earlier, uint64_t id)
{
    uint64_t root = succession_root(m, uid, earlier);

    return root ? add(m, &(struct succession){.prev = root, .next = id}) : 0;
}

bool succession_is_held(struct manager *m, uint64_t id)
{
    return m->nsuccessions && find(m, id, NULL);
}

void succession_end(struct manager *m, struct job *job)
{
    struct succession *s = find(m, job->id, NULL);

    if (s)
        drop(m, s);
    job->held = false;
}

void succession_over(struct manager *m, uint64_t prev)
{
    for (size_t i = 0; i < m->nsuccessions; i++) {
        const struct succession *s = &m->successions[i];
        struct job *next =
            s->prev == prev && s->next ? table_get(&m->table, s->next) : NULL;

        if (next)
            agenda_add(m, next, DUE_RELEASE);
    }
}
