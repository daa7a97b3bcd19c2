/* voltctl status: prints a block for each job, with the end of its output. */
#include "wire/duration.h"
#include "client/follow.h"
#include "client/job_view.h"
#include "client/last_attempt.h"
#include "client/limit_options.h"
#include "client/say.h"
#include "client/shell_words.h"
#include "client/term.h"
#include "client/voltctl/array_results.h"
#include "client/voltctl/cgroup_usage.h"
#include "client/voltctl/status_spec.h"
#include "client/voltctl/verbs.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct option_entry options[] = {
    {"lines", 'n', "N",
     "show the last N lines of output (default 10), at most N KiB of them"},
    CTL_FILTER_OPTIONS,
    CTL_TIME_OPTIONS,
    CTL_JSON_OPTION,
    CTL_OPTIONS_END,
};

static void print_time(const char *title, const json_t *job, const char *name)
{
    char text[96];
    uint64_t at = (uint64_t)job_view_int(job, name);
    if (at == 0)
        return;
    job_view_time(at, job_view_now(), text, sizeof(text));
    term_print("%11s %s\n", title, text);
}

/* Writes --mem of the job, "" if it has none. Returns buf. */
static const char *limit_of(const json_t *job, char *buf, size_t size)
{
    const json_t *spec = json_object_get(job, "spec");
    if (!limit_option_text(json_object_get(spec, "limits"), 0, buf, size))
        *buf = '\0';
    return buf;
}

#define MIB 1048576.0

static void print_limit(const json_t *job)
{
    char limit[32];
    (void)limit_of(job, limit, sizeof(limit));
    term_print("%s%s\n", *limit ? ", limit " : "", limit);
}

static void print_cpu(uint64_t user_usec, uint64_t system_usec)
{
    char user[32], sys[32];
    duration_format(user_usec, user, sizeof(user));
    duration_format(system_usec, sys, sizeof(sys));
    term_print("       CPU: %s user, %s system", user, sys);
}

/* Prints what a running job uses, where it has a cgroup. */
static void print_usage_now(const json_t *job)
{
    struct cgroup_usage now;
    if (!cgroup_usage_get(job, &now))
        return;
    print_cpu(now.user_usec, now.system_usec);
    term_print(" so far\n");
    if (now.memory == 0)
        return;
    term_print("    Memory: %.1f MiB of all its processes, peak %.1f MiB",
               (double)now.memory / MIB, (double)now.peak / MIB);
    print_limit(job);
}

/* Prints whose limit has ended the job, and what is to be done. */
static void print_oom(const json_t *job)
{
    char limit[32];
    if (strcmp(job_view_string(job, "result"), "oom") != 0)
        return;
    if (strcmp(job_view_string(job, "step"), "job") == 0)
        term_print(
            "       OOM: it needed more than --mem=%s: submit it with a higher one\n",
            limit_of(job, limit, sizeof(limit)));
    else
        term_print("       OOM: its user, or the machine, had no more memory: let fewer "
                   "run at a time\n"
                   "            (an administrator: systemctl set-property "
                   "voltd-%" PRId64 ".slice MemoryMax=SIZE)\n",
                   job_view_int(job, "uid"));
}

static void print_usage(const json_t *job)
{
    const json_t *usage = json_object_get(job, "usage");
    if (!json_is_object(usage))
        return;
    print_cpu((uint64_t)job_view_int(usage, "user_usec"),
              (uint64_t)job_view_int(usage, "system_usec"));
    if (json_object_get(job, "memory_peak_bytes")) {
        term_print("\n    Memory: peak %.1f MiB of all its processes",
                   (double)job_view_int(job, "memory_peak_bytes") / MIB);
        print_limit(job);
    } else {
        term_print("; memory peak %.1f MiB\n",
                   (double)job_view_int(usage, "max_rss_bytes") / MIB);
    }
}

/* Prints a word, quoted for a shell. */
static void put_word(const char *word)
{
    struct wire_buf text = {0};
    if (shell_word(&text, word) == 0 && wire_buf_append(&text, "", 1) == 0)
        term_put(wire_buf_at(&text));
    wire_buf_fini(&text);
}

