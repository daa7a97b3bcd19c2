/* The text of a script that is stored with its job, as the file that the job runs.
 *
 * A folder for each attempt, `<scripts dir>/<job>.<attempt>`, and in it the script under
 * its own name: so that $0, its basename and ps show what was submitted. A memfd would
 * leave nothing behind, but $0 were /dev/fd/N: a program that closes what it inherits
 * (sudo, ssh, the workers of Python's multiprocessing) could not read its script again,
 * and `dirname $0` would be a folder of descriptors. Interpreters are named by voltd from
 * the first line, so a file system without exec will do.
 *
 * The shim makes both before its child and removes them when the attempt is over, before
 * slot 2. It locks the folder meanwhile (flock, which the kernel drops with the shim):
 * what a killed shim has left is not locked, and goes at the next sweep. The folder is
 * 0500, so that a script which writes beside itself fails instead of losing that. Nobody
 * but this user may write into the scripts dir; within a user nothing is protected.
 *
 * No allocation. */
#ifndef DAEMON_KEEPER_SCRIPT_FILE_H
#define DAEMON_KEEPER_SCRIPT_FILE_H

#include <limits.h>
#include <stdint.h>
#include "daemon/job/key.h"

#define SCRIPT_NAME_MAX 255

struct script_file {
    int dir; /* of the attempt, locked */
    char path[PATH_MAX];
};

/* Once, in the keeper: where scripts are put, absolute and borrowed; NULL: nowhere. Made
 * when the first one comes. What shims have left that have gone is removed. */
void script_file_init(const char *scripts_dir);
/* Does that again: a shim was killed. */
void script_file_sweep(void);
/* from: a memfd that cannot change, with a name, its NUL and the text. 0, and *ret is to
 * be finished; -errno: nothing is left. -EBADMSG: the name is none. */
int script_file_make(struct script_file *ret, const struct job_key *key, int from);
void script_file_fini(struct script_file *s);

#endif
