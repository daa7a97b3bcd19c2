/* See submit.h: the execution of volt-submit. */
#include "client/after.h"
#include "client/array_advice.h"
#include "client/autostart.h"
#include "client/check_command.h"
#include "client/each_line.h"
#include "client/field_options.h"
#include "client/id_range.h"
#include "client/job_files.h"
#include "client/last_list.h"
#include "client/outputs.h"
#include "client/retry_watch.h"
#include "client/script.h"
#include "client/job_view.h"
#include "client/key_differs.h"
#include "client/list_advice.h"
#include "client/say.h"
#include "client/slurm_advice.h"
#include "client/spec_build.h"
#include "client/standing.h"
#include "client/submit.h"
#include "client/term.h"
#include "client/unread_input.h"
#include "client/await.h"
#include "wire/duration.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    REJECTED_SAID = 10, /* rejected entries of a list that are reported singly */
    FULL_MSEC = 200,    /* before another try, if voltd has no place for us */
};

struct submission {
    const struct submit_options *o;
    struct client *c;
    int interrupt;
    char **ids;
    size_t nids, room, entries; /* entries: of the list */
    unsigned rejected;
    size_t stop; /* entry that voltd did not take for now, nor any behind it; from 1 */
    bool said_not_durable, out_of_memory;
    bool existed;    /* its key named a job that was there before */
    bool repeatable; /* after a lost answer: each job has a key that is taken once */
    bool tries;      /* a job of the list may be retried */
    struct job_files files; /* for --follow */
    struct retry_watch retries;
};

int submit_read_batch(const struct submit_options *o, struct batch *b)
{
    bool standard = strcmp(o->file, "-") == 0;
    const char *name = standard ? "standard input" : o->file;
    FILE *in = standard ? stdin : fopen(o->file, "re");
    if (!in) {
        say("%s: %s", name, strerror(errno));
        return -EINVAL;
    }
    if (standard)
        say_if_terminal("list");
    struct volt_error err;
    int r = o->each_line ? each_line_read(b, o->spec, in, o->null, &err)
                         : batch_read(b, in, &err);
    if (!standard)
        (void)fclose(in);
    if (r < 0) {
        say("%s: %s", name, err.text);
        return r;
    }
    if (b->count == 0) {
        say("%s: %s", name, o->each_line ? "no line in it" : "no job in it");
        batch_fini(b);
        return -EINVAL;
    }
    return 0;
}

static void print_spec(json_t *spec)
{
    (void)term_put_json(spec);
    (void)putchar('\n');
}

/* Prints a refusal with the name of the option, not of the spec's member. Returns false
 * if no option set it. */
static bool say_option(const struct client_reply *error)
{
    const char *parameter = job_view_string(error->parameters, "parameter");
    char text[512];
    bool input = strcmp(parameter, "stdin_fd") == 0;
    if (!client_error_is(error, "InvalidParameter") ||
        (!input && strncmp(parameter, "spec.", 5) != 0))
        return false;
    const char *option = input ? "--stdin" : field_option_of(parameter + 5);
    if (!option)
        return false;
    term_clean(job_view_string(error->parameters, "reason"), text, sizeof(text));
    say("%s: %s", option, text);
    return true;
}

static void say_refused(const struct submit_options *o, struct client *c,
                        const struct client_reply *error)
{
    const char *job = job_view_string(error->parameters, "job");
    /* The call as a whole, mostly an environment that is far too large. */
    bool whole =
        client_error_is(error, "InvalidParameter") &&
        strcmp(job_view_string(error->parameters, "parameter"), "parameters") == 0;
    if (!say_option(error))
        say_error(error);
    if (c && *job && strcmp(job_view_string(o->spec, "on_exists"), "reject") != 0)
        key_differs_say(c, o->spec, job);
    if (client_error_is(error, "KeyTaken") && json_object_get(o->spec, "key") &&
        !json_object_get(o->spec, "on_exists"))
        say("--if-exists=coalesce prints the id of that job while it is not done; "
            "--if-exists=replace cancels it");
    if (whole && o->script)
        say("its script has %zu bytes: --by-path runs the file as it is then",
            strlen(o->script));
    else if (whole && !list_advice_too_long(o) && o->passes_env)
        say("the environment is part of it; --no-env leaves it out, -E VAR passes on "
            "one");
}

