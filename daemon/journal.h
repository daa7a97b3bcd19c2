/* Journal entries for jobs that end without success, with fields to search by, as in
 * `journalctl VOLT_RESULT=exit VOLT_USER=alice`. Written only if voltd's own log is the
 * journal. At most JOURNAL_BURST per JOURNAL_INTERVAL_USEC; the others are counted. */
#ifndef VOLTD_JOURNAL_H
#define VOLTD_JOURNAL_H

#include <volt/volt.h>

#define JOURNAL_BURST         200
#define JOURNAL_INTERVAL_USEC UINT64_C(10000000)

struct core;

/* Spawns the task, a subscriber of the event log like any Watch, which reports later
 * ends. Call before any job can end. Returns 0, -ENOMEM or -ESHUTDOWN. */
int journal_start(struct volt_runtime *rt, struct core *core);

#endif
