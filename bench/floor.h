/* What the hardware and the kernel take for the single steps of a runtime, measured where
 * and when it matters: in the process of the workload. Nanoseconds unless it says more.
 * Each is measured at its first call and remembered. NaN where it needs two processors
 * and there is one.
 *
 * The limits of the workloads are sums of these: what the work would take if nothing but
 * the unavoidable steps were done, each at its best. */
#ifndef BENCH_FLOOR_H
#define BENCH_FLOOR_H

double floor_rmw(void);          /* a locked add, nobody else there */
double floor_cas_pair(void);     /* lock and unlock by two CAS, nobody else there */
double floor_call(void);         /* a call through a pointer */
double floor_touch(void);        /* writing the next 128-byte object of many */
double floor_clock_read(void);   /* clock_gettime */
double floor_eventfd_trip(void); /* write and read */
double floor_shared_add(void);   /* two threads at one counter: per add */
double floor_shared_pair(void);  /* two threads at one lock of two CAS: per pair */
double floor_message(void);      /* a pointer through a ring to another processor */
double floor_core_to_core(void); /* a cache line there and back */
double floor_futex_trip(void);   /* two threads that wake each other: there and back */
double floor_wake_p50(void);     /* microseconds from futex wake to the sleeper running */
double floor_wake_p99(void);
double floor_sleep_p50(void); /* microseconds that a sleep is late, timer slack 1 ns */
double floor_sleep_p99(void);
double
floor_share(void); /* 20,000 pieces of 10 us on two threads: part of the time used */

#endif
