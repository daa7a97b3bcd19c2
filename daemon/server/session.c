/* Calls one after the other, and their replies: see session.h. */
#include "daemon/server/session.h"

#include "wire/json.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LARGE_METHOD "org.voltd.jobs.SubmitBatch"
#define LARGE_LIST   "specs"
#define TOKEN_COST   100 /* bytes of heap for a value, with its place in another */

void session_configure(struct session *s, const struct config *config)
{
    s->config = *config;
    s->in.limits = (struct scan_limits){
        .usual = {(size_t)config->max_message, config->max_tokens},
        .depth = (uint32_t)config->max_depth,
        .large_method = LARGE_METHOD,
        .large_list = LARGE_LIST,
        .large = {(size_t)config->max_batch, config->max_batch_tokens},
    };
}

void session_init(struct session *s, const struct service *service,
                  const struct interface *const *interfaces, const struct job_owner *peer,
                  const struct config *config)
{
    *s = (struct session){.service = service, .interfaces = interfaces, .peer = *peer};
    s->call.session = s;
    session_configure(s, config);
}

static void give_message_back(struct session *s)
{
    if (s->call.holds_message)
        frame_done(&s->in);
    s->call.holds_message = false;
}

static void end_call(struct session *s)
{
    struct call *c = &s->call;

    if (c->method && c->method->drop)
        c->method->drop(c, c->state);
    free(c->state);
    json_decref(c->parameters);
    json_decref(c->message);
    give_message_back(s);
    *c = (struct call){.session = s};
    output_drop_loose_fd(&s->out);
}

void session_fini(struct session *s)
{
    end_call(s);
    frame_fini(&s->in);
    output_fini(&s->out);
}

void session_cut(struct session *s)
{
    end_call(s);
    s->closing = true;
}

/* A message that is beyond the limits: say so, unless it wants no answer, and close. */
static void refuse(struct session *s, const char *what, unsigned long long limit)
{
    char reason[128];

    s->closing = true;
    if (s->in.scan.oneway)
        return;
    (void)snprintf(reason, sizeof(reason), "%s; the limit is %llu", what, limit);
    (void)call_invalid_parameter(&s->call, "parameters", reason);
    s->call.answered = false;
}

static void refuse_scan(struct session *s, enum scan_result why)
{
    const struct config *c = &s->config;
    bool large = s->in.scan.large;

    switch (why) {
    case SCAN_TOO_LARGE:
        refuse(s, "the message has too many bytes",
               large ? c->max_batch : c->max_message);
        break;
    case SCAN_TOO_DEEP:
        refuse(s, "the message is nested too deeply", c->max_depth);
        break;
    case SCAN_TOO_MANY_TOKENS:
        refuse(s, "the message has too many values",
               large ? c->max_batch_tokens : c->max_tokens);
        break;
    case SCAN_MORE:
    case SCAN_END:
        break;
    }
}

/* One whole message: parses it and begins its call. */
static void take_message(struct session *s, const char *text, size_t len)
{
    const struct config *c = &s->config;
    const struct scan *scan = &s->in.scan;
    bool list = scan->list_end > 0;
    struct wire_piece around[2] = {{text, list ? scan->list_begin : len}};
    json_t *message;
    int r;

    if (list)
        around[1] = (struct wire_piece){text + scan->list_end, len - scan->list_end};
    r = wire_parse_pieces(around, (size_t)c->max_parse_memory, &message, NULL);
    if (r == -E2BIG)
        refuse(s, "the message needs too many bytes of memory",
               (unsigned long long)c->max_parse_memory);
    else if (r < 0)
        s->closing = true;
    s->messages++;
    size_t memory = list ? 0 : (size_t)scan->tokens * TOKEN_COST;
    if (r == 0)
        dispatch(s, message);
    s->call.memory = s->call.method ? memory : 0;
    s->call.holds_message = list && s->call.method;
    if (!s->call.holds_message)
        frame_done(&s->in);
}

bool session_full(const struct session *s)
{
    return output_is_full(&s->out, s->config.max_output_backlog) ||
           (s->no_room && wire_buf_len(&s->out.bytes) > 0);
}

size_t session_holds(const struct session *s)
{
    return s->in.in.cap + s->out.bytes.cap + s->call.memory;
}

enum session_state session_step(struct volt_cx *cx, struct session *s)
{
    struct call *c = &s->call;

    for (uint64_t n = 0;; n++) {
        enum scan_result got;
        char *text;
        size_t len;

        if (c->method) {
            if (c->method->poll(cx, c, c->state) == VOLT_PENDING && !s->broken)
                return SESSION_IN_CALL;
            if (!c->answered) /* a method's mistake must not leave the client waiting */
                s->closing = true;
            end_call(s);
        }
        if (s->closing)
            return SESSION_CLOSING;
        if (s->between_calls)
            s->between_calls(s);
        if (session_full(s))
            return SESSION_FULL;
        if (n >= s->config.max_pipelined_calls)
            return SESSION_MORE_CALLS;
        got = frame_next(&s->in, &text, &len);
        if (got == SCAN_MORE)
            return SESSION_WANTS_INPUT;
        if (got == SCAN_END && s->no_room)
            return SESSION_WANTS_ROOM;
        if (got == SCAN_END)
            take_message(s, text, len);
        else
            refuse_scan(s, got);
    }
}

