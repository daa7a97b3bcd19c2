/* voltctl stats: what the scheduler of voltd has done, per worker and in total.
 *
 * A row is a counter under its name in org.voltd.control, a column a worker; workers that
 * do not fit the terminal go into a further block. */
#include "wire/duration.h"
#include "client/term.h"
#include "client/job_view.h"
#include "client/reconnect.h"
#include "client/say.h"
#include "client/voltctl/table.h"
#include "client/voltctl/verbs.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { NAME_WIDTH = 22, CELL_WIDTH = 13 };
/* What WatchStats takes. */
enum { INTERVAL_MIN = 100000, INTERVAL_MAX = 15000000 };

static const struct option_entry options[] = {
    {"watch", 'w', "[SEC]", "again every SEC seconds (default 1)"},
    CTL_RECONNECT_OPTION,
    CTL_JSON_OPTION,
    CTL_OPTIONS_END,
};

/* Rows; the sums of those that are in Totals too are shown. */
static const char *const counters[] = {
    "polled",
    "stolen",
    "steal_ops",
    "parked",
    "lifo_hits",
    "lifo_stolen",
    "global_batch_fetches",
    "overflows",
    "budget_exhausted",
    "wakeups",
    "wakeups_skipped",
    "spurious_wakes",
    "busy_victims",
    "rescues",
    "longest_poll_usec",
    "avg_task_ns",
    "global_queue_interval",
    "ring_depth",
};
static const char *const scheduler[] = {
    "spawned",      "completed",      "cancelled",        "live", "timers", "io_handles",
    "global_depth", "workers_parked", "blocking_threads",
};
static const char *const states[] = {
    "submitted", "ended", "queued", "starting", "running", "stopping", "orphans",
};

static void print_cell(const json_t *object, const char *name)
{
    const json_t *value = json_object_get(object, name);
    if (json_is_integer(value))
        term_print(" %*" JSON_INTEGER_FORMAT, CELL_WIDTH - 1, json_integer_value(value));
    else
        term_print(" %*s", CELL_WIDTH - 1, "-");
}

static void print_workers(const json_t *p)
{
    const json_t *workers = json_object_get(p, "workers");
    const json_t *totals = json_object_get(p, "totals");
    size_t n = json_array_size(workers), columns = n + 1;
    unsigned terminal = term_columns(STDOUT_FILENO);
    if (term_is_tty(STDOUT_FILENO))
        columns = terminal > NAME_WIDTH ? (terminal - NAME_WIDTH) / CELL_WIDTH : 0;
    for (size_t first = 0; first < n;) {
        bool with_total = first == 0;
        size_t count = columns > (with_total ? 2U : 1U) ? columns - with_total : 1;
        size_t end = first + count < n ? first + count : n;
        term_set_style(TERM_BOLD);
        term_print("%-*s", NAME_WIDTH, "workers");
        if (with_total)
            term_print(" %*s", CELL_WIDTH - 1, "total");
        for (size_t i = first; i < end; i++)
            term_print(" %*zu", CELL_WIDTH - 1, i);
        term_set_style(TERM_PLAIN);
        (void)putchar('\n');
        for (size_t c = 0; c < sizeof(counters) / sizeof(counters[0]); c++) {
            term_print("%-*s", NAME_WIDTH, counters[c]);
            if (with_total)
                print_cell(totals, counters[c]);
            for (size_t i = first; i < end; i++)
                print_cell(json_array_get(workers, i), counters[c]);
            (void)putchar('\n');
        }
        (void)putchar('\n');
        first = end;
    }
}

static void print_group(const char *title, const json_t *object, const char *const *names,
                        size_t n)
{
    term_set_style(TERM_BOLD);
    term_print("%s", title);
    term_set_style(TERM_PLAIN);
    (void)putchar('\n');
    for (size_t i = 0; i < n; i++)
        term_print("  %-18s %9" PRId64 "%s", names[i], job_view_int(object, names[i]),
                   i % 2 == 1 || i + 1 == n ? "\n" : "   ");
}

/* Of a voltd that found something. */
static void print_recovered(const json_t *jobs)
{
    int64_t waiting = job_view_int(jobs, "recovered_waiting");
    int64_t running = job_view_int(jobs, "recovered_running");
    int64_t ended = job_view_int(jobs, "recovered_ended");
    int64_t lost = job_view_int(jobs, "recovered_lost");
    if (waiting + running + ended + lost > 0)
        term_print("  recovered at its start: %" PRId64 " waiting, %" PRId64
                   " running, %" PRId64 " ended meanwhile, %" PRId64 " lost\n",
                   waiting, running, ended, lost);
}

