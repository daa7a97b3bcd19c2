/* voltd's end of the link to a voltd-keeper: one connection, driven by one libvolt task,
 * and requests as leaf futures. keeper_links.h says which keepers there are.
 *
 * keeper_link_open() connects to the keeper that listens on the socket, or binds the
 * socket and starts one, and returns when HELLO has been answered. It blocks and is meant
 * for voltd's start, before the runtime. A keeper that stands still is not waited for:
 * the link's task goes on. What an earlier voltd has asked for may be started still; its
 * records say so, with or without an answer to HELLO.
 *
 * When the connection breaks, calls that had been sent answer -ECONNRESET: whether the
 * keeper did it is written in the record, nowhere else (record_probe). Calls not yet sent
 * wait and go to the next keeper, which the link finds or starts by itself.
 *
 * A link that rests (rest_usec) connects when a call waits, and leaves a keeper that has
 * had nothing to answer for so long. */
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

/* What a link that rests tells, and asks, about its user, without a lock: it is connected
 * (here), or no longer. */
struct keeper_told {
    /* 0; -ENOMEM: the connection is given up, and tried again. */
    int (*here)(void *arg, uid_t uid, bool here);
    /* Whether jobs wait for it to be here. */
    bool (*awaits)(void *arg, uid_t uid);
    void *arg;
};

struct keeper_link_options {
    const char *socket_path;
    uint64_t rest_usec; /* connected only for calls and for so long after the latest
                                answer; 0: always, from the start */
    uid_t uid;          /* of a link that rests, with the next */
    const struct keeper_told *told; /* borrowed as long as the link; NULL: nobody */
    int record_fd;                  /* the directory of records; borrowed */
    const char *scripts_dir;        /* of the keeper: script_file.h; NULL: none */
    const char *program;  /* absolute path of voltd-keeper; NULL: never start one */
    uint64_t descriptors; /* soft RLIMIT_NOFILE of a keeper that is started, and so of
                                its jobs; 0: voltd's own */
};

/* Copies opt. 0 and *ret_link (free with keeper_link_free); -errno with a
 * text in *err. */
int keeper_link_open(const struct keeper_link_options *opt, struct volt_error *err,
                     struct keeper_link **ret_link);
/* Spawns the task that serves the calls. 0; -ENOMEM; -ESHUTDOWN. */
int keeper_link_start(struct keeper_link *link, struct volt_runtime *rt);
/* Connects a link that rests, and tries as long as jobs wait (keeper_told). Any
 * thread. */
void keeper_link_want(struct keeper_link *link);
/* Closes the connection. The keeper and its jobs go on; one without jobs leaves, and that
 * is waited for. settled: the end of every job has been seen, so that this will be soon.
 * After the runtime was shut down; no call may be left. NULL is allowed. */
void keeper_link_free(struct keeper_link *link, bool settled);

struct keeper_link_info {
    uint32_t keeper_pid;
    uint32_t live;     /* shims of that keeper at HELLO */
    uint32_t started;  /* keepers this link has started */
    uint32_t connects; /* HELLOs answered */
};
/* As of the latest HELLO. Any thread. */
void keeper_link_info(struct keeper_link *link, struct keeper_link_info *ret);
/* No HELLO has been answered yet. Any thread. */
bool keeper_link_is_late(struct keeper_link *link);
/* For how long there has been no keeper, none that lives to answer, or one that does not
 * answer; 0: it answers, or nobody has asked it anything. Any thread. */
uint64_t keeper_link_away_usec(struct keeper_link *link);

/* How START dresses the job; key, argv and the rest of struct launch come beside it. */
struct keeper_start_args {
    int record_fd;        /* the right to run: record_make.h; goes with the call */
    uint32_t record_seed; /* of it */
    void *launch;         /* a small launch block, from launch_encode(); NULL: */
    int launch_fd;        /* from launch_memfd() */
    uint64_t launch_size;
    int stdin_fd, stdout_fd, stderr_fd; /* -1: see struct launch; stderr: as stdout */
    int script_fd;                      /* KEEPER_FD_SCRIPT; -1: none */
    uint32_t umask;
    enum keeper_kill_mode kill_mode;
    struct keeper_limits *limits; /* of its cgroup; NULL: none. On the heap */
};

/* One request: a leaf future. Must not move between _init and _fini. */
struct keeper_call {
    struct keeper_link *link; /* the rest is private */
    struct list_node node;
    struct volt_waker waker;
    int state, lane;
    int polled; /* owner only, with the next */
    int unsent; /* as of the latest poll */
    uint64_t sent_usec;
    int fds[KEEPER_FDS_MAX], fds_n;
    int record_fd; /* of a START that was not sent; -1: none. Owned */
    size_t size, tail_size;
    const void *tail; /* follows the request */
    union {
        struct keeper_head head;
        struct keeper_start start;
        struct keeper_signal signal;
    } request;
    struct keeper_reply reply;
};

/* link NULL, for this and the next: there is none, and the answer is -ENOTCONN.
 *
 * Takes args->record_fd, which is -1 then: it is closed when it was sent, so that the
 * keeper alone has it, or when it will not be. The other descriptors and the launch block
 * stay the caller's and must stay until READY or _fini. */
void keeper_call_init_start(struct keeper_call *c, struct keeper_link *link,
                            const struct job_key *key, struct keeper_start_args *args);
/* The record goes with it, as it is when the call is sent. */
void keeper_call_init_signal(struct keeper_call *c, struct keeper_link *link,
                             const struct job_key *key, int sig, enum keeper_scope scope);
/* An earlier one has left survivors: few of these are on their way at a time, so that
 * they do not keep others waiting. After _init_signal. */
void keeper_call_is_again(struct keeper_call *c);
/* Sends it, or has it sent as soon as may be; only poll tells of the answer. Once, and
 * before the first poll. Any thread. */
void keeper_call_send(struct keeper_call *c);
/* READY: answered; the first poll sends what has not been sent. */
enum volt_poll keeper_call_poll(struct volt_cx *cx, struct keeper_call *c);
/* Takes it back, if it has not been sent. True: it is READY with -ECANCELED, and nobody
 * has heard of it. */
bool keeper_call_withdraw(struct keeper_call *c);
/* Whether the latest poll found it unsent: worth to be withdrawn. */
bool keeper_call_is_unsent(const struct keeper_call *c);
/* After READY: the status of struct keeper_reply, -ECONNRESET or -ECANCELED. */
int keeper_call_status(const struct keeper_call *c);
/* After READY: pid of the shim, counts and names of survivors. */
const struct keeper_reply *keeper_call_reply(const struct keeper_call *c);
/* Any state, zero-initialised included; a call that was sent is not undone. */
void keeper_call_fini(struct keeper_call *c);

#endif
