/* The end of an attempt as its record tells it. */
#ifndef VOLTD_RUN_RECORD_END_H
#define VOLTD_RUN_RECORD_END_H

#include "daemon/core/work.h"
#include "daemon/job/event.h"
#include "daemon/keeper/record.h"

/* EXITED as the record of an ended attempt has it; LOST where it does not know. What is
 * left of it is in *named, which the event borrows. */
struct job_event record_end_event(const struct record *rec, struct job_named *named);
/* The same where its shim was killed: what is left of it. *left is borrowed. */
void record_end_survivors(struct job_event *lost, const struct survivors *left);

#endif
