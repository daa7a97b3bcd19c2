/* A Varlink method: a poll function over the call's own state; and what it sees of the
 * call.
 *
 * The connection's task reads one call at a time, looks the method up, checks the flags,
 * allocates state_size zeroed bytes and polls until READY. Replies go into the
 * connection's output buffer in order; call_drained_poll() waits while a slow reader
 * keeps it full. A method that waits is made of libvolt leaves like any other task; drop
 * runs also when the client goes away in the middle. */
#ifndef VOLTD_CALL_METHOD_H
#define VOLTD_CALL_METHOD_H

#include "daemon/auth/auth.h"
#include "daemon/job/owner.h"
#include "wire/writer.h"
#include <jansson.h>
#include <volt/volt.h>

struct call; /* one request being answered: call.h, for the server */
struct config;
struct control;
struct core;
struct known_texts;
struct event_texts;
struct job_env;
struct job_input;
struct stdin_files;
struct turn_counts;

enum method_flags {
    METHOD_MORE_REQUIRED = 1 << 0, /* without `more`: ExpectedMore */
    METHOD_MORE = 1 << 1,          /* supports `more` */
    METHOD_OUTLIVES = 1 << 2,      /* its stream ends with the daemon: never cut */
    METHOD_BULKY = 1 << 3,         /* its stream tells many kilobytes at a time */
    METHOD_READS = 1 << 4, /* changes nothing: given up when the caller has gone */
};

/* The first two members, by the row in auth/methods.def. */
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

/* What the methods work on; one per daemon. */
struct service {
    struct core *core;
    struct volt_runtime *rt;
    struct control *control; /* stop and reload: daemon/config/control.h */
    struct event_texts *event_texts;
    struct known_texts *environments; /* of specs; NULL: none are kept */
    struct known_texts *limits;       /* likewise: resource limits, as JSON */
    struct stdin_files *stdin_files;  /* NULL: no descriptors are taken */
    struct turn_counts *turns;
    bool root_only; /* voltd is root, and would run the jobs of others as root */
    bool user_mode; /* of one user, who is root there */
};

const struct service *call_service(const struct call *call);
/* The configuration as it was when the call began; the call's own copy. */
const struct config *call_config(const struct call *call);
const struct job_owner *call_peer(const struct call *call);
/* The process that has connected; 0: not known. */
pid_t call_peer_pid(const struct call *call);
/* The same with what it may do. */
const struct asker *call_asker(const struct call *call);
/* Borrowed; not NULL until call_parameters_read(). */
json_t *call_parameters(const struct call *call);
/* Nobody borrows from the parameters any more: their memory is given back. */
void call_parameters_read(struct call *call);
/* What the method has made of them until the call ends, or some of it is given back
 * before: counted in the user's share. */
void call_holds(struct call *call, size_t bytes);
void call_gives_back(struct call *call, size_t bytes);
/* The same of what a stream keeps while it waits, for ever perhaps. 0; -EDQUOT: it would
 * be more than MaxStreamMemoryPerUser=, and the call has been answered so. */
int call_keep(struct call *call, size_t bytes);
bool call_more(const struct call *call); /* the client asked for a stream */

/* A method that looks at many jobs, or makes much text, does so in portions (turn.h): it
 * counts what it has done, and goes on while this is READY. PENDING: others first; the
 * call is polled again. */
enum volt_poll call_turn_poll(struct volt_cx *cx, struct call *call);
void call_did(struct call *call, size_t entries, size_t bytes);
void call_did_facts(struct call *call, size_t facts); /* it has appended them */
/* The rest of this poll is more than a turn and cannot be divided: a thread that is no
 * worker goes on with it. */
void call_go_aside(struct volt_cx *cx, struct call *call);
/* What is left of the turn, at least 1 after a READY. */
size_t call_entries_left(const struct call *call);
size_t call_bytes_left(const struct call *call);
size_t call_facts_left(const struct call *call);

/* The object `env` of the parameter `spec`, if the same user has sent the same text
 * before: what it was read as, borrowed; the parameters have an empty object instead.
 * NULL: it is among the parameters ... */
struct job_env *call_env(const struct call *call);
/* ... and this is what it was read as (NULL: nothing), for the next time. Borrows env. */
void call_learn_env(struct call *call, struct job_env *env);

/* What is in the file whose descriptor came with the call (stdin_file.h). READY: new, in
 * *ret; or NULL, with the reason (NULL: no memory). */
enum volt_poll call_stdin_poll(struct volt_cx *cx, struct call *call,
                               struct job_input **ret, const char **ret_reason);

/* The parameter `specs` of SubmitBatch, which may have 200,000 entries, and a parameter
 * `ids` whose text is long: the entries are parsed when they are taken, so that neither a
 * tree of all of them nor a poll that parses them all is needed. Among the parameters
 * such a list is empty; one that is not held back so is there whole, and is taken in the
 * same way. How many there are, before the first is taken (an empty list may count as
 * one) ... */
size_t call_list_size(const struct call *call);
/* ... and the next: 1 and a new reference; 0: there is no more; -EINVAL: not JSON;
 * -E2BIG: it needs more memory than MaxParseMemory=; -ENOMEM. */
int call_list_next(struct call *call, json_t **ret);
/* The same where it is a plain short word, which is so of most ids: its text. False: it
 * is not, and has not been taken. */
bool call_list_next_word(struct call *call, char *ret, size_t size);

/* Queue the final reply; they take parameters (NULL: there was no memory for them, which
 * ends the connection). They return READY, to be returned from poll. Exactly one final
 * reply per call. */
enum volt_poll call_reply(struct call *call, json_t *parameters);
/* The same for parameters that were written as text, an object; takes the buffer. */
enum volt_poll call_reply_text(struct call *call, struct wire_writer *parameters);
enum volt_poll call_error(struct call *call, const char *error, json_t *parameters);
/* org.varlink.service.InvalidParameter naming the parameter; the text goes into the
 * additional parameter "reason". */
enum volt_poll call_invalid_parameter(struct call *call, const char *parameter,
                                      const char *reason);
/* Answers nothing and closes the connection: there is not even memory for an answer. */
enum volt_poll call_abort(struct call *call);
/* A reply with continues: true; takes parameters. Then call_drained_poll
 * before the next. */
int call_continue(struct call *call, json_t *parameters);
int call_continue_text(struct call *call, struct wire_writer *parameters);
/* READY when the output buffer is below its high-water mark, and there is room in the
 * user's share for another reply. */
enum volt_poll call_drained_poll(struct volt_cx *cx, struct call *call);
/* Attaches a descriptor to the next reply (SCM_RIGHTS with its first byte); takes fd. */
int call_push_fd(struct call *call, int fd);

#endif
