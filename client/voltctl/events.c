/* voltctl events: prints events of jobs as they happen. */
#include "client/id_range.h"
#include "client/job_view.h"
#include "client/term.h"
#include "client/reconnect.h"
#include "client/say.h"
#include "client/voltctl/verbs.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum { OPT_AFTER = OPTION_LONG };

static const struct option_entry options[] = {
    {"follow", 'f', NULL, "go on until interrupted (the default)"},
    {"count", 'n', "N", "end after N events; with --after=0 those kept come first"},
    {"after", OPT_AFTER, "CURSOR", "resume behind this event, which was told before"},
    CTL_FILTER_OPTIONS,
    CTL_RECONNECT_OPTION,
    CTL_JSON_OPTION,
    CTL_OPTIONS_END,
};

struct watch {
    json_t *filter;
    bool json, resume, counted;
    uint64_t after, count, reconnect_usec;
};

static void print_event(const struct watch *w, const json_t *event)
{
    if (w->json) {
        ctl_print_json(event);
        return;
    }
    uint64_t at = (uint64_t)job_view_int(event, "at_usec");
    time_t t = (time_t)(at / 1000000);
    struct tm tm;
    char clock[32] = "", result[48];
    if (localtime_r(&t, &tm))
        (void)strftime(clock, sizeof(clock), "%b %d %H:%M:%S", &tm);
    job_view_result_word(event, result, sizeof(result));
    enum term_style style = job_view_style(event);
    term_print("%s.%06" PRIu64 " %s ", clock, at % 1000000, job_view_string(event, "id"));
    term_set_style(style);
    term_put(job_view_string(event, "event"));
    term_set_style(TERM_PLAIN);
    if (result[0] != '-') {
        (void)putchar(' ');
        term_set_style(style);
        term_put(result);
        term_set_style(TERM_PLAIN);
    }
    if (json_object_get(event, "cause")) {
        term_print(" job ");
        term_put(job_view_string(json_object_get(event, "cause"), "id"));
    }
    (void)putchar('\n');
}

/* Prints a reply. Returns true when enough events were printed. */
static bool print_reply(struct watch *w, const json_t *p)
{
    size_t i;
    const json_t *event;
    int64_t lagged = job_view_int(p, "lagged");
    if (lagged > 0)
        say("%" PRId64 " events were lost here", lagged);
    json_array_foreach(json_object_get(p, "events"), i, event)
    {
        print_event(w, event);
        if (w->counted && --w->count == 0)
            break;
    }
    return say_flush() < 0 || (w->counted && w->count == 0);
}

/* Follows on one connection. Returns 0: enough was printed; 1: an error reply, in *error;
 * negative as client_receive(). */
static int follow(struct ctl *ctl, struct watch *w, struct client_reply *error)
{
    json_t *params = json_pack("{s:O*}", "filter", w->filter);
    if (w->resume)
        (void)json_object_set_new(params, "after", json_integer((json_int_t)w->after));
    client_set_output_fd(ctl->client, STDOUT_FILENO);
    int r = client_send(ctl->client, "org.voltd.jobs.Watch", params, CLIENT_MORE);
    bool over = false;
    while (r == 0 && !over) {
        struct client_reply reply = CLIENT_REPLY_EMPTY;
        r = client_receive(ctl->client, CLIENT_FOREVER, &reply);
        if (r < 0)
            break;
        if (reply.error) {
            *error = reply;
            return 1;
        }
        over = print_reply(w, reply.parameters) || !reply.continues;
        w->after = (uint64_t)job_view_int(reply.parameters, "cursor");
        w->resume = true;
        r = 0;
        client_reply_fini(&reply);
    }
    return r;
}

static int watch(struct ctl *ctl, struct watch *w)
{
    struct client_reply error = CLIENT_REPLY_EMPTY;
    int code = ctl_open(ctl, ADDRESS_JOBS);
    if (code != CTL_EXIT_OK)
        return code;
    if (!w->resume && !w->json && term_is_tty(STDOUT_FILENO))
        say("what happens from now on; an interrupt ends it");
    bool again = false;
    int r = follow(ctl, w, &error);
    while (r == -ECONNRESET ||
           (r == 1 && again && client_error_is(&error, "InvalidParameter"))) {
        if (r == 1) {
            say("this is another store; the events in between are not known");
            client_reply_fini(&error);
            w->resume = false;
        } else if (reconnect(&ctl->client, &ctl->choice, ADDRESS_JOBS, w->reconnect_usec,
                             -1) < 0) {
            return CTL_EXIT_NO_DAEMON;
        }
        again = r != 1;
        r = follow(ctl, w, &error);
    }
    if (r == 1)
        code = ctl_refused(&error);
    client_reply_fini(&error);
    return r < 0 ? ctl_lost(r) : code;
}

/* Adds the ids to the filter. An unknown job would have no events ever: it is refused. */
static int add_ids(struct ctl *ctl, struct watch *w)
{
    int code = ctl_choose(ctl, NULL);
    if (code == CTL_EXIT_OK)
        code = ctl_each(ctl, ctl->ids, (int)ctl->nids, ctl_find, NULL);
    if (!w->filter)
        w->filter = json_object();
    (void)json_object_set_new(w->filter, "ids", id_list(ctl->ids, ctl->nids));
    return code;
}

static int parse(struct ctl *ctl, struct watch *w)
{
    int key;
    while ((key = ctl_option(ctl)) != OPTION_END) {
        const char *arg = ctl->options.arg;
        if (key == OPTION_BAD)
            return ctl->code;
        if (ctl_filter_take(&w->filter, key, arg) < 0)
            return CTL_EXIT_USAGE;
        if (!ctl_reconnect_take(ctl, key, &w->reconnect_usec))
            return CTL_EXIT_USAGE;
        w->json |= key == CTL_OPT_JSON;
        w->resume |= key == OPT_AFTER;
        w->counted |= key == 'n';
        if ((key == OPT_AFTER && !ctl_number("--after", arg, &w->after)) ||
            (key == 'n' && !ctl_number("--count", arg, &w->count)))
            return CTL_EXIT_USAGE;
    }
    if (w->counted && w->count == 0)
        return ctl_usage(ctl, "--count: at least 1");
    return -1;
}

static int run(struct ctl *ctl)
{
    struct watch w = {.reconnect_usec = RECONNECT_USEC};
    int code = parse(ctl, &w);
    if (code < 0) {
        char **ids;
        int n = ctl_ids(ctl, 0, &ids);
        code = n > 0 ? add_ids(ctl, &w) : ctl->code;
        if (code == CTL_EXIT_OK)
            code = watch(ctl, &w);
    }
    json_decref(w.filter);
    return code;
}

const struct verb verb_events = {
    .name = "events",
    .operands = "[ID...]",
    .summary = "Print what happens to jobs, as it happens",
    .text =
        "One line per change: its time, the job, the event, the result. With --json\n"
        "one object a line; its cursor is what --after resumes at, also when voltd was\n"
        "restarted in between. A lost connection is tried again, and resumed where it\n"
        "was: nothing is missing and nothing comes twice. That a job has started is told\n"
        "with its next event where nobody followed events then.\n"
        "\nExamples:\n  voltctl events\n  voltctl events --json --label=run=7 12\n",
    .options = options,
    .run = run,
};
