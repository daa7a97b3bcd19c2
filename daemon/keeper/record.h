/* The exit record of one attempt: the end of a job survives every process of the service.
 *
 * File `<record dir>/<job>.<attempt>`, 4 KiB, in host byte order, as it never leaves its
 * boot:
 *
 *     0     header   written by voltd before the file has its name
 *     512   slot 1   STARTED, written by the shim before the job may run
 *     1024  slot 2   EXITED, written by the shim when all is known
 *
 * Each part is one pwrite inside one page, and valid if its CRC-32C is. The CRC of a slot
 * is seeded with the header's CRC and the slot's number. So a slot is never valid for
 * another job or place. A part of zeroes was never written. A part that is neither zero
 * nor valid makes the record damaged. Only a slot 1 of zeroes means "never ran".
 *
 * voltd makes the record (link/record_make.h), and takes a write lock of the open file
 * description (F_OFD_SETLK) before the record has its name. voltd sends that description
 * to the keeper in START, and the keeper sends it to the shim. Its holder has the lock;
 * that may be a message that no process has received. The kernel drops the lock at the
 * end of the last holder, however that ends. So a free lock without slot 1 means that the
 * attempt can never run. F_OFD_GETLK for F_RDLCK on a read-only descriptor probes the
 * lock and takes nothing. Records of version 1 are locked and probed by flock.
 *
 * A job runs as the same user, so a process that it leaves behind can lock the record as
 * well. The verdict therefore asks in this order:
 *
 *     slot 2 valid                          over, even if the lock is held
 *     record of another boot                over: no shim lives through a reboot
 *     lock free                             over: no process has the right to run it
 *     lock held, slot 1 not valid           the lock alone decides: running, or may run
 *     lock held, slot 1's shim is there     running
 *     lock held, slot 1's shim has ended    over: another process holds the lock
 *
 * The shim is there while its pid has its start time and has not begun to exit. If /proc
 * hides it (hidepid), the existence of the pid counts. Slots are read again when no
 * process can write them any more: that content is final. The same user can still lock a
 * record before its slot 1 on purpose, forge slots and remove records.
 *
 * Naming: the file is made as `.<pid>.<n>`, locked, and renamed with RENAME_NOREPLACE.
 * O_TMPFILE + linkat would not do for inotify. The open file keeps the name "#<inode>" of
 * its birth, and IN_CLOSE_WRITE would report that name instead of the job's.
 *
 * There is an exception to "other boot: lost". A record of an earlier boot with a valid
 * slot 2 has the exact status, so it is DONE. */
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

/* Locked by flock. Still read, as jobs of an older keeper may run; never made. */
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
        keeper_pid; /* parent of the shim, which inherits its children if it is killed */
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
    uint32_t survivors;   /* processes of the tree that SIGKILL did not end */
    uint32_t left_killed; /* processes that were killed after the main one had ended */
    uint64_t user_usec, system_usec; /* of all ended processes of the job */
    uint64_t max_rss_kib;
    uint64_t minor_faults, major_faults, blocks_in, blocks_out;
    uint64_t switches_voluntary, switches_forced;
    uint64_t mono_usec, real_usec;
    uint32_t survivor[8]; /* pids of the first of them, then zeroes */
    /* Figures of the job's cgroup: bytes, and processes that the kernel killed for lack
     * of memory. 0 without a cgroup. */
    uint64_t memory_peak, oom_kills;
    uint32_t flags; /* RECORD_* */
    uint32_t crc;
};
/* The job had a cgroup of its own. */
#define RECORD_CONTAINED 1u
/* Its own memory limit was reached; without the flag, that of its user or the machine. */
#define RECORD_OOM_OWN 2u

