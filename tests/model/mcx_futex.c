/* lib/base/futex.h over the explorer. */
#include <errno.h>
#include "base/futex.h"

int vfutex_wait(vat_u32 *word, uint32_t expected, uint64_t timeout_ns)
{
    int r = mcx_futex_wait(&word->v, expected, timeout_ns != UINT64_MAX);

    return r == 2 ? -ETIMEDOUT : 0;
}

void vfutex_wake(vat_u32 *word, uint32_t n)
{
    mcx_futex_wake(&word->v, n);
}
