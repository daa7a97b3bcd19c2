/* What volt-submit does; see submit.h. */
#include "client/autostart.h"
#include "client/each_line.h"
#include "client/outputs.h"
#include "client/job_view.h"
#include "client/say.h"
#include "client/submit.h"
#include "client/term.h"
#include "client/await.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

struct submission {
    const struct submit_options *o;
    struct client *c;
    int interrupt;
    char **ids;
    size_t nids, room;
    unsigned rejected;
    bool said_not_durable, said_pipe, out_of_memory;
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
    struct volt_error err;
    int r = o->each_line ? each_line_read(b, o->spec, in, &err) : batch_read(b, in, &err);
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

/* Whether the jobs go, or would go, to a voltd of our own. */
static bool goes_to_own(const struct submit_options *o)
{
    struct address list[2];
    struct client_tried tried;
    struct volt_error err;
    struct client *c;
    if (client_open(&o->choice, ADDRESS_JOBS, &c, &tried) == 0) {
        bool own = client_is_own(c);
        client_free(c);
        return own;
    }
    return address_candidates(&o->choice, ADDRESS_JOBS, list, &err) < 1 ||
           !address_is_system(&list[0], ADDRESS_JOBS);
}

int submit_dry_run(struct submit_options *o)
{
    int code = submit_environment(o, goes_to_own(o));
    if (code != SUBMIT_GO)
        return code;
    if (!o->file) {
        print_spec(o->spec);
        return 0;
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
        term_print("{\"event\":\"submitted\",\"id\":\"%s\"}\n", id);
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
    s->rejected++;
    say("%s: line %u: %s%s%s", strcmp(s->o->file, "-") ? s->o->file : "standard input",
        line, parameter, *parameter ? ": " : "", reason);
}

static void durable(void *arg, bool yes)
{
    struct submission *s = arg;
    if (yes || s->said_not_durable || s->o->quiet || !term_is_tty(STDERR_FILENO))
        return;
    s->said_not_durable = true;
    say("note: this voltd keeps its queue in memory; what is queued does not survive its "
        "end");
}

static int connect_or_start(const struct submit_options *o, struct client_tried *tried,
                            struct client **ret)
{
    int r = client_open(&o->choice, ADDRESS_JOBS, ret, tried);
    if (r == 0 || o->no_autostart || !autostart_helps(&o->choice, tried))
        return r;
    return autostart(&o->choice, o->quiet, ret);
}

static int call_submit(struct submission *s, struct client_reply *ret)
{
    json_t *params = json_pack("{s:O}", "spec", s->o->spec);
    return client_call(s->c, "org.voltd.jobs.Submit", params, ret);
}

/* The voltd that was connected to has ended, and knows nothing of the job: another one is
 * asked, if it is of the same kind, for which the environment was chosen. Negative: there
 * is none. */
static int call_again(struct submission *s, struct client_reply *ret)
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
    return call_submit(s, ret);
}

static int submit_one(struct submission *s, struct client_reply *error)
{
    struct client_reply reply = CLIENT_REPLY_EMPTY;
    int r = call_submit(s, &reply);
    if (r == -ECONNRESET && client_is_unheard(s->c))
        r = call_again(s, &reply);
    if (r == 0 && reply.error) {
        *error = reply;
        return 1;
    }
    if (r == 0) {
        durable(s, job_view_bool(reply.parameters, "durable"));
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
    const struct batch_sink sink = {
        .accepted = accepted, .rejected = rejected, .durable = durable, .arg = s};
    int r = batch_submit(&b, s->o->spec, s->c, &sink, error);
    batch_fini(&b);
    return r;
}

/* Missing output is no failure here: what the job came to is told by the wait. */
static int refused(struct client *c, const struct client_reply *error)
{
    (void)c;
    if (!client_error_is(error, "NoOutput"))
        say_error(error);
    return 0;
}

/* Prints the output while the jobs run. The exit code follows from the wait after it. */
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
                                 .own = true,
                                 .refused = refused};
    bool writing;
    int code;
    int r = outputs_print(&s->c, &rq, &code, &writing);
    if (r == -EINTR) {
        wait_say_interrupted(s->ids, s->nids);
        return WAIT_EXIT_INTERRUPTED;
    }
    if (!s->c) /* said */
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
                                    .json = s->o->json,
                                    .quiet = s->o->quiet,
                                    .interrupt = s->interrupt};
    return wait_for_jobs(&s->c, &rq);
}

