/* See unread_input.h.
 *
 * In `find | while read f; do volt-submit gzip "$f"; done` the rest of the input is for
 * the loop: a standard input that the parent process shares was not made for this
 * command. So it causes no warning in each turn of the loop. The price: no warning for
 * `echo a | sh -c 'volt-submit cat; true'` either. */
#include "client/unread_input.h"
#include "client/say.h"

#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static bool parent_has_it(const struct stat *ours)
{
    struct stat st;
    char path[64];
    (void)snprintf(path, sizeof(path), "/proc/%d/fd/0", (int)getppid());
    return stat(path, &st) == 0 && st.st_dev == ours->st_dev && st.st_ino == ours->st_ino;
}

/* Returns whether the pipe has data or a writer, which may still write. */
static bool pipe_goes_on(void)
{
    struct pollfd p = {.fd = STDIN_FILENO, .events = POLLIN};
    return poll(&p, 1, 0) >= 0 && ((p.revents & POLLIN) || !(p.revents & POLLHUP));
}

static bool file_goes_on(const struct stat *st)
{
    off_t at = lseek(STDIN_FILENO, 0, SEEK_CUR);
    return at >= 0 && at < st->st_size;
}

void unread_input_remark(const json_t *spec)
{
    struct stat st;
    bool command = json_object_get(spec, "argv") || json_object_get(spec, "shell");
    if (!command || json_object_get(spec, "stdin") || fstat(STDIN_FILENO, &st) < 0)
        return;
    bool pipe = S_ISFIFO(st.st_mode) && pipe_goes_on();
    bool file = S_ISREG(st.st_mode) && file_goes_on(&st);
    if ((!pipe && !file) || parent_has_it(&st))
        return;
    say("note: the job does not read the %s, its standard input is /dev/null; "
        "--stdin=- gives it what comes through the %s",
        pipe ? "pipe" : "file", pipe ? "pipe" : "file");
}
