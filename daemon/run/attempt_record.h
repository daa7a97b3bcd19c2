/* The exit record of an attempt: who has its descriptor may run the attempt
 * (link/record_make.h). */
#ifndef VOLTD_RUN_ATTEMPT_RECORD_H
#define VOLTD_RUN_ATTEMPT_RECORD_H

#include "daemon/run/hook.h"

/* Makes it, when STARTING is durable and right before START is sent: p->args own it. 0;
 * -errno: there is none, and what was prepared stays. */
int attempt_record_make(struct volt_cx *cx, const struct preparing *p);

#endif
