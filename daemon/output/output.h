/* Where the output of jobs is kept.
 *
 *   <output dir>/<id / 1024>/<id>.out, .err            a job
 *   <output dir>/<id / 1024>/<id>/<index>.out, .err    an element of an array
 *   <output dir>/spare/<n>                             nobody's: empty
 *
 * A running job prints to its own file, whatever it prints. Making a file is dear (ext4
 * searches for an inode, 300 us and more under load), so it takes the name of a spare
 * one, and gives it back:
 *
 *   start                                   end
 *   1. a spare file gets the job's name     1. look: little, and nobody else has it open?
 *   2. it is opened for the job, each       2. its bytes go into the store beside the
 *      time anew                               end, in one transaction; nothing: no row
 *                                           3. committed: look again; empty it; rename it
 *                                              to spare
 *
 * What is large, or held open by a grandchild of the job or by a reader,
 * stays the job's own file under its own name, until the job is forgotten. After a crash
 * between the steps of the end the output is in the file, in the store, or the same in
 * both; it is given up in the file only when the store has it.
 *
 * "Nobody else" is what a write lease finds out: the kernel grants it only while there is
 * no other open file description of the inode. Each start opens its own for that reason.
 * A file system without leases reuses nothing. `names` keeps opens of an output by its
 * name apart from
 *   - the lease: while there is one, the kernel refuses an open with O_NONBLOCK (EAGAIN);
 *   - the time from the second look to the renaming: the file would be emptied under the
 *     reader.
 *
 * Somebody may remove folders or files under a running voltd. Folders are made again,
 * what was printed is gone, and both are in the log, at most once a minute. A job's end
 * says where its output is, so that what was removed is not taken for nothing. */
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
    vat_u64 fold; /* bytes up to which an output is stored with the end; relaxed */
    int dir_fd, spare_fd;   /* these numbers stay, the folders may become others */
    pthread_rwlock_t names; /* read: takes a lease, gives up; write: opens by name */
    pthread_mutex_t lock;   /* protects the rest */
    uint32_t spare[OUTPUT_SPARE_MAX], nspare;
    uint32_t coming;                  /* are being renamed to spare */
    uint32_t next;                    /* number of the next spare file */
    uint64_t said_usec[OUTPUTS_NEWS]; /* in the log; 0: never */
};

/* Opens and makes "output" in the state directory, whose descriptor is borrowed; its path
 * is for messages. 0 or -errno. */
int outputs_open(struct outputs *o, int state_fd, const char *state_dir);
/* Also of zero-initialised ones with descriptors -1. */
void outputs_close(struct outputs *o);

/* Opens the output file of a job for appending, new, 0600: a descriptor, or -errno. A
 * file that is there is an error (ids are never reused) unless it is empty: a daemon that
 * made it died before it could say that it starts the job. */
int output_create(struct outputs *o, const struct job_key *key, enum job_stream stream);
/* The same if there is a spare file for it; -ENFILE: there is none; -errno: it was of no
 * use. */
int output_create_spare(struct outputs *o, const struct job_key *key,
                        enum job_stream stream);
/* The same of a file that is there: the attempt is started once more. */
int output_append(struct outputs *o, const struct job_key *key, enum job_stream stream);
/* Bytes that a job has printed to its files so far: their length, and blocks behind their
 * end where those are more than OUTPUT_RESERVED_MOST and more than the file. XFS reserves
 * as much as a file has while it grows, up to 8 GiB; that is not to end a job. So a job
 * below its limit can take twice the limit on disk, or the limit and 64 MiB a file. */
#define OUTPUT_RESERVED_MOST (UINT64_C(64) << 20)
uint64_t output_size(struct outputs *o, const struct job_key *key, bool split);
/* Gives blocks behind the end of a file back, more than its last one takes. Its job has
 * ended: what a process that is left of it appends at that very moment may be cut off. */
#define OUTPUT_LAST_BLOCK (UINT64_C(64) << 10)
void output_give_back(int fd, const struct stat *st);
/* Opens to read what is there of it, in a file or in the store. -ENODATA: neither. ended:
 * nothing more will come. Blocks on the disk. */
int output_open(struct outputs *o, struct store *s, const struct job_key *key,
                enum job_stream stream, bool ended);
/* An open file without a byte; -errno. */
int output_open_empty(void);
/* The absolute path of a file of output. Returns new; NULL: out of memory. */
char *output_path_text(const struct outputs *o, const struct job_key *key,
                       enum job_stream stream);

/* --- the end of a job (output_end.c) ------------------------------------------------ */
/* What a job has printed. Zero-initialised: it prints elsewhere. */
struct output_end {
    bool began;     /* set it before the look: it has run, so its files had been made */
    uint8_t kept;   /* for the event of the end */
    uint64_t bytes; /* all that it has printed, ... */
    uint64_t length[STORE_STREAMS]; /* ... in each file */
    struct {
        bool ours; /* it was looked at and may be given up */
        int fd;
    } file[STORE_STREAMS];
    struct store_piece piece[STORE_STREAMS]; /* for the fact that tells the end */
};

/* Looks at the files of a job that has ended; `fold`: so many bytes of each go to the
 * store, whatever is longer stays a file. What the disk has to be waited for is read by
 * volt_block_in_place() on behalf of the poll that cx is of (NULL: the caller is no
 * worker). */
void output_end_look(struct volt_cx *cx, struct outputs *o, const struct job_key *key,
                     bool split, uint64_t fold, struct output_end *ret);
/* kept: the store has the end and these pieces: the files are given up if they still may
 * be. Forgets what was looked at. */
void output_end_finish(struct outputs *o, const struct job_key *key, struct output_end *e,
                       bool kept);

/* --- oblivion (output_forget.c) ----------------------------------------------------- */
/* Removes all files of a job or array, which has ended. Blocks on the disk; what may take
 * long, an array, is done on a thread for blocking calls. */
void output_forget(struct outputs *o, struct volt_runtime *rt, uint64_t id);
/* The same of several, all of it on such a thread. What cannot be begun for want of
 * memory is left to outputs_tidy(). Any thread. */
#define OUTPUT_FORGET_AT_ONCE 64
void output_forget_later(struct outputs *o, struct volt_runtime *rt, const uint64_t *ids,
                         size_t n);
/* Removes the files of all jobs that `known` does not know, and empty folders: what a
 * daemon that died had not got to. Blocks. */
void outputs_tidy(struct outputs *o, bool (*known)(void *arg, uint64_t id), void *arg);

/* --- shared by these ---------------------------------------------------------------- */
struct output_path {
    char group[24], folder[48], file[80]; /* folder is empty where there is none */
};
void output_path_of(const struct job_key *key, enum job_stream stream,
                    struct output_path *ret);
/* A descriptor, and what the file is like; -ESTALE: somebody has put something else than
 * a file there; -errno. flags: the access mode, O_APPEND. */
int output_open_regular(int dir_fd, const char *file, int flags, struct stat *ret);
/* Whether nobody else has fd's file open. `names` is held, or nobody can open it by name:
 * there is a lease for a moment. */
bool output_is_alone(int fd);
/* An empty file that nobody else has open becomes spare, or goes. */
void output_give_up(struct outputs *o, const char *file);
/* The file of a job that has run is not there, or is none. */
void output_note_removed(struct outputs *o, const char *file);

#endif
