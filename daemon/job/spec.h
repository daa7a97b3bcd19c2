/* A submitter's specification: one job, or an array of jobs that share one spec.
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
#include "daemon/job/kind.h"

enum job_kill_mode {
    JOB_KILL_TREE = 0,
    JOB_KILL_MAIN,
};

enum job_output {
    JOB_OUTPUT_FILE = 0, /* below the state directory, readable through org.voltd.logs */
    JOB_OUTPUT_NULL,
    JOB_OUTPUT_PATH, /* output_path; stdout and stderr together */
};

/* How existing files of the submitter are opened. */
enum job_open_mode {
    JOB_OPEN_APPEND = 0,
    JOB_OPEN_TRUNCATE, /* emptied at the start of the first attempt */
};

/* Policy for an attempt whose end cannot be known. */
enum job_on_lost {
    JOB_ON_LOST_FAIL = 0,
    JOB_ON_LOST_RETRY,
};

/* Policy for a key that an earlier submission has. */
enum job_on_exists {
    JOB_ON_EXISTS_SAME = 0, /* equal spec: the same job; another: an error */
    JOB_ON_EXISTS_REJECT,   /* an error */
    JOB_ON_EXISTS_COALESCE, /* while that job is not done: that job, even if specs
                             * differ */
    JOB_ON_EXISTS_REPLACE,  /* that job is cancelled, and this one follows its end */
};

enum job_claim_mode {
#define CLAIM_MODE(constant, ...) JOB_CLAIM_##constant,
#include "daemon/job/claim_modes.def"
    JOB_CLAIM_MODES
};

/* A claim: a lock or semaphore of the submitter that a job holds from its start until all
 * its processes have ended; or tokens of a rate. */
struct job_claim {
    char *name;
    enum job_claim_mode mode;
    uint64_t permits;       /* or tokens, of a mode that counts: at least 1 */
    uint64_t capacity;      /* likewise: of the semaphore, or the burst; 0: its present
                             * size */
    uint64_t interval_usec; /* RATE: time in which one token comes back */
    uint64_t had;           /* capacity at submission; stored, but not a wish */
};

/* An edge: a job that has to start or end before another one starts. */
struct job_edge {
    uint64_t job;
    enum job_after when;
    /* During submission, an antecedent in the same batch, whose id is not known yet: by
     * its local name at first, later by its item (which comes earlier) plus 1. */
    char *local; /* NULL: none */
    size_t item; /* 0: none */
    bool each;   /* element i waits for element i */
    /* `each`, antecedent not live: how its elements ended (core/each.h); moved away when
     * the job begins to wait. */
    struct past_elements *past;
    /* The key by which `job` was named, and looked up at submission. The key stays if the
     * submitted job has a key itself, and is compared in place of `job`. NULL: named by
     * id. */
    char *key;
    /* Stored facts about `job` at submission, not wishes: it may have left the store by
     * the next start. */
    bool started;
    enum job_result result; /* NONE: not ended */
    /* During submission: `job` is not known. The spec is rejected, unless its own key
     * stands for an earlier job. */
    bool unknown;
    /* knows more than what was stored */
    bool learned;
};

struct job_env;
struct past_elements; /* one block */

struct job_label {
    char *name, *value;
};

/* Bytes that a spec brings: its standard input, or the text of a script. */
struct job_bytes {
    size_t n;
    uint8_t bytes[];
};

/* Indexes of an array: first, first + step, ... up to last. */
struct job_range {
    uint64_t first, last, step;
    uint64_t before; /* elements of the earlier ranges */
};

/* Resource limits of a process: setrlimit(2). */
#define JOB_RLIMITS 16

struct job_rlimits {
    uint32_t given;                                /* bit n: resource n, RLIMIT_* */
    uint64_t soft[JOB_RLIMITS], hard[JOB_RLIMITS]; /* JOB_NO_LIMIT: none; 0: not given */
};

/* Limits of a job's cgroup; each may be JOB_NO_LIMIT. */
struct job_cgroup {
#define SPEC_CGROUP(member, ...) uint64_t member;
#include "daemon/job/spec_fields.def"
};