/* Takes --mem of a script for Slurm out of the spec, with a note, if voltd has refused
 * it. Returns whether it was that. */
static bool leaves_mem_out(const struct submit_options *o,
                           const struct client_reply *refusal)
{
    if (!*o->slurm_mem || !client_error_is(refusal, "InvalidParameter") ||
        strcmp(job_view_string(refusal->parameters, "parameter"),
               "spec.limits.memory_max") != 0)
        return false;
    slurm_advice_mem(o->slurm_mem);
    (void)json_object_del(json_object_get(o->spec, "limits"), "memory_max");
    return true;
}

static int call_submit(struct client *c, json_t *spec, bool dry, struct client_reply *ret)
{
    static const char method[] = "org.voltd.jobs.Submit";
    json_t *params =
        json_pack("{s:O, s:o*}", "spec", spec, "dry_run", dry ? json_true() : NULL);
    int fd = spec_build_input_file(spec);
    if (fd == -ENOENT)
        return client_call(c, method, params, ret);
    json_t *rest = json_copy(spec);
    int r = fd;
    if (fd >= 0 && json_object_del(rest, "stdin_data") == 0 &&
        json_object_set(params, "spec", rest) == 0 &&
        json_object_set_new(params, "stdin_fd", json_integer(0)) == 0)
        r = client_call_fd(c, method, json_incref(params), fd, ret);
    else if (fd >= 0)
        r = -ENOMEM;
    json_decref(rest);
    json_decref(params);
    if (fd >= 0)
        (void)close(fd);
    return r;
}

/* Returns whether this voltd is too old for dry runs. */
static bool cannot_check(const struct client_reply *reply)
{
    return client_error_is(reply, "InvalidParameter") &&
           strcmp(job_view_string(reply->parameters, "parameter"), "dry_run") == 0;
}

/* Makes a dry run of the submission. Prints where the job would stand, or why it would be
 * refused. Returns SUBMIT_GO, or the exit code. */
static int check_dry(const struct submit_options *o, struct client *c)
{
    struct client_reply reply = CLIENT_REPLY_EMPTY;
    struct volt_error err = {.text = "out of memory"};
    json_t *spec = json_deep_copy(o->spec);
    bool refused = after_resolve(spec, c, &err) < 0;
    int r = refused ? 0 : call_submit(c, spec, true, &reply);
    if (r == 0 && !refused && leaves_mem_out(o, &reply)) {
        client_reply_fini(&reply);
        (void)json_object_set(spec, "limits", json_object_get(o->spec, "limits"));
        r = call_submit(c, spec, true, &reply);
    }
    if (refused)
        say("--after: %s", err.text);
    else if (r < 0)
        say_lost(r);
    else if (cannot_check(&reply))
        say("dry run: this voltd is an older one, and has not checked it");
    else if (reply.error)
        say_refused(o, c, &reply);
    else if (!o->quiet)
        standing_say(reply.parameters);
    refused |= reply.error && !cannot_check(&reply);
    if (refused)
        say("dry run: it would be refused");
    client_reply_fini(&reply);
    json_decref(spec);
    return r < 0 || refused ? SUBMIT_EXIT_FAILED : SUBMIT_GO;
}

/* Completes the spec for the voltd that would get the jobs. */
static int complete_dry(struct submit_options *o, int *ret_checked)
{
    struct address list[ADDRESS_CANDIDATES];
    struct client_tried tried;
    struct volt_error err;
    struct client *c;
    if (client_open(&o->choice, ADDRESS_JOBS, &c, &tried) == 0) {
        int code = submit_environment(o, client_is_own(c));
        if (code == SUBMIT_GO && !o->file)
            *ret_checked = check_dry(o, c);
        client_free(c);
        return code;
    }
    bool own = address_candidates(&o->choice, ADDRESS_JOBS, list, &err) < 1 ||
               !address_is_system(&list[0]);
    return submit_environment(o, own);
}

