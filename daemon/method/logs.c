/* org.voltd.logs: the output of jobs.
 *
 * Output is a file that the job writes itself, or bytes in the store. Read with `more` is
 * notified of more output (daemon/query/follow.h); its only timer is for heartbeats. From
 * its first wait until the job has ended, the job that the caller runs inside of lends
 * its slot (daemon/lease/lending.h). Clients that can receive descriptors use Open, and
 * watch the file themselves. */
#include "daemon/method/methods.h"

#include "base/file.h"
#include "daemon/config/config.h"
#include "daemon/query/follow.h"
#include "daemon/method/inside.h"
#include "daemon/method/job_json.h"
#include "daemon/method/params.h"
#include "wire/base64.h"
#include "wire/error_name.h"
#include "wire/json.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define READ_MAX     INT64_C(1048576)
#define READ_DEFAULT INT64_C(65536)
#define PIECE_MAX    INT64_C(49152)         /* in one turn: 64 KiB in base64 */
#define PIECE_TAIL   96                     /* bytes after the data */
#define OFFSET_MAX   (INT64_MAX - READ_MAX) /* a read from there still has an end */

static const char *const stream_names[] = {"stdout", "stderr", NULL};

/* Reads the job's state, before its file is opened or measured: if the state is done, a
 * later size is final. -ENOENT: no such job. */
static int look(struct volt_cx *cx, struct call *call, const struct job_key *id,
                enum job_state *ret)
{
    struct job_view v;
    int r =
        query_look(cx, call_service(call)->core, call_asker(call), id->id, id->index, &v);

    if (r < 0)
        return r;
    *ret = v.status.state;
    job_view_fini(&v);
    return 0;
}

static int open_output(struct volt_cx *cx, struct call *call, const struct job_key *id,
                       unsigned stream)
{
    return query_open_output(cx, call_service(call)->core, call_asker(call), id->id,
                             id->index, (enum job_stream)stream);
}

static enum volt_poll refuse_gone(struct call *call, const struct job_key *id,
                                  unsigned stream)
{
    char *path = query_output_path(call_service(call)->core, id, (enum job_stream)stream);
    if (!path)
        return call_abort(call);
    json_t *what =
        json_pack("{s:o,s:s}", "id", job_id_to_json(id->id, id->index), "path", path);
    free(path);
    return call_error(call, "org.voltd.logs.OutputGone", what);
}

/* Answers that there is output which cannot be read. */
static enum volt_poll refuse_unreadable(struct call *call, const struct job_key *id,
                                        int error)
{
    const char *why =
        error == EBADMSG
            ? "the store is damaged: voltd --check-store, run as voltd is, says where"
            : strerror(error);
    char name[ERROR_NAME_MAX];

    return call_error(call, "org.voltd.logs.OutputUnreadable",
                      json_pack("{s:o,s:s,s:s}", "id", job_id_to_json(id->id, id->index),
                                "error", error_name(error, name), "reason", why));
}

static enum volt_poll refuse(struct call *call, const struct job_key *id, unsigned stream,
                             int error)
{
    const char *why =
        error == -ENODATA ? "the job has not started, or its output goes elsewhere"
        : error == -EIDRM
            ? "it has gone with the job, of which only the end is known: "
              "KeepHistoryJobs= and KeepHistorySec= say how long that is kept"
            : "it is an array: name an element of it, ID_INDEX";

    if (error == -ENOENT)
        return no_such_job(call, "org.voltd.logs.NoSuchJob", id);
    if (error == -ENOMEM)
        return call_abort(call);
    if (error == -ESTALE)
        return refuse_gone(call, id, stream);
    if (error != -ENODATA && error != -EISDIR && error != -EIDRM)
        return refuse_unreadable(call, id, -error);
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
        struct job_key inside_job;
        uint64_t inside_lease;
    } in;
    struct inside inside;
    int fd;
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
        FIELD(struct read_params, inside_job, FIELD_CUSTOM, .read = read_job_id),
        FIELD(struct read_params, inside_lease, FIELD_INT, .min = 1, .max = INT64_MAX),
        {.name = NULL},
    };

    s->fd = -1;
    s->begun = true;
    s->in.max_bytes = READ_DEFAULT;
    if (params_read(call, fields, &s->in) < 0)
        return -EINVAL;
    if (!call_more(call))
        return 0;
    if (s->in.max_bytes > PIECE_MAX)
        s->in.max_bytes = PIECE_MAX;
    return call_keep(call, sizeof(*s));
}

