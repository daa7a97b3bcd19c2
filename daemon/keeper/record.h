/* The exit record of one attempt: how a job's end survives every process of the service.
 *
 * File `<record dir>/<job>.<attempt>`, 4 KiB, in host byte order (it never leaves its
 * boot):
 *
 *     0     header   written by voltd before the file has its name
 *     512   slot 1   STARTED, written by the shim before the job may run
 *     1024  slot 2   EXITED, written by the shim when all is known
 *
 * Each part is one pwrite inside one page and valid iff its CRC-32C is; a slot's CRC is
 * seeded with the header's CRC and the slot's number, so a slot never speaks for another
 * job or place. A part that is all zero was never written; a part that is neither zero
 * nor valid makes the record damaged. "Never ran" follows only from a slot 1 that is
 * zero.
 *
 * voltd makes the record (link/record_make.h) with a write lock of its open file
 * description (F_OFD_SETLK) before it has its name, and hands that description on: to the
 * keeper in START, from there to the shim. Whoever has it, a message that nobody has
 * received included, has the lock, until the shim's end; then the kernel drops it,
 * whatever the last one dies of. So a free lock without slot 1 means that the attempt can
 * never run any more. The lock is probed by F_OFD_GETLK for F_RDLCK on a read-only
 * descriptor, which takes nothing. Records of version 1 are locked and probed by flock.
 *
 * A job runs as the same user, so a process that it leaves behind can lock the record as
 * well. The verdict therefore asks in this order:
 *
 *     slot 2 valid                          over, whatever holds the lock
 *     record of another boot                over: no shim lives through a reboot
 *     lock free                             over: nobody has the right to run it any more
 *     lock held, slot 1 not valid           the lock alone decides: running, or may run
 *     lock held, slot 1's shim is there     running
 *     lock held, slot 1's shim has gone     over: somebody else holds the lock
 *
 * The shim is there while its pid has its start time and has not begun to exit. Where
 * /proc hides it (hidepid), the existence of the pid counts. Slots are read again once
 * nobody can write them any more: that content is final. What the same user can still do
 * on purpose: hold the lock of a record before its slot 1, forge slots, remove records.
 *
 * Naming: the file is made as `.<pid>.<n>`, locked, and renamed with RENAME_NOREPLACE.
 * O_TMPFILE + linkat would do but for inotify: the open file keeps the name "#<inode>" of
 * its birth, and IN_CLOSE_WRITE would report that instead of the job's.
 *
 * One verdict differs from a plain "other boot: lost": a record of an earlier boot whose
 * slot 2 is valid holds the exact status, so it is DONE. */
#ifndef DAEMON_KEEPER_RECORD_H
#define DAEMON_KEEPER_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "daemon/job/key.h"

#define RECORD_SIZE       4096
#define RECORD_STARTED_AT 512
#define RECORD_EXITED_AT  1024
#define RECORD_MAGIC      UINT32_C(0x44524356) /* "VCRD" */
#define RECORD_VERSION    UINT32_C(2)
#define RECORD_ID_SIZE    16 /* boot id, generation */

/* Locked by flock: read for as long as jobs of an older keeper may run, never made. */
#define RECORD_VERSION_FLOCK UINT32_C(1)

struct record_header {
    uint32_t magic, version;
    uint64_t job;
    int64_t index;
    uint32_t attempt, kill_mode; /* enum keeper_kill_mode */
    uint8_t boot_id[RECORD_ID_SIZE];
    uint64_t created_real_usec;
    uint32_t zero, crc;
};

struct record_started {
    uint32_t pid, shim_pid;
    uint64_t pid_start, shim_start; /* field 22 of /proc/<pid>/stat: ticks since boot */
    uint64_t mono_usec, real_usec;
    uint32_t
        keeper_pid; /* whose child the shim is: gets its children when it is killed */
    uint32_t crc;
};

enum record_end {
    RECORD_END_EXIT = 1,    /* status: the exit code */
    RECORD_END_SIGNAL,      /* status: the signal */
    RECORD_END_EXEC_FAILED, /* status: errno; step: enum child_step */
};

struct record_exited {
    uint32_t end; /* enum record_end */
    int32_t status;
    uint32_t step;
    uint32_t core_dumped;
    uint32_t survivors; /* processes of the tree that could not be ended; 0: none known */
    uint32_t left_killed; /* processes that were left when the main one had ended, and
                             were killed */
    uint64_t user_usec, system_usec; /* of the job and all its descendants that ended */
    uint64_t max_rss_kib;
    uint64_t minor_faults, major_faults, blocks_in, blocks_out;
    uint64_t switches_voluntary, switches_forced;
    uint64_t mono_usec, real_usec;
    uint32_t survivor[8]; /* the first of them, then zeroes */
    /* Of the job's cgroup: bytes, and processes that the kernel ended for want of memory.
     * 0 without one. */
    uint64_t memory_peak, oom_kills;
    uint32_t flags; /* RECORD_* */
    uint32_t crc;
};
/* The job had a cgroup of its own. */
#define RECORD_CONTAINED 1u
/* Its own memory limit was in the way; otherwise that of its user, or the machine. */
#define RECORD_OOM_OWN 2u

