/* Calls one after the other, and their replies: see session.h. */
#include "daemon/server/session.h"

#include "daemon/call/known_texts.h"
#include "daemon/observe/malformed.h"
#include "daemon/job/env.h"
#include "wire/json.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LARGE_METHOD "org.voltd.jobs.SubmitBatch"
#define LARGE_LIST   "specs"
#define USUAL_LIST   "ids"
#define HOLDER       "spec" /* member of Submit */
#define ENVIRONMENT  "env"
#define LIMITS       "limits"
#define TOKEN_COST   100 /* heap bytes per JSON value, with its place in its container */

enum { OF_ENV, OF_LIMITS }; /* struct scan.objects */

void session_configure(struct session *s, const struct config *config)
{
    s->config = *config;
    s->in.limits = (struct scan_limits){
        .usual = {(size_t)config->max_message, config->max_tokens},
        .depth = (uint32_t)config->max_depth,
        .large_method = LARGE_METHOD,
        .large_list = LARGE_LIST,
        .usual_list = USUAL_LIST,
        .holder = HOLDER,
        .objects = {[OF_ENV] = ENVIRONMENT, [OF_LIMITS] = LIMITS},
        .large = {(size_t)config->max_batch, config->max_batch_tokens},
    };
}

void session_init(struct session *s, const struct service *service,
                  const struct interface *const *interfaces, const struct asker *peer,
                  const struct config *config)
{
    *s = (struct session){.call.caller = {.service = service,
                                          .interfaces = interfaces,
                                          .peer = *peer,
                                          .config = &s->config,
                                          .in = &s->in,
                                          .out = &s->out,
                                          .turn = &s->turn,
                                          .stdin_file = &s->stdin_file}};
    session_configure(s, config);
}

static void end_call(struct session *s)
{
    struct call *c = &s->call;

    if (c->method && c->method->drop)
        c->method->drop(c, c->state);
    call_end(c);
}

void session_fini(struct session *s)
{
    end_call(s);
    stdin_file_end(&s->stdin_file);
    frame_fini(&s->in);
    output_fini(&s->out);
}

void session_cut(struct session *s)
{
    end_call(s);
    s->closing = true;
}

void session_got_stdin(struct session *s)
{
    s->stdin_end = frame_pending(&s->in);
}

/* Returns whether a descriptor came with the message of so many bytes that is taken
 * now. */
static bool take_stdin(struct session *s, size_t bytes)
{
    bool mine = s->stdin_file.of && s->stdin_end <= bytes;

    if (s->stdin_file.of && !mine)
        s->stdin_end -= bytes;
    return mine;
}

/* Refuses a message above a limit: answers the limit, unless oneway, and closes. */
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

/* Returns whether the list of the message is left for call_list_next(). */
static bool holds_list(const struct scan *scan)
{
    return scan->list_end > 0 &&
           (scan->large || scan->list_end - scan->list_begin >= SESSION_SHORT);
}

struct parsing {
    struct wire_piece pieces[WIRE_PIECES];
    size_t budget;
    json_t *message;
    struct volt_error why;
    int r;
};

static void parse(void *arg)
{
    struct parsing *p = arg;

    p->r = wire_parse_pieces(p->pieces, p->budget, &p->message, &p->why);
}

/* Parts of a message whose text is known: references. */
struct known {
    struct job_env *env;
    json_t *limits;
};

/* Parts of a message that are not parsed, in order: a list, whose entries are parsed
 * later, or members of objects that are known. */
struct cuts {
    struct scan_object cut[SCAN_OBJECTS];
    size_t n;
};

static void add_cut(struct cuts *c, const struct scan_object *part)
{
    const size_t at = c->n++;

    c->cut[at] = *part;
    if (part->begin < c->cut[0].begin) {
        c->cut[1] = c->cut[0];
        c->cut[0] = *part;
    }
}

static struct cuts cuts_of(const struct scan *scan, const struct known *known)
{
    struct cuts c = {.n = 0};

    if (holds_list(scan))
        add_cut(&c, &(struct scan_object){scan->list_begin, scan->list_end,
                                          scan->list_tokens});
    if (known->env)
        add_cut(&c, &scan->objects[OF_ENV]);
    if (known->limits)
        add_cut(&c, &scan->objects[OF_LIMITS]);
    return c;
}

static uint64_t tokens_cut(const struct cuts *c)
{
    return c->cut[0].tokens + c->cut[1].tokens;
}

_Static_assert(WIRE_PIECES == SCAN_OBJECTS + 1, "between two cuts is a piece");

