/* Waiting; see await.h. */
#include "client/await.h"
#include "client/job_view.h"
#include "client/progress.h"
#include "client/say.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <time.h>

#define PORTION      2000 /* ids in one call */
#define REASONS_MOST 10   /* jobs named one by one in the end */
#define RETRY_MSEC   200

struct waiting {
    const struct wait_request *rq;
    struct client **c;
    size_t first; /* of the portion being waited for */
    uint64_t total, done_before, failed_before;
    uint64_t done, failed;
    int exit_code;
    bool no_such_job, reconnected;
    unsigned reasons; /* said */
    unsigned unnamed; /* beyond REASONS_MOST */
    struct progress_line line;
};

int wait_interrupt_fd(void)
{
    sigset_t set;
    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGINT);
    (void)sigaddset(&set, SIGTERM);
    int fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (fd >= 0 && sigprocmask(SIG_BLOCK, &set, NULL) < 0)
        return -1;
    return fd;
}

void wait_say_interrupted(char *const *ids, size_t nids)
{
    if (nids == 1)
        say("interrupted; job %s goes on. Wait again: voltctl wait %s", ids[0], ids[0]);
    else
        say("interrupted; the %zu jobs go on. Wait again: voltctl wait %s ...", nids,
            ids[0]);
}

static void print_event(json_t *event)
{
    if (event && json_dumpf(event, stdout, JSON_COMPACT) == 0) {
        (void)putchar('\n');
        (void)fflush(stdout);
    }
    json_decref(event);
}

/* Results that are not the job's own code are explained. */
static void say_reason(struct waiting *w, const json_t *job)
{
    const char *result = job_view_string(job, "result");
    if (w->rq->json || !*result || strcmp(result, "success") == 0 ||
        strcmp(result, "exit") == 0)
        return;
    if (w->reasons == REASONS_MOST) {
        w->unnamed++;
        return;
    }
    w->reasons++;
    char text[256];
    job_view_outcome(job, text, sizeof(text));
    progress_line_clear(&w->line);
    say("job %s: %s", job_view_string(job, "id"), text);
}

/* An array as a whole: its elements that ended badly are asked for. */
static void say_reasons_of_array(struct waiting *w, const char *id)
{
    static const char *const results[] = {"signal",    "timeout", "exec_failed",
                                          "cancelled", "lost",    NULL};
    json_t *names = json_array();
    for (const char *const *r = results; *r; r++)
        (void)json_array_append_new(names, json_string(*r));
    json_t *params = json_pack("{s:{s:[s], s:o}, s:i}", "filter", "ids", id, "results",
                               names, "limit", REASONS_MOST + 1);
    struct client_reply reply = CLIENT_REPLY_EMPTY;
    int r = client_call(*w->c, "org.voltd.jobs.List", params, &reply);
    size_t i;
    const json_t *job;
    if (r == 0) {
        json_array_foreach(json_object_get(reply.parameters, "jobs"), i, job)
        {
            if (!json_is_object(json_object_get(job, "counts")))
                say_reason(w, job);
        }
    }
    client_reply_fini(&reply);
}

static void take_jobs(struct waiting *w, const json_t *jobs)
{
    size_t i;
    const json_t *job;
    json_array_foreach(jobs, i, job)
    {
        const json_t *counts = json_object_get(job, "counts");
        if (!json_is_object(counts))
            say_reason(w, job);
        else if (job_view_int(counts, "failed") > 0 && !w->rq->json)
            say_reasons_of_array(w, job_view_string(job, "id"));
    }
}

static void take_progress(struct waiting *w, const json_t *p)
{
    uint64_t left = (uint64_t)job_view_int(p, "left");
    bool last = w->first + PORTION >= w->rq->nids;
    if (w->total < left + w->done_before)
        w->total = left + w->done_before;
    if (last)
        w->done = w->total > left ? w->total - left : 0;
    else
        w->done = w->done_before + (PORTION > left ? PORTION - left : 0);
    w->failed = w->failed_before + (uint64_t)job_view_int(p, "failed");
    if (w->rq->json)
        print_event(json_pack("{s:s, s:I, s:I, s:I}", "event", "progress", "total",
                              (json_int_t)w->total, "done", (json_int_t)w->done, "failed",
                              (json_int_t)w->failed));
    else if (w->total > 1)
        progress_line_update(&w->line, w->total, w->done, w->failed);
}

