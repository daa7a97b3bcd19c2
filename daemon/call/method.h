/* A Varlink method: a poll function over the state of a call, and the functions by which
 * a method uses its call.
 *
 * The connection's task reads one call at a time, looks the method up, checks the flags,
 * allocates state_size zeroed bytes and polls until READY. Replies go into the
 * connection's output buffer in order; call_drained_poll() waits while a slow reader
 * keeps it full. A method that waits is made of libvolt leaves like any other task; drop
 * runs also when the client disconnects before the end. */
#ifndef VOLTD_CALL_METHOD_H
#define VOLTD_CALL_METHOD_H

#include "daemon/auth/auth.h"
#include "daemon/job/owner.h"
#include "daemon/job/quota.h"
#include "wire/writer.h"
#include <jansson.h>
#include <volt/volt.h>

struct call; /* the request that is being answered: call.h, for the server */
struct config;
struct control;
struct core;
struct known_texts;
struct event_texts;
struct job_env;
struct job_bytes;
struct stdin_files;
struct turn_counts;
struct malformed;

enum method_flags {
    METHOD_MORE_REQUIRED = 1 << 0, /* without `more`: ExpectedMore */
    METHOD_MORE = 1 << 1,          /* streams if `more` was asked for */
    METHOD_OUTLIVES = 1 << 2,      /* its stream ends with voltd: not cut while
                                    * draining */
    METHOD_BULKY = 1 << 3,         /* its stream sends many kilobytes at a time */
    METHOD_READS = 1 << 4, /* changes nothing: ended when the caller has disconnected */
};

/* Initialises the first two members from the row in auth/methods.def. */
#define METHOD_IS(interface_, name_)                                                     \
    .name = #name_, .operation = AUTH_OF_##interface_##_##name_

struct method {
    const char *name; /* "Submit" */
    enum auth_operation operation;
    unsigned flags;
    size_t state_size;
    enum volt_poll (*poll)(struct volt_cx *cx, struct call *call, void *state);
    void (*drop)(struct call *call, void *state); /* may be NULL */
};

struct interface {
    const char *name;                    /* "org.voltd.jobs" */
    const char *description;             /* the IDL text with its comments */
    const struct method *const *methods; /* NULL-terminated */
};

/* The service that all methods share; one per daemon. */
struct service {
    struct core *core;
    struct volt_runtime *rt;
    struct control *control; /* stop and reload: daemon/config/control.h */
    struct event_texts *event_texts;
    struct known_texts *environments; /* parsed `env` of specs; NULL: not kept */
    struct known_texts *limits;       /* parsed resource limits (JSON); NULL: not kept */
    struct stdin_files *stdin_files;  /* NULL: descriptors are not accepted */
    struct turn_counts *turns;
    struct malformed *malformed; /* NULL: not counted */
    bool root_only;              /* voltd is root and runs jobs of other users as root */
    bool user_mode;              /* voltd of one user, who counts as root there */
};

const struct service *call_service(const struct call *call);
/* Returns the configuration as it was when the call began: a copy of its own. */
const struct config *call_config(const struct call *call);
const struct job_owner *call_peer(const struct call *call);
/* Returns the pid that connected; 0: not known. */
pid_t call_peer_pid(const struct call *call);
/* Returns the peer with its rights. */
const struct asker *call_asker(const struct call *call);
/* Borrowed, until call_parameters_read(); not NULL before. */
json_t *call_parameters(const struct call *call);
/* Frees the parameters: the method borrows nothing from them any more. */
void call_parameters_read(struct call *call);
/* Books bytes that the method has allocated for what it made of the parameters in the
 * user's share. They are given back by call_gives_back(), or at the end of the call. */
void call_holds(struct call *call, size_t bytes);
void call_gives_back(struct call *call, size_t bytes);
/* Books bytes that a stream keeps while it waits, possibly for ever. 0; -EDQUOT: above
 * MaxStreamMemoryPerUser=, and the call has been answered with that limit. */
int call_keep(struct call *call, size_t bytes);
bool call_more(const struct call *call); /* the client asked for a stream */

/* A method that reads many jobs or writes much text works in portions (turn.h): it goes
 * on while this is READY. PENDING: other tasks run first, then the call is polled
 * again. */
enum volt_poll call_turn_poll(struct volt_cx *cx, struct call *call);
/* Returns the quota of the turn, not used up after READY of call_turn_poll(). The pointer
 * stays the same during the call. */
struct quota *call_quota(const struct call *call);
/* Charges it. */
void call_did(struct call *call, size_t entries, size_t bytes);
/* Moves the rest of this poll, which exceeds a turn and cannot be divided, to a thread
 * that is no worker. */
void call_go_aside(struct volt_cx *cx, struct call *call);

/* Returns the value of the parameter spec.env if the same user sent the same text before:
 * borrowed, and the parameters have an empty object instead. NULL: `env`, if any, is
 * among the parameters. */
struct job_env *call_env(const struct call *call);
/* Keeps env as the value of the text of spec.env for later calls. Borrows env; NULL:
 * keeps nothing. */
void call_learn_env(struct call *call, struct job_env *env);

/* Waits for the contents of the file whose descriptor came with the call (stdin_file.h).
 * READY: *ret is new, or NULL with *ret_reason (NULL there too: no memory). */
enum volt_poll call_stdin_poll(struct volt_cx *cx, struct call *call,
                               struct job_bytes **ret, const char **ret_reason);

/* Lists: the parameter `specs` of SubmitBatch, which may have 200,000 entries, and a
 * parameter `ids` whose text is long. Entries are parsed one by one when they are taken,
 * so that neither a tree of all of them nor a poll that parses all is needed; among the
 * parameters such a list is empty. Shorter lists stay among the parameters and are taken
 * by the same functions.
 *
 * Returns the number of entries; only before the first is taken. An empty list may count
 * as one. */
size_t call_list_size(const struct call *call);
/* Takes the next entry:
 *   1: *ret is a new reference
 *   0: no more entries
 *   -EINVAL: not JSON
 *   -E2BIG: needs more memory than MaxParseMemory=
 *   -ENOMEM */
int call_list_next(struct call *call, json_t **ret);
/* Takes the next entry as text if it is a short string without escapes, as most ids are.
 * False: it is not, and is not taken. */
bool call_list_next_word(struct call *call, char *ret, size_t size);

/* Append the final reply, exactly one per call, and return READY for the poll to return.
 * Take parameters (NULL: no memory for them, which ends the connection). */
enum volt_poll call_reply(struct call *call, json_t *parameters);
/* Like call_reply(), for an object already written as text; takes the buffer. */
enum volt_poll call_reply_text(struct call *call, struct wire_writer *parameters);
enum volt_poll call_error(struct call *call, const char *error, json_t *parameters);
/* Answers org.varlink.service.InvalidParameter with the name of the parameter; the text
 * is in the additional parameter "reason". */
enum volt_poll call_invalid_parameter(struct call *call, const char *parameter,
                                      const char *reason);
/* Closes the connection without an answer: there is no memory for one. */
enum volt_poll call_abort(struct call *call);
/* Appends a reply with continues: true; takes parameters. call_drained_poll() comes
 * before the next reply. */
int call_continue(struct call *call, json_t *parameters);
int call_continue_text(struct call *call, struct wire_writer *parameters);
/* READY when the output buffer is below its high-water mark and the user's share has room
 * for another reply. */
enum volt_poll call_drained_poll(struct volt_cx *cx, struct call *call);
/* Attaches a descriptor to the next reply (SCM_RIGHTS with its first byte); takes fd. */
int call_push_fd(struct call *call, int fd);

#endif