/* Sets pieces to the text between the cuts. */
static void cut_out(const struct cuts *c, const char *text, size_t len,
                    struct wire_piece pieces[WIRE_PIECES])
{
    size_t at = 0;

    for (size_t i = 0; i < c->n; i++) {
        pieces[i] = (struct wire_piece){text + at, c->cut[i].begin - at};
        at = c->cut[i].end;
    }
    pieces[c->n] = (struct wire_piece){text + at, len - at};
}

/* Returns the turn's entries that the message costs; a list left out costs nothing. */
static size_t message_cost(const struct scan *scan)
{
    uint64_t values = scan->tokens - (holds_list(scan) ? scan->list_tokens : 0);

    return 1 + (size_t)values / TURN_TOKENS;
}

static bool is_too_long_for_a_turn(const struct scan *scan, size_t len)
{
    size_t left_out = holds_list(scan) ? scan->list_end - scan->list_begin : 0;

    return message_cost(scan) > QUOTA_ENTRIES || len - left_out > QUOTA_BYTES;
}

static void note_malformed(const struct session *s, const char *why)
{
    const struct caller *by = &s->call.caller;

    malformed_note(by->service->malformed, by->peer.who.uid, by->peer_pid, why);
}

void session_no_call(struct session *s, const char *why)
{
    s->closing = true;
    note_malformed(s, why);
}

void session_note_rest(const struct session *s)
{
    if (frame_ends_line(&s->in) && !s->closing && !s->call.method)
        note_malformed(s, "it ends with a line end, where a NUL byte has to be");
}

static int parse_message(struct volt_cx *cx, struct session *s, const char *text,
                         size_t len, const struct cuts *cuts, json_t **ret)
{
    const struct scan *scan = &s->in.scan;
    struct parsing p = {.budget = (size_t)s->config.max_parse_memory};

    cut_out(cuts, text, len, p.pieces);
    quota_charge(&s->turn.quota, message_cost(scan), 0, 0);
    if (cx && is_too_long_for_a_turn(scan, len)) {
        s->turn.aside = true;
        volt_block_in_place(cx, parse, &p);
    } else {
        parse(&p);
    }
    *ret = p.message;
    if (p.r == -EINVAL)
        session_no_call(s, p.why.text);
    return p.r;
}

/* Returns whether the turn has room for the message. Any message fits a turn that has
 * just begun. */
static bool fits_turn(const struct session *s)
{
    return !turn_is_over(&s->turn) &&
           (s->turn.quota.entries == 0 ||
            message_cost(&s->in.scan) <= quota_entries_left(&s->turn.quota));
}

/* Returns a reference to a part of a whole message if its text is known, otherwise
 * NULL. */
static void *find_part(const struct session *s, struct known_texts *texts,
                       const struct scan_object *part, const char *text)
{
    if (part->end == 0 || holds_list(&s->in.scan))
        return NULL;
    return known_texts_find(texts, s->call.caller.peer.who.uid, text + part->begin,
                            part->end - part->begin);
}

/* Scans what has arrived, like frame_next(): that counts, too. */
static enum scan_result next_message(struct session *s, char **ret_text, size_t *ret_len)
{
    const size_t before = s->in.scanned;
    enum scan_result got = frame_next(&s->in, ret_text, ret_len);

    turn_did_whole(&s->turn, s->in.scanned - before);
    return got;
}

static char *copy_part(const struct scan_object *part, const char *text)
{
    const size_t len = part->end - part->begin;
    char *copy = malloc(len + 1);

    if (copy)
        memcpy(copy, text + part->begin, len);
    return copy;
}

/* Puts known limits back into the message, in place of the empty object, and takes them;
 * keeps unknown ones for the next message. 0; -ENOMEM: message was freed. */
static int keep_limits(struct session *s, const char *text, json_t *limits,
                       json_t *message)
{
    const struct scan_object *part = &s->in.scan.objects[OF_LIMITS];
    const struct caller *by = &s->call.caller;
    json_t *spec = json_object_get(json_object_get(message, "parameters"), HOLDER);
    const size_t len = part->end - part->begin;

    if (limits && json_object_set_new(spec, LIMITS, limits) < 0) {
        json_decref(message);
        return -ENOMEM;
    }
    if (limits)
        return 0;
    char *copy = part->end > 0 ? copy_part(part, text) : NULL;
    if (copy)
        known_texts_add(by->service->limits, by->peer.who.uid, copy, len,
                        json_object_get(spec, LIMITS));
    return 0;
}

