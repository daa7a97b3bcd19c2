/* The synchronous client against the other end of a socket pair; specs and batches. */
#include "client/batch.h"
#include "client/client.h"
#include "client/spec_build.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/socket.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

static struct client *pair(int *peer)
{
    int fds[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    struct client *c = client_new(fds[0]);
    assert_non_null(c);
    *peer = fds[1];
    return c;
}

static void put(int fd, const char *text, size_t len)
{
    assert_int_equal(write(fd, text, len), (ssize_t)len);
}

/* Only a connection that had ended before the call was sent: who has read a call, or
 * part of its answer, may have acted on it. */
static void test_unheard(void **state)
{
    struct client_reply reply = CLIENT_REPLY_EMPTY;
    char call[256];
    int peer;

    (void)state;
    for (int reads = 0; reads < 2; reads++) {
        struct client *c = pair(&peer);
        if (reads)
            assert_int_equal(client_send(c, "a.Call", NULL, 0), 0);
        if (reads)
            assert_true(read(peer, call, sizeof(call)) > 0);
        (void)close(peer);
        assert_int_equal(reads ? client_receive(c, CLIENT_FOREVER, &reply)
                               : client_call(c, "a.Call", NULL, &reply),
                         -ECONNRESET);
        assert_int_equal(client_is_unheard(c), !reads);
        client_free(c);
    }
}

static void test_send(void **state)
{
    (void)state;
    int peer;
    struct client *c = pair(&peer);
    assert_int_equal(client_send(c, "a.b.C", json_pack("{s:i}", "x", 1), CLIENT_MORE), 0);
    assert_int_equal(client_send(c, "a.b.D", NULL, 0), 0);
    char buf[256];
    ssize_t n = read(peer, buf, sizeof(buf));
    const char expect[] =
        "{\"method\":\"a.b.C\",\"parameters\":{\"x\":1},\"more\":true}\0"
        "{\"method\":\"a.b.D\"}";
    assert_int_equal(n, sizeof(expect));
    assert_memory_equal(buf, expect, sizeof(expect));
    client_free(c);
    (void)close(peer);
}

/* One read() is not one message: replies come in pieces and in crowds. */
static void test_framing(void **state)
{
    (void)state;
    int peer;
    struct client *c = pair(&peer);
    struct client_reply r = CLIENT_REPLY_EMPTY;
    assert_int_equal(client_receive(c, 0, &r), 0);
    put(peer, "{\"parameters\":{\"a\"", 18);
    assert_int_equal(client_receive(c, 0, &r), 0);
    put(peer, ":1},\"continues\":true}\0{}\0{\"error\":\"x.y.NoSuchJob\"", 49);
    assert_int_equal(client_receive(c, 0, &r), 1);
    assert_true(r.continues);
    assert_int_equal(json_integer_value(json_object_get(r.parameters, "a")), 1);
    client_reply_fini(&r);
    assert_int_equal(client_receive(c, 0, &r), 1);
    assert_false(r.continues);
    assert_true(json_is_object(r.parameters));
    client_reply_fini(&r);
    assert_int_equal(client_receive(c, 0, &r), 0);
    put(peer, "}", 2);
    (void)close(peer);
    assert_int_equal(client_receive(c, CLIENT_FOREVER, &r), 1);
    assert_true(client_error_is(&r, "NoSuchJob"));
    assert_false(client_error_is(&r, "Job"));
    client_reply_fini(&r);
    assert_int_equal(client_receive(c, CLIENT_FOREVER, &r), -ECONNRESET);
    client_free(c);
}

/* A list that stays text: its values one by one, whatever brackets, commas and quotes
 * their strings have; what is around it is parsed. */
static void test_list_as_text(void **state)
{
    (void)state;
    int peer;
    struct client *c = pair(&peer);
    struct client_reply r = CLIENT_REPLY_EMPTY;
    struct client_list list = {.name = "jobs"};
    size_t at = 0;
    const char text[] = "{\"parameters\":{\"jobs\":[{\"a\":\"],[}\\\\\",\"b\":[1,2]}, "
                        "\"x,\\\"\",3],\"cursor\":\"9\"},\"continues\":true}";
    put(peer, text, sizeof(text));
    assert_int_equal(client_answer_list(c, &list, &r), 0);
    assert_true(r.continues);
    assert_string_equal(json_string_value(json_object_get(r.parameters, "cursor")), "9");
    assert_int_equal(json_array_size(json_object_get(r.parameters, "jobs")), 0);
    assert_string_equal(client_list_next(&list, &at), "{\"a\":\"],[}\\\\\",\"b\":[1,2]}");
    assert_string_equal(client_list_next(&list, &at), " \"x,\\\"\"");
    assert_string_equal(client_list_next(&list, &at), "3");
    assert_null(client_list_next(&list, &at));
    client_reply_fini(&r);
    /* Empty; not among the parameters; spelt otherwise; an error; no JSON. */
    put(peer, "{\"parameters\":{\"jobs\":[]}}\0{\"jobs\":[1]}", 40);
    put(peer, "{\"parameters\":{\"j\\u006fbs\":[1,2]}}\0{\"error\":\"a.b.No\"}", 54);
    for (int i = 0; i < 4; i++) {
        at = 0;
        assert_int_equal(client_answer_list(c, &list, &r), 0);
        assert_null(client_list_next(&list, &at));
        assert_int_equal(json_array_size(json_object_get(r.parameters, "jobs")),
                         i == 2 ? 2 : 0);
        assert_int_equal(r.error != NULL, i == 3);
        client_reply_fini(&r);
    }
    put(peer, "{\"parameters\":{\"jobs\":[\"]}", 27);
    assert_int_equal(client_answer_list(c, &list, &r), -EPROTO);
    client_free(c);
    (void)close(peer);
}

static void test_not_varlink(void **state)
{
    (void)state;
    int peer;
    struct client *c = pair(&peer);
    struct client_reply r = CLIENT_REPLY_EMPTY;
    put(peer, "HTTP/1.1 400", 13);
    put(peer, "{}", 3); /* the answer to another call, no longer to be told which */
    assert_int_equal(client_receive(c, CLIENT_FOREVER, &r), -EPROTO);
    assert_int_equal(client_receive(c, CLIENT_FOREVER, &r), -ECONNRESET);
    assert_int_equal(client_send(c, "a.b.C", NULL, 0), -ECONNRESET);
    client_free(c);
    (void)close(peer);
}

static void test_interrupt(void **state)
{
    (void)state;
    int peer, p[2];
    struct client *c = pair(&peer);
    struct client_reply r = CLIENT_REPLY_EMPTY;
    assert_int_equal(pipe(p), 0);
    client_set_interrupt_fd(c, p[0]);
    put(p[1], "x", 1);
    assert_int_equal(client_receive(c, CLIENT_FOREVER, &r), -EINTR);
    client_free(c);
    (void)close(peer);
    (void)close(p[0]);
    (void)close(p[1]);
}

static void test_descriptor(void **state)
{
    (void)state;
    int peer;
    struct client *c = pair(&peer);
    char text[] = "{\"parameters\":{}}";
    struct iovec iov = {.iov_base = text, .iov_len = sizeof(text)};
    union {
        char bytes[CMSG_SPACE(sizeof(int))];
        struct cmsghdr align;
    } control = {{0}};
    struct msghdr msg = {.msg_iov = &iov,
                         .msg_iovlen = 1,
                         .msg_control = control.bytes,
                         .msg_controllen = sizeof(control.bytes)};
    struct cmsghdr *h = CMSG_FIRSTHDR(&msg);
    h->cmsg_level = SOL_SOCKET;
    h->cmsg_type = SCM_RIGHTS;
    h->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(h), &peer, sizeof(int));
    assert_int_equal(sendmsg(peer, &msg, 0), sizeof(text));
    struct client_reply r = CLIENT_REPLY_EMPTY;
    assert_int_equal(client_receive(c, CLIENT_FOREVER, &r), 1);
    assert_true(r.fd >= 0);
    assert_true(fcntl(r.fd, F_GETFD) & FD_CLOEXEC);
    client_reply_fini(&r);
    assert_int_equal(r.fd, -1);
    client_free(c);
    (void)close(peer);
}

