/* The job machine: one table, one function per event.
 *
 * A cell of the table is the state that follows, or NO: the event is refused and nothing
 * changes. Three cells depend on more than the state: SUBMIT is only for a status that
 * has never been submitted (queued is also the zero value), a second CANCEL is only
 * noted, and EXITED leads to queued instead of done when job_goes_again().
 *
 *           submit  starting  started   timeout   cancel    exited  output_limit deferred
 * queued    queued  starting  NO        NO        done      NO      NO           NO
 * starting  NO      NO        running   NO        stopping  done    NO           queued
 * running   NO      NO        NO        stopping  stopping  done    stopping     NO
 * stopping  NO      NO        stopping  NO        stopping  done    NO           NO
 * done      NO      NO        NO        NO        NO        NO      NO           NO */
#include <errno.h>
#include <string.h>

#include "daemon/job/job.h"

#define NO (-1)

static const int8_t next_state[JOB_STATE_COUNT][JOB_EV_COUNT] = {
    [JOB_QUEUED] = {JOB_QUEUED, JOB_STARTING, NO, NO, JOB_DONE, NO, NO, NO},
    [JOB_STARTING] = {NO, NO, JOB_RUNNING, NO, JOB_STOPPING, JOB_DONE, NO, JOB_QUEUED},
    [JOB_RUNNING] = {NO, NO, NO, JOB_STOPPING, JOB_STOPPING, JOB_DONE, JOB_STOPPING, NO},
    [JOB_STOPPING] = {NO, NO, JOB_STOPPING, NO, JOB_STOPPING, JOB_DONE, NO, NO},
    [JOB_DONE] = {NO, NO, NO, NO, NO, NO, NO, NO},
};

/* Policy over what the process did. What came first wins: a job that is stopped for its
 * timeout and then cancelled timed out. A lost status and a failed exec stay what they
 * are: the process did not end because we stopped it, as far as anybody knows. */
static enum job_result verdict(const struct job_status *st, enum job_result seen)
{
    if (seen == JOB_RESULT_LOST || seen == JOB_RESULT_EXEC_FAILED)
        return seen;
    if (st->timed_out)
        return JOB_RESULT_TIMEOUT;
    if (st->printed_too_much)
        return JOB_RESULT_OUTPUT_LIMIT;
    if (st->cancel_asked)
        return JOB_RESULT_CANCELLED;
    return seen;
}

static bool result_allowed(enum job_result r)
{
    return r == JOB_RESULT_SUCCESS || r == JOB_RESULT_EXIT || r == JOB_RESULT_SIGNAL ||
           r == JOB_RESULT_EXEC_FAILED || r == JOB_RESULT_LOST;
}

bool job_goes_again(const struct job_status *st, const struct job_event *exited)
{
    return exited->result == JOB_RESULT_LOST && st->retry_lost &&
           st->lost < JOB_LOST_MAX && !st->cancel_asked && !st->timed_out &&
           !st->printed_too_much && exited->survivors == 0;
}

/* As before the attempt; its number stays, so that the next one is another. */
static void go_again(struct job_status *st)
{
    *st = (struct job_status){.retry_lost = st->retry_lost,
                              .lost = (uint8_t)(st->lost + 1),
                              .attempt = st->attempt,
                              .submitted_usec = st->submitted_usec};
}

static void end(struct job_status *st, const struct job_event *ev)
{
    bool has_step = ev->result == JOB_RESULT_EXEC_FAILED || ev->result == JOB_RESULT_LOST;

    st->result = (uint8_t)verdict(st, ev->result);
    st->code = ev->code;
    st->step = has_step ? ev->step : NULL;
    st->usage = ev->usage;
    st->survivors = ev->survivors;
    st->over_kib = st->result == JOB_RESULT_OUTPUT_LIMIT ? ev->over_kib : 0;
    st->named = ev->named;
    st->kept = ev->kept;
    st->ended_usec = ev->at_usec;
}

