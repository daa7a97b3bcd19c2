/* The connection of voltd's end of the link, its start and its end: keeper_link.h. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <volt/time.h>

#include "daemon/link/keeper_dial.h"
#include "daemon/link/keeper_link_parts.h"

#define OPEN_TIMEOUT_MS 2000
#define CONT_MS         100 /* between two looks for a stopped keeper */
#define OPEN_TRIES      5
#define BYE_TIMEOUT_MS  5000

void keeper_link_set_connected(struct keeper_link *link, int fd,
                               const struct keeper_welcome *w)
{
    vlock_lock(&link->lock);
    link->fd = fd;
    link->wanted = false;
    link->info.keeper_pid = w->pid;
    link->info.live = w->live;
    link->info.connects++;
    unsigned unsent;
    (void)keeper_link_open_calls_locked(link, &unsent);
    if (!link->asked && unsent == 0)
        link->lost_usec = 0;
    vlock_unlock(&link->lock);
}

void keeper_link_close(struct keeper_link *link)
{
    vlock_lock(&link->lock);
    int fd = link->fd;
    link->fd = -1;
    vlock_unlock(&link->lock);
    if (fd >= 0)
        (void)close(fd);
}

bool keeper_link_may_rest(struct keeper_link *link)
{
    unsigned unsent;
    if (link->rest_usec == 0)
        return false;
    vlock_lock(&link->lock);
    (void)keeper_link_open_calls_locked(link, &unsent);
    const bool rests = unsent == 0 && !link->wanted;
    link->watched = !rests;
    if (rests) {
        link->lost_usec = 0;
        link->asked = false;
    } else if (link->lost_usec == 0) {
        link->lost_usec = volt_now_usec();
    }
    vlock_unlock(&link->lock);
    return rests;
}

void keeper_link_want(struct keeper_link *link)
{
    vlock_lock(&link->lock);
    link->wanted = link->rest_usec > 0 && link->fd < 0;
    const bool look = link->wanted && !link->watched;
    link->watched |= look;
    vlock_unlock(&link->lock);
    if (look)
        volt_notify_one(&link->sent);
}

/* Clears `wanted` before asking whether jobs wait: a job that begins to wait meanwhile
 * sets it again. */
void keeper_link_ask_again(struct keeper_link *link)
{
    if (link->callbacks == NULL)
        return;
    vlock_lock(&link->lock);
    link->wanted = false;
    vlock_unlock(&link->lock);
    if (link->callbacks->awaits(link->callbacks->arg, link->uid))
        keeper_link_want(link);
}

int keeper_link_leave_idle(struct keeper_link *link, uint64_t *ret_usec)
{
    unsigned unsent;
    int fd = -1;
    const uint64_t now = volt_now_usec();
    vlock_lock(&link->lock);
    const bool busy = keeper_link_open_calls_locked(link, &unsent) > 0;
    const uint64_t since = busy ? now : link->heard_usec;
    if (now < since + link->rest_usec) {
        *ret_usec = since + link->rest_usec - now;
    } else {
        fd = link->fd;
        link->fd = -1;
    }
    vlock_unlock(&link->lock);
    return fd;
}

static void link_destroy(struct keeper_link *link)
{
    if (link == NULL)
        return;
    keeper_link_close(link);
    volt_notify_fini(&link->sent);
    free(link->socket_path);
    free(link->scripts_dir);
    free(link->program);
    free(link);
}

/* Sets the limit of descriptors that voltd was started with, as voltd raises its own.
 * Before HELLO, so before any job. */
static void limit_descriptors(const struct keeper_link *link, pid_t pid)
{
    struct rlimit limit;

    if (link->descriptors == 0 || getrlimit(RLIMIT_NOFILE, &limit) < 0)
        return;
    limit.rlim_cur =
        link->descriptors < limit.rlim_max ? link->descriptors : limit.rlim_max;
    (void)prlimit(pid, RLIMIT_NOFILE, &limit, NULL); /* if it has ended, HELLO fails */
}

int keeper_link_dial(struct keeper_link *link)
{
    if (link->child > 0 && waitpid(link->child, NULL, WNOHANG) != 0)
        link->child = 0;
    int fd = keeper_dial(link->socket_path);
    if ((fd == -ECONNREFUSED || fd == -ENOENT) && link->program != NULL) {
        pid_t pid = 0;
        int r = keeper_spawn(link->socket_path, link->program, link->scripts_dir, &pid);
        if (r < 0)
            return r;
        link->child = pid;
        limit_descriptors(link, pid);
        vlock_lock(&link->lock);
        link->info.started++;
        vlock_unlock(&link->lock);
        fd = keeper_dial(link->socket_path);
    }
    if (fd < 0)
        return fd;
    int r = keeper_say_hello(fd, 0);
    if (r < 0) {
        (void)close(fd);
        return r;
    }
    return fd;
}

static int receive_within(int fd, union keeper_message *m, int timeout_ms, ssize_t *ret)
{
    struct pollfd p = {fd, POLLIN, 0};
    int r = TEMP_FAILURE_RETRY(poll(&p, 1, timeout_ms));
    if (r <= 0)
        return r < 0 ? -errno : -ETIMEDOUT;
    *ret = TEMP_FAILURE_RETRY(recv(fd, m, sizeof(*m), MSG_DONTWAIT));
    return *ret < 0 ? -errno : 0;
}

