/* Specs: life, cross-field checks, what is derived from them.
 *
 * A spec belongs to the code that fills it in until it is submitted; from then on any
 * thread may read it and none writes, so the reference count is the only shared word. */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "daemon/job/env.h"
#include "daemon/job/retry.h"
#include "daemon/job/script_line.h"
#include "daemon/job/spec.h"

const char *const job_cgroup_names[JOB_CGROUP_LIMITS] = {
#define SPEC_CGROUP(member, json, least, most) json,
#include "daemon/job/spec_fields.def"
};

uint64_t *job_cgroup_at(struct job_cgroup *c, size_t n)
{
    uint64_t *const members[] = {
#define SPEC_CGROUP(member, ...) &c->member,
#include "daemon/job/spec_fields.def"
    };

    return members[n];
}

void job_cgroup_init(struct job_cgroup *ret)
{
#define SPEC_CGROUP(member, ...) ret->member = JOB_NO_LIMIT;
#include "daemon/job/spec_fields.def"
}

uint32_t job_cgroup_given(const struct job_cgroup *c)
{
    uint32_t given = 0, bit = 1;

#define SPEC_CGROUP(member, ...)                                                         \
    given |= c->member != JOB_NO_LIMIT ? bit : 0;                                        \
    bit <<= 1;
#include "daemon/job/spec_fields.def"
    return given;
}

bool job_spec_cgroup(const struct job_spec *s, struct job_cgroup *ret)
{
    *ret = s->cgroup;
#define SPEC_CGROUP(member, ...)                                                         \
    if (ret->member == JOB_NO_LIMIT)                                                     \
        ret->member = s->cgroup_default.member;
#include "daemon/job/spec_fields.def"
    return job_cgroup_given(ret) != 0;
}

struct job_spec *job_spec_new(void)
{
    struct job_spec *s = calloc(1, sizeof(*s));

    if (!s)
        return NULL;
    vat_u32_init(&s->refs, 1);
#define SPEC_NUMBER(tag, member, json, least, most, fallback) s->member = (fallback);
#define SPEC_LIMIT(...)                                       SPEC_NUMBER(__VA_ARGS__)
#define SPEC_ARRAY(...)                                       SPEC_NUMBER(__VA_ARGS__)
#define SPEC_RETRY(...)                                       SPEC_NUMBER(__VA_ARGS__)
#define SPEC_OCTAL(tag, member, json, most, fallback)         s->member = (fallback);
#define SPEC_SIGNAL(tag, member, json, fallback)              s->member = (fallback);
#include "daemon/job/spec_fields.def"
    job_cgroup_init(&s->cgroup);
    job_cgroup_init(&s->cgroup_default);
    return s;
}

/* Written by: every holder. Relaxed: the caller already has a reference. */
struct job_spec *job_spec_ref(struct job_spec *s)
{
    (void)vat_u32_add(&s->refs, 1, VAT_RLX);
    return s;
}

static void strings_free(char **v)
{
    if (!v)
        return;
    for (char **p = v; *p; p++)
        free(*p);
    free(v);
}

/* acq_rel: the reads of every other holder happen before the free. */
void job_spec_unref(struct job_spec *s)
{
    if (!s || vat_u32_sub(&s->refs, 1, VAT_AR) != 1)
        return;
    strings_free(s->argv);
    strings_free(s->env_given);
    job_env_unref(s->env);
    for (size_t i = 0; i < s->nlabels; i++) {
        free(s->labels[i].name);
        free(s->labels[i].value);
    }
    free(s->labels);
    for (size_t i = 0; i < s->nclaims; i++)
        free(s->claims[i].name);
    free(s->claims);
    for (size_t i = 0; i < s->nafter; i++)
        free(s->after[i].local), free(s->after[i].key), free(s->after[i].past);
    free(s->after);
    free(s->rlimits);
    free(s->input);
    free(s->script);
    free(s->ranges);
#define SPEC_TEXT(tag, member, ...) free(s->member);
#define SPEC_CALLED(member, ...)    free(s->member);
#include "daemon/job/spec_fields.def"
    free(s);
}

