/* A Varlink method: a poll function over the call's own state.
 *
 * The connection's task reads one call at a time, looks the method up, checks the flags,
 * allocates state_size zeroed bytes and polls until READY. Replies go into the
 * connection's output buffer in order; call_drained_poll() waits while a slow reader
 * keeps it full. A method that waits is made of libvolt leaves like any other task; drop
 * runs also when the client goes away in the middle. */
#ifndef VOLTD_SERVER_METHOD_H
#define VOLTD_SERVER_METHOD_H

#include "daemon/exec/manager.h"
#include "wire/writer.h"
#include <jansson.h>
#include <volt/volt.h>

struct call; /* one request being answered */
struct control;
struct event_texts;

enum method_flags {
    METHOD_MORE_REQUIRED = 1 << 0, /* without `more`: ExpectedMore */
    METHOD_MORE = 1 << 1,          /* supports `more` */
    METHOD_OUTLIVES = 1 << 2,      /* its stream ends with the daemon: never cut */
};

struct method {
    const char *name; /* "Submit" */
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
    struct manager *manager;
    struct volt_runtime *rt;
    struct control *control; /* stop and reload: daemon/control.h */
    struct event_texts *event_texts;
};

const struct service *call_service(const struct call *call);
/* The configuration as it was when the call began; the call's own copy. */
const struct config *call_config(const struct call *call);
const struct job_owner *call_peer(const struct call *call);
json_t *call_parameters(const struct call *call); /* borrowed object, never NULL */
bool call_more(const struct call *call);          /* the client asked for a stream */

/* Of SubmitBatch, whose parameter `specs` may have 200,000 entries: they are parsed when
 * they are taken, so that neither a tree of all of them nor a poll that parses them all is
 * needed. How many there are, before the first is taken (an empty list may count as one) ... */
size_t call_list_size(const struct call *call);
/* ... and the next: 1 and a new reference; 0: there is no more; -EINVAL: not JSON; -E2BIG:
 * it needs more memory than MaxParseMemory=; -ENOMEM. */
int call_list_next(struct call *call, json_t **ret);

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
/* READY when the output buffer is below its high-water mark. */
enum volt_poll call_drained_poll(struct volt_cx *cx, struct call *call);
/* Attaches a descriptor to the next reply (SCM_RIGHTS with its first byte); takes fd. */
int call_push_fd(struct call *call, int fd);

#endif
