/* The reader of inotify events: a poll takes so many, however many have come, and what
 * cannot be read is read again. */
#include <fcntl.h>
#include <netinet/in.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cmocka.h>
#include <volt/volt.h>

#include "daemon/link/inotify.h"
#include "tests/support/scratch.h"

#define EVENTS (INOTIFY_LOOKS + 100)

static struct seen {
    unsigned begun, out_of_step; /* with the looks that are left */
    sem_t all;
} seen;

static void begin(void *arg, const struct inotify_event *e)
{
    struct seen *s = arg;

    s->begun += e != NULL;
}

static bool go_on(void *arg, size_t *looks)
{
    struct seen *s = arg;

    s->out_of_step +=
        *looks != (size_t)(EVENTS * INOTIFY_LOOKS - (int)s->begun) % INOTIFY_LOOKS;
    if (s->begun == EVENTS)
        sem_post(&s->all);
    return false;
}

static void a_poll_takes_so_many_events(void **state)
{
    static const struct inotify_reader_ops ops = {begin, go_on};
    char base[SCRATCH_MAX], path[SCRATCH_MAX + 16];
    struct volt_runtime *rt;

    (void)state;
    sem_init(&seen.all, 0, 0);
    assert_int_equal(scratch_make(base), 0);
    int fd = inotify_reader_open("a test");
    assert_true(fd >= 0 && inotify_add_watch(fd, base, IN_CREATE) >= 0);
    for (int i = 0; i < EVENTS; i++) {
        (void)snprintf(path, sizeof(path), "%s/%d", base, i);
        int file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        assert_true(file >= 0);
        (void)close(file);
    }
    assert_int_equal(volt_runtime_new(&(struct volt_options){.workers = 1}, &rt), 0);
    assert_int_equal(inotify_reader_start(rt, fd, &ops, &seen), 0);
    assert_int_equal(sem_wait(&seen.all), 0);
    assert_int_equal(volt_runtime_shutdown(rt, UINT64_MAX), 0);
    volt_runtime_free(rt);
    assert_int_equal(seen.begun, EVENTS);
    assert_int_equal(seen.out_of_step, 0);
    (void)close(fd);
    assert_int_equal(scratch_remove(base), 0);
}

static void begin_other(void *arg, const struct inotify_event *e)
{
    struct seen *s = arg;

    s->begun = e ? e->cookie : 0;
}

static bool told(void *arg, size_t *looks)
{
    struct seen *s = arg;

    (void)looks;
    sem_post(&s->all);
    return false;
}

/* A loopback address of its own; it hears nothing but what comes from itself. */
static int deaf_socket(struct sockaddr_in *ret)
{
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    socklen_t size = sizeof(*ret);

    *ret = (struct sockaddr_in){.sin_family = AF_INET,
                                .sin_addr = {htonl(INADDR_LOOPBACK)}};
    assert_int_equal(bind(fd, (const struct sockaddr *)ret, size), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)ret, &size), 0);
    assert_int_equal(connect(fd, (const struct sockaddr *)ret, size), 0);
    return fd;
}

/* A socket stands for the instance: one whose message is refused reads that, once. All
 * that is watched is looked at then, and the next event is told. */
static void what_cannot_be_read_is_read_again(void **state)
{
    static const struct inotify_reader_ops ops = {begin_other, told};
    const struct inotify_event event = {.mask = IN_CREATE, .cookie = 7};
    struct sockaddr_in from, to;
    struct volt_runtime *rt;
    int peer = deaf_socket(&to), fd = deaf_socket(&from);

    (void)state;
    seen = (struct seen){.begun = 99};
    sem_init(&seen.all, 0, 0);
    assert_int_equal(connect(fd, (const struct sockaddr *)&to, sizeof(to)), 0);
    assert_int_equal(send(fd, "", 1, 0), 1);
    assert_int_equal(volt_runtime_new(&(struct volt_options){.workers = 1}, &rt), 0);
    assert_int_equal(inotify_reader_start(rt, fd, &ops, &seen), 0);
    assert_int_equal(sem_wait(&seen.all), 0);
    assert_int_equal(seen.begun, 0);
    assert_int_equal(connect(peer, (const struct sockaddr *)&from, sizeof(from)), 0);
    assert_int_equal(send(peer, &event, sizeof(event), 0), sizeof(event));
    assert_int_equal(sem_wait(&seen.all), 0);
    assert_int_equal(seen.begun, 7);
    assert_int_equal(volt_runtime_shutdown(rt, UINT64_MAX), 0);
    volt_runtime_free(rt);
    (void)close(fd);
    (void)close(peer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_poll_takes_so_many_events),
        cmocka_unit_test(what_cannot_be_read_is_read_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