int submit_dry_run(struct submit_options *o)
{
    int checked = SUBMIT_GO;
    int code = complete_dry(o, &checked);
    if (code != SUBMIT_GO)
        return code;
    if (!o->file) {
        print_spec(o->spec);
        return checked == SUBMIT_GO ? 0 : checked;
    }
    struct batch b;
    if (submit_read_batch(o, &b) < 0)
        return SUBMIT_EXIT_FAILED;
    code = 0;
    for (size_t i = 0; i < b.count && code == 0; i++) {
        struct volt_error err;
        json_t *spec = batch_spec(&b, i, o->spec, &err);
        if (spec)
            print_spec(spec);
        else
            code = SUBMIT_EXIT_FAILED;
        json_decref(spec);
    }
    batch_fini(&b);
    return code;
}

static void print_id(const struct submission *s, const char *id)
{
    if (s->o->json)
        term_print("{\"event\":\"submitted\",\"id\":\"%s\"%s}\n", id,
                   s->existed ? ",\"created\":false" : "");
    else if (s->o->follow && !s->o->quiet)
        say("job %s", id);
    else if (!s->o->follow)
        term_print("%s\n", id);
}

static void accepted(void *arg, const char *id)
{
    struct submission *s = arg;
    if (s->nids == s->room) {
        size_t room = s->room ? s->room * 2 : 16;
        char **ids = realloc(s->ids, room * sizeof(*ids));
        s->out_of_memory |= !ids;
        if (!ids)
            return;
        s->ids = ids;
        s->room = room;
    }
    char *copy = strdup(id);
    s->out_of_memory |= !copy;
    if (!copy)
        return;
    s->ids[s->nids++] = copy;
    print_id(s, id);
}

static void rejected(void *arg, unsigned line, const char *parameter, const char *reason)
{
    struct submission *s = arg;
    if (++s->rejected > REJECTED_SAID)
        return;
    say("%s: %s %u: %s%s%s", strcmp(s->o->file, "-") ? s->o->file : "standard input",
        s->o->null ? "entry" : "line", line, parameter, *parameter ? ": " : "", reason);
}

/* Prints how many more entries were rejected, as 100,000 lines would be of no use. */
static void say_more_rejected(const struct submission *s)
{
    if (s->rejected > REJECTED_SAID)
        say("and %u more were refused, %u of %zu in all", s->rejected - REJECTED_SAID,
            s->rejected, s->entries);
}

static void durable(void *arg, bool yes)
{
    struct submission *s = arg;
    if (yes || s->said_not_durable || s->o->quiet || !term_is_tty(STDERR_FILENO))
        return;
    s->said_not_durable = true;
    say("note: this voltd does not wait for the disk (Sync=off); a power cut may take away "
        "what was queued last");
}

static void stopped(void *arg, size_t entry)
{
    struct submission *s = arg;
    s->stop = entry + 1;
}

/* Prints how the rest of a list can be submitted, of which the first jobs were taken. */
static void say_rest(const struct submission *s, const struct batch *b)
{
    const struct submit_options *o = s->o;
    const unsigned line = b->entries[s->stop - 1].line;
    char command[512], clean[1024];
    if (b->is_array)
        (void)snprintf(command, sizeof(command), "jq '.[%zu:]'", s->stop - 1);
    else
        (void)snprintf(command, sizeof(command), "tail %s-n +%u", o->null ? "-z " : "",
                       line);
    if (strcmp(o->file, "-") != 0)
        command_quote(command, sizeof(command),
                      (char *const[]){(char *)(uintptr_t)o->file, NULL});
    term_clean(command, clean, sizeof(clean));
    say("%zu %s taken, and none from %s %u on; the rest can be submitted later: %s%s | "
        "volt-submit %s%s - ...",
        s->nids, s->nids == 1 ? "job was" : "jobs were", o->null ? "entry" : "line", line,
        strcmp(o->file, "-") == 0 ? "... | " : "", clean, o->null ? "-0 " : "",
        o->each_line ? "--each-line" : "-f");
}

