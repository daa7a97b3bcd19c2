/* As bench_load.c. Echo is what one writes for many connections without a runtime: a
 * thread for each worker, with an epoll of its own over its share of them. */
#include "bench/echo.h"
#include "bench/peers/naive/naive.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

enum {
    ECHOES = 6400,
    SKEWED = 20000,
    SHORT_NS = 100,
    LONG_NS = 20000,
    FORKED = 10000,
    FORKS = 20,
    SET = 1000,
    SETS = 200,
    MAX_THREADS = 64,
};

/* --- echo */

struct server {
    pthread_t thread;
    int epoll, connections;
};

/* Until all its clients have hung up. */
static void *serve(void *arg)
{
    struct server *s = arg;
    struct epoll_event ready[ECHO_CONNECTIONS];
    char buf[ECHO_BYTES];

    while (s->connections > 0) {
        int n = epoll_wait(s->epoll, ready, ECHO_CONNECTIONS, -1);

        for (int i = 0; i < n; i++) {
            int fd = ready[i].data.fd;
            ssize_t got = read(fd, buf, sizeof(buf));

            if (got > 0 && write(fd, buf, (size_t)got) == got)
                continue;
            close(fd);
            s->connections--;
        }
    }
    close(s->epoll);
    return NULL;
}

static void start_servers(struct server *s, int threads, const int *fd, int n)
{
    for (int i = 0; i < threads; i++)
        s[i] = (struct server){.epoll = epoll_create1(EPOLL_CLOEXEC)};
    for (int i = 0; i < n; i++) {
        struct epoll_event e = {.events = EPOLLIN, .data.fd = fd[i]};

        if (epoll_ctl(s[i % threads].epoll, EPOLL_CTL_ADD, fd[i], &e) < 0)
            bench_die("cannot watch a connection");
        s[i % threads].connections++;
    }
    for (int i = 0; i < threads; i++) {
        if (pthread_create(&s[i].thread, NULL, serve, &s[i]) != 0)
            bench_die("cannot start a thread");
    }
}

void naive_echo(const struct bench_workload *w, double *ret)
{
    int client[ECHO_CONNECTIONS], server[ECHO_CONNECTIONS], n = w->arg;
    int threads = (int)bench_workers() < MAX_THREADS ? (int)bench_workers() : MAX_THREADS;
    struct server servers[MAX_THREADS];
    struct bench_load m;

    echo_connect(client, server, n);
    start_servers(servers, threads, server, n);
    echo_ask(client, n, ECHOES / 10);
    m = bench_load_begin();
    echo_ask(client, n, ECHOES);
    bench_load_end(&m, ECHOES, ret);
    echo_hang_up(client, n);
    for (int i = 0; i < threads; i++)
        pthread_join(servers[i].thread, NULL);
}

/* --- skew */

static void task(struct call *c)
{
    bench_burn((uint64_t)c->n);
    free(c);
    done();
}

static void mixer(struct call *c)
{
    free(c);
    for (int i = 0; i < SKEWED; i++)
        spawn(task, i % 10 ? SHORT_NS : LONG_NS);
}

void naive_skew(const struct bench_workload *w, double *ret)
{
    struct bench_load m;

    (void)w;
    start_default();
    expect(SKEWED);
    m = bench_load_begin();
    spawn(mixer, 0);
    bench_gate_wait();
    bench_load_end(&m, SKEWED, ret);
}

/* --- fork and join: the last child to end goes on with its parent */

struct fib {
    struct call call;
    struct fib *parent;
    atomic_long calls; /* of its whole tree, as far as it has ended */
    atomic_int children;
};

static long calls_of_root;

static void fib_ended(struct fib *f)
{
    for (;;) {
        struct fib *parent = f->parent;
        long calls = atomic_load(&f->calls);

        free(f);
        if (!parent) {
            calls_of_root = calls;
            bench_gate_open();
            return;
        }
        atomic_fetch_add(&parent->calls, calls);
        if (atomic_fetch_sub(&parent->children, 1) > 1)
            return;
        f = parent;
    }
}

