/* See lock.h: the command line of volt-lock. */
#include "client/lock.h"
#include "client/options.h"
#include "client/reconnect.h"
#include "client/say.h"
#include "wire/duration.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PERMITS_MAX = 1000000000 }; /* as in org.voltd.locks */

enum {
    OPT_PERMITS = OPTION_LONG,
    OPT_VERBOSE,
    OPT_RECONNECT,
    OPT_NO_AUTOSTART,
    OPT_VERSION,
};

static const struct option_entry lock_table[] = {
    {"shared", 's', NULL, "have the lock together with others that share it"},
    {"exclusive", 'x', NULL, "have it alone (default)"},
    {"permits", OPT_PERMITS, "N[/CAPACITY]",
     "NAME is a semaphore: have N of its permits; CAPACITY says how many there are, else it "
     "has what it has, one where it is new"},
    {"nonblock", 'n', NULL, "do not wait: exit with 1 where it is not free now"},
    {"timeout", 'w', "TIME", "wait for at most TIME, then exit with 1"},
    {"conflict-exit-code", 'E', "CODE", "instead of 1 with -n and -w: 0 to 255"},
    {NULL, 0, NULL, NULL},
};

static const struct option_entry command_table[] = {
    {"command", 'c', "TEXT", "run TEXT with /bin/sh -c; may be behind NAME"},
    {"close", 'o', NULL,
     "COMMAND does not inherit the lock: what it leaves behind does not have it, and if "
     "volt-lock is killed COMMAND goes on without it"},
    {"no-fork", 'F', NULL, "become COMMAND instead of waiting for it"},
    {"verbose", OPT_VERBOSE, NULL,
     "say that it waits, with -n and -w what has the lock, and how long it took"},
    {"reconnect", OPT_RECONNECT, "TIME",
     "for how long to try again where voltd ends while this waits (default 30s; 0: not at "
     "all)"},
    {"no-autostart", OPT_NO_AUTOSTART, NULL, "do not start a voltd where none runs"},
    {"help", 'h', NULL, "this text"},
    {"version", OPT_VERSION, NULL, "the version of volt-lock"},
    {NULL, 0, NULL, NULL},
};

static const struct option_elsewhere elsewhere[] = {
    {" -e ", "-x, or nothing"},
    {" --nb ", "--nonblock"},
    {" --wait ", "--timeout=TIME"},
    {" -u --unlock ", OPTION_LEAVE_OUT ": the lock is free when COMMAND has ended"},
    {NULL, NULL},
};

static void help(void)
{
    (void)fputs("Usage: volt-lock [OPTIONS] NAME [--] COMMAND [ARG...]\n"
                "       volt-lock [OPTIONS] NAME -c 'TEXT'\n"
                "Run a command while it has your lock NAME of voltd, which jobs claim with\n"
                "`volt-submit --lock NAME`; `voltctl locks` says what has it.\n",
                stdout);
    (void)puts("\nThe lock:");
    options_print(lock_table);
    (void)puts("\nThe command:");
    options_print(command_table);
    (void)puts("\nThe daemon (tried: the user's, then the system's):");
    options_print(options_connection);
    (void)fputs(
        "\nThe lock is free when COMMAND, and all that it has started and that still runs,\n"
        "has ended; also where volt-lock is killed before, or voltd is restarted.\n"
        "\nExamples:\n"
        "  volt-lock backup -- rsync -a /srv /mnt\n"
        "  volt-lock -n -E 75 report ./report.sh\n"
        "  volt-lock -w 10m --permits 1/2 gpu -- ./train\n"
        "\nExit codes: COMMAND's own; 128+N killed by signal N; 1 (or -E) the lock was not\n"
        "free; 126 COMMAND is not executable; 127 it is not found; 125 volt-lock failed.\n",
        stdout);
}

/* --- values ------------------------------------------------------------------------- */

/* Parses a whole number from 1 to PERMITS_MAX that ends at `end`. Returns 0 for another
 * text. */
static int64_t read_permits(const char *text, char end)
{
    const size_t len = strspn(text, "0123456789");
    const long long n = len > 0 && len <= 10 ? strtoll(text, NULL, 10) : 0;

    return text[len] == end && n <= PERMITS_MAX ? n : 0;
}

