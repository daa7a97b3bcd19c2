/* Names of states and results, and exit codes. event.c has the changes of a status. */
#include <errno.h>
#include <string.h>

#include "daemon/job/job.h"

const char *const job_state_names[] = {"queued",   "starting", "running", "paused",
                                       "stopping", "done",     NULL};
const char *const job_result_names[] = {
    "none",        "success",   "exit", "signal",       "timeout",
    "exec_failed", "cancelled", "lost", "output_limit", "expired",
    "dependency",  "oom",       NULL};

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
    case JOB_WAIT_ARRAY:
        return "array";
    case JOB_WAIT_PAUSED:
        return "paused";
    case JOB_WAIT_LOCK:
        return "lock";
    case JOB_WAIT_RATE:
        return "rate";
    case JOB_WAIT_KEEPER:
        return "keeper";
    case JOB_WAIT_SURVIVORS:
        return "survivors";
    case JOB_WAIT_REPLACE:
        return "replace";
    case JOB_WAIT_HOLD:
        return "hold";
    case JOB_WAIT_TIME:
        return "time";
    case JOB_WAIT_DEPENDENCY:
        return "dependency";
    case JOB_WAIT_INSIDE:
        return "inside";
    case JOB_WAIT_NONE:
        break;
    }
    return NULL;
}

/* Returns a shell's code for a command that could not be run; 125 if another step (cwd,
 * output, limits) failed. */
static int exec_failed_code(const struct job_status *st)
{
    if (!st->step || strcmp(st->step, "exec") != 0)
        return 125;
    return st->code == ENOENT ? 127 : 126;
}

struct job_end job_end_of(const struct job_status *st)
{
    if (st->result == JOB_RESULT_NONE)
        return (struct job_end){.result = JOB_RESULT_NONE};
    return (struct job_end){.code = st->code,
                            .code_is = st->code_is,
                            .result = st->result,
                            .exit_code = (uint8_t)job_exit_code(st)};
}

int job_exit_code(const struct job_status *st)
{
    switch ((enum job_result)st->result) {
    case JOB_RESULT_SUCCESS:
        return 0;
    case JOB_RESULT_EXIT:
        return st->code ? st->code : 1; /* success_codes may lack 0 */
    case JOB_RESULT_SIGNAL:
    case JOB_RESULT_OOM:
        return 128 + st->code;
    case JOB_RESULT_TIMEOUT:
        return 124;
    case JOB_RESULT_EXEC_FAILED:
        return exec_failed_code(st);
    case JOB_RESULT_CANCELLED:
    case JOB_RESULT_LOST:
    case JOB_RESULT_OUTPUT_LIMIT:
    case JOB_RESULT_EXPIRED:
    case JOB_RESULT_DEPENDENCY:
    case JOB_RESULT_NONE:
    case JOB_RESULT_COUNT:
        break;
    }
    return 125;
}
