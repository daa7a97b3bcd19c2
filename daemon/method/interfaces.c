/* Interfaces that voltd offers. */
#include "daemon/method/methods.h"

static const char jobs_description[] =
#include "org.voltd.jobs.varlink.inc"
    ;

const struct interface interface_jobs = {
    .name = "org.voltd.jobs",
    .description = jobs_description,
    .methods =
        (const struct method *const[]){
            &method_submit,
            &method_submit_batch,
            &method_get,
            &method_list,
            &method_why,
            &method_attempts,
            &method_watch,
            &method_wait,
            &method_cancel,
            &method_hold,
            &method_release,
            &method_pause_jobs,
            &method_resume_jobs,
            &method_edit,
            &method_forget,
            &method_signal,
            NULL,
        },
};

const struct interface *const interfaces_all[] = {
    &interface_jobs,   &interface_locks,   &interface_logs,
    &interface_queues, &interface_control, NULL,
};
