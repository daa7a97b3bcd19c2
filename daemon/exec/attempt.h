/* One attempt, and its parts: its START, its run, and the whole (attempt.c). All of it is
 * its task's own. */
#ifndef VOLTD_EXEC_ATTEMPT_H
#define VOLTD_EXEC_ATTEMPT_H

#include "daemon/exec/jobs.h"
#include "daemon/output/output_meter.h"
#include "daemon/exec/tries.h"

enum after_start {
    START_DONE,
    START_AGAIN,     /* after a rest, if there is to be one */
    START_ELSEWHERE, /* nothing begins after that job any more */
    START_UNKNOWN,   /* its shim may have it */
    START_OVER,      /* `end` says how */
};

struct attempt {
    int at, start_at; /* of its polls, the whole and START */
    enum after_start next;
    bool over; /* `end` says how */
    struct job_event end;
    struct keeper_start_args args;
    struct keeper_call call;
    bool calling;   /* `call` is on its way, in run_poll */
    bool sent;      /* `call` is the first START, on its way before the first poll */
    bool resent;    /* an earlier START may have been carried out */
    uint64_t start; /* serial of its latest START */
    bool follows;   /* that was taken to begin after another job */
    bool armed;     /* `wait` was, before it: nothing has happened that was no event */
    bool recalled;
    bool adopt;   /* the START of an earlier daemon may have been: look first */
    bool strange; /* adopted, and has begun, or may have: never to be started again */
    bool asked;   /* there was a START before this one */
    struct tries tries;
    unsigned call_tries; /* of what a record needs */
    struct record_wait wait;
    bool ended; /* wait is READY; `record` holds the end */
    bool noted; /* STARTED has been applied */
    struct record record;
    struct output_end printed;
    struct volt_sleep probe; /* next look for slot 1; when `unsent` is sent again */
    struct volt_sleep limit; /* next step towards the end, or the end of following */
    struct meter meter;      /* of what it has printed, where that has a limit */
    uint64_t probe_usec;
    int last_signal;       /* 0: none sent yet */
    bool unsent;           /* it is not, the keeper was short of something */
    unsigned kills;        /* SIGKILLs that have not ended it */
    struct survivors left; /* of the latest; changed with the lock */
};

struct job_key attempt_key(struct work *w);
/* The end in words of policy: it did not come to a process. step: static; error > 0. */
void attempt_fail(struct attempt *a, const char *step, int error);

/* a->call was SIGKILL, and answered: what it has left is shown from now on. */
void attempt_note_left(struct work *w);
/* a->call sends the signal; SIGKILL to what one has left waits behind the first
 * of others. */
void attempt_call_signal(struct work *w, int sig, enum keeper_scope scope);

/* Whether the job is cancelled or has run for too long. */
bool attempt_is_to_stop(struct work *w);

/* --- attempt_start.c: START ----------------------------------------------------- */

/* False: no rest is due before the next one. */
bool attempt_begin_rest(struct attempt *a);
/* READY: the rest is over, or the job is to stop. */
enum volt_poll attempt_rest_poll(struct volt_cx *cx, struct work *w);
/* READY: a->next says what came of it. From a->start_at = 0. */
enum volt_poll attempt_start_poll(struct volt_cx *cx, struct work *w);

/* --- attempt_run.c: from there to the end in the record ------------------------- */

void attempt_run_begin(struct work *w);
/* READY: the record says that it is over. */
enum volt_poll attempt_run_poll(struct volt_cx *cx, struct work *w);
/* The record says that it has begun. */
void attempt_note_started(struct work *w, const struct record_started *s);
/* a->call takes it back, or what is to follow it, where it has not begun. */
void attempt_call_recall(struct work *w);

#endif
