/* What a submitter asks for: one job, or an array of jobs that share one spec.
 *
 * A spec is immutable after submission and reference-counted: the elements of an array
 * share it. Strings are UTF-8 without NUL. Pure data: no fd, no clock, no JSON
 * (daemon/method/spec_json.c fills it in). */
#ifndef VOLTD_JOB_SPEC_H
#define VOLTD_JOB_SPEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <volt/error.h>
#include "base/atomic.h"
#include "daemon/job/job.h"

enum job_kind {
    JOB_KIND_EXEC = 0,
    JOB_KIND_SLEEP,
    JOB_KIND_NOOP,
};

enum job_kill_mode {
    JOB_KILL_TREE = 0,
    JOB_KILL_MAIN,
};

enum job_output {
    JOB_OUTPUT_FILE = 0, /* below the state directory, readable through org.voltd.logs */
    JOB_OUTPUT_NULL,
    JOB_OUTPUT_PATH, /* output_path; stdout and stderr together */
};

/* Files of the submitter that are there when the job starts. */
enum job_open_mode {
    JOB_OPEN_APPEND = 0,
    JOB_OPEN_TRUNCATE, /* emptied at the start of the first attempt */
};

/* After an attempt whose end cannot be known. */
enum job_on_lost {
    JOB_ON_LOST_FAIL = 0,
    JOB_ON_LOST_RETRY,
};

/* When the key of a submission is that of an earlier one. */
enum job_on_exists {
    JOB_ON_EXISTS_SAME = 0, /* the same spec: the same job; another: an error */
    JOB_ON_EXISTS_REJECT,   /* an error */
    JOB_ON_EXISTS_COALESCE, /* while that job is not done: that job, whatever its spec */
    JOB_ON_EXISTS_REPLACE,  /* that job is cancelled, and this one follows its end */
};

struct job_label {
    char *name, *value;
};

/* What a job reads from its standard input. */
struct job_input {
    size_t n;
    uint8_t bytes[];
};

/* Indexes of an array: from first on, each `step` behind the one before, up to last. */
struct job_range {
    uint64_t first, last, step;
    uint64_t before; /* elements of the ranges in front of it */
};

/* Resource limits of a process: setrlimit(2). */
#define JOB_RLIMITS 16

struct job_rlimits {
    uint32_t given;                                /* bit n: of resource n, RLIMIT_* */
    uint64_t soft[JOB_RLIMITS], hard[JOB_RLIMITS]; /* JOB_NO_LIMIT: none; 0: not given */
};

#define JOB_NO_UMASK                UINT32_MAX
#define JOB_NO_LIMIT                UINT64_MAX
#define JOB_PRIORITY_MIN            (-1000)
#define JOB_PRIORITY_MAX            1000
#define JOB_ARRAY_MAX               1000000
#define JOB_RANGES_MAX              1000
#define JOB_KILL_AFTER_USEC_DEFAULT UINT64_C(10000000)
#define JOB_USEC_MAX                INT64_C(3155760000000000) /* 100 years */
#define JOB_NAME_BYTES              255

/* Its fields have a row each in spec_fields.def. */
struct job_spec {
    vat_u32 refs; /* spec.c only: held by jobs, views and calls on any thread */

    enum job_kind kind;
    char **argv; /* exec: NULL-terminated, argv[0] not empty; {i} not yet expanded */
    bool shell;  /* argv is {"/bin/sh", "-c", text}, given as one string */
    char *name;  /* NULL: derived from argv[0] or the kind when shown */
    char *key;   /* idempotency: the same key and spec is the same job; NULL: none */
    enum job_on_exists on_exists; /* of the submission: not kept, not compared */
    uint64_t replaces; /* id of the job that had the key; 0: none; not compared */
    struct job_label *labels;
    size_t nlabels;

    char *cwd;                   /* absolute; NULL: "/" */
    char **env;                  /* "NAME=value", NULL-terminated; NULL: empty */
    uint32_t umask;              /* 0..0777, or JOB_NO_UMASK: 022 */
    char *stdin_path;            /* absolute; NULL: input, or /dev/null */
    struct job_input *input;     /* exec; NULL: none */
    struct job_rlimits *rlimits; /* at most those of voltd; NULL, not given: as voltd's */

    char *queue;      /* NULL: "default" */
    int32_t priority; /* higher first */

    uint64_t timeout_usec;    /* of one attempt's running time; 0: none */
    uint64_t kill_after_usec; /* between the stop signal and KILL */
    int stop_signal;          /* SIGTERM */
    enum job_kill_mode kill_mode;
    enum job_on_lost on_lost;

    enum job_output output;
    char *output_path; /* absolute */
    char *error_path;  /* absolute: stderr goes there; NULL: as output and output_split */
    enum job_open_mode open_mode; /* of both paths */
    bool output_split; /* FILE: stderr in a file of its own; else both in one, in order */
    uint64_t output_limit; /* FILE: bytes of both together; JOB_NO_LIMIT: any */

    bool is_array;
    uint64_t array_first, array_last; /* inclusive, first <= last */
    struct job_range *ranges; /* which of these, in order, no two touching; NULL: all */
    size_t nranges;

    uint64_t duration_usec; /* sleep */
};

struct job_spec *job_spec_new(void); /* defaults, one reference; NULL: out of memory */
struct job_spec *job_spec_ref(struct job_spec *s);
void job_spec_unref(struct job_spec *s); /* NULL allowed */

/* Cross-field checks (an exec job has argv, a sleep a duration, ...). 0, or -EINVAL with
 * *ret_field naming the offending field ("duration_usec") and a text. */
int job_spec_validate(const struct job_spec *s, const char **ret_field,
                      struct volt_error *err);
/* The same in every field: one can stand for the other. */
bool job_spec_equal(const struct job_spec *a, const struct job_spec *b);
/* SUBMIT of its job, or of an element. */
struct job_event job_spec_submission(const struct job_spec *s, uint64_t at_usec);
/* Number of jobs it stands for: 1, or the size of the array. */
uint64_t job_spec_count(const struct job_spec *s);
/* The index of an element, by its offset from the first one, which is below the count. */
int64_t job_spec_index(const struct job_spec *s, int64_t offset);
/* The other way round; -1: there is no such element. */
int64_t job_spec_offset(const struct job_spec *s, int64_t index);
/* The offset of the first element at or behind an index; the count: there is none. */
int64_t job_spec_offset_from(const struct job_spec *s, int64_t index);
/* Completes ranges that were filled in but for `before`, and sets array_first and
 * array_last by them. -EINVAL: they are out of order, overlap, or end between two
 * steps. */
int job_spec_set_ranges(struct job_spec *s);
/* A name to show: the spec's, basename of argv[0], or the kind. Borrowed. */
const char *job_spec_display_name(const struct job_spec *s);
/* Bytes of heap held by a spec, for limits per user. */
size_t job_spec_bytes(const struct job_spec *s);

#endif