__attribute__((format(printf, 4, 5))) static int refuse(const char **ret_field,
                                                        struct volt_error *err,
                                                        const char *field,
                                                        const char *fmt, ...)
{
    va_list ap;

    if (ret_field)
        *ret_field = field;
    va_start(ap, fmt);
    (void)error_vset(err, -EINVAL, fmt, ap);
    va_end(ap);
    return -EINVAL;
}

/* Checks the fields that belong to some kinds only. */
static int validate_kind(const struct job_spec *s, const char **field,
                         struct volt_error *err)
{
    if ((unsigned)s->kind >= JOB_KIND_COUNT)
        return refuse(field, err, "kind", "unknown kind");
    const uint32_t kind = UINT32_C(1) << s->kind;
#define KIND_SET(constant) (UINT32_C(1) << JOB_KIND_##constant)
#define KIND_FIELD(may, must, name, given, only, need)                                   \
    if ((given) && !(kind & (may)))                                                      \
        return refuse(field, err, name, "%s", only);                                     \
    if (!(given) && (kind & (must)))                                                     \
        return refuse(field, err, name, "%s", need);
#include "daemon/job/kinds.def"
#undef KIND_SET
    if (s->argv && !s->argv[0])
        return refuse(field, err, "argv", "it has no word: give argv or shell");
    if (s->argv && s->argv[0][0] == '\0')
        return refuse(field, err, "argv", "the command is empty");
    return 0;
}

static int validate_script(const struct job_spec *s, const char **field,
                           struct volt_error *err)
{
    struct script_line line;
    const char *why = s->script ? script_line(s->script, &line) : NULL;

    if (s->script && s->shell)
        return refuse(field, err, "script",
                      "not with shell: it is a command, and argv its arguments");
    return why ? refuse(field, err, "script", "%s", why) : 0;
}

/* Returns whether the elements of an array would open the same file. */
static bool is_shared(const struct job_spec *s, const char *path)
{
    return s->is_array && path && !strstr(path, "{i}") && !strstr(path, "{id}");
}

static int validate_open_mode(const struct job_spec *s, const char **field,
                              struct volt_error *err)
{
    if (s->open_mode == JOB_OPEN_APPEND)
        return 0;
    if (!s->output_path && !s->error_path)
        return refuse(field, err, "open_mode", "only with output_path or error_path");
    if (is_shared(s, s->output_path) || is_shared(s, s->error_path))
        return refuse(field, err, "open_mode",
                      "each element of the array would empty the file of the others: "
                      "its path needs {i} or {id}");
    return 0;
}

static int validate_paths(const struct job_spec *s, const char **field,
                          struct volt_error *err)
{
    const struct {
        const char *field, *path;
    } paths[] = {{"cwd", s->cwd},
                 {"stdin", s->stdin_path},
                 {"output_path", s->output_path},
                 {"error_path", s->error_path}};

    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
        if (paths[i].path && paths[i].path[0] != '/')
            return refuse(field, err, paths[i].field, "an absolute path is needed");
    if (s->output == JOB_OUTPUT_PATH && !s->output_path)
        return refuse(field, err, "output_path", "output \"path\" needs it");
    if (s->output != JOB_OUTPUT_PATH && s->output_path)
        return refuse(field, err, "output_path", "only with output \"path\"");
    if (s->output != JOB_OUTPUT_FILE && s->output_split)
        return refuse(field, err, "output_split", "only with output \"file\"");
    if (s->error_path && s->output_split)
        return refuse(field, err, "error_path", "not with output_split");
    if (s->input && s->stdin_path)
        return refuse(field, err, "stdin_data", "not with stdin");
    return validate_open_mode(s, field, err);
}

