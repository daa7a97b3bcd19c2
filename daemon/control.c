/* Stop and reload: daemon/config/control.h is for the methods, daemon/lifecycle.h for
 * main. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/error.h"
#include "daemon/config/config.h"
#include "daemon/life/allowed.h"
#include "daemon/lifecycle.h"
#include "daemon/observe/log.h"
#include "daemon/sysd/sysd.h"

#define STARTS_TIMEOUT  UINT64_C(5000000) /* for STARTs that the keeper has received */
#define ANSWERS_TIMEOUT UINT64_C(2000000) /* for clients to read their last answer */

struct control {
    struct volt_runtime *rt;
    struct core *core;
    struct server *server;
    const char *config_path;
    bool config_must_exist, workers_given;
    void (*reloaded)(void *arg);
    void *arg;
    uint64_t started_usec;
    struct volt_join ending;
    struct volt_notify changed;  /* notifies of stop, cancel and at_once */
    pthread_mutex_t reload_lock; /* one reload at a time; held while files are read */
    pthread_mutex_t lock;        /* guards the flags below, config and limits */
    bool stop, cancel, at_once;
    struct config config;
    struct config_limits *limits; /* of users and groups, nlimits of them */
    size_t nlimits;
};

void control_signals(sigset_t *ret)
{
    sigemptyset(ret);
    sigaddset(ret, SIGTERM);
    sigaddset(ret, SIGINT);
    sigaddset(ret, SIGHUP);
}

/* Returns a copy; NULL without memory. */
static struct config_limits *copy_limits(const struct config_limits *limits, size_t n)
{
    struct config_limits *copy = malloc((n + 1) * sizeof(*copy));

    if (copy && n > 0)
        memcpy(copy, limits, n * sizeof(*copy));
    return copy;
}

struct control *control_new(const struct control_options *o)
{
    const size_t n = o->queues ? o->queues->nlimits : 0;
    struct config_limits *limits = copy_limits(n ? o->queues->limits : NULL, n);
    struct control *c = limits ? calloc(1, sizeof(*c)) : NULL;

    if (!c) {
        free(limits);
        return NULL;
    }
    c->limits = limits;
    c->nlimits = n;
    c->rt = o->rt;
    c->core = o->core;
    c->config_path = o->config_path;
    c->config_must_exist = o->config_must_exist;
    c->reloaded = o->reloaded;
    c->arg = o->arg;
    c->workers_given = o->workers_given;
    c->config = *o->config;
    c->started_usec = volt_now_usec();
    pthread_mutex_init(&c->reload_lock, NULL);
    pthread_mutex_init(&c->lock, NULL);
    volt_notify_init(&c->changed);
    return c;
}

void control_free(struct control *c)
{
    if (!c)
        return;
    volt_join_fini(&c->ending);
    volt_notify_fini(&c->changed);
    pthread_mutex_destroy(&c->lock);
    pthread_mutex_destroy(&c->reload_lock);
    free(c->limits);
    free(c);
}

uint64_t control_started_usec(const struct control *c)
{
    return c->started_usec;
}

static void ask(struct control *c, bool cancel, bool at_once)
{
    pthread_mutex_lock(&c->lock);
    c->stop = true;
    c->cancel |= cancel;
    c->at_once |= at_once;
    pthread_mutex_unlock(&c->lock);
    volt_notify_all(&c->changed);
}

void control_shutdown(struct control *c, bool cancel)
{
    ask(c, cancel, false);
}

/* --- reload ------------------------------------------------------------------------- */

char **control_config_files(struct control *c)
{
    char **files = NULL;

    return config_files(c->config_path, &files) < 0 ? NULL : files;
}

struct config_limits *control_limits(struct control *c, size_t *ret_n)
{
    pthread_mutex_lock(&c->lock);
    struct config_limits *copy = copy_limits(c->limits, c->nlimits);
    *ret_n = c->nlimits;
    pthread_mutex_unlock(&c->lock);
    return copy;
}

