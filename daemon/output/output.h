/* Output files of jobs.
 *
 *   <output dir>/<id / 1024>/<id>.out, .err            a job
 *   <output dir>/<id / 1024>/<id>/<index>.out, .err    an element of an array
 *   <output dir>/spare/<n>                             of no job: empty
 *
 * Every running job prints to a file of its own. Making a file is costly (ext4 searches
 * for an inode: 300 us, more under load). So the job takes a spare file, and gives it
 * back:
 *
 *   start                                   end
 *   1. rename a spare file to the job's     1. look: is it short, and open nowhere
 *      name                                    else?
 *   2. open it for the job, each time       2. its bytes go into the store in the
 *      anew                                    transaction of the end; no bytes: no row
 *                                           3. after the commit look again; empty it;
 *                                              rename it to spare
 *
 * A file that is long, or that a grandchild of the job or a reader has open, stays under
 * its name until the job is forgotten. After a crash between the steps, the output is in
 * the file, in the store, or the same in both. The file is emptied only when the store
 * has its bytes.
 *
 * A write lease tells whether the file is open elsewhere: the kernel grants it only while
 * the inode has no other open file description. Each start opens its own for that reason.
 * On a file system without leases no file is reused. `names` excludes opens of an output
 * by name during
 *   - the lease: the kernel would refuse an open with O_NONBLOCK (EAGAIN);
 *   - the time from the second look to the rename: the reader's file would be emptied.
 *
 * Folders and files may be removed under a running voltd. Folders are made again, their
 * output is lost, and the log reports both, at most once a minute. The event of the end
 * says where the output is, so a removed output is not mistaken for an empty one. */
#ifndef VOLTD_OUTPUT_OUTPUT_H
#define VOLTD_OUTPUT_OUTPUT_H

#include <pthread.h>
#include <sys/stat.h>
#include "base/atomic.h"
#include "daemon/job/job.h"
#include "daemon/job/key.h"
#include "daemon/store/blobs.h"

struct volt_cx;
struct volt_runtime;

#define OUTPUT_SPARE_MAX 1024

enum outputs_news { OUTPUTS_MADE_AGAIN, OUTPUTS_NOT_MADE, OUTPUTS_REMOVED, OUTPUTS_NEWS };

struct outputs {
    int state_fd; /* borrowed */
    char *path;   /* of the output dir */
    vat_u64 fold; /* bytes of a file, at most, that are stored with the end; relaxed */
    int dir_fd, spare_fd;   /* constant numbers; their folders may be replaced */
    pthread_rwlock_t names; /* read: lease, give up; write: open by name */
    pthread_mutex_t lock;   /* guards the rest */
    uint32_t spare[OUTPUT_SPARE_MAX], nspare;
    uint32_t coming;                  /* files being renamed to spare */
    uint32_t next;                    /* number of the next spare file */
    uint64_t said_usec[OUTPUTS_NEWS]; /* last report in the log; 0: never */
};

/* Opens "output" in the state directory, or makes it. state_fd is borrowed; state_dir is
 * for messages. Returns 0 or -errno. */
int outputs_open(struct outputs *o, int state_fd, const char *state_dir);
/* Closes it; zero-initialised outputs with descriptors -1 are allowed. */
void outputs_close(struct outputs *o);

/* A job of another account may open its own output by /dev/stdout. No other user can open
 * the file by a path, as the folders are 0700. */
#define OUTPUT_MODE 0622

/* Makes the output file of a job and opens it for appending. Returns a descriptor
 * or -errno. An existing file is an error, as ids are never reused; an empty one is
 * taken: an earlier voltd made it and died before the start was durable. */
int output_create(struct outputs *o, const struct job_key *key, enum job_stream stream);
/* Does the same with a spare file. Returns -ENFILE: none is left; -errno: the file could
 * not be used. */
int output_create_spare(struct outputs *o, const struct job_key *key,
                        enum job_stream stream);
