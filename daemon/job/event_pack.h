/* Events of one job as bytes: what the store keeps of it after its submission.
 *
 * Per event its type, its time, and what the type has; steps by name. `life` goes with
 * STARTING: the number of the boot and record directory in which the attempt began
 * (store.h). See pack.h for numbers. */
#ifndef VOLTD_JOB_EVENT_PACK_H
#define VOLTD_JOB_EVENT_PACK_H

#include "daemon/job/job.h"
#include "daemon/job/pack.h"

void job_event_pack(struct pack *p, const struct job_event *ev, uint64_t life);

#define JOB_STEP_MAX 32
/* What an event points to. */
struct job_event_room {
    char step[JOB_STEP_MAX];
    struct job_named named;
};
/* The next event; what it points to lives in *room. 0; -EBADMSG: these bytes are none. */
int job_event_unpack(struct unpack *u, struct job_event *ret, uint64_t *ret_life,
                     struct job_event_room *room);

#endif
