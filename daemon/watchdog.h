/* Watchdog of systemd (WatchdogSec= of the unit).
 *
 * A task looks twice per period, and notifies systemd if the store's writer is alive. It
 * can do so only if timers come and workers poll. If one of the three is stuck, voltd
 * goes silent, is killed and restarted. Running jobs go on. */
#ifndef VOLTD_WATCHDOG_H
#define VOLTD_WATCHDOG_H

struct core;
struct volt_runtime;

/* Spawns the task, if systemd has a watchdog on voltd. Returns 0 or -errno. */
int watchdog_start(struct volt_runtime *rt, struct core *core);

#endif