/* --- what methods see --------------------------------------------------------------- */

const struct service *call_service(const struct call *call)
{
    return call->session->service;
}

const struct config *call_config(const struct call *call)
{
    return &call->session->config;
}

const struct job_owner *call_peer(const struct call *call)
{
    return &call->session->peer;
}

json_t *call_parameters(const struct call *call)
{
    return call->parameters;
}

size_t call_list_size(const struct call *call)
{
    if (call->holds_message)
        return (size_t)call->session->in.scan.list_commas + 1;
    return json_array_size(json_object_get(call->parameters, LARGE_LIST));
}

int call_list_next(struct call *call, json_t **ret)
{
    struct session *s = call->session;
    const struct scan *scan = &s->in.scan;
    char *text;
    size_t len;
    json_t *entry;

    if (call->holds_message) {
        (void)frame_next(&s->in, &text, &len);
        text += scan->list_begin;
        len = scan->list_end - scan->list_begin;
        int r = wire_parse_entry(text, len, &call->list_at,
                                 (size_t)s->config.max_parse_memory, ret, NULL);
        if (r == 0)
            give_message_back(s);
        return r;
    }
    entry = json_array_get(json_object_get(call->parameters, LARGE_LIST), call->list_at);
    if (!entry)
        return 0;
    call->list_at++;
    *ret = json_incref(entry);
    return 1;
}

bool call_more(const struct call *call)
{
    return call->more;
}

/* Sends the reply. One that cannot be sent (no memory) ends the session: the client must
 * not take the next reply for this one. */
static int put(struct call *call, json_t *reply)
{
    struct session *s = call->session;
    int r = 0;

    if (!call->oneway)
        r = reply ? wire_encode(&s->out.bytes, reply) : -ENOMEM;
    json_decref(reply);
    if (r < 0)
        s->closing = s->broken = true;
    return r;
}

/* {"parameters": p} with what else goes in front. Takes parameters. */
static json_t *envelope(const char *error, bool continues, json_t *parameters)
{
    if (!parameters)
        return NULL;
    if (error)
        return json_pack("{s:s,s:o}", "error", error, "parameters", parameters);
    if (continues)
        return json_pack("{s:b,s:o}", "continues", 1, "parameters", parameters);
    return json_pack("{s:o}", "parameters", parameters);
}

enum volt_poll call_reply(struct call *call, json_t *parameters)
{
    if (call->answered)
        json_decref(parameters);
    else
        (void)put(call, envelope(NULL, false, parameters));
    call->answered = true;
    return VOLT_READY;
}

/* The same of parameters that are text, behind what the reply begins with. Takes them. */
static int put_text(struct call *call, const char *head, struct wire_writer *parameters)
{
    static const char tail[] = "}"; /* and the NUL, which ends the message */
    struct session *s = call->session;
    struct wire_buf *out = &s->out.bytes, *text = parameters->out;
    int r = parameters->error;

    if (r == 0 && !call->oneway)
        r = wire_buf_wrap(out, head, text, tail, sizeof(tail));
    wire_buf_fini(text);
    if (r < 0)
        s->closing = s->broken = true;
    return r;
}

enum volt_poll call_reply_text(struct call *call, struct wire_writer *parameters)
{
    if (call->answered)
        wire_buf_fini(parameters->out);
    else
        (void)put_text(call, "{\"parameters\":", parameters);
    call->answered = true;
    return VOLT_READY;
}

enum volt_poll call_error(struct call *call, const char *error, json_t *parameters)
{
    output_drop_loose_fd(&call->session->out);
    if (call->answered)
        json_decref(parameters);
    else
        (void)put(call, envelope(error, false, parameters));
    call->answered = true;
    return VOLT_READY;
}

enum volt_poll call_invalid_parameter(struct call *call, const char *parameter,
                                      const char *reason)
{
    return call_error(call, "org.varlink.service.InvalidParameter",
                      json_pack("{s:o,s:o}", "parameter", wire_text(parameter), "reason",
                                wire_text(reason)));
}

enum volt_poll call_abort(struct call *call)
{
    call->session->closing = call->session->broken = true;
    call->answered = true;
    return VOLT_READY;
}

int call_continue(struct call *call, json_t *parameters)
{
    return put(call, envelope(NULL, true, parameters));
}

int call_continue_text(struct call *call, struct wire_writer *parameters)
{
    return put_text(call, "{\"continues\":true,\"parameters\":", parameters);
}

enum volt_poll call_drained_poll(struct volt_cx *cx, struct call *call)
{
    const struct session *s = call->session;

    /* No wait of its own: the connection polls the call again when bytes have gone. */
    (void)cx;
    return s->broken || session_full(s) ? VOLT_PENDING : VOLT_READY;
}

int call_push_fd(struct call *call, int fd)
{
    if (call->oneway) {
        struct output none = {.fds = {{0, fd}}, .nfds = 1};
        output_fini(&none);
        return 0;
    }
    return output_push_fd(&call->session->out, fd);
}