static int max_code(int a, int b)
{
    return a > b ? a : b;
}

/* One portion on the current connection. 0: ended; 1: an error reply, said, exit_code
 * set; negative as client_receive(). */
static int wait_portion(struct waiting *w)
{
    size_t n = w->rq->nids - w->first < PORTION ? w->rq->nids - w->first : PORTION;
    json_t *ids = json_array();
    for (size_t i = 0; i < n; i++)
        (void)json_array_append_new(ids, json_string(w->rq->ids[w->first + i]));
    int r = client_send(*w->c, "org.voltd.jobs.Wait", json_pack("{s:o}", "ids", ids),
                        CLIENT_MORE);
    while (r == 0) {
        struct client_reply reply = CLIENT_REPLY_EMPTY;
        r = client_receive(*w->c, CLIENT_FOREVER, &reply);
        if (r < 0)
            return r;
        if (client_error_is(&reply, "ShuttingDown")) {
            client_reply_fini(&reply);
            return -ECONNRESET;
        }
        if (reply.error) {
            progress_line_clear(&w->line);
            say_error(&reply);
            w->no_such_job = client_error_is(&reply, "NoSuchJob");
            w->exit_code = WAIT_EXIT_VOLT_FAILED;
            client_reply_fini(&reply);
            return 1;
        }
        if (!job_view_bool(reply.parameters, "heartbeat"))
            take_progress(w, reply.parameters);
        r = reply.continues ? 0 : 1;
        if (!reply.continues) {
            w->exit_code =
                max_code(w->exit_code, (int)job_view_int(reply.parameters, "exit_code"));
            take_jobs(w, json_object_get(reply.parameters, "jobs"));
        }
        client_reply_fini(&reply);
    }
    return r < 0 ? r : 0;
}

static uint64_t now_usec(void)
{
    struct timespec ts;
    (void)clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
}

/* 0: connected again; -EINTR; -ECONNRESET: the time is up. */
static int reconnect(struct waiting *w)
{
    client_free(*w->c);
    *w->c = NULL;
    progress_line_clear(&w->line);
    uint64_t limit = w->rq->reconnect_usec;
    if (limit == 0) {
        say_lost(-ECONNRESET);
        return -ECONNRESET;
    }
    say("the connection to voltd is lost; trying again for %" PRIu64 " s",
        limit / 1000000);
    uint64_t deadline = now_usec() + limit;
    struct client_tried tried;
    for (;;) {
        if (client_open(w->rq->choice, ADDRESS_JOBS, w->c, &tried) == 0) {
            client_set_interrupt_fd(*w->c, w->rq->interrupt);
            say("connected again");
            w->reconnected = true;
            return 0;
        }
        if (now_usec() >= deadline) {
            say("voltd did not come back; the running jobs go on. "
                "Wait again: voltctl wait %s%s",
                w->rq->ids[0], w->rq->nids > 1 ? " ..." : "");
            return -ECONNRESET;
        }
        struct pollfd p = {.fd = w->rq->interrupt, .events = POLLIN};
        if (poll(&p, 1, RETRY_MSEC) > 0)
            return -EINTR;
    }
}

/* Adds to *left what a snapshot's job still has to do. */
static void count_left(const json_t *job, uint64_t *left)
{
    const json_t *counts = json_object_get(job, "counts");
    if (json_is_object(counts))
        *left += (uint64_t)(job_view_int(counts, "total") - job_view_int(counts, "done"));
    else
        *left += strcmp(job_view_string(job, "state"), "done") != 0;
}

