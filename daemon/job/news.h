/* A change of one job, as watchers see it. */
#ifndef VOLTD_JOB_NEWS_H
#define VOLTD_JOB_NEWS_H

#include <sys/types.h>

#include "daemon/job/job.h"
#include "daemon/job/key.h"

/* Written to two rings and read by other processors: one cache line. */
struct job_news {
    uint64_t seq; /* grows from event to event */
    uint64_t at_usec;
    struct job_key key; /* attempt: that of the event */
    union {
        /* MET, DEPENDENCY: the antecedent (cause_result: its enum job_result); otherwise
         * 0. */
        uint64_t cause;
        uint64_t again_usec; /* EXITED that another attempt follows: the wait before it */
    };
    struct job_end end; /* after the event; of the attempt, if another follows */
    uid_t owner;
    uint8_t type;  /* enum job_event_type */
    uint8_t state; /* after the event */
    uint8_t cause_result;
};
_Static_assert(sizeof(struct job_news) == 64, "one more member makes all of it slower");

/* Returns whether it may be an end. Elements that end queued, with their array, have no
 * event. */
static inline bool job_news_may_end(const struct job_news *news)
{
    return news->state == JOB_DONE || news->type == JOB_EV_CANCEL ||
           news->type == JOB_EV_EXPIRED || news->type == JOB_EV_DEPENDENCY;
}

/* Sets what the event says of another job or another attempt. */
void job_news_set_more(struct job_news *news, const struct job_event *ev);

#endif