static int validate_array(const struct job_spec *s, const char **field,
                          struct volt_error *err)
{
    if (s->at_once && !s->is_array)
        return refuse(field, err, "array.at_once", "only of an array");
    if (s->array_width && !s->is_array)
        return refuse(field, err, "array.width", "only of an array");
    if (!s->is_array)
        return 0;
    if (s->array_first > s->array_last)
        return refuse(field, err, "array", "first is greater than last");
    if (s->array_last > INT64_MAX)
        return refuse(field, err, "array", "last is too large");
    if (s->nranges > JOB_RANGES_MAX)
        return refuse(field, err, "array", "at most %d ranges", JOB_RANGES_MAX);
    if (job_spec_count(s) > JOB_ARRAY_MAX)
        return refuse(field, err, "array", "at most %d elements", JOB_ARRAY_MAX);
    return 0;
}

static int validate_rlimits(const struct job_rlimits *l, const char **field,
                            struct volt_error *err)
{
    if (l && (l->given == 0 || l->given >> JOB_RLIMITS))
        return refuse(field, err, "limits.rlimits", "unknown resource");
    for (size_t i = 0; l && i < JOB_RLIMITS; i++)
        if (l->soft[i] > l->hard[i])
            return refuse(field, err, "limits.rlimits", "soft is greater than hard");
    return 0;
}

static int validate_cgroup(const struct job_cgroup *c, const char **field,
                           struct volt_error *err)
{
#define SPEC_CGROUP(member, json, least, most)                                           \
    if (c->member != JOB_NO_LIMIT &&                                                     \
        (c->member > (most) || (int64_t)c->member < (least)))                            \
        return refuse(field, err, "limits." json, "must be from %lld to %lld",           \
                      (long long)(least), (long long)(most));
#include "daemon/job/spec_fields.def"
    return 0;
}

static bool is_named(const struct job_claim *c)
{
    const size_t length = strlen(c->name);

    return length > 0 && length <= JOB_CLAIM_BYTES;
}

bool job_claim_is_line(const char *name)
{
    while (*name && (unsigned char)*name >= ' ' && *name != 0x7f)
        name++;
    return !*name;
}

static int validate_claim(const struct job_claim *c, const char **field,
                          struct volt_error *err)
{
    if (!is_named(c))
        return refuse(field, err, "claims", "a name has 1 to %d bytes", JOB_CLAIM_BYTES);
    if (c->name[0] == '/')
        return refuse(field, err, "claims",
                      "%s: names that begin with a slash are of locks that all users "
                      "share, and there are none yet",
                      c->name);
    const bool counts = job_claim_counts(c->mode);
    if (!counts && (c->permits || c->capacity))
        return refuse(
            field, err, "claims",
            "%s: a lock has no permits and no capacity: that takes mode permits",
            c->name);
    if ((c->mode == JOB_CLAIM_RATE) != (c->interval_usec > 0))
        return refuse(field, err, "claims",
                      "%s: interval_usec is of mode rate, which needs it", c->name);
    if (c->interval_usec > JOB_INTERVAL_MAX)
        return refuse(field, err, "claims", "%s: interval_usec: at most a day", c->name);
    if (counts &&
        (c->permits < 1 || c->permits > JOB_PERMITS_MAX || c->capacity > JOB_PERMITS_MAX))
        return refuse(field, err, "claims",
                      "%s: permits are from 1 to %d, and so is the capacity", c->name,
                      JOB_PERMITS_MAX);
    if (c->interval_usec && c->capacity > JOB_REFILL_MAX / c->interval_usec)
        return refuse(field, err, "claims",
                      "%s: its burst, %" PRIu64 " tokens, comes back in more than a "
                      "million days",
                      c->name, c->capacity);
    return 0;
}

/* Checks claims. With kill mode main, processes may outlive the job, and nothing would
 * see their end. */
static int validate_claims(const struct job_spec *s, const char **field,
                           struct volt_error *err)
{
    int r = 0;

    if (s->nclaims > JOB_CLAIMS_MAX)
        return refuse(field, err, "claims", "at most %d", JOB_CLAIMS_MAX);
    if (s->nclaims && s->kill_mode == JOB_KILL_MAIN)
        return refuse(field, err, "claims",
                      "not with kill_mode \"main\": what such a job leaves behind would "
                      "go on without them");
    for (size_t i = 0; i < s->nclaims && r == 0; i++)
        r = validate_claim(&s->claims[i], field, err);
    return r;
}