/* Prints what was taken of a list that was not taken as a whole. */
static void say_partly(const struct submission *s, const struct batch *b)
{
    if (s->out_of_memory)
        return;
    if (s->stop && s->nids > 0)
        say_rest(s, b);
    else if (s->rejected > 0 && s->nids == 0 && b->count > 1)
        say("no job was taken%s",
            s->stop == 1 ? "" : ": a list is taken as a whole, or not");
}

static int connect_or_start(const struct submit_options *o, struct client_tried *tried,
                            struct client **ret)
{
    int r = client_open(&o->choice, ADDRESS_JOBS, ret, tried);
    if (r == 0 || o->no_autostart || !autostart_helps(&o->choice, tried))
        return r;
    return autostart(&o->choice, o->quiet, ret);
}

/* Connects again, to submit what no voltd has read. The other voltd must be of the same
 * kind, as the environment was chosen for that. Returns negative if there is none. */
static int connect_again(struct submission *s)
{
    struct client_tried tried;
    struct client *c;
    if (connect_or_start(s->o, &tried, &c) < 0)
        return -ECONNRESET;
    if (client_is_own(c) != client_is_own(s->c)) {
        client_free(c);
        return -ECONNRESET;
    }
    client_free(s->c);
    s->c = c;
    client_set_silence(c, s->o->quiet ? NULL : say_silence);
    return 0;
}

/* Calls voltd with the batch; b is NULL: with the spec. Returns as batch_submit() or
 * client_call(). */
static int call_once(struct submission *s, const struct batch *b,
                     struct client_reply *ret)
{
    const struct batch_sink sink = {.accepted = accepted,
                                    .rejected = rejected,
                                    .durable = durable,
                                    .stopped = stopped,
                                    .arg = s};
    return b ? batch_submit(b, s->o->spec, s->c, &sink, ret)
             : call_submit(s->c, s->o->spec, false, ret);
}

/* Calls voltd as call_once(). Connects and calls again, as nothing was submitted:
 *   once                    if voltd ended before it read the call
 *   until --reconnect=TIME  while voltd has no place for another connection */
static int call_voltd(struct submission *s, const struct batch *b,
                      struct client_reply *ret)
{
    const uint64_t deadline = duration_now_usec() + s->o->reconnect_usec;
    for (bool again = false;; again = true) {
        int r = call_once(s, b, ret);
        const bool unread = !again && r == -ECONNRESET && client_is_unheard(s->c);
        const bool full = client_is_full(ret) && duration_now_usec() < deadline;
        if (!unread && !full)
            return r;
        client_reply_fini(ret);
        if (full)
            (void)poll(NULL, 0, FULL_MSEC);
        r = connect_again(s);
        if (r < 0)
            return r;
    }
}

/* Returns whether a second submission of the spec makes no second job. */
static bool is_repeatable(const json_t *spec)
{
    const char *on_exists = job_view_string(spec, "on_exists");
    return json_object_get(spec, "key") && strcmp(on_exists, "coalesce") != 0 &&
           strcmp(on_exists, "replace") != 0;
}

static bool is_batch_repeatable(const struct batch *b, const json_t *defaults)
{
    struct volt_error err;
    bool repeatable = true;
    for (size_t i = 0; i < b->count && repeatable; i++) {
        json_t *spec = batch_spec(b, i, defaults, &err);
        repeatable = spec && is_repeatable(spec);
        json_decref(spec);
    }
    return repeatable;
}

