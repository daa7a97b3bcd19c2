/* One change of one job, as watchers are told of it. */
#ifndef VOLTD_JOB_NEWS_H
#define VOLTD_JOB_NEWS_H

#include <sys/types.h>

#include "daemon/job/job.h"
#include "daemon/job/key.h"

/* Each is written to two rings, and read by other processors: a line of the cache. */
struct job_news {
    uint64_t seq; /* its number: later ones are greater */
    uint64_t at_usec;
    struct job_key key; /* attempt: the one that it is about */
    union {
        /* MET, DEPENDENCY: the job that was waited for, and of DEPENDENCY its enum
         * job_result; 0: another event. */
        uint64_t cause;
        uint64_t again_usec; /* EXITED that another attempt follows: after this time */
    };
    struct job_end end; /* after it; of an attempt that another one follows: of that */
    uid_t owner;
    uint8_t type;  /* enum job_event_type */
    uint8_t state; /* after it */
    uint8_t cause_result;
};
_Static_assert(sizeof(struct job_news) == 64, "one more member makes all of it slower");

/* What has not started when its array is cancelled ends with it, without an event. */
static inline bool job_news_may_end(const struct job_news *news)
{
    return news->state == JOB_DONE || news->type == JOB_EV_CANCEL ||
           news->type == JOB_EV_EXPIRED || news->type == JOB_EV_DEPENDENCY;
}

/* What it says of another job, or of another attempt. */
void job_news_set_more(struct job_news *news, const struct job_event *ev);

#endif
