/* voltd: options, then start in order, then the end in reverse order.
 *
 *   signals blocked, descriptors of systemd taken      before the first thread
 *   directories and their locks                        no other voltd is here
 *   configuration
 *   runtime, jobs (records, keeper), server, control
 *   READY; wait; runtime down, then what its tasks used
 *
 * Exit status:
 *   0  stopped
 *   1  could not start
 *   2  a person must act: wrong usage or account, or a store that is not the one that was
 *      here
 *   3  another voltd uses the directories */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <malloc.h>
#include <pwd.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "daemon/again.h"
#include "daemon/call/known_texts.h"
#include "daemon/observe/malformed.h"
#include "daemon/call/stdin_file.h"
#include "daemon/call/turn.h"
#include "daemon/check.h"
#include "daemon/config/config.h"
#include "daemon/lifecycle.h"
#include "daemon/method/event_texts.h"
#include "daemon/method/methods.h"
#include "daemon/observe/log.h"
#include "daemon/query/query.h"
#include "daemon/config/paths.h"
#include "daemon/store/store.h"
#include "daemon/sysd/sysd.h"
#include "daemon/journal.h"
#include "daemon/watchdog.h"
#include "wire/user_dirs.h"

#define LISTEN_BACKLOG    1024
#define OTHER_DESCRIPTORS 512   /* descriptors that are not connections */
#define DESCRIPTORS_AHEAD 65536 /* costs half a megabyte in the kernel */

static const char help[] =
    "Usage: voltd [OPTIONS]\n"
    "Runs jobs: takes them from volt-submit and other Varlink clients, lets them wait\n"
    "cheaply, runs them, and tells everybody what happened.\n"
    "\n"
    "  --user              for the calling user: sockets below $XDG_RUNTIME_DIR\n"
    "  --system            for the whole machine: sockets below /run/voltd (default as root)\n"
    "  --config FILE       read FILE and FILE.d/*.conf instead of the default files\n"
    "  --runtime-dir DIR   sockets and lock\n"
    "  --state-dir DIR     job ids, records, output\n"
    "  --keepers DIR       jobs are run by a voltd-keeper of their user, which systemd\n"
    "                      starts behind the socket DIR/UID (default: all jobs by one\n"
    "                      voltd-keeper, which voltd starts)\n"
    "  --workers N         threads of the scheduler (default: Workers=, or one per two CPUs)\n"
    "  --check-config      read the configuration, print every mistake in it, and exit;\n"
    "                      exit status 0: there is none, 1: there is one\n"
    "  --check-store       verify the store of a voltd that does not run, and say what is\n"
    "                      damaged; exit status 0: sound, 1: damaged or not readable,\n"
    "                      3: a voltd runs\n"
    "  --accept-store      take the store that is there, or an empty one, though voltd\n"
    "                      refuses it because it is not the one that was there: jobs may\n"
    "                      be missing, jobs may run twice. Then exit\n"
    "  --help, --version\n"
    "\n"
    "It runs in the foreground; systemctl start voltd, or volt-submit for its user, puts\n"
    "it in the background.\n"
    "SIGTERM stops; running jobs go on without voltd. SIGHUP reads the configuration again.\n"
    "voltctl(1) looks in, volt-submit(1) submits.\n";

struct options {
    const char *program;
    bool user, system; /* one of them after parse_options() */
    const char *config, *runtime_dir, *state_dir, *keepers_dir;
    uint64_t workers; /* 0: as configured */
    bool check_config, check_store, accept_store;
};

/* Everything that down() frees, in order of creation. */
struct daemon {
    struct options options;
    struct paths paths;
    char config_path[PATH_MAX];
    char keeper_path[PATH_MAX];
    struct config config;
    struct config_queues queues;
    struct volt_runtime *rt;
    struct core *core;
    struct control *control;
    struct event_texts *event_texts;
    struct known_texts *environments, *limits;
    struct stdin_files *stdin_files;
    struct turn_counts turns;
    struct malformed malformed;
    struct service service;
    struct server *server;
    uint64_t job_descriptors;
    int sockets[2]; /* jobs, control; -1: none, or passed on */
    bool activated[2];
    bool taken; /* another voltd has the directories */
};

