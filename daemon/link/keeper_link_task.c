/* The task of voltd's end of the link. Receives, makes the next connection when one
 * breaks, and logs when the keeper does not answer. */
#include <errno.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>
#include <volt/io.h>
#include <volt/runtime.h>
#include <volt/task.h>
#include <volt/time.h>

#include "daemon/link/keeper_dial.h"
#include "daemon/link/keeper_link_parts.h"
#include "daemon/link/keeper_log.h"

#define RETRY_MIN_USEC 2000
#define RETRY_MAX_USEC 1000000
/* For a keeper that another program starts, which may refuse for long: the account has
 * expired, or the unit is masked. */
#define RETRY_RESTS_USEC 60000000
/* Longer than a disk delays a healthy keeper. */
#define PATIENCE_USEC UINT64_C(5000000)
/* Between two SIGCONT for a keeper that does not answer. */
#define CONT_MIN_USEC UINT64_C(100000)
#define CONT_MAX_USEC UINT64_C(1000000)

struct link_task {
    struct keeper_link *link;
    struct volt_runtime *rt;
    struct volt_io io; /* on the connection, or on one before its WELCOME */
    bool connected;
    int dialled; /* a connection before its WELCOME; -1: none */
    struct keeper_log log;
    uint64_t since; /* when the connection was made */
    bool answered;  /* an answer came on it */
    bool broke;     /* so did a message that breaks the protocol */
    struct volt_notified asked;
    bool awaits_asked;
    struct volt_sleep patience; /* until the next look for answers */
    bool patient;
    struct volt_io children; /* SIGCHLD: the keeper, as a child, was stopped */
    bool has_children;
    struct volt_sleep idle; /* until a link that rests looks whether it is idle */
    bool has_idle;
    int left; /* connection that was left then; -1: none */
    struct volt_sleep pause;
    uint64_t pause_usec;
    union keeper_message message;
    ssize_t received;
    int at;
};

/* READY: a call was sent, or waits, since the task stopped looking. */
static enum volt_poll asked_poll(struct volt_cx *cx, struct link_task *t)
{
    if (!t->awaits_asked)
        volt_notified_init(&t->asked, &t->link->sent);
    t->awaits_asked = true;
    if (volt_notified_poll(cx, &t->asked) == VOLT_PENDING)
        return VOLT_PENDING;
    volt_notified_fini(&t->asked);
    t->awaits_asked = false;
    return VOLT_READY;
}

static uint64_t cont_pause(uint64_t lasts)
{
    return lasts < CONT_MIN_USEC   ? CONT_MIN_USEC
           : lasts < CONT_MAX_USEC ? lasts
                                   : CONT_MAX_USEC;
}

/* Kills a keeper that is stopped now, in spite of repeated SIGCONT: it is stopped in a
 * loop. */
static void end_stopped(int fd, uint64_t lasts)
{
    pid_t pid = lasts >= PATIENCE_USEC ? keeper_kill_stopped(fd) : 0;
    if (pid > 0)
        keeper_log_killed(pid);
}

/* Continues a keeper that does not say WELCOME: it may have been stopped before this
 * voltd began. Returns the time until the next look. */
static uint64_t judge_dialled(struct link_task *t)
{
    uint64_t lasts = volt_now_usec() - t->since;
    end_stopped(t->dialled, lasts);
    keeper_continue_behind(t->dialled);
    return cont_pause(lasts);
}

/* Looks whether calls wait too long for an answer. Logs that, and continues the keeper: a
 * job may have stopped it, and this voltd may not be its parent. Returns the time until
 * the next look; UINT64_MAX: no call waits, and the sender of the next one notifies. */