/* Keeps env, or its text, for call_env() and call_learn_env(). Takes env. */
static void keep_env(struct session *s, const char *text, struct job_env *env)
{
    const struct scan_object *part = &s->in.scan.objects[OF_ENV];
    struct call *c = &s->call;

    if (!c->method) {
        job_env_unref(env);
        return;
    }
    c->env = env;
    c->env_len = part->end - part->begin;
    if (!env && part->end > 0 && c->env_len <= known_env.most)
        c->env_text = copy_part(part, text);
}

/* Parses a whole message and begins its call. */
static void take_message(struct volt_cx *cx, struct session *s, const char *text,
                         size_t len)
{
    const struct config *c = &s->config;
    const struct scan *scan = &s->in.scan;
    bool list = holds_list(scan);
    const struct service *service = s->call.caller.service;
    const struct known known = {
        find_part(s, service->environments, &scan->objects[OF_ENV], text),
        find_part(s, service->limits, &scan->objects[OF_LIMITS], text)};
    const struct cuts cuts = cuts_of(scan, &known);
    bool has_stdin = take_stdin(s, len + 1);
    json_t *message;
    int r;

    r = parse_message(cx, s, text, len, &cuts, &message);
    if (r == 0)
        r = keep_limits(s, text, known.limits, message);
    else
        json_decref(known.limits);
    if (r == -E2BIG)
        refuse(s, "the message needs too many bytes of memory",
               (unsigned long long)c->max_parse_memory);
    else if (r < 0)
        s->closing = true;
    s->messages++;
    size_t memory = list ? 0 : (size_t)(scan->tokens - tokens_cut(&cuts)) * TOKEN_COST;
    if (r == 0)
        dispatch(s, message);
    keep_env(s, text, known.env);
    s->call.has_stdin = has_stdin && s->call.method;
    if (has_stdin && !s->call.method)
        stdin_file_end(&s->stdin_file);
    s->call.memory = s->call.method ? memory : 0;
    s->call.holds_message = list && s->call.method;
    s->call.list = scan->large ? LARGE_LIST : USUAL_LIST;
    if (!s->call.holds_message)
        frame_done(&s->in);
}

void session_trim(struct session *s)
{
    if (!call_has_unread(&s->call))
        wire_buf_fini(&s->out.bytes);
    if (frame_pending(&s->in) == 0)
        frame_fini(&s->in);
}

void session_refuse_room(struct session *s)
{
    struct call *c = &s->call;
    bool is_stream = c->method;
    char *text;
    size_t len;
    bool whole = !is_stream && frame_next(&s->in, &text, &len) == SCAN_END;

    c->oneway = is_stream ? c->oneway : s->in.scan.oneway;
    call_limit_reached(
        c, "MaxBuffersPerUser", s->config.max_buffers_per_user,
        "the connections of this user hold as much as MaxBuffersPerUser= "
        "allows, and none of them goes on: read their replies, or close some");
    end_call(s);
    if (whole && take_stdin(s, len + 1))
        stdin_file_end(&s->stdin_file);
    if (whole)
        frame_done(&s->in);
    else
        s->closing |= !is_stream;
}

enum session_state session_step(struct volt_cx *cx, struct session *s)
{
    struct call *c = &s->call;

    c->drains = s->drains = false;
    for (uint64_t n = 0;; n++) {
        enum scan_result got;
        char *text;
        size_t len;

        if (c->method) {
            enum volt_poll r = c->method->poll(cx, c, c->state);
            s->drains |= c->drains;
            if (r == VOLT_PENDING && !c->caller.broken)
                return SESSION_IN_CALL;
            if (!c->answered) /* a method's mistake must not leave the client waiting */
                s->closing = true;
            end_call(s);
        }
        if (s->closing || c->caller.broken)
            return SESSION_CLOSING;
        if (s->between_calls)
            s->between_calls(s);
        if (call_is_full(c)) {
            s->drains = true;
            return SESSION_FULL;
        }
        if (n >= s->config.max_pipelined_calls || turn_is_over(&s->turn))
            return SESSION_MORE_CALLS;
        got = next_message(s, &text, &len);
        if (got == SCAN_MORE)
            return SESSION_WANTS_INPUT;
        if (got == SCAN_END && !fits_turn(s))
            return SESSION_MORE_CALLS;
        if (got == SCAN_END && !call_has_room(cx, c, len >= SESSION_SHORT)) {
            s->drains = call_has_unread(c);
            return s->drains ? SESSION_FULL : SESSION_WANTS_ROOM;
        }
        if (got == SCAN_END)
            take_message(cx, s, text, len);
        else
            refuse_scan(s, got);
    }
}
