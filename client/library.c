/* See volt/client.h: the public functions of libvoltclient, made of client.c's. */
#include <volt/client.h>

#include "client/client.h"
#include "client/inside.h"
#include "client/options.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct volt_client {
    struct client *c;
};

__attribute__((format(printf, 3, 4))) static int fail(struct volt_error *err, int r,
                                                      const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    if (err)
        (void)vsnprintf(err->text, sizeof(err->text), format, ap);
    va_end(ap);
    return r;
}

/* Judges a call. Its reply is freed unless this returns 0. */
static int judge(struct client_reply *reply, int r, struct volt_error *err)
{
    char text[512];
    if (r < 0)
        return fail(err, r, "%s",
                    r == -ECONNRESET ? "voltd closed the connection" : strerror(-r));
    if (!reply->error)
        return 0;
    client_error_text(reply, text, sizeof(text));
    r = client_error_is(reply, "NoSuchJob") || client_error_is(reply, "NoOutput")
            ? -ENOENT
            : -EINVAL;
    r = client_error_is(reply, "ShuttingDown") ? -ECONNRESET : r;
    client_reply_fini(reply);
    return fail(err, r, "%.250s", text);
}

/* Parses an object; new reference. NULL: err has the reason. */
static json_t *parse(const char *text, const char *what, struct volt_error *err)
{
    json_error_t je;
    json_t *value = json_loads(text, JSON_REJECT_DUPLICATES, &je);
    if (value && json_is_object(value))
        return value;
    json_decref(value);
    (void)fail(err, -EINVAL, "%s: %.200s", what,
               value ? "it must be an object" : je.text);
    return NULL;
}

int volt_client_open(const char *address, struct volt_client **ret,
                     struct volt_error *err)
{
    struct address_choice choice = {.jobs = address};
    struct client_tried tried;
    struct volt_client *c = malloc(sizeof(*c));
    if (!c)
        return fail(err, -ENOMEM, "%s", strerror(ENOMEM));
    options_connection_finish(&choice);
    int r = client_open(&choice, ADDRESS_JOBS, &c->c, &tried);
    if (r < 0) {
        free(c);
        for (char *p = tried.text; (p = strchr(p, '\n'));) {
            *p = p[1] ? ';' : '\0';
            if (p[1] == ' ') /* each line begins with two */
                memmove(p + 1, p + 2, strlen(p + 2) + 1);
        }
        return fail(err, r, "no voltd answers; tried%.220s", tried.text + 1);
    }
    *ret = c;
    return 0;
}

void volt_client_close(struct volt_client *c)
{
    if (!c)
        return;
    client_free(c->c);
    free(c);
}

int volt_client_submit(struct volt_client *c, const char *spec,
                       char id[VOLT_CLIENT_ID_SIZE], struct volt_error *err)
{
    struct client_reply reply = CLIENT_REPLY_EMPTY;
    json_t *object = parse(spec, "the job", err);
    if (!object)
        return -EINVAL;
    int r = client_call(c->c, "org.voltd.jobs.Submit", json_pack("{s:o}", "spec", object),
                        &reply);
    r = judge(&reply, r, err);
    if (r < 0)
        return r;
    const char *text = json_string_value(json_object_get(reply.parameters, "id"));
    int n = text ? snprintf(id, VOLT_CLIENT_ID_SIZE, "%s", text) : -1;
    client_reply_fini(&reply);
    return n > 0 && n < VOLT_CLIENT_ID_SIZE ? 0 : fail(err, -EPROTO, "voltd gave no id");
}

int volt_client_wait(struct volt_client *c, const char *id, int *ret_code,
                     struct volt_error *err)
{
    json_t *params = json_pack("{s:[s]}", "ids", id);
    inside_add(params, c->c);
    int r = client_send(c->c, "org.voltd.jobs.Wait", params, CLIENT_MORE);
    for (bool more = true; more;) {
        struct client_reply reply = CLIENT_REPLY_EMPTY;
        if (r >= 0)
            r = client_receive(c->c, CLIENT_FOREVER, &reply);
        r = judge(&reply, r, err);
        if (r < 0)
            return r;
        more = reply.continues;
        json_t *code = json_object_get(reply.parameters, "exit_code");
        if (!more)
            *ret_code = (int)json_integer_value(code);
        client_reply_fini(&reply);
    }
    return 0;
}

