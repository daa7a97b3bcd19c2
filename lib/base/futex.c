/* futex(2), private, relative timeouts on the monotonic clock. */
#include "base/futex.h"

#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int vfutex_wait(vat_u32 *word, uint32_t expected, uint64_t timeout_ns)
{
    struct timespec ts = {
        .tv_sec = (time_t)(timeout_ns / 1000000000),
        .tv_nsec = (long)(timeout_ns % 1000000000),
    };
    long r = syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, expected,
                     timeout_ns == UINT64_MAX ? NULL : &ts, NULL, 0);

    return r < 0 && errno == ETIMEDOUT ? -ETIMEDOUT : 0;
}

void vfutex_wake(vat_u32 *word, uint32_t n)
{
    (void)syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, n, NULL, NULL, 0);
}
