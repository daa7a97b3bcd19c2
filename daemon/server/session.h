/* A session: the conversation on one connection, without its socket.
 *
 * Bytes go in (session.in), calls are answered one after the other in the order in which
 * they came, bytes come out (session.out). Whatever is not a call by the rules of Varlink
 * ends the session; what was answered before still goes out.
 *
 *   invalid JSON, not an object, no method, an unknown      closes the session
 *   header field without a dot, a flag that is not a
 *   boolean, two flags
 *   larger, deeper or more of anything than the limits      error, then closes
 *   everything else: see dispatch.c                         error
 *   any of these errors for a oneway call                   nothing */
#ifndef VOLTD_SERVER_SESSION_H
#define VOLTD_SERVER_SESSION_H

#include "daemon/config.h"
#include "daemon/server/method.h"
#include "daemon/server/output.h"
#include "wire/frame.h"

struct session;

struct call {
    struct session *session;
    const struct method *method; /* NULL: no call in hand */
    json_t *message;             /* the whole of it, but for a list's entries */
    json_t *parameters;          /* a reference of its own */
    bool holds_message;          /* its text is in session.in, for the list */
    size_t memory;               /* that its values take, roughly */
    size_t list_at; /* entries, or bytes of the list's text, that were taken */
    bool more, oneway, answered;
    void *state;
};

struct session {
    const struct service *service;
    const struct interface *const *interfaces; /* of the listener */
    struct job_owner peer;
    struct config config;
    /* Called before each message is looked at; NULL: nobody. The time to configure. */
    void (*between_calls)(struct session *s);
    struct frame_reader in;
    struct output out;
    struct call call;
    uint64_t messages; /* taken so far */
    bool no_room;      /* for another call, nor for more behind what is to be read */
    bool closing;      /* no further call; what is in `out` still goes */
    bool broken;       /* a reply was lost: not even the call in hand goes on */
};

enum session_state {
    SESSION_WANTS_INPUT, /* no call in hand, no whole message there */
    SESSION_WANTS_ROOM,  /* there is one, but no_room for its call */
    SESSION_IN_CALL,     /* the call waits for something */
    SESSION_FULL,        /* the peer has to read first */
    SESSION_MORE_CALLS,  /* max_pipelined_calls were answered in one go; there are more */
    SESSION_CLOSING,
};

/* Borrows service and interfaces. */
void session_init(struct session *s, const struct service *service,
                  const struct interface *const *interfaces, const struct job_owner *peer,
                  const struct config *config);
void session_fini(struct session *s);
/* Between calls only: a call keeps the configuration that it began with. */
void session_configure(struct session *s, const struct config *config);
/* The peer has so much to read that it gets nothing more for now: whoever has something
 * to tell goes on when bytes have gone. */
bool session_full(const struct session *s);
/* Bytes that it has set aside for its peer. */
size_t session_holds(const struct session *s);
/* Answers what it can. */
enum session_state session_step(struct volt_cx *cx, struct session *s);
/* Gives up the call in hand, if any, without a final answer, and closes. */
void session_cut(struct session *s);

/* --- for dispatch.c ----------------------------------------------------------------- */
/* Takes message apart and looks its method up: then s->call.method is set. Otherwise it
 * has been answered, or the session closes. Takes message. */
void dispatch(struct session *s, json_t *message);

/* org.varlink.service, part of every listener. */
extern const struct interface service_interface;
/* The interface of this name that the session may use, or NULL. */
const struct interface *session_interface(const struct session *s, const char *name,
                                          size_t len);
/* The session of a call: for org.varlink.service, which speaks about it. */
static inline const struct session *call_session(const struct call *call)
{
    return call->session;
}

#endif
