/* What voltd offers on which socket. */
#include "daemon/method/methods.h"

#include "daemon/server/server.h"

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
            &method_watch,
            &method_wait,
            &method_cancel,
            &method_forget,
            &method_signal,
            NULL,
        },
};

const struct interface *const server_public_interfaces[] = {
    &interface_jobs,
    &interface_logs,
    NULL,
};

const struct interface *const server_control_interfaces[] = {
    &interface_jobs,
    &interface_logs,
    &interface_control,
    NULL,
};
