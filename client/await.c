/* See await.h. */
#include "client/await.h"
#include "client/ends.h"
#include "client/id_range.h"
#include "client/failures.h"
#include "client/inside.h"
#include "client/job_view.h"
#include "client/patience.h"
#include "client/progress.h"
#include "client/reconnect.h"
#include "client/retry_watch.h"
#include "client/say.h"
#include "client/term.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#define PORTIONS_MOST 16 /* waited for at the same time; the rest follow */

/* A portion of the ids. Each has a connection of its own while it is waited for. So a
 * slow job in one portion does not delay the news of another until voltd has forgotten
 * its jobs. */
struct portion {
    struct client *c; /* NULL: not being waited for */
    json_t *ids;
    struct ends ends; /* of its jobs; an array counts as its elements */
    uint64_t left;    /* of these, not ended */
    bool ended;
    bool forgotten; /* some had been purged before the wait began */
};

struct waiting {
    const struct wait_request *rq;
    struct client **c;
    struct portion *portions;
    size_t nportions;
    struct ends ends; /* sums over the portions */
    uint64_t done;
    int exit_code;
    bool no_such_job, reconnected;
    bool progressed; /* not all had ended at the first answer */
    struct failures failures;
    struct progress_line line;
    struct patience patience;
};

int wait_interrupt_fd(void)
{
    static const int signals[] = {SIGINT, SIGTERM};
    sigset_t set;
    (void)sigemptyset(&set);
    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
        struct sigaction now;
        if (sigaction(signals[i], NULL, &now) == 0 && now.sa_handler != SIG_IGN)
            (void)sigaddset(&set, signals[i]);
    }
    int fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (fd >= 0 && sigprocmask(SIG_BLOCK, &set, NULL) < 0)
        return -1;
    return fd;
}

void wait_say_interrupted(char *const *ids, size_t nids)
{
    char text[256];
    id_range_format(ids, nids, text, sizeof(text));
    if (nids == 1)
        say("interrupted; job %s goes on. Wait again: voltctl wait %s", ids[0], ids[0]);
    else
        say("interrupted; the %zu jobs go on. Wait again: voltctl wait %s", nids, text);
}

static void print_event(json_t *event)
{
    if (event && term_put_json(event) == 0) {
        (void)putchar('\n');
        (void)say_flush();
    }
    json_decref(event);
}

/* Prints the job that ended first: its id, or with JSON the job with its spec. */
static void print_first(const struct wait_request *rq, struct client *c, const char *id,
                        int code)
{
    struct client_reply reply = CLIENT_REPLY_EMPTY;
    char outcome[256];
    int r = client_call(c, "org.voltd.jobs.Get",
                        json_pack("{s:s, s:b}", "id", id, "with_spec", 1), &reply);
    json_t *job = r == 0 ? json_object_get(reply.parameters, "job") : NULL;
    if (job && rq->json)
        print_event(json_incref(job));
    else if (!rq->json)
        term_print("%s\n", id);
    if (job && code != 0 && !rq->quiet && !rq->json) {
        job_view_outcome(job, outcome, sizeof(outcome));
        say("job %s: %s", id, outcome);
    }
    client_reply_fini(&reply);
}

/* Reports failures of a portion whose jobs have all ended; with `any` the first. */
static void take_ended(struct waiting *w, struct portion *p, const json_t *jobs)
{
    const char *id = job_view_string(json_array_get(jobs, 0), "id");
    if (w->rq->any && *id)
        print_first(w->rq, p->c, id, w->exit_code);
    if (w->rq->any)
        return;
    if (w->rq->json || (p->ends.failed == 0 && w->exit_code == 0))
        return;
    progress_line_clear(&w->line);
    w->failures.all = !w->rq->quiet && (w->ends.total > 1 || json_array_size(jobs) > 0);
    w->failures.cancelled = w->ends.total == 1;
    w->failures.lines = !w->rq->quiet && (w->ends.total > 1 || !w->rq->printed);
    failures_say(&w->failures, p->c, p->ids, jobs);
}

/* Takes the counts of an answer, which cover the jobs of the portion that voltd knows. */
static void count(const struct wait_request *rq, struct portion *p, const json_t *told)
{
    const json_t *total = json_object_get(told, "total");
    struct ends *e = &p->ends;
    p->left = (uint64_t)job_view_int(told, "left");
    e->unknown = (uint64_t)job_view_int(told, "unknown");
    e->failed = (uint64_t)job_view_int(told, "failed") - e->unknown;
    e->cancelled = (uint64_t)job_view_int(told, "cancelled");
    if (total)
        e->total = (uint64_t)json_integer_value(total);
    if (p->forgotten && rq->nids == 1 && rq->total > 0) /* its elements, too */
        e->unknown = e->total = rq->total;
    if (e->total < p->left) /* an older voltd, which sends no total */
        e->total = p->left;
}

