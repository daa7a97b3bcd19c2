/* The link between voltd and voltd-keeper: fixed structs over SOCK_SEQPACKET, in host
 * byte order, with descriptors beside them as SCM_RIGHTS. Both ends are one build on one
 * machine. A keeper that meets another version says so and leaves.
 *
 * A message is one struct, which determines its size and its number of descriptors. Any
 * other message closes the connection. The first request of a connection is HELLO. Its
 * reply has the keeper's version and number of live shims. Every older connection is
 * closed by then. HELLO is no barrier: only the record of a START says whether it can
 * still be carried out. Every request has one reply, with its serial. Replies come in the
 * order in which requests are finished, and nothing else comes. The end of a job is in
 * its record.
 *
 * START carries [record, launch?, stdin?, stdout?, stderr?, script?] as descriptors.
 * voltd makes, locks and names the record. Its descriptor is the right to run the
 * attempt: the record has one open file description, and its holder has the lock. The
 * holder may be a message in a socket. When the last descriptor is closed, the kernel
 * drops the lock. An attempt without slot 1 can then never run (record.h).
 *
 * SIGNAL carries the record as well, opened for reading by voltd. The keeper can reach
 * records only by these descriptors. A SIGNAL without a descriptor means that the attempt
 * has no record.
 *
 * The launch block (below) has argv, environment and paths. A small block follows the
 * struct. A larger one is in `launch`, a memfd sealed against write, grow and shrink.
 * Only the job's own process reads it. The reply to START comes when a shim has the
 * order. Everything after that is in the record. */
#ifndef DAEMON_KEEPER_PROTOCOL_H
#define DAEMON_KEEPER_PROTOCOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "daemon/job/key.h"
#include "daemon/keeper/record.h"

/* A test compiles another version. */
#ifndef KEEPER_VERSION
#define KEEPER_VERSION UINT32_C(12)
#endif
#define KEEPER_MAGIC       UINT32_C(0x504b4c56) /* "VLKP" */
#define KEEPER_FDS_MAX     6
#define KEEPER_NAMED_MAX   8
#define KEEPER_LAUNCH_MAX  (4u << 20) /* of a launch block; exec's own limit is lower */
#define KEEPER_MESSAGE_MAX 16384

enum keeper_op {
    KEEPER_HELLO = 1,
    KEEPER_START,
    KEEPER_SIGNAL,
    KEEPER_BYE = 5, /* 4 was REMOVE, until version 9 */
    KEEPER_REPLY,   /* KEEPER_REPLY and KEEPER_WELCOME come from the keeper */
    KEEPER_WELCOME, /* HELLO and WELCOME never change, so that versions can differ */
};

struct keeper_head {
    uint32_t magic;
    uint32_t op;
    uint64_t serial; /* set by the requester */
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
    int32_t status; /* 0; -EPROTO: another version; the connection is closed */
    uint32_t version, pid;
    uint32_t live;    /* this keeper's shims that have not ended */
    uint8_t zero[32]; /* ids of records and boot, until version 10 */
};

enum keeper_kill_mode {
    KEEPER_KILL_TREE, /* ends remaining processes 500 ms after the main one, by SIGKILL */
    KEEPER_KILL_MAIN, /* leaves remaining processes alone, with the shim as parent */
};

/* Descriptors after those of record and launch block, in this order. */
#define KEEPER_FD_STDIN  1u
#define KEEPER_FD_STDOUT 2u
#define KEEPER_FD_STDERR 4u /* absent: as stdout */
#define KEEPER_FD_SCRIPT 8u /* a sealed memfd, as for script_file_make() */
#define KEEPER_FDS_NAMED 4

#define KEEPER_NO_LIMIT UINT64_MAX

/* Limits of the job's cgroup, as in cgroups(7); each may be KEEPER_NO_LIMIT. A job with a
 * limit does not run without a cgroup that has it. */
struct keeper_limits {
    uint64_t memory_max, memory_high, swap_max; /* bytes */
    uint64_t pids_max;
    uint64_t cpu_max;               /* percent of one CPU */
    uint64_t cpu_weight, io_weight; /* 1 to 10000 */
};
/* Initialises a struct keeper_limits. */
#define KEEPER_NO_LIMITS                                                                 \
    {                                                                                    \
        KEEPER_NO_LIMIT, KEEPER_NO_LIMIT, KEEPER_NO_LIMIT, KEEPER_NO_LIMIT,              \
            KEEPER_NO_LIMIT, KEEPER_NO_LIMIT, KEEPER_NO_LIMIT                            \
    }

/* Flag of START: the launch block follows the struct. */
#define KEEPER_START_INLINE 1u

struct keeper_start {
    struct keeper_head head;
    struct keeper_key key;
    uint32_t fds;       /* KEEPER_FD_* */
    uint32_t umask;     /* <= 0777 */
    uint32_t kill_mode; /* enum keeper_kill_mode */
    uint32_t flags;     /* KEEPER_START_* */
    uint64_t launch_size;
    uint32_t seed, zero; /* seed: seals the record's slots */
    struct keeper_limits limits;
};
#define KEEPER_INLINE_MAX (KEEPER_MESSAGE_MAX - sizeof(struct keeper_start))

enum keeper_scope {
    KEEPER_SCOPE_TREE, /* SIGKILL: rounds of STOP and KILL; SIGSTOP: rounds; both for at
                        * most 1 s */
    KEEPER_SCOPE_MAIN,
    KEEPER_SCOPE_WAKE, /* added to either: SIGCONT after the signal */
    /* TREE, with SIGSTOP: freezes the cgroup instead, if there is one. */
    KEEPER_SCOPE_FREEZE = 4,
};

