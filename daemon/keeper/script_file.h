/* The file of a script: the text is stored with its job, and the job runs this file.
 *
 * Each attempt has a directory, `<scripts dir>/<job>.<attempt>`, with the script under
 * its own name. So $0, its basename and ps show the submitted name. A memfd would leave
 * nothing behind, but $0 would be /dev/fd/N. A program that closes inherited descriptors
 * (sudo, ssh, workers of Python's multiprocessing) could not read its script again. Also
 * `dirname $0` would be a directory of descriptors. voltd names interpreters from the
 * first line, so a file system without exec will do.
 *
 * The shim makes both before its child, and removes them at the end of the attempt,
 * before slot 2. Meanwhile it locks the directory (flock, which the kernel drops with the
 * shim). So the directory of a killed shim is not locked, and the next sweep removes it.
 * The directory is 0500: a script that writes beside itself fails, instead of losing that
 * file. Only this user may write into the scripts dir; a user is not protected from
 * itself.
 *
 * No allocation. */
#ifndef DAEMON_KEEPER_SCRIPT_FILE_H
#define DAEMON_KEEPER_SCRIPT_FILE_H

#include <limits.h>
#include <stdint.h>
#include "daemon/job/key.h"

#define SCRIPT_NAME_MAX 255

struct script_file {
    int dir; /* directory of the attempt, locked */
    char path[PATH_MAX];
};

/* Sets the scripts dir once, in the keeper, and sweeps it: script_file_sweep(). The path
 * is absolute and borrowed; NULL: none. The first script makes the scripts dir. */
void script_file_init(const char *scripts_dir);
/* Removes the files of shims that have ended. */
void script_file_sweep(void);
/* Makes the file from a memfd that cannot change: a name, its NUL and the text. Returns:
 *   0         *ret is to be finished
 *   -EBADMSG  the name is not valid
 *   -errno    nothing is left */
int script_file_make(struct script_file *ret, const struct job_key *key, int from);
void script_file_fini(struct script_file *s);

#endif
