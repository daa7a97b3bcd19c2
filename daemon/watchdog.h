/* Watchdog of systemd (WatchdogSec= of the unit).
 *
 * A task notifies systemd twice per period, and can do so only if it is polled in time.
 * If workers or timers are stuck, voltd goes silent, is killed and restarted. Running
 * jobs go on. */
#ifndef VOLTD_WATCHDOG_H
#define VOLTD_WATCHDOG_H

struct volt_runtime;

/* Spawns the task, if systemd has a watchdog on voltd. Returns 0 or -errno. */
int watchdog_start(struct volt_runtime *rt);

#endif
