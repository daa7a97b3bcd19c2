/* See submission.h. */
#include "daemon/submit/submit.h"
#include "tests/support/submission.h"

static enum volt_poll submission_poll(struct volt_cx *cx, void *state)
{
    return jobs_submit_poll(cx, state);
}

static void submission_drop(void *state)
{
    jobs_submit_fini(state);
}

const struct volt_task_type submission_type = {"submission", sizeof(struct jobs_submit),
                                               submission_poll, submission_drop, NULL};
