/* Files of leases: `<state dir>/leases/<id>`, one for each lease that is held or waits.
 *
 * voltd opens the file, takes a shared lock of flock(2) on it, and hands the descriptor
 * to the client. Children of the client inherit the descriptor. The kernel drops the lock
 * at the last close, however the processes ended, and at a reboot. So the lock tells this
 * voltd and the next one whether the lease goes on; a pid or a connection could not.
 *
 * The file says what the lease is and whether it waits. The file is written before it is
 * locked, so a locked file is complete. While a locked file cannot be read, voltd does
 * not start: it could grant the lock to a second process.
 *
 * A waiting lease keeps its place in the line by its id, over a restart of voltd and a
 * lost connection. The client may come back at any time: its place lasts as long as its
 * descriptor.
 *
 * Rejected: a lease that is a connection, kept for some time after a restart of voltd
 * until the client reconnects. If volt-lock were killed while its command runs, or
 * stopped for longer, a second process would get the lock. */
#ifndef VOLTD_LEASE_LEASE_FILE_H
#define VOLTD_LEASE_LEASE_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include "daemon/core/leases.h"

/* Opens the directory of the files, which is made if it is missing. Returns a descriptor
 * or -errno. */
int lease_dir_open(int state_fd);
/* Calls fn for the id of each file until fn returns a negative number. Returns that
 * number; 0; or -errno, and some files may not have been found. */
int lease_dir_scan(int dir_fd, int (*fn)(uint64_t id, void *arg), void *arg);
/* Returns the id in the name of a file; 0 if the name is not that of a lease's file. */
uint64_t lease_file_id(const char *name);

/* Makes the file of a lease that waits or is held, and locks it. *ret_fd: a descriptor
 * for the client, to read alone. Returns 0, or -errno and no file. Blocks on the disk, as
 * all do. */
int lease_file_make(int dir_fd, const struct lease_ask *ask, bool waits, int *ret_fd);
/* Writes that the lease is held since since_usec, and that its semaphore had so many
 * permits. The rest stays. Returns 0, or -errno and either state in the file. */
int lease_file_give(int dir_fd, uint64_t id, uint64_t since_usec, uint64_t had);
/* Returns 1 if the file is locked, 0 if it is not or does not exist, -errno if that is
 * not known. */
int lease_file_is_held(int dir_fd, uint64_t id);

/* Contents of a file. The texts of ask point into this struct. */
struct lease_file_contents {
    struct lease_ask ask;
    bool waits;
    char name[JOB_CLAIM_BYTES + 1], command[LEASE_COMMAND + 1];
};
/* Returns:
 *   0                 success
 *   -EBADMSG          the file is damaged
 *   -EPROTONOSUPPORT  a newer voltd wrote the file
 *   other -errno      the file cannot be opened or read */
int lease_file_read(int dir_fd, uint64_t id, struct lease_file_contents *ret);
/* Returns 0 or -errno. */
int lease_file_remove(int dir_fd, uint64_t id);

#endif