static void sum_up(struct waiting *w)
{
    struct ends *sum = &w->ends;
    *sum = (struct ends){0};
    w->done = 0;
    for (size_t i = 0; i < w->nportions; i++) {
        const struct ends *e = &w->portions[i].ends;
        w->done += e->total - w->portions[i].left;
        sum->total += e->total;
        sum->failed += e->failed;
        sum->cancelled += e->cancelled;
        sum->unknown += e->unknown;
    }
}

/* Returns an event with one more member. */
static json_t *event_of(const struct waiting *w, const char *event, const char *member,
                        json_int_t value)
{
    json_t *e = json_pack("{s:s, s:I, s:I, s:I}", "event", event, "total",
                          (json_int_t)w->ends.total, member, value, "failed",
                          (json_int_t)w->ends.failed);
    if (w->ends.cancelled > 0)
        (void)json_object_set_new(e, "cancelled",
                                  json_integer((json_int_t)w->ends.cancelled));
    return e;
}

static void show_progress(struct waiting *w)
{
    sum_up(w);
    w->progressed |= w->done < w->ends.total;
    if (w->rq->any)
        return;
    if (w->rq->json && w->progressed)
        print_event(event_of(w, "progress", "done", (json_int_t)w->done));
    else if (!w->rq->json && w->ends.total > 1)
        progress_line_update(&w->line, w->ends.total, w->done, w->ends.failed);
}

/* --- portions ----------------------------------------------------------------------- */

static int split(struct waiting *w)
{
    const struct wait_request *rq = w->rq;
    w->portions = calloc(rq->nids / ID_PORTION_LEAST + 1, sizeof(*w->portions));
    if (!w->portions)
        return -ENOMEM;
    for (size_t at = 0, n; at < rq->nids; at += n) {
        struct portion *p = &w->portions[w->nportions++];
        n = rq->any ? rq->nids : id_portion(rq->ids + at, rq->nids - at);
        p->ids = id_list(rq->ids + at, n);
        if (!p->ids)
            return -ENOMEM;
        p->left = p->ends.total = n; /* until the first answer */
    }
    if (rq->nids == 1 && rq->total > 0)
        w->portions->left = w->portions->ends.total = rq->total;
    return 0;
}

static void stop_portion(struct waiting *w, struct portion *p)
{
    if (p->c != *w->c)
        client_free(p->c);
    p->c = NULL;
}

static void portions_free(struct waiting *w)
{
    for (size_t i = 0; i < w->nportions; i++) {
        stop_portion(w, &w->portions[i]);
        json_decref(w->portions[i].ids);
    }
    free(w->portions);
}

static bool main_connection_busy(const struct waiting *w)
{
    for (size_t i = 0; i < w->nportions; i++)
        if (w->portions[i].c == *w->c)
            return true;
    return false;
}

static int send_wait(const struct waiting *w, struct portion *p)
{
    json_t *params = json_pack("{s:O, s:o*, s:o*}", "ids", p->ids, "any",
                               w->rq->any ? json_true() : NULL, "forgotten",
                               p->forgotten ? json_true() : NULL);
    inside_add(params, p->c);
    return client_send(p->c, "org.voltd.jobs.Wait", params, CLIENT_MORE);
}

static int start_portion(struct waiting *w, struct portion *p)
{
    struct client_tried tried;
    p->c = *w->c;
    if (main_connection_busy(w) && p != &w->portions[0])
        p->c = NULL;
    return p->c || client_open(w->rq->choice, ADDRESS_JOBS, &p->c, &tried) == 0
               ? send_wait(w, p)
               : -ECONNRESET;
}

/* Takes a reply. Returns 0; 1: refused, after an error message, with exit_code set;
 * negative as client_receive(). */
