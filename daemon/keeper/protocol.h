/* The link between voltd and voltd-keeper: fixed structs over SOCK_SEQPACKET, host byte
 * order (both ends are one build on one machine), descriptors beside them as SCM_RIGHTS.
 * A keeper that is told of another version says so and leaves.
 *
 * One message is one struct, whose size and number of descriptors follow from it;
 * anything else closes the connection. The first request of a connection is HELLO. Its
 * reply tells versions and what the keeper has; every older connection is closed by then.
 * It is no barrier: whether a START can still be carried out is told by its record alone.
 * Every request has one reply, with its serial, in the order in which they are finished,
 * and nothing comes unasked: the end of a job is told by its record.
 *
 * START carries [record, launch?, stdin?, stdout?, stderr?, script?] as descriptors. The
 * record is made, locked and named by voltd, and its descriptor is the right to run the
 * attempt: there is one open file description of it, and whoever has that, a message in
 * a socket included, has the lock. When the last one is gone the kernel drops the lock,
 * and an attempt without slot 1 can never run any more (record.h).
 *
 * SIGNAL carries the record as well, open to be read by voltd: the keeper has no way to
 * the records but these descriptors. Without one the attempt has no record.
 *
 * The launch block, argv, environment and paths (below), follows the struct where it is
 * small; otherwise it is in `launch`, a memfd sealed against write, grow and shrink. Only
 * the job's own process looks into it. The reply to START comes when a shim has been told
 * of it; what becomes of it is in the record. */
#ifndef DAEMON_KEEPER_PROTOCOL_H
#define DAEMON_KEEPER_PROTOCOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "daemon/job/key.h"
#include "daemon/keeper/record.h"

#define KEEPER_MAGIC     UINT32_C(0x504b4c56) /* "VLKP" */
#define KEEPER_VERSION   UINT32_C(12)
#define KEEPER_FDS_MAX   6
#define KEEPER_NAMED_MAX 8
#define KEEPER_LAUNCH_MAX                                                                \
    (4u << 20) /* bytes of a launch block; exec's own limit is lower */
#define KEEPER_MESSAGE_MAX 16384

enum keeper_op {
    KEEPER_HELLO = 1,
    KEEPER_START,
    KEEPER_SIGNAL,
    KEEPER_BYE = 5, /* 4 was REMOVE, until version 9 */
    KEEPER_REPLY,   /* from the keeper, with the next */
    KEEPER_WELCOME, /* to tell versions apart HELLO and WELCOME stay what they are */
};

struct keeper_head {
    uint32_t magic;
    uint32_t op;
    uint64_t serial; /* the requester's */
};

struct keeper_key {
    uint64_t id;
    int64_t index;
    uint32_t attempt, zero;
};

struct keeper_hello {
    struct keeper_head head;
    uint32_t version, pid;
};

/* The reply to HELLO. */
struct keeper_welcome {
    struct keeper_head head;
    int32_t status; /* 0; -EPROTO: another version, the connection is closed */
    uint32_t version, pid;
    uint32_t live;    /* shims of this keeper that have not ended */
    uint8_t zero[32]; /* ids of records and boot, until version 10 */
};

enum keeper_kill_mode {
    KEEPER_KILL_TREE, /* what main leaves behind gets 500 ms to go, then SIGKILL */
    KEEPER_KILL_MAIN, /* what main leaves behind is left alone, with its shim as parent */
};

/* Which descriptors follow those of record and launch block, in this order. */
#define KEEPER_FD_STDIN  1u
#define KEEPER_FD_STDOUT 2u
#define KEEPER_FD_STDERR 4u /* absent: where stdout goes */
#define KEEPER_FD_SCRIPT 8u /* a sealed memfd, as script_file_make() takes it */
#define KEEPER_FDS_NAMED 4

#define KEEPER_NO_LIMIT UINT64_MAX

/* Limits of the job's cgroup, as cgroups(7) has them; each may be KEEPER_NO_LIMIT. A job
 * with one does not run without a cgroup that has it. */
struct keeper_limits {
    uint64_t memory_max, memory_high, swap_max; /* bytes */
    uint64_t pids_max;
    uint64_t cpu_max;               /* percent of one CPU */
    uint64_t cpu_weight, io_weight; /* 1 to 10000 */
};
/* An initialiser. */
#define KEEPER_NO_LIMITS                                                                 \
    {                                                                                    \
        KEEPER_NO_LIMIT, KEEPER_NO_LIMIT, KEEPER_NO_LIMIT, KEEPER_NO_LIMIT,              \
            KEEPER_NO_LIMIT, KEEPER_NO_LIMIT, KEEPER_NO_LIMIT                            \
    }

/* flags of START: the launch block follows the struct. */
#define KEEPER_START_INLINE 1u

struct keeper_start {
    struct keeper_head head;
    struct keeper_key key;
    uint32_t fds;       /* KEEPER_FD_* */
    uint32_t umask;     /* <= 0777 */
    uint32_t kill_mode; /* enum keeper_kill_mode */
    uint32_t flags;     /* KEEPER_START_* */
    uint64_t launch_size;
    uint32_t seed, zero; /* seed: what the record's slots are sealed with */
    struct keeper_limits limits;
};
#define KEEPER_INLINE_MAX (KEEPER_MESSAGE_MAX - sizeof(struct keeper_start))

enum keeper_scope {
    KEEPER_SCOPE_TREE, /* SIGKILL in rounds of STOP and KILL, SIGSTOP in rounds, for at
                        * most 1 s */
    KEEPER_SCOPE_MAIN,
    KEEPER_SCOPE_WAKE, /* with one of these: SIGCONT after the signal */
    /* TREE, with SIGSTOP: its cgroup is frozen instead, where it has one. */
    KEEPER_SCOPE_FREEZE = 4,
};

