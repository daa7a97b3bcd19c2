/* Methods by file, and interfaces made of them. */
#ifndef VOLTD_METHOD_METHODS_H
#define VOLTD_METHOD_METHODS_H

#include "daemon/call/method.h"

/* submit.c */
extern const struct method method_submit, method_submit_batch;
/* jobs.c */
extern const struct method method_get, method_list, method_signal, method_forget;
/* why.c */
extern const struct method method_why;
/* Adds to each reason whether the process whose lease holds the lock has exited:
 * processes that it left hold the lock then. Not under core.lock. */
struct why;
void why_add_left(struct why *why);
/* attempts.c */
extern const struct method method_attempts;
/* steer.c */
extern const struct method method_cancel, method_hold, method_release, method_pause_jobs,
    method_resume_jobs, method_edit;
/* watch.c, wait.c */
extern const struct method method_watch, method_wait;

/* acquire.c */
extern const struct method method_acquire;

/* stats.c */
extern const struct method method_stats, method_watch_stats;
/* tasks.c */
extern const struct method method_tasks;

extern const struct interface interface_jobs, interface_locks, interface_logs,
    interface_queues, interface_control;

/* All interfaces, NULL-terminated, on both sockets: auth/operations.def says what a
 * caller may do. */
extern const struct interface *const interfaces_all[];

#endif