static void fib(struct call *c);

static void spawn_fib(struct fib *parent, long n)
{
    struct fib *f = malloc(sizeof(*f));

    if (!f)
        bench_die("out of memory");
    f->call = (struct call){.run = fib, .n = n};
    f->parent = parent;
    atomic_init(&f->calls, 1);
    atomic_init(&f->children, 2);
    put(&f->call);
}

static void fib(struct call *c)
{
    struct fib *f = (struct fib *)c;
    long n = c->n;

    if (n < 2) {
        fib_ended(f);
        return;
    }
    spawn_fib(f, n - 1);
    spawn_fib(f, n - 2);
}

static long calls_of(long n)
{
    return n < 2 ? 1 : 1 + calls_of(n - 1) + calls_of(n - 2);
}

void naive_fib(const struct bench_workload *w, double *ret)
{
    long calls = calls_of(w->arg);
    struct bench_load m;

    start_default();
    m = bench_load_begin();
    spawn_fib(NULL, w->arg);
    bench_gate_wait();
    bench_load_end(&m, (uint64_t)calls, ret);
    if (calls_of_root != calls)
        bench_die("a call is missing");
}

/* --- waves: the last call of one spawns the next */

static _Alignas(128) atomic_long wave_left;
static long wave_size;
static void wave(struct call *c);

static void wave_child(struct call *c)
{
    long n = c->n;

    free(c);
    if (atomic_fetch_sub(&wave_left, 1) == 1)
        spawn(wave, n);
}

static void wave(struct call *c)
{
    long n = c->n;

    free(c);
    if (n == 0) {
        bench_gate_open();
        return;
    }
    atomic_store(&wave_left, wave_size);
    for (long i = 0; i < wave_size; i++)
        spawn(wave_child, n - 1);
}

void waves(long size, long count)
{
    wave_size = size;
    spawn(wave, count);
    bench_gate_wait();
}

void naive_fork_10k(const struct bench_workload *w, double *ret)
{
    struct bench_load m;

    (void)w;
    start_default();
    m = bench_load_begin();
    waves(FORKED, FORKS);
    bench_load_end(&m, (uint64_t)FORKED * FORKS, ret);
}

/* --- join set: main waits, so it is the one that spawns and takes */

static struct {
    pthread_mutex_t lock; /* protects all that follows */
    pthread_cond_t more;
    struct call *head, **tail;
} ended = {.lock = PTHREAD_MUTEX_INITIALIZER,
           .more = PTHREAD_COND_INITIALIZER,
           .tail = &ended.head};

static void member(struct call *c)
{
    c->next = NULL;
    pthread_mutex_lock(&ended.lock);
    *ended.tail = c;
    ended.tail = &c->next;
    pthread_cond_signal(&ended.more);
    pthread_mutex_unlock(&ended.lock);
}

/* What the next one has left. */
static long take(void)
{
    struct call *c;
    long n;

    pthread_mutex_lock(&ended.lock);
    while (!ended.head)
        pthread_cond_wait(&ended.more, &ended.lock);
    c = ended.head;
    ended.head = c->next;
    if (!ended.head)
        ended.tail = &ended.head;
    pthread_mutex_unlock(&ended.lock);
    n = c->n;
    free(c);
    return n;
}

void naive_join_set(const struct bench_workload *w, double *ret)
{
    struct bench_load m;

    (void)w;
    start_default();
    m = bench_load_begin();
    for (int turn = 0; turn < SETS; turn++) {
        long sum = 0;

        for (int i = 0; i < SET; i++)
            spawn(member, i);
        for (int i = 0; i < SET; i++)
            sum += take();
        if (sum != SET * (SET - 1) / 2)
            bench_die("a member is missing");
    }
    bench_load_end(&m, (uint64_t)SET * SETS, ret);
}