__attribute__((format(printf, 1, 2))) static int usage(const char *format, ...)
{
    va_list ap;

    (void)fputs("voltd: ", stderr);
    va_start(ap, format);
    (void)vfprintf(stderr, format, ap);
    va_end(ap);
    (void)fputs("\nTry 'voltd --help'.\n", stderr);
    return 2;
}

/* Returns 0, or the exit status after a message. */
static int take_workers(struct options *o, const char *text)
{
    char *end;

    errno = 0;
    o->workers = strtoull(text, &end, 10);
    if (!errno && !*end && text[0] >= '0' && text[0] <= '9' && o->workers >= 1 &&
        o->workers <= VOLT_MAX_WORKERS)
        return 0;
    return usage("--workers %s: a number from 1 to %d is needed", text, VOLT_MAX_WORKERS);
}

/* Returns 0, or the exit status after a message. */
static int take_path(const char **member, const char *option, const char *what,
                     const char *text)
{
    *member = text;
    return *text ? 0 : usage("%s: a %s is needed", option, what);
}

/* Returns -1 to go on, otherwise the exit status. */
static int take_option(struct options *o, int opt, const char *given)
{
    int status = 0;

    switch (opt) {
    case 'u':
        o->user = true;
        break;
    case 's':
        o->system = true;
        break;
    case 'c':
        status = take_path(&o->config, "--config", "file", optarg);
        break;
    case 'r':
        status = take_path(&o->runtime_dir, "--runtime-dir", "directory", optarg);
        break;
    case 'd':
        status = take_path(&o->state_dir, "--state-dir", "directory", optarg);
        break;
    case 'K':
        status = take_path(&o->keepers_dir, "--keepers", "directory", optarg);
        if (!status && *optarg != '/')
            status = usage("--keepers %s: an absolute path is needed", optarg);
        break;
    case 'w':
        status = take_workers(o, optarg);
        break;
    case 'n':
        o->check_config = true;
        break;
    case 'k':
        o->check_store = true;
        break;
    case 'a':
        o->accept_store = true;
        break;
    case 'h':
        (void)fputs(help, stdout);
        return 0;
    case 'v':
        (void)puts("voltd " VOLT_VERSION);
        return 0;
    case ':':
        return usage("%s needs a value", given);
    default:
        return usage("unknown option %s", given);
    }
    return status ? status : -1;
}

/* Returns as take_option() does. */
static int parse_options(int argc, char **argv, struct options *o)
{
    static const struct option table[] = {
        {"user", no_argument, NULL, 'u'},
        {"system", no_argument, NULL, 's'},
        {"config", required_argument, NULL, 'c'},
        {"runtime-dir", required_argument, NULL, 'r'},
        {"state-dir", required_argument, NULL, 'd'},
        {"keepers", required_argument, NULL, 'K'},
        {"workers", required_argument, NULL, 'w'},
        {"check-config", no_argument, NULL, 'n'},
        {"check-store", no_argument, NULL, 'k'},
        {"accept-store", no_argument, NULL, 'a'},
        {"help", no_argument, NULL, 'h'},
        {"version", no_argument, NULL, 'v'},
        {NULL, 0, NULL, 0},
    };
    int opt;

    o->program = argv[0];
    opterr = 0;
    while ((opt = getopt_long(argc, argv, ":h", table, NULL)) != -1) {
        int status = take_option(o, opt, argv[optind - 1]);
        if (status >= 0)
            return status;
    }
    if (optind < argc)
        return usage("unexpected argument %s", argv[optind]);
    if (o->user && o->system)
        return usage("--user and --system exclude each other");
    if (o->check_config + o->check_store + o->accept_store > 1)
        return usage(
            "--check-config, --check-store and --accept-store exclude each other");
    o->user |= !o->system && getuid() != 0;
    o->system = !o->user;
    return -1;
}