/* The daemon answers a lot before it reads on: sending must take the answers in. */
static void *talkative(void *arg)
{
    int fd = *(int *)arg;
    static char reply[1 << 20];
    memset(reply, ' ', sizeof(reply));
    reply[0] = '{';
    reply[sizeof(reply) - 2] = '}';
    reply[sizeof(reply) - 1] = '\0';
    for (size_t sent = 0; sent < sizeof(reply);) {
        ssize_t n = write(fd, reply + sent, sizeof(reply) - sent);
        if (n <= 0)
            return NULL;
        sent += (size_t)n;
    }
    char buf[65536];
    size_t got = 0;
    while (got < (1 << 20)) {
        ssize_t n = read(fd, buf, sizeof(buf));
        if (n <= 0)
            return NULL;
        got += (size_t)n;
    }
    return arg;
}

/* A call of so many bytes, while a thread plays the daemon; then the first reply. */
static void call_large(struct client *c, int peer, void *(*daemon)(void *), size_t bytes,
                       struct client_reply *ret)
{
    pthread_t t;
    assert_int_equal(pthread_create(&t, NULL, daemon, &peer), 0);
    char *big = calloc(1, bytes + 1);
    assert_non_null(big);
    memset(big, 'x', bytes);
    assert_int_equal(client_send(c, "a.b.C", json_pack("{s:s}", "x", big), 0), 0);
    void *fine;
    assert_int_equal(pthread_join(t, &fine), 0);
    assert_non_null(fine);
    assert_int_equal(client_receive(c, CLIENT_FOREVER, ret), 1);
    free(big);
}