/* Does the same with the existing file of an attempt that is started once more. */
int output_append(struct outputs *o, const struct job_key *key, enum job_stream stream);
/* Returns the bytes that a job has printed so far: the length of its files, plus blocks
 * after their end if those are more than OUTPUT_RESERVED_MOST and more than the file. XFS
 * reserves as much as a growing file has, up to 8 GiB, which must not end a job. So a job
 * below its limit can use twice the limit on disk, or the limit and 64 MiB a file. */
#define OUTPUT_RESERVED_MOST (UINT64_C(64) << 20)
uint64_t output_size(struct outputs *o, const struct job_key *key, bool split);
/* Frees blocks after the end of a file, if they are more than its last block takes. The
 * job has ended; bytes that a process left of it appends at this moment may be cut
 * off. */
#define OUTPUT_LAST_BLOCK (UINT64_C(64) << 10)
void output_give_back(int fd, const struct stat *st);
/* Opens the output for reading, from a file or from the store. ended: no more will come.
 * Returns -ENODATA: there is none. Blocks on the disk. */
int output_open(struct outputs *o, struct store *s, const struct job_key *key,
                enum job_stream stream, bool ended);
/* Returns an open empty file, or -errno. */
int output_open_empty(void);
/* Returns a new string, the absolute path of an output file. NULL: no memory. */
char *output_path_text(const struct outputs *o, const struct job_key *key,
                       enum job_stream stream);

/* --- the end of a job (output_end.c) ------------------------------------------------ */
/* The output of an ended job. Zero-initialised: the job prints elsewhere. */
struct output_end {
    bool began;     /* set by the caller before the look: the job has run, so its files
                     * existed */
    uint8_t kept;   /* for the event of the end: where the output is */
    uint64_t bytes; /* length of all its files, ... */
    uint64_t length[STORE_STREAMS]; /* ... and of each */
    struct {
        bool ours; /* looked at, and may be given up */
        int fd;
    } file[STORE_STREAMS];
    struct store_piece piece[STORE_STREAMS]; /* for the fact of the end */
};

/* Looks at the files of an ended job. Up to `fold` bytes of a file go to the store; a
 * longer file stays. Bytes that are not in memory are read by volt_block_in_place() for
 * the poll of cx (NULL: not on a worker). */
void output_end_look(struct volt_cx *cx, struct outputs *o, const struct job_key *key,
                     bool split, uint64_t fold, struct output_end *ret);
/* Ends the look and frees its data. kept: the store has the end and these pieces, so
 * files that are still not open elsewhere are given up. */
void output_end_finish(struct outputs *o, const struct job_key *key, struct output_end *e,
                       bool kept);

/* --- removal (output_forget.c) ------------------------------------------------------ */
/* Removes all files of an ended job or array. Blocks on the disk; an array, which may
 * take long, is removed on the blocking pool. */
void output_forget(struct outputs *o, struct volt_runtime *rt, uint64_t id);
/* Does the same, all on the blocking pool. Files that are left when memory is short are
 * removed by outputs_tidy(). Any thread. */
void output_forget_later(struct outputs *o, struct volt_runtime *rt, uint64_t id);
/* Removes the files of all jobs that `known` does not know, and empty folders, after an
 * earlier voltd died. Blocks. */
void outputs_tidy(struct outputs *o, bool (*known)(void *arg, uint64_t id), void *arg);

/* --- shared by output*.c ------------------------------------------------------------ */
struct output_path {
    char group[24], folder[48], file[80]; /* folder is empty for a job */
};
void output_path_of(const struct job_key *key, enum job_stream stream,
                    struct output_path *ret);
/* Opens a regular file. flags: the access mode, O_APPEND. Returns a descriptor and *ret,
 * -ESTALE (something else has been put there) or -errno. */
int output_open_regular(int dir_fd, const char *file, int flags, struct stat *ret);
/* Returns whether fd is the only open file description of its file. Takes a lease for a
 * moment: `names` must be held, or the file must not be reachable by name. */
bool output_is_alone(int fd);
/* Makes an empty file that is not open elsewhere a spare one, or removes it. */
void output_give_up(struct outputs *o, const char *file);
/* Reports that the file of a job that has run is missing, or is no regular file. */
void output_note_removed(struct outputs *o, const char *file);

#endif
