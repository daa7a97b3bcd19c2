/* Files of leases: `<state dir>/leases/<id>`, one for each that is held or waits.
 *
 * What has a lease, or waits for it, has the file open, with a shared lock of flock(2) on
 * it: by a descriptor that voltd has made and handed over, which the holder's children
 * inherit. The kernel drops the lock at the last close, whatever has ended the processes,
 * and at a reboot. So the lock says whether the lease goes on, to this voltd and to the
 * next one; a pid or a connection could not. What the lease is, and whether it waits,
 * stands in the file, which is written before it is locked: one that is locked is whole.
 * While one that voltd cannot read is locked it does not start: it would give the lock to
 * another as well.
 *
 * One that waits keeps its place in the line by its id, over a restart of voltd and a
 * lost connection. No time is set to its client for coming back: while it lives it has
 * its place.
 *
 * Rejected: a connection that is the lease, kept for a while after a restart of voltd for
 * a client that comes back. Where volt-lock was killed and its command goes on, or was
 * stopped for longer, another one would have the lock as well. */
#ifndef VOLTD_LEASE_LEASE_FILE_H
#define VOLTD_LEASE_LEASE_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include "daemon/core/leases.h"

/* The directory of them, made where it is missing: a descriptor or -errno. */
int lease_dir_open(int state_fd);
/* Calls fn for the id of each, until it is negative, which is returned. 0; -errno: there
 * may be others, which have not been found. */
int lease_dir_scan(int dir_fd, int (*fn)(uint64_t id, void *arg), void *arg);
/* Of the name of a file; 0: it is none of them. */
uint64_t lease_file_id(const char *name);

/* Makes the file of one that waits or is held, and locks it. *ret_fd: the descriptor for
 * its process, which can only be read. 0 or -errno, and there is no file. Blocks on the
 * disk, with the others. */
int lease_file_make(int dir_fd, const struct lease_ask *ask, bool waits, int *ret_fd);
/* One that waits is held, since then; had: of so many permits. All else stays as it was
 * asked for. 0 or -errno: it may be either. */
int lease_file_give(int dir_fd, uint64_t id, uint64_t since_usec, uint64_t had);
/* Whether it is locked. 1; 0: it is not, or there is no file; -errno: not known. */
int lease_file_is_held(int dir_fd, uint64_t id);

/* What a file says; what points to text points into it. */
struct lease_told {
    struct lease_ask ask;
    bool waits;
    char name[JOB_CLAIM_BYTES + 1], command[LEASE_COMMAND + 1];
};
/* 0; -EBADMSG: it is damaged; -EPROTONOSUPPORT: a newer voltd has made it; -errno. */
int lease_file_read(int dir_fd, uint64_t id, struct lease_told *ret);
/* 0 or -errno. */
int lease_file_remove(int dir_fd, uint64_t id);

#endif