static int take_reply(struct waiting *w, struct portion *p,
                      const struct client_reply *reply)
{
    if (client_error_is(reply, "ShuttingDown"))
        return -ECONNRESET;
    bool unknown = client_error_is(reply, "NoSuchJob");
    if (unknown && w->rq->own && !w->reconnected && !p->forgotten) {
        p->forgotten = true;
        return send_wait(w, p);
    }
    if (reply->error) {
        progress_line_clear(&w->line);
        say_error(reply);
        w->no_such_job = unknown;
        return 1;
    }
    if (!job_view_bool(reply->parameters, "heartbeat")) {
        count(w->rq, p, reply->parameters);
        show_progress(w);
    }
    if (!reply->continues) {
        int code = (int)job_view_int(reply->parameters, "exit_code");
        w->exit_code = code > w->exit_code ? code : w->exit_code;
        take_ended(w, p, json_object_get(reply->parameters, "jobs"));
        p->ended = true;
    }
    return 0;
}

/* Starts to wait for portions, as many as may be. Returns the number being waited for, or
 * negative. */
static int start_portions(struct waiting *w)
{
    int active = 0, r = 0;
    for (size_t i = 0; i < w->nportions && active < PORTIONS_MOST && r == 0; i++) {
        struct portion *p = &w->portions[i];
        if (!p->ended && !p->c)
            r = start_portion(w, p);
        active += !p->ended;
    }
    return r < 0 ? r : active;
}

/* Takes all replies that have come in for a portion. */
static int read_portion(struct waiting *w, struct portion *p)
{
    int r = 0;
    while (r == 0 && !p->ended) {
        struct client_reply reply = CLIENT_REPLY_EMPTY;
        int got = client_receive(p->c, 0, &reply);
        if (got <= 0)
            return got;
        r = take_reply(w, p, &reply);
        client_reply_fini(&reply);
    }
    if (r == 0)
        stop_portion(w, p);
    return r;
}

/* Reports which jobs of the first portion cannot end (patience.h), if that is due; on a
 * terminal also what a single job waits for. */
static void say_stuck(struct waiting *w)
{
    const bool one = w->rq->nids == 1 && term_is_tty(STDERR_FILENO);
    struct client_tried tried;
    struct client *c;
    char names[512];
    size_t i = 0;
    if (!patience_is_over(&w->patience) || w->rq->quiet || w->rq->json)
        return;
    while (i < w->nportions && w->portions[i].ended)
        i++;
    if (i == w->nportions)
        return;
    progress_line_clear(&w->line);
    if (client_open(w->rq->choice, ADDRESS_JOBS, &c, &tried) < 0)
        return;
    client_set_interrupt_fd(c, w->rq->interrupt);
    client_set_silence(c, say_silence);
    if (patience_name(c, json_pack("{s:O}", "ids", w->portions[i].ids),
                      one ? PATIENCE_WAITING : PATIENCE_STUCK, names, sizeof(names)))
        say("waiting for %s", names);
    client_free(c);
}

static void say_retries(struct waiting *w, bool any)
{
    if (!any)
        return;
    progress_line_clear(&w->line);
    retry_watch_take(w->rq->retries);
}

/* Waits for all portions on the present connections. Returns 0: all have ended; otherwise
 * as take_reply(). */
static int wait_portions(struct waiting *w)
{
    int r;
    while ((r = start_portions(w)) > 0) {
        struct pollfd fds[PORTIONS_MOST + 3] = {
            {.fd = w->rq->interrupt, .events = POLLIN},
            {.fd = w->rq->json ? STDOUT_FILENO : -1},
            {.fd = retry_watch_fd(w->rq->retries), .events = POLLIN}};
        nfds_t n = 3;
        for (size_t i = 0; i < w->nportions; i++)
            if (w->portions[i].c)
                fds[n++] =
                    (struct pollfd){.fd = client_fd(w->portions[i].c), .events = POLLIN};
        if (poll(fds, n, patience_left_ms(&w->patience)) < 0 && errno != EINTR)
            return -errno;
        if (fds[0].revents)
            return -EINTR;
        if (fds[1].revents & POLLERR)
            return -EPIPE; /* the result would have no reader */
        say_retries(w, fds[2].revents != 0);
        say_stuck(w);
        for (size_t i = 0; i < w->nportions; i++) {
            if (w->portions[i].c)
                r = read_portion(w, &w->portions[i]);
            if (r < 0 || (r == 1 && w->no_such_job) || (r == 1 && !w->portions[i].ended))
                return r;
        }
    }
    return r;
}

