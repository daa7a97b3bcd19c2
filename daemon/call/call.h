/* One call: what came with it, what it may use, and its answer.
 *
 * The joint between the server and the methods, beneath both. The server makes a call of
 * a message (server/session.h), polls its method, and sends what is in `out`. The method
 * reads from the call and writes into it, by the functions of method.h; this struct is
 * for the server. None of them calls the server: what a poll has done to the connection
 * is here for the server to see when the poll returns.
 *
 *   caller.out     replies: text, and the descriptors that go with it
 *   caller.turn    how much of the turn is used up
 *   caller.share   what the call holds and keeps, and whether it waits for room in it
 *   answered       the final reply has been made
 *   drains         it goes on when some of `out` has gone
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

/* The connection that a call came on, as its calls see it: the same for all of them, one
 * after the other. What it points to is the session's, or the connection's. */
struct caller {
    const struct service *service;
    const struct interface *const *interfaces; /* of the listener */
    struct asker peer;
    pid_t peer_pid; /* 0: not known */
    const struct config *config;
    struct frame_reader *in; /* has the message while the call holds it */
    struct output *out;
    struct turn *turn;             /* its owner begins and ends it */
    struct stdin_file *stdin_file; /* that came with the call in hand, or with what is
                                    * in `in` */
    struct share *share;           /* NULL: there is always room */
    bool broken; /* a reply was lost: not even the call in hand goes on */
};

struct call {
    struct caller caller;
    const struct method *method; /* NULL: no call in hand */
    json_t *message;    /* the whole of it, but for a list's entries; NULL: read */
    json_t *parameters; /* a reference of its own */
    bool holds_message; /* its text is in caller.in, for the list */
    size_t memory;      /* that its values take, roughly, until they are read */
    size_t made;        /* what it makes of them takes */
    const char *list;   /* its name among the parameters */
    size_t list_at;     /* entries, or bytes of the list's text, that were taken */
    struct job_env
        *env;       /* that the parameters have, known by its text; NULL: it is not */
    char *env_text; /* otherwise its text; NULL: there is none */
    size_t env_len;
    bool more, oneway, answered;
    bool has_stdin; /* caller.stdin_file came with it */
    bool drains;    /* goes on when some of caller.out has gone */
    void *state;
};

/* What the method has was dropped, if it has begun: frees all of the call, and gives its
 * message back. There is no call in hand then. */
void call_end(struct call *call);

/* Bytes that it and the buffers of its caller have set aside, but for those of idle
 * buffers ... */
size_t call_bytes_held(const struct call *call);
/* ... which it tells the share. */
void call_count(struct call *call);
/* Is there room for a call, or for the next reply of a stream? False: the task is woken
 * when to ask again, or what is in caller.out has to go first. */
bool call_has_room(struct volt_cx *cx, struct call *call, bool is_long);
/* The peer has so much to read that it gets nothing more for now. */
bool call_is_full(const struct call *call);
static inline bool call_has_unread(const struct call *call)
{
    return wire_buf_len(&call->caller.out->bytes) > 0;
}

/* Answers which limit keeps it from being served. */
void call_limit_reached(struct call *call, const char *key, uint64_t limit,
                        const char *reason);

#endif