/* Returns the bytes to send now, or -errno. */
static ssize_t look_ahead(const struct read_state *s)
{
    struct stat st;

    if (fstat(s->fd, &st) < 0)
        return -errno;
    if (st.st_size <= s->in.offset)
        return 0;
    off_t there = st.st_size - s->in.offset;
    return (ssize_t)(there < s->in.max_bytes ? there : s->in.max_bytes);
}

/* Reads bytes; what is not in memory, on a thread that is no worker. Returns the number,
 * or -errno. */
static ssize_t read_bytes(struct volt_cx *cx, struct call *call,
                          const struct read_state *s, char *bytes, size_t want)
{
    ssize_t n = file_read_cached(s->fd, bytes, want, (off_t)s->in.offset);

    if (n != -EAGAIN && (n < 0 || (size_t)n == want))
        return n;
    call_go_aside(cx, call);
    n = TEMP_FAILURE_RETRY(pread(s->fd, bytes, want, (off_t)s->in.offset));
    return n < 0 ? -errno : n;
}

/* Appends `want` bytes of the file, from the offset on, in base64. Returns the bytes
 * read, or -errno. */
static ssize_t append_bytes(struct volt_cx *cx, struct call *call,
                            const struct read_state *s, size_t want,
                            struct wire_buf *text)
{
    char *bytes;
    ssize_t n;

    if (want == 0)
        return 0;
    bytes = malloc(want);
    if (!bytes || wire_buf_reserve(text, BASE64_SIZE(want) + PIECE_TAIL) < 0) {
        free(bytes);
        return -ENOMEM;
    }
    n = read_bytes(cx, call, s, bytes, want);
    if (n >= 0) {
        base64_encode(bytes, (size_t)n, text->data + text->end);
        text->end += BASE64_SIZE((size_t)n);
    }
    free(bytes);
    return n;
}

/* Writes the beginning of a reply, up to the end of its data. Returns the bytes of output
 * in it, or -errno. More than the turn allows is written by a thread that is no
 * worker. */
static ssize_t begin_piece(struct volt_cx *cx, struct call *call,
                           const struct read_state *s, struct wire_buf *text)
{
    static const char head[] = "{\"data\":\"";
    ssize_t n = look_ahead(s);
    int r = n < 0 ? (int)n : wire_buf_append(text, head, sizeof(head) - 1);

    if (n > PIECE_MAX) /* in one answer */
        call_go_aside(cx, call);
    n = r < 0 ? r : append_bytes(cx, call, s, (size_t)n, text);

    if (n >= 0 && (r = wire_buf_append(text, "\"", 1)) < 0)
        return r;
    return n;
}

static void end_piece(struct read_state *s, ssize_t n, bool end, struct wire_writer *w)
{
    s->in.offset += n;
    wire_put_int(w, "next_offset", s->in.offset);
    wire_put_bool(w, "end", end);
}

/* Returns whether the output ends at offset + n for good. */
static bool is_all(const struct read_state *s, ssize_t n, enum job_state now)
{
    struct stat st;

    return now == JOB_DONE && fstat(s->fd, &st) == 0 && st.st_size <= s->in.offset + n;
}

/* Opens the file; a stream follows it from here on. */
static int open_read(struct volt_cx *cx, struct call *call, struct read_state *s,
                     enum job_state now)
{
    int r = s->fd = open_output(cx, call, &s->in.id, s->in.stream);

    if (r >= 0 && call_more(call) && now != JOB_DONE)
        r = follow_file(&s->follow, s->fd);
    return r < 0 ? r : 0;
}