/* Reconnects and begins all waits again. Returns as reconnect(). */
static int connect_again(struct waiting *w)
{
    const struct wait_request *rq = w->rq;
    for (size_t i = 0; i < w->nportions; i++)
        stop_portion(w, &w->portions[i]);
    progress_line_clear(&w->line);
    int r = reconnect(w->c, rq->choice, ADDRESS_JOBS, rq->reconnect_usec, rq->interrupt);
    w->reconnected |= r == 0;
    if (r == -ECONNRESET && !rq->any)
        say("wait again: voltctl wait %s%s", rq->ids[0], rq->nids > 1 ? " ..." : "");
    return r;
}

/* --- events ------------------------------------------------------------------------- */

/* Adds the job of a snapshot, or its elements, that have not ended to *left. */
static void count_left(const json_t *job, uint64_t *left)
{
    const json_t *counts = json_object_get(job, "counts");
    if (json_is_object(counts))
        *left += (uint64_t)(job_view_int(counts, "total") - job_view_int(counts, "done"));
    else
        *left += strcmp(job_view_string(job, "state"), "done") != 0;
}

/* Prints a reply of Watch. Returns whether every job has ended, or counting is no longer
 * possible. */
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

/* Prints events of the jobs until the last has ended, with JSON. Errors are left to the
 * call of Wait that follows. Returns 0; -EINTR; or -EPIPE: the events have no reader. */
static int print_events(const struct wait_request *rq)
{
    struct client *c;
    struct client_tried tried;
    if (rq->nids > ID_PORTION_MOST ||
        client_open(rq->choice, ADDRESS_JOBS, &c, &tried) < 0)
        return 0;
    client_set_interrupt_fd(c, rq->interrupt);
    client_set_output_fd(c, STDOUT_FILENO);
    json_t *ids = id_list(rq->ids, rq->nids);
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
    return r == -EINTR || r == -EPIPE ? r : 0;
}

/* Prints the summary: a line for people, or an event. */
static void conclude(struct waiting *w)
{
    char text[160];
    if (w->rq->json && !w->rq->any) {
        print_event(event_of(w, "finished", "exit_code", w->exit_code));
        return;
    }
    if (w->line.shown)
        (void)fputc('\n', stderr);
    failures_conclude(&w->failures, w->ends.failed, w->rq->ids, w->rq->nids);
    ends_format(&w->ends, text, sizeof(text));
    if (w->ends.total > 1 && !w->rq->quiet && !w->rq->any)
        say("%s", text);
    if (w->ends.unknown > 0)
        say("the results of %" PRIu64 " of them are not known: voltd keeps those of the "
            "last jobs only (KeepHistoryJobs=)",
            w->ends.unknown);
}

void wait_print_none(int exit_code)
{
    const struct waiting none = {.rq = NULL};
    print_event(event_of(&none, "finished", "exit_code", exit_code));
}

/* Returns the exit code after an error reply, which was printed. */
static int refused(const struct waiting *w)
{
    if (w->no_such_job && w->reconnected)
        say("this voltd keeps jobs in memory and has been restarted; what it found "
            "again is in `voltctl list --orphans`");
    return w->no_such_job ? w->rq->no_such_job_code : WAIT_EXIT_VOLT_FAILED;
}

static int run_out(struct waiting *w, int r)
{
    progress_line_clear(&w->line);
    if (r == 1)
        return refused(w);
    if (r == -EINTR) {
        wait_say_interrupted(w->rq->ids, w->rq->nids);
        return WAIT_EXIT_INTERRUPTED;
    }
    if (r != -ECONNRESET && r != -EPIPE) /* printed already; needs no message */
        say_lost(r);
    return WAIT_EXIT_VOLT_FAILED;
}

int wait_for_jobs(struct client **c, const struct wait_request *rq)
{
    struct waiting w = {.rq = rq, .c = c};
    progress_line_init(&w.line, !rq->quiet && !rq->json);
    patience_init(&w.patience);
    int r = split(&w);
    if (r == 0 && rq->json && !rq->any)
        r = print_events(rq);
    while (r == 0) {
        r = wait_portions(&w);
        if (r != -ECONNRESET)
            break;
        r = connect_again(&w);
    }
    if (r == 0 && retry_watch_fd(rq->retries) >= 0)
        progress_line_clear(&w.line);
    if (r == 0)
        retry_watch_finish(rq->retries);
    sum_up(&w);
    if (w.ends.unknown > 0 && w.exit_code < WAIT_EXIT_VOLT_FAILED)
        w.exit_code = WAIT_EXIT_VOLT_FAILED;
    if (r == 0)
        conclude(&w);
    int code = r == 0 ? w.exit_code : run_out(&w, r);
    portions_free(&w);
    return code;
}
