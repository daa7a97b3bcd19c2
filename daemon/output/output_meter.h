/* How much a running job has printed, looked at when it may have changed.
 *
 *   quiet    its files are watched by inotify, each for one event only: a job that prints
 *            line by line costs nothing here while it is looked at by time
 *   growing  the next look is when as many bytes as it may still print could have been
 *            printed at METER_SPEED, but in METER_LEAST at the earliest and METER_MOST at
 *            the latest; a look that finds nothing new makes it quiet
 *   slow     it grows, but since the look before by less than the METER_SLOW_PART-th of
 *            what it may still print: METER_SLOW at the earliest. A job that prints byte
 *            by byte for hours would have a look each METER_LEAST otherwise, more than 1
 *            % of a processor
 *
 * The watch is before the look that finds nothing new: whatever that does not see is
 * notified after it (log/subscription.h), and the watch goes with it. So a job is killed
 * METER_LEAST, a moment of the scheduler and the kill itself after it has reached its
 * limit, at METER_SPEED; what it prints meanwhile is on top: METER_SPEED * METER_LEAST is
 * 10 MB. A job that was slow and prints at METER_SPEED at once is METER_SPEED *
 * METER_SLOW over, 20 MB.
 *
 * Where the files cannot be watched (no inotify instance or no watch is to be had, a file
 * system without it) a quiet job is looked at by time, too, each time twice as much
 * later, up to METER_MOST. */
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

/* 0; -ENOMEM. */
int meters_open(struct meters **ret);
/* Spawns the task that reads what inotify tells. 0; -ENOMEM; -ESHUTDOWN. */
int meters_start(struct meters *all, struct volt_runtime *rt);
/* After the runtime was shut down; no meter may be left. NULL is allowed. */
void meters_free(struct meters *all);
/* Looks that all meters have taken so far: for tests. */
uint64_t meters_looks(const struct meters *all);

/* us from a look that found so many bytes, more than the one before, to the next one. */
uint64_t meter_pause(uint64_t printed, uint64_t limit, bool slow);
/* Whether the job is slow by two looks, METER_LEAST apart or more. */
bool meter_is_slow(uint64_t before, uint64_t printed, uint64_t limit);

/* Private. Zero-initialised it may be finished. Must not move in between. */
struct meter {
    struct meters *all; /* NULL: has not begun */
    struct outputs *outputs;
    struct job_key key;
    bool split;
    uint64_t limit, printed;
    struct subscriber subscriber;
    struct meter_file {
        struct subscription growth;
        int wd; /* -1: not watched */
    } file[STORE_STREAMS];
    bool by_time; /* the next look is when `pause` rings */
    uint64_t pause_usec;
    struct volt_sleep pause;
};

/* READY, and so each time from then on: the job has printed more than limit to its files.
 * The task is the one that polls here; the arguments are those of the first poll. */
enum volt_poll meter_poll(struct volt_cx *cx, struct meter *m, struct meters *all,
                          struct outputs *outputs, const struct job_key *key, bool split,
                          uint64_t limit);
void meter_fini(struct meter *m);

#endif
