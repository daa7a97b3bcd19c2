/* See signal_name.h. */
#include "wire/signal_name.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Parses a decimal number of one or two digits without a sign; -EINVAL otherwise. */
static int small_number(const char *text)
{
    size_t len = strspn(text, "0123456789");

    return len >= 1 && len <= 2 && !text[len] ? atoi(text) : -EINVAL;
}

int signal_from_name(const char *name)
{
    int n = small_number(name);

    if (n >= 0)
        return n >= 1 && n <= SIGRTMAX ? n : -EINVAL;
    if (strncmp(name, "SIG", 3) == 0)
        name += 3;
    if (strcmp(name, "RTMIN") == 0)
        return SIGRTMIN;
    if (strncmp(name, "RTMIN+", 6) == 0) {
        n = small_number(name + 6);
        return n >= 0 && n <= SIGRTMAX - SIGRTMIN ? SIGRTMIN + n : -EINVAL;
    }
    for (int i = 1; i < SIGRTMIN; i++) {
        const char *known = sigabbrev_np(i);
        if (known && strcmp(known, name) == 0)
            return i;
    }
    return -EINVAL;
}

const char *signal_name(int signal, char buf[SIGNAL_NAME_MAX])
{
    const char *known = sigabbrev_np(signal);

    if (known)
        (void)snprintf(buf, SIGNAL_NAME_MAX, "SIG%s", known);
    else if (signal == SIGRTMIN)
        (void)snprintf(buf, SIGNAL_NAME_MAX, "SIGRTMIN");
    else if (signal > SIGRTMIN && signal <= SIGRTMAX)
        (void)snprintf(buf, SIGNAL_NAME_MAX, "SIGRTMIN+%d", signal - SIGRTMIN);
    else
        (void)snprintf(buf, SIGNAL_NAME_MAX, "%d", signal);
    return buf;
}
