/* lib/base/futex.h over the explorer. */
#include <errno.h>
#include "base/futex.h"
#include "mcx.h"

__attribute__((weak)) void mcx_time_passed(uint64_t ns)
{
    (void)ns;
}

int vfutex_wait(vat_u32 *word, uint32_t expected, uint64_t timeout_ns)
{
    int r = mcx_futex_wait(&word->v, expected, timeout_ns != UINT64_MAX);

    if (r != 2)
        return 0;
    mcx_time_passed(timeout_ns);
    return -ETIMEDOUT;
}

void vfutex_wake(vat_u32 *word, uint32_t n)
{
    mcx_futex_wake(&word->v, n);
}
