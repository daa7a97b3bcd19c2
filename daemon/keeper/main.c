/* voltd-keeper: starts jobs for voltd, and lets them outlive voltd. See record.h,
 * protocol.h and server.c. People do not run it. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "daemon/keeper/activated.h"
#include "daemon/keeper/keeper.h"

static const char help[] =
    "Usage: voltd-keeper [OPTION...]\n"
    "Starts jobs for voltd, which runs it with a listening socket as descriptor 3.\n"
    "\n"
    "  --activated     systemd runs it, for a connection; not as root\n"
    "  --peer-uid UID  serve this user only (default: the own one; with --activated the\n"
    "                  owner of the socket)\n"
    "  --scripts DIR   where the files of scripts are put that come with jobs\n"
    "  --spared        descriptor 4 is /proc/self/oom_score_adj, below 0: jobs get 0\n"
    "  --stay          do not leave when unused for 5 s\n"
    "  --version       print the version\n"
    "  -h, --help      print this\n";

static int fail(const char *what, int error)
{
    (void)fprintf(stderr, "voltd-keeper: %s: %s\n", what, strerror(error));
    return 1;
}

/* Drops all that the starter left open, as jobs and shims would have it open for ever.
 * Standard error goes last, after the last message. */
static int settle(struct keeper_config *config, bool is_activated)
{
    struct stat st;
    int r;
    if (fstat(config->listen_fd, &st) < 0 || !S_ISSOCK(st.st_mode))
        return fail("descriptor 3", ENOTSOCK);
    const int last = config->score_fd > 0 ? config->score_fd : config->listen_fd;
    if (syscall(SYS_close_range, last + 1u, ~0u, 0) < 0 ||
        fcntl(config->listen_fd, F_SETFD, FD_CLOEXEC) < 0 ||
        fcntl(last, F_SETFD, FD_CLOEXEC) < 0 ||
        fcntl(config->listen_fd, F_SETFL, O_NONBLOCK) < 0)
        return fail("descriptors", errno);
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0)
        return fail("/dev/null", errno);
    if (chdir("/") < 0)
        return fail("/", errno);
    (void)umask(077);
    (void)setsid();
    if (is_activated && (r = activated_tell_ready()) < 0)
        return fail("NOTIFY_SOCKET", -r);
    if (is_activated && (r = activated_await_place(geteuid())) < 0)
        return fail("/proc/self/cgroup", -r);
    r = keeper_init(config);
    if (r < 0)
        return fail("start", -r);
    if (dup2(null, STDERR_FILENO) < 0)
        return fail("/dev/null", errno);
    (void)close(null);
    return 0;
}

/* Parses a uid. Returns -1, with a message, if the text is none: 0 would be root. */
static int take_uid(const char *text, uid_t *ret)
{
    char *end;
    errno = 0;
    unsigned long uid = strtoul(text, &end, 10);
    if (errno != 0 || text[0] < '0' || text[0] > '9' || *end != '\0' ||
        uid >= (uid_t)-1) {
        (void)fprintf(stderr, "voltd-keeper: --peer-uid %s: a uid is needed\n", text);
        return -1;
    }
    *ret = (uid_t)uid;
    return 0;
}

/* Checks what systemd passes. Returns non-zero, with a message, if something is missing.
 * *ret_peer: the user to serve. */
static int check_activation(uid_t *ret_peer)
{
    if (geteuid() == 0)
        return fail("--activated: not as root", EPERM);
    if (!activated_has_socket())
        return fail("--activated: a socket of systemd's", ENOENT);
    int r = activated_peer(KEEPER_LISTEN_FD, ret_peer);
    return r < 0 ? fail("descriptor 3", -r) : 0;
}

/* Prints the text on standard output. Returns the exit status. */
static int tell(const char *text)
{
    (void)fputs(text, stdout);
    (void)fflush(stdout);
    return ferror(stdout) != 0;
}

static int refuse_usage(void)
{
    (void)fputs(help, stderr);
    return 2;
}

int main(int argc, char **argv)
{
    static const struct option options[] = {
        {"activated", no_argument, NULL, 'a'},
        {"peer-uid", required_argument, NULL, 'u'},
        {"scripts", required_argument, NULL, 'S'},
        {"spared", no_argument, NULL, 'o'},
        {"stay", no_argument, NULL, 's'},
        {"version", no_argument, NULL, 'v'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    struct keeper_config config = {
        .listen_fd = KEEPER_LISTEN_FD,
        .peer_uid = (uid_t)-1,
        .leave_usec = 5000000,
        .rest_msec = 100,
    };
    uid_t peer = geteuid();
    bool is_activated = false;
    int opt;
    while ((opt = getopt_long(argc, argv, "h", options, NULL)) != -1) {
        if (opt == 'u' && take_uid(optarg, &config.peer_uid) < 0)
            return 2;
        else if (opt == 'u')
            continue;
        else if (opt == 'a')
            is_activated = true;
        else if (opt == 'S')
            config.scripts_dir = optarg;
        else if (opt == 'o')
            config.score_fd = KEEPER_SCORE_FD;
        else if (opt == 's')
            config.leave_usec = 0;
        else if (opt == 'v')
            return tell("voltd-keeper " VOLT_VERSION "\n");
        else if (opt == 'h')
            return tell(help);
        else
            return refuse_usage();
    }
    if (optind != argc)
        return refuse_usage();
    if (is_activated && check_activation(&peer) != 0)
        return 1;
    if (config.peer_uid == (uid_t)-1)
        config.peer_uid = peer;
    if (settle(&config, is_activated) != 0)
        return 1;
    return keeper_serve() < 0;
}
