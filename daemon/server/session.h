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
 *   more than the user's share of memory (share.h)          error
 *   everything else: see dispatch.c                         error
 *   any of these errors for a oneway call                   nothing */
#ifndef VOLTD_SERVER_SESSION_H
#define VOLTD_SERVER_SESSION_H

#include "daemon/config/config.h"
#include "daemon/server/method.h"
#include "daemon/server/output.h"
#include "daemon/server/turn.h"
#include "wire/frame.h"

#define SESSION_SHORT 4096 /* bytes; a call of more is a long one */

struct session;

struct call {
    struct session *session;
    const struct method *method; /* NULL: no call in hand */
    json_t *message;    /* the whole of it, but for a list's entries; NULL: read */
    json_t *parameters; /* a reference of its own */
    bool holds_message; /* its text is in session.in, for the list */
    size_t memory;      /* that its values take, roughly, until they are read */
    size_t made;        /* what it makes of them takes */
    const char *list;   /* its name among the parameters */
    size_t list_at;     /* entries, or bytes of the list's text, that were taken */
    bool more, oneway, answered;
    void *state;
};

struct session {
    const struct service *service;
    const struct interface *const *interfaces; /* of the listener */
    struct job_owner peer;
    bool admin; /* the peer is one */
    struct config config;
    /* Called before each message is looked at; NULL: nobody. The time to configure. */
    void (*between_calls)(struct session *s);
    /* Is there room for a call, or for the next reply of a stream? False: the task is
     * woken when to ask again, or what is in `out` has to go first. keep: may a stream
     * keep so many bytes more; 0: it has ended. NULL: always. */
    bool (*room)(struct volt_cx *cx, struct session *s, bool is_long);
    bool (*keep)(struct session *s, size_t bytes);
    struct turn turn; /* its owner begins and ends it */
    struct frame_reader in;
    struct output out;
    struct call call;
    uint64_t messages; /* taken so far */
    bool drains;       /* goes on when some of `out` has gone */
    bool closing;      /* no further call; what is in `out` still goes */
    bool broken;       /* a reply was lost: not even the call in hand goes on */
};

enum session_state {
    SESSION_WANTS_INPUT, /* no call in hand, no whole message there */
    SESSION_WANTS_ROOM,  /* there is one, but no room for its call */
    SESSION_IN_CALL,     /* the call waits for something */
    SESSION_FULL,        /* the peer has to read first */
    SESSION_MORE_CALLS,  /* others first: max_pipelined_calls were answered in one go, or
                          * the turn is over */
    SESSION_CLOSING,
};

/* Borrows service and interfaces. */
void session_init(struct session *s, const struct service *service,
                  const struct interface *const *interfaces, const struct job_owner *peer,
                  const struct config *config);
void session_fini(struct session *s);
/* Between calls only: a call keeps the configuration that it began with. */
void session_configure(struct session *s, const struct config *config);
/* Bytes that it has set aside for its peer, but for those of idle buffers. */
size_t session_holds(const struct session *s);
/* Gives the memory of empty buffers back. */
void session_trim(struct session *s);
/* The call that waits for room, the next one or the stream in hand, gets an error
 * instead; of one that has not come whole the session closes. */
void session_refuse_room(struct session *s);
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
