/* voltctl shutdown: end voltd, with or without its jobs. */
#include "client/job_view.h"
#include "client/progress.h"
#include "client/say.h"
#include "client/voltctl/verbs.h"

#include <errno.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { OPT_CANCEL = OPTION_LONG };

static const struct option_entry options[] = {
    {"cancel", OPT_CANCEL, NULL, "end all jobs first"},
    {"wait", 'w', NULL, "return when voltd has gone"},
    CTL_OPTIONS_END,
};

#define GONE_MSEC 10000 /* from the end of the connection to the end of the process */

/* The process that serves us, as a pidfd; -1: not to be had. */
static int open_process(struct ctl *ctl)
{
    struct client_reply reply = CLIENT_REPLY_EMPTY;
    int fd = -1;
    if (client_call(ctl->client, "org.voltd.control.Stats", NULL, &reply) == 0) {
        pid_t pid = (pid_t)job_view_int(reply.parameters, "pid");
        fd = pid > 0 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;
    }
    client_reply_fini(&reply);
    return fd;
}

/* The connection ends before the process does, which holds its directories to the last:
 * the next voltd could not start yet. In another PID namespace there is no such process
 * to be waited for, or a wrong one: hence the limit. */
static void wait_for_process(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    if (fd >= 0)
        (void)poll(&p, 1, GONE_MSEC);
}

/* Progress, to the end of the connection. */
static int follow_shutdown(struct ctl *ctl)
{
    struct progress_line line;
    progress_line_init(&line, true);
    uint64_t total = 0;
    int code = CTL_EXIT_OK, r = 1;
    while (r == 1) {
        struct client_reply reply = CLIENT_REPLY_EMPTY;
        r = client_receive(ctl->client, CLIENT_FOREVER, &reply);
        if (r == 1 && reply.error) {
            progress_line_clear(&line);
            code = ctl_refused(&reply);
            r = 0;
        } else if (r == 1) {
            uint64_t left = (uint64_t)job_view_int(reply.parameters, "left");
            total = left > total ? left : total;
            if (total > 0)
                progress_line_update(&line, total, total - left, 0);
        }
        client_reply_fini(&reply);
    }
    progress_line_clear(&line);
    return r == 0 || r == -ECONNRESET ? code : ctl_lost(r);
}

static int run(struct ctl *ctl)
{
    bool cancel = false, wait = false;
    int key;
    while ((key = ctl_option(ctl)) != OPTION_END) {
        if (key == OPTION_BAD)
            return ctl->code;
        cancel |= key == OPT_CANCEL;
        wait |= key == 'w';
    }
    if (!ctl_no_operands(ctl))
        return CTL_EXIT_USAGE;
    int code = ctl_open(ctl, ADDRESS_CONTROL);
    if (code != CTL_EXIT_OK)
        return code;
    json_t *params = json_pack("{s:b, s:b}", "cancel", cancel, "wait", wait);
    if (wait) {
        int process = open_process(ctl);
        int r =
            client_send(ctl->client, "org.voltd.control.Shutdown", params, CLIENT_MORE);
        code = r < 0 ? ctl_lost(r) : follow_shutdown(ctl);
        if (code == CTL_EXIT_OK)
            wait_for_process(process);
        if (process >= 0)
            (void)close(process);
        return code;
    }
    struct client_reply reply = CLIENT_REPLY_EMPTY;
    code = ctl_call(ctl, "org.voltd.control.Shutdown", params, &reply);
    client_reply_fini(&reply);
    return code;
}

const struct verb verb_shutdown = {
    .name = "shutdown",
    .operands = "",
    .summary = "End voltd; running jobs go on unless --cancel",
    .text =
        "Without --cancel running jobs go on, and their exit status is recorded; jobs\n"
        "that still wait are lost where voltd keeps its queue in memory.\n"
        "\nExample:\n  voltctl shutdown --cancel --wait\n",
    .options = options,
    .run = run,
};
