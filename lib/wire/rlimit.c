/* See rlimit.h. */
#include "wire/rlimit.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

_Static_assert(RLIM_NLIMITS == RLIMIT_COUNT, "every resource has its name");
_Static_assert(RLIM_INFINITY == RLIMIT_NONE, "limits are numbers of 64 bits");

const char *const rlimit_names[RLIMIT_COUNT + 1] = {
    [RLIMIT_AS] = "as",
    [RLIMIT_CORE] = "core",
    [RLIMIT_CPU] = "cpu",
    [RLIMIT_DATA] = "data",
    [RLIMIT_FSIZE] = "fsize",
    [RLIMIT_LOCKS] = "locks",
    [RLIMIT_MEMLOCK] = "memlock",
    [RLIMIT_MSGQUEUE] = "msgqueue",
    [RLIMIT_NICE] = "nice",
    [RLIMIT_NOFILE] = "nofile",
    [RLIMIT_NPROC] = "nproc",
    [RLIMIT_RSS] = "rss",
    [RLIMIT_RTPRIO] = "rtprio",
    [RLIMIT_RTTIME] = "rttime",
    [RLIMIT_SIGPENDING] = "sigpending",
    [RLIMIT_STACK] = "stack",
};

int rlimit_number(const char *name)
{
    for (int i = 0; i < RLIMIT_COUNT; i++)
        if (rlimit_names[i][0] == name[0] && strcmp(rlimit_names[i], name) == 0)
            return i;
    return -1;
}

/* Reads the value at *text and moves *text behind it. */
static bool take_value(const char **text, uint64_t *ret)
{
    static const char none[] = "infinity";
    char *end;

    if (strncmp(*text, none, sizeof(none) - 1) == 0) {
        *text += sizeof(none) - 1;
        *ret = RLIMIT_NONE;
        return true;
    }
    if (**text < '0' || **text > '9')
        return false;
    errno = 0;
    *ret = strtoull(*text, &end, 10);
    *text = end;
    return errno == 0 && *ret != RLIMIT_NONE;
}

int rlimit_parse(const char *text, uint64_t *ret_soft, uint64_t *ret_hard)
{
    uint64_t soft, hard;

    if (!take_value(&text, &soft))
        return -EINVAL;
    hard = soft;
    if (*text == ':') {
        text++;
        if (!take_value(&text, &hard))
            return -EINVAL;
    }
    if (*text || soft > hard)
        return -EINVAL;
    *ret_soft = soft;
    *ret_hard = hard;
    return 0;
}

static int put_value(char *buf, size_t size, uint64_t value)
{
    return value == RLIMIT_NONE ? snprintf(buf, size, "infinity")
                                : snprintf(buf, size, "%" PRIu64, value);
}

const char *rlimit_format(uint64_t soft, uint64_t hard, char buf[static RLIMIT_TEXT_MAX])
{
    int n = put_value(buf, RLIMIT_TEXT_MAX, soft);

    if (soft != hard) {
        buf[n++] = ':';
        (void)put_value(buf + n, (size_t)(RLIMIT_TEXT_MAX - n), hard);
    }
    return buf;
}
