/* One call: what came with it, what it may use, and its answer.
 *
 * The joint between the server and the methods, beneath both. The server makes a call
 * from a message (server/session.h), polls its method, and sends what is in `out`. The
 * method reads the call and writes into it by the functions of method.h; this struct is
 * for the server. Methods never call the server: it reads here what a poll did, once the
 * poll has returned.
 *
 *   caller.out     replies: text, and the descriptors that go with it
 *   caller.turn    how much of the turn is used up
 *   caller.share   memory that the call holds and keeps; its place in line for more
 *   answered       the final reply has been made
 *   drains         the call goes on when some of `out` has been sent
 *   caller.broken  a reply was lost: the connection has to close */
#ifndef VOLTD_CALL_CALL_H
#define VOLTD_CALL_CALL_H

#include "daemon/call/method.h"
#include "daemon/call/output.h"
#include "daemon/call/share.h"
#include "daemon/call/stdin_file.h"
#include "daemon/call/turn.h"
#include "daemon/config/config.h"
#include "wire/frame.h"

/* The connection as its calls see it: the same for all of them, one after the other.
 * Borrows everything from the session or the connection. */
struct caller {
    const struct service *service;
    const struct interface *const *interfaces; /* of the listener */
    struct asker peer;
    pid_t peer_pid; /* 0: not known */
    const struct config *config;
    struct frame_reader *in; /* has the message while the call holds it */
    struct output *out;
    struct turn *turn;             /* its owner begins and ends it */
    struct stdin_file *stdin_file; /* came with this call, or with a message still in
                                    * `in` */
    struct share *share;           /* NULL: there is always room */
    bool broken;                   /* a reply was lost: the call does not go on either */
};

struct call {
    struct caller caller;
    const struct method *method; /* NULL: no call is being answered */
    json_t *message;             /* without the entries of `list`; NULL: read */
    json_t *parameters;          /* a reference of its own */
    bool holds_message;          /* `list` points into caller.in */
    size_t memory;       /* bytes of the parsed values, estimated, until they are read */
    size_t made;         /* bytes that the method allocated for what it made of them */
    const char *list;    /* name of the list parameter */
    size_t list_at;      /* entries of it that were taken, or bytes of its text */
    struct job_env *env; /* value of `env`, known by its text; NULL: not known */
    char *env_text;      /* text of an `env` that is not known; NULL: no `env` */
    size_t env_len;
    bool more, oneway, answered;
    bool has_stdin; /* caller.stdin_file came with this call */
    bool drains;    /* goes on when some of caller.out has been sent */
    void *state;
};

/* Drops the method's state if the method has begun, frees the call, and gives its message
 * back to the reader. `method` is NULL afterwards. */
void call_end(struct call *call);

/* Returns the bytes allocated by the call and by its caller's buffers; 0 for an idle
 * connection. */
size_t call_bytes_held(const struct call *call);
/* Books call_bytes_held() in the user's share. */
void call_count(struct call *call);
/* Returns whether there is room for a call, or for the next reply of a stream. False: the
 * task is woken when it is to ask again, or caller.out has to be sent first. */
bool call_has_room(struct volt_cx *cx, struct call *call, bool is_long);
/* Returns whether so much is unread that the peer gets nothing more for now. */
bool call_is_full(const struct call *call);
static inline bool call_has_unread(const struct call *call)
{
    return wire_buf_len(&call->caller.out->bytes) > 0;
}

/* Answers LimitReached: the limit `key` is why the call is refused. */
void call_limit_reached(struct call *call, const char *key, uint64_t limit,
                        const char *reason);

#endif