static int failed(const char *what, int r, const struct volt_error *err)
{
    log_error("%s: %s", what, err->text[0] ? err->text : strerror(-r));
    return r;
}

/* Finds the keeper: for PREFIX/bin/voltd in PREFIX/libexec/voltd, where make install puts
 * it; in a build beside voltd. */
static int find_keeper(char path[PATH_MAX])
{
    static const char installed[] = "/libexec/voltd/voltd-keeper",
                      built[] = "/voltd-keeper";
    ssize_t n = readlink("/proc/self/exe", path, PATH_MAX - sizeof(installed));
    char *folder, *prefix;

    if (n < 0)
        return -errno;
    path[n] = '\0';
    folder = strrchr(path, '/');
    if (!folder)
        return -ENOENT;
    *folder = '\0';
    prefix = strrchr(path, '/');
    if (prefix && strcmp(prefix, "/bin") == 0) {
        strcpy(prefix, installed);
        if (access(path, X_OK) == 0)
            return 0;
        strcpy(prefix, "/bin");
    }
    strcpy(folder, built);
    return access(path, X_OK) < 0 ? -errno : 0;
}

/* --- sockets ------------------------------------------------------------------------ */

/* Listens on a path. An existing socket is stale, because voltd has the lock of the
 * runtime directory. Connections are refused until listen(), so chmod() before it is
 * early enough. */
static int listen_on(const struct address *address, mode_t mode, int *ret_fd)
{
    struct sockaddr_un sun = {.sun_family = AF_UNIX};
    int fd, r = 0;

    if (unlink(address->path) < 0 && errno != ENOENT)
        return -errno;
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -errno;
    memcpy(sun.sun_path, address->path, strlen(address->path) + 1);
    if (bind(fd, (const struct sockaddr *)&sun, sizeof(sun)) < 0 ||
        chmod(address->path, mode) < 0 || listen(fd, LISTEN_BACKLOG) < 0)
        r = -errno;
    if (r < 0) {
        close(fd);
        return r;
    }
    *ret_fd = fd;
    return 0;
}

static int open_sockets(struct daemon *d)
{
    const struct address *where[2] = {&d->paths.socket, &d->paths.control_socket};
    const mode_t mode = d->options.user ? 0600 : 0660;

    for (int i = 0; i < 2; i++) {
        if (d->sockets[i] >= 0)
            continue;
        int r = listen_on(where[i], mode, &d->sockets[i]);
        if (r < 0) {
            log_error("cannot listen on %s: %s", where[i]->path, strerror(-r));
            return r;
        }
    }
    return 0;
}

/* Makes removed sockets anew, as after a sweep of /tmp. Sockets of systemd are left
 * alone. */
static void heal_sockets(void *arg)
{
    struct daemon *d = arg;
    const struct address *where[2] = {&d->paths.socket, &d->paths.control_socket};
    struct volt_error err;

    for (int i = 0; i < 2; i++) {
        int fd = -1;

        if (d->activated[i] || access(where[i]->path, F_OK) == 0 || errno != ENOENT)
            continue;
        (void)mkdir(d->paths.runtime_dir, 0700);
        int r = listen_on(where[i], d->options.user ? 0600 : 0660, &fd);
        const struct server_listener l = {
            .fd = fd, .interfaces = interfaces_all, .control = i == 1};
        if (r == 0)
            r = server_listen(d->server, &l, 1, &err);
        if (r < 0)
            log_error("%s is gone, and cannot be made anew: %s", where[i]->path,
                      strerror(-r));
        else
            log_notice("%s was gone, and is made anew", where[i]->path);
    }
}

