/* voltctl stats: prints figures of voltd's scheduler, per worker and in total.
 *
 * A row is a counter with its name in org.voltd.control, a column is a worker. Workers
 * that do not fit the terminal's width go into another block. With --watch, rows that do
 * not fit its height are left out: the last counters, and all blocks but one. */
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

enum {
    NAME_WIDTH = 22,
    CELL_WIDTH = 13,
    CELL_WIDTH_LEAST = 7, /* in a terminal of less than NARROW columns */
    NARROW = 65,
    PAIR_WIDTH = 33, /* a name and a number of a group */
};
/* Limits of WatchStats. */
enum { INTERVAL_MIN = 100000, INTERVAL_MAX = 15000000 };

static const struct option_entry options[] = {
    {"watch", 'w', "[SEC]", "again every SEC seconds (default 1)"},
    CTL_RECONNECT_OPTION,
    CTL_JSON_OPTION,
    CTL_OPTIONS_END,
};

/* Rows, the most useful first; also in Totals, if summed there. */
static const char *const counters[] = {
    "polled",
    "stolen",
    "parked",
    "lifo_hits",
    "steal_ops",
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
    "submitted", "ended",  "queued",   "starting",
    "running",   "paused", "stopping", "orphans",
};

enum { COUNTERS = sizeof(counters) / sizeof(counters[0]), COUNTERS_LEAST = 4 };

/* The room that the terminal has. */
struct layout {
    unsigned cell;   /* columns of a number */
    size_t columns;  /* numbers in a row of a block; SIZE_MAX: any */
    size_t counters; /* rows of a block */
    size_t pairs;    /* pairs of a group in a line */
    bool one_block, tasks;
};

static size_t lines_of(size_t n, size_t per_line)
{
    return (n + per_line - 1) / per_line;
}

/* Leaves out rows for which the terminal has no lines. */
static void fit_lines(struct layout *l, size_t high)
{
    size_t tasks = 2 + lines_of(sizeof(scheduler) / sizeof(scheduler[0]), l->pairs);
    /* Titles, empty lines, the slots, and the line of the cursor. */
    size_t others = 7 + lines_of(sizeof(states) / sizeof(states[0]), l->pairs);
    l->one_block = true;
    l->tasks = high >= others + tasks + COUNTERS_LEAST;
    others += l->tasks ? tasks : 0;
    l->counters = high > others ? high - others : 0;
    if (l->counters < COUNTERS_LEAST)
        l->counters = COUNTERS_LEAST;
    if (l->counters > COUNTERS)
        l->counters = COUNTERS;
}

static struct layout layout_of(bool watch)
{
    unsigned wide = term_columns(STDOUT_FILENO);
    struct layout l = {.cell = CELL_WIDTH,
                       .columns = SIZE_MAX,
                       .counters = COUNTERS,
                       .pairs = 2,
                       .tasks = true};
    if (!term_is_tty(STDOUT_FILENO))
        return l;
    l.cell = wide < NARROW ? CELL_WIDTH_LEAST : CELL_WIDTH;
    l.columns = wide > NAME_WIDTH ? (wide - NAME_WIDTH) / l.cell : 0;
    l.pairs = wide < NARROW ? 1 : wide / PAIR_WIDTH;
    if (watch)
        fit_lines(&l, term_lines(STDOUT_FILENO));
    return l;
}

/* Prints a number; with K, M, G or T if it would not fit. */
static void print_cell(const struct layout *l, const json_t *object, const char *name)
{
    static const char units[] = "KMGT";
    const json_t *value = json_object_get(object, name);
    int64_t n = json_integer_value(value);
    char text[32];
    int len = snprintf(text, sizeof(text), "%" PRId64, n);
    for (size_t i = 0; len >= (int)l->cell && units[i]; i++) {
        n /= 1000;
        len = snprintf(text, sizeof(text), "%" PRId64 "%c", n, units[i]);
    }
    term_print(" %*s", (int)l->cell - 1, json_is_integer(value) ? text : "-");
}

static void print_block(const struct layout *l, const json_t *p, size_t first, size_t end)
{
    const json_t *workers = json_object_get(p, "workers");
    const json_t *totals = json_object_get(p, "totals");
    bool with_total = first == 0;
    term_set_style(TERM_BOLD);
    term_print("%-*s", NAME_WIDTH, "workers");
    if (with_total)
        term_print(" %*s", (int)l->cell - 1, "total");
    for (size_t i = first; i < end; i++)
        term_print(" %*zu", (int)l->cell - 1, i);
    term_set_style(TERM_PLAIN);
    (void)putchar('\n');
    for (size_t c = 0; c < l->counters; c++) {
        term_print("%-*s", NAME_WIDTH, counters[c]);
        if (with_total)
            print_cell(l, totals, counters[c]);
        for (size_t i = first; i < end; i++)
            print_cell(l, json_array_get(workers, i), counters[c]);
        (void)putchar('\n');
    }
    (void)putchar('\n');
}