/* Puts *fresh into force, except keys that need a restart. Lock held. */
static int apply_locked(struct control *c, struct config *fresh,
                        struct limit_defaults *limits, struct queue_config *queues,
                        size_t nqueues, char ***ret_names)
{
    char **names;

    if (c->workers_given)
        fresh->workers = c->config.workers;
    int r = config_needs_restart(&c->config, fresh, &names);
    if (r < 0)
        return r;
    /* The old values stay in force until a restart. */
    fresh->workers = c->config.workers;
    fresh->max_blocking_threads = c->config.max_blocking_threads;
    fresh->sync = c->config.sync;
    r = life_reload(c->core, fresh, limits, queues, nqueues);
    if (r < 0) {
        free(names);
        return r;
    }
    server_reload(c->server, fresh);
    c->config = *fresh;
    *ret_names = names;
    return 0;
}

static const char *why_not_applied(int r)
{
    if (r == -EOPNOTSUPP)
        return LIMITS_NEED_CGROUPS;
    return r == -E2BIG ? "there are too many queues, with those that have gone and have "
                         "jobs or settings made by hand"
                       : strerror(-r);
}

/* Looks up the names of users before it takes the lock: a directory service may not
 * answer. */
static int apply(struct control *c, struct config *fresh,
                 const struct config_queues *queues, char ***ret_names)
{
    size_t n = 0;
    struct queue_config *known = allowed_queues(queues, fresh->slots, &n);

    struct limit_defaults *limits = known ? allowed_limits(fresh, queues) : NULL;
    struct config_limits *shown = copy_limits(queues->limits, queues->nlimits);

    if (!limits || !shown) {
        allowed_limits_free(limits);
        free(shown);
        allowed_free(known, n);
        return -ENOMEM;
    }
    pthread_mutex_lock(&c->lock);
    int r = apply_locked(c, fresh, limits, known, n, ret_names);
    if (r == 0) {
        struct config_limits *before = c->limits;
        c->limits = shown;
        c->nlimits = queues->nlimits;
        shown = before;
    }
    pthread_mutex_unlock(&c->lock);
    free(shown);
    if (r < 0)
        allowed_limits_free(limits);
    allowed_free(known, n);
    return r;
}

static int reload(struct control *c, char ***ret_names, struct volt_error *err)
{
    struct config_queues *queues = malloc(sizeof(*queues));
    struct config fresh;

    if (!queues)
        return error_set(err, -ENOMEM, "out of memory");
    pthread_mutex_lock(&c->reload_lock);
    int r = config_load(c->config_path, c->config_must_exist, &fresh, queues, err);
    if (r == 0) {
        r = apply(c, &fresh, queues, ret_names);
        if (r < 0)
            (void)error_set(err, r, "%s", why_not_applied(r));
    }
    pthread_mutex_unlock(&c->reload_lock);
    free(queues);
    return r;
}

int control_reload(struct control *c, char ***ret_needs_restart, struct volt_error *err)
{
    char **names;

    (void)sysd_notify_reloading();
    int r = reload(c, &names, err);
    (void)sysd_notify_ready();
    if (r < 0)
        return r;
    if (ret_needs_restart)
        *ret_needs_restart = names;
    else
        free(names);
    return 0;
}

static void reload_by_signal(void *arg)
{
    struct control *c = arg;
    struct volt_error err = {{0}};
    char **names;
    c->reloaded(c->arg);
    int r = control_reload(c, &names, &err);

    if (r < 0) {
        log_error("configuration not reloaded: %s", err.text);
        return;
    }
    log_info("configuration reloaded");
    for (char **n = names; *n; n++)
        log_notice("%s has changed and needs a restart", *n);
    free(names);
}

/* --- signals ------------------------------------------------------------------------ */

struct signal_task {
    struct control *control;
    struct volt_io io;
    struct signalfd_siginfo info;
    bool asked; /* a second signal ends voltd at once */
};

static enum volt_poll signal_poll(struct volt_cx *cx, void *state)
{
    struct signal_task *s = state;
    ssize_t n;

    while (volt_io_read_poll(cx, &s->io, &s->info, sizeof(s->info), &n) == VOLT_READY) {
        if (n != (ssize_t)sizeof(s->info)) {
            log_error("signals: %s", n < 0 ? strerror((int)-n) : "short read");
            return VOLT_READY;
        }
        if (s->info.ssi_signo == SIGHUP) {
            volt_block_in_place(cx, reload_by_signal, s->control); /* reads files */
            continue;
        }
        log_info("%s: %s", s->asked ? "again" : "stopping",
                 s->info.ssi_signo == SIGINT ? "SIGINT" : "SIGTERM");
        ask(s->control, false, s->asked);
        s->asked = true;
    }
    return VOLT_PENDING;
}

