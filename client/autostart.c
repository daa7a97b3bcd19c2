/* See autostart.h. voltd gets a session of its own, no descriptor of ours, and a log
 * beside its socket. The lock on that log is held until it answers. */
#include "client/autostart.h"
#include "client/say.h"
#include "client/term.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PATIENCE 3000 /* looks: 30 s */
#define REST     10   /* of these, before another start */

bool autostart_helps(const struct address_choice *choice,
                     const struct client_tried *tried)
{
    return !choice->jobs && choice->scope != ADDRESS_SYSTEM && tried->absent;
}

struct start {
    char log[ADDRESS_PATH_MAX + 16];
    int fd;    /* of the log */
    off_t end; /* of what others have written to it */
};

/* Opens and locks the log, in the directory of the socket. 0; negative, and said. */
static int open_log(struct start *s)
{
    struct volt_error err = {.text = ""};
    char dir[ADDRESS_PATH_MAX + 1];
    int r = address_user_dir(dir, sizeof(dir));
    if (r == 0 && mkdir(dir, 0700) < 0 && errno != EEXIST)
        r = -errno;
    if (r == 0)
        r = address_check_dir(dir, &err);
    if (r == 0) {
        (void)snprintf(s->log, sizeof(s->log), "%s/voltd.log", dir);
        s->fd =
            open(s->log,
                 O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
        r = s->fd < 0 || flock(s->fd, LOCK_EX) < 0 ? -errno : 0;
    }
    if (r == 0)
        s->end = lseek(s->fd, 0, SEEK_END);
    else
        say("voltd cannot be started: %s: %s", dir, *err.text ? err.text : strerror(-r));
    return r;
}

/* voltd beside this program, or the one that PATH has. */
static void find_voltd(char path[PATH_MAX])
{
    ssize_t n = readlink("/proc/self/exe", path, PATH_MAX - sizeof("voltd"));
    path[n > 0 ? n : 0] = '\0';
    char *slash = strrchr(path, '/');
    if (slash)
        (void)strcpy(slash + 1, "voltd");
    if (!slash || access(path, X_OK) < 0)
        (void)strcpy(path, "voltd");
}

static int spawn(const struct start *s, pid_t *ret)
{
    char path[PATH_MAX];
    char *const argv[] = {(char *)"voltd", (char *)"--user", NULL};
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attr;
    sigset_t all, none;
    find_voltd(path);
    (void)sigfillset(&all);
    (void)sigemptyset(&none);
    if (posix_spawn_file_actions_init(&files) != 0)
        return -ENOMEM;
    if (posix_spawnattr_init(&attr) != 0) {
        (void)posix_spawn_file_actions_destroy(&files);
        return -ENOMEM;
    }
    int r =
        posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (r == 0)
        r = posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, s->log,
                                             O_WRONLY | O_APPEND, 0);
    if (r == 0)
        r = posix_spawn_file_actions_adddup2(&files, STDOUT_FILENO, STDERR_FILENO);
    if (r == 0)
        r = posix_spawn_file_actions_addclosefrom_np(&files, STDERR_FILENO + 1);
    if (r == 0)
        r = posix_spawn_file_actions_addchdir_np(&files, "/");
    (void)posix_spawnattr_setsigdefault(&attr, &all);
    (void)posix_spawnattr_setsigmask(&attr, &none);
    (void)posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGDEF |
                                              POSIX_SPAWN_SETSIGMASK);
    if (r == 0)
        r = posix_spawnp(ret, path, &files, &attr, argv, environ);
    (void)posix_spawn_file_actions_destroy(&files);
    (void)posix_spawnattr_destroy(&attr);
    return -r;
}

/* What voltd has said before it ended: its last line. */
static void say_ended(const struct start *s)
{
    char text[2048] = "", line[1024];
    ssize_t n = pread(s->fd, text, sizeof(text) - 1, s->end);
    while (n > 0 && text[n - 1] == '\n')
        n--;
    text[n > 0 ? n : 0] = '\0';
    const char *last = strrchr(text, '\n');
    term_clean(last ? last + 1 : text, line, sizeof(line));
    say("voltd was started and ended at once%s%s (%s)", *line ? ": " : "", line, s->log);
}

/* Until voltd answers or has ended; *left: looks that there are for it. 0; -ECHILD;
 * -EBUSY: it has found another one that starts, or ends; -ETIMEDOUT. */
static int await_answer(const struct address_choice *choice, pid_t pid, int *left,
                        struct client **ret)
{
    const struct timespec pause = {.tv_nsec = 10000000};
    struct client_tried tried;
    for (; *left > 0; --*left) {
        int status;
        bool ended = waitpid(pid, &status, WNOHANG) == pid;
        if (client_open(choice, ADDRESS_JOBS, ret, &tried) == 0)
            return 0;
        if (ended)
            return WIFEXITED(status) && WEXITSTATUS(status) == ADDRESS_EXIT_TAKEN
                       ? -EBUSY
                       : -ECHILD;
        (void)nanosleep(&pause, NULL);
    }
    return -ETIMEDOUT;
}

/* Starts voltd, and again while another one has the directories: that one answers soon,
 * or is on its way out. */
static int start_one(const struct address_choice *choice, const struct start *s,
                     struct client **ret)
{
    const struct timespec pause = {.tv_nsec = 10000000L * REST};
    int left = PATIENCE, r;
    pid_t pid = 0;
    do {
        r = spawn(s, &pid);
        if (r < 0) {
            say("voltd cannot be started: %s", strerror(-r));
            return r;
        }
        r = await_answer(choice, pid, &left, ret);
        if (r == -EBUSY) {
            (void)nanosleep(&pause, NULL);
            left -= REST;
        }
    } while (r == -EBUSY && left > 0);
    if (r == -EBUSY || r == -ECHILD)
        say_ended(s);
    else if (r < 0)
        say("voltd was started (pid %d) and does not answer: see %s", (int)pid, s->log);
    return r;
}

int autostart(const struct address_choice *choice, bool quiet, struct client **ret)
{
    struct start s = {.fd = -1};
    struct client_tried tried;
    int r = open_log(&s);
    bool started = r == 0 && client_open(choice, ADDRESS_JOBS, ret, &tried) < 0;
    if (started) /* and nobody else has meanwhile */
        r = start_one(choice, &s, ret);
    if (r == 0 && started && !quiet)
        say("no voltd ran: started one for this user; `voltctl shutdown` ends it");
    if (s.fd >= 0)
        (void)close(s.fd);
    return r;
}
