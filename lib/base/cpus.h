/* The processors. */
#ifndef VOLT_BASE_CPUS_H
#define VOLT_BASE_CPUS_H

/* Returns the number of CPUs that the calling thread may use now, at least 1. */
unsigned cpus_usable(void);

#endif