static int validate_after(const struct job_spec *s, const char **field,
                          struct volt_error *err)
{
    if (s->nafter > JOB_AFTER_MAX)
        return refuse(field, err, "after",
                      "at most %d: let the jobs be one array, or a job of kind noop wait "
                      "for some of them",
                      JOB_AFTER_MAX);
    for (size_t i = 0; i < s->nafter; i++)
        if (s->after[i].each && !s->is_array)
            return refuse(field, err, "after", "element to element is for arrays");
    return 0;
}

static bool says_how_to_retry(const struct job_spec *s)
{
    return s->backoff_usec != JOB_BACKOFF_USEC_DEFAULT || s->backoff_max_usec ||
           s->max_total_usec || s->retry_on || job_codes_any(&s->retry_codes);
}

static int validate_retry(const struct job_spec *s, const char **field,
                          struct volt_error *err)
{
    const uint32_t exits = UINT32_C(1) << JOB_RESULT_EXIT;

    if (s->retry_times > JOB_RETRIES_MAX)
        return refuse(field, err, "retry.times", "at most %d", JOB_RETRIES_MAX);
    if (!s->retry_times && says_how_to_retry(s))
        return refuse(field, err, "retry.times", "needed, to say how often");
    if (s->retry_times && s->kill_mode == JOB_KILL_MAIN)
        return refuse(field, err, "retry",
                      "not with kill_mode \"main\": what an attempt leaves behind would "
                      "run beside the next");
    if (s->backoff_max_usec && s->backoff_max_usec < s->backoff_usec)
        return refuse(field, err, "retry.backoff_max_usec", "less than backoff_usec");
    if (s->retry_on & ~JOB_RETRY_ON_MOST)
        return refuse(field, err, "retry.on", "no such result");
    if (job_codes_any(&s->retry_codes) && s->retry_on && !(s->retry_on & exits))
        return refuse(field, err, "retry.exit_codes", "only with \"exit\" in on");
    return 0;
}

int job_spec_validate(const struct job_spec *s, const char **ret_field,
                      struct volt_error *err)
{
    int r = validate_kind(s, ret_field, err);

    if (r < 0)
        return r;
    r = validate_script(s, ret_field, err);
    if (r == 0)
        r = validate_paths(s, ret_field, err);
    if (r == 0)
        r = validate_rlimits(s->rlimits, ret_field, err);
    if (r == 0)
        r = validate_cgroup(&s->cgroup, ret_field, err);
    if (r == 0)
        r = validate_cgroup(&s->cgroup_default, ret_field, err);
    if (r == 0)
        r = validate_claims(s, ret_field, err);
    if (r == 0)
        r = validate_after(s, ret_field, err);
    if (r == 0)
        r = validate_retry(s, ret_field, err);
    if (r < 0)
        return r;
    if (s->env && !job_env_is_valid(s->env))
        return refuse(ret_field, err, "env", "a variable needs a name");
    if (s->umask != JOB_NO_UMASK && s->umask > 0777)
        return refuse(ret_field, err, "umask", "at most 777");
    if (s->on_exists != JOB_ON_EXISTS_SAME && !s->key)
        return refuse(ret_field, err, "on_exists", "only with a key");
    if (s->priority < JOB_PRIORITY_MIN || s->priority > JOB_PRIORITY_MAX)
        return refuse(ret_field, err, "priority", "from %d to %d", JOB_PRIORITY_MIN,
                      JOB_PRIORITY_MAX);
    if (s->stop_signal < 1 || s->stop_signal > SIGRTMAX)
        return refuse(ret_field, err, "stop_signal", "no such signal");
    return validate_array(s, ret_field, err);
}

