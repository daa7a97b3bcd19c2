/* Preloaded into a voltd whose syncs are to do nothing, as if it had forgotten each. */
#include <unistd.h>

int fsync(int fd)
{
    (void)fd;
    return 0;
}

int fdatasync(int fd)
{
    (void)fd;
    return 0;
}