int job_update(struct job_status *st, const struct job_event *ev)
{
    int next = (unsigned)ev->type < JOB_EV_COUNT ? next_state[st->state][ev->type] : NO;

    if (next == NO)
        return -EPROTO;
    switch (ev->type) {
    case JOB_EV_SUBMIT:
        if (st->submitted_usec)
            return -EPROTO;
        st->submitted_usec = ev->at_usec;
        st->retry_lost = ev->retry_lost;
        break;
    case JOB_EV_STARTING:
        if (ev->attempt != st->attempt + 1)
            return -EPROTO;
        st->attempt = ev->attempt;
        st->other_life = ev->other_life;
        break;
    case JOB_EV_STARTED:
        st->pid = ev->pid;
        st->started_usec = ev->at_usec;
        break;
    case JOB_EV_TIMEOUT:
        st->timed_out = true;
        break;
    case JOB_EV_OUTPUT_LIMIT:
        st->printed_too_much = true;
        break;
    case JOB_EV_DEFERRED: /* that attempt never began: its number is free again */
        st->attempt--;
        st->other_life = false;
        break;
    case JOB_EV_CANCEL:
        st->cancel_asked = true;
        if (next == JOB_DONE) {
            st->result = JOB_RESULT_CANCELLED;
            st->ended_usec = ev->at_usec;
        }
        break;
    case JOB_EV_EXITED:
        if (!result_allowed(ev->result))
            return -EPROTO;
        if (job_goes_again(st, ev)) {
            go_again(st);
            return 0;
        }
        end(st, ev);
        break;
    case JOB_EV_COUNT:
        return -EPROTO;
    }
    st->state = (uint8_t)next;
    return 0;
}

const char *const job_state_names[] = {"queued",   "starting", "running",
                                       "stopping", "done",     NULL};
const char *const job_result_names[] = {
    "none",        "success",   "exit", "signal",       "timeout",
    "exec_failed", "cancelled", "lost", "output_limit", NULL};
static const char *const event_names[JOB_EV_COUNT] = {
    "submit", "starting", "started",      "timeout",
    "cancel", "exited",   "output_limit", "deferred"};

const char *job_state_name(enum job_state s)
{
    return job_state_names[s];
}

const char *job_result_name(enum job_result r)
{
    return job_result_names[r];
}

const char *job_wait_name(enum job_wait w)
{
    switch (w) {
    case JOB_WAIT_TURN:
        return "turn";
    case JOB_WAIT_SLOT:
        return "slot";
    case JOB_WAIT_KEEPER:
        return "keeper";
    case JOB_WAIT_SURVIVORS:
        return "survivors";
    case JOB_WAIT_NONE:
        break;
    }
    return NULL;
}

const char *job_event_name(enum job_event_type t)
{
    return event_names[t];
}

/* What a shell would say of a command that could not be run; of any other step (cwd,
 * output, limits) volt itself says that it failed. */
static int exec_failed_code(const struct job_status *st)
{
    if (!st->step || strcmp(st->step, "exec") != 0)
        return 125;
    return st->code == ENOENT ? 127 : 126;
}

int job_exit_code(const struct job_status *st)
{
    switch ((enum job_result)st->result) {
    case JOB_RESULT_SUCCESS:
        return 0;
    case JOB_RESULT_EXIT:
        return st->code;
    case JOB_RESULT_SIGNAL:
        return 128 + st->code;
    case JOB_RESULT_TIMEOUT:
        return 124;
    case JOB_RESULT_EXEC_FAILED:
        return exec_failed_code(st);
    case JOB_RESULT_CANCELLED:
    case JOB_RESULT_LOST:
    case JOB_RESULT_OUTPUT_LIMIT:
    case JOB_RESULT_NONE:
    case JOB_RESULT_COUNT:
        break;
    }
    return 125;
}