/* Says where the voltd that has the directories listens. If its socket is gone, sends it
 * SIGHUP, at which it makes its sockets anew. */
static void tell_holder(const struct paths *p)
{
    char dir[PATH_MAX], socket[PATH_MAX + 16];

    if (user_link_read_in(p->state_dir, dir, sizeof(dir)) < 0)
        return;
    (void)snprintf(socket, sizeof(socket), "%s/voltd.sock", dir);
    const bool gone = access(socket, F_OK) < 0 && errno == ENOENT;

    if (gone && p->holder > 0)
        (void)kill(p->holder, SIGHUP);
    log_info("it listens on %s%s; `voltctl --address=unix:%s shutdown` ends it", socket,
             gone ? ", which was gone, and is asked to make that anew" : "", socket);
}

/* --- up ---------------------------------------------------------------------------- */

static int find_config(struct daemon *d, struct volt_error *err)
{
    const struct options *o = &d->options;
    int r;

    if (o->config)
        r = (size_t)snprintf(d->config_path, PATH_MAX, "%s", o->config) < PATH_MAX
                ? 0
                : -ENAMETOOLONG;
    else
        r = config_default_path(o->user, d->config_path, PATH_MAX);
    if (r == -ENOENT)
        (void)snprintf(err->text, sizeof(err->text),
                       "neither XDG_CONFIG_HOME nor HOME is set; use --config");
    return r < 0 ? failed("configuration", r, err) : 0;
}

static int load_config(struct daemon *d, struct volt_error *err)
{
    const struct options *o = &d->options;
    int r = find_config(d, err);

    if (r < 0)
        return r;
    r = config_load(d->config_path, o->config != NULL, &d->config, &d->queues, err);
    if (r < 0)
        return failed("configuration", r, err);
    if (o->workers)
        d->config.workers = o->workers;
    return 0;
}

/* Limits malloc's arenas, and how long one call of it takes. A batch is parsed on one
 * worker and freed on others. With an arena per thread, each one in turn grew to the size
 * of the largest batch. Locks of few arenas cost less than page faults of many: 100,000
 * sleeps submitted and cancelled, four times, took 161 MB and 0.4 s with one arena, 197
 * MB and 0.7 s with glibc's default. */
static void set_arenas(unsigned workers)
{
    (void)mallopt(M_ARENA_MAX, (int)(1 + workers / 16));
    (void)mallopt(M_MMAP_THRESHOLD, 256 * 1024);
    /* No list of small free pieces that a later free of a large one has to merge: after a
     * batch was parsed that took 2 ms of one poll. */
    (void)mallopt(M_MXFAST, 0);
}

static int start_runtime(struct daemon *d)
{
    struct volt_options opt = {
        .workers = config_workers(&d->config),
        .max_blocking_threads = (unsigned)d->config.max_blocking_threads,
        .thread_name = "voltd",
    };
    int r;

    set_arenas(opt.workers);
    r = volt_runtime_new(&opt, &d->rt);
    if (r < 0)
        log_error("cannot start the runtime: %s", strerror(-r));
    return r;
}

/* Logs what a person has to do about a store, and the command line for it. */
static void log_way_out(const struct daemon *d, const char *what, const char *option)
{
    const struct options *o = &d->options;
    const struct again again = {
        .program = o->program,
        .system = o->system,
        .runtime_dir = o->runtime_dir ? d->paths.runtime_dir : NULL,
        .state_dir = o->state_dir ? d->paths.state_dir : NULL,
    };
    struct wire_buf line = {0};

    if (again_line(&again, option, &line) == 0)
        log_error("%s: %s", what, wire_buf_at(&line));
    wire_buf_fini(&line);
}

