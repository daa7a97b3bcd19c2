/* See submission.h. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "daemon/exec/submission.h"

void submission_reject(struct manager_submit_item *item, int error, const char *format,
                       ...)
{
    va_list ap;

    item->ret_id = 0;
    item->ret_error = error;
    free(item->ret_text);
    va_start(ap, format);
    if (vasprintf(&item->ret_text, format, ap) < 0)
        item->ret_text = NULL;
    va_end(ap);
}

size_t submission_portion(struct manager_submit *s, size_t left)
{
    size_t most = s->looks ? s->looks : MANAGER_WALK_LOOKS;
    size_t n = most > s->looked ? most - s->looked : 0;

    n = n < SUBMIT_SLICE ? n : SUBMIT_SLICE;
    n = n < left ? n : left;
    s->looked += n;
    return n;
}

int submission_book(struct manager_submit *s, struct manager_submit_item *item,
                    uint64_t n, size_t bytes)
{
    struct manager *m = s->manager;
    struct user *u = users_get(&m->users, s->owner.uid);

    if (m->closed) {
        submission_reject(item, -ESHUTDOWN, "voltd is shutting down");
        return -ESHUTDOWN;
    }
    if (!u) {
        submission_reject(item, -ENOMEM, "out of memory");
        return -ENOMEM;
    }
    if (m->users.jobs + n > m->limits.max_jobs)
        submission_reject(item, -EDQUOT,
                          "more than %llu jobs that have not ended (MaxJobs)",
                          (unsigned long long)m->limits.max_jobs);
    else if (u->jobs + n > m->limits.max_jobs_per_user)
        submission_reject(item, -EDQUOT,
                          "more than %llu jobs that have not ended (MaxJobsPerUser)",
                          (unsigned long long)m->limits.max_jobs_per_user);
    else if (u->bytes + bytes > m->limits.max_bytes_per_user)
        submission_reject(item, -EDQUOT,
                          "more than %llu bytes of specs (MaxBytesPerUser)",
                          (unsigned long long)m->limits.max_bytes_per_user);
    else if (n > m->limits.max_array)
        submission_reject(item, -EDQUOT, "more than %llu elements in an array (MaxArray)",
                          (unsigned long long)m->limits.max_array);
    if (item->ret_error)
        return item->ret_error;
    users_add(&m->users, u, n, bytes);
    return 0;
}

void submission_unbook(struct manager_submit *s, uint64_t n, uint64_t bytes)
{
    struct manager *m = s->manager;

    manager_lock(m);
    struct user *u = users_find(&m->users, s->owner.uid);
    if (u) /* not if what is given back is nothing: it was never booked */
        users_sub(&m->users, u, n, bytes);
    manager_unlock(m);
}

void submission_drop(struct manager_submit *s, size_t i)
{
    struct submission *p = s->pending;
    uint64_t n = job_spec_count(p->jobs[i]->spec), bytes = p->jobs[i]->bytes;

    job_discard(p->jobs[i]);
    p->jobs[i] = NULL;
    p->accepted--;
    p->njobs -= n;
    p->bytes -= bytes;
    submission_unbook(s, n, bytes);
}