static void print_workers(const struct layout *l, const json_t *p)
{
    size_t n = json_array_size(json_object_get(p, "workers"));
    for (size_t first = 0; first < n && !(l->one_block && first > 0);) {
        size_t total = first == 0;
        size_t count = l->columns > total + 1 ? l->columns - total : 1;
        size_t end = count < n - first ? first + count : n;
        print_block(l, p, first, end);
        first = end;
    }
}

static void print_group(const struct layout *l, const char *title, const json_t *object,
                        const char *const *names, size_t n)
{
    term_set_style(TERM_BOLD);
    term_print("%s", title);
    term_set_style(TERM_PLAIN);
    (void)putchar('\n');
    for (size_t i = 0; i < n; i++)
        term_print("  %-18s %9" PRId64 "%s", names[i], job_view_int(object, names[i]),
                   (i + 1) % l->pairs == 0 || i + 1 == n ? "\n" : "   ");
}

/* Prints recovered jobs, if there are any. */
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

/* Prints how jobs have ended, in lines that fit. */
static void print_results(json_t *results)
{
    const size_t wide =
        term_is_tty(STDOUT_FILENO) ? term_columns(STDOUT_FILENO) : SIZE_MAX;
    const char *name;
    size_t at = 0;
    json_t *count;
    json_object_foreach(results, name, count)
    {
        char text[64];
        size_t n = (size_t)snprintf(text, sizeof(text), "%s %" JSON_INTEGER_FORMAT, name,
                                    json_integer_value(count));
        if (json_integer_value(count) == 0)
            continue;
        bool next_line = at > 0 && at + n + 3 > wide;
        const char *before = at == 0 ? "  ended as: " : next_line ? "    " : " ";
        term_print("%s%s%s%s", at > 0 ? "," : "", next_line ? "\n" : "", before, text);
        at = (next_line ? 0 : at + (at > 0)) + strlen(before) + n;
    }
    if (at > 0)
        (void)putchar('\n');
}

static void print_stats(const json_t *p, bool watch)
{
    const struct layout l = layout_of(watch);
    char up[32];
    duration_format((uint64_t)job_view_int(p, "uptime_usec"), up, sizeof(up));
    term_print("voltd %s, pid %" PRId64 ", up %s, %s\n\n", job_view_string(p, "version"),
               job_view_int(p, "pid"), up,
               job_view_bool(p, "durable") ? "durable" : "durable but for power cuts");
    print_workers(&l, p);
    if (l.tasks) {
        print_group(&l, "tasks", json_object_get(p, "totals"), scheduler,
                    sizeof(scheduler) / sizeof(scheduler[0]));
        (void)putchar('\n');
    }
    json_t *jobs = json_object_get(p, "jobs");
    print_group(&l, "jobs", jobs, states, sizeof(states) / sizeof(states[0]));
    if (!watch)
        print_recovered(jobs);
    term_print("  slots used %" PRId64 " of %" PRId64, job_view_int(jobs, "slots_used"),
               job_view_int(jobs, "slots"));
    if (job_view_int(jobs, "slots_lent") > 0)
        term_print(", and %" PRId64 " lent by jobs that wait",
                   job_view_int(jobs, "slots_lent"));
    (void)putchar('\n');
    if (!watch && job_view_int(jobs, "slots_over") > 0)
        term_print("  lent slots taken back while none was free: %" PRId64 " times\n",
                   job_view_int(jobs, "slots_over"));
    if (!watch)
        print_results(json_object_get(jobs, "results"));
}

struct watch {
    uint64_t interval_usec, reconnect_usec;
    bool json;
    bool follow; /* --watch */
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
    print_stats(parameters, w->follow && term_is_tty(STDOUT_FILENO));
    w->again = true;
}

/* Follows on one connection. Returns 0, with *ret_code if refused; negative as
 * client_receive(). */
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
    int r;
    while ((r = follow(ctl, w, &code)) == -ECONNRESET)
        if (reconnect(&ctl->client, &ctl->choice, ADDRESS_CONTROL, w->reconnect_usec,
                      -1) < 0)
            return CTL_EXIT_NO_DAEMON; /* after an error message */
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
        "With --watch on a terminal only as many counters are shown as it has lines.\n"
        "Jobs are counted by their elements.\n"
        "What each counter means: the description of org.voltd.control.\n"
        "\nExamples:\n  voltctl stats\n  voltctl stats --watch=5\n"
        "  voltctl stats --json | jq .totals\n",
    .options = options,
    .run = run,
};