static void signal_drop(void *state)
{
    struct signal_task *s = state;
    int fd = s->io.fd;

    volt_io_fini(&s->io);
    close(fd);
}

static const struct volt_task_type signal_type = {"signals", sizeof(struct signal_task),
                                                  signal_poll, signal_drop, NULL};

static int start_signals(struct control *c)
{
    struct signal_task *s = volt_task_new(c->rt, &signal_type);
    sigset_t set;
    int fd, r;

    if (!s)
        return -ENOMEM;
    control_signals(&set);
    fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    r = fd < 0 ? -errno : volt_io_init(&s->io, c->rt, fd);
    if (r < 0) {
        if (fd >= 0)
            close(fd);
        volt_task_discard(s);
        return r;
    }
    s->control = c;
    return volt_task_spawn(s, NULL);
}

/* --- the end ------------------------------------------------------------------------ */

struct end_task {
    struct control *control;
    int at;
    struct volt_notified changed;
    bool watching;
    bool cancelling;
    struct life_drain jobs;
    struct volt_sleep limit;
    struct server_drain answers;
};

struct wish {
    bool stop, cancel, at_once;
};

/* Reads the flags in such a way that a later change wakes this task. */
static struct wish look(struct volt_cx *cx, struct end_task *e)
{
    struct control *c = e->control;
    struct wish w;

    do {
        if (e->watching)
            volt_notified_fini(&e->changed);
        volt_notified_init(&e->changed, &c->changed);
        e->watching = true;
        pthread_mutex_lock(&c->lock);
        w = (struct wish){c->stop, c->cancel, c->at_once};
        pthread_mutex_unlock(&c->lock);
    } while (volt_notified_poll(cx, &e->changed) == VOLT_READY);
    return w;
}

static enum volt_poll asked_poll(struct volt_cx *cx, struct end_task *e)
{
    return look(cx, e).stop ? VOLT_READY : VOLT_PENDING;
}

/* Returns READY when the jobs are as asked for or time is up. A cancel may come after the
 * stop: the drain then starts over. */
static enum volt_poll jobs_poll(struct volt_cx *cx, struct end_task *e)
{
    struct wish w = look(cx, e);

    if (w.at_once)
        return VOLT_READY;
    if (w.cancel && !e->cancelling) {
        life_drain_fini(&e->jobs);
        e->jobs = (struct life_drain){.core = e->control->core, .cancel = true};
        e->cancelling = true;
    }
    if (life_drain_poll(cx, &e->jobs) == VOLT_READY)
        return VOLT_READY;
    return e->cancelling ? VOLT_PENDING : volt_sleep_poll(cx, &e->limit);
}

static enum volt_poll end_poll(struct volt_cx *cx, void *state)
{
    struct end_task *e = state;
    struct control *c = e->control;

    VOLT_BEGIN(e->at);
    VOLT_AWAIT(e->at, asked_poll(cx, e));
    (void)sysd_notify_stopping();
    server_close(c->server);
    life_close(c->core);
    e->jobs.core = c->core;
    volt_sleep_init(&e->limit, STARTS_TIMEOUT);
    VOLT_AWAIT(e->at, jobs_poll(cx, e));
    server_drain_init(&e->answers, c->server, look(cx, e).at_once ? 0 : ANSWERS_TIMEOUT);
    VOLT_AWAIT(e->at, server_drain_poll(cx, &e->answers));
    VOLT_END(e->at);
}

static void end_drop(void *state)
{
    struct end_task *e = state;

    if (e->watching)
        volt_notified_fini(&e->changed);
    life_drain_fini(&e->jobs);
    volt_sleep_fini(&e->limit);
    server_drain_fini(&e->answers);
}

static const struct volt_task_type end_type = {"end", sizeof(struct end_task), end_poll,
                                               end_drop, NULL};

int control_start(struct control *c, struct server *server)
{
    struct end_task *e = volt_task_new(c->rt, &end_type);

    if (!e)
        return -ENOMEM;
    c->server = server;
    e->control = c;
    int r = volt_task_spawn(e, &c->ending);
    return r < 0 ? r : start_signals(c);
}

void control_wait(struct control *c)
{
    (void)volt_join_wait(&c->ending);
}