static void test_no_deadlock(void **state)
{
    (void)state;
    int peer;
    struct client *c = pair(&peer);
    struct client_reply r = CLIENT_REPLY_EMPTY;
    call_large(c, peer, talkative, 1 << 20, &r);
    client_reply_fini(&r);
    client_free(c);
    (void)close(peer);
}

/* Answers in the middle of a call, and goes without reading the rest of it. */
static void *refusing(void *arg)
{
    static const char answer[] = "{\"error\":\"a.b.Refused\",\"parameters\":{}}";
    char buf[1000];
    int fd = *(int *)arg;
    bool fine = read(fd, buf, sizeof(buf)) > 0 &&
                write(fd, answer, sizeof(answer)) == (ssize_t)sizeof(answer);
    (void)close(fd);
    return fine ? arg : NULL;
}

static void test_refused_in_the_middle(void **state)
{
    (void)state;
    int peer;
    struct client *c = pair(&peer);
    struct client_reply r = CLIENT_REPLY_EMPTY;
    call_large(c, peer, refusing, 1 << 22, &r);
    assert_string_equal(r.error, "a.b.Refused");
    client_reply_fini(&r);
    assert_int_equal(client_receive(c, CLIENT_FOREVER, &r), -ECONNRESET);
    assert_int_equal(client_send(c, "a.b.C", NULL, 0), -ECONNRESET);
    client_free(c);
}

static int read_text(const char *text, struct batch *b, struct volt_error *err)
{
    size_t len = strlen(text);
    FILE *f = len ? fmemopen((char *)(uintptr_t)text, len, "r") : fopen("/dev/null", "r");
    assert_non_null(f);
    int r = batch_read(b, f, err);
    (void)fclose(f);
    return r;
}

static void test_batch(void **state)
{
    (void)state;
    struct batch b;
    struct volt_error err;
    assert_int_equal(read_text("{\"a\":1}\n\n  {\"b\":2}\r\n{\"c\":3}", &b, &err), 0);
    assert_int_equal(b.count, 3);
    assert_int_equal(b.entries[0].line, 1);
    assert_int_equal(b.entries[1].line, 3);
    assert_int_equal(b.entries[2].line, 4);
    batch_fini(&b);
    assert_int_equal(
        read_text("\n[\n {\"a\": \"],{\\\"\"},\n\n {\"b\":\n [2]}\n]\n", &b, &err), 0);
    assert_int_equal(b.count, 2);
    assert_int_equal(b.entries[0].line, 3);
    assert_int_equal(b.entries[1].line, 5);
    batch_fini(&b);
    assert_int_equal(read_text("[]", &b, &err), 0);
    assert_int_equal(b.count, 0);
    batch_fini(&b);
    assert_int_equal(read_text("", &b, &err), 0);
    assert_int_equal(b.count, 0);
    batch_fini(&b);
}

static bool tries(const char *text)
{
    struct batch b;
    struct volt_error err;
    assert_int_equal(read_text(text, &b, &err), 0);
    bool says_so = b.tries;
    batch_fini(&b);
    return says_so;
}

static void test_batch_knows_whether_a_job_is_tried_again(void **state)
{
    (void)state;
    assert_false(tries("{\"argv\":[\"retry\"]}\n{\"kind\":\"noop\"}"));
    assert_true(tries("{\"a\":1}\n{\"retry\":{\"times\":1}}\n{\"b\":2}"));
    assert_true(tries("[{\"on_lost\":\"retry\"}]"));
}

static void bad(const char *text, const char *where)
{
    struct batch b;
    struct volt_error err = {.text = ""};
    assert_int_equal(read_text(text, &b, &err), -EINVAL);
    if (!strstr(err.text, where))
        fail_msg("%s: got \"%s\", want \"%s\"", text, err.text, where);
    assert_null(b.text);
}

static void test_batch_errors_name_the_line(void **state)
{
    (void)state;
    bad("{\"a\":1}\n{\"b\":}\n", "line 2:");
    bad("{\"a\":1}\n\n[1]\n", "line 3: a job is a JSON object");
    bad("{\"a\":1,\"a\":2}\n", "line 1: duplicate");
    bad("[{\"a\":1},\n{\"b\":\n2,,}]", "line 3:");
    bad("[{\"a\":1},\n", "line 2:");
    bad("[{\"a\":1},\n]", "line 2:");
    bad("[{\"a\":1}]\n{}", "line 2: something follows");
    bad("[3]", "line 1: a job is");
}

