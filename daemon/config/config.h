/* Configuration of voltd: keys, defaults, and the files that set them.
 *
 * Files are systemd-style INI: a main file (voltd.conf), then drop-ins
 * (voltd.conf.d/NAME.conf beside it) in byte order of their names. Later assignments win;
 * an empty assignment restores the default. Nothing is skipped silently: an unknown
 * section or key and a bad value are errors that name file, line, key and allowed values.
 * conf/voltd.conf lists every key as a comment, with default and meaning; a test compares
 * the two.
 *
 * struct config is plain data without pointers: a snapshot is a copy, and a reload loads
 * a new one and hands it out. Units: counts, bytes, microseconds. CONFIG_INFINITY: no
 * limit. */
#ifndef VOLT_DAEMON_CONFIG_H
#define VOLT_DAEMON_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <volt/error.h>
#include "daemon/job/queue.h"
#include "daemon/job/spec.h"

#define CONFIG_INFINITY    UINT64_MAX
#define CONFIG_NAMES       QUEUE_NAMES_BYTES
#define CONFIG_NOT_SAID    (UINT64_MAX - 1) /* of limits of a user or group */
#define CONFIG_LIMITS_NAME 32
#define CONFIG_LIMITS_MOST 256

/* Every field is a uint64_t, so that one table describes them all (config.c). */
struct config {
    /* [Daemon] */
    uint64_t workers;              /* Workers=: 0: one per two CPUs; needs a restart */
    uint64_t max_blocking_threads; /* MaxBlockingThreads=; needs a restart */
    uint64_t heartbeat_usec; /* HeartbeatSec=: of silent streams, < 45 s of sd-varlink */

    /* [Store] */
    uint64_t sync; /* Sync=: commits wait for the disk, 0 or 1; needs a restart */
    uint64_t
        keep_ended_jobs;   /* KeepEndedJobs=: records of ended jobs kept for questions */
    uint64_t keep_history; /* KeepHistoryJobs=: ended jobs in the store */
    uint64_t keep_history_usec; /* KeepHistorySec= */
    uint64_t keep_keys_usec;    /* KeepKeysSec=: keys, after the end of their jobs */
    uint64_t fold_output;       /* FoldOutput=: an output of so many bytes moves there */

    /* [Queue]: the default queue */
    uint64_t slots;       /* Slots=: running exec jobs; 0: max(2, online CPUs) */
    uint64_t start_ahead; /* StartAhead=: jobs marked as starting without a slot */

    /* [Jobs]: defaults of a spec */
    uint64_t
        kill_after_usec;   /* KillAfterSec=: from TERM to KILL if a job sets no timeout */
    uint64_t output_limit; /* OutputLimit=: bytes that a job may print, likewise */

    /* [Limits]: bounds on what peers may use */
    uint64_t max_message;      /* MaxMessage=: bytes of one call */
    uint64_t max_batch;        /* MaxBatch=: bytes of one SubmitBatch call */
    uint64_t max_batch_jobs;   /* MaxBatchJobs=: specs in one SubmitBatch */
    uint64_t max_depth;        /* MaxDepth=: nesting of one message */
    uint64_t max_tokens;       /* MaxTokens=: JSON tokens of one call */
    uint64_t max_batch_tokens; /* MaxBatchTokens=: the same of a SubmitBatch */
    uint64_t
        max_parse_memory; /* MaxParseMemory=: heap to parse a call, or one of a batch */
    uint64_t max_array;   /* MaxArray=: elements of one array job */
    uint64_t max_stdin;   /* MaxStdin=: bytes of standard input that a spec brings */
    uint64_t max_pipelined_calls;      /* MaxPipelinedCalls=: read ahead per connection */
    uint64_t max_connections;          /* MaxConnections=: of all users */
    uint64_t max_connections_per_user; /* MaxConnectionsPerUser= */
    uint64_t
        max_buffers_per_user; /* MaxBuffersPerUser=: bytes that these hold together */
    uint64_t max_stream_memory_per_user; /* MaxStreamMemoryPerUser=: bytes that waiting
                                          * streams keep */
    uint64_t max_jobs;                   /* MaxJobs=: jobs not ended, of all users */
    uint64_t max_jobs_per_user;          /* MaxJobsPerUser=: jobs not ended */
    uint64_t max_bytes_per_user;         /* MaxBytesPerUser=: specs of jobs not ended */
    uint64_t max_running_per_user;       /* MaxRunningPerUser=: slots of one user */
    uint64_t max_keys_per_user;  /* MaxKeysPerUser=: keys, of ended jobs as well */
    uint64_t max_output_backlog; /* MaxOutputBacklog=: bytes a peer has not read yet */
    uint64_t max_watch_backlog;  /* MaxWatchBacklog=: events a watcher lags behind */
    uint64_t frame_timeout_usec; /* FrameTimeoutSec=: first byte of a call to its NUL */
    uint64_t idle_timeout_usec;  /* IdleTimeoutSec=: connection without call or stream */
    /* MemoryMax=, MemoryHigh=, MemorySwapMax=, PidsMax=, CPUQuota=, CPUWeight=,
     * IOWeight=: of jobs that give none. */
    struct job_cgroup cgroup;
    uint64_t drain_timeout_usec; /* DrainTimeoutSec=: a peer that reads nothing */
};

