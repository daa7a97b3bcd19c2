/* org.voltd.logs: the output of jobs.
 *
 * Output is a file that the job writes by itself, or bytes in the store. Read with `more`
 * is told when there may be more of it (daemon/exec/follow.h); it has no timer but that
 * of heartbeats. Those who can pass descriptors use Open, and watch the file
 * themselves. */
#include "daemon/method/methods.h"

#include "daemon/config.h"
#include "daemon/exec/follow.h"
#include "daemon/method/base64.h"
#include "daemon/method/job_json.h"
#include "daemon/method/params.h"
#include "wire/json.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define READ_MAX     INT64_C(1048576)
#define READ_DEFAULT INT64_C(65536)
#define OFFSET_MAX   (INT64_MAX - READ_MAX) /* what is read from there still has one */

static const char *const stream_names[] = {"stdout", "stderr", NULL};

/* The job's state is taken before the file is opened or measured: once it says done, what
 * is measured afterwards is all there will be. -ENOENT: no such job. */
static int look(struct volt_cx *cx, struct call *call, const struct job_key *id,
                enum job_state *ret)
{
    struct job_view v;
    int r = manager_look(cx, call_service(call)->manager, call_peer(call), id->id,
                         id->index, &v);

    if (r < 0)
        return r;
    *ret = v.status.state;
    job_view_fini(&v);
    return 0;
}

static int open_output(struct volt_cx *cx, struct call *call, const struct job_key *id,
                       unsigned stream)
{
    return manager_open_output(cx, call_service(call)->manager, call_peer(call), id->id,
                               id->index, (enum manager_stream)stream);
}

static enum volt_poll refuse_gone(struct call *call, const struct job_key *id,
                                  unsigned stream)
{
    char *path =
        manager_output_path(call_service(call)->manager, id, (enum manager_stream)stream);
    if (!path)
        return call_abort(call);
    json_t *what =
        json_pack("{s:o,s:s}", "id", job_id_to_json(id->id, id->index), "path", path);
    free(path);
    return call_error(call, "org.voltd.logs.OutputGone", what);
}

static enum volt_poll refuse(struct call *call, const struct job_key *id, unsigned stream,
                             int error)
{
    const char *why =
        error == -ENODATA   ? "the job has not started, or its output goes elsewhere"
        : error == -EISDIR  ? "it is an array: name an element of it, ID_INDEX"
        : error == -EBADMSG ? "the store is damaged: voltd --check-store says where"
                            : strerror(-error);

    if (error == -ENOENT)
        return no_such_job(call, "org.voltd.logs.NoSuchJob", id);
    if (error == -ENOMEM)
        return call_abort(call);
    if (error == -ESTALE)
        return refuse_gone(call, id, stream);
    return call_error(
        call, "org.voltd.logs.NoOutput",
        json_pack("{s:o,s:s}", "id", job_id_to_json(id->id, id->index), "reason", why));
}

/* --- Open --------------------------------------------------------------------------- */

struct open_params {
    struct job_key id;
    unsigned stream;
};

static enum volt_poll open_poll(struct volt_cx *cx, struct call *call, void *state)
{
    static const struct field fields[] = {
        FIELD(struct open_params, id, FIELD_CUSTOM, .read = read_job_id,
              .required = true),
        FIELD(struct open_params, stream, FIELD_ENUM, .names = stream_names),
        {.name = NULL},
    };
    struct open_params in = {.stream = 0};
    enum job_state now;
    struct stat st;
    int fd;

    (void)state;
    if (params_read(call, fields, &in) < 0)
        return VOLT_READY;
    fd = look(cx, call, &in.id, &now);
    if (fd == 0)
        fd = open_output(cx, call, &in.id, in.stream);
    if (fd < 0)
        return refuse(call, &in.id, in.stream, fd);
    if (fstat(fd, &st) < 0) {
        int error = -errno;
        (void)close(fd);
        return refuse(call, &in.id, in.stream, error);
    }
    if (call_push_fd(call, fd) < 0)
        return call_abort(call);
    return call_reply(call, json_pack("{s:I,s:b}", "size_bytes", (json_int_t)st.st_size,
                                      "ended", now == JOB_DONE));
}

/* --- Read --------------------------------------------------------------------------- */

struct read_state {
    struct read_params {
        struct job_key id;
        unsigned stream;
        int64_t offset, max_bytes;
    } in;
    int fd;
    char *bytes, *text;
    struct follow follow;
    struct volt_sleep silence; /* until the next heartbeat */
    bool begun, waiting;
};

