/* Loads a voltd with calls whose text is ready beforehand, so that little of what is
 * measured is the client's own. Prints one JSON object.
 *
 *   load SOCKET submit JOBS CLIENTS     each client submits one job at a time: calls per
 *                                       second, and us per call
 *   load SOCKET batch JOBS SIZE         one client, SIZE jobs in a call
 *   load SOCKET noop JOBS SIZE          the same with jobs of kind noop, until all have ended
 *   load SOCKET start JOBS [KIND]       us from before the call until the job is started, one
 *                                       at a time on an idle daemon
 *   load SOCKET queue JOBS SIZE         as batch, each job with a key of its own
 *   load SOCKET list CALLS              us for the newest 20 jobs
 *   load SOCKET array JOBS              one array of so many noops, until all have ended
 *   load SOCKET watch JOBS WATCHERS     us from before the call that submits a noop until the
 *                                       last, and the 99th of a hundred, of so many watchers
 *                                       of just this job have read its end
 *   load SOCKET machine DIR             what the steps cost here: a round trip over a socket,
 *                                       an fdatasync of an appended page in DIR */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { REPLY = 8 << 20, SPEC = 512, MAX_CLIENTS = 256, IDLE = 2000 /* us */ };

static const char *socket_path;

static void die(const char *what)
{
    (void)fprintf(stderr, "load: %s: %s\n", what, strerror(errno));
    exit(1);
}