/* Queues of the configuration, "default" first. Plain data as well; too large for a
 * stack. */
struct config_queue {
    char name[QUEUE_NAME_BYTES + 1];
    uint64_t value[QUEUE_SETTINGS]; /* slots of "default": see [Queue] */
    /* AllowUsers=, AllowGroups=: names separated by blanks; both empty: everyone. */
    char users[CONFIG_NAMES + 1], groups[CONFIG_NAMES + 1];
};
/* Limits for jobs of a user or group that set none. */
struct config_limits {
    enum queue_list of;
    char name[CONFIG_LIMITS_NAME + 1]; /* of a user also the uid */
    struct job_cgroup cgroup;          /* each may be CONFIG_NOT_SAID */
};
/* The named sections of a configuration: queues, and limits of users and groups. */
struct config_queues {
    size_t n;
    struct config_queue all[QUEUES_MOST];
    size_t nlimits;
    struct config_limits limits[CONFIG_LIMITS_MOST];
};

/* Sets every field to its default. */
void config_defaults(struct config *ret);

/* Sets the queues to their default: "default" alone. */
void config_default_queues(struct config_queues *ret);

/* Loads the file at path, then the drop-ins in "<path>.d/", over the defaults. A missing
 * directory of drop-ins is no error, nor is a missing main file without must_exist.
 * Returns 0 with *ret and *ret_queues, each of which may be NULL; -EINVAL for bad
 * content; -errno of opening or reading. On failure err has the text, and neither is
 * changed. */
int config_load(const char *path, bool must_exist, struct config *ret,
                struct config_queues *ret_queues, struct volt_error *err);

/* Receives one mistake: the file, the line, and what is wrong. */
typedef void config_tell_fn(void *arg, const char *text);

/* Reads the same files and reports every mistake through tell. *ret_files: files that
 * were read. Returns the number of mistakes, -ENAMETOOLONG or -ENOMEM. */
int config_check(const char *path, bool must_exist, config_tell_fn *tell, void *arg,
                 size_t *ret_files);

/* Returns Workers=, or one worker for two CPUs that voltd may use: jobs, store and
 * clients need CPUs, too. At most VOLT_MAX_WORKERS. */
unsigned config_workers(const struct config *cfg);

/* Writes the default path of the main file: /etc/voltd/voltd.conf, or for user mode
 * $XDG_CONFIG_HOME/voltd/voltd.conf (~/.config unless that is an absolute path). Returns
 * 0; -ENOENT without a home (paths_home()); -ENAMETOOLONG. */
int config_default_path(bool user, char *buf, size_t size);

/* Lists the files that config_load(path) reads, in its order: the main file if it exists,
 * then the drop-ins. Returns 0 and a NULL-terminated array, to be freed with one
 * free(). */
int config_files(const char *path, char ***ret);

/* Lists the keys, as "Section.Key", that differ between two configurations and need a
 * restart. Returns as config_files() does. */
int config_needs_restart(const struct config *before, const struct config *after,
                         char ***ret);

/* One key of a configuration, for display. */
struct config_item {
    const char *section;
    const char *name;
    const char *help; /* allowed values */
    bool needs_restart;
    uint64_t value;
    char text[32]; /* the value as a file would have it */
};

/* Describes key number index of cfg. Returns 0, or -ENOENT past the last key. */
int config_item(const struct config *cfg, size_t index, struct config_item *ret);
/* Describes likewise a key of limits of a user or group; section is "Limits". Its value
 * is CONFIG_NOT_SAID, without a text, where they do not name it. */
int config_limits_item(const struct config_limits *limits, size_t index,
                       struct config_item *ret);

#endif
