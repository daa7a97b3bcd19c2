/* See call.h and method.h. */
#include "daemon/call/call.h"

#include "daemon/call/known_texts.h"
#include "daemon/job/env.h"
#include "wire/json.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define LIMIT_REACHED "org.voltd.jobs.LimitReached"

/* --- what the server sees ----------------------------------------------------------- */

/* Frees the message, which takes long for a long one: that counts. */
static void give_message_back(struct call *call)
{
    if (call->holds_message) {
        turn_did_whole(call->caller.turn, call->caller.in->scan.bytes);
        frame_done(call->caller.in);
    }
    call->holds_message = false;
}

void call_end(struct call *call)
{
    const struct caller caller = call->caller;

    free(call->state);
    job_env_unref(call->env);
    free(call->env_text);
    call_parameters_read(call);
    give_message_back(call);
    if (call->has_stdin)
        stdin_file_end(caller.stdin_file);
    if (caller.share)
        share_keep_none(caller.share);
    *call = (struct call){.caller = caller};
    output_drop_loose_fd(caller.out);
}

size_t call_bytes_held(const struct call *call)
{
    const struct caller *by = &call->caller;

    if (!call->method && !call_has_unread(call) && frame_pending(by->in) == 0)
        return 0;
    return by->in->in.cap + by->out->bytes.cap + call->memory + call->made;
}

void call_count(struct call *call)
{
    const struct caller *by = &call->caller;

    share_hold(by->share, call_bytes_held(call), by->config->max_buffers_per_user);
}

/* Joins the line only when no reply is unread: the peer has to read those first. */
bool call_has_room(struct volt_cx *cx, struct call *call, bool is_long)
{
    const uint64_t limit = call->caller.config->max_buffers_per_user;
    const enum share_pool pool = is_long ? SHARE_LONG : SHARE_SHORT;
    struct share *share = call->caller.share;

    if (!share || share->reserved)
        return true;
    call_count(call);
    if (call_has_unread(call))
        return share_has_room(share, pool, limit);
    return share_room_poll(cx, share, pool, limit) == VOLT_READY;
}

bool call_is_full(const struct call *call)
{
    return output_is_full(call->caller.out, call->caller.config->max_output_backlog);
}

void call_limit_reached(struct call *call, const char *key, uint64_t limit,
                        const char *reason)
{
    (void)call_error(call, LIMIT_REACHED,
                     json_pack("{s:s,s:I,s:s}", "key", key, "limit", (json_int_t)limit,
                               "reason", reason));
}

/* --- what methods see --------------------------------------------------------------- */

const struct service *call_service(const struct call *call)
{
    return call->caller.service;
}

const struct config *call_config(const struct call *call)
{
    return call->caller.config;
}

const struct job_owner *call_peer(const struct call *call)
{
    return &call->caller.peer.who;
}

pid_t call_peer_pid(const struct call *call)
{
    return call->caller.peer_pid;
}

const struct asker *call_asker(const struct call *call)
{
    return &call->caller.peer;
}

json_t *call_parameters(const struct call *call)
{
    return call->parameters;
}

void call_parameters_read(struct call *c)
{
    json_decref(c->parameters);
    json_decref(c->message);
    c->parameters = c->message = NULL;
    c->memory = 0;
}

struct job_env *call_env(const struct call *call)
{
    return call->env;
}

void call_learn_env(struct call *call, struct job_env *env)
{
    const struct caller *by = &call->caller;

    if (call->env_text && env)
        known_texts_add(by->service->environments, by->peer.who.uid, call->env_text,
                        call->env_len, env);
    else
        free(call->env_text);
    call->env_text = NULL;
}

enum volt_poll call_stdin_poll(struct volt_cx *cx, struct call *call,
                               struct job_bytes **ret, const char **ret_reason)
{
    if (call->has_stdin)
        return stdin_file_poll(cx, call->caller.stdin_file, ret, ret_reason);
    *ret = NULL;
    *ret_reason =
        "none came with the call (SCM_RIGHTS, with its bytes), or more than eight calls "
        "of this user have one: try again";
    return VOLT_READY;
}