static bool take_permits(struct lock_options *o, const char *text)
{
    const char *slash = strchr(text, '/');

    o->mode = "permits";
    o->permits = read_permits(text, slash ? '/' : '\0');
    o->capacity = slash ? read_permits(slash + 1, '\0') : 0;
    if (o->permits && (!slash || o->capacity))
        return true;
    say("--permits: %s is not N or N/CAPACITY, of numbers from 1 to %d", text,
        PERMITS_MAX);
    return false;
}

static bool take_time(const char *option, const char *text, uint64_t *ret)
{
    if (duration_parse(text, ret) == 0)
        return true;
    say("%s: %s is not a time such as 10, 1.5s or 10m", option, text);
    return false;
}

static bool take_code(struct lock_options *o, const char *text)
{
    const size_t len = strspn(text, "0123456789");
    const long code = len > 0 && len <= 3 && !text[len] ? strtol(text, NULL, 10) : 256;

    o->busy_code = (int)code;
    if (code <= 255)
        return true;
    say("--conflict-exit-code: %s is not a number from 0 to 255", text);
    return false;
}

static bool take_timeout(struct lock_options *o, const char *text)
{
    o->has_timeout = true;
    return take_time("--timeout", text, &o->timeout_usec);
}

/* --- options ------------------------------------------------------------------------ */

/* Takes an option. Returns false after an error message. */
static bool take(struct lock_options *o, int key, const char *arg)
{
    switch (key) {
    case 's':
        o->mode = "shared";
        return true;
    case 'x':
        o->mode = "exclusive";
        return true;
    case OPT_PERMITS:
        return take_permits(o, arg);
    case 'n':
        o->waits = false;
        return true;
    case 'w':
        return take_timeout(o, arg);
    case 'E':
        return take_code(o, arg);
    case 'c':
        o->shell_text = arg;
        return true;
    case 'o':
        o->close = true;
        return true;
    case 'F':
        o->no_fork = true;
        return true;
    case OPT_VERBOSE:
        o->verbose = true;
        return true;
    case OPT_RECONNECT:
        return take_time("--reconnect", arg, &o->reconnect_usec);
    case OPT_NO_AUTOSTART:
        o->no_autostart = true;
        return true;
    default:
        return options_connection_take(&o->choice, key, arg);
    }
}

/* --- words -------------------------------------------------------------------------- */

static int refuse(const char *text)
{
    say("%s; try --help", text);
    return LOCK_EXIT_VOLT_FAILED;
}

/* Takes NAME and the command. */
static int take_words(struct lock_options *o, char **words, int n)
{
    if (n == 0)
        return refuse("the name of a lock is needed");
    o->name = words[0];
    o->argv = words + 1;
    n--;
    if (n == 2 && strcmp(o->argv[0], "-c") == 0) {
        o->shell_text = o->argv[1];
        n = 0;
    } else if (n > 0 && strcmp(o->argv[0], "--") == 0) {
        o->argv++;
        n--;
    }
    if (n > 0 && o->shell_text)
        return refuse("a command and -c: one of them");
    if (n == 0 && !o->shell_text)
        return refuse("a command is needed");
    if (!o->waits && o->has_timeout)
        return refuse("--nonblock and --timeout: one of them");
    if (o->close && o->no_fork)
        return refuse("--close and --no-fork: nothing would have the lock");
    return LOCK_GO;
}

int lock_parse(struct lock_options *o, int argc, char **argv)
{
    static const struct option_entry *const tables[] = {lock_table, command_table,
                                                        options_connection, NULL};
    struct options options = {.tables = tables,
                              .argc = argc,
                              .argv = argv,
                              .elsewhere = elsewhere,
                              .stop_at_operand = true};
    int key;

    o->mode = "exclusive";
    o->waits = true;
    o->busy_code = LOCK_EXIT_BUSY;
    o->reconnect_usec = RECONNECT_USEC;
    while ((key = options_next(&options)) >= 0) {
        if (key == 'h') {
            help();
            return 0;
        }
        if (key == OPT_VERSION) {
            (void)puts("volt-lock " VOLT_VERSION);
            return 0;
        }
        if (!take(o, key, options.arg))
            return LOCK_EXIT_VOLT_FAILED;
    }
    if (key == OPTION_BAD)
        return LOCK_EXIT_VOLT_FAILED;
    options_connection_finish(&o->choice);
    return take_words(o, argv + optind, argc - optind);
}