static void print_stats(const json_t *p)
{
    char up[32];
    duration_format((uint64_t)job_view_int(p, "uptime_usec"), up, sizeof(up));
    term_print("voltd %s, pid %" PRId64 ", up %s, %s\n\n", job_view_string(p, "version"),
               job_view_int(p, "pid"), up,
               job_view_bool(p, "durable") ? "durable" : "queue in memory");
    print_workers(p);
    print_group("tasks", json_object_get(p, "totals"), scheduler,
                sizeof(scheduler) / sizeof(scheduler[0]));
    json_t *jobs = json_object_get(p, "jobs");
    (void)putchar('\n');
    print_group("jobs", jobs, states, sizeof(states) / sizeof(states[0]));
    print_recovered(jobs);
    term_print("  slots used %" PRId64 " of %" PRId64, job_view_int(jobs, "slots_used"),
               job_view_int(jobs, "slots"));
    const char *name;
    json_t *count;
    const char *sep = "; ended as: ";
    json_object_foreach(json_object_get(jobs, "results"), name, count)
    {
        if (json_integer_value(count) == 0)
            continue;
        term_print("%s%s %" JSON_INTEGER_FORMAT, sep, name, json_integer_value(count));
        sep = ", ";
    }
    (void)putchar('\n');
}

struct watch {
    uint64_t interval_usec, reconnect_usec;
    bool json;
    bool follow; /* again and again */
    bool again;  /* something was printed before */
};

static void print_reply(struct watch *w, const json_t *parameters)
{
    if (w->json) {
        ctl_print_json(parameters);
        return;
    }
    if (w->follow && term_is_tty(STDOUT_FILENO))
        term_clear();
    else if (w->again)
        (void)putchar('\n');
    print_stats(parameters);
    w->again = true;
}

/* On one connection. 0, with the code of a refusal; negative as client_receive(). */
static int follow(struct ctl *ctl, struct watch *w, int *ret_code)
{
    json_t *params = json_pack("{s:I}", "interval_usec", (json_int_t)w->interval_usec);
    client_set_output_fd(ctl->client, STDOUT_FILENO);
    int r = client_send(ctl->client, "org.voltd.control.WatchStats", params, CLIENT_MORE);
    bool over = r < 0;
    while (!over) {
        struct client_reply reply = CLIENT_REPLY_EMPTY;
        r = client_receive(ctl->client, CLIENT_FOREVER, &reply);
        if (r == 1 && reply.error)
            *ret_code = ctl_refused(&reply);
        else if (r == 1)
            print_reply(w, reply.parameters);
        over = r < 0 || !reply.continues || say_flush() < 0;
        client_reply_fini(&reply);
    }
    return r < 0 ? r : 0;
}

static int watch(struct ctl *ctl, struct watch *w)
{
    int code = CTL_EXIT_OK;
    int r = follow(ctl, w, &code);
    while (r == -ECONNRESET) {
        r = reconnect(&ctl->client, &ctl->choice, ADDRESS_CONTROL, w->reconnect_usec, -1);
        if (r < 0)
            return CTL_EXIT_NO_DAEMON; /* said */
        r = follow(ctl, w, &code);
    }
    return r < 0 ? ctl_lost(r) : code;
}

static int parse(struct ctl *ctl, struct watch *w)
{
    int key;
    while ((key = ctl_option(ctl)) != OPTION_END) {
        const char *arg = ctl->options.arg;
        if (key == OPTION_BAD)
            return ctl->code;
        if (!ctl_reconnect_take(ctl, key, &w->reconnect_usec))
            return CTL_EXIT_USAGE;
        w->json |= key == CTL_OPT_JSON;
        w->follow |= key == 'w';
        if (key == 'w' && arg &&
            (duration_parse(arg, &w->interval_usec) < 0 ||
             w->interval_usec < INTERVAL_MIN || w->interval_usec > INTERVAL_MAX))
            return ctl_usage(ctl, "--watch: %s is not a time from 100ms to 15s", arg);
    }
    return ctl_no_operands(ctl) ? -1 : CTL_EXIT_USAGE;
}

static int run(struct ctl *ctl)
{
    struct watch w = {.interval_usec = 1000000, .reconnect_usec = RECONNECT_USEC};
    int code = parse(ctl, &w);
    if (code >= 0)
        return code;
    code = ctl_open(ctl, ADDRESS_CONTROL);
    if (code != CTL_EXIT_OK || w.follow)
        return code != CTL_EXIT_OK ? code : watch(ctl, &w);
    struct client_reply reply = CLIENT_REPLY_EMPTY;
    code = ctl_call(ctl, "org.voltd.control.Stats", NULL, &reply);
    if (code == CTL_EXIT_OK)
        print_reply(&w, reply.parameters);
    client_reply_fini(&reply);
    return code;
}

const struct verb verb_stats = {
    .name = "stats",
    .operands = "",
    .summary = "Show what the scheduler has done, per worker and in total",
    .text =
        "polled: polls of tasks; stolen: tasks taken from other workers, in steal_ops\n"
        "steals; parked: times a worker slept; lifo_hits: tasks taken from the slot of\n"
        "the one woken last; global_batch_fetches: fetches from the global queue.\n"
        "What each counter means: the description of org.voltd.control.\n"
        "\nExamples:\n  voltctl stats\n  voltctl stats --watch=5\n"
        "  voltctl stats --json | jq .totals\n",
    .options = options,
    .run = run,
};
