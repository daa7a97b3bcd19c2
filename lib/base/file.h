/* Files that are opened by their names at a start: regular ones, and nothing that makes
 * the opener wait.
 *
 * Opening a FIFO waits until somebody opens its other end, which may be never: a daemon
 * that meets one in the place of a file of its own would hang without a word. Therefore
 * every file is opened with O_NONBLOCK and looked at before it is read or written
 * (`tests/tools/check-layers` refuses another way). O_NONBLOCK means nothing to a regular
 * file afterwards. */
#ifndef VOLT_BASE_FILE_H
#define VOLT_BASE_FILE_H

#include <errno.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <volt/error.h>

#define FILE_NOT_REGULAR EMEDIUMTYPE /* file_text() has its words */

/* Opens a file with flags, O_CLOEXEC and O_NONBLOCK; mode as in open(). What is opened to
 * be read only may be the null device too, which is empty. *ret_stat, if not NULL: what
 * fstat() says of it. Returns the descriptor; -EISDIR; -FILE_NOT_REGULAR: a FIFO, socket
 * or device; -errno. */
int file_open_regular(int dir_fd, const char *path, int flags, mode_t mode,
                      struct stat *ret_stat);

/* Opens a file that is there, as file_open_regular() does, without waiting for a disk.
 * -EAGAIN: its name or inode is not in memory, or the kernel cannot tell (before Linux
 * 5.12). Source: openat2(2), RESOLVE_CACHED. */
int file_open_cached(int dir_fd, const char *path, int flags);

/* Reads at most n bytes from `at` on, as far as they are in memory, without waiting for a
 * disk: bytes read, which may be fewer than there are; 0: end of the file; -EAGAIN: none
 * of them is in memory, or the file system cannot tell; -errno. */
ssize_t file_read_cached(int fd, void *buf, size_t n, off_t at);

/* strerror() for what these functions return. */
const char *file_text(int r);

/* Makes the file `name` of the directory, mode 0600, hold these bytes, whatever was
 * there: "<name>.new" is written, synced and renamed. A crash leaves the old file or the
 * new one, a power cut as well; which of them it is, is sure once the directory is
 * synced, which this does not do. 0 or -errno: the old file is there, and err says which
 * of the two names is to blame: "<name>.new: Is a directory". Blocks on the disk. */
int file_replace(int dir_fd, const char *name, const void *bytes, size_t n,
                 struct volt_error *err);

/* Its two halves: "<name>.new" is written and synced; it gets its name, or is removed
 * when that fails. Between them something else may be done that is to go with it. */
int file_prepare(int dir_fd, const char *name, const void *bytes, size_t n,
                 struct volt_error *err);
int file_publish(int dir_fd, const char *name, struct volt_error *err);

#endif