struct keeper_signal {
    struct keeper_head head;
    struct keeper_key key;
    uint32_t signal; /* 1..64 */
    uint32_t scope;  /* KEEPER_SCOPE_* */
};

/* The orderly end of a voltd: a keeper without jobs leaves at once instead
 * of after 5 s. */
struct keeper_bye {
    struct keeper_head head;
    uint32_t settled; /* 1: voltd has seen the end of every job. What the keeper has not
                         reaped yet is about to end, and the reply comes after it */
    uint32_t zero;
};

/* The shim was killed, and not below this keeper: its orphans went where nobody can tell
 * them from others. */
#define KEEPER_SURVIVORS_UNKNOWN UINT32_MAX

/* The reply to all of these.
 *
 *   START   0; -EBADMSG: the launch block is not a sealed memfd of that size, or the
 *           record no file; -EAGAIN, -ENOMEM, ...: nothing ran, and the keeper has the
 *           record no more
 *   SIGNAL  0; -ESRCH: ended or never started; -EIO: the record is damaged; -EAGAIN: it
 *           has not started yet, or too many are being signalled. SIGCONT to what has no
 *           record any more thaws what it has left
 *   BYE     0: the keeper leaves; -EBUSY: it stays for its jobs */
struct keeper_reply {
    struct keeper_head head;
    int32_t status;
    uint32_t pid;     /* START: the shim */
    uint32_t reached; /* SIGNAL: signals that reached a process */
    /* SIGNAL, KILL, with any status: alive after 1 s (tree), not to be signalled (main),
     * the shim where it stays stopped, or KEEPER_SURVIVORS_UNKNOWN; the first: */
    uint32_t survivors;
    uint32_t survivor[KEEPER_NAMED_MAX];
};

union keeper_message {
    struct keeper_head head;
    struct keeper_hello hello;
    struct keeper_welcome welcome;
    struct keeper_start start;
    struct keeper_signal signal;
    struct keeper_bye bye;
    struct keeper_reply reply;
    uint8_t bytes[KEEPER_MESSAGE_MAX];
};

/* A request of len bytes that came with nfds descriptors: every field in range, what must
 * be zero zero. Pure. */
bool keeper_request_is_valid(const union keeper_message *m, size_t len, int nfds);
/* The same for what comes from the keeper. */
bool keeper_answer_is_valid(const union keeper_message *m, size_t len, int nfds);

struct keeper_key keeper_key_pack(const struct job_key *key);
struct job_key keeper_key_unpack(const struct keeper_key *key);

/* A resource limit, as setrlimit(2) has it; the job gets at most its keeper's. */
struct launch_rlimit {
    uint32_t resource, zero;
    uint64_t soft, hard; /* soft <= hard */
};
#define LAUNCH_RLIMITS_MAX 16

/* What a job is started with. All strings are borrowed. */
struct launch {
    const char *cwd; /* NULL: the account's home */
    /* Files opened in the job's own process, after chdir; NULL: the descriptor of START,
     * or /dev/null. Outputs are appended to, made with 0666 less the umask, never
     * followed through a symlink, and must be regular files or /dev/null. */
    const char *stdin_path, *stdout_path, *stderr_path;
    bool truncate;    /* outputs are emptied first */
    size_t script_at; /* below argc: where the path of the script is put; 0: nowhere */
    char **argv;      /* argc >= 1 entries, then NULL */
    size_t argc;
    char **env; /* envc entries "NAME=value", then NULL */
    size_t envc;
    bool adds_account; /* variables of the account come before these: account.h */
    const struct launch_rlimit *rlimits;
    size_t nrlimits;
};

#define LAUNCH_MAGIC UINT32_C(0x484e4c56) /* "VLNH" */
#define LAUNCH_PATHS 4

struct launch_head {
    uint32_t magic, version;
    uint64_t size; /* of the whole block */
    uint32_t argc, envc;
    uint32_t nrlimits, flags; /* these two, and script_at above them */
};
#define LAUNCH_TRUNCATE    1u
#define LAUNCH_ACCOUNT     2u
#define LAUNCH_SCRIPT_AT_1 4u /* times script_at */
#define LAUNCH_SCRIPT_MAX  2  /* behind an interpreter and its argument */
#define LAUNCH_ACCOUNT_MAX 6  /* variables */

/* The launch block: a header, the resource limits, room for the two pointer tables, then
 * the strings (cwd, stdin, stdout, stderr, argv, environment), each with its NUL, and
 * nothing after the last. The room lets the decoder work in a private mapping without
 * allocating; with LAUNCH_ACCOUNT it is for the variables of the account as well.
 *
 * Encodes l into buf[size], when it fits. Returns the bytes it takes either way, or
 * -E2BIG (more than KEEPER_LAUNCH_MAX), or -EINVAL (no argv[0], an entry without
 * "NAME="). Pure. */
long launch_encode(const struct launch *l, void *buf, size_t size);
/* Decodes in place: *ret points into buf, whose pointer tables it fills. buf is 8-aligned
 * and writable. 0 or -EBADMSG. Pure but for buf. */
int launch_decode(void *buf, size_t len, struct launch *ret);
/* "NAME=value" with a name: what an entry of the environment must be. */
bool launch_is_assignment(const char *s);
/* A sealed memfd with l encoded. Returns the descriptor (CLOEXEC, owned by the caller)
 * and its size in *ret_size; -E2BIG; -EINVAL; -errno. */
int launch_memfd(const struct launch *l, uint64_t *ret_size);

#endif
