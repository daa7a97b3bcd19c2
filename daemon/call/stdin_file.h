/* A descriptor that came with a call (SCM_RIGHTS): standard input of the job to be.
 *
 * A descriptor does not survive a restart, so what is in the file is kept with the
 * job, and the file is closed at once. To read and to close it may block for ever,
 * where the peer made the file system (FUSE): a thread of the pool for blocking calls
 * does both, and the connection never touches it. At most STDIN_FILES_OF_USER of one
 * user, and STDIN_FILES of all, are under way. When there is no place for one more,
 * the kernel drops the descriptor (there is no room to receive it), and the call is
 * told that none came. A thread that is blocked so keeps the end of voltd waiting,
 * until it is killed. */
#ifndef VOLTD_CALL_STDIN_FILE_H
#define VOLTD_CALL_STDIN_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <volt/volt.h>

#define STDIN_FILES         64
#define STDIN_FILES_OF_USER 8

struct job_input;
struct stdin_files; /* the places */

struct stdin_files *stdin_files_new(void);    /* NULL: out of memory */
void stdin_files_free(struct stdin_files *f); /* NULL allowed; after the runtime */

/* Zero-initialised: none. Must not move while it waits. */
struct stdin_file {
    struct stdin_files *of; /* NULL: there is none */
    unsigned place;
    struct volt_join reading;
};

/* A place for one that may come: then stdin_file_read() or stdin_file_end() is due.
 * False: there is none. Any thread. */
bool stdin_file_claim(struct stdin_file *x, struct stdin_files *f, uid_t uid);
/* It has come: reads it, at most max bytes, and closes it. Takes fd. */
void stdin_file_read(struct stdin_file *x, struct volt_runtime *rt, int fd, size_t max);
/* READY: what is in it, new, in *ret; or NULL, with the reason (NULL: no memory), which
 * stays until stdin_file_end(). */
enum volt_poll stdin_file_poll(struct volt_cx *cx, struct stdin_file *x,
                               struct job_input **ret, const char **ret_reason);
/* Gives it up. */
void stdin_file_end(struct stdin_file *x);

#endif
