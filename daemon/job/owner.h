/* The owner of a job. */
#ifndef VOLTD_JOB_OWNER_H
#define VOLTD_JOB_OWNER_H

#include <sys/types.h>

/* A peer, from SO_PEERCRED at accept. */
struct job_owner {
    uid_t uid;
    gid_t gid;
};

#endif
