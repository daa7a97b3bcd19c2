/* A descriptor that came with a call (SCM_RIGHTS): standard input of the job to be.
 *
 * A descriptor does not survive a restart, so the contents of the file are kept with the
 * job and the file is closed at once. Reading and closing may block for ever if the peer
 * made the file system (FUSE): a thread of the blocking pool does both, and the
 * connection never touches the file. At most STDIN_FILES_OF_USER of one user and
 * STDIN_FILES of all are in progress. Without a place for one more the kernel drops the
 * descriptor (there is no room to receive it), and the call sees that none came. A thread
 * that blocks so delays the end of voltd until the thread is killed. */
#ifndef VOLTD_CALL_STDIN_FILE_H
#define VOLTD_CALL_STDIN_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <volt/volt.h>

#define STDIN_FILES         64
#define STDIN_FILES_OF_USER 8

struct job_bytes;
struct stdin_files; /* the places */

struct stdin_files *stdin_files_new(void);    /* NULL: out of memory */
void stdin_files_free(struct stdin_files *f); /* NULL allowed; after the runtime */

/* Zero-initialised: no place. Must not move while it waits. */
struct stdin_file {
    struct stdin_files *of; /* NULL: no place is claimed */
    unsigned place;
    struct volt_join reading;
};

/* Claims a place before a descriptor arrives; then stdin_file_read() or stdin_file_end()
 * is due. False: no place is free. Any thread. */
bool stdin_file_claim(struct stdin_file *x, struct stdin_files *f, uid_t uid);
/* Starts to read the file that arrived, at most max bytes; closes it after. Takes fd. */
void stdin_file_read(struct stdin_file *x, struct volt_runtime *rt, int fd, size_t max);
/* READY: *ret has the contents, new; or NULL with the reason (NULL: no memory), valid
 * until stdin_file_end(). */
enum volt_poll stdin_file_poll(struct volt_cx *cx, struct stdin_file *x,
                               struct job_bytes **ret, const char **ret_reason);
/* Gives the place up. */
void stdin_file_end(struct stdin_file *x);

#endif
