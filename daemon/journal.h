/* Ends without success in the journal: an entry each, found by its fields, as in
 * `journalctl VOLT_RESULT=exit VOLT_USER=alice`. Only where voltd's own log is the
 * journal. At most JOURNAL_BURST in JOURNAL_INTERVAL_USEC; the others are counted. */
#ifndef VOLTD_JOURNAL_H
#define VOLTD_JOURNAL_H

#include <volt/volt.h>

#define JOURNAL_BURST         200
#define JOURNAL_INTERVAL_USEC UINT64_C(10000000)

struct core;

/* Spawns the task that tells of ends from now on, a subscriber of the log of events like
 * any Watch. Before anything can end. 0; -ENOMEM; -ESHUTDOWN. */
int journal_start(struct volt_runtime *rt, struct core *core);

#endif
