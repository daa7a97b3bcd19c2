/* The exit record of an attempt: the holder of its descriptor may run the attempt
 * (link/record_make.h). */
#ifndef VOLTD_RUN_ATTEMPT_RECORD_H
#define VOLTD_RUN_ATTEMPT_RECORD_H

#include "daemon/run/hook.h"

/* Makes the record, after STARTING is durable and right before START is sent. p->args
 * owns it. Returns 0; -errno: there is no record, and p->args is unchanged. */
int attempt_record_make(struct volt_cx *cx, const struct preparing *p);

#endif
