/* systemd's watchdog (WatchdogSec= of the unit).
 *
 * A task says twice per period that voltd is well, and to say so it has to be polled when
 * its time has come: a voltd whose workers or timers stand still is silent, is killed,
 * and starts anew. Running jobs do not notice. */
#ifndef VOLTD_WATCHDOG_H
#define VOLTD_WATCHDOG_H

struct volt_runtime;

/* Spawns the task; none where nobody asks for it. 0 or -errno. */
int watchdog_start(struct volt_runtime *rt);

#endif