static int submit_one(struct submission *s, struct client_reply *error)
{
    struct client_reply reply = CLIENT_REPLY_EMPTY;
    int r = call_voltd(s, NULL, &reply);
    s->repeatable = is_repeatable(s->o->spec);
    if (r == 0 && leaves_mem_out(s->o, &reply)) {
        client_reply_fini(&reply);
        r = call_submit(s->c, s->o->spec, false, &reply);
    }
    if (r == 0 && reply.error) {
        *error = reply;
        return 1;
    }
    if (r == 0) {
        const json_t *created = json_object_get(reply.parameters, "created");
        durable(s, job_view_bool(reply.parameters, "durable"));
        s->existed = json_is_false(created);
        accepted(s, job_view_string(reply.parameters, "id"));
    }
    client_reply_fini(&reply);
    return r;
}

static int submit_all(struct submission *s, struct client_reply *error)
{
    if (!s->o->file)
        return submit_one(s, error);
    struct batch b;
    if (submit_read_batch(s->o, &b) < 0)
        return -EINVAL;
    s->tries = b.tries;
    s->entries = b.count;
    if (!b.keyed) /* no keys: nothing is compared */
        (void)json_object_del(s->o->spec, "env_given");
    int r = call_voltd(s, &b, error);
    s->repeatable = r == -ECONNRESET && is_batch_repeatable(&b, s->o->spec);
    if (r == -EFBIG)
        say("jobs with local names go in one message, which has at most 16 MiB, with the "
            "environment for each; --no-env leaves that out");
    else
        say_partly(s, &b);
    if (r == -EFBIG)
        r = -EINVAL; /* after an error message */
    batch_fini(&b);
    return r;
}

/* Ignores missing output and deadlocks: the wait that follows reports them. */
static int refused(struct client *c, const struct client_reply *error)
{
    (void)c;
    if (!client_error_is(error, "NoOutput") && !client_error_is(error, "Deadlock"))
        say_error(error);
    return 0;
}

/* Returns false, after a message, if several jobs print to one file, as its lines cannot
 * be attributed. */
static bool follows_files(const struct submission *s)
{
    const char *path = job_view_string(s->o->spec, "output_path");
    if (s->o->each_line && strstr(path, "{}")) {
        say("note: the jobs print to files, which are not followed where {} is in their "
            "path");
        return false;
    }
    bool several = s->nids > 1 || json_object_get(s->o->spec, "array");
    if (s->o->file && !s->o->each_line) /* each job has a path of its own */
        return false;
    if (!*path || !several || job_files_apart(s->o->spec))
        return true;
    say("note: the jobs print to one file, which is not followed: tail -f %s; with {id} "
        "in its name each has its own",
        path);
    return false;
}

/* Returns whether the one job is no array, and voltd has its output. */
static bool is_direct(const struct submission *s)
{
    const json_t *spec = s->o->spec;
    return !s->o->file && !json_object_get(spec, "array") &&
           !json_object_get(spec, "output_path");
}

/* Prints the output while the jobs run. The exit code comes from the wait after it. */
static int follow(struct submission *s)
{
    struct outputs_request rq = {.choice = &s->o->choice,
                                 .reconnect_usec = s->o->reconnect_usec,
                                 .interrupt = s->interrupt,
                                 .ids = s->ids,
                                 .nids = s->nids,
                                 .stream = "stdout",
                                 .out = STDOUT_FILENO,
                                 .cleans = !s->o->raw && term_is_tty(STDOUT_FILENO),
                                 .lines = UINT64_MAX,
                                 .follow = true,
                                 .keep_order = s->nids > OUTPUTS_FOLLOW_MOST,
                                 .files = follows_files(s) ? &s->files : NULL,
                                 .own = true,
                                 .direct = is_direct(s),
                                 .retries = &s->retries,
                                 .refused = refused};
    bool writing;
    int code;
    int r = outputs_print(&s->c, &rq, &code, &writing);
    if (r == -EINTR) {
        wait_say_interrupted(s->ids, s->nids);
        return WAIT_EXIT_INTERRUPTED;
    }
    if (!s->c) /* after an error message */
        return SUBMIT_EXIT_FAILED;
    if (writing) {
        say("writing the output: %s; job %s%s on", strerror(-r), s->ids[0],
            s->nids > 1 ? " and the others go" : " goes");
        return SUBMIT_EXIT_FAILED;
    }
    return SUBMIT_GO;
}