/* Receives, and continues a stopped keeper while it waits. The keeper may be stopped in a
 * loop that began before this voltd. */
static int receive_awake(int fd, union keeper_message *m, int timeout_ms, ssize_t *ret)
{
    int r = -ETIMEDOUT;
    for (int ms = 0; r == -ETIMEDOUT && ms < timeout_ms; ms += CONT_MS) {
        keeper_continue_behind(fd);
        r = receive_within(fd, m, CONT_MS, ret);
    }
    return r;
}

int keeper_link_judge_welcome(struct keeper_link *link, const union keeper_message *m,
                              ssize_t n)
{
    int r = keeper_take_welcome(m, n);
    if (!keeper_link_is_late(link))
        return r;
    /* After an upgrade this build's keeper replaces an older one, whose shims need no
     * keeper. Before version 11 a keeper does not leave by itself. */
    if (r == -EPROTO && link->program != NULL &&
        keeper_retire((pid_t)m->welcome.pid) == 0)
        r = -ECONNRESET;
    return r;
}

static int link_connect_once(struct keeper_link *link)
{
    union keeper_message m;
    ssize_t n = 0;
    int fd = keeper_link_dial(link);
    if (fd < 0)
        return fd;
    int r = receive_awake(fd, &m, OPEN_TIMEOUT_MS, &n);
    if (r == 0)
        r = keeper_link_judge_welcome(link, &m, n);
    if (r < 0) {
        (void)close(fd);
        return r;
    }
    keeper_link_set_connected(link, fd, &m.welcome);
    return 0;
}

bool keeper_link_is_late(struct keeper_link *link)
{
    vlock_lock(&link->lock);
    bool late = link->info.connects == 0;
    vlock_unlock(&link->lock);
    return late;
}

int keeper_link_open(const struct keeper_link_options *opt, struct volt_error *err,
                     struct keeper_link **ret_link)
{
    struct keeper_link *link = calloc(1, sizeof(*link));
    int r = -ENOMEM;
    if (link == NULL)
        goto fail;
    link->fd = -1;
    volt_notify_init(&link->sent);
    link->descriptors = opt->descriptors;
    link->rest_usec = opt->rest_usec;
    link->uid = opt->uid;
    link->callbacks = opt->callbacks;
    link->socket_path = strdup(opt->socket_path);
    link->record_fd = opt->record_fd;
    link->scripts_dir = opt->scripts_dir ? strdup(opt->scripts_dir) : NULL;
    link->program = opt->program != NULL ? strdup(opt->program) : NULL;
    if (link->socket_path == NULL || (opt->program != NULL && link->program == NULL))
        goto fail;
    r = link->rest_usec > 0 ? 0 : -ECONNRESET;
    /* Tries again if the keeper that answered was leaving. */
    for (int tries = 0; keeper_link_is_broken(r) && tries < OPEN_TRIES; tries++)
        r = link_connect_once(link);
    if (r == -ETIMEDOUT) /* the keeper is stopped */
        link->lost_usec = volt_now_usec();
    else if (r < 0)
        goto fail;
    *ret_link = link;
    return 0;
fail:
    if (err != NULL)
        (void)snprintf(err->text, sizeof(err->text), "cannot reach or start %s: %s",
                       opt->program != NULL ? opt->program : opt->socket_path,
                       strerror(-r));
    link_destroy(link);
    return r;
}

/* Says BYE: a keeper without work leaves. Waits for the end of the connection, which is
 * the keeper's end, and reaps a keeper that this voltd started. */
static void link_say_bye(struct keeper_link *link, bool settled)
{
    struct keeper_bye bye = {.head = {KEEPER_MAGIC, KEEPER_BYE, ++link->serial},
                             .settled = settled};
    union keeper_message m;
    bool leaves = false;
    ssize_t n = 0;
    if (TEMP_FAILURE_RETRY(
            send(link->fd, &bye, sizeof(bye), MSG_NOSIGNAL | MSG_DONTWAIT)) < 0)
        return;
    while (receive_awake(link->fd, &m, BYE_TIMEOUT_MS, &n) == 0 && n > 0) {
        if (!keeper_answer_is_valid(&m, (size_t)n, 0) || m.head.op != KEEPER_REPLY ||
            m.head.serial != bye.head.serial)
            continue; /* replies to cancelled calls */
        if (m.reply.status < 0)
            return;
        leaves = true;
    }
    if (leaves && link->child > 0)
        (void)TEMP_FAILURE_RETRY(waitpid(link->child, NULL, 0));
}

void keeper_link_free(struct keeper_link *link, bool settled)
{
    /* The keeper of a link that rests leaves by itself. */
    if (link != NULL && link->fd >= 0 && link->rest_usec == 0)
        link_say_bye(link, settled);
    link_destroy(link);
}

void keeper_link_info(struct keeper_link *link, struct keeper_link_info *ret)
{
    vlock_lock(&link->lock);
    *ret = link->info;
    vlock_unlock(&link->lock);
}

uint64_t keeper_link_away_usec(struct keeper_link *link)
{
    vlock_lock(&link->lock);
    uint64_t since =
        link->lost_usec != 0 ? link->lost_usec : keeper_link_silent_since_locked(link);
    vlock_unlock(&link->lock);
    uint64_t now = volt_now_usec();
    return since != 0 && now > since ? now - since : 0;
}