static int start_jobs(struct daemon *d, struct volt_error *err)
{
    const char *dir = d->options.keepers_dir;
    char own[PATH_MAX];
    (void)snprintf(own, sizeof(own), "%s/%u", dir ? dir : "", (unsigned)geteuid());
    struct life_options o = {
        .rt = d->rt,
        .config = &d->config,
        .queues = &d->queues,
        .runtime_dir = d->paths.runtime_dir,
        .state_dir = d->paths.state_dir,
        .record_dir = d->paths.record_dir,
        .keeper_path = dir ? NULL : d->keeper_path,
        .keeper_socket = dir && d->options.user ? own : NULL,
        .keepers_dir = dir && !d->options.user ? dir : NULL,
        .descriptors = d->job_descriptors,
        .socket = d->paths.socket.path,
    };
    int r = o.keeper_path ? find_keeper(d->keeper_path) : 0;

    if (r < 0) {
        log_error("cannot run %s: %s", d->keeper_path, strerror(-r));
        return r;
    }
    r = life_new(&o, &d->core, err);
    if (r == 0)
        r = journal_start(d->rt, d->core);
    if (r < 0)
        (void)failed("jobs", r, err);
    if (r == -STORE_NOT_WITNESSED)
        log_way_out(d,
                    "put the right store back; or accept what is there, though jobs may "
                    "be missing then, and jobs may run twice",
                    "--accept-store");
    else if (r == -EBADMSG)
        log_way_out(d, "all that is damaged in the store is named by", "--check-store");
    return r;
}

static int start_server(struct daemon *d, struct volt_error *err)
{
    struct control_options c = {
        .rt = d->rt,
        .core = d->core,
        .config_path = d->config_path,
        .config_must_exist = d->options.config != NULL,
        .config = &d->config,
        .queues = &d->queues,
        .workers_given = d->options.workers != 0,
        .reloaded = heal_sockets,
        .arg = d,
    };
    int r;

    d->control = control_new(&c);
    if (!d->control)
        return failed("control", -ENOMEM, err);
    d->event_texts = event_texts_new();
    d->environments = known_texts_new(&known_env);
    d->limits = known_texts_new(&known_json);
    d->stdin_files = stdin_files_new();
    if (!d->event_texts || !d->environments || !d->limits || !d->stdin_files)
        return failed("events", -ENOMEM, err);
    malformed_init(&d->malformed);
    d->service = (struct service){
        .core = d->core,
        .rt = d->rt,
        .control = d->control,
        .event_texts = d->event_texts,
        .environments = d->environments,
        .limits = d->limits,
        .stdin_files = d->stdin_files,
        .turns = &d->turns,
        .malformed = &d->malformed,
        .root_only = geteuid() == 0 && (d->options.user || !d->options.keepers_dir),
        .user_mode = d->options.user};
    d->server = server_new(&d->service, &d->config);
    if (!d->server)
        return failed("server", -ENOMEM, err);
    r = control_start(d->control, d->server);
    if (r == 0)
        r = watchdog_start(d->rt, d->core);
    if (r < 0)
        return failed("control", r, err);
    const struct server_listener listeners[2] = {
        {.fd = d->sockets[0], .interfaces = interfaces_all},
        {.fd = d->sockets[1], .interfaces = interfaces_all, .control = true},
    };
    d->sockets[0] = d->sockets[1] = -1;
    r = server_listen(d->server, listeners, 2, err);
    return r < 0 ? failed("server", r, err) : 0;
}

