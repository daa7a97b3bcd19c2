/* A session: the conversation on one connection, without its socket.
 *
 * Bytes go in (session.in), calls are answered one after the other in the order in which
 * they came, bytes come out (session.out). A call (daemon/call/call.h) sees the session's
 * parts as its caller's. Whatever is not a call by the rules of Varlink
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

#include "daemon/call/call.h"
#include "daemon/config/config.h"
#include "wire/frame.h"

#define SESSION_SHORT 4096 /* bytes; a call of more is a long one */

struct session {
    struct config config;
    /* Called before each message is looked at; NULL: nobody. The time to configure. */
    void (*between_calls)(struct session *s);
    struct turn turn; /* its owner begins and ends it */
    struct frame_reader in;
    struct output out;
    struct call call;             /* in hand, or the next one */
    struct stdin_file stdin_file; /* that came with what is in `in`, or with the call; */
    size_t stdin_end;             /* in `in`: it came with bytes that end here */
    uint64_t messages;            /* taken so far */
    bool drains;                  /* goes on when some of `out` has gone */
    bool closing;                 /* no further call; what is in `out` still goes */
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

/* Borrows service and interfaces. It must not move. */
void session_init(struct session *s, const struct service *service,
                  const struct interface *const *interfaces, const struct asker *peer,
                  const struct config *config);
void session_fini(struct session *s);
/* Between calls only: a call keeps the configuration that it began with. */
void session_configure(struct session *s, const struct config *config);
/* Gives the memory of empty buffers back. */
void session_trim(struct session *s);
/* The call that waits for room, the next one or the stream in hand, gets an error
 * instead; of one that has not come whole the session closes. */
void session_refuse_room(struct session *s);
/* stdin_file has come, with the bytes that were filled in last. */
void session_got_stdin(struct session *s);
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
/* The interface of this name that the call may use, or NULL. */
const struct interface *call_interface(const struct call *call, const char *name,
                                       size_t len);

#endif
