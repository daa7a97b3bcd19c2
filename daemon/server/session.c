/* Calls one after the other, and their replies: see session.h. */
#include "daemon/server/session.h"

#include "wire/json.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LARGE_METHOD  "org.voltd.jobs.SubmitBatch"
#define LARGE_LIST    "specs"
#define USUAL_LIST    "ids"
#define LIMIT_REACHED "org.voltd.jobs.LimitReached"
#define TOKEN_COST    100 /* bytes of heap for a value, with its place in another */

void session_configure(struct session *s, const struct config *config)
{
    s->config = *config;
    s->in.limits = (struct scan_limits){
        .usual = {(size_t)config->max_message, config->max_tokens},
        .depth = (uint32_t)config->max_depth,
        .large_method = LARGE_METHOD,
        .large_list = LARGE_LIST,
        .usual_list = USUAL_LIST,
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

void call_parameters_read(struct call *c)
{
    json_decref(c->parameters);
    json_decref(c->message);
    c->parameters = c->message = NULL;
    c->memory = 0;
}

static void end_call(struct session *s)
{
    struct call *c = &s->call;

    if (c->method && c->method->drop)
        c->method->drop(c, c->state);
    free(c->state);
    call_parameters_read(c);
    give_message_back(s);
    if (s->keep)
        (void)s->keep(s, 0);
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

/* Is the list of the message that has come left for call_list_next()? */
static bool holds_list(const struct scan *scan)
{
    return scan->list_end > 0 &&
           (scan->large || scan->list_end - scan->list_begin >= SESSION_SHORT);
}

struct parsing {
    struct wire_piece pieces[2];
    size_t budget;
    json_t *message;
    int r;
};

static void parse(void *arg)
{
    struct parsing *p = arg;

    p->r = wire_parse_pieces(p->pieces, p->budget, &p->message, NULL);
}

/* Entries of a turn that the message counts as; its list, if that is left out, not. */
static size_t message_cost(const struct scan *scan)
{
    uint64_t values = scan->tokens - (holds_list(scan) ? scan->list_tokens : 0);

    return 1 + (size_t)values / TURN_TOKENS;
}

static bool is_too_long_for_a_turn(const struct scan *scan, size_t len)
{
    size_t left_out = holds_list(scan) ? scan->list_end - scan->list_begin : 0;

    return message_cost(scan) > TURN_ENTRIES || len - left_out > TURN_BYTES;
}

static int parse_message(struct volt_cx *cx, struct session *s, const char *text,
                         size_t len, json_t **ret)
{
    const struct scan *scan = &s->in.scan;
    struct parsing p = {.pieces = {{text, len}},
                        .budget = (size_t)s->config.max_parse_memory};

    if (holds_list(scan)) {
        p.pieces[0].len = scan->list_begin;
        p.pieces[1] = (struct wire_piece){text + scan->list_end, len - scan->list_end};
    }
    turn_did(&s->turn, message_cost(scan), 0);
    if (cx && is_too_long_for_a_turn(scan, len)) {
        s->turn.aside = true;
        volt_block_in_place(cx, parse, &p);
    } else {
        parse(&p);
    }
    *ret = p.message;
    return p.r;
}

/* Is there so much of the turn left that the message can be taken? Nothing is too long
 * for one that has just begun. */
static bool fits_turn(const struct session *s)
{
    return s->turn.entries == 0 ||
           message_cost(&s->in.scan) <= turn_entries_left(&s->turn);
}

/* One whole message: parses it and begins its call. */
static void take_message(struct volt_cx *cx, struct session *s, const char *text,
                         size_t len)
{
    const struct config *c = &s->config;
    const struct scan *scan = &s->in.scan;
    bool list = holds_list(scan);
    json_t *message;
    int r;

    r = parse_message(cx, s, text, len, &message);
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
    s->call.list = scan->large ? LARGE_LIST : USUAL_LIST;
    if (!s->call.holds_message)
        frame_done(&s->in);
}

/* The peer has so much to read that it gets nothing more for now: what has something to
 * tell goes on when bytes have gone. */
static bool is_full(const struct session *s)
{
    return output_is_full(&s->out, s->config.max_output_backlog);
}

static bool has_unread(const struct session *s)
{
    return wire_buf_len(&s->out.bytes) > 0;
}

size_t session_holds(const struct session *s)
{
    if (!s->call.method && !has_unread(s) && frame_pending(&s->in) == 0)
        return 0;
    return s->in.in.cap + s->out.bytes.cap + s->call.memory + s->call.made;
}

void session_trim(struct session *s)
{
    if (!has_unread(s))
        wire_buf_fini(&s->out.bytes);
    if (frame_pending(&s->in) == 0)
        frame_fini(&s->in);
}

/* Room for a call whose text has so many bytes. */
static bool has_room(struct volt_cx *cx, struct session *s, size_t len)
{
    return !s->room || s->room(cx, s, len >= SESSION_SHORT);
}

void session_refuse_room(struct session *s)
{
    struct call *c = &s->call;
    bool is_stream = c->method;
    char *text;
    size_t len;
    bool whole = !is_stream && frame_next(&s->in, &text, &len) == SCAN_END;

    c->oneway = is_stream ? c->oneway : s->in.scan.oneway;
    (void)call_limit_reached(c, "MaxBuffersPerUser", s->config.max_buffers_per_user,
                             "the connections of this user hold as much as "
                             "MaxBuffersPerUser= allows, and none of them goes on: read "
                             "their replies, or close some");
    end_call(s);
    if (whole)
        frame_done(&s->in);
    else
        s->closing |= !is_stream;
}

enum session_state session_step(struct volt_cx *cx, struct session *s)
{
    struct call *c = &s->call;

    s->drains = false;
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
        if (is_full(s)) {
            s->drains = true;
            return SESSION_FULL;
        }
        if (n >= s->config.max_pipelined_calls || turn_is_over(&s->turn))
            return SESSION_MORE_CALLS;
        got = frame_next(&s->in, &text, &len);
        if (got == SCAN_MORE)
            return SESSION_WANTS_INPUT;
        if (got == SCAN_END && !fits_turn(s))
            return SESSION_MORE_CALLS;
        if (got == SCAN_END && !has_room(cx, s, len)) {
            s->drains = has_unread(s);
            return s->drains ? SESSION_FULL : SESSION_WANTS_ROOM;
        }
        if (got == SCAN_END)
            take_message(cx, s, text, len);
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

bool call_is_admin(const struct call *call)
{
    return call->session->admin;
}

json_t *call_parameters(const struct call *call)
{
    return call->parameters;
}

size_t call_list_size(const struct call *call)
{
    if (call->holds_message)
        return (size_t)call->session->in.scan.list_commas + 1;
    return json_array_size(json_object_get(call->parameters, call->list));
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
        size_t before = call->list_at;
        int r = wire_parse_entry(text, len, &call->list_at,
                                 (size_t)s->config.max_parse_memory, ret, NULL);
        turn_did(&s->turn, 1, call->list_at - before);
        if (r == 0)
            give_message_back(s);
        return r;
    }
    entry = json_array_get(json_object_get(call->parameters, call->list), call->list_at);
    if (!entry)
        return 0;
    call->list_at++;
    turn_did(&s->turn, 1, 0);
    *ret = json_incref(entry);
    return 1;
}

bool call_list_next_word(struct call *call, char *ret, size_t size)
{
    const struct session *s = call->session;
    char *text;
    size_t len, at = call->list_at;

    if (!call->holds_message)
        return false;
    (void)frame_next(&call->session->in, &text, &len);
    text += s->in.scan.list_begin;
    len = s->in.scan.list_end - s->in.scan.list_begin;
    if (at > 0 && at < len && text[at++] != ',')
        return false;
    if (at >= len || text[at++] != '"')
        return false;
    const char *end = memchr(text + at, '"', len - at < size ? len - at : size);
    size_t n = end ? (size_t)(end - text) - at : 0;
    for (size_t i = 0; i < n; i++)
        if (text[at + i] <= ' ' || text[at + i] > '~' || text[at + i] == '\\')
            return false;
    if (n == 0)
        return false;
    memcpy(ret, text + at, n);
    ret[n] = '\0';
    turn_did(&call->session->turn, 1, at + n + 1 - call->list_at);
    call->list_at = at + n + 1;
    return true;
}

enum volt_poll call_turn_poll(struct volt_cx *cx, struct call *call)
{
    if (!turn_is_over(&call->session->turn))
        return VOLT_READY;
    volt_cx_wake(cx);
    return VOLT_PENDING;
}

static void do_nothing(void *arg)
{
    (void)arg;
}

void call_go_aside(struct volt_cx *cx, struct call *call)
{
    call->session->turn.aside = true;
    volt_block_in_place(cx, do_nothing, NULL);
}

void call_did(struct call *call, size_t entries, size_t bytes)
{
    turn_did(&call->session->turn, entries, bytes);
}

void call_did_facts(struct call *call, size_t facts)
{
    call->session->turn.facts += facts;
}

size_t call_entries_left(const struct call *call)
{
    return turn_entries_left(&call->session->turn);
}

size_t call_bytes_left(const struct call *call)
{
    return turn_bytes_left(&call->session->turn);
}

size_t call_facts_left(const struct call *call)
{
    return turn_facts_left(&call->session->turn);
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
    struct session *s = call->session;
    bool bulky = call->method->flags & METHOD_BULKY;

    /* No wait of its own for bytes to go: the connection polls the call again when some
     * have. */
    if (!s->broken && !is_full(s) && (!s->room || s->room(cx, s, bulky)))
        return VOLT_READY;
    s->drains |= has_unread(s);
    return VOLT_PENDING;
}

void call_holds(struct call *call, size_t bytes)
{
    call->made += bytes;
}

void call_gives_back(struct call *call, size_t bytes)
{
    call->made -= bytes;
}

enum volt_poll call_limit_reached(struct call *call, const char *key, uint64_t limit,
                                  const char *reason)
{
    return call_error(call, LIMIT_REACHED,
                      json_pack("{s:s,s:I,s:s}", "key", key, "limit", (json_int_t)limit,
                                "reason", reason));
}

int call_keep(struct call *call, size_t bytes)
{
    struct session *s = call->session;

    if (!s->keep || s->keep(s, bytes))
        return 0;
    (void)call_limit_reached(call, "MaxStreamMemoryPerUser",
                             s->config.max_stream_memory_per_user,
                             "what the streams of this user keep would be more than "
                             "MaxStreamMemoryPerUser= allows: end some, or name less in "
                             "each");
    return -EDQUOT;
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