/* Prints the command so that it can be pasted into a shell. */
static void print_command(const json_t *job)
{
    size_t i;
    const json_t *spec = json_object_get(job, "spec");
    const json_t *word, *argv = json_object_get(spec, "argv");
    const char *shell = json_string_value(json_object_get(spec, "shell"));
    if (shell || json_array_size(argv) > 0)
        term_print("   Command:%s", shell ? " /bin/sh -c " : "");
    if (shell)
        put_word(shell);
    json_array_foreach(argv, i, word)
    {
        char *as_run = job_view_word(job, json_string_value(word));
        (void)putchar(' ');
        put_word(as_run ? as_run : "");
        free(as_run);
    }
    if (shell || json_array_size(argv) > 0)
        (void)putchar('\n');
    const json_t *script = json_object_get(spec, "script");
    if (script)
        term_print(
            "    Script: stored with the job, %zu bytes; voltctl show --script %s\n",
            json_string_length(script), job_view_string(job, "id"));
    const char *cwd = json_string_value(json_object_get(spec, "cwd"));
    if (cwd) {
        (void)fputs(" Directory: ", stdout);
        term_put(cwd);
        (void)putchar('\n');
    }
}

static void print_path(const char *title, const json_t *job, const char *field)
{
    char *path = job_view_path(job, field);
    if (!path)
        return;
    term_print("%11s ", title);
    term_put(path);
    (void)putchar('\n');
    free(path);
}

/* Returns whether to print the exit code: success and an exit status imply it, except for
 * an array, where it is one element's. */
static bool has_other_code(const json_t *job)
{
    const char *result = job_view_string(job, "result");
    bool array = json_is_object(json_object_get(job, "counts"));
    bool said = strcmp(result, "success") == 0 || strcmp(result, "exit") == 0;
    return json_object_get(job, "exit_code") && (array || !said);
}

static void print_state(const json_t *job)
{
    char text[256];
    enum term_style style = job_view_style(job);
    job_view_outcome(job, text, sizeof(text));
    const char *state = job_view_string(job, "state");
    bool ended = strcmp(state, "done") == 0;
    (void)fputs("     State: ", stdout);
    term_set_style(style);
    term_print("%s%s", ended ? "done, " : "", text);
    term_set_style(TERM_PLAIN);
    term_print("%s", job_view_bool(job, "orphan")      ? " (found at the start of voltd)"
                     : job_view_bool(job, "forgotten") ? " (only its end is still known)"
                     : job_view_bool(job, "lends")
                         ? " (waits for another, and lends its slot)"
                         : "");
    if (has_other_code(job))
        term_print("; exit code %" PRId64, job_view_int(job, "exit_code"));
    (void)putchar('\n');
}

static void print_survivors(const json_t *job)
{
    const json_t *pids = json_object_get(job, "survivors");
    if (!json_is_array(pids))
        return;
    if (json_is_true(json_object_get(job, "survivors_unknown")))
        term_print(" Survivors: unknown, voltd-keeper has gone since it started");
    else
        term_print(" Survivors: %" PRId64 " processes of it could not be ended",
                   job_view_int(job, "survivor_count"));
    for (size_t i = 0; i < json_array_size(pids); i++)
        term_print("%s%" JSON_INTEGER_FORMAT, i == 0 ? ": " : ", ",
                   json_integer_value(json_array_get(pids, i)));
    (void)putchar('\n');
}

/* Prints processes that were killed at the end, as those of a command with & are easily
 * missed. */
static void print_left(const json_t *job)
{
    int64_t n = job_view_int(job, "left_killed");
    if (n > 0)
        term_print("      Left: %" PRId64
                   "%s process%s, killed: a job ends with its main "
                   "process;\n            with --kill-mode=main such processes go on\n",
                   n, n == 255 ? " or more" : "", n == 1 ? "" : "es");
}

static void print_attempt(const json_t *attempt, bool first)
{
    char result[64], runtime[32] = "";
    const uint64_t from = (uint64_t)job_view_int(attempt, "started_at_usec"),
                   to = (uint64_t)job_view_int(attempt, "ended_at_usec");
    job_view_result_word(attempt, result, sizeof(result));
    if (from > 0 && to >= from && !job_view_is_lost(attempt))
        duration_format(to - from, runtime, sizeof(runtime));
    term_print("%11s %" PRId64 ": %s%s%s\n", first ? "Attempts:" : "",
               job_view_int(attempt, "attempt"), to ? result : "has not ended",
               *runtime ? " after " : "", runtime);
}