size_t call_list_size(const struct call *call)
{
    if (call->holds_message)
        return (size_t)call->caller.in->scan.list_commas + 1;
    return json_array_size(json_object_get(call->parameters, call->list));
}

int call_list_next(struct call *call, json_t **ret)
{
    const struct scan *scan = &call->caller.in->scan;
    char *text;
    size_t len;
    json_t *entry;

    if (call->holds_message) {
        (void)frame_next(call->caller.in, &text, &len);
        text += scan->list_begin;
        len = scan->list_end - scan->list_begin;
        size_t before = call->list_at;
        int r =
            wire_parse_entry(text, len, &call->list_at,
                             (size_t)call->caller.config->max_parse_memory, ret, NULL);
        call_did(call, 1, call->list_at - before);
        if (r == 0)
            give_message_back(call);
        return r;
    }
    entry = json_array_get(json_object_get(call->parameters, call->list), call->list_at);
    if (!entry)
        return 0;
    call->list_at++;
    call_did(call, 1, 0);
    *ret = json_incref(entry);
    return 1;
}

bool call_list_next_word(struct call *call, char *ret, size_t size)
{
    const struct scan *scan = &call->caller.in->scan;
    char *text;
    size_t len, at = call->list_at;

    if (!call->holds_message)
        return false;
    (void)frame_next(call->caller.in, &text, &len);
    text += scan->list_begin;
    len = scan->list_end - scan->list_begin;
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
    call_did(call, 1, at + n + 1 - call->list_at);
    call->list_at = at + n + 1;
    return true;
}

enum volt_poll call_turn_poll(struct volt_cx *cx, struct call *call)
{
    if (!turn_is_over(call->caller.turn))
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
    call->caller.turn->aside = true;
    volt_block_in_place(cx, do_nothing, NULL);
}

struct quota *call_quota(const struct call *call)
{
    return &call->caller.turn->quota;
}

void call_did(struct call *call, size_t entries, size_t bytes)
{
    quota_charge(call_quota(call), entries, bytes, 0);
}

bool call_more(const struct call *call)
{
    return call->more;
}

/* Appends the reply. A reply that is lost (no memory) ends the session: the client would
 * take the next reply for it. */
static int put(struct call *call, json_t *reply)
{
    int r = 0;

    if (!call->oneway)
        r = reply ? wire_encode(&call->caller.out->bytes, reply) : -ENOMEM;
    json_decref(reply);
    if (r < 0)
        call->caller.broken = true;
    return r;
}

/* Returns {"parameters": p}, with `error` or `continues` in front. Takes parameters. */
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

/* Appends a reply whose parameters are text, between head and tail. Takes parameters. */
static int put_text(struct call *call, const char *head, struct wire_writer *parameters)
{
    static const char tail[] = "}"; /* and the NUL, which ends the message */
    struct wire_buf *out = &call->caller.out->bytes, *text = parameters->out;
    int r = parameters->error;

    if (r == 0 && !call->oneway)
        r = wire_buf_wrap(out, head, text, tail, sizeof(tail));
    wire_buf_fini(text);
    if (r < 0)
        call->caller.broken = true;
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
    output_drop_loose_fd(call->caller.out);
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
    call->caller.broken = true;
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
    bool bulky = call->method->flags & METHOD_BULKY;

    /* No waiter here: the connection polls the call again when bytes were sent. */
    if (!call->caller.broken && !call_is_full(call) && call_has_room(cx, call, bulky))
        return VOLT_READY;
    call->drains |= call_has_unread(call);
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

int call_keep(struct call *call, size_t bytes)
{
    const uint64_t limit = call->caller.config->max_stream_memory_per_user;
    struct share *share = call->caller.share;

    if (!share || share_keep(share, bytes, limit))
        return 0;
    call_limit_reached(call, "MaxStreamMemoryPerUser", limit,
                       "what the streams of this user keep would be more than "
                       "MaxStreamMemoryPerUser= allows: end some, or name less in each");
    return -EDQUOT;
}

int call_push_fd(struct call *call, int fd)
{
    if (call->oneway) {
        struct output none = {.fds = {{0, fd}}, .nfds = 1};
        output_fini(&none);
        return 0;
    }
    return output_push_fd(call->caller.out, fd);
}