/* Prints one Watch reply. True when every job has ended or counting is of no use. */
static bool print_watch(const json_t *p, uint64_t *left)
{
    size_t i;
    json_t *item;
    json_array_foreach(json_object_get(p, "jobs"), i, item)
    {
        count_left(item, left);
        json_t *event = json_pack("{s:s}", "event", "snapshot");
        (void)json_object_update(event, item);
        print_event(event);
    }
    json_array_foreach(json_object_get(p, "events"), i, item)
    {
        if (strcmp(job_view_string(item, "state"), "done") == 0 && *left > 0)
            (*left)--;
        print_event(json_incref(item));
    }
    return *left == 0 || job_view_int(p, "lagged") > 0;
}

/* With JSON: the events of the jobs until the last has ended. What goes wrong here is
 * left to the Wait call that follows. 0, or -EINTR. */
static int print_events(const struct wait_request *rq)
{
    struct client *c;
    struct client_tried tried;
    if (rq->nids > PORTION || client_open(rq->choice, ADDRESS_JOBS, &c, &tried) < 0)
        return 0;
    client_set_interrupt_fd(c, rq->interrupt);
    json_t *ids = json_array();
    for (size_t i = 0; i < rq->nids; i++)
        (void)json_array_append_new(ids, json_string(rq->ids[i]));
    uint64_t left = 0;
    bool over = false;
    int r = client_send(c, "org.voltd.jobs.Watch",
                        json_pack("{s:{s:o}}", "filter", "ids", ids), CLIENT_MORE);
    while (r == 0 && !over) {
        struct client_reply reply = CLIENT_REPLY_EMPTY;
        r = client_receive(c, CLIENT_FOREVER, &reply);
        if (r == 1) {
            over = reply.error || !reply.continues ||
                   (!job_view_bool(reply.parameters, "heartbeat") &&
                    print_watch(reply.parameters, &left));
            r = 0;
        }
        client_reply_fini(&reply);
    }
    client_free(c);
    return r == -EINTR ? r : 0;
}

/* The end: one line for people, or one event. */
static void conclude(struct waiting *w)
{
    if (w->rq->json) {
        print_event(json_pack("{s:s, s:I, s:I, s:i}", "event", "finished", "total",
                              (json_int_t)w->total, "failed", (json_int_t)w->failed,
                              "exit_code", w->exit_code));
        return;
    }
    if (w->line.shown)
        (void)fputc('\n', stderr);
    if (w->unnamed > 0)
        say("and %u more", w->unnamed);
    if (w->total > 1 && !w->rq->quiet)
        say("%" PRIu64 " jobs ended: %" PRIu64 " succeeded, %" PRIu64 " failed", w->total,
            w->total - w->failed, w->failed);
}

/* An error reply has been said. */
static int refused(const struct waiting *w)
{
    if (w->no_such_job && w->reconnected)
        say("this voltd keeps jobs in memory and has been restarted; what it found again is "
            "in `voltctl list --orphans`");
    return w->no_such_job ? w->rq->no_such_job_code : w->exit_code;
}

int wait_for_jobs(struct client **c, const struct wait_request *rq)
{
    struct waiting w = {.rq = rq, .c = c, .total = rq->total};
    if (w.total == 0 && rq->nids > 1)
        w.total = rq->nids;
    progress_line_init(&w.line, !rq->quiet && !rq->json);
    client_set_interrupt_fd(*c, rq->interrupt);
    int r = rq->json ? print_events(rq) : 0;
    while (r >= 0 && w.first < rq->nids) {
        r = wait_portion(&w);
        if (r == 1)
            return refused(&w);
        if (r == -ECONNRESET) {
            r = reconnect(&w);
        } else if (r == 0) {
            w.first += PORTION;
            w.done_before = w.done;
            w.failed_before = w.failed;
        }
    }
    if (r == 0) {
        conclude(&w);
        return w.exit_code;
    }
    progress_line_clear(&w.line);
    if (r == -EINTR) {
        wait_say_interrupted(rq->ids, rq->nids);
        return WAIT_EXIT_INTERRUPTED;
    }
    if (r != -ECONNRESET)
        say_lost(r);
    return WAIT_EXIT_VOLT_FAILED;
}
