/* See autostart.h. voltd gets a session of its own, no descriptor of ours, and a log
 * beside its socket. The client holds a lock on that log until voltd answers. A client
 * that waits for the lock also tries to connect, as the holder may be stopped (^Z). */
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
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PATIENCE  3000 /* tries: 30 s */
#define SILENCE   300  /* tries before the first message */
#define REST      10   /* tries before another start */
#define ELSEWHERE 5    /* failed starts, after which it runs elsewhere */

static const struct timespec pause_of_a_look = {.tv_nsec = 10000000};

bool autostart_helps(const struct address_choice *choice,
                     const struct client_tried *tried)
{
    return !choice->jobs && choice->scope != ADDRESS_SYSTEM && tried->absent;
}

struct start {
    char dir[ADDRESS_PATH_MAX + 1]; /* of the socket */
    char log[ADDRESS_PATH_MAX + 16];
    int fd;    /* of the log */
    off_t end; /* end of earlier contents */
};

/* Opens the log in the directory of the socket. Returns 0, or negative after an error
 * message. */
static int open_log_masked(struct start *s)
{
    struct volt_error err = {.text = ""};
    int r = address_user_dir(s->dir, sizeof(s->dir));
    if (r == 0 && mkdir(s->dir, 0700) < 0 && errno != EEXIST)
        r = -errno;
    if (r == 0)
        r = address_check_dir(s->dir, &err);
    if (r == 0) {
        (void)snprintf(s->log, sizeof(s->log), "%s/voltd.log", s->dir);
        s->fd =
            open(s->log,
                 O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
        r = s->fd < 0 ? -errno : 0;
    }
    if (r < 0)
        say("voltd cannot be started: %s: %s", s->dir,
            *err.text ? err.text : strerror(-r));
    return r;
}

/* Opens the log with a fixed umask, so that later commands can use directory and log. */
static int open_log(struct start *s)
{
    mode_t mask = umask(077);
    int r = open_log_masked(s);
    (void)umask(mask);
    return r;
}

/* Tries to lock the log. Returns 1: locked; 0: process *ret_holder has the lock; or
 * -errno. */
static int try_lock(const struct start *s, pid_t *ret_holder)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    if (fcntl(s->fd, F_SETLK, &lock) == 0)
        return 1;
    if (errno != EAGAIN && errno != EACCES)
        return -errno;
    if (fcntl(s->fd, F_GETLK, &lock) < 0)
        return -errno;
    *ret_holder = lock.l_type == F_UNLCK ? 0 : lock.l_pid;
    return 0;
}

/* Waits for the lock or for a voltd that answers. Returns 1: the lock is ours; 0:
 * connected; negative after an error message. */
static int lock_or_connect(struct start *s, const struct address_choice *choice,
                           bool quiet, struct client **ret)
{
    struct client_tried tried;
    pid_t holder = 0;
    for (int look = 0; look < PATIENCE; look++) {
        int r = try_lock(s, &holder);
        if (r < 0) {
            say("voltd cannot be started: %s: %s", s->log, strerror(-r));
            return r;
        }
        if (client_open(choice, ADDRESS_JOBS, ret, &tried) == 0)
            return 0;
        if (r > 0) {
            s->end = lseek(s->fd, 0, SEEK_END);
            return 1;
        }
        if (look == SILENCE && !quiet)
            say("waits for process %d, which starts voltd", (int)holder);
        (void)nanosleep(&pause_of_a_look, NULL);
    }
    say("voltd cannot be started: process %d has been starting one for 30 s; if it is "
        "stopped, continue or end it",
        (int)holder);
    return -ETIMEDOUT;
}

/* Finds voltd beside this program, or in PATH. */
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

/* Soft limits that would end voltd or prevent writes of its store, though they were set
 * for one command. */
static const int hindering[] = {RLIMIT_CPU, RLIMIT_FSIZE, RLIMIT_DATA, RLIMIT_AS,
                                RLIMIT_NPROC};
#define HINDERING (sizeof(hindering) / sizeof(hindering[0]))

struct bounds {
    struct rlimit limit[HINDERING];
    int nice;
};

/* Removes niceness and soft limits from this process during a start, as voltd and all its
 * jobs would inherit them. Returns 0, or negative after an error message. */
static int leave_bounds(struct bounds *b)
{
    b->nice = getpriority(PRIO_PROCESS, 0);
    if (b->nice > 0 && setpriority(PRIO_PROCESS, 0, 0) < 0) {
        say("voltd is not started here: it, and all its jobs, would have the niceness %d "
            "of this command for good; `systemctl --user start voltd` has none",
            b->nice);
        return -EPERM;
    }
    for (size_t i = 0; i < HINDERING; i++) {
        (void)getrlimit(hindering[i], &b->limit[i]);
        const struct rlimit all = {b->limit[i].rlim_max, b->limit[i].rlim_max};
        (void)setrlimit(hindering[i], &all);
    }
    return 0;
}

static void return_to_bounds(const struct bounds *b)
{
    for (size_t i = 0; i < HINDERING; i++)
        (void)setrlimit(hindering[i], &b->limit[i]);
    if (b->nice > 0)
        (void)setpriority(PRIO_PROCESS, 0, b->nice);
}