static int wait_all(struct submission *s)
{
    int code = s->o->follow ? follow(s) : SUBMIT_GO;
    if (code != SUBMIT_GO)
        return code;
    const struct wait_request rq = {.choice = &s->o->choice,
                                    .ids = s->ids,
                                    .nids = s->nids,
                                    .total = s->o->file ? 0 : s->o->count,
                                    .reconnect_usec = s->o->reconnect_usec,
                                    .no_such_job_code = SUBMIT_EXIT_FAILED,
                                    .own = true,
                                    .printed = s->o->follow,
                                    .json = s->o->json,
                                    .quiet = s->o->quiet,
                                    .interrupt = s->interrupt,
                                    .retries = &s->retries};
    return wait_for_jobs(&s->c, &rq);
}

/* Watches retries, unless no job may have one: voltd would then send events of every job
 * for nothing. */
static void watch_retries(struct submission *s)
{
    const json_t *spec = s->o->spec, *retry = json_object_get(spec, "retry");
    const bool lost = strcmp(job_view_string(spec, "on_lost"), "retry") == 0;
    const int64_t times = job_view_int(retry, "times");
    if (s->o->quiet || s->o->json || (!retry && !lost && !s->tries))
        return;
    retry_watch_own(&s->retries, &s->o->choice, s->ids, s->nids,
                    times > 0 ? times + 1 : 0,
                    s->o->file || !s->o->count ? s->nids : s->o->count);
}

/* Prints, on a terminal, that a failed job did not get this environment. */
static void remark_environment(const struct submission *s, int code)
{
    const struct submit_options *o = s->o;
    if (code == 0 || code == SUBMIT_EXIT_FAILED || code == WAIT_EXIT_INTERRUPTED ||
        o->passes_env || o->no_env || o->quiet || o->json ||
        json_object_size(o->env) > 0 || !json_object_get(o->spec, "cwd") ||
        !term_is_tty(STDERR_FILENO))
        return;
    say("note: the job had the variables of its account, and none of yours: -E VAR passes "
        "one on, --all-env all");
}

/* Prints the ids on standard error, with ranges, as standard output failed. */
static void say_untold(const struct submission *s)
{
    char text[512] = "";
    size_t len = 0, i = 0;
    while (i < s->nids && len < sizeof(text) - 64) {
        size_t first = i;
        uint64_t id = strtoull(s->ids[i], NULL, 10);
        while (++i < s->nids && strtoull(s->ids[i], NULL, 10) == id + (i - first))
            ;
        len += (size_t)snprintf(text + len, sizeof(text) - len, " %.20s%s%.20s",
                                s->ids[first], i - first > 1 ? "-" : "",
                                i - first > 1 ? s->ids[i - 1] : "");
    }
    if (s->nids > 0)
        say("accepted all the same: job%s%s%s", s->nids > 1 ? "s" : "", text,
            i < s->nids ? " ..." : "");
}

/* Prints the jobs of a list as a range, on a terminal; it stays valid, while @last
 * changes with the next submission. */
static void say_range(const struct submission *s)
{
    char text[256];
    if (s->nids < 2 || s->o->quiet || s->o->json || s->o->wait ||
        !term_is_tty(STDERR_FILENO))
        return;
    id_range_format(s->ids, s->nids, text, sizeof(text));
    say("%zu jobs: voltctl list %s", s->nids, text);
}

/* Submits and prints the ids. SIGPIPE is ignored until then, so that the program does not
 * end silently. */
static int submit_and_tell(struct submission *s, struct client_reply *error)
{
    void (*before)(int) = signal(SIGPIPE, SIG_IGN);
    int r = submit_all(s, error);
    if (say_flush() < 0)
        say_untold(s);
    else
        say_range(s);
    if (s->o->file && s->nids > 1 && s->c)
        last_list_note(s->c, s->ids, s->nids);
    (void)signal(SIGPIPE, before);
    return r;
}