static void test_defaults(void **state)
{
    (void)state;
    struct batch b;
    struct volt_error err;
    assert_int_equal(read_text("{\"argv\":[\"x\"],\"env\":{\"A\":\"own\"}}\n"
                               "{\"kind\":\"noop\",\"queue\":\"fast\"}\n",
                               &b, &err),
                     0);
    json_t *d = json_pack("{s:s, s:s, s:{s:s, s:s}}", "queue", "slow", "cwd", "/x", "env",
                          "A", "1", "B", "2");
    json_t *s = batch_spec(&b, 0, d, &err);
    json_t *want = json_pack("{s:[s], s:s, s:s, s:{s:s, s:s}}", "argv", "x", "queue",
                             "slow", "cwd", "/x", "env", "A", "own", "B", "2");
    assert_true(json_equal(s, want));
    json_decref(s);
    json_decref(want);
    s = batch_spec(&b, 1, d, &err);
    want = json_pack("{s:s, s:s}", "kind", "noop", "queue", "fast");
    assert_true(json_equal(s, want));
    json_decref(s);
    json_decref(want);
    json_decref(d);
    batch_fini(&b);
}

static void test_spec(void **state)
{
    (void)state;
    struct volt_error err;
    char sig[32];
    assert_int_equal(spec_build_signal("term", sig, sizeof(sig)), 0);
    assert_string_equal(sig, "SIGTERM");
    assert_int_equal(spec_build_signal("SIGUSR1", sig, sizeof(sig)), 0);
    assert_string_equal(sig, "SIGUSR1");
    assert_int_equal(spec_build_signal("9", sig, sizeof(sig)), 0);
    assert_string_equal(sig, "SIGKILL");
    assert_int_equal(spec_build_signal("0", sig, sizeof(sig)), -EINVAL);
    assert_int_equal(spec_build_signal("9x", sig, sizeof(sig)), -EINVAL);
    assert_int_equal(spec_build_signal("NOPE", sig, sizeof(sig)), -EINVAL);
    json_t *o = json_object();
    setenv("TEST_CLIENT_X", "here", 1);
    assert_int_equal(spec_build_time(o, "t", "1m30s", &err), 0);
    assert_int_equal(json_integer_value(json_object_get(o, "t")), 90000000);
    assert_int_equal(spec_build_time(o, "t", "soon", &err), -EINVAL);
    assert_string_equal(err.text, "soon is not a time like 30s, 10m or 1h30m");
    assert_int_equal(json_object_del(o, "t"), 0);
    assert_int_equal(spec_build_pair(o, "TEST_CLIENT_X", true, &err), 0);
    assert_int_equal(spec_build_pair(o, "K=a=b", true, &err), 0);
    assert_string_equal(json_string_value(json_object_get(o, "TEST_CLIENT_X")), "here");
    assert_string_equal(json_string_value(json_object_get(o, "K")), "a=b");
    assert_int_equal(spec_build_pair(o, "=x", true, &err), -EINVAL);
    assert_int_equal(spec_build_pair(o, "K", false, &err), -EINVAL);
    assert_int_equal(spec_build_pair(o, "K=\xff", false, &err), -EINVAL);
    assert_int_equal(chdir("/usr"), 0);
    assert_int_equal(spec_build_path(o, "p", "share/x", &err), 0);
    assert_string_equal(json_string_value(json_object_get(o, "p")), "/usr/share/x");
    assert_int_equal(spec_build_path(o, "p", ".", &err), 0);
    assert_string_equal(json_string_value(json_object_get(o, "p")), "/usr");
    assert_int_equal(chdir("/"), 0);
    assert_int_equal(spec_build_path(o, "p", ".", &err), 0);
    assert_string_equal(json_string_value(json_object_get(o, "p")), "/");
    assert_int_equal(spec_build_path(o, "p", "x", &err), 0);
    assert_string_equal(json_string_value(json_object_get(o, "p")), "/x");
    assert_int_equal(spec_build_path(o, "p", "", &err), -EINVAL);
    json_decref(o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_unheard),
        cmocka_unit_test(test_send),
        cmocka_unit_test(test_framing),
        cmocka_unit_test(test_list_as_text),
        cmocka_unit_test(test_not_varlink),
        cmocka_unit_test(test_interrupt),
        cmocka_unit_test(test_descriptor),
        cmocka_unit_test(test_no_deadlock),
        cmocka_unit_test(test_refused_in_the_middle),
        cmocka_unit_test(test_batch),
        cmocka_unit_test(test_batch_knows_whether_a_job_is_tried_again),
        cmocka_unit_test(test_batch_errors_name_the_line),
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_spec),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