struct keeper_signal {
    struct keeper_head head;
    struct keeper_key key;
    uint32_t signal; /* 1..64 */
    uint32_t scope;  /* KEEPER_SCOPE_* */
};

/* The orderly end of a voltd: a keeper without jobs leaves at once, instead of after 5
 * s. */
struct keeper_bye {
    struct keeper_head head;
    uint32_t settled; /* 1: voltd has seen the end of every job. Shims that the keeper has
                       * not reaped yet are about to end. The reply comes after their
                       * end */
    uint32_t zero;
};

/* The shim was killed and was no child of this keeper: its orphans cannot be
 * distinguished from other processes. */
#define KEEPER_SURVIVORS_UNKNOWN UINT32_MAX

/* The reply to all requests but HELLO.
 *
 *   START   0; -EBADMSG: the launch block is no sealed memfd of that size, or the
 *           record is no file; -EAGAIN, -ENOMEM, ...: nothing ran, and the keeper has
 *           closed the record
 *   SIGNAL  0; -ESRCH: it has ended or never started; -EIO: the record is damaged;
 *           -EAGAIN: it has not started yet, or too many signals are under way.
 *           SIGCONT to an ended attempt thaws the processes that it has left
 *   BYE     0: the keeper leaves; -EBUSY: it stays for its jobs */
struct keeper_reply {
    struct keeper_head head;
    int32_t status;
    uint32_t pid;     /* START: the shim */
    uint32_t reached; /* SIGNAL: number of signals that reached a process */
    /* SIGNAL, KILL, with any status: processes alive after 1 s (tree), or not to be
     * signalled (main); also a shim that stays stopped; or KEEPER_SURVIVORS_UNKNOWN. Then
     * the first of them. */
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

/* Returns whether len bytes with nfds descriptors are a request: every field is in range,
 * and reserved fields are zero. Pure. */
bool keeper_request_is_valid(const union keeper_message *m, size_t len, int nfds);
/* Does the same for a message from the keeper. */
bool keeper_answer_is_valid(const union keeper_message *m, size_t len, int nfds);

struct keeper_key keeper_key_pack(const struct job_key *key);
struct job_key keeper_key_unpack(const struct keeper_key *key);

/* A resource limit, as in setrlimit(2); the job gets at most its keeper's. */
struct launch_rlimit {
    uint32_t resource, zero;
    uint64_t soft, hard; /* soft <= hard */
};
#define LAUNCH_RLIMITS_MAX 16

/* Describes how a job is started. All strings are borrowed. */
struct launch {
    const char *cwd; /* NULL: home of the account */
    /* Files that the job's own process opens, after chdir. NULL: the descriptor of START,
     * or /dev/null. Outputs are opened for appending, and made with 0666 less the umask.
     * Symlinks are not followed. Outputs must be regular files or /dev/null. */
    const char *stdin_path, *stdout_path, *stderr_path;
    bool truncate;    /* empties outputs first */
    size_t script_at; /* index in argv for the path of the script, below argc; 0: none */
    char **argv;      /* argc >= 1 entries, then NULL */
    size_t argc;
    char **env; /* envc entries "NAME=value", then NULL */
    size_t envc;
    bool adds_account; /* adds variables of the account in front: account.h */
    const struct launch_rlimit *rlimits;
    size_t nrlimits;
};

#define LAUNCH_MAGIC UINT32_C(0x484e4c56) /* "VLNH" */
#define LAUNCH_PATHS 4

struct launch_head {
    uint32_t magic, version;
    uint64_t size; /* bytes of the whole block */
    uint32_t argc, envc;
    uint32_t nrlimits, flags; /* flags: LAUNCH_*, and script_at above them */
};
#define LAUNCH_TRUNCATE    1u
#define LAUNCH_ACCOUNT     2u
#define LAUNCH_SCRIPT_AT_1 4u /* multiplied by script_at */
#define LAUNCH_SCRIPT_MAX  2  /* after an interpreter and its argument */
#define LAUNCH_ACCOUNT_MAX 6  /* variables */

/* Encodes l into buf[size] if it fits. Returns the bytes that it needs in any case, or:
 *   -E2BIG   more than KEEPER_LAUNCH_MAX
 *   -EINVAL  no argv[0], or an entry of the environment without "NAME="
 *
 * The launch block is a header, the resource limits, room for the two pointer tables,
 * then the strings: cwd, stdin, stdout, stderr, argv, environment. Each string ends with
 * its NUL, and nothing follows the last. The room lets the decoder work in a private
 * mapping without allocation. With LAUNCH_ACCOUNT there is room for the variables of the
 * account as well. Pure. */
long launch_encode(const struct launch *l, void *buf, size_t size);
/* Decodes in place: *ret points into buf, and the pointer tables in buf are filled in.
 * buf is 8-aligned and writable. Returns 0 or -EBADMSG. Changes only buf and *ret. */
int launch_decode(void *buf, size_t len, struct launch *ret);
/* Returns whether s is "NAME=value" with a name, as each entry of the environment must
 * be. */
bool launch_is_assignment(const char *s);
/* Encodes l into a sealed memfd, of *ret_size bytes. Returns the descriptor (CLOEXEC,
 * owned by the caller), -E2BIG, -EINVAL or -errno. */
int launch_memfd(const struct launch *l, uint64_t *ret_size);

#endif
