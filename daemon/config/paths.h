/* The directories of one voltd, and the lock that makes them its own.
 *
 *   runtime dir  sockets, lock             wire/address.h; mode 0700 for a user
 *   state dir    lock, output, rec (user)  /var/lib/voltd, or $XDG_STATE_HOME/voltd
 *                runtime (user)            a link to the runtime dir: wire/user_dirs.h
 *   record dir   exit records of jobs      /run/voltd-rec, or <state dir>/rec
 *   output dir   output files of jobs      <state dir>/output
 *   scripts dir  scripts while they run    <state dir>/scripts: keeper/script_file.h
 *
 * Two daemons must share neither the sockets nor the state, so both directories are
 * locked: a file "lock" each, with a record lock (F_SETLK). The kernel drops it with the
 * process, so there is nothing stale to clean up, knows whose it is, and no child
 * inherits it: a lock of flock() outlives a killed voltd in the keeper that it has just
 * forked, until its exec. Earlier versions knew that one only, and read its owner's pid
 * from the file: it is taken too, and its word counts while that process lives. A process
 * loses its record lock when it closes any descriptor of the file: nothing else in voltd
 * opens it. The record
 * directory of system mode is made by tmpfiles.d, because systemd would delete a
 * RuntimeDirectory= at stop; with a state dir given by hand the records are in it. */
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
    char home[PATH_MAX];          /* of the account; "": none */
    int runtime_lock, state_lock; /* -1: not held */
    pid_t holder;                 /* another voltd that has one; 0: none is known */
};

/* Finds out the directories; touches nothing. runtime_dir and state_dir, NULL for the
 * defaults, may be relative to the working directory. Returns 0, or -ENAMETOOLONG,
 * -ENOENT (no home) with the text in err. */
int paths_init(struct paths *p, bool user, const char *runtime_dir, const char *state_dir,
               struct volt_error *err);

/* Creates what is missing, mode 0700, and takes both locks. Returns 0; -EBUSY: another
 * voltd has them, err names its pid; -EPERM: a directory belongs to somebody else or is
 * open to others; another errno. */
int paths_claim(struct paths *p, struct volt_error *err);

/* The caller's home: user_home(), or what the account says; NULL: neither is an absolute
 * path. Before the first thread. */
const char *paths_home(void);

/* Gives the locks back; the directories stay. After paths_init only. */
void paths_fini(struct paths *p);

#endif
