/* See record_end.h. */
#include "daemon/run/record_end.h"

#include <signal.h>
#include <string.h>

#include "daemon/core/jobs.h"
#include "daemon/run/survivors.h"

/* Returns whether the kernel killed the process for lack of memory. SIGKILL alone may
 * come from any process. */
static bool is_oom(const struct record_exited *x)
{
    return x->status == SIGKILL && x->flags & RECORD_CONTAINED && x->oom_kills > 0;
}

static enum job_result result_of(const struct record_exited *x)
{
    switch ((enum record_end)x->end) {
    case RECORD_END_EXIT:
        return x->status == 0 ? JOB_RESULT_SUCCESS : JOB_RESULT_EXIT;
    case RECORD_END_SIGNAL:
        return is_oom(x) ? JOB_RESULT_OOM : JOB_RESULT_SIGNAL;
    case RECORD_END_EXEC_FAILED:
        return JOB_RESULT_EXEC_FAILED;
    }
    return JOB_RESULT_LOST;
}

/* Returns why the end of an attempt is not known. */
static const char *lost_cause(enum record_verdict verdict)
{
    switch (verdict) {
    case RECORD_SHIM_KILLED:
        return "shim killed";
    case RECORD_OTHER_BOOT:
        return "reboot";
    case RECORD_DAMAGED:
        return "record damaged";
    case RECORD_NEVER_RAN:
        return "never started";
    case RECORD_ABSENT:
    case RECORD_RUNNING:
    case RECORD_DONE:
        break;
    }
    return "record missing";
}

static const char *step_of(enum job_result result, const struct record_exited *x)
{
    if (result == JOB_RESULT_EXEC_FAILED)
        return child_step_name(x->step);
    if (result == JOB_RESULT_OOM)
        return x->flags & RECORD_OOM_OWN ? "job" : "user or machine";
    return NULL;
}

static uint64_t at_most(uint64_t n, uint64_t most)
{
    return n < most ? n : most;
}

static struct job_usage usage_of(const struct record_exited *x)
{
    const bool contained = x->flags & RECORD_CONTAINED;
    struct job_usage ret = {.user_usec = x->user_usec,
                            .system_usec = x->system_usec,
                            .max_rss_bytes = x->max_rss_kib * 1024,
                            .contained = JOB_CONTAINED_NO};

    if (!contained)
        return ret;
    ret.contained = JOB_CONTAINED_YES;
    ret.memory_peak_kib = at_most(x->memory_peak / 1024, JOB_PEAK_KIB_MAX);
    ret.oom_kills = at_most(x->oom_kills, JOB_OOM_KILLS_MAX);
    return ret;
}

struct job_event record_end_event(const struct record *rec, struct job_named *named)
{
    struct job_event ev = {.type = JOB_EV_EXITED, .result = JOB_RESULT_LOST};
    const struct record_exited *x = &rec->exited;

    if (rec->verdict != RECORD_DONE) {
        ev.at_usec = jobs_now_usec();
        ev.step = lost_cause(rec->verdict);
        return ev;
    }
    ev.at_usec = x->real_usec;
    ev.result = result_of(x);
    ev.code = x->status;
    ev.step = step_of(ev.result, x);
    ev.usage = usage_of(x);
    ev.survivors = x->survivors;
    *named = (struct job_named){.pid = {0}};
    memcpy(named->pid, x->survivor, sizeof(named->pid));
    survivors_note(named, x->mono_usec);
    ev.named = named;
    ev.left_killed = x->left_killed < UINT8_MAX ? (uint8_t)x->left_killed : UINT8_MAX;
    return ev;
}

void record_end_survivors(struct job_event *lost, const struct survivors *left)
{
    lost->survivors = left->n;
    lost->named = &left->named;
    if (left->n == JOB_SURVIVORS_UNKNOWN)
        lost->step = "shim and keeper killed";
}
