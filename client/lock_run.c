/* See lock.h: the execution of volt-lock.
 *
 * The lock is a descriptor that voltd hands over (Acquire of org.voltd.locks). While
 * volt-lock waits it stands for the place in the line, also over a restart of voltd; then
 * it is the lock. After that neither voltd nor the connection is needed, and the command
 * inherits the descriptor. */
#include "client/autostart.h"
#include "client/client.h"
#include "client/inside.h"
#include "client/job_view.h"
#include "client/lock.h"
#include "client/reconnect.h"
#include "client/say.h"
#include "client/term.h"
#include "wire/duration.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { COMMAND_BYTES = 255 }; /* as in org.voltd.locks */

/* How late voltd may be with an answer for -n and -w. */
#define LATE_USEC UINT64_C(5000000)

/* --- the lock ----------------------------------------------------------------------- */

/* Returns the text of the command for voltd, cut to its limit; in ASCII if it is not
 * UTF-8. */
static json_t *command_text(const struct lock_options *o)
{
    char text[COMMAND_BYTES + 1];
    size_t at = 0;

    if (o->shell_text)
        (void)snprintf(text, sizeof(text), "%s", o->shell_text);
    for (char **word = o->argv; !o->shell_text && *word && at < COMMAND_BYTES; word++) {
        int n = snprintf(text + at, sizeof(text) - at, "%s%s", at ? " " : "", *word);
        at += n > 0 ? (size_t)n : 0;
    }
    json_t *json = json_string(text);
    for (char *c = text; !json && *c; c++)
        if (*c & 0x80)
            *c = '?';
    return json ? json : json_string(text);
}

/* The place or lock that volt-lock has. */
struct place {
    int fd; /* -1: none yet */
    json_int_t lease;
};

static json_t *parameters(const struct lock_options *o, const struct client *c,
                          uint64_t deadline, const struct place *at)
{
    const uint64_t now = duration_now_usec();
    json_t *p = json_pack("{s:s, s:s, s:o}", "name", o->name, "mode", o->mode, "command",
                          command_text(o));

    if (o->permits)
        (void)json_object_set_new(p, "permits", json_integer(o->permits));
    if (o->capacity)
        (void)json_object_set_new(p, "capacity", json_integer(o->capacity));
    if (o->waits && o->has_timeout)
        (void)json_object_set_new(
            p, "timeout_usec",
            json_integer(now < deadline ? (json_int_t)(deadline - now) : 0));
    if (at->fd >= 0)
        (void)json_object_set_new(p, "lease", json_integer(at->lease));
    inside_add(p, c);
    return p;
}

static int open_voltd(const struct lock_options *o, struct client **ret)
{
    struct client_tried tried;
    int r = client_open(&o->choice, ADDRESS_JOBS, ret, &tried);

    if (r < 0 && !o->no_autostart && autostart_helps(&o->choice, &tried))
        return autostart(&o->choice, !o->verbose, ret);
    if (r < 0)
        say_no_daemon(&tried);
    return r;
}

static int tell_command(const struct client *c, json_int_t lease)
{
    char text[160];

    (void)snprintf(text, sizeof(text), "%lld %s", (long long)lease, client_socket(c));
    return setenv(INSIDE_LEASE, text, 1) < 0 ? LOCK_EXIT_VOLT_FAILED : 0;
}

static void leave_place(struct place *at)
{
    if (at->fd >= 0)
        (void)close(at->fd);
    at->fd = -1;
}

/* Takes the descriptor, which comes with the first reply, unless voltd still knows the
 * one that is here. */
static void take_fd(struct client_reply *reply, struct place *at)
{
    at->lease = json_integer_value(json_object_get(reply->parameters, "lease"));
    if (reply->fd < 0)
        return;
    leave_place(at);
    at->fd = reply->fd;
    reply->fd = -1;
}

#define RESUME "see `voltctl queue resume default`"

/* Returns whether the queue in which it waits is paused. */
static bool is_paused(const struct client *c)
{
    struct client_reply reply = CLIENT_REPLY_EMPTY;
    struct client *other;
    struct volt_error err;
    bool paused = false;
    const json_t *queue;
    size_t i;

    if (client_open_same(c, &other, &err) < 0)
        return false;
    if (client_call(other, "org.voltd.queues.List", json_object(), &reply) == 0 &&
        !reply.error)
        json_array_foreach(json_object_get(reply.parameters, "queues"), i, queue)
        {
            if (strcmp(job_view_string(queue, "name"), "default") == 0)
                paused = job_view_bool(queue, "paused");
        }
    client_reply_fini(&reply);
    client_free(other);
    return paused;
}

/* Prints that the wait begins; on a terminal also that it may never end. */
static void say_waits(const struct lock_options *o, const struct client *c)
{
    const bool tells = o->verbose || term_is_tty(STDERR_FILENO);

    if (tells && is_paused(c))
        say("waiting for %s: queue default is paused; " RESUME, o->name);
    else if (o->verbose)
        say("waiting for %s", o->name);
}

/* Prints why the lock is busy. A pause is always printed, as a command skipped for it
 * must not go unnoticed. */
static void say_busy(const struct lock_options *o, const struct client_reply *reply)
{
    const char *reason = json_string_value(json_object_get(reply->parameters, "reason"));

    if (json_is_true(json_object_get(reply->parameters, "paused")))
        say("%s is given to nothing now: %s; " RESUME, o->name, reason);
    else if (o->verbose)
        say("%s is not free%s%s", o->name, reason ? ": " : "", reason ? reason : "");
}

