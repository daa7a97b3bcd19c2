/* libsystemd behind five verbs: see sysd.h. */
#include "daemon/sysd/sysd.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#define SD_JOURNAL_SUPPRESS_LOCATION /* source lines of voltd are no use to readers */
#include <systemd/sd-daemon.h>
#include <systemd/sd-journal.h>
#include <time.h>
#include <unistd.h>

static int refuse(struct volt_error *err, const char *name, const char *reason)
{
    if (err)
        (void)snprintf(err->text, sizeof(err->text), "socket '%.60s' from systemd %s",
                       name, reason);
    return -EINVAL;
}

static int take_socket(int fd, const char *name, const char *const names[], int fds[],
                       size_t count, struct volt_error *err)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(name, names[i]) != 0)
            continue;
        if (fds[i] >= 0)
            return refuse(err, name, "came twice");
        if (sd_is_socket_unix(fd, SOCK_STREAM, 1, NULL, 0) <= 0)
            return refuse(err, name, "is not a listening Unix stream socket");
        fds[i] = fd;
        return 0;
    }
    return refuse(err, name, "has a FileDescriptorName= that voltd does not know");
}

int sysd_take_sockets(const char *const names[], int fds[], size_t count,
                      struct volt_error *err)
{
    char **given = NULL;
    int r = 0;

    for (size_t i = 0; i < count; i++)
        fds[i] = -1;
    int n = sd_listen_fds_with_names(1, &given);
    if (n < 0)
        return refuse(err, "?", strerror(-n));
    for (int i = 0; i < n; i++) {
        if (r == 0)
            r = take_socket(SD_LISTEN_FDS_START + i, given[i], names, fds, count, err);
        free(given[i]);
    }
    free(given);
    if (r == 0)
        return n;
    for (int i = 0; i < n; i++)
        (void)close(SD_LISTEN_FDS_START + i);
    for (size_t i = 0; i < count; i++)
        fds[i] = -1;
    return r;
}

static int notify(const char *text)
{
    int r = sd_notify(0, text);
    return r < 0 ? r : 0;
}

int sysd_notify_ready(void)
{
    return notify("READY=1");
}

int sysd_notify_stopping(void)
{
    return notify("STOPPING=1");
}

int sysd_notify_watchdog(void)
{
    return notify("WATCHDOG=1");
}

/* Type=notify-reload of newer systemd needs the time; older versions ignore it. */
int sysd_notify_reloading(void)
{
    struct timespec now;
    char text[64];
    if (clock_gettime(CLOCK_MONOTONIC, &now) < 0)
        return -errno;
    (void)snprintf(text, sizeof(text), "RELOADING=1\nMONOTONIC_USEC=%llu",
                   (unsigned long long)now.tv_sec * 1000000 +
                       (unsigned long long)now.tv_nsec / 1000);
    return notify(text);
}

int sysd_notify_status(const char *format, ...)
{
    char text[512] = "STATUS=";
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text + 7, sizeof(text) - 7, format, args);
    va_end(args);
    return notify(text);
}

int sysd_journal_send(const char *const fields[], size_t n)
{
    struct iovec parts[16];

    if (n > sizeof(parts) / sizeof(parts[0]))
        return -E2BIG;
    for (size_t i = 0; i < n; i++)
        parts[i] = (struct iovec){(void *)(uintptr_t)fields[i], strlen(fields[i])};
    return sd_journal_sendv(parts, (int)n);
}

uint64_t sysd_watchdog_usec(void)
{
    uint64_t usec = 0;
    return sd_watchdog_enabled(0, &usec) > 0 ? usec : 0;
}