/* The step that failed between the shim and the job's first instruction. */
enum child_step {
    CHILD_STEP_NONE,
    CHILD_STEP_FORK,
    CHILD_STEP_SESSION,
    CHILD_STEP_OOM_SCORE, /* only from earlier keepers */
    CHILD_STEP_SIGNALS,
    CHILD_STEP_LAUNCH, /* argv, environment and paths */
    CHILD_STEP_CWD,
    CHILD_STEP_STDIN,
    CHILD_STEP_STDOUT,
    CHILD_STEP_STDERR,
    CHILD_STEP_CLOSE,
    CHILD_STEP_EXEC, /* ENOENT: not found; EACCES, ENOEXEC: found but not executable */
    CHILD_STEP_LIMITS,
    CHILD_STEP_SCRIPT, /* file of the job's script */
    CHILD_STEP_CGROUP, /* EOPNOTSUPP: no cgroup can have its limits */
    CHILD_STEP_COUNT,
};
/* Returns a static word for the step; "?" for unknown values. */
const char *child_step_name(uint32_t step);

/* Verdict about an attempt that the store calls starting or running. */
enum record_verdict {
    RECORD_ABSENT,      /* no record was made: start, same attempt */
    RECORD_RUNNING,     /* runs, or may run: wait */
    RECORD_NEVER_RAN,   /* over, slot 1 is zero, and it cannot run: remove, start again */
    RECORD_DONE,        /* slot 2 valid: the exact end is in `exited` */
    RECORD_SHIM_KILLED, /* over, slot 1 only: kill the tree, then lost */
    RECORD_OTHER_BOOT,  /* reboot or power cut: lost */
    RECORD_DAMAGED,     /* bytes that the service did not write, or no file: lost */
};

struct record {
    enum record_verdict verdict;
    bool has_started;              /* `started` is valid */
    struct record_started started; /* zero unless has_started */
    struct record_exited exited;   /* zero unless DONE */
    struct record_header header;   /* zero when ABSENT or DAMAGED */
};

/* Judges the content of a record. key: whose record it must be; boot_id: this boot; held:
 * its shim may still write to it. Never fails: content that cannot be trusted is DAMAGED,
 * or RUNNING while it is held. Pure. */
void record_parse(const void *buf, size_t len, const struct job_key *key,
                  const uint8_t boot_id[RECORD_ID_SIZE], bool held, struct record *ret);

/* Opens the record, reads it, probes lock and shim, and judges. An absent file is a
 * verdict. Returns 0, or -errno of the file system with *ret untouched. Never waits for
 * the lock. */
int record_probe(int dir_fd, const struct job_key *key,
                 const uint8_t boot_id[RECORD_ID_SIZE], struct record *ret);
/* Does the same for a record that is open for reading. A removed one is ABSENT. */
int record_probe_fd(int fd, const struct job_key *key,
                    const uint8_t boot_id[RECORD_ID_SIZE], struct record *ret);
/* Opens the record for reading. Returns a descriptor, or:
 *   -ENOENT
 *   -EIO     also if it is no file
 *   -errno */
int record_open(int dir_fd, const struct job_key *key);
/* Reads slot 1, without a look at lock or shim. Returns 1; 0: there is no slot 1 or no
 * record; -errno. */
int record_started(int dir_fd, const struct job_key *key,
                   const uint8_t boot_id[RECORD_ID_SIZE], struct record_started *ret);

/* Do the same without waiting for a disk. Also return -EAGAIN: the record is not in
 * memory. */
int record_probe_cached(int dir_fd, const struct job_key *key,
                        const uint8_t boot_id[RECORD_ID_SIZE], struct record *ret);
int record_started_cached(int dir_fd, const struct job_key *key,
                          const uint8_t boot_id[RECORD_ID_SIZE],
                          struct record_started *ret);

/* Calls fn for the key of each file with a record's name, in no order, until fn returns
 * non-zero. Returns that value; 0: there was none; -errno. */
int record_scan(int dir_fd, int (*fn)(const struct job_key *key, void *arg), void *arg);

/* Reads the random identity of a record directory from its file `generation`. If the
 * store has another one, records are missing. Returns 0, -ENOENT, -EBADMSG or -errno. */
int record_generation_read(int dir_fd, uint8_t ret[RECORD_ID_SIZE]);

int record_boot_id(uint8_t ret[RECORD_ID_SIZE]);

/* For the shim. Fill in the CRC and write the slot. Return 0 or -errno. */
int record_write_started(int fd, uint32_t seed, struct record_started *s);
int record_write_exited(int fd, uint32_t seed, struct record_exited *s);

#endif
