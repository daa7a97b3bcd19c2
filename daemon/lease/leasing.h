/* Leases from the first to the last: what asks for one waits here for its turn, and gets
 * a descriptor that is its place in the line, and then the lease (lease_file.h).
 *
 * A lease is handed over when everything that has happened before is in the store: what
 * had the lock before it has ended for the next voltd as well, and does not begin anew
 * beside it.
 *
 * A call that waits and goes without an answer leaves its place: the next one may name it
 * and waits on. It is kept as long as the descriptor, like what is held.
 *
 * The end of a lease is the last close of that descriptor: an event of one inotify watch
 * on the directory of the files. The kernel reports it just before it drops the lock, so
 * a file that is still locked is looked at again 1, 2, 4, ... ms later. A lease is known
 * to have ended only by its lock, so an event too many or a lost one that another one
 * follows makes no difference; where no inotify instance is to be had all are looked at,
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

/* With the leases of an earlier voltd that are held still, or wait; the rest of their
 * files is removed. Before there is any task. *ret_max: the greatest id of all; 0: there
 * is none. 0; -errno with the text in err. */
int leasing_open(struct core *core, int state_fd, uint64_t *ret_max,
                 struct volt_error *err);
/* Starts to look for those that have ended. 0; -ENOMEM; -ESHUTDOWN. */
int leasing_start(struct core *core);
/* After the runtime has shut down; what is held stays held. NULL allowed. */
void leasing_free(struct leasing *all);

/* The file of a lease that is asked for. */
enum lease_file_at {
    LEASE_FILE_NONE,
    LEASE_FILE_HERE,  /* its descriptor is still to be taken, */
    LEASE_FILE_TAKEN, /* or the client has it */
};

/* Asks for a lease: leaf future. */
struct lease_acquire {
    struct core *core;    /* filled in by the caller, with the next three */
    struct lease_ask ask; /* but for id and since_usec; borrowed until READY or _fini */
    bool waits;           /* false: only if it can be had at once */
    uint64_t place;       /* it waits: of one that it has a descriptor of, whose call has
                           * gone; it asks anew if that is not known. 0: none */
    int ret;              /* of READY: 0: it has the lease; -EAGAIN: not at once; else an
                           * errno and its text */
    struct volt_error ret_err;
    struct lease *lease; /* private: NULL: none was made, or it is not this call's; ... */
    size_t looked; /* by the latest poll, to see that it does not wait for ever: entries
                    * (core.h) */
    struct store_commit kept; /* ... given, it waits for this */
    bool keeps;
    enum lease_file_at file;
    int fd; /* HERE */
    struct lending lending; /* private: what it is inside of lends its slot */
};
/* PENDING with ask.id set: it waits in the line, or for the store. While it is in the
 * line, the job that it is asked for inside of lends its slot. */
enum volt_poll lease_acquire_poll(struct volt_cx *cx, struct lease_acquire *a);
/* The descriptor for the client, which goes with the next reply: the caller's. -1: it has
 * it, or there is none yet. */
int lease_acquire_take_fd(struct lease_acquire *a);
/* One that is not READY waits no longer, whatever descriptor the client has. */
void lease_acquire_leave(struct volt_cx *cx, struct lease_acquire *a);
/* One that is not READY goes, and leaves its place to the client. */
void lease_acquire_fini(struct lease_acquire *a);

/* Leases of a user's on one name are given back by hand: those whose process, which has
 * asked for them, has gone, while what has inherited them lives on. */
struct lease_free { /* zero-initialised, but for the first three */
    struct core *core;
    uid_t uid;
    const char *name;
    uint64_t ret_count;  /* so far */
    size_t looked;       /* of the latest portion */
    uint64_t through;    /* private: id of the latest that was looked at */
};
/* A portion. Returns whether another one is due. */
bool lease_free_step(struct volt_cx *cx, struct lease_free *f);
/* Whether the process that has asked for a lease is known to have gone. */
bool lease_is_left(pid_t pid);

#endif