static uint64_t judge_silence(struct link_task *t)
{
    struct keeper_link *link = t->link;
    if (t->dialled >= 0)
        return judge_dialled(t);
    vlock_lock(&link->lock);
    uint64_t now = volt_now_usec(), since = keeper_link_silent_since_locked(link);
    uint64_t lasts = now > since ? now - since : 0;
    uint32_t pid = link->info.keeper_pid;
    link->watched = since != 0;
    unsigned unsent, waiting = keeper_link_open_calls_locked(link, &unsent);
    vlock_unlock(&link->lock);
    if (since == 0)
        return UINT64_MAX;
    if (lasts < CONT_MIN_USEC)
        return CONT_MIN_USEC - lasts;
    if (lasts >= PATIENCE_USEC)
        keeper_log_silent(&t->log, pid, lasts, waiting);
    end_stopped(link->fd, lasts);
    keeper_continue((pid_t)pid);
    return cont_pause(lasts);
}

/* Looks whether the keeper answers. Sets no timer on a link without calls. */
static void watch_silence(struct volt_cx *cx, struct link_task *t)
{
    for (;;) {
        if (!t->patient && asked_poll(cx, t) == VOLT_PENDING)
            return;
        if (t->patient && volt_sleep_poll(cx, &t->patience) == VOLT_PENDING)
            return;
        volt_sleep_fini(&t->patience);
        uint64_t rest = judge_silence(t);
        t->patient = rest != UINT64_MAX;
        if (t->patient)
            volt_sleep_init(&t->patience, rest);
    }
}

/* Continues a stopped keeper at once if this voltd started it. So the keeper makes
 * progress even if it is stopped in a loop. */
static void watch_child(struct volt_cx *cx, struct link_task *t)
{
    struct signalfd_siginfo info;
    ssize_t n;
    while (t->has_children &&
           volt_io_read_poll(cx, &t->children, &info, sizeof(info), &n) == VOLT_READY)
        if (n != (ssize_t)sizeof(info))
            t->has_children = false; /* the runtime is closing */
        else
            keeper_continue(t->link->child);
}

/* Returns whether the link has left a keeper that had no request for long. */
static bool leaves_idle(struct volt_cx *cx, struct link_task *t)
{
    uint64_t rest = t->link->rest_usec;
    while (t->link->rest_usec > 0 && t->dialled < 0 && t->left < 0) {
        if (t->has_idle && volt_sleep_poll(cx, &t->idle) == VOLT_PENDING)
            return false;
        volt_sleep_fini(&t->idle);
        if (t->has_idle)
            t->left = keeper_link_leave_idle(t->link, &rest);
        t->has_idle = t->left < 0;
        if (t->has_idle)
            volt_sleep_init(&t->idle, rest);
    }
    return t->left >= 0;
}

static enum volt_poll receive_poll(struct volt_cx *cx, struct link_task *t)
{
    if (volt_io_read_poll(cx, &t->io, &t->message, sizeof(t->message), &t->received) ==
        VOLT_READY)
        return VOLT_READY;
    watch_silence(cx, t);
    watch_child(cx, t);
    t->received = 0;
    return leaves_idle(cx, t) ? VOLT_READY : VOLT_PENDING;
}

/* Notes that the connection has broken, though calls that were sent do not know it yet.
 * They may be sent again after a rest, until there is an answer. */
static void link_note_loss(struct keeper_link *link)
{
    vlock_lock(&link->lock);
    if (link->lost_usec == 0)
        link->lost_usec = volt_now_usec();
    link->asked |= link->flying.first != NULL;
    vlock_unlock(&link->lock);
}

/* Notes a broken connection. If the keeper had answered, another one follows at once. A
 * keeper that cannot live, or breaks the protocol, is not started without a growing
 * pause. */
static void note_loss(struct link_task *t)
{
    const bool lived = t->answered || volt_now_usec() - t->since >= RETRY_MAX_USEC;

    link_note_loss(t->link);
    if (lived && !t->broke)
        t->pause_usec = RETRY_MIN_USEC;
    keeper_log_gone(&t->log, t->broke);
}

/* Takes a message. Returns false if the connection is over, or the message breaks the
 * protocol or is no answer to a call. */
