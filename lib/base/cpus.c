#include "base/cpus.h"

#include <sched.h>

/* The kernel refuses a set that is smaller than its own: a cpu_set_t, of 1,024 CPUs, on
 * large machines. This one holds 65,536; no kernel can be built for more than 8,192. */
#define SETS 64

unsigned cpus_usable(void)
{
    cpu_set_t set[SETS];

    if (sched_getaffinity(0, sizeof(set), set) < 0)
        return 1; /* a filter of system calls forbids it */
    return (unsigned)CPU_COUNT_S(sizeof(set), set);
}
