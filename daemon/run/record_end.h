/* Turns the record of an ended attempt into its end. */
#ifndef VOLTD_RUN_RECORD_END_H
#define VOLTD_RUN_RECORD_END_H

#include "daemon/core/work.h"
#include "daemon/job/event.h"
#include "daemon/keeper/record.h"

/* Returns EXITED of the record; LOST if the record has no end. Fills in *named with the
 * survivors, which the event borrows. */
struct job_event record_end_event(const struct record *rec, struct job_named *named);
/* Adds the survivors of an attempt whose shim was killed. *left is borrowed. */
void record_end_survivors(struct job_event *lost, const struct survivors *left);

#endif