/* A refusal of what an option said names the option, not the member of the spec. */
static bool say_option(const struct client_reply *error)
{
    const char *parameter = job_view_string(error->parameters, "parameter");
    char text[512];
    if (!client_error_is(error, "InvalidParameter") ||
        strncmp(parameter, "spec.", 5) != 0)
        return false;
    const char *member = parameter + 5;
    size_t len = strcspn(member, ".[");
    const char *option = submit_option_of(member, len);
    if (!option)
        return false;
    term_clean(job_view_string(error->parameters, "reason"), text, sizeof(text));
    say("%s: %s", option, text);
    return true;
}

static void say_refused(const struct submission *s, const struct client_reply *error)
{
    if (!say_option(error))
        say_error(error);
    /* The call as a whole: mostly an input, or an environment, beyond all measure. */
    if (!client_error_is(error, "InvalidParameter") ||
        strcmp(job_view_string(error->parameters, "parameter"), "parameters") != 0)
        return;
    size_t input = json_string_length(json_object_get(s->o->spec, "stdin_data")) / 4 * 3;
    if (input > 0)
        say("standard input is %zu bytes of it; keep it in a file, and give --stdin=FILE",
            input);
    else if (s->o->passes_env)
        say("the environment is part of it; --no-env leaves it out, -E VAR passes on "
            "one");
}

/* Standard output did not take the ids: the submitter is told them all the same, numbers
 * that follow each other as first-last. */
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

/* Words in a pipe would be for the command, which does not get them. A pipe that is empty
 * is one that somebody's program was started with, or one whose writer is slow: it is
 * looked at when the job is submitted, and again when it has been waited for. */
static void remark_on_pipe(struct submission *s)
{
    struct stat st;
    int waiting = 0;
    const json_t *spec = s->o->spec;
    bool command = json_object_get(spec, "argv") || json_object_get(spec, "shell");
    if (s->o->quiet || s->said_pipe || !command || json_object_get(spec, "stdin") ||
        s->o->reads_stdin)
        return;
    s->said_pipe = fstat(STDIN_FILENO, &st) == 0 && S_ISFIFO(st.st_mode) &&
                   ioctl(STDIN_FILENO, FIONREAD, &waiting) == 0 && waiting > 0;
    if (s->said_pipe)
        say("note: the job does not read the pipe, its standard input is /dev/null; "
            "--stdin=- gives it what comes through the pipe");
}

/* Until its ids are told nothing ends the program silently. */
static int submit_and_tell(struct submission *s, struct client_reply *error)
{
    void (*before)(int) = signal(SIGPIPE, SIG_IGN);
    int r = submit_all(s, error);
    if (say_flush() < 0)
        say_untold(s);
    (void)signal(SIGPIPE, before);
    return r;
}

static int submit_and_wait(struct submission *s)
{
    struct client_reply error = CLIENT_REPLY_EMPTY;
    int r = submit_and_tell(s, &error);
    if (r == 1)
        say_refused(s, &error);
    else if (r < 0 && r != -EINVAL)
        say_lost(r);
    if (r == -ECONNRESET && !client_is_unheard(s->c))
        say("what has no id here may have been accepted all the same: see `voltctl list`; "
            "with --key a submission can be repeated");
    client_reply_fini(&error);
    if (s->out_of_memory)
        say("out of memory");
    bool bad = r != 0 || s->rejected > 0 || s->out_of_memory;
    if (r == 0)
        remark_on_pipe(s);
    if (r != 0 || !s->o->wait || s->nids == 0)
        return bad ? SUBMIT_EXIT_FAILED : 0;
    s->interrupt = wait_interrupt_fd(); /* until here an interrupt just ends us */
    int code = wait_all(s);
    remark_on_pipe(s);
    return bad && code < SUBMIT_EXIT_FAILED ? SUBMIT_EXIT_FAILED : code;
}

/* Connects, and completes the spec. Where none runs one is started, but not for a command
 * that is refused. SUBMIT_GO, or the code to exit with. */
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
    int code = open_voltd(&s, o);
    if (code == SUBMIT_GO) {
        client_set_silence(s.c, o->quiet ? NULL : say_silence);
        code = submit_and_wait(&s);
    }
    for (size_t i = 0; i < s.nids; i++)
        free(s.ids[i]);
    free(s.ids);
    client_free(s.c);
    return code;
}