static void announce(const struct daemon *d)
{
    struct core_counts counts;

    query_counts(d->core, &counts);
    log_info("version %s, listening on %s", VOLT_VERSION, d->paths.socket.path);
    if (d->service.root_only)
        log_notice(
            "runs as root, and so do its jobs: only root is served; for others run "
            "voltd as an account of its own, as voltd.service does");
    if (!query_durable(d->core))
        log_notice("Sync=off: a power cut may take away what was acknowledged last");
    uint64_t waiting = counts.recovered_queued + counts.recovered_unstarted;
    if (waiting || counts.recovered_running || counts.recovered_ended ||
        counts.recovered_lost)
        log_notice(
            "recovered %llu waiting, %llu running, %llu ended meanwhile, %llu lost",
            (unsigned long long)waiting, (unsigned long long)counts.recovered_running,
            (unsigned long long)counts.recovered_ended,
            (unsigned long long)counts.recovered_lost);
    if (counts.orphans)
        log_notice("%llu records of an earlier voltd: see voltctl list --orphans",
                   (unsigned long long)counts.orphans);
    (void)sysd_notify_status("%u worker%s, listening on %s", volt_runtime_workers(d->rt),
                             volt_runtime_workers(d->rt) == 1 ? "" : "s",
                             d->paths.socket.path);
    (void)sysd_notify_ready();
}

/* Raises the soft limit of descriptors, for connections. Returns the previous limit,
 * which jobs get, as they may use select(); 0 if it is unchanged. */
static uint64_t raise_descriptors(void)
{
    struct rlimit limit;
    rlim_t before;

    if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur == limit.rlim_max)
        return 0;
    before = limit.rlim_cur;
    limit.rlim_cur = limit.rlim_max;
    return setrlimit(RLIMIT_NOFILE, &limit) < 0 ? 0 : before;
}

/* Grows the kernel's table of descriptors while there is one thread. With more threads,
 * each doubling makes an accept, and its worker, sleep 10 to 20 ms (a grace period of
 * RCU). */
static void widen_descriptor_table(const struct config *config)
{
    struct rlimit limit;
    uint64_t wanted = config->max_connections + OTHER_DESCRIPTORS;

    if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
        return;
    if (wanted > limit.rlim_cur)
        wanted = limit.rlim_cur;
    if (wanted > DESCRIPTORS_AHEAD)
        wanted = DESCRIPTORS_AHEAD;
    int fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, (int)wanted - 1);
    if (fd >= 0)
        (void)close(fd);
}

/* Links the runtime directory for clients that do not know it: those of `su -c` and
 * cron. */
static void tell_where(const struct daemon *d)
{
    int r = d->options.user ? user_link_put(d->paths.state_dir, d->paths.runtime_dir) : 0;
    if (r < 0)
        log_warning("%s/runtime: %s: clients without XDG_RUNTIME_DIR do not find this "
                    "voltd",
                    d->paths.state_dir, strerror(-r));
}

/* Sets the variables of the account in voltd's environment by the user database, whoever
 * has started voltd. The keeper inherits them and gives them to jobs. */
static void name_account(void)
{
    const char *home = paths_home();

    if (home)
        (void)setenv("HOME", home, 1);
    const struct passwd *entry = getpwuid(geteuid());
    if (entry) {
        (void)setenv("LOGNAME", entry->pw_name, 1);
        (void)setenv("USER", entry->pw_name, 1);
        (void)setenv("SHELL", entry->pw_shell, 1);
        return;
    }
    (void)unsetenv("LOGNAME");
    (void)unsetenv("USER");
    (void)unsetenv("SHELL");
}

static int up(struct daemon *d)
{
    static const char *const names[2] = {"varlink", "control"};
    struct volt_error err = {{0}};
    sigset_t set;
    int r;

    control_signals(&set);
    (void)sigaddset(&set, SIGCHLD); /* keeper_link_task.c waits for it */
    (void)pthread_sigmask(SIG_BLOCK, &set, NULL);
    (void)signal(SIGPIPE, SIG_IGN);
    (void)signal(SIGIO, SIG_IGN);   /* for opening a file with a lease */
    (void)signal(SIGXFSZ, SIG_IGN); /* a limit of file sizes fails the write instead */
    r = sysd_take_sockets(names, d->sockets, 2, &err);
    if (r < 0)
        return failed("sockets", r, &err);
    d->activated[0] = d->sockets[0] >= 0;
    d->activated[1] = d->sockets[1] >= 0;
    r = load_config(d, &err);
    if (r < 0)
        return r;
    r = paths_init(&d->paths, d->options.user, d->options.runtime_dir,
                   d->options.state_dir, &err);
    if (r == 0)
        r = paths_claim(&d->paths, &err);
    d->taken = r == -EBUSY;
    if (d->taken && d->options.user)
        tell_holder(&d->paths);
    if (r < 0)
        return failed("directories", r, &err);
    widen_descriptor_table(&d->config);
    name_account();
    r = start_runtime(d);
    if (r == 0)
        r = start_jobs(d, &err);
    if (r == 0)
        r = open_sockets(d);
    if (r == 0)
        r = start_server(d, &err);
    if (r == 0)
        tell_where(d);
    return r;
}