static bool take_message(struct link_task *t)
{
    const union keeper_message *m = &t->message;

    if (t->received <= 0)
        return false;
    t->broke = !keeper_answer_is_valid(m, (size_t)t->received, 0) ||
               m->head.op != KEEPER_REPLY || !keeper_link_take_reply(t->link, &m->reply);
    if (t->broke)
        return false;
    t->answered = true;
    keeper_log_well(&t->log);
    return true;
}

static void dial_aside(void *arg)
{
    struct link_task *t = arg;
    t->dialled = keeper_link_dial(t->link);
}

/* Watches the silence of a new connection from now on. */
static void watch_dialled(struct link_task *t)
{
    t->since = volt_now_usec();
    volt_sleep_fini(&t->patience);
    volt_sleep_init(&t->patience, 0);
    t->patient = true;
}

/* Connects. Returns:
 *   0
 *   -ESHUTDOWN  the runtime is closing
 *   -errno      try again */
static int dial(struct volt_cx *cx, struct link_task *t)
{
    volt_block_in_place(cx, dial_aside, t); /* may start a keeper */
    if (t->dialled < 0)
        return t->dialled;
    watch_dialled(t);
    int r = volt_io_init(&t->io, t->rt, t->dialled);
    if (r < 0 && r != -ESHUTDOWN) {
        (void)close(t->dialled);
        t->dialled = -1;
    }
    return r;
}

struct judging {
    struct link_task *task;
    int r;
};

static void judge_aside(void *arg)
{
    struct judging *j = arg;
    struct link_task *t = j->task;
    j->r = keeper_link_judge_welcome(t->link, &t->message, t->received);
}

/* Judges WELCOME, or its absence. Returns whether the connection stands. */
static bool settle_dialled(struct volt_cx *cx, struct link_task *t)
{
    struct judging judging = {.task = t};
    volt_block_in_place(cx, judge_aside, &judging); /* may wait for a keeper's end */
    int r = judging.r;
    if (r < 0) {
        /* The programs were upgraded under a running voltd, or the starter of the keeper
         * has refused. */
        if (r == -EPROTO || t->link->rest_usec > 0)
            keeper_log_unreachable(&t->log, r);
        volt_io_fini(&t->io);
        (void)close(t->dialled);
        t->dialled = -1;
        return false;
    }
    keeper_link_set_connected(t->link, t->dialled, &t->message.welcome);
    t->dialled = -1;
    t->connected = true;
    t->since = volt_now_usec();
    t->answered = t->broke = false;
    keeper_link_flush(t->link);
    return true;
}

/* Reports the connection. Returns 0; -ENOMEM only if here. */
static int report(const struct keeper_link *link, bool here)
{
    const struct keeper_callbacks *callbacks = link->callbacks;
    return callbacks != NULL ? callbacks->here(callbacks->arg, link->uid, here) : 0;
}

/* Ends a connection that broke or was left. */
static void part(struct link_task *t)
{
    const bool left = t->left >= 0;
    volt_io_fini(&t->io);
    keeper_link_close(t->link);
    if (left)
        (void)close(t->left);
    t->left = -1;
    t->connected = false;
    volt_sleep_fini(&t->idle);
    t->has_idle = false;
    if (left)
        t->pause_usec = RETRY_MIN_USEC;
    else
        note_loss(t);
    keeper_link_fail_flying(t->link);
    (void)report(t->link, false);
}

static uint64_t longer_pause(const struct link_task *t)
{
    const uint64_t most = t->link->rest_usec > 0 ? RETRY_RESTS_USEC : RETRY_MAX_USEC;
    return t->pause_usec * 2 < most ? t->pause_usec * 2 : most;
}