static int begin_read(struct call *call, struct read_state *s)
{
    static const struct field fields[] = {
        FIELD(struct read_params, id, FIELD_CUSTOM, .read = read_job_id,
              .required = true),
        FIELD(struct read_params, stream, FIELD_ENUM, .names = stream_names),
        FIELD(struct read_params, offset, FIELD_INT, .max = OFFSET_MAX),
        FIELD(struct read_params, max_bytes, FIELD_INT, .min = 1, .max = READ_MAX),
        {.name = NULL},
    };

    s->fd = -1;
    s->begun = true;
    s->in.max_bytes = READ_DEFAULT;
    if (params_read(call, fields, &s->in) < 0)
        return -EINVAL;
    s->bytes = malloc((size_t)s->in.max_bytes);
    s->text = malloc(BASE64_SIZE((size_t)s->in.max_bytes));
    if (s->bytes && s->text)
        return 0;
    (void)call_abort(call);
    return -ENOMEM;
}

static json_t *piece(struct read_state *s, size_t n, bool end)
{
    base64_encode(s->bytes, n, s->text);
    s->in.offset += (int64_t)n;
    return json_pack("{s:s%,s:I,s:b}", "data", s->text, BASE64_SIZE(n), "next_offset",
                     (json_int_t)s->in.offset, "end", (int)end);
}

/* Whether the bytes up to offset + n are all that there will ever be. */
static bool is_all(const struct read_state *s, size_t n, enum job_state now)
{
    struct stat st;

    return now == JOB_DONE && fstat(s->fd, &st) == 0 &&
           st.st_size <= s->in.offset + (off_t)n;
}

/* One look at the file. READY: the call is answered. *ret_again: there may
 * be more now. */
static enum volt_poll read_once(struct volt_cx *cx, struct call *call,
                                struct read_state *s, bool *ret_again)
{
    enum job_state now = JOB_QUEUED;
    int r = look(cx, call, &s->in.id, &now);
    ssize_t n = 0;
    bool end;

    *ret_again = false;
    if (r == 0 && s->fd < 0) {
        r = s->fd = open_output(cx, call, &s->in.id, s->in.stream);
        if (r >= 0 && call_more(call) && now != JOB_DONE)
            r = follow_file(&s->follow, s->fd);
    }
    if (r == -ENODATA && call_more(call) && (now == JOB_QUEUED || now == JOB_STARTING))
        return VOLT_PENDING; /* it will have output */
    if (r >= 0) {
        n = pread(s->fd, s->bytes, (size_t)s->in.max_bytes, (off_t)s->in.offset);
        r = n < 0 ? -errno : 0;
    }
    if (r < 0)
        return refuse(call, &s->in.id, s->in.stream, r);
    end = is_all(s, (size_t)n, now);
    if (end || !call_more(call))
        return call_reply(call, piece(s, (size_t)n, end));
    if (n > 0) {
        if (call_continue(call, piece(s, (size_t)n, false)) < 0)
            return call_abort(call);
        *ret_again = true;
    }
    return VOLT_PENDING;
}

static void restart_silence(struct call *call, struct read_state *s)
{
    volt_sleep_fini(&s->silence);
    volt_sleep_init(&s->silence, call_config(call)->heartbeat_usec);
}

static int stay_alive(struct call *call, struct read_state *s)
{
    json_t *reply = piece(s, 0, false);

    wire_set(&reply, "heartbeat", json_true());
    restart_silence(call, s);
    return call_continue(call, reply);
}

static enum volt_poll read_poll(struct volt_cx *cx, struct call *call, void *state)
{
    struct read_state *s = state;

    if (!s->begun) {
        if (begin_read(call, s) < 0)
            return VOLT_READY;
        restart_silence(call, s);
    }
    for (;;) {
        bool again;

        if (call_drained_poll(cx, call) == VOLT_PENDING ||
            volt_coop_take(cx) == VOLT_PENDING)
            return VOLT_PENDING;
        if (!s->waiting) {
            if (call_more(call))
                follow_arm(cx, &s->follow, call_service(call)->manager, &s->in.id);
            if (read_once(cx, call, s, &again) == VOLT_READY)
                return VOLT_READY;
            s->waiting = !again;
            if (again)
                restart_silence(call, s);
            continue;
        }
        if (follow_poll(&s->follow) == VOLT_READY) {
            s->waiting = false;
            continue;
        }
        if (volt_sleep_poll(cx, &s->silence) == VOLT_PENDING)
            return VOLT_PENDING;
        if (stay_alive(call, s) < 0)
            return call_abort(call);
    }
}

static void read_drop(struct call *call, void *state)
{
    struct read_state *s = state;

    (void)call;
    if (!s->begun)
        return;
    follow_fini(&s->follow);
    volt_sleep_fini(&s->silence);
    if (s->fd >= 0)
        (void)close(s->fd);
    free(s->bytes);
    free(s->text);
}

/* --- the interface ------------------------------------------------------------------ */

static const char description[] =
#include "org.voltd.logs.varlink.inc"
    ;

static const struct method method_open = {.name = "Open", .poll = open_poll};
static const struct method method_read = {
    .name = "Read",
    .flags = METHOD_MORE,
    .state_size = sizeof(struct read_state),
    .poll = read_poll,
    .drop = read_drop,
};

const struct interface interface_logs = {
    .name = "org.voltd.logs",
    .description = description,
    .methods = (const struct method *const[]){&method_open, &method_read, NULL},
};
