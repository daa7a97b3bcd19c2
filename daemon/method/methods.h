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

extern const struct interface interface_jobs, interface_logs, interface_control;

#endif