static enum volt_poll link_poll(struct volt_cx *cx, void *state)
{
    struct link_task *t = state;
    VOLT_BEGIN(t->at);
    for (;;) {
        while (t->connected) {
            VOLT_AWAIT(t->at, receive_poll(cx, t));
            if (t->received == -ESHUTDOWN)
                return VOLT_READY;
            if (take_message(t))
                continue;
            part(t);
        }
        while (keeper_link_may_rest(t->link)) {
            /* Earlier failures do not predict the next connection. */
            t->pause_usec = RETRY_MIN_USEC;
            VOLT_AWAIT(t->at, asked_poll(cx, t));
        }
        /* Pauses first: a keeper that has just died can be reaped then, and one that
         * cannot live is not restarted in a busy loop. */
        volt_sleep_init(&t->pause, t->pause_usec);
        VOLT_AWAIT(t->at, volt_sleep_poll(cx, &t->pause));
        volt_sleep_fini(&t->pause);
        t->pause_usec = longer_pause(t);
        t->received = dial(cx, t);
        if (t->received == -ESHUTDOWN)
            return VOLT_READY;
        if (t->received < 0) {
            keeper_log_unreachable(&t->log, (int)t->received);
            keeper_link_ask_again(t->link);
            continue;
        }
        VOLT_AWAIT(t->at, receive_poll(cx, t));
        if (t->received == -ESHUTDOWN)
            return VOLT_READY;
        if (!settle_dialled(cx, t))
            keeper_link_ask_again(t->link);
        else if (report(t->link, true) < 0) {
            part(t);
            keeper_link_ask_again(t->link);
        }
    }
    VOLT_END(t->at);
}

/* Drops the task. The connection stays for the good-bye of keeper_link_free(), even
 * without WELCOME. */
static void link_drop(void *state)
{
    struct link_task *t = state;
    volt_sleep_fini(&t->pause);
    volt_sleep_fini(&t->patience);
    volt_sleep_fini(&t->idle);
    if (t->left >= 0)
        (void)close(t->left);
    if (t->awaits_asked)
        volt_notified_fini(&t->asked);
    volt_io_fini(&t->io);
    if (t->children.registration != NULL) {
        int fd = t->children.fd;
        volt_io_fini(&t->children);
        (void)close(fd);
    }
    if (t->dialled < 0)
        return;
    vlock_lock(&t->link->lock);
    t->link->fd = t->dialled;
    vlock_unlock(&t->link->lock);
}

static const struct volt_task_type link_type = {
    .name = "keeper-link",
    .size = sizeof(struct link_task),
    .poll = link_poll,
    .drop = link_drop,
};

/* Watches SIGCHLD, which is blocked in all threads. If it is not blocked, as in tests, no
 * event comes. Returns 0 or -errno. */
static int watch_children(struct link_task *t)
{
    sigset_t set;
    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGCHLD);
    int fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    int r = fd < 0 ? -errno : volt_io_init(&t->children, t->rt, fd);
    if (r < 0 && fd >= 0)
        (void)close(fd);
    t->has_children = r == 0;
    return r;
}

int keeper_link_task(struct keeper_link *link, struct volt_runtime *rt, void **ret_task)
{
    struct link_task *t = volt_task_new(rt, &link_type);
    if (t == NULL)
        return -ENOMEM;
    t->link = link;
    t->log.socket_path = link->socket_path;
    t->rt = rt;
    t->dialled = t->left = -1;
    t->connected = link->fd >= 0;
    t->pause_usec = RETRY_MIN_USEC;
    int r = link->fd >= 0 ? volt_io_init(&t->io, rt, link->fd) : 0;
    if (r == 0 && link->program != NULL)
        r = watch_children(t);
    if (link->fd < 0 && link->rest_usec == 0)
        keeper_log_late(&t->log);
    if (r < 0) {
        volt_io_fini(&t->io);
        volt_task_discard(t);
        return r;
    }
    *ret_task = t;
    return 0;
}

int keeper_link_start(struct keeper_link *link, struct volt_runtime *rt)
{
    void *task;
    int r = keeper_link_task(link, rt, &task);
    return r < 0 ? r : volt_task_spawn(task, NULL);
}
