/* See follow.h. */
#include "wire/base64.h"
#include "client/follow.h"
#include "client/inside.h"
#include "client/job_view.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK ((size_t)256 << 10)

/* Prints the file from *offset to its present end. */
static int print_file(const struct follow_request *rq, int fd, off_t *offset)
{
    char *buf = malloc(CHUNK);
    ssize_t n = 1;
    int r = buf ? 0 : -ENOMEM;
    while (r == 0 && n > 0) {
        n = tail_read_file(&fd, buf, CHUNK, *offset);
        r = n > 0 ? printer_put(rq->printer, buf, (size_t)n, false) : (int)n;
        *offset += n > 0 ? n : 0;
    }
    free(buf);
    return r;
}

/* Decodes the bytes of a reply of Read into *ret, to be freed with free(). Returns their
 * number, or negative. */
static ssize_t reply_bytes(const struct client_reply *reply, unsigned char **ret)
{
    const json_t *data = json_object_get(reply->parameters, "data");
    size_t len = json_string_length(data);
    unsigned char *buf = malloc(len / 4 * 3 + 3);
    if (!buf)
        return -ENOMEM;
    ssize_t n = base64_decode(len > 0 ? json_string_value(data) : "", len, buf);
    if (n < 0) {
        free(buf);
        return -EPROTO;
    }
    *ret = buf;
    return n;
}

int follow_print_reply(struct printer *p, const struct client_reply *reply)
{
    unsigned char *bytes;
    ssize_t n = reply_bytes(reply, &bytes);
    if (n < 0)
        return (int)n;
    int r = n > 0 ? printer_put(p, (char *)bytes, (size_t)n, false) : 0;
    free(bytes);
    return r;
}

/* Prints the output by Read, without a descriptor. */
static int print_by_read(struct client *c, const struct follow_request *rq, off_t *offset,
                         struct client_reply *error)
{
    for (;;) {
        json_t *params = json_pack("{s:s, s:s, s:I}", "id", rq->id, "stream", rq->stream,
                                   "offset", (json_int_t)*offset);
        if (rq->follow)
            inside_add_for(params, c, rq->id);
        int r =
            client_send(c, "org.voltd.logs.Read", params, rq->follow ? CLIENT_MORE : 0);
        bool more = r == 0, end = false;
        while (more) {
            struct client_reply reply = CLIENT_REPLY_EMPTY;
            r = client_receive(c, CLIENT_FOREVER, &reply);
            if (r < 0)
                return r;
            if (reply.error) {
                *error = reply;
                return 1;
            }
            r = follow_print_reply(rq->printer, &reply);
            more = r == 0 && reply.continues;
            off_t next = (off_t)json_integer_value(
                json_object_get(reply.parameters, "next_offset"));
            end = json_is_true(json_object_get(reply.parameters, "end")) ||
                  (next <= *offset && !more);
            *offset = next > *offset ? next : *offset;
            client_reply_fini(&reply);
        }
        if (r < 0 || end)
            return r;
    }
}

static int open_output(struct client *c, const struct follow_request *rq,
                       struct client_reply *reply)
{
    json_t *params = json_pack("{s:s, s:s}", "id", rq->id, "stream", rq->stream);
    return client_call(c, "org.voltd.logs.Open", params, reply);
}

struct by_read {
    struct client *c;
    const struct follow_request *rq;
};

/* Reads as a tail_read(), by Read. */
static ssize_t read_by_read(void *source, char *buf, size_t n, off_t at)
{
    const struct by_read *b = source;
    struct client_reply reply = CLIENT_REPLY_EMPTY;
    unsigned char *bytes = NULL;
    ssize_t got = client_call(b->c, "org.voltd.logs.Read",
                              json_pack("{s:s, s:s, s:I, s:I}", "id", b->rq->id, "stream",
                                        b->rq->stream, "offset", (json_int_t)at,
                                        "max_bytes", (json_int_t)n),
                              &reply);
    if (got == 0 && !reply.error) /* the error comes again when printing */
        got = reply_bytes(&reply, &bytes);
    if (got > (ssize_t)n)
        got = -EPROTO;
    if (got > 0)
        memcpy(buf, bytes, (size_t)got);
    free(bytes);
    client_reply_fini(&reply);
    return got;
}

/* Finds where to begin. Prints a notice if the limit of bytes cuts lines off. */
static int begin(struct client *c, const struct follow_request *rq,
                 const struct client_reply *reply, off_t *offset)
{
    char text[160];
    bool cut;
    struct by_read by_read = {c, rq};
    int fd = reply->fd;
    off_t end = (off_t)job_view_int(reply->parameters, "size_bytes");
    off_t from = fd < 0 ? tail_begin(&rq->tail, end, read_by_read, &by_read, &cut)
                        : tail_begin(&rq->tail, end, tail_read_file, &fd, &cut);
    if (from < 0)
        return (int)from;
    *offset = from;
    if (!cut)
        return 0;
    int n = snprintf(text, sizeof(text),
                     "[the last %lld of %lld bytes; voltctl logs %s prints all]\n",
                     (long long)(end - from), (long long)end, rq->id);
    return printer_put(rq->printer, text, (size_t)n, false);
}

/* Prints from *offset on; < 0: from the tail. */
static int print_output(struct client *c, const struct follow_request *rq,
                        struct client_reply *error)
{
    struct client_reply reply = CLIENT_REPLY_EMPTY;
    off_t *offset = rq->offset;
    int r = open_output(c, rq, &reply);
    bool later = rq->follow && client_error_is(&reply, "NoOutput"); /* or Read says why */
    if (r == 0 && reply.error && !later) {
        *error = reply;
        return 1;
    }
    if (r == 0 && *offset < 0 && later)
        *offset = 0;
    else if (r == 0 && *offset < 0)
        r = begin(c, rq, &reply, offset);
    bool grows = rq->follow && !json_is_true(json_object_get(reply.parameters, "ended"));
    if (r == 0)
        r = reply.fd < 0 || grows ? print_by_read(c, rq, offset, error)
                                  : print_file(rq, reply.fd, offset);
    client_reply_fini(&reply);
    return r;
}

int follow_output(struct client *c, const struct follow_request *rq,
                  struct client_reply *error)
{
    int r = print_output(c, rq, error);
    if (r != -ECONNRESET && !rq->printer->failed) {
        int flushed = printer_put(rq->printer, "", 0, true);
        r = flushed < 0 ? flushed : r;
    }
    return r;
}
