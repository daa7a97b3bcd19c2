/* The methods, by the file that has them, and the interfaces made of them. */
#ifndef VOLTD_METHOD_METHODS_H
#define VOLTD_METHOD_METHODS_H

#include "daemon/server/method.h"

/* submit.c */
extern const struct method method_submit, method_submit_batch;
/* jobs.c */
extern const struct method method_get, method_list, method_cancel, method_signal,
    method_forget;
/* watch.c, wait.c */
extern const struct method method_watch, method_wait;

/* stats.c */
extern const struct method method_stats, method_watch_stats;
/* tasks.c */
extern const struct method method_tasks;
/* control.c. Root and the account that voltd runs as may do it. False: the call is
 * answered; what: "reload or end it". */
bool control_may_steer(struct call *call, const char *what);

extern const struct interface interface_jobs, interface_logs, interface_control;

#endif
