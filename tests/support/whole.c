/* See whole.h. */
#include "tests/support/whole.h"

#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <cmocka.h>

#include "daemon/call/known_texts.h"
#include "daemon/call/stdin_file.h"
#include "daemon/lifecycle.h"
#include "daemon/method/event_texts.h"
#include "daemon/method/methods.h"
#include "tests/support/memory_store.h"

struct whole whole;

/* --- a voltd ------------------------------------------------------------------------------ */

static struct sockaddr_un address(void)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};

    (void)snprintf(a.sun_path, sizeof(a.sun_path), "%s", whole.socket);
    return a;
}

static int new_listener(void)
{
    const struct sockaddr_un a = address();
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_int_equal(bind(fd, (const struct sockaddr *)&a, sizeof(a)), 0);
    assert_int_equal(listen(fd, 4), 0);
    return fd;
}

void whole_connect(void)
{
    const struct sockaddr_un a = address();

    if (whole.client >= 0)
        (void)close(whole.client);
    whole.client = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    whole.n = 0;
    assert_int_equal(connect(whole.client, (const struct sockaddr *)&a, sizeof(a)), 0);
}

static void start_server(void)
{
    const struct control_options c = {.rt = whole.rt,
                                      .core = whole.core,
                                      .config_path = whole.config_path,
                                      .config = &whole.config};
    struct volt_error err = {{0}};

    malformed_init(&whole.malformed);
    whole.service = (struct service){.core = whole.core,
                                     .rt = whole.rt,
                                     .control = control_new(&c),
                                     .event_texts = event_texts_new(),
                                     .environments = known_texts_new(&known_env),
                                     .limits = known_texts_new(&known_json),
                                     .stdin_files = stdin_files_new(),
                                     .turns = &whole.turns,
                                     .malformed = &whole.malformed,
                                     .user_mode = true};
    whole.server = server_new(&whole.service, &whole.config);
    assert_int_equal(control_start(whole.service.control, whole.server), 0);
    const struct server_listener listener = {
        .fd = new_listener(), .interfaces = interfaces_all, .control = true};
    if (server_listen(whole.server, &listener, 1, &err) < 0)
        fail_msg("%s", err.text);
}

static void make_paths(void)
{
    const char *bin = getenv("VOLT_BIN");

    assert_int_equal(scratch_make(whole.base), 0);
    (void)snprintf(whole.records, sizeof(whole.records), "%s/rec", whole.base);
    (void)snprintf(whole.socket, sizeof(whole.socket), "%s/socket", whole.base);
    (void)snprintf(whole.config_path, sizeof(whole.config_path), "%s/conf", whole.base);
    (void)snprintf(whole.keeper, sizeof(whole.keeper), "%s/voltd-keeper",
                   bin ? bin : "build/bin");
    assert_int_equal(mkdir(whole.records, 0700), 0);
}

void whole_defaults(struct config *config)
{
    config_defaults(config);
    config->fold_output = 0; /* the store keeps none */
    config->slots = 2;
}

int whole_start(const struct config *config)
{
    return whole_start_with(config, store_memory_new());
}

int whole_start_with(const struct config *config, struct store *store)
{
    struct life_options o = {.config = &whole.config,
                             .store = store,
                             .runtime_dir = whole.base,
                             .state_dir = whole.base,
                             .record_dir = whole.records,
                             .keeper_path = whole.keeper,
                             .socket = "/x"};
    struct volt_error err = {{0}};

    memset(&whole, 0, sizeof(whole));
    make_paths();
    whole.config = *config;
    assert_int_equal(volt_runtime_new(&(struct volt_options){.workers = 2}, &whole.rt),
                     0);
    o.rt = whole.rt;
    if (life_new(&o, &whole.core, &err) < 0)
        fail_msg("%s", err.text);
    start_server();
    whole.client = -1;
    whole_connect();
    return 0;
}

int whole_setup(void **state)
{
    struct config config;

    (void)state;
    whole_defaults(&config);
    return whole_start(&config);
}

int whole_teardown(void **state)
{
    (void)state;
    (void)close(whole.client);
    assert_int_equal(volt_runtime_shutdown(whole.rt, UINT64_MAX), 0);
    server_free(whole.server);
    control_free(whole.service.control);
    event_texts_free(whole.service.event_texts);
    known_texts_free(whole.service.environments);
    known_texts_free(whole.service.limits);
    stdin_files_free(whole.service.stdin_files);
    life_free(whole.core);
    volt_runtime_free(whole.rt);
    return scratch_remove(whole.base);
}

/* --- a client ----------------------------------------------------------------------------- */

