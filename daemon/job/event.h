/* The events of a job: one row each.
 *
 * The columns of a row are in event.c. They say which states accept the event and what
 * else it changes in a status. They also have its name and its bytes in the store. No
 * other code depends on the type for these. A new event is a type in job.h and a row.
 *
 * The bytes of an event are its type, its time and those that its row packs. STARTING
 * also has `life`: the number of the boot and record directory in which the attempt began
 * (daemon/store/sqlite.h). See pack.h for numbers. */
#ifndef VOLTD_JOB_EVENT_H
#define VOLTD_JOB_EVENT_H

#include "daemon/job/job.h"
#include "daemon/job/pack.h"

#define JOB_STEP_MAX 32
/* Memory for what an unpacked event points to. */
struct job_event_room {
    char step[JOB_STEP_MAX];
    struct job_named named;
};

/* An event being unpacked. */
struct job_event_bytes {
    struct unpack *from;
    uint64_t flags; /* packed with its type */
    uint64_t life;  /* STARTING; otherwise 0 */
    struct job_event_room *room;
};

#define JOB_EVENT_NO (-1)

/* When an event counts, relative to its fact in the store. */
enum job_event_when {
    JOB_EVENT_BEFORE,    /* when the fact is committed and the job appears */
    JOB_EVENT_NOW,       /* at once; the fact is appended in the same section of the lock,
                          * and a refused append means that it did not happen */
    JOB_EVENT_OWED,      /* at once; the fact is appended with the job's next one */
    JOB_EVENT_AT_COMMIT, /* when the fact is committed; no cancel comes in between */
};

struct job_event_row {
    const char *name;
    /* By state: the next state, or JOB_EVENT_NO: refused. */
    int8_t next[JOB_STATE_COUNT];
    /* AT_COMMIT for an end: EXITED that leads to another attempt counts now. */
    enum job_event_when when;
    bool of_array;             /* a whole array accepts it */
    bool owed_without_process; /* for kinds that begin anew after a crash, without
                                * claims */
    /* The job's task waits for the commit, unless the fact is owed. */
    bool awaited;
    /* Changes the rest of the status, before the state. Returns 0; 1: it set the state
     * itself; -EPROTO: refused, nothing changed. */
    int (*apply)(struct job_status *st, const struct job_event *ev);
    /* Bytes after type and time; both NULL: none. */
    void (*pack)(struct pack *p, const struct job_event *ev, uint64_t life);
    void (*unpack)(struct job_event_bytes *b, struct job_event *ret);
    uint64_t flags;    /* allowed beside its type */
    bool passes;       /* its effects end with its attempt, except what the base of a
                        * later one has */
    bool is_own_entry; /* an event of its own in the store; SUBMIT is the job's row */
};

extern const struct job_event_row job_event_rows[JOB_EV_COUNT];

void job_event_pack(struct pack *p, const struct job_event *ev, uint64_t life);
/* A look at the first event of some bytes. */
struct job_event_glance {
    uint32_t base; /* the attempt of a STARTING with a struct job_base; otherwise 0 */
    bool passes;   /* as in its row */
};
struct job_event_glance job_event_glance(const void *bytes, size_t n);
/* Unpacks the next event; *room has the bytes that it points to. Returns 0; -EBADMSG: not
 * an event. */
int job_event_unpack(struct unpack *u, struct job_event *ret, uint64_t *ret_life,
                     struct job_event_room *room);

#endif
