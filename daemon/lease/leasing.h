/* Life of a lease: a call asks for one, waits here for its turn, and gets a descriptor,
 * which is first its place in the line and then the lease (lease_file.h).
 *
 * A lease is handed over when every earlier change is durable. So the next voltd also
 * knows that the previous holder of the lock has ended, and does not start it again
 * beside the new one.
 *
 * A waiting call that goes without an answer leaves its place behind: the next call may
 * name the place and wait on. The place lasts as long as the descriptor, as a lease that
 * is held does.
 *
 * A lease ends at the last close of its descriptor, which one inotify watch on the
 * directory of the files reports. The kernel reports the close just before it drops the
 * lock. So a file that is still locked is checked again 1, 2, 4, ... ms later. The lock
 * alone tells that a lease has ended, so surplus events are harmless, and so is a lost
 * event that a later one follows. Without an inotify instance all files are checked,
 * again and again. */
#ifndef VOLTD_LEASE_LEASING_H
#define VOLTD_LEASE_LEASING_H

#include <volt/error.h>
#include <volt/task.h>
#include "daemon/core/leases.h"
#include "daemon/lease/lending.h"
#include "daemon/store/commit_log.h"

struct core;
struct leasing;

/* Opens the directory, recovers the leases of an earlier voltd that are held or wait, and
 * removes the other files. Call before there is any task. *ret_max: the greatest id of
 * all files; 0 without any. Returns 0, or -errno with the text in err. */
int leasing_open(struct core *core, int state_fd, uint64_t *ret_max,
                 struct volt_error *err);
/* Starts the task that finds leases that have ended. Returns 0, -ENOMEM or -ESHUTDOWN. */
int leasing_start(struct core *core);
/* Frees all; leases that are held stay held. Call after the runtime has shut down. NULL
 * allowed. */
void leasing_free(struct leasing *all);

/* Where the file of the lease that a call asks for is. */
enum lease_file_at {
    LEASE_FILE_NONE,
    LEASE_FILE_HERE,  /* its descriptor is still to be taken */
    LEASE_FILE_TAKEN, /* the client has the descriptor */
};

/* Asks for a lease: a leaf future. */
struct lease_acquire {
    struct core *core;    /* set by the caller, as the next four are */
    struct lease_ask ask; /* all except id and since_usec are set; borrowed until READY or
                           * _fini */
    struct quota *quota;  /* charged with the check for a deadlock; may be NULL */
    bool waits;           /* false: only a lease that is free at once */
    uint64_t place;       /* id of a place that an earlier call left; 0: none. Asks anew
                           * if it is unknown */
    int ret;              /* at READY: 0: the lease is the client's; -EAGAIN: it is not
                           * free; other -errno: see ret_err */
    struct volt_error ret_err;
    struct lease *lease; /* private, with the rest; NULL: none made, or no longer this
                          * call's */
    struct store_commit kept; /* barrier of the store, once the lease is granted */
    bool keeps;
    enum lease_file_at file;
    int fd;                 /* valid at LEASE_FILE_HERE */
    struct lending lending; /* the job around the call lends its slot */
};
/* Returns PENDING with ask.id set while the call waits in the line or for the store.
 * While the call waits in the line, the job that it runs in lends its slot. */
enum volt_poll lease_acquire_poll(struct volt_cx *cx, struct lease_acquire *a);
/* Returns the descriptor for the client, to be sent with the next reply; the caller owns
 * it. Returns -1 if the client has it, or if there is none yet. */
int lease_acquire_take_fd(struct lease_acquire *a);
/* Gives up a lease that is not READY, and its place, even if the client has a
 * descriptor. */
void lease_acquire_leave(struct volt_cx *cx, struct lease_acquire *a);
/* Ends the call. A lease that is not READY leaves its place to the client. */
void lease_acquire_fini(struct lease_acquire *a);

/* Frees leases of a user on one name by hand: those whose asking process has gone, while
 * a process that inherited the descriptor lives on. */
struct lease_free { /* the caller sets the first four, the rest is zero */
    struct core *core;
    uid_t uid;
    const char *name;
    struct quota *quota; /* charged with each step; may be NULL */
    uint64_t ret_count;  /* leases freed so far */
    uint64_t through;    /* private: id of the latest lease that was looked at */
};
/* Frees a portion. Returns whether another step is due. */
bool lease_free_step(struct volt_cx *cx, struct lease_free *f);
/* Returns whether the process that asked for a lease is known to have gone. */
bool lease_is_left(pid_t pid);

#endif
