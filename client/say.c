/* See say.h. */
#include "client/say.h"
#include "client/streams.h"
#include "client/term.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void say_init(void)
{
    /* Opened for the other direction, so that reading and writing still fail. */
    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) < 0)
            (void)open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY);
    streams_init();
}

static void __attribute__((format(printf, 1, 2))) put(const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    term_vprint(stderr, format, ap);
    va_end(ap);
}

/* Prints in one write, so that lines of programs that share the file do not mix. */
void say(const char *format, ...)
{
    char *text = NULL;
    va_list ap;
    va_start(ap, format);
    if (vasprintf(&text, format, ap) < 0)
        text = NULL;
    va_end(ap);
    put("%s: %s\n", program_invocation_short_name, text ? text : "out of memory");
    free(text);
}

void say_if_terminal(const char *what)
{
    if (isatty(STDIN_FILENO))
        say("the %s is read from the terminal; Ctrl-D ends it", what);
}

void say_no_daemon(const struct client_tried *tried)
{
    if (tried->forbidden) {
        say("this user may not use the voltd that is here; tried\n%s"
            "`volt-submit --user` starts one for this user alone",
            tried->text);
        return;
    }
    if (tried->named) {
        say("no voltd answers; tried\n%s"
            "the address was given: without --address and VOLT_ADDRESS the sockets of this\n"
            "user and of the system are tried",
            tried->text);
        return;
    }
    if (tried->system) {
        say("no voltd answers; tried\n%s"
            "root starts it by `systemctl start voltd`",
            tried->text);
        return;
    }
    say("no voltd answers; tried\n%s"
        "volt-submit starts one for this user, which goes on with the jobs that wait;\n"
        "`systemctl start voltd` starts that of the system,\n"
        "or name its socket with --address=unix:PATH or VOLT_ADDRESS",
        tried->text);
}

void say_silence(unsigned sec)
{
    static bool said;

    if (!said)
        say("voltd has the call and has not answered for %u s; waiting. See its log, and whether "
            "it is stopped (state T in ps)",
            sec);
    said = true;
}

void say_error(const struct client_reply *reply)
{
    char text[512], shown[512];
    client_error_text(reply, text, sizeof(text));
    term_clean(text, shown, sizeof(shown));
    say("%s", shown);
}

void say_lost(int r)
{
    if (r == -EPROTO)
        say("what came over the socket is not the protocol of voltd");
    else if (r == -ECONNRESET)
        say("voltd closed the connection: it has ended, or has as many as "
            "MaxConnections= and MaxConnectionsPerUser= allow");
    else
        say("talking to voltd: %s", strerror(-r));
}

int say_flush(void)
{
    static int failure; /* the first error: later ones may hide the cause */
    if (failure)
        return failure;
    if (fflush(stdout) != 0)
        failure = -errno;
    else if (ferror(stdout)) /* failed before, and later writes succeeded */
        failure = -EIO;
    if (failure)
        say("writing to standard output: %s", strerror(-failure));
    return failure;
}

int say_finish(int code, int failed)
{
    return say_flush() < 0 ? failed : code;
}