#define JOB_CGROUP_LIMITS (sizeof(struct job_cgroup) / sizeof(uint64_t))

#define JOB_NO_UMASK                UINT32_MAX
#define JOB_NO_LIMIT                UINT64_MAX
#define JOB_PRIORITY_MIN            (-1000)
#define JOB_PRIORITY_MAX            1000
#define JOB_ARRAY_MAX               1000000
#define JOB_RANGES_MAX              1000
#define JOB_WIDTH_MAX               18
#define JOB_INDEX_TEXT              24 /* bytes of an index as text, with its NUL */
#define JOB_KILL_AFTER_USEC_DEFAULT UINT64_C(10000000)
#define JOB_RETRIES_MAX             1000
#define JOB_BACKOFF_USEC_DEFAULT    UINT64_C(1000000)
#define JOB_USEC_MAX                INT64_C(3155760000000000)   /* 100 years */
#define JOB_DATE_MAX                INT64_C(253402300799999999) /* the year 9999 */
#define JOB_NAME_BYTES              255
#define JOB_CLAIMS_MAX              16
#define JOB_CLAIM_BYTES             128
#define JOB_PERMITS_MAX             1000000000
#define JOB_INTERVAL_MAX            INT64_C(86400000000)         /* a day */
#define JOB_REFILL_MAX              (JOB_INTERVAL_MAX * 1000000) /* of a whole burst */
#define JOB_AFTER_MAX               256
#define JOB_EDGE_BYTES              128 /* of admission, per antecedent */

/* A set of exit codes: bit n % 64 of word n / 64. */
#define JOB_CODE_WORDS 4
struct job_codes {
    uint64_t word[JOB_CODE_WORDS];
};

/* A spec. Scalar rows of spec_fields.def, which documents them, are members by macro;
 * members of composite rows are written out. */
struct job_spec {
    vat_u32 refs; /* spec.c only: held by jobs, views and calls on any thread */

#define SPEC_NUMBER(tag, member, ...) uint64_t member;
#define SPEC_LIMIT(tag, member, ...)  uint64_t member;
#define SPEC_ARRAY(tag, member, ...)  uint64_t member;
#define SPEC_RETRY(tag, member, ...)  uint64_t member;
#define SPEC_KEPT(tag, member)        uint64_t member;
#define SPEC_OCTAL(tag, member, ...)  uint32_t member;
#define SPEC_SIGNED(tag, member, ...) int32_t member;
#define SPEC_SIGNAL(tag, member, ...) int member;
#define SPEC_CHOICE(tag, member, ...) enum job_##member member;
#define SPEC_ASKED(member, ...)       enum job_##member member;
#define SPEC_CALLED(member, ...)      char *member;
#define SPEC_FLAG(tag, member, ...)   bool member;
#define SPEC_TEXT(tag, member, ...)   char *member;
#include "daemon/job/spec_fields.def"

    char **argv; /* exec: NULL-terminated, argv[0] not empty; {i} not yet expanded */
    struct job_bytes *script; /* exec; its name is argv[0]; NULL: none */
    bool shell; /* argv is {"/bin/sh", "-c", text}, submitted as one string */
    struct job_label *labels;
    size_t nlabels;
    struct job_claim *claims;
    size_t nclaims;
    struct job_edge *after;
    size_t nafter;
    uint32_t retry_on;            /* bit n: enum job_result n leads to another attempt; 0:
                                   * JOB_RETRY_ON_DEFAULT */
    struct job_codes retry_codes; /* of EXIT: only these; none: all */
    struct job_codes success;     /* none: 0 */
    struct job_env *env;          /* NULL: the account's; env.h */
    char **env_given;             /* names of env set on purpose, sorted; NULL: all */
    struct job_bytes *input;      /* exec; NULL: none */
    struct job_rlimits *rlimits;  /* at most voltd's; NULL, not given: voltd's */
    struct job_cgroup cgroup;     /* as given */
    /* Limits of the configuration at submission, used for limits that are not given. */
    struct job_cgroup cgroup_default;

