/* See submission.h. */
#include "daemon/exec/manager.h"
#include "tests/support/submission.h"

static enum volt_poll submission_poll(struct volt_cx *cx, void *state)
{
    return manager_submit_poll(cx, state);
}

static void submission_drop(void *state)
{
    manager_submit_fini(state);
}

const struct volt_task_type submission_type = {
    "submission", sizeof(struct manager_submit), submission_poll, submission_drop, NULL};