static bool same_string(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static bool same_strings(char **a, char **b)
{
    if (!a || !b)
        return a == b;
    for (; *a && *b; a++, b++)
        if (strcmp(*a, *b) != 0)
            return false;
    return *a == *b; /* both at their ends */
}

static bool same_labels(const struct job_spec *a, const struct job_spec *b)
{
    if (a->nlabels != b->nlabels)
        return false;
    for (size_t i = 0; i < a->nlabels; i++)
        if (!same_string(a->labels[i].name, b->labels[i].name) ||
            !same_string(a->labels[i].value, b->labels[i].value))
            return false;
    return true;
}

static bool same_claim(const struct job_claim *a, const struct job_claim *b)
{
    return same_string(a->name, b->name) && a->mode == b->mode &&
           a->permits == b->permits && a->capacity == b->capacity &&
           a->interval_usec == b->interval_usec;
}

static bool same_claims(const struct job_spec *a, const struct job_spec *b)
{
    if (a->nclaims != b->nclaims)
        return false;
    for (size_t i = 0; i < a->nclaims; i++)
        if (!same_claim(&a->claims[i], &b->claims[i]))
            return false;
    return true;
}

/* Compares edges. An edge whose job must still be looked up equals none. */
static bool same_edge(const struct job_edge *a, const struct job_edge *b)
{
    return a->job && a->job == b->job && a->when == b->when && a->each == b->each &&
           !a->local && !b->local && same_string(a->key, b->key);
}

static bool same_after(const struct job_spec *a, const struct job_spec *b)
{
    if (a->nafter != b->nafter)
        return false;
    for (size_t i = 0; i < a->nafter; i++)
        if (!same_edge(&a->after[i], &b->after[i]))
            return false;
    return true;
}

static bool same_rlimits(const struct job_spec *a, const struct job_spec *b)
{
    const struct job_rlimits *x = a->rlimits, *y = b->rlimits;

    if (!x || !y)
        return x == y;
    return x->given == y->given && memcmp(x->soft, y->soft, sizeof(x->soft)) == 0 &&
           memcmp(x->hard, y->hard, sizeof(x->hard)) == 0;
}

/* Composite rows of spec_fields.def, by name. */
static bool same_argv(const struct job_spec *a, const struct job_spec *b)
{
    return same_strings(a->argv, b->argv);
}

static bool same_shell(const struct job_spec *a, const struct job_spec *b)
{
    return a->shell == b->shell;
}

static bool same_env(const struct job_spec *a, const struct job_spec *b)
{
    return job_env_equal(a->env, b->env);
}

static bool same_env_given(const struct job_spec *a, const struct job_spec *b)
{
    return same_strings(a->env_given, b->env_given);
}

static bool same_bytes(const struct job_bytes *x, const struct job_bytes *y)
{
    if (!x || !y)
        return x == y;
    return x->n == y->n && memcmp(x->bytes, y->bytes, x->n) == 0;
}

static bool same_input(const struct job_spec *a, const struct job_spec *b)
{
    return same_bytes(a->input, b->input);
}

static bool same_script(const struct job_spec *a, const struct job_spec *b)
{
    return same_bytes(a->script, b->script);
}

static bool same_array(const struct job_spec *a, const struct job_spec *b)
{
    static const struct job_range none[1];

    return a->is_array == b->is_array && a->array_first == b->array_first &&
           a->array_last == b->array_last && a->nranges == b->nranges &&
           memcmp(a->ranges ? a->ranges : none, b->ranges ? b->ranges : none,
                  a->nranges * sizeof(*none)) == 0;
}

static bool same_retry_on(const struct job_spec *a, const struct job_spec *b)
{
    return a->retry_on == b->retry_on;
}

static bool same_codes(const struct job_codes *a, const struct job_codes *b)
{
    return memcmp(a->word, b->word, sizeof(a->word)) == 0;
}

static bool same_retry_codes(const struct job_spec *a, const struct job_spec *b)
{
    return same_codes(&a->retry_codes, &b->retry_codes);
}

static bool same_success(const struct job_spec *a, const struct job_spec *b)
{
    return same_codes(&a->success, &b->success);
}

bool job_spec_equal(const struct job_spec *a, const struct job_spec *b)
{
#define SAME(tag, member, ...)          &&a->member == b->member
#define SPEC_NUMBER(...)                SAME(__VA_ARGS__)
#define SPEC_OCTAL(...)                 SAME(__VA_ARGS__)
#define SPEC_LIMIT(...)                 SAME(__VA_ARGS__)
#define SPEC_ARRAY(...)                 SAME(__VA_ARGS__)
#define SPEC_RETRY(...)                 SAME(__VA_ARGS__)
#define SPEC_CGROUP(member, ...)        &&a->cgroup.member == b->cgroup.member
#define SPEC_SIGNED(...)                SAME(__VA_ARGS__)
#define SPEC_SIGNAL(...)                SAME(__VA_ARGS__)
#define SPEC_CHOICE(...)                SAME(__VA_ARGS__)
#define SPEC_FLAG(...)                  SAME(__VA_ARGS__)
#define SPEC_TEXT(tag, member, ...)     &&same_string(a->member, b->member)
#define SPEC_OWN(tag, name, json)       &&same_##name(a, b)
#define SPEC_OWN_LIMIT(tag, name, json) &&same_##name(a, b)
#define SPEC_OWN_RETRY(tag, name, json) &&same_##name(a, b)
    return true
#include "daemon/job/spec_fields.def"
        ;
#undef SAME
}

struct job_event job_spec_submission(const struct job_spec *s, uint64_t at_usec)
{
    return (struct job_event){.type = JOB_EV_SUBMIT,
                              .at_usec = at_usec,
                              .held = s->hold ? JOB_HELD_BY_USER : JOB_HELD_NO,
                              .retry_lost = s->on_lost == JOB_ON_LOST_RETRY};
}

static uint64_t range_count(const struct job_range *r)
{
    return (r->last - r->first) / r->step + 1;
}

/* Returns the range of an array without ranges. */
static struct job_range whole(const struct job_spec *s)
{
    return (struct job_range){.first = s->array_first, .last = s->array_last, .step = 1};
}

const struct job_edge *job_spec_local_edge(const struct job_spec *s)
{
    for (size_t i = 0; i < s->nafter; i++)
        if (s->after[i].local)
            return &s->after[i];
    return NULL;
}

uint64_t job_spec_count(const struct job_spec *s)
{
    const struct job_range all = whole(s), *last = &all;

    if (!s->is_array)
        return 1;
    if (s->ranges)
        last = &s->ranges[s->nranges - 1];
    return last->before + range_count(last);
}

/* Returns the last range that begins at or before an offset or index; NULL: none. */
static const struct job_range *range_at(const struct job_spec *s, uint64_t n,
                                        bool is_index)
{
    size_t low = 0, high = s->nranges;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct job_range *r = &s->ranges[middle];

        if ((is_index ? r->first : r->before) <= n)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 ? &s->ranges[low - 1] : NULL;
}

int64_t job_spec_index(const struct job_spec *s, int64_t offset)
{
    const struct job_range all = whole(s);
    const struct job_range *r = s->ranges ? range_at(s, (uint64_t)offset, false) : &all;

    return (int64_t)(r->first + ((uint64_t)offset - r->before) * r->step);
}

int64_t job_spec_offset(const struct job_spec *s, int64_t index)
{
    const struct job_range all = whole(s);
    const struct job_range *r = &all;
    const uint64_t i = (uint64_t)index;

    if (!s->is_array || index < 0)
        return -1;
    if (s->ranges)
        r = range_at(s, i, true);
    if (!r || i < r->first || i > r->last || (i - r->first) % r->step != 0)
        return -1;
    return (int64_t)(r->before + (i - r->first) / r->step);
}

int64_t job_spec_offset_from(const struct job_spec *s, int64_t index)
{
    const struct job_range all = whole(s);
    const uint64_t i = index > 0 ? (uint64_t)index : 0;
    const struct job_range *r = s->ranges ? range_at(s, i, true) : &all;

    if (!r || i <= r->first)
        return (int64_t)(r ? r->before : 0);
    if (i > r->last)
        return (int64_t)(r->before + range_count(r));
    return (int64_t)(r->before + (i - r->first + r->step - 1) / r->step);
}

int job_spec_set_ranges(struct job_spec *s)
{
    uint64_t before = 0;

    for (size_t i = 0; i < s->nranges; i++) {
        struct job_range *r = &s->ranges[i];

        if (r->step == 0 || r->last > INT64_MAX || r->last < r->first ||
            (r->last - r->first) % r->step != 0 || (i > 0 && r->first <= r[-1].last))
            return -EINVAL;
        r->before = before;
        before += range_count(r); /* disjoint ranges: cannot overflow */
    }
    if (s->nranges == 0)
        return -EINVAL;
    s->array_first = s->ranges[0].first;
    s->array_last = s->ranges[s->nranges - 1].last;
    return 0;
}

uint64_t job_spec_timeout(const struct job_spec *s)
{
    return s->timeout_usec ? s->timeout_usec : s->queue_timeout_usec;
}

const char *job_spec_display_name(const struct job_spec *s)
{
    if (s->name)
        return s->name;
    if (!s->argv)
        return job_kinds[s->kind].name;
    if (s->shell)
        return "sh";

    const char *slash = strrchr(s->argv[0], '/');
    return slash && slash[1] ? slash + 1 : s->argv[0];
}

const char *job_spec_index_text(const struct job_spec *s, int64_t index,
                                char buf[static JOB_INDEX_TEXT])
{
    (void)snprintf(buf, JOB_INDEX_TEXT, "%0*lld", (int)s->array_width, (long long)index);
    return buf;
}

const char *job_spec_element_name(const struct job_spec *s, int64_t index,
                                  char buf[static JOB_NAME_BYTES + 1])
{
    const char *name = job_spec_display_name(s), *place = strstr(name, "{i}");
    char number[JOB_INDEX_TEXT];
    size_t n = 0, room = JOB_NAME_BYTES + 1;

    if (index < 0 || !place)
        return name;
    (void)job_spec_index_text(s, index, number);
    for (; place && n < room; name = place + 3, place = strstr(name, "{i}"))
        n += (size_t)snprintf(buf + n, room - n, "%.*s%s", (int)(place - name), name,
                              number);
    if (n < room)
        (void)snprintf(buf + n, room - n, "%s", name);
    return buf;
}

/* Returns n with malloc's overhead: a word per block, in blocks of 16 bytes. */
static size_t block(size_t n)
{
    return ((n + sizeof(void *) + 15) & ~(size_t)15);
}

static size_t string_bytes(const char *s)
{
    return s ? block(strlen(s) + 1) : 0;
}

static size_t strings_bytes(char **v)
{
    size_t n = 0, bytes = 0;

    if (!v)
        return 0;
    for (; v[n]; n++)
        bytes += string_bytes(v[n]);
    return bytes + block((n + 1) * sizeof(*v));
}

size_t job_spec_bytes(const struct job_spec *s)
{
    size_t bytes =
        block(sizeof(*s)) + strings_bytes(s->argv) + strings_bytes(s->env_given);

    for (size_t i = 0; i < s->nlabels; i++)
        bytes += string_bytes(s->labels[i].name) + string_bytes(s->labels[i].value);
    if (s->env) /* as if not shared */
        bytes += block(job_env_bytes(s->env));
    if (s->rlimits)
        bytes += block(sizeof(*s->rlimits));
    if (s->ranges)
        bytes += block(s->nranges * sizeof(*s->ranges));
    if (s->input)
        bytes += block(sizeof(*s->input) + s->input->n);
    if (s->script)
        bytes += block(sizeof(*s->script) + s->script->n);
    for (size_t i = 0; i < s->nclaims; i++)
        bytes += string_bytes(s->claims[i].name);
    if (s->claims)
        bytes += block(s->nclaims * sizeof(*s->claims));
    if (s->after)
        bytes += block(s->nafter * sizeof(*s->after)) + s->nafter * block(JOB_EDGE_BYTES);
    for (size_t i = 0; i < s->nafter; i++) { /* bits, and 16-bit numbers: core/each.c */
        bytes += s->after[i].each ? job_spec_count(s) * 5 / 2 : 0;
        bytes += string_bytes(s->after[i].key);
    }
    if (s->labels)
        bytes += block(s->nlabels * sizeof(*s->labels));
#define SPEC_TEXT(tag, member, ...) bytes += string_bytes(s->member);
#include "daemon/job/spec_fields.def"
    return bytes;
}