/* Refuses a start under hard limits that would kill voltd by its CPU time or prevent
 * writes of its store. Returns 0, or -EPERM after an error message. */
static int check_hard_limits(void)
{
    static const struct {
        int resource;
        const char *what, *option;
    } deadly[] = {{RLIMIT_CPU, "CPU time", "-Ht"}, {RLIMIT_FSIZE, "file size", "-Hf"}};
    for (size_t i = 0; i < sizeof(deadly) / sizeof(deadly[0]); i++) {
        struct rlimit l;
        if (getrlimit(deadly[i].resource, &l) < 0 || l.rlim_max == RLIM_INFINITY)
            continue;
        say("voltd is not started here: it, and all its jobs, would have the hard limit of "
            "%s of this shell (ulimit %s) for good; `systemctl --user start voltd` has "
            "none",
            deadly[i].what, deadly[i].option);
        return -EPERM;
    }
    return 0;
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
        r = posix_spawn_file_actions_adddup2(&files, s->fd, STDOUT_FILENO);
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

/* Prints the last line that voltd logged before it ended. */
static void say_ended(const struct start *s)
{
    char text[2048] = "", line[1024];
    off_t tail = lseek(s->fd, 0, SEEK_END) - (off_t)(sizeof(text) - 1);
    ssize_t n = pread(s->fd, text, sizeof(text) - 1, tail > s->end ? tail : s->end);
    while (n > 0 && text[n - 1] == '\n')
        n--;
    text[n > 0 ? n : 0] = '\0';
    const char *last = strrchr(text, '\n');
    term_clean(last ? last + 1 : text, line, sizeof(line));
    say("voltd was started and ended at once%s%s (%s)", *line ? ": " : "", line, s->log);
}

/* Waits until voltd answers or has ended; *left: tries that are left. Returns:
 *   0
 *   -ECHILD
 *   -EBUSY      it found another voltd that starts or ends
 *   -ETIMEDOUT */
static int await_answer(const struct address_choice *choice, pid_t pid, int *left,
                        struct client **ret)
{
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
        (void)nanosleep(&pause_of_a_look, NULL);
    }
    return -ETIMEDOUT;
}

/* Returns whether process pid listens at the socket of c. */
static bool answers(const struct client *c, pid_t pid)
{
    struct ucred peer;
    socklen_t size = sizeof(peer);
    return getsockopt(client_fd(c), SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
           peer.pid == pid;
}

/* Returns whether a voltd has locked the directory of our socket. */
static bool is_taken(const struct start *s)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    char path[sizeof(s->dir) + sizeof("/lock")];
    (void)snprintf(path, sizeof(path), "%s/lock", s->dir);
    int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    bool taken = fd >= 0 && fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
    if (fd >= 0)
        (void)close(fd);
    return taken;
}

/* Starts voltd, and tries again while another voltd has the directories. That one answers
 * soon, or is ending. Or it has only the state directory, and unknown sockets: an older
 * version, or one on another machine with the same home. *ret_ours: the voltd that
 * answers is the one started here. */
static int start_one(const struct address_choice *choice, const struct start *s,
                     struct client **ret, bool *ret_ours)
{
    const struct timespec pause = {.tv_nsec = 10000000L * REST};
    int left = PATIENCE, elsewhere = 0, r;
    pid_t pid = 0;
    struct bounds bounds;
    if (check_hard_limits() < 0)
        return -EPERM;
    do {
        r = leave_bounds(&bounds);
        if (r < 0)
            return r;
        r = spawn(s, &pid);
        return_to_bounds(&bounds);
        if (r < 0) {
            say("voltd cannot be started: %s", strerror(-r));
            return r;
        }
        r = await_answer(choice, pid, &left, ret);
        if (r == -EBUSY) {
            (void)nanosleep(&pause, NULL);
            left -= REST;
            elsewhere = is_taken(s) ? 0 : elsewhere + 1;
        }
    } while (r == -EBUSY && left > 0 && elsewhere < ELSEWHERE);
    *ret_ours = r == 0 && answers(*ret, pid);
    if (r == -EBUSY || r == -ECHILD)
        say_ended(s);
    if (elsewhere == ELSEWHERE)
        say("its sockets are not in %s: set XDG_RUNTIME_DIR as in the session where it was "
            "started, or VOLT_ADDRESS to its socket",
            s->dir);
    else if (r < 0 && r != -EBUSY && r != -ECHILD)
        say("voltd was started (pid %d) and does not answer: see %s", (int)pid, s->log);
    return r;
}

int autostart(const struct address_choice *choice, bool quiet, struct client **ret)
{
    struct start s = {.fd = -1};
    bool ours = false;
    int r = open_log(&s);
    if (r == 0)
        r = lock_or_connect(&s, choice, quiet, ret);
    if (r > 0) /* and no other client has started one since */
        r = start_one(choice, &s, ret, &ours);
    if (ours && !quiet)
        say("no voltd ran: started one for this user; `voltctl shutdown` ends it");
    if (s.fd >= 0)
        (void)close(s.fd);
    return r;
}