    bool is_array;
    uint64_t array_first, array_last; /* inclusive, first <= last */
    struct job_range *ranges; /* the indexes, in order, no two touching; NULL: all */
    size_t nranges;
};

struct job_spec *job_spec_new(void); /* defaults, one reference; NULL: out of memory */
struct job_spec *job_spec_ref(struct job_spec *s);
void job_spec_unref(struct job_spec *s); /* NULL allowed */

/* Checks fields against each other: an exec job has argv, a sleep a duration. Returns 0;
 * -EINVAL with *ret_field, the wrong field ("duration_usec"), and a text. */
int job_spec_validate(const struct job_spec *s, const char **ret_field,
                      struct volt_error *err);
/* Returns whether all fields are equal: one can replace the other. */
bool job_spec_equal(const struct job_spec *a, const struct job_spec *b);
/* Returns the SUBMIT of its job, or of an element. */
struct job_event job_spec_submission(const struct job_spec *s, uint64_t at_usec);
/* Returns whether a claim of this mode says how many permits or tokens. */
static inline bool job_claim_counts(enum job_claim_mode mode)
{
    return mode >= JOB_CLAIM_PERMITS;
}
/* Returns whether what is claimed is held, and given back later; not spent. */
static inline bool job_claim_is_held(enum job_claim_mode mode)
{
    return mode != JOB_CLAIM_RATE;
}
/* Returns whether a lock may get the name: it has no control characters. */
bool job_claim_is_line(const char *name);
#define JOB_CLAIM_NO_LINE "must not have control characters"
/* Returns its first edge with a local name; NULL: none. */
const struct job_edge *job_spec_local_edge(const struct job_spec *s);
/* Returns the number of its jobs: 1, or the size of the array. */
uint64_t job_spec_count(const struct job_spec *s);
/* Returns the index of the element at this offset, which is below the count. */
int64_t job_spec_index(const struct job_spec *s, int64_t offset);
/* Returns the offset of the element with this index; -1: none. */
int64_t job_spec_offset(const struct job_spec *s, int64_t index);
/* Returns the offset of the first element at or behind this index; the count: none. */
int64_t job_spec_offset_from(const struct job_spec *s, int64_t index);
/* Sets `before` of the ranges, and array_first and array_last by them. -EINVAL: they are
 * out of order, overlap, or end between two steps. */
int job_spec_set_ranges(struct job_spec *s);
/* Returns the timeout of an attempt, its own or the queue's; 0: none. */
uint64_t job_spec_timeout(const struct job_spec *s);
/* Sets the limits in force: given, or the configuration's. Returns whether there is
 * one. */
bool job_spec_cgroup(const struct job_spec *s, struct job_cgroup *ret);
/* Names of the limits in JSON, in the order of the rows. */
extern const char *const job_cgroup_names[JOB_CGROUP_LIMITS];
/* Returns limit n, in that order. */
uint64_t *job_cgroup_at(struct job_cgroup *c, size_t n);
/* Sets all to JOB_NO_LIMIT. */
void job_cgroup_init(struct job_cgroup *ret);
/* Returns which limits there are: bit n is limit n. */
uint32_t job_cgroup_given(const struct job_cgroup *c);
/* Returns a name to show: the spec's, the basename of argv[0], or the kind. Borrowed. */
const char *job_spec_display_name(const struct job_spec *s);
/* Likewise for an element: {i} in the name is its index. Returns buf, or borrowed. */
const char *job_spec_element_name(const struct job_spec *s, int64_t index,
                                  char buf[static JOB_NAME_BYTES + 1]);
/* Writes the index of an element as texts show it. Returns buf. */
const char *job_spec_index_text(const struct job_spec *s, int64_t index,
                                char buf[static JOB_INDEX_TEXT]);
/* Returns the heap bytes of the spec and of its job's edges, for limits per user. */
size_t job_spec_bytes(const struct job_spec *s);

#endif