/* Sends a piece. READY: the call is answered. *ret_again: there may be more now. */
static enum volt_poll tell_piece(struct volt_cx *cx, struct call *call,
                                 struct read_state *s, enum job_state now,
                                 bool *ret_again)
{
    struct wire_buf text = {0};
    struct wire_writer reply = {.out = &text};
    ssize_t n = begin_piece(cx, call, s, &text);

    if (n < 0) {
        wire_buf_fini(&text);
        return refuse(call, &s->in.id, s->in.stream, (int)n);
    }
    bool end = is_all(s, n, now);
    if (n == 0 && !end && call_more(call)) {
        wire_buf_fini(&text);
        return VOLT_PENDING;
    }
    end_piece(s, n, end, &reply);
    wire_close(&reply, '}');
    call_did(call, 1, wire_buf_len(&text));
    if (end || !call_more(call))
        return call_reply_text(call, &reply);
    *ret_again = true;
    return call_continue_text(call, &reply) < 0 ? call_abort(call) : VOLT_PENDING;
}

/* Looks at job and file once. READY: the call is answered. *ret_again: there may be more
 * now. */
static enum volt_poll read_once(struct volt_cx *cx, struct call *call,
                                struct read_state *s, bool *ret_again)
{
    enum job_state now = JOB_QUEUED;
    int r = look(cx, call, &s->in.id, &now);

    *ret_again = false;
    if (now == JOB_DONE)
        inside_end(call, &s->inside);
    if (r == 0 && s->fd < 0)
        r = open_read(cx, call, s, now);
    if (r == -ENODATA && call_more(call) && (now == JOB_QUEUED || now == JOB_STARTING))
        return VOLT_PENDING; /* output will follow */
    if (r < 0)
        return refuse(call, &s->in.id, s->in.stream, r);
    return tell_piece(cx, call, s, now, ret_again);
}

static struct job_key key_of_read(const void *arg, size_t i)
{
    const struct read_state *s = arg;

    (void)i;
    return s->in.id;
}

/* Registers the wait, as the job has not ended. 0; negative: it would wait for ever, and
 * the call is answered. */
static int begin_inside(struct call *call, struct read_state *s)
{
    return inside_begin(call, &s->inside,
                        &(struct inner_wait){.in_job = s->in.inside_job,
                                             .in_lease = s->in.inside_lease,
                                             .job = key_of_read,
                                             .arg = s,
                                             .n = 1},
                        "org.voltd.logs.Deadlock");
}

static void restart_silence(struct call *call, struct read_state *s)
{
    volt_sleep_fini(&s->silence);
    volt_sleep_init(&s->silence, call_config(call)->heartbeat_usec);
}

static int stay_alive(struct call *call, struct read_state *s)
{
    struct wire_buf text = {0};
    struct wire_writer reply = {.out = &text};

    wire_open(&reply, NULL, '{');
    wire_put_text(&reply, "data", "");
    end_piece(s, 0, false, &reply);
    wire_put_bool(&reply, "heartbeat", true);
    wire_close(&reply, '}');
    restart_silence(call, s);
    return call_continue_text(call, &reply);
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

        if (call_turn_poll(cx, call) == VOLT_PENDING ||
            call_drained_poll(cx, call) == VOLT_PENDING)
            return VOLT_PENDING;
        if (!s->waiting) {
            if (call_more(call))
                follow_arm(cx, &s->follow, call_service(call)->core, &s->in.id);
            if (read_once(cx, call, s, &again) == VOLT_READY)
                return VOLT_READY;
            s->waiting = !again;
            if (again)
                restart_silence(call, s);
            else if (begin_inside(call, s) < 0)
                return VOLT_READY;
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

    if (!s->begun)
        return;
    inside_end(call, &s->inside);
    follow_fini(&s->follow);
    volt_sleep_fini(&s->silence);
    if (s->fd >= 0)
        (void)close(s->fd);
}

/* --- the interface ------------------------------------------------------------------ */

static const char description[] =
#include "org.voltd.logs.varlink.inc"
    ;

static const struct method method_open = {METHOD_IS(logs, Open), .poll = open_poll};
static const struct method method_read = {
    METHOD_IS(logs, Read),
    .flags = METHOD_MORE | METHOD_BULKY | METHOD_READS,
    .state_size = sizeof(struct read_state),
    .poll = read_poll,
    .drop = read_drop,
};

const struct interface interface_logs = {
    .name = "org.voltd.logs",
    .description = description,
    .methods = (const struct method *const[]){&method_open, &method_read, NULL},
};
