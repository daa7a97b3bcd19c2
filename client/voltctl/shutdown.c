/* voltctl shutdown: ends voltd, with or without its jobs. */
#include "client/job_view.h"
#include "client/patience.h"
#include "client/progress.h"
#include "client/say.h"
#include "client/voltctl/verbs.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { OPT_CANCEL = OPTION_LONG };

static const struct option_entry options[] = {
    {"cancel", OPT_CANCEL, NULL, "end all jobs first"},
    {"wait", 'w', NULL, "return when voltd has gone"},
    CTL_OPTIONS_END,
};

#define GONE_MSEC 10000 /* from the end of the connection to the end of the process */

/* Returns a pidfd of the voltd that serves us; -1: not available. */
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

/* Waits for the process, which ends after the connection and has its directories until
 * then: another voltd could not start yet. In another PID namespace the process is
 * missing or wrong, hence the limit. */
static void wait_for_process(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    if (fd >= 0)
        (void)poll(&p, 1, GONE_MSEC);
}

struct stopping {
    struct client *jobs; /* names jobs waited for; NULL: not available */
    struct progress_line line;
    struct patience patience;
    uint64_t total, left;
};

/* Takes a reply. Returns 1; 0: refused, after an error message, with *code. */
static int take_reply(struct stopping *s, const struct client_reply *reply, int *code)
{
    if (reply->error) {
        progress_line_clear(&s->line);
        *code = ctl_refused(reply);
        return 0;
    }
    s->left = (uint64_t)job_view_int(reply->parameters, "left");
    s->total = s->left > s->total ? s->left : s->total;
    if (s->total > 0)
        progress_line_update(&s->line, s->total, s->total - s->left, 0);
    return 1;
}

static void say_patience(struct stopping *s)
{
    char names[512];
    if (!patience_is_over(&s->patience) || s->left == 0)
        return;
    progress_line_clear(&s->line);
    bool any = s->jobs &&
               patience_name(s->jobs, json_object(), PATIENCE_ALL, names, sizeof(names));
    say("waiting for the end of %" PRIu64 " job%s%s%s", s->left, s->left == 1 ? "" : "s",
        any ? ": " : "", any ? names : "");
}

/* Shows progress until the connection ends. */
static int follow_shutdown(struct ctl *ctl, struct stopping *s)
{
    int code = CTL_EXIT_OK, r = 1;
    progress_line_init(&s->line, true);
    patience_init(&s->patience);
    while (r == 1) {
        struct client_reply reply = CLIENT_REPLY_EMPTY;
        r = client_receive(ctl->client, patience_left(&s->patience), &reply);
        if (r == 1)
            r = take_reply(s, &reply, &code);
        else if (r == 0)
            r = 1;
        client_reply_fini(&reply);
        if (r == 1)
            say_patience(s);
    }
    progress_line_clear(&s->line);
    return r == 0 || r == -ECONNRESET ? code : ctl_lost(r);
}

/* Opens a connection to name jobs while voltd ends. A first call is answered on it, as an
 * ending voltd closes connections not yet accepted. NULL: not available. */
static struct client *open_jobs(struct ctl *ctl)
{
    struct client_reply reply = CLIENT_REPLY_EMPTY;
    struct client_tried tried;
    struct client *ret;
    if (client_open(&ctl->choice, ADDRESS_JOBS, &ret, &tried) < 0)
        return NULL;
    if (client_call(ret, "org.varlink.service.GetInfo", NULL, &reply) < 0) {
        client_free(ret);
        ret = NULL;
    }
    client_reply_fini(&reply);
    return ret;
}

/* Prints how many jobs wait, as a queue that no voltd serves is easily forgotten, and how
 * many run on. */
static void print_left(const struct client *c, int64_t waits, int64_t runs)
{
    const char *next = client_is_own(c) ? "volt-submit or `systemctl --user start voltd`"
                                        : "`systemctl start voltd`";
    char on[48] = "";
    if (runs > 0)
        (void)snprintf(on, sizeof(on), "%" PRId64 "%s run%s on", runs,
                       waits > 0   ? ""
                       : runs == 1 ? " job"
                                   : " jobs",
                       runs == 1 ? "s" : "");
    if (waits > 0)
        say("%" PRId64 " job%s until the next voltd starts, by %s%s%s", waits,
            waits == 1 ? " waits" : "s wait", next, *on ? "; " : "", on);
    else if (*on)
        say("%s", on);
}

static void say_left(struct ctl *ctl)
{
    static const char *const runs[] = {"starting", "running", "paused", "stopping"};
    struct client_reply reply = CLIENT_REPLY_EMPTY;
    int64_t sum = 0;
    if (client_call(ctl->client, "org.voltd.control.Stats", NULL, &reply) == 0) {
        const json_t *jobs = json_object_get(reply.parameters, "jobs");
        for (size_t i = 0; i < sizeof(runs) / sizeof(runs[0]); i++)
            sum += job_view_int(jobs, runs[i]);
        print_left(ctl->client, job_view_int(jobs, "queued"), sum);
    }
    client_reply_fini(&reply);
}

/* Shuts voltd down, and waits until its process has ended. */
static int shutdown_and_wait(struct ctl *ctl, json_t *params)
{
    struct stopping s = {.jobs = open_jobs(ctl)};
    int process = open_process(ctl);
    int r = client_send(ctl->client, "org.voltd.control.Shutdown", params, CLIENT_MORE);
    int code = r < 0 ? ctl_lost(r) : follow_shutdown(ctl, &s);
    if (code == CTL_EXIT_OK)
        wait_for_process(process);
    if (process >= 0)
        (void)close(process);
    client_free(s.jobs);
    return code;
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
    if (!cancel)
        say_left(ctl);
    json_t *params = json_pack("{s:b, s:b}", "cancel", cancel, "wait", wait);
    if (wait)
        return shutdown_and_wait(ctl, params);
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
        "Without --cancel running jobs go on, and their exit status is recorded. It says\n"
        "how many jobs wait for the next voltd, and how many run on. With --wait it\n"
        "names the jobs that it waits for, first after 5 s.\n"
        "\n"
        "Example:\n"
        "  voltctl shutdown --cancel --wait\n",
    .options = options,
    .run = run,
};
