/* The events of a job: one row each. What an event may do to which state, what else it
 * changes in a status, its name, and its bytes in the store are columns of its row, in
 * event.c; nothing else asks for the type of an event to know one of them. A new event is
 * a type in job.h and a row.
 *
 * As bytes an event is its type, its time, and what the row packs. `life` goes with
 * STARTING: the number of the boot and record directory in which the attempt began
 * (daemon/store/sqlite.h). See pack.h for numbers. */
#ifndef VOLTD_JOB_EVENT_H
#define VOLTD_JOB_EVENT_H

#include "daemon/job/job.h"
#include "daemon/job/pack.h"

#define JOB_STEP_MAX 32
/* What an unpacked event points to. */
struct job_event_room {
    char step[JOB_STEP_MAX];
    struct job_named named;
};

/* An event that is being unpacked. */
struct job_event_bytes {
    struct unpack *from;
    uint64_t flags; /* that came with its type */
    uint64_t life;  /* STARTING; else 0 */
    struct job_event_room *room;
};

#define JOB_EVENT_NO (-1)

/* When an event counts, by its fact in the store. */
enum job_event_when {
    JOB_EVENT_BEFORE,    /* when that is committed, and the job comes into being */
    JOB_EVENT_NOW,       /* at once, its fact appended in the same section of the lock; a
                          * refused append: it has not happened */
    JOB_EVENT_OWED,      /* at once; its fact is appended with the job's next one */
    JOB_EVENT_AT_COMMIT, /* when that is committed; no cancel comes in between */
};

struct job_event_row {
    const char *name;
    /* By state: the state that follows, or JOB_EVENT_NO: the event is refused. */
    int8_t next[JOB_STATE_COUNT];
    /* AT_COMMIT is of an end: EXITED that leads to another attempt counts now. */
    enum job_event_when when;
    bool of_array;             /* an array as a whole takes it */
    bool owed_without_process; /* of kinds that begin anew after a crash, without
                                * claims */
    /* The job's task goes on when its fact is committed, unless that is owed. */
    bool awaited;
    /* What it changes beside the state, before that. 0; 1: it has set the
     * state itself; -EPROTO: it is refused after all, and nothing has changed. */
    int (*apply)(struct job_status *st, const struct job_event *ev);
    /* Its bytes behind type and time; both NULL: none. */
    void (*pack)(struct pack *p, const struct job_event *ev, uint64_t life);
    void (*unpack)(struct job_event_bytes *b, struct job_event *ret);
    uint64_t flags;    /* that may stand beside its type */
    bool passes;       /* what it has done is over with its attempt, but for what the base
                        * of a later one says */
    bool is_own_entry; /* the store has it as an event; SUBMIT is the row of the job */
};

extern const struct job_event_row job_event_rows[JOB_EV_COUNT];

void job_event_pack(struct pack *p, const struct job_event *ev, uint64_t life);
/* What the first event of these bytes is. */
struct job_event_glance {
    uint32_t base; /* a STARTING that is a base: its attempt; else 0 */
    bool passes;   /* as its row says */
};
struct job_event_glance job_event_glance(const void *bytes, size_t n);
/* The next event; what it points to lives in *room. 0; -EBADMSG: these bytes are none. */
int job_event_unpack(struct unpack *u, struct job_event *ret, uint64_t *ret_life,
                     struct job_event_room *room);

#endif