/* Prints the attempts, if there is more than one, or will be, or could have been. */
static void print_attempts(const json_t *job)
{
    const json_t *attempts = json_object_get(job, "attempts"), *attempt;
    char last[160];
    size_t i;
    json_array_foreach(attempts, i, attempt) print_attempt(attempt, i == 0);
    if (last_attempt_text(job, last, sizeof(last)))
        term_print("%11s %s\n", attempts ? "" : "Attempts:", last);
}

/* Returns the option that changes a field. */
static const char *option_of(const char *field)
{
    static const char *const known[][2] = {{"delay_usec", "in"},
                                           {"at_usec", "at"},
                                           {"start_by_usec", "start-by"},
                                           {"timeout_usec", "timeout"},
                                           {"kill_after_usec", "kill-after"},
                                           {"output_bytes", "output-limit"},
                                           {"limits", "limits"}};
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (strcmp(field, known[i][0]) == 0)
            return known[i][1];
    return field;
}

/* Prints which fields were edited. */
static void print_edited(const json_t *job)
{
    const json_t *edited = json_object_get(job, "edited"), *what;
    size_t i;
    json_array_foreach(edited, i, what) term_print("%s%s", i == 0 ? "    Edited: " : ", ",
                                                   option_of(json_string_value(what)));
    if (json_array_size(edited) > 0)
        (void)putchar('\n');
}

static void print_job(const json_t *job)
{
    char runtime[32];
    enum term_style style = job_view_style(job);
    const char *name = job_view_string(job, "name");
    term_set_style(style);
    term_print("%s", term_is_utf8() ? "\u25cf" : "*");
    term_set_style(TERM_PLAIN);
    (void)putchar(' ');
    term_set_style(TERM_BOLD);
    term_put(job_view_string(job, "id"));
    term_set_style(TERM_PLAIN);
    term_print("%s", *name ? " - " : "");
    term_put(name);
    (void)putchar('\n');
    print_state(job);
    print_survivors(job);
    print_left(job);
    if (*job_view_string(job, "queue"))
        term_print("     Queue: %s, priority %" PRId64 "\n",
                   job_view_string(job, "queue"), job_view_int(job, "priority"));
    print_edited(job);
    print_attempts(job);
    status_spec_print(job);
    print_time("Submitted:", job, "submitted_at_usec");
    bool array = json_is_object(json_object_get(job, "counts"));
    print_time("Started:", job, "started_at_usec");
    print_time("Paused:", job, "paused_at_usec");
    print_time(job_view_is_lost(job) ? "Noticed:" : "Ended:", job, "ended_at_usec");
    uint64_t usec = job_view_runtime(job, job_view_now());
    if (usec > 0) {
        duration_format(usec, runtime, sizeof(runtime));
        term_print("   Runtime: %s\n", runtime);
    }
    if (!array) {
        print_usage(job);
        print_oom(job);
    }
    if (!array && job_view_int(job, "pid") > 0 &&
        strcmp(job_view_string(job, "state"), "done")) {
        print_usage_now(job);
        term_print("  Main PID: %" PRId64 "\n", job_view_int(job, "pid"));
    }
    print_command(job);
    print_path("Output:", job, "output_path");
    print_path("Errors:", job, "error_path");
}

/* Average bytes of a line, at most, as output without newlines may have gigabytes. */
#define LINE_BYTES 1024

/* Prints the end of the output, if any. */
static int print_tail(struct ctl *ctl, const char *id, uint64_t lines)
{
    if (lines == 0)
        return CTL_EXIT_OK;
    (void)say_flush();
    struct printer printer = {
        .out = STDOUT_FILENO, .cleans = term_is_tty(STDOUT_FILENO), .apart = true};
    off_t offset = -1;
    struct follow_request rq = {.id = id,
                                .stream = "stdout",
                                .printer = &printer,
                                .tail = {lines, lines < UINT64_MAX / LINE_BYTES
                                                    ? lines * LINE_BYTES
                                                    : UINT64_MAX},
                                .offset = &offset};
    struct client_reply error = CLIENT_REPLY_EMPTY;
    int r = follow_output(ctl->client, &rq, &error);
    int code = CTL_EXIT_OK;
    if (r == 1 && !client_error_is(&error, "NoOutput"))
        code = ctl_refused(&error);
    else if (r < 0)
        code = ctl_lost(r);
    client_reply_fini(&error);
    return code;
}

