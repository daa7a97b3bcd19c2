/* One change of one job, as watchers are told of it. */
#ifndef VOLTD_JOB_NEWS_H
#define VOLTD_JOB_NEWS_H

#include <sys/types.h>

#include "daemon/job/job.h"
#include "daemon/job/key.h"

struct job_news {
    uint64_t seq; /* its number: later ones are greater */
    uint64_t at_usec;
    struct job_key key; /* attempt: the one that it is about */
    struct job_end end; /* after it; of a lost attempt that another one follows: lost */
    uint8_t type;       /* enum job_event_type */
    uint8_t state;      /* after it */
    uid_t owner;
};

#endif
