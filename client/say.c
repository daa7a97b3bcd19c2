/* Messages of the programs; see say.h. */
#include "client/say.h"
#include "client/term.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void say_init(void)
{
    /* The wrong way round: reading and writing go on to fail. */
    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) < 0)
            (void)open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY);
}

void say(const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    flockfile(stderr);
    (void)fprintf(stderr, "%s: ", program_invocation_short_name);
    term_vprint(stderr, format, ap);
    (void)fputc('\n', stderr);
    funlockfile(stderr);
    va_end(ap);
}

void say_no_daemon(const struct client_tried *tried)
{
    say("no voltd answers; tried\n%s"
        "volt-submit starts one for this user; `systemctl start voltd` that of the system,\n"
        "or name its socket with --address=unix:PATH or VOLT_ADDRESS",
        tried->text);
}

void say_silence(void)
{
    static bool said;

    if (!said)
        say("voltd has taken the call and has not answered for 5 s; it is waited for: see "
            "its log, and whether it was stopped (state T in ps)");
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
    static int failure; /* the first: later ones may not say why */
    if (failure)
        return failure;
    if (fflush(stdout) != 0)
        failure = -errno;
    else if (ferror(stdout)) /* in between, and what came then was taken */
        failure = -EIO;
    if (failure)
        say("writing to standard output: %s", strerror(-failure));
    return failure;
}

int say_finish(int code, int failed)
{
    return say_flush() < 0 ? failed : code;
}
