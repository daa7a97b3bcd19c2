/* voltd's end of the link to a voltd-keeper: one connection, driven by one libvolt task,
 * and requests as leaf futures. keeper_links.h says which keepers there are.
 *
 * keeper_link_open() connects to the keeper that listens on the socket. If none does,
 * keeper_link_open() binds the socket and starts one. Then it waits for the answer to
 * HELLO. As the function blocks, it is meant for voltd's start, before the runtime. If
 * the keeper is stopped, keeper_link_open() gives up waiting, and the link's task goes
 * on. A START of an earlier voltd may still be carried out: only its record says so, not
 * the answer to HELLO.
 *
 * When the connection breaks, calls that were sent answer -ECONNRESET. Only the record
 * says whether the keeper carried them out (record_probe). Calls that were not sent wait
 * for the next keeper, which the link finds or starts by itself.
 *
 * A link that rests (rest_usec) connects when a call waits, and closes the connection
 * when the keeper has had nothing to answer for so long. */
#ifndef DAEMON_LINK_KEEPER_LINK_H
#define DAEMON_LINK_KEEPER_LINK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <volt/error.h>
#include <volt/task.h>
#include "base/list.h"
#include "daemon/job/key.h"
#include "daemon/keeper/protocol.h"

struct keeper_link;

/* Notifications and questions of a link that rests, about its user. Called without a
 * lock. */
struct keeper_callbacks {
    /* The link is connected (here), or no longer. Returns 0; -ENOMEM: the link closes the
     * connection and tries again. */
    int (*here)(void *arg, uid_t uid, bool here);
    /* Returns whether jobs wait for the connection. */
    bool (*awaits)(void *arg, uid_t uid);
    void *arg;
};

struct keeper_link_options {
    const char *socket_path;
    uint64_t rest_usec; /* connects only for calls, and disconnects so long after the last
                         * answer; 0: stays connected from the start */
    uid_t uid;          /* user of a link that rests, for `callbacks` */
    const struct keeper_callbacks
        *callbacks;          /* borrowed for the life of the link; NULL: none */
    int record_fd;           /* directory of records; borrowed */
    const char *scripts_dir; /* for the keeper: script_file.h; NULL: none */
    const char *program;     /* absolute path of voltd-keeper; NULL: never starts one */
    uint64_t descriptors;    /* soft RLIMIT_NOFILE of a started keeper and its jobs; 0:
                           * voltd's own */
};

/* Opens a link; copies opt. Returns 0 with *ret_link, for keeper_link_free(); -errno with
 * a text in *err. */
int keeper_link_open(const struct keeper_link_options *opt, struct volt_error *err,
                     struct keeper_link **ret_link);
/* Makes the task that serves the calls. Returns 0 with *ret_task, for volt_task_spawn();
 * -ENOMEM or another errno. */
int keeper_link_task(struct keeper_link *link, struct volt_runtime *rt, void **ret_task);
/* Makes and spawns that task. Returns like both. */
int keeper_link_start(struct keeper_link *link, struct volt_runtime *rt);
/* Connects a link that rests, and retries while jobs wait (struct keeper_callbacks). Any
 * thread. */
void keeper_link_want(struct keeper_link *link);
/* Closes the connection and frees the link; NULL is allowed. The keeper goes on with its
 * jobs. A keeper without jobs leaves, and this waits for its end. settled: the end of
 * every job was seen, so the keeper has no jobs soon. After the runtime was shut down; no
 * call may be left. */
void keeper_link_free(struct keeper_link *link, bool settled);

struct keeper_link_info {
    uint32_t keeper_pid;
    uint32_t live;     /* shims of the keeper at HELLO */
    uint32_t started;  /* keepers that this link has started */
    uint32_t connects; /* HELLOs answered */
};
/* Returns the facts as of the latest HELLO. Any thread. */
void keeper_link_info(struct keeper_link *link, struct keeper_link_info *ret);
/* Returns whether no HELLO was answered yet. Any thread. */
bool keeper_link_is_late(struct keeper_link *link);
/* Returns for how long the keeper has been missing, or has left requests without an
 * answer; 0: it answers, or no request waits. Any thread. */
uint64_t keeper_link_away_usec(struct keeper_link *link);

/* Arguments of START beside the key and struct launch. */
struct keeper_start_args {
    int record_fd;        /* right to run: record_make.h; the call takes it */
    uint32_t record_seed; /* seed of that record */
    void *launch;         /* small launch block, from launch_encode(); NULL: use
                           * launch_fd */
    int launch_fd;        /* from launch_memfd() */
    uint64_t launch_size;
    int stdin_fd, stdout_fd, stderr_fd; /* -1: see struct launch; stderr: as stdout */
    int script_fd;                      /* KEEPER_FD_SCRIPT; -1: none */
    uint32_t umask;
    enum keeper_kill_mode kill_mode;
    struct keeper_limits *limits; /* of its cgroup, on the heap; NULL: none */
};

/* A request: a leaf future. Must not move between _init and _fini. */
struct keeper_call {
    struct keeper_link *link; /* the rest is private */
    struct list_node node;
    struct volt_waker waker;
    int state, lane;
    int polled; /* owner only, with the next */
    int unsent; /* as of the latest poll */
    uint64_t sent_usec;
    int fds[KEEPER_FDS_MAX], fds_n;
    int record_fd; /* of a START that was not sent, owned; -1: none */
    size_t size, tail_size;
    const void *tail; /* bytes after the request */
    union {
        struct keeper_head head;
        struct keeper_start start;
        struct keeper_signal signal;
    } request;
    struct keeper_reply reply;
};

/* In this function and the next, link may be NULL: then the answer is -ENOTCONN.
 *
 * Takes args->record_fd, which is -1 then. The call closes it when it is sent, so that
 * only the keeper has it, or when it cannot be sent. The caller keeps the other
 * descriptors and the launch block, which must stay until READY or _fini. */
void keeper_call_init_start(struct keeper_call *c, struct keeper_link *link,
                            const struct job_key *key, struct keeper_start_args *args);
/* Makes a signal. Sending it opens the record, which goes with it. */
void keeper_call_init_signal(struct keeper_call *c, struct keeper_link *link,
                             const struct job_key *key, int sig, enum keeper_scope scope);
/* Marks a signal as a repetition: an earlier one has left survivors. Few of these are
 * sent at a time, so that others need not wait for them. After _init_signal. */
void keeper_call_is_again(struct keeper_call *c);
/* Sends the call, or queues it until it can be sent. Only poll reports the answer. Once,
 * before the first poll. Any thread. */
void keeper_call_send(struct keeper_call *c);
/* READY when answered. The first poll sends the call if that was not done. */
enum volt_poll keeper_call_poll(struct volt_cx *cx, struct keeper_call *c);
/* Takes back a call that was not sent. Returns whether it did: the call is READY with
 * -ECANCELED, and no keeper has seen it. */
bool keeper_call_withdraw(struct keeper_call *c);
/* Returns whether the call was unsent at the latest poll, and may be withdrawn. */
bool keeper_call_is_unsent(const struct keeper_call *c);
/* Returns the status of struct keeper_reply, -ECONNRESET or -ECANCELED. After READY. */
int keeper_call_status(const struct keeper_call *c);
/* Returns the reply: pid of the shim, number and pids of survivors. After READY. */
const struct keeper_reply *keeper_call_reply(const struct keeper_call *c);
/* Finishes a call in any state, also zero-initialised. Does not undo a call that was
 * sent. */
void keeper_call_fini(struct keeper_call *c);

#endif