/* Prints, on a terminal with --wait, which options delay the job's start. */
static void say_later(const struct submission *s)
{
    const json_t *spec = s->o->spec;
    const int64_t delay = job_view_int(spec, "delay_usec");
    int64_t at = job_view_int(spec, "at_usec");
    char ids[256], date[64];
    if (s->nids == 0 || s->o->quiet || s->o->json || json_object_get(spec, "key") ||
        !term_is_tty(STDERR_FILENO))
        return;
    id_range_format(s->ids, s->nids, ids, sizeof(ids));
    if (job_view_bool(spec, "hold"))
        say("held until `voltctl release %s`", ids);
    if (delay > 0 && at < (int64_t)job_view_now() + delay)
        at = (int64_t)job_view_now() + delay;
    if (at <= 0)
        return;
    job_view_time((uint64_t)at, 0, date, sizeof(date));
    say("begins at %s", date);
}

static int submit_and_wait(struct submission *s)
{
    struct client_reply error = CLIENT_REPLY_EMPTY;
    if (s->o->follow)
        s->out_of_memory = job_files_note(&s->files, s->o->spec) < 0;
    int r = submit_and_tell(s, &error);
    if (r == 1)
        say_refused(s->o, s->c, &error);
    else if (r < 0 && r != -EINVAL)
        say_lost(r);
    if (r == -ECONNRESET && !client_is_unheard(s->c))
        say("jobs without an id here may have been accepted: %s",
            s->repeatable
                ? "submit again with the same command, which is safe, as a key makes "
                  "one job"
                : "see `voltctl list`. With --key a submission can be repeated");
    client_reply_fini(&error);
    say_more_rejected(s);
    if (s->out_of_memory)
        say("out of memory");
    bool bad = r != 0 || s->rejected > 0 || s->out_of_memory;
    if (r == 0 && !s->o->quiet && s->o->script)
        script_advise_path(s->o->script_name, s->o->script);
    if (r == 0 && !s->o->quiet && !s->o->reads_stdin)
        unread_input_remark(s->o->spec);
    if (r == 0 && !s->o->quiet) {
        list_advice_operators(s->o);
        array_advice(s->o->spec);
    }
    if (r != 0 || !s->o->wait || s->nids == 0)
        return bad ? SUBMIT_EXIT_FAILED : 0;
    say_later(s);
    s->interrupt = wait_interrupt_fd(); /* until here an interrupt ends the program */
    watch_retries(s);
    int code = wait_all(s);
    remark_environment(s, code);
    return bad && code < SUBMIT_EXIT_FAILED ? SUBMIT_EXIT_FAILED : code;
}

/* Connects, and completes the spec. Starts a voltd if none runs, but not for a command
 * that is refused. Returns SUBMIT_GO, or the exit code. */
static int open_voltd(struct submission *s, struct submit_options *o)
{
    struct client_tried tried;
    if (client_open(&o->choice, ADDRESS_JOBS, &s->c, &tried) == 0)
        return submit_environment(o, client_is_own(s->c));
    if (o->no_autostart || !autostart_helps(&o->choice, &tried)) {
        say_no_daemon(&tried);
        return SUBMIT_EXIT_FAILED;
    }
    int code = submit_environment(o, true);
    if (code == SUBMIT_GO && autostart(&o->choice, o->quiet, &s->c) < 0)
        code = SUBMIT_EXIT_FAILED;
    return code;
}

int submit_run(struct submit_options *o)
{
    struct submission s = {.o = o, .interrupt = -1};
    struct volt_error err;
    int code = open_voltd(&s, o);
    if (code == SUBMIT_GO && after_resolve(o->spec, s.c, &err) < 0) {
        say("--after: %s", err.text);
        code = SUBMIT_EXIT_FAILED;
    }
    if (code == SUBMIT_GO) {
        client_set_silence(s.c, o->quiet ? NULL : say_silence);
        code = submit_and_wait(&s);
    }
    for (size_t i = 0; i < s.nids; i++)
        free(s.ids[i]);
    free(s.ids);
    job_files_fini(&s.files);
    retry_watch_fini(&s.retries);
    client_free(s.c);
    return code;
}