struct status {
    json_t *filter; /* NULL: none */
    bool json, any; /* something was printed */
    uint64_t lines;
};

/* Prints or adds how the elements of an array ended. */
static int add_results(struct ctl *ctl, const struct status *s, json_t *job)
{
    struct array_results a;
    int code = array_results_get(ctl, job, &a);
    if (code == CTL_EXIT_OK && s->json) {
        (void)json_object_set(job, "results", a.results);
        (void)json_object_set_new(job, "failed_indexes", json_string(a.indexes));
    }
    if (s->json)
        ctl_print_json(job);
    else if (code == CTL_EXIT_OK)
        array_results_print(&a, job_view_string(job, "id"));
    array_results_fini(&a);
    return code;
}

/* Returns whether the job has, or will have, more than one attempt. */
static bool has_attempts(const json_t *job)
{
    return !json_is_object(json_object_get(job, "counts")) &&
           (job_view_int(job, "attempt") > 1 ||
            (job_view_int(job, "attempt") == 1 && !job_view_int(job, "started_at_usec") &&
             strcmp(job_view_string(job, "state"), "starting") != 0));
}

static int add_attempts(struct ctl *ctl, const char *id, json_t *job)
{
    struct client_reply reply = CLIENT_REPLY_EMPTY;
    int code = CTL_EXIT_OK;
    if (!has_attempts(job))
        return code;
    code = ctl_call(ctl, "org.voltd.jobs.Attempts", json_pack("{s:s}", "id", id), &reply);
    if (code == CTL_EXIT_OK)
        (void)json_object_set(job, "attempts",
                              json_object_get(reply.parameters, "attempts"));
    client_reply_fini(&reply);
    return code;
}

static int one(struct ctl *ctl, const char *id, void *arg)
{
    struct status *s = arg;
    struct client_reply reply = CLIENT_REPLY_EMPTY;
    int code = ctl_call(ctl, "org.voltd.jobs.Get",
                        json_pack("{s:s, s:b}", "id", id, "with_spec", 1), &reply);
    if (code != CTL_EXIT_OK)
        return code;
    json_t *job = json_object_get(reply.parameters, "job");
    code = add_attempts(ctl, id, job);
    bool array = json_is_object(json_object_get(job, "counts"));
    if (s->any && !s->json)
        (void)putchar('\n');
    s->any = true;
    if (!s->json)
        print_job(job);
    else if (!array)
        ctl_print_json(job);
    if (array)
        code = add_results(ctl, s, job);
    client_reply_fini(&reply);
    return s->json || array || code != CTL_EXIT_OK ? code : print_tail(ctl, id, s->lines);
}

static int parse(struct ctl *ctl, struct status *s)
{
    int key;
    while ((key = ctl_option(ctl)) != OPTION_END) {
        if (key == OPTION_BAD)
            return ctl->code;
        s->json |= key == CTL_OPT_JSON;
        if (ctl_filter_take(&s->filter, key, ctl->options.arg) < 0 ||
            (key == 'n' && !ctl_number("--lines", ctl->options.arg, &s->lines)))
            return CTL_EXIT_USAGE;
    }
    return OPTION_END;
}

static int run(struct ctl *ctl)
{
    struct status s = {.lines = 10};
    int code = parse(ctl, &s);
    if (code == OPTION_END)
        code = ctl_each_chosen(ctl, s.filter, one, &s);
    json_decref(s.filter);
    return code;
}

const struct verb verb_status = {
    .name = "status",
    .operands = "[ID...]",
    .summary = "Show jobs in full, with the end of their output",
    .text =
        "Those that are named; of these those that match, or all that match.\n\n"
        "Of an array: how many elements ended how, and the indexes of those that failed\n"
        "as ranges; with --json as results and failed_indexes. Of a job that has been\n"
        "tried more than once, or will be: how each attempt ended; with --json as\n"
        "attempts. And, as far as it is known, why it had fewer than it may have.\n"
        "\nExamples:\n  voltctl status 12\n  voltctl status -n 50 12_3\n"
        "  voltctl status --failed --since=today\n",
    .options = options,
    .run = run,
};