/* Where the way from the shim to the job's first instruction failed. */
enum child_step {
    CHILD_STEP_NONE,
    CHILD_STEP_FORK,
    CHILD_STEP_SESSION,
    CHILD_STEP_OOM_SCORE, /* of earlier keepers only */
    CHILD_STEP_SIGNALS,
    CHILD_STEP_LAUNCH, /* the description of argv, environment and paths */
    CHILD_STEP_CWD,
    CHILD_STEP_STDIN,
    CHILD_STEP_STDOUT,
    CHILD_STEP_STDERR,
    CHILD_STEP_CLOSE,
    CHILD_STEP_EXEC, /* ENOENT: not found; EACCES, ENOEXEC: found but not executable */
    CHILD_STEP_LIMITS,
    CHILD_STEP_SCRIPT, /* the file of a script that came with the job */
    CHILD_STEP_CGROUP, /* EOPNOTSUPP: it has limits, and there is none that has them */
    CHILD_STEP_COUNT,
};
/* A word for people, static; "?" for unknown values. */
const char *child_step_name(uint32_t step);

/* What a record says about an attempt that the store calls starting or running. */
enum record_verdict {
    RECORD_ABSENT,      /* none was made: start, same attempt */
    RECORD_RUNNING,     /* it runs, or may run: wait */
    RECORD_NEVER_RAN,   /* over, no slot 1, and it cannot run: remove, start again */
    RECORD_DONE,        /* slot 2 valid: the exact end is in `exited` */
    RECORD_SHIM_KILLED, /* over, slot 1 only: kill the tree, then lost */
    RECORD_OTHER_BOOT,  /* reboot or power cut: lost */
    RECORD_DAMAGED,     /* bytes that nobody wrote, or no file: lost */
};

struct record {
    enum record_verdict verdict;
    bool has_started;              /* `started` is valid */
    struct record_started started; /* zero unless has_started */
    struct record_exited exited;   /* zero unless DONE */
    struct record_header header;   /* zero when ABSENT or DAMAGED */
};

/* Judges the content of a record. Pure. key: whose record it must be; boot_id: this boot;
 * held: its shim may still write to it. Never fails: what cannot be trusted is DAMAGED,
 * or RUNNING while it is held. */
void record_parse(const void *buf, size_t len, const struct job_key *key,
                  const uint8_t boot_id[RECORD_ID_SIZE], bool held, struct record *ret);

/* Opens, reads, probes lock and shim, and judges. 0 (an absent file is a verdict) or
 * -errno of the file system, then *ret is untouched. Never blocks on the lock. */
int record_probe(int dir_fd, const struct job_key *key,
                 const uint8_t boot_id[RECORD_ID_SIZE], struct record *ret);
/* The same of a record that is open to be read: one that was removed since is ABSENT. */
int record_probe_fd(int fd, const struct job_key *key,
                    const uint8_t boot_id[RECORD_ID_SIZE], struct record *ret);
/* Opens the record to be read. A descriptor; -ENOENT; -EIO, also for what is no file;
 * -errno. */
int record_open(int dir_fd, const struct job_key *key);
/* Whether slot 1 is there, and no more: neither lock nor shim are looked at. 1; 0, also
 * when there is no record; -errno. */
int record_started(int dir_fd, const struct job_key *key,
                   const uint8_t boot_id[RECORD_ID_SIZE], struct record_started *ret);

/* The same without waiting for a disk: also -EAGAIN, the record is not in memory. */
int record_probe_cached(int dir_fd, const struct job_key *key,
                        const uint8_t boot_id[RECORD_ID_SIZE], struct record *ret);
int record_started_cached(int dir_fd, const struct job_key *key,
                          const uint8_t boot_id[RECORD_ID_SIZE],
                          struct record_started *ret);

/* Calls fn for the key of each file of the directory that has a record's name, in no
 * particular order, until it returns non-zero, which is returned. 0 or -errno. */
int record_scan(int dir_fd, int (*fn)(const struct job_key *key, void *arg), void *arg);

/* The random identity of a record dir, in its file `generation`. A store that remembers
 * another one knows that records are missing. 0; -ENOENT; -EBADMSG; -errno. */
int record_generation_read(int dir_fd, uint8_t ret[RECORD_ID_SIZE]);

int record_boot_id(uint8_t ret[RECORD_ID_SIZE]);

/* Shim: fills in the CRC and writes the slot. 0 or -errno. */
int record_write_started(int fd, uint32_t seed, struct record_started *s);
int record_write_exited(int fd, uint32_t seed, struct record_exited *s);

#endif
