/* Crash points of test builds: see crash.h. */
#include "base/crash.h"

#ifdef VOLT_CRASH_POINTS
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LINE 16 /* bytes of one hit */

static const char *dir, *at;

/* Once, before main: a job's own environment, which its process takes on before exec, is
 * none of ours. */
__attribute__((constructor)) static void read_environment(void)
{
    dir = getenv("VOLT_CRASH_DIR");
    at = getenv("VOLT_CRASH_AT");
}

/* Adds a hit of the point. Returns its number from 1 on; 0: unknown. */
static long count_hit(const char *name)
{
    char path[PATH_MAX], line[LINE + 1];
    long number = 0;

    (void)snprintf(path, sizeof(path), "%s/%s", dir, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (fd < 0)
        return 0;
    (void)snprintf(line, sizeof(line), "%15d\n", (int)getpid());
    if (write(fd, line, LINE) == LINE) /* which leaves the offset behind it */
        number = (long)lseek(fd, 0, SEEK_CUR) / LINE;
    (void)close(fd);
    return number;
}

void crash_point(const char *name)
{
    size_t len = strlen(name);
    int saved = errno;

    if (dir != NULL) {
        long number = count_hit(name);
        if (number > 0 && at != NULL && strncmp(at, name, len) == 0 && at[len] == '#' &&
            strtol(at + len + 1, NULL, 10) == number)
            (void)kill(getpid(), SIGKILL);
    }
    errno = saved;
}
#endif