/* --- down -------------------------------------------------------------------------- */

static void remove_socket(const struct daemon *d, int i, const struct address *address)
{
    if (!d->activated[i] && address->path[0])
        (void)unlink(address->path);
}

static void down(struct daemon *d)
{
    bool ours = d->paths.runtime_lock >= 0;

    if (d->rt)
        (void)volt_runtime_shutdown(d->rt, UINT64_MAX);
    server_free(d->server);
    control_free(d->control);
    event_texts_free(d->event_texts);
    known_texts_free(d->environments);
    known_texts_free(d->limits);
    stdin_files_free(d->stdin_files);
    life_free(d->core);
    volt_runtime_free(d->rt);
    for (int i = 0; i < 2; i++)
        if (d->sockets[i] >= 0)
            close(d->sockets[i]);
    if (ours) {
        if (d->options.user)
            user_link_remove(d->paths.state_dir);
        remove_socket(d, 0, &d->paths.socket);
        remove_socket(d, 1, &d->paths.control_socket);
    }
    paths_fini(&d->paths);
}

/* Opens /dev/null in place of closed standard descriptors, so that no socket gets their
 * numbers, and no client the log. */
static void occupy_standard_descriptors(void)
{
    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) < 0)
            (void)open("/dev/null", O_RDWR);
}

static int look_at_config(struct daemon *d)
{
    struct volt_error err = {{0}};

    if (find_config(d, &err) < 0)
        return 1;
    return check_config(d->config_path, d->options.config != NULL);
}

/* Checks or accepts the store, while no voltd uses it. */
static int look_at_store(struct daemon *d)
{
    struct volt_error err = {{0}};
    int r = paths_init(&d->paths, d->options.user, d->options.runtime_dir,
                       d->options.state_dir, &err);

    if (r < 0) {
        (void)failed("directories", r, &err);
        return 1;
    }
    return d->options.check_store ? check_store(&d->paths) : accept_store(&d->paths);
}

/* Refuses the account that the server refuses as a client. */
static bool may_serve_itself(void)
{
    if (geteuid() != server_overflow_uid())
        return true;
    log_error(
        "uid %u stands for users of other namespaces, so voltd would refuse its own "
        "user: run it as another account",
        (unsigned)geteuid());
    return false;
}

int main(int argc, char **argv)
{
    struct daemon d = {.sockets = {-1, -1}};
    int status = parse_options(argc, argv, &d.options);

    if (status >= 0)
        return status;
    occupy_standard_descriptors();
    (void)umask(077); /* files of voltd are its own, whatever the umask of the caller */
    log_init();
    d.paths.runtime_lock = d.paths.state_lock = -1;
    if (d.options.check_config)
        return look_at_config(&d);
    if (d.options.check_store || d.options.accept_store)
        return look_at_store(&d);
    if (!may_serve_itself())
        return 2;
    d.job_descriptors = raise_descriptors();
    int r = up(&d);
    if (r == 0) {
        announce(&d);
        control_wait(d.control);
    }
    down(&d);
    if (d.taken)
        return ADDRESS_EXIT_TAKEN;
    return r == -STORE_NOT_WITNESSED ? 2 : r < 0 ? 1 : 0;
}