static void unquote(char *to, size_t size, const char *text)
{
    (void)snprintf(to, size, "%s", text);
    for (char *p = to; *p; p++)
        *p = *p == '\'' ? '"' : *p;
}

static json_t *parse(const char *text)
{
    const size_t size = strlen(text) + 1;
    char *copy = malloc(size);
    json_error_t err;

    assert_non_null(copy);
    unquote(copy, size, text);
    json_t *v = json_loads(copy, 0, &err);
    if (!v)
        fail_msg("%s: %s", text, err.text);
    free(copy);
    return v;
}

/* New. */
static char *call_text(const char *method, const char *parameters, bool more)
{
    json_t *m = json_pack("{s:s, s:o, s:b}", "method", method, "parameters",
                          parse(parameters), "more", more);
    char *text = json_dumps(m, JSON_COMPACT);

    assert_non_null(text);
    json_decref(m);
    return text;
}

void say(const char *text)
{
    const size_t size = strlen(text) + 1;

    for (size_t at = 0; at < size;) {
        ssize_t n = send(whole.client, text + at, size - at, MSG_NOSIGNAL);

        if (n < 0)
            return; /* what hear() tells */
        at += (size_t)n;
    }
}

void ask(const char *method, const char *parameters, bool more)
{
    char *text = call_text(method, parameters, more);

    say(text);
    free(text);
}

void ask_with_fd(const char *method, const char *parameters, int fd)
{
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {0};
    char *text = call_text(method, parameters, false);
    struct iovec iov = {text, strlen(text) + 1};
    struct msghdr msg = {.msg_iov = &iov,
                         .msg_iovlen = 1,
                         .msg_control = control,
                         .msg_controllen = sizeof(control)};
    struct cmsghdr *h = CMSG_FIRSTHDR(&msg);

    h->cmsg_level = SOL_SOCKET;
    h->cmsg_type = SCM_RIGHTS;
    h->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(h), &fd, sizeof(fd));
    assert_int_equal(sendmsg(whole.client, &msg, MSG_NOSIGNAL), iov.iov_len);
    free(text);
}

const char *hear(void)
{
    static char text[sizeof(whole.buf)];
    char *end;

    while (!(end = memchr(whole.buf, '\0', whole.n))) {
        assert_true(whole.n < sizeof(whole.buf));
        ssize_t n =
            recv(whole.client, whole.buf + whole.n, sizeof(whole.buf) - whole.n, 0);
        if (n <= 0)
            return NULL;
        whole.n += (size_t)n;
    }
    const size_t len = (size_t)(end + 1 - whole.buf);
    memcpy(text, whole.buf, len);
    whole.n -= len;
    memmove(whole.buf, whole.buf + len, whole.n);
    return text;
}

/* The same, parsed. */
static json_t *hear_json(void)
{
    const char *text = hear();

    if (!text)
        fail_msg("the connection has ended");
    json_t *v = json_loads(text, 0, NULL);
    assert_non_null(v);
    return v;
}

const char *answer(void)
{
    static char text[sizeof(whole.buf)];
    json_t *v = hear_json();

    if (json_object_get(v, "error"))
        fail_msg("%s", json_string_value(json_object_get(v, "error")));
    char *s = json_dumps(json_object_get(v, "parameters"), JSON_COMPACT | JSON_SORT_KEYS);
    (void)snprintf(text, sizeof(text), "%s", s ? s : "");
    free(s);
    json_decref(v);
    return text;
}

const char *call(const char *method, const char *parameters)
{
    ask(method, parameters, false);
    return answer();
}

void assert_has(const char *text, const char *part)
{
    char copy[1000];

    unquote(copy, sizeof(copy), part);
    if (!strstr(text, copy))
        fail_msg("%s is not in %s", copy, text);
}

const char *wait_for(const char *ids)
{
    char parameters[200];
    const char *text;

    (void)snprintf(parameters, sizeof(parameters), "{'ids':[%s]}", ids);
    ask(JOBS("Wait"), parameters, true);
    do
        text = answer();
    while (!strstr(text, "\"left\":0"));
    return text;
}

void refuses(const char *method, const char *parameters, const char *error,
             const char *parameter)
{
    ask(method, parameters, false);
    json_t *v = hear_json();
    const char *is = json_string_value(json_object_get(v, "error"));
    const char *at =
        json_string_value(json_object_get(json_object_get(v, "parameters"), "parameter"));

    if (!is || strcmp(strrchr(is, '.') + 1, error) != 0 ||
        (*parameter && (!at || strcmp(at, parameter) != 0)))
        fail_msg("%s(%s): %s of %s", method, parameters, is ? is : "no error",
                 at ? at : "none");
    json_decref(v);
}