static uint64_t clock_us(clockid_t clock)
{
    struct timespec t;

    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

static double seconds(void)
{
    return (double)clock_us(CLOCK_MONOTONIC) / 1e6;
}

static int open_socket(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    (void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", socket_path);
    if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
        die(socket_path);
    return fd;
}

/* Reads whole messages into buf, which has room for them; returns how many bytes. */
static size_t receive(int fd, char *buf, size_t room)
{
    size_t have = 0;

    do {
        ssize_t n = read(fd, buf + have, room - have);

        if (n <= 0)
            die("read");
        have += (size_t)n;
    } while (buf[have - 1] != '\0' && have < room);
    if (strstr(buf, "\"error\"")) {
        (void)fprintf(stderr, "load: refused: %.500s\n", buf);
        exit(1);
    }
    return have;
}

static void send_text(int fd, const char *text)
{
    size_t len = strlen(text) + 1;

    while (len > 0) {
        ssize_t n = write(fd, text, len);

        if (n < 0)
            die("write");
        text += n;
        len -= (size_t)n;
    }
}

/* Sends a message with its NUL; returns the reply in buf. */
static char *call(int fd, const char *text, char *buf, size_t room)
{
    send_text(fd, text);
    (void)receive(fd, buf, room);
    return buf;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static void print_times(const char *key, double *us, size_t n)
{
    qsort(us, n, sizeof(*us), by_value);
    printf("\"%s_p50_us\": %.1f, \"%s_p99_us\": %.1f", key, us[n / 2], key,
           us[n * 99 / 100]);
}

static int keyed;

static size_t spec(char *buf, const char *kind, long n)
{
    char argv[64] = "", key[48] = "";

    if (strcmp(kind, "exec") == 0)
        (void)snprintf(argv, sizeof(argv),
                       "\"argv\":[\"/bin/true\",\"%ld\"],\"cwd\":\"/\",", n);
    if (keyed)
        (void)snprintf(key, sizeof(key), "\"key\":\"key-%ld\",", n);
    return (size_t)snprintf(buf, SPEC, "{\"kind\":\"%s\",%s%s\"name\":\"job-%ld\"}", kind,
                            argv, key, n);
}

/* --- one at a time, by many clients */

struct client {
    pthread_t thread;
    long first, jobs;
    double *us;
    int durable; /* what the last reply said */
};

static void *submitter(void *arg)
{
    struct client *c = arg;
    int fd = open_socket();

    for (long i = 0; i < c->jobs; i++) {
        char text[SPEC + 128], one[SPEC], reply[4096];
        double start;

        (void)spec(one, "exec", c->first + i);
        (void)snprintf(
            text, sizeof(text),
            "{\"method\":\"org.voltd.jobs.Submit\",\"parameters\":{\"spec\":%s}}", one);
        start = seconds();
        (void)call(fd, text, reply, sizeof(reply));
        c->us[i] = (seconds() - start) * 1e6;
        c->durable = strstr(reply, "\"durable\":true") != NULL;
    }
    close(fd);
    return NULL;
}

static void submit(long jobs, long clients)
{
    struct client all[MAX_CLIENTS];
    double *us = calloc((size_t)jobs, sizeof(*us)), start = seconds();

    if (!us || clients < 1 || clients > MAX_CLIENTS || jobs < clients)
        die("arguments");
    for (long i = 0; i < clients; i++) {
        all[i] = (struct client){.first = i * (jobs / clients), .jobs = jobs / clients};
        all[i].us = us + all[i].first;
        if (pthread_create(&all[i].thread, NULL, submitter, &all[i]) != 0)
            die("thread");
    }
    for (long i = 0; i < clients; i++)
        pthread_join(all[i].thread, NULL);
    jobs = jobs / clients * clients;
    printf("{\"durable\": %s, \"per_second\": %.0f, ", all[0].durable ? "true" : "false",
           (double)jobs / (seconds() - start));
    print_times("call", us, (size_t)jobs);
    printf("}\n");
    free(us);
}

/* --- in batches */

/* Submits one batch; returns the reply. */
static char *batch_call(int fd, const char *kind, long first, long size, char *reply)
{
    char *text = malloc((size_t)size * SPEC + 128), *at = text;

    if (!text)
        die("memory");
    at += sprintf(
        at, "{\"method\":\"org.voltd.jobs.SubmitBatch\",\"parameters\":{\"specs\":[");
    for (long i = 0; i < size; i++) {
        if (i > 0)
            *at++ = ',';
        at += spec(at, kind, first + i);
    }
    (void)sprintf(at, "]}}");
    (void)call(fd, text, reply, REPLY);
    free(text);
    return reply;
}

/* Whether one of the messages in buf says that no job is left. */
static int none_left(const char *buf, size_t n)
{
    for (const char *at = buf; at < buf + n; at += strlen(at) + 1)
        if (strstr(at, "\"left\":0"))
            return 1;
    return 0;
}

/* Waits for the jobs that a reply to SubmitBatch names, by one call: asked again and again,
 * voltd would be answering instead. */
static void wait_call(int fd, char *reply)
{
    char *ids = strstr(reply, "\"ids\":["), *end = ids ? strchr(ids, ']') : NULL, *text;

    if (!ids || !end ||
        asprintf(&text,
                 "{\"method\":\"org.voltd.jobs.Wait\",\"more\":true,"
                 "\"parameters\":{%.*s]}}",
                 (int)(end - ids), ids) < 0)
        die("reply");
    send_text(fd, text);
    while (!none_left(reply, receive(fd, reply, REPLY)))
        continue;
    free(text);
}

static void batch(const char *kind, long jobs, long size, int wait)
{
    long batches = jobs / size;
    char **replies = calloc((size_t)batches, sizeof(*replies));
    double start = seconds();
    int fd = open_socket();

    if (!replies)
        die("memory");
    for (long i = 0; i < batches; i++) {
        if (!(replies[i] = malloc(REPLY)))
            die("memory");
        (void)batch_call(fd, kind, i * size, size, replies[i]);
    }
    double submitted = seconds();
    for (long i = 0; wait && i < batches; i++)
        wait_call(fd, replies[i]);
    printf("{\"per_second\": %.0f, \"ended_per_second\": %.0f}\n",
           (double)(batches * size) / (submitted - start),
           (double)(batches * size) / (seconds() - start));
    for (long i = 0; i < batches; i++)
        free(replies[i]);
    free(replies);
    close(fd);
}

/* --- lists */

static void list_times(long calls)
{
    double *us = calloc((size_t)calls, sizeof(*us)), start;
    char *reply = malloc(REPLY);
    int fd = open_socket();

    if (!us || !reply || calls < 1)
        die("arguments");
    for (long i = 0; i < calls; i++) {
        start = seconds();
        (void)call(fd,
                   "{\"method\":\"org.voltd.jobs.List\",\"parameters\":{\"limit\":20,"
                   "\"newest_first\":true}}",
                   reply, REPLY);
        us[i] = (seconds() - start) * 1e6;
    }
    printf("{");
    print_times("list", us, (size_t)calls);
    printf("}\n");
    free(reply);
    free(us);
    close(fd);
}

/* --- from the call to the start */

static void start_times(long jobs, const char *kind)
{
    double *us = calloc((size_t)jobs, sizeof(*us));
    char *reply = malloc(REPLY), text[256];
    int fd = open_socket();

    if (!us || !reply)
        die("memory");
    for (long i = 0; i < jobs; i++) {
        uint64_t begin = clock_us(CLOCK_REALTIME);
        char *id, *started;

        (void)batch_call(fd, kind, i, 1, reply);
        id = strstr(reply, "\"ids\":[\"");
        if (!id)
            die("reply");
        (void)snprintf(
            text, sizeof(text),
            "{\"method\":\"org.voltd.jobs.Get\",\"parameters\":{\"id\":\"%ld\"}}",
            strtol(id + 8, NULL, 10));
        usleep(IDLE); /* nobody asks while it starts */
        wait_call(fd, reply);
        (void)call(fd, text, reply, REPLY);
        started = strstr(reply, "\"started_at_usec\":");
        if (!started)
            die("not started");
        us[i] = (double)(strtoull(started + 18, NULL, 10) - begin);
        usleep(IDLE); /* the daemon is to be idle */
    }
    printf("{");
    print_times("start", us, (size_t)jobs);
    printf("}\n");
    free(reply);
    free(us);
    close(fd);
}

/* --- an array, and watchers */

static void array(long jobs)
{
    char text[256], *reply = malloc(REPLY);
    double start = seconds();
    int fd = open_socket();

    if (!reply)
        die("memory");
    (void)snprintf(
        text, sizeof(text),
        "{\"method\":\"org.voltd.jobs.SubmitBatch\",\"parameters\":{\"specs\":["
        "{\"kind\":\"noop\",\"array\":{\"first\":1,\"last\":%ld}}]}}",
        jobs);
    (void)call(fd, text, reply, REPLY);
    double submitted = seconds();
    wait_call(fd, reply);
    printf("{\"submit_us\": %.0f, \"ended_per_second\": %.0f}\n",
           (submitted - start) * 1e6, (double)jobs / (seconds() - start));
    free(reply);
    close(fd);
}

/* Reads what each watcher is told, as it comes, until all have been told of the end: how many
 * us after `begin` each had read it. What voltd sends at once is read at once. */
static void hear_ends(int ready, long watchers, double begin, double *us)
{
    enum { AT_ONCE = 64 };
    struct epoll_event event[AT_ONCE];
    char buf[16384];

    for (long told = 0; told < watchers;) {
        int n = epoll_wait(ready, event, AT_ONCE, -1);

        for (int i = 0; i < n; i++) {
            ssize_t len = read(event[i].data.fd, buf, sizeof(buf));

            if (len <= 0)
                die("watch");
            if (memmem(buf, (size_t)len, "\"exited\"", 8))
                us[told++] = (seconds() - begin) * 1e6;
        }
    }
}

/* The ids of jobs are known beforehand: they follow that of the first. */
static void watch(long jobs, long watchers)
{
    double *last = calloc((size_t)jobs, sizeof(*last)), *at = calloc((size_t)jobs, 8);
    double *us = calloc((size_t)watchers, sizeof(*us));
    int *fds = calloc((size_t)watchers, sizeof(*fds)), fd = open_socket();
    int ready = epoll_create1(EPOLL_CLOEXEC);
    char *reply = malloc(REPLY), text[256];

    if (!last || !at || !us || !fds || !reply || ready < 0)
        die("memory");
    for (long i = 0; i < jobs; i++) {
        char *id = strstr(batch_call(fd, "noop", i, 1, reply), "\"ids\":[\"");
        long next = id ? strtol(id + 8, NULL, 10) + 1 : 0;

        for (long w = 0; w < watchers; w++) {
            fds[w] = open_socket();
            (void)snprintf(text, sizeof(text),
                           "{\"method\":\"org.voltd.jobs.Watch\",\"more\":true,"
                           "\"parameters\":{\"filter\":{\"ids\":[\"%ld\"]}}}",
                           next);
            (void)call(fds[w], text, reply, REPLY);
            struct epoll_event event = {.events = EPOLLIN, .data.fd = fds[w]};
            if (epoll_ctl(ready, EPOLL_CTL_ADD, fds[w], &event) < 0)
                die("watch");
        }
        double begin = seconds();

        (void)batch_call(fd, "noop", i, 1, reply);
        hear_ends(ready, watchers, begin, us);
        qsort(us, (size_t)watchers, sizeof(*us), by_value);
        at[i] = us[watchers * 99 / 100];
        last[i] = us[watchers - 1];
        for (long w = 0; w < watchers; w++)
            close(fds[w]);
    }
    printf("{");
    print_times("p99", at, (size_t)jobs);
    printf(", ");
    print_times("last", last, (size_t)jobs);
    printf("}\n");
    free(last);
    free(at);
    free(us);
    free(fds);
    free(reply);
    close(ready);
    close(fd);
}

/* --- the machine */

static void *echo(void *arg)
{
    int fd = *(int *)arg;
    char byte[256];

    for (ssize_t n; (n = read(fd, byte, sizeof(byte))) > 0;) {
        if (write(fd, byte, (size_t)n) != n)
            die("socket");
    }
    return NULL;
}

static void machine(const char *dir)
{
    enum { TRIPS = 2000, SYNCS = 100 };
    double trip[TRIPS], sync[SYNCS];
    char page[4096] = {0}, path[4096];
    pthread_t thread;
    int pair[2], fd;

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0 ||
        pthread_create(&thread, NULL, echo, &pair[1]) != 0)
        die("socket");
    for (int i = 0; i < TRIPS; i++) {
        double start = seconds();

        if (write(pair[0], page, 200) != 200 || read(pair[0], page, 200) <= 0)
            die("socket");
        trip[i] = (seconds() - start) * 1e6;
    }
    close(pair[0]);
    pthread_join(thread, NULL);
    close(pair[1]);
    (void)snprintf(path, sizeof(path), "%s/sync", dir);
    if ((fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600)) < 0)
        die(path);
    for (int i = 0; i < SYNCS; i++) {
        double start = seconds();

        if (write(fd, page, sizeof(page)) < 0 || fdatasync(fd) < 0)
            die(path);
        sync[i] = (seconds() - start) * 1e6;
    }
    close(fd);
    (void)unlink(path);
    printf("{");
    print_times("socket", trip, TRIPS);
    printf(", ");
    print_times("fdatasync", sync, SYNCS);
    printf("}\n");
}

int main(int argc, char **argv)
{
    long n = argc > 3 ? atol(argv[3]) : 0, m = argc > 4 ? atol(argv[4]) : 1;
    struct rlimit files;

    if (argc < 4)
        return 2;
    socket_path = argv[1];
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &files);
    }
    if (strcmp(argv[2], "machine") == 0)
        machine(argv[3]);
    else if (strcmp(argv[2], "submit") == 0)
        submit(n, m);
    else if (strcmp(argv[2], "batch") == 0)
        batch("exec", n, m, 0);
    else if (strcmp(argv[2], "noop") == 0)
        batch("noop", n, m, 1);
    else if (strcmp(argv[2], "queue") == 0) {
        keyed = 1;
        batch("exec", n, m, 0);
    } else if (strcmp(argv[2], "start") == 0) {
        start_times(n, argc > 4 ? argv[4] : "exec");
    } else if (strcmp(argv[2], "list") == 0)
        list_times(n);
    else if (strcmp(argv[2], "array") == 0)
        array(n);
    else if (strcmp(argv[2], "watch") == 0)
        watch(n, m);
    else
        return 2;
    return 0;
}
