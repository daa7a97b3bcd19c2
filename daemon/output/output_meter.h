/* How much a running job has printed, looked at when it may have changed.
 *
 *   quiet    inotify watches its files, each for one event only: while a job is looked at
 *            by time, printing line by line costs nothing here
 *   growing  the next look is when the rest up to the limit could have been printed at
 *            METER_SPEED, but not before METER_LEAST nor after METER_MOST; a look that
 *            finds nothing new makes the job quiet
 *   slow     it grows, but since the last look by less than the METER_SLOW_PART-th of the
 *            rest: the next look is not before METER_SLOW. Else a job that prints byte by
 *            byte for hours would be looked at each METER_LEAST, for more than 1 % of a
 *            processor
 *
 * The watch is set before the look that finds nothing new. So output that this look
 * misses is notified after it (log/subscription.h), and that event ends the watch. A job
 * is killed METER_LEAST after it reaches its limit at METER_SPEED, plus a moment of the
 * scheduler and the time of the kill. Output over the limit: METER_SPEED * METER_LEAST,
 * 10 MB; from a slow job that suddenly prints at METER_SPEED, METER_SPEED * METER_SLOW,
 * 20 MB.
 *
 * If the files cannot be watched (no inotify instance, no watch, or a file system without
 * it), a quiet job is looked at by time too, each time twice as late, up to
 * METER_MOST. */
#ifndef VOLTD_OUTPUT_OUTPUT_METER_H
#define VOLTD_OUTPUT_OUTPUT_METER_H

#include <volt/task.h>
#include <volt/time.h>
#include "daemon/log/subscription.h"
#include "daemon/output/output.h"

#define METER_SPEED UINT64_C(2000) /* bytes per us: 2 GB/s */
#define METER_LEAST UINT64_C(5000) /* us */
#define METER_SLOW  UINT64_C(10000)
#define METER_MOST  UINT64_C(1000000)

#define METER_SLOW_PART 64

struct meters;

/* Returns 0 or -ENOMEM. */
int meters_open(struct meters **ret);
/* Spawns the task that reads inotify. Returns 0, -ENOMEM or -ESHUTDOWN. */
int meters_start(struct meters *all, struct volt_runtime *rt);
/* Frees them, after the runtime was shut down. No meter may be left. NULL allowed. */
void meters_free(struct meters *all);
/* Returns the looks of all meters so far: for tests. */
uint64_t meters_looks(const struct meters *all);

/* Returns the us until the next look, after a look that found `printed` bytes, more than
 * the look before. */
uint64_t meter_pause(uint64_t printed, uint64_t limit, bool slow);
/* Returns whether the job is slow, by two looks at least METER_LEAST apart. */
bool meter_is_slow(uint64_t before, uint64_t printed, uint64_t limit);

/* Private. Must not move between the first poll and meter_fini(). If zero-initialised,
 * may be finished. */
struct meter {
    struct meters *all; /* NULL: not begun */
    struct outputs *outputs;
    struct job_key key;
    bool split;
    uint64_t limit, printed;
    struct subscriber subscriber;
    struct meter_file {
        struct subscription growth;
        int wd; /* -1: not watched */
    } file[STORE_STREAMS];
    bool by_time; /* the next look is when `pause` ends */
    uint64_t pause_usec;
    struct volt_sleep pause;
};

/* Returns VOLT_READY, then and later, when the job has printed more than limit to its
 * files. The arguments are those of the first poll. For the task that polls here. */
enum volt_poll meter_poll(struct volt_cx *cx, struct meter *m, struct meters *all,
                          struct outputs *outputs, const struct job_key *key, bool split,
                          uint64_t limit);
void meter_fini(struct meter *m);

#endif
