/* Directories of one voltd, and the locks that make them its own.
 *
 *   runtime dir  sockets, lock             wire/address.h; mode 0700 for a user
 *   state dir    lock, output, rec (user)  /var/lib/voltd, or $XDG_STATE_HOME/voltd
 *                runtime (user)            a link to the runtime dir: wire/user_dirs.h
 *   record dir   exit records of jobs      /run/voltd-rec, or <state dir>/rec
 *   output dir   output files of jobs      <state dir>/output
 *   scripts dir  scripts while they run    <state dir>/scripts: keeper/script_file.h
 *
 * Two daemons must share neither sockets nor state, so a file "lock" in each of these two
 * directories has a record lock (F_SETLK). The kernel drops the lock with the process, so
 * no stale lock is left. The kernel also knows the owner, and children do not inherit the
 * lock. A flock() would outlive a killed voltd in a keeper between fork and exec. Earlier
 * versions knew flock() alone and read the owner's pid from the file: it is taken as
 * well, and counts while that process lives. A process loses its record lock when it
 * closes any descriptor of the file, so nothing else in voltd opens the file.
 *
 * tmpfiles.d makes the record directory of system mode, because systemd would delete a
 * RuntimeDirectory= at stop. With a state dir given by hand, the records are in the state
 * dir. */
#ifndef VOLTD_PATHS_H
#define VOLTD_PATHS_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>
#include <volt/error.h>
#include "wire/address.h"

struct paths {
    char runtime_dir[ADDRESS_PATH_MAX + 1];
    struct address socket;
    struct address control_socket;
    char state_dir[PATH_MAX];
    char record_dir[PATH_MAX];
    char output_dir[PATH_MAX];
    int runtime_lock, state_lock; /* descriptors; -1: not held */
    pid_t holder;                 /* another voltd that holds one; 0: none is known */
};

/* Computes the directories; touches nothing. runtime_dir and state_dir may be relative;
 * NULL: the default. Returns 0, or -ENAMETOOLONG, -ENOENT (no home) with the text in
 * err. */
int paths_init(struct paths *p, bool user, const char *runtime_dir, const char *state_dir,
               struct volt_error *err);

/* Makes missing directories, mode 0700, and takes both locks. Returns:
 *   0            success
 *   -EBUSY       another voltd has a lock; err names its pid
 *   -EPERM       a directory is another user's, or others can write in it
 *   other errno  with the text in err */
int paths_claim(struct paths *p, struct volt_error *err);

/* Returns the home of the caller: user_home(), or the one of its account. NULL: neither
 * is an absolute path. Call before the first thread. */
const char *paths_home(void);

/* Releases the locks; the directories stay. Call after paths_init() only. */
void paths_fini(struct paths *p);

#endif
