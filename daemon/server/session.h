/* A session: the conversation on one connection, without its socket.
 *
 * Bytes go in (session.in), calls are answered in the order in which they came, bytes
 * come out (session.out). A call (daemon/call/call.h) sees parts of the session as its
 * caller. A message that is not a Varlink call ends the session; earlier answers are
 * still sent.
 *
 *   invalid JSON, not an object, no method, an unknown      closes the session
 *   header field without a dot, a flag that is not a
 *   boolean, two flags
 *   a message above a limit (length, depth, values)         error, then closes
 *   more than the user's share of memory (share.h)          error
 *   everything else: see dispatch.c                         error
 *   any of these errors for a oneway call                   nothing */
#ifndef VOLTD_SERVER_SESSION_H
#define VOLTD_SERVER_SESSION_H

#include "daemon/call/call.h"
#include "daemon/config/config.h"
#include "wire/frame.h"

#define SESSION_SHORT 4096 /* bytes; a longer call counts as long */

struct session {
    struct config config;
    /* NULL, or called before each message, to session_configure(). */
    void (*between_calls)(struct session *s);
    struct turn turn; /* its owner begins and ends it */
    struct frame_reader in;
    struct output out;
    struct call call;             /* the current call, or the next one */
    struct stdin_file stdin_file; /* came with this call, or a message in `in` */
    size_t stdin_end;             /* end of the bytes in `in` that it came with */
    uint64_t messages;            /* taken so far */
    bool drains;                  /* goes on when some of `out` has been sent */
    bool closing;                 /* no further call; `out` is still sent */
};

enum session_state {
    SESSION_WANTS_INPUT, /* no current call, no whole message */
    SESSION_WANTS_ROOM,  /* a message is there, but no room for its call */
    SESSION_IN_CALL,     /* the call waits for something */
    SESSION_FULL,        /* the peer has to read first */
    SESSION_MORE_CALLS,  /* let others run: max_pipelined_calls were answered, or the turn
                          * is over */
    SESSION_CLOSING,
};

/* Borrows service and interfaces. The session must not move. */
void session_init(struct session *s, const struct service *service,
                  const struct interface *const *interfaces, const struct asker *peer,
                  const struct config *config);
void session_fini(struct session *s);
/* Copies config; between calls only: a call keeps the configuration it began with. */
void session_configure(struct session *s, const struct config *config);
/* Frees empty buffers. */
void session_trim(struct session *s);
/* Answers an error to the call that waits for room: the next one or the current stream. A
 * session whose message is not yet whole closes. */
void session_refuse_room(struct session *s);
/* Notes that a descriptor arrived in stdin_file, with the bytes filled in last. */
void session_got_stdin(struct session *s);
/* Notes a message that ended with a line end instead of NUL, as the connection ends. */
void session_note_rest(const struct session *s);
/* Answers the calls that it can. */
enum session_state session_step(struct volt_cx *cx, struct session *s);
/* Drops the current call without a final answer, and closes. */
void session_cut(struct session *s);

/* Notes that the current message is no call, and closes. */
void session_no_call(struct session *s, const char *why);

/* --- for dispatch.c ----------------------------------------------------------------- */
/* Parses the header, looks the method up and sets s->call.method. On failure the call was
 * answered, or the session closes. Takes message. */
void dispatch(struct session *s, json_t *message);

/* org.varlink.service, part of every listener. */
extern const struct interface service_interface;
/* Returns the interface of this name if the call may use it, otherwise NULL. */
const struct interface *call_interface(const struct call *call, const char *name,
                                       size_t len);

#endif
