/* The cgroup (v2) of an attempt that is paused, which freezes all of its processes: they
 * stand still without a signal, so that no SIGCONT of others continues them, and their
 * parents see nothing. It needs a cgroup of the keeper's that was delegated, or is right
 * below one, as systemd does by Delegate=; without that there is none, and the tree is
 * stopped by SIGSTOP alone.
 *
 * It is made at the first pause: jobs that are never paused pay an rmdir and an open that
 * fail.
 * One for each job would cost more than the job, where that is short: to enter a cgroup
 * waits for all processors.
 *
 * What is moved into it stands still by SIGSTOP, so it does not fork meanwhile. What
 * somebody continues in between may, and its child is where it was itself: therefore
 * walks are repeated until one finds nobody outside, and once more when all is frozen, as
 * then nobody forks. SIGCONT is sent last: it takes the stop away, and they stay frozen.
 *
 * Only what is in the keeper's own cgroup is moved. A job that has put processes of its
 * own into another one, with limits perhaps, is stopped by SIGSTOP alone; what is below
 * the cgroup of its attempt is frozen with it.
 *
 * SIGKILL ends what is frozen; any other signal is taken when it is thawed.
 *
 * The name is that of the record, behind the owner that voltd says in SIGNAL, the
 * generation of its record directory: another voltd in the same cgroup, a job of this one
 * perhaps, has jobs with the same ids, and each keeper of one voltd, an earlier version
 * included, has to find what the one before has frozen. So the keeper remembers nothing.
 * One that finds no such cgroup at its own place looks where the main process is: an
 * earlier one may have been elsewhere.
 *
 * When the record goes, what the attempt has left goes on, and the cgroup goes if it is
 * empty. One that is not stays as long as the keeper's. What was left frozen stays so if
 * voltd dies between the removal of the record and the SIGCONT that follows. */
#ifndef DAEMON_KEEPER_FREEZER_H
#define DAEMON_KEEPER_FREEZER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "daemon/job/key.h"
#include "daemon/keeper/record.h"
#include "daemon/keeper/tree.h"

#define FREEZER_PATH_MAX 4096 /* of a cgroup, below the mount */

struct freezer {
    /* Where the kernel shows processes, and the mount of the hierarchy: /proc and
     * /sys/fs/cgroup, but for tests. */
    const char *proc, *mount;
    int dir_fd; /* the delegated cgroup; -1: none is, and nothing is made in it */
    char path[FREEZER_PATH_MAX];
};

/* Of the cgroup of an attempt: "volt-<owner>-<record>". */
struct freezer_name {
    char text[sizeof("volt--") + 2 * RECORD_ID_SIZE + JOB_KEY_TEXT_MAX];
};
struct freezer_name freezer_name(const uint8_t owner[static RECORD_ID_SIZE],
                                 const struct job_key *key);

/* Finds the caller's cgroup, if it was delegated. Borrows both names. */
void freezer_init(struct freezer *ret, const char *proc, const char *mount);
/* How many processes the tree has, if all of them are frozen; otherwise 0. */
uint32_t freezer_holds(const struct freezer *f, const struct freezer_name *name,
                       const struct tree_root *root);
/* The tree, which was stopped, is frozen and continued. False: it stays stopped, as it
 * cannot be frozen, or not in limit_usec, or its record, a descriptor, has gone. */
bool freezer_freeze(const struct freezer *f, const struct freezer_name *name,
                    int record_fd, const struct tree_root *root, uint64_t limit_usec);
/* Nothing happens if it has no cgroup. */
void freezer_thaw(const struct freezer *f, const struct freezer_name *name, pid_t main);
/* When its record has gone: the cgroup goes if it is empty, otherwise what is left in it
 * is thawed. */
void freezer_remove(const struct freezer *f, const struct freezer_name *name);

#endif