/* Judges the last reply. Returns 0, or the exit code. */
static int understand(const struct lock_options *o, const struct client *c,
                      const struct client_reply *reply, const struct place *at)
{
    if (client_error_is(reply, "Busy")) {
        say_busy(o, reply);
        return o->busy_code;
    }
    if (reply->error)
        say_error(reply);
    else if (at->fd < 0)
        say_lost(-EPROTO);
    else
        return tell_command(c, at->lease);
    return LOCK_EXIT_VOLT_FAILED;
}

static uint64_t time_until(uint64_t end)
{
    const uint64_t now = duration_now_usec();

    if (end == UINT64_MAX)
        return CLIENT_FOREVER;
    return now < end ? end - now : 0;
}

/* Receives the replies to a call, the last one in *ret. Returns 1; 0: not until `end`; or
 * as client_receive(). */
static int hear(const struct lock_options *o, struct client *c, uint64_t end,
                struct client_reply *ret, struct place *at)
{
    bool waits = false;
    int r;

    while ((r = client_receive(c, time_until(end), ret)) > 0) {
        take_fd(ret, at);
        if (!ret->continues)
            return r;
        if (!waits)
            say_waits(o, c);
        waits = true;
        client_reply_fini(ret);
    }
    return r;
}

/* How long to wait for voltd. deadline: its own, after which it says that the lock is
 * busy; UINT64_MAX: none. end: after it voltd is not waited for; UINT64_MAX: it is. */
struct wait_times {
    uint64_t deadline, end;
};

static struct wait_times times_of(const struct lock_options *o)
{
    const uint64_t now = duration_now_usec();
    struct wait_times t = {.deadline = UINT64_MAX, .end = UINT64_MAX};

    if (o->has_timeout && o->timeout_usec < UINT64_MAX - LATE_USEC - now)
        t.deadline = now + o->timeout_usec;
    if (t.deadline < UINT64_MAX)
        t.end = t.deadline + LATE_USEC;
    else if (!o->waits)
        t.end = now + LATE_USEC;
    return t;
}

/* Asks once. Returns 0 with at->fd; the exit code; or -ECONNRESET: the connection was
 * lost. */
static int ask(const struct lock_options *o, struct client *c, const struct wait_times *t,
               struct place *at)
{
    struct client_reply reply = CLIENT_REPLY_EMPTY;
    int r = client_send(c, "org.voltd.locks.Acquire", parameters(o, c, t->deadline, at),
                        o->waits ? CLIENT_MORE : 0);

    if (r >= 0)
        r = hear(o, c, t->end, &reply, at);
    if (r > 0 && reply.error)
        leave_place(at);
    if (r > 0) {
        r = understand(o, c, &reply, at);
    } else if (r == 0) {
        say("voltd has not answered in time; the command has not been run");
        r = LOCK_EXIT_VOLT_FAILED;
    } else if (r != -ECONNRESET) {
        say_lost(r);
        r = LOCK_EXIT_VOLT_FAILED;
    }
    client_reply_fini(&reply);
    return r;
}

/* Gets the lock. Returns 0 with *fd, or the exit code. */
static int get(const struct lock_options *o, int *fd)
{
    const uint64_t begun = duration_now_usec();
    const struct wait_times t = times_of(o);
    struct place at = {.fd = -1};
    struct client *c = NULL;
    int r;

    if (open_voltd(o, &c) < 0)
        return LOCK_EXIT_VOLT_FAILED;
    client_set_silence(c, say_silence);
    while ((r = ask(o, c, &t, &at)) == -ECONNRESET) {
        const uint64_t left = time_until(t.end);
        if (reconnect(&c, &o->choice, ADDRESS_JOBS,
                      left < o->reconnect_usec ? left : o->reconnect_usec, -1) < 0)
            return LOCK_EXIT_VOLT_FAILED;
    }
    client_free(c);
    *fd = at.fd;
    if (r == 0 && o->verbose) {
        char span[32];
        duration_format(duration_now_usec() - begun, span, sizeof(span));
        say("got %s after %s", o->name, span);
    }
    return r;
}

/* --- the command -------------------------------------------------------------------- */

static int exec_command(const struct lock_options *o)
{
    char *shell[] = {"/bin/sh", "-c", (char *)(uintptr_t)o->shell_text, NULL};
    char *const *argv = o->shell_text ? shell : o->argv;

    (void)execvp(argv[0], argv);
    const int error = errno;
    say("%s: %s", argv[0], strerror(error));
    return error == ENOENT ? LOCK_EXIT_NOT_FOUND : LOCK_EXIT_NOT_EXECUTABLE;
}

/* Waits for the command, whose exit code it returns. Signals of the terminal are left to
 * the command. */
static int await(pid_t pid)
{
    int status;

    (void)signal(SIGINT, SIG_IGN);
    (void)signal(SIGQUIT, SIG_IGN);
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR) {
            say("cannot wait for the command: %s", strerror(errno));
            return LOCK_EXIT_VOLT_FAILED;
        }
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static int run(const struct lock_options *o, int fd)
{
    if (!o->close && fcntl(fd, F_SETFD, 0) < 0) {
        say("cannot pass the lock on: %s", strerror(errno));
        return LOCK_EXIT_VOLT_FAILED;
    }
    if (o->no_fork)
        return exec_command(o);
    (void)signal(SIGCHLD, SIG_DFL); /* if ignored, there would be no exit status */
    const pid_t pid = fork();
    if (pid < 0) {
        say("cannot fork: %s", strerror(errno));
        return LOCK_EXIT_VOLT_FAILED;
    }
    if (pid == 0)
        _exit(exec_command(o));
    return await(pid);
}

int lock_run(const struct lock_options *o)
{
    int fd = -1;
    const int code = get(o, &fd);

    return code || fd < 0 ? code : run(o, fd); /* -E may be 0 */
}
