/* Loads a voltd with calls whose text is ready beforehand, so that little of what is
 * measured is the client's own. Prints one JSON object.
 *
 *   load SOCKET submit JOBS CLIENTS     each client submits one job at a time: calls per
 *                                       second, and us per call
 *   load SOCKET batch JOBS SIZE         one client, SIZE jobs in a call
 *   load SOCKET noop JOBS SIZE          the same with jobs of kind noop, until all have ended
 *   load SOCKET run JOBS SIZE           the same with jobs of /bin/true
 *   load SOCKET start JOBS [KIND]       us from before the call until the job is started, one
 *                                       at a time on an idle daemon
 *   load SOCKET queue JOBS SIZE         as batch, each job with a key of its own
 *   load SOCKET list CALLS              us for the newest 20 jobs
 *   load SOCKET get CALLS               us for job 1
 *   load SOCKET ask MESSAGE             the same call again and again, until it is killed: beside
 *                                       others; says "ready" after the first reply
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
#include <unistd.h>

#include "bench/daemon/sampling.h"

enum { REPLY = 8 << 20, SPEC = 512, IDLE = 2000 /* us */ };

static const char *socket_path;

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

/* The ids in a reply to SubmitBatch, as JSON text without brackets; *ret_len: its length. */
static const char *ids_of(const char *reply, size_t *ret_len)
{
    const char *ids = strstr(reply, "\"ids\":["), *end = ids ? strchr(ids, ']') : NULL;

    if (!end)
        die("reply");
    *ret_len = (size_t)(end - ids) - 7;
    return ids + 7;
}

/* Waits for the jobs that n replies to SubmitBatch name, and takes the replies. One call for
 * many jobs: asked again and again, voltd would be answering instead. */
static void wait_call(int fd, char **replies, long n)
{
    enum { TEXT = 200000, IDS = 19000 }; /* below the limits of a message, by a batch */
    char *text = malloc(TEXT + REPLY), *answer = malloc(REPLY);

    if (!text || !answer)
        die("memory");
    for (long i = 0; i < n;) {
        size_t len =
            (size_t)sprintf(text, "{\"method\":\"org.voltd.jobs.Wait\",\"more\":true,"
                                  "\"parameters\":{\"ids\":[");
        size_t begin = len, one, count = 0;

        do {
            const char *ids = ids_of(replies[i], &one);

            if (len > begin)
                text[len++] = ',';
            memcpy(text + len, ids, one);
            for (size_t c = 0; c < one; c++)
                count += ids[c] == ',';
            count++;
            len += one;
            free(replies[i]);
        } while (++i < n && len < TEXT && count < IDS);
        (void)strcpy(text + len, "]}}");
        send_text(fd, text);
        while (!none_left(answer, receive(fd, answer, REPLY)))
            continue;
    }
    free(answer);
    free(text);
}

static void batch(const char *kind, long jobs, long size, int wait)
{
    long batches = jobs / size;
    char **replies = calloc((size_t)batches, sizeof(*replies)), *reply = malloc(REPLY);
    double start = seconds();
    int fd = open_socket();

    if (!replies || !reply)
        die("memory");
    for (long i = 0; i < batches; i++)
        if (!(replies[i] = strdup(batch_call(fd, kind, i * size, size, reply))))
            die("memory");
    double submitted = seconds();
    if (wait)
        wait_call(fd, replies, batches);
    printf("{\"per_second\": %.0f, \"ended_per_second\": %.0f}\n",
           (double)(batches * size) / (submitted - start),
           (double)(batches * size) / (seconds() - start));
    for (long i = 0; !wait && i < batches; i++)
        free(replies[i]);
    free(replies);
    free(reply);
    close(fd);
}

/* --- questions */

/* The same call again and again. */
static void call_times(const char *key, const char *text, long calls)
{
    double *us = calloc((size_t)calls, sizeof(*us)), start;
    char *reply = malloc(REPLY);
    int fd = open_socket();

    if (!us || !reply || calls < 1)
        die("arguments");
    for (long i = 0; i < calls; i++) {
        start = seconds();
        (void)call(fd, text, reply, REPLY);
        us[i] = (seconds() - start) * 1e6;
    }
    printf("{");
    print_times(key, us, (size_t)calls);
    printf("}\n");
    free(reply);
    free(us);
    close(fd);
}

/* Beside others, until it is killed. */
static void ask_for_ever(const char *text)
{
    char *reply = malloc(REPLY);
    int fd = open_socket();

    if (!reply)
        die("memory");
    for (long i = 0;; i++) {
        (void)call(fd, text, reply, REPLY);
        if (i == 0 && (puts("ready") < 0 || fflush(stdout) != 0))
            die("stdout");
    }
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
        wait_call(fd, &(char *){strdup(reply)}, 1);
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
    wait_call(fd, &reply, 1);
    printf("{\"submit_us\": %.0f, \"ended_per_second\": %.0f}\n",
           (submitted - start) * 1e6, (double)jobs / (seconds() - start));
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
        sort_times(us, (size_t)watchers);
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
        submit_by(n, m, submitter);
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
        call_times("list",
                   "{\"method\":\"org.voltd.jobs.List\",\"parameters\":{\"limit\":20,"
                   "\"newest_first\":true}}",
                   n);
    else if (strcmp(argv[2], "get") == 0)
        call_times("get",
                   "{\"method\":\"org.voltd.jobs.Get\",\"parameters\":{\"id\":\"1\"}}",
                   n);
    else if (strcmp(argv[2], "ask") == 0)
        ask_for_ever(argv[3]);
    else if (strcmp(argv[2], "run") == 0)
        batch("exec", n, m, 1);
    else if (strcmp(argv[2], "array") == 0)
        array(n);
    else if (strcmp(argv[2], "watch") == 0)
        watch(n, m);
    else
        return 2;
    return 0;
}
