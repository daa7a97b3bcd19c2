/* Crash points: named places where the chaos suite lets a process die as by kill -9.
 *
 * Only in builds with -DVOLT_CRASH_POINTS (make CHAOS=1); elsewhere CRASH_POINT is
 * nothing. With VOLT_CRASH_DIR=DIR in the environment each hit adds a line with its pid
 * to DIR/<point>: the number of the line is the number of the hit, over all processes and
 * restarts. With VOLT_CRASH_AT=point#n the process that makes hit number n is killed,
 * once.
 *
 * Names are unique, and `grep -rho 'CRASH_POINT("[^"]*")' lib daemon` lists them all; the
 * suite proves that it has hit each. Async-signal-safe: a point may stand after fork. */
#ifndef VOLT_BASE_CRASH_H
#define VOLT_BASE_CRASH_H

#ifdef VOLT_CRASH_POINTS
void crash_point(const char *name);
#define CRASH_POINT(name) crash_point(name)
#else
#define CRASH_POINT(name) ((void)0)
#endif

#endif
