/* See logs_attempt.h. All attempts of a job print to one file, one after the other; voltd
 * knows where each ends. */
#include "client/voltctl/logs_attempt.h"
#include "client/follow.h"
#include "client/job_view.h"
#include "client/say.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PIECE INT64_C(1048576)

struct slice {
    int64_t from, to; /* bytes of the output; to: INT64_MAX: its end */
};

static int refuse(const char *id, uint64_t number, const char *what)
{
    say("job %s: attempt %" PRIu64 " %s", id, number, what);
    return CTL_EXIT_FAILED;
}

/* Returns where the output of an attempt ends; -1: unknown. */
static int64_t end_of(const json_t *attempt, const char *stream)
{
    const json_t *end = json_object_get(
        attempt, strcmp(stream, "stderr") == 0 ? "stderr_end" : "stdout_end");
    return json_is_integer(end) ? json_integer_value(end) : -1;
}

static uint64_t number_of(const json_t *attempt)
{
    return (uint64_t)job_view_int(attempt, "attempt");
}

/* Finds the slice of an attempt. The output of a lost attempt cannot be told from that of
 * the next one, nor that of the first known attempt from earlier output. Returns an exit
 * code. */
static int find(const json_t *attempts, const char *id, uint64_t number,
                const char *stream, struct slice *ret)
{
    const size_t n = json_array_size(attempts);
    size_t i = 0;
    while (i < n && number_of(json_array_get(attempts, i)) != number)
        i++;
    if (i == n)
        return refuse(id, number, "is not known");
    if (i == 0 && number > 1)
        return refuse(id, number,
                      "has output that is not told apart from that of earlier ones");
    const json_t *before = i > 0 ? json_array_get(attempts, i - 1) : NULL;
    ret->from = number == 1 ? 0 : end_of(before, stream);
    ret->to = end_of(json_array_get(attempts, i), stream);
    if (ret->from < 0 || (ret->to < 0 && i + 1 < n))
        return refuse(id, number,
                      "has output that is not told apart from that of a lost one");
    if (ret->to < 0)
        ret->to = INT64_MAX;
    return CTL_EXIT_OK;
}

/* Prints a piece. *ret_more: another piece follows. */
static int print_piece(struct ctl *ctl, const char *id, const char *stream,
                       struct slice *s, struct printer *p, bool *ret_more)
{
    struct client_reply reply = CLIENT_REPLY_EMPTY;
    const int64_t left = s->to - s->from, most = left < PIECE ? left : PIECE;
    int code =
        ctl_call(ctl, "org.voltd.logs.Read",
                 json_pack("{s:s, s:s, s:I, s:I}", "id", id, "stream", stream, "offset",
                           (json_int_t)s->from, "max_bytes", (json_int_t)most),
                 &reply);
    *ret_more = false;
    if (code != CTL_EXIT_OK)
        return code;
    const int64_t next = job_view_int(reply.parameters, "next_offset");
    int r = follow_print_reply(p, &reply);
    if (r < 0 && r != -EPIPE)
        say("writing the output: %s", strerror(-r));
    code = r < 0 ? CTL_EXIT_FAILED : CTL_EXIT_OK;
    *ret_more = code == CTL_EXIT_OK && next > s->from;
    s->from = next;
    client_reply_fini(&reply);
    return code;
}

int logs_attempt_print(struct ctl *ctl, const char *id, uint64_t number,
                       const char *stream, struct printer *p)
{
    struct client_reply reply = CLIENT_REPLY_EMPTY;
    struct slice s;
    bool more = true;
    int code =
        ctl_call(ctl, "org.voltd.jobs.Attempts", json_pack("{s:s}", "id", id), &reply);
    if (code != CTL_EXIT_OK)
        return code;
    code = find(json_object_get(reply.parameters, "attempts"), id, number, stream, &s);
    client_reply_fini(&reply);
    while (code == CTL_EXIT_OK && more && s.from < s.to)
        code = print_piece(ctl, id, stream, &s, p, &more);
    return code;
}