int volt_client_logs(struct volt_client *c, const char *id,
                     enum volt_client_stream stream, struct volt_error *err)
{
    struct client_reply reply = CLIENT_REPLY_EMPTY;
    const char *name = stream == VOLT_CLIENT_STDERR ? "stderr" : "stdout";
    int r = client_call(c->c, "org.voltd.logs.Open",
                        json_pack("{s:s, s:s}", "id", id, "stream", name), &reply);
    r = judge(&reply, r, err);
    if (r < 0)
        return r;
    int fd = reply.fd;
    reply.fd = -1;
    client_reply_fini(&reply);
    return fd >= 0 ? fd : fail(err, -EPROTO, "voltd sent no descriptor");
}

static int tell(const json_t *list, volt_client_event_fn *fn, void *arg)
{
    size_t i;
    const json_t *item;
    json_array_foreach(list, i, item)
    {
        char *text = json_dumps(item, JSON_COMPACT);
        int r = text ? fn(arg, text) : -ENOMEM;
        free(text);
        if (r != 0)
            return r;
    }
    return 0;
}

/* Passes events that voltd has dropped to fn, as one event. */
static int tell_gap(const json_t *answer, volt_client_event_fn *fn, void *arg)
{
    char text[64];
    const long long lost =
        (long long)json_integer_value(json_object_get(answer, "lagged"));
    (void)snprintf(text, sizeof(text), "{\"event\":\"lagged\",\"lagged\":%lld}", lost);
    return lost > 0 ? fn(arg, text) : 0;
}

static int tell_answer(const json_t *answer, int64_t *cursor, volt_client_event_fn *fn,
                       void *arg)
{
    int r = tell(json_object_get(answer, "jobs"), fn, arg);
    if (r == 0)
        r = tell_gap(answer, fn, arg);
    if (r == 0)
        r = tell(json_object_get(answer, "events"), fn, arg);
    if (r == 0)
        *cursor = json_integer_value(json_object_get(answer, "cursor"));
    return r;
}

static int watch(struct client *c, json_t *filter, int64_t *cursor,
                 volt_client_event_fn *fn, void *arg, struct volt_error *err)
{
    json_t *after = *cursor >= 0 ? json_integer(*cursor) : NULL;
    int r = client_send(c, "org.voltd.jobs.Watch",
                        json_pack("{s:o, s:o*}", "filter", filter, "after", after),
                        CLIENT_MORE);
    for (;;) {
        struct client_reply reply = CLIENT_REPLY_EMPTY;
        if (r >= 0)
            r = client_receive(c, CLIENT_FOREVER, &reply);
        r = judge(&reply, r, err);
        if (r < 0)
            return r;
        r = tell_answer(reply.parameters, cursor, fn, arg);
        bool over = !reply.continues;
        client_reply_fini(&reply);
        if (r != 0 || over)
            return r != 0 ? r : fail(err, -ECONNRESET, "the watch has ended");
    }
}

/* Opens a connection for the watch, as voltd sends changes until the connection ends. */
int volt_client_watch_from(struct volt_client *c, const char *filter, int64_t *cursor,
                           volt_client_event_fn *fn, void *arg, struct volt_error *err)
{
    struct client *own;
    json_t *object = filter ? parse(filter, "the filter", err) : json_object();
    if (!object)
        return -EINVAL;
    int r = client_open_same(c->c, &own, err);
    if (r < 0) {
        json_decref(object);
        return r == -ENOENT || r == -ECONNREFUSED ? -ECONNRESET : r;
    }
    r = watch(own, object, cursor, fn, arg, err);
    client_free(own);
    return r;
}

int volt_client_watch(struct volt_client *c, const char *filter, volt_client_event_fn *fn,
                      void *arg, struct volt_error *err)
{
    int64_t cursor = -1;
    return volt_client_watch_from(c, filter, &cursor, fn, arg, err);
}

int volt_client_call(struct volt_client *c, const char *method, const char *parameters,
                     char **ret_reply, struct volt_error *err)
{
    struct client_reply reply = CLIENT_REPLY_EMPTY;
    json_t *object = parse(parameters ? parameters : "{}", "the parameters", err);
    if (!object)
        return -EINVAL;
    int r = judge(&reply, client_call(c->c, method, object, &reply), err);
    if (r < 0)
        return r;
    char *text = json_dumps(reply.parameters, JSON_COMPACT);
    client_reply_fini(&reply);
    if (!text)
        return fail(err, -ENOMEM, "%s", strerror(ENOMEM));
    *ret_reply = text;
    return 0;
}
