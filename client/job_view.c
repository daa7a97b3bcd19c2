/* See job_view.h. */
#include "client/job_view.h"
#include "wire/buffer.h"
#include "wire/duration.h"
#include "wire/error_name.h"
#include "wire/signal_name.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SEC UINT64_C(1000000)

const char *job_view_string(const json_t *job, const char *name)
{
    const char *s = json_string_value(json_object_get(job, name));
    return s ? s : "";
}

int64_t job_view_int(const json_t *job, const char *name)
{
    return json_integer_value(json_object_get(job, name));
}

bool job_view_bool(const json_t *job, const char *name)
{
    return json_is_true(json_object_get(job, name));
}

/* Returns the exit status. A voltd of the previous release has `code` instead of
 * exit_status, signal and error. */
static int exit_status_of(const json_t *job)
{
    bool there = json_object_get(job, "exit_status") != NULL;
    return (int)job_view_int(job, there ? "exit_status" : "code");
}

static int signal_of(const json_t *job)
{
    const char *name = job_view_string(job, "signal");
    return *name ? signal_from_name(name) : (int)job_view_int(job, "code");
}

static int error_of(const json_t *job)
{
    const char *name = job_view_string(job, "error");
    return *name ? error_from_name(name) : (int)job_view_int(job, "code");
}

static void signal_word(int sig, char *buf, size_t size)
{
    char name[SIGNAL_NAME_MAX];
    bool number = strspn(signal_name(sig, name), "-0123456789") > 0;
    (void)snprintf(buf, size, "%s%s", number ? "signal " : "", name);
}

/* Returns the interpreter in the first line of a script, new. */
static char *what_runs(const char *script)
{
    script += strncmp(script, "#!", 2) == 0 ? 2 : 0;
    script += strspn(script, " \t");
    return strndup(script, strcspn(script, " \t\n"));
}

/* Returns the path or program of the step that failed, as the job had it, new. NULL: the
 * spec does not tell, or no memory. */
static char *object_of_step(const json_t *job, const char *step)
{
    const json_t *spec = json_object_get(job, "spec");
    const json_t *program = json_array_get(json_object_get(spec, "argv"), 0);
    if (strcmp(step, "stdout") == 0)
        return job_view_path(job, "output_path");
    if (strcmp(step, "stderr") == 0)
        return job_view_path(job, "error_path");
    if (strcmp(step, "exec") == 0 && json_object_get(spec, "script"))
        return what_runs(job_view_string(spec, "script"));
    if (strcmp(step, "exec") == 0 && program)
        return job_view_word(job, json_string_value(program));
    if (strcmp(step, "cwd") == 0 || strcmp(step, "stdin") == 0)
        return strdup(job_view_string(spec, step));
    return NULL;
}

static void failed_start(const json_t *job, char *buf, size_t size)
{
    const char *step = job_view_string(job, "step");
    char *name = object_of_step(job, step);
    char object[128];
    term_clean(name ? name : "", object, sizeof(object));
    free(name);
    int error = error_of(job);
    bool file = strncmp(step, "std", 3) == 0; /* EINVAL: a file of another kind */
    (void)snprintf(buf, size, "could not be started: %s%s%s%s%s", step, *step ? ": " : "",
                   object, *object ? ": " : "",
                   file && error == EINVAL ? "neither a regular file nor /dev/null"
                   : error == EOPNOTSUPP && strcmp(step, "cgroup") == 0
                       ? "there is none that has the limits of its spec"
                       : strerror(error));
}

/* Returns what a job did that makes its dependents impossible. */
static const char *cause_text(const json_t *cause)
{
    static const struct {
        const char *result, *text;
    } texts[] = {
        {"success", "succeeded"},
        {"exit", "failed"},
        {"signal", "was killed by a signal"},
        {"timeout", "was stopped by its timeout"},
        {"exec_failed", "could not be started"},
        {"cancelled", "was cancelled"},
        {"lost", "was lost"},
        {"output_limit", "printed more than it may"},
        {"expired", "did not start in time"},
        {"dependency",
         "never started, as a job for which it waited did not do what it had to"},
        {"oom", "was killed for want of memory"},
    };
    const char *result = job_view_string(cause, "result");

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        if (strcmp(texts[i].result, result) == 0)
            return texts[i].text;
    return "ended otherwise";
}

static void outcome_done(const json_t *job, char *buf, size_t size)
{
    const char *result = job_view_string(job, "result");
    char sig[32];
    if (strcmp(result, "exit") == 0) {
        (void)snprintf(buf, size, "exit status %d", exit_status_of(job));
    } else if (strcmp(result, "signal") == 0) {
        signal_word(signal_of(job), sig, sizeof(sig));
        (void)snprintf(buf, size, "killed by signal %d (%s)", signal_of(job), sig);
    } else if (strcmp(result, "timeout") == 0) {
        (void)snprintf(buf, size, "timeout");
    } else if (strcmp(result, "output_limit") == 0) {
        double over = (double)job_view_int(job, "overshoot_bytes") / (1024 * 1024);
        int n = snprintf(buf, size, "output_limit: it printed more than it may");
        if (over > 0 && n > 0 && (size_t)n < size)
            (void)snprintf(buf + n, size - (size_t)n, " (%.*f MiB more)",
                           over < 1 ? 3 : 1, over);
    } else if (strcmp(result, "expired") == 0) {
        (void)snprintf(buf, size, "expired: it had not started in time");
    } else if (strcmp(result, "dependency") == 0) {
        const json_t *cause = json_object_get(job, "cause");
        (void)snprintf(buf, size, "dependency: job %s, for which it waited, %s",
                       job_view_string(cause, "id"), cause_text(cause));
    } else if (strcmp(result, "oom") == 0) {
        (void)snprintf(buf, size, "oom: killed for want of memory, by %s",
                       strcmp(job_view_string(job, "step"), "job") == 0
                           ? "its own limit"
                           : "the limit of its user, or that of the machine");
    } else if (strcmp(result, "exec_failed") == 0) {
        failed_start(job, buf, size);
    } else if (strcmp(result, "lost") == 0) {
        const char *cause = job_view_string(job, "step");
        (void)snprintf(buf, size, "lost: its exit status cannot be known%s%s%s",
                       *cause ? " (" : "", cause, *cause ? ")" : "");
    } else {
        (void)snprintf(buf, size, "%s", *result ? result : "done");
    }
}

static void outcome_array(const json_t *counts, const char *held, char *buf, size_t size)
{
    const int64_t paused = job_view_int(counts, "paused");
    const int64_t resting = job_view_int(counts, "backing_off");
    const int64_t cancelled = job_view_int(counts, "cancelled");
    char stands[40] = "", rests[64] = "", ended[40] = "";
    if (cancelled > 0)
        (void)snprintf(ended, sizeof(ended), ", %" PRId64 " cancelled", cancelled);
    if (paused > 0)
        (void)snprintf(stands, sizeof(stands), ", %" PRId64 " paused", paused);
    if (resting > 0)
        (void)snprintf(rests, sizeof(rests), " (%" PRId64 " until the next attempt)",
                       resting);
    (void)snprintf(buf, size,
                   "%" PRId64 " of %" PRId64 " done, %" PRId64 " failed%s, %" PRId64
                   " running%s, %" PRId64 " queued%s%s",
                   job_view_int(counts, "done"), job_view_int(counts, "total"),
                   job_view_int(counts, "failed"), ended,
                   job_view_int(counts, "running") - paused, stands,
                   job_view_int(counts, "queued"), rests, held);
}

/* Returns which of the texts is true of a job that is held; of another one "". */
static const char *held_text(const json_t *job, const char *by_user, const char *by_admin)
{
    if (strcmp(job_view_string(job, "wait"), "hold") != 0)
        return "";
    return job_view_bool(job, "held_by_admin") ? by_admin : by_user;
}

int64_t job_view_begin(const json_t *job)
{
    const json_t *spec = json_object_get(job, "spec");
    const int64_t delay = job_view_int(spec, "delay_usec");
    int64_t at = job_view_int(spec, "at_usec");
    if (delay > 0 && at < job_view_int(job, "submitted_at_usec") + delay)
        at = job_view_int(job, "submitted_at_usec") + delay;
    return at;
}

int64_t job_view_attempts(const json_t *job)
{
    const json_t *retry = json_object_get(json_object_get(job, "spec"), "retry");
    return retry ? job_view_int(retry, "times") + 1 + job_view_int(job, "lost_attempts")
                 : 0;
}

/* Writes which attempt is next, of how many, and when. */
static void outcome_backoff(const json_t *job, char *buf, size_t size)
{
    const int64_t most = job_view_attempts(job), now = (int64_t)job_view_now();
    const int64_t at = job_view_int(job, "wait_ends_at_usec");
    char of[32] = "", span[32] = "0ms";
    if (most > 0)
        (void)snprintf(of, sizeof(of), " of %" PRId64, most);
    if (at > now)
        duration_format((uint64_t)(at - now), span, sizeof(span));
    (void)snprintf(buf, size, "queued, attempt %" PRId64 "%s in %s",
                   job_view_int(job, "attempt") + 1, of, span);
}

static void outcome_time(const json_t *job, char *buf, size_t size)
{
    int64_t at = job_view_begin(job);
    char date[64];
    if (job_view_int(job, "attempt") > 0) {
        outcome_backoff(job, buf, size);
        return;
    }
    if (at <= 0) {
        (void)snprintf(buf, size, "queued, until it is time");
        return;
    }
    job_view_time((uint64_t)at, 0, date, sizeof(date));
    (void)snprintf(buf, size, "queued until %s", date);
}

void job_view_outcome(const json_t *job, char *buf, size_t size)
{
    const json_t *counts = json_object_get(job, "counts");
    const char *state = job_view_string(job, "state");
    const char *wait = job_view_string(job, "wait");
    int64_t before = job_view_int(job, "wait_position");
    if (json_is_object(counts)) {
        outcome_array(counts, held_text(job, " (held)", " (held by an admin)"), buf,
                      size);
    } else if (strcmp(state, "done") == 0) {
        outcome_done(job, buf, size);
    } else if (strcmp(wait, "array") == 0) {
        (void)snprintf(buf, size, "queued, as many of its array run as may at once");
    } else if (strcmp(state, "paused") == 0) {
        (void)snprintf(buf, size, "paused, until `voltctl resume %s`",
                       job_view_string(job, "id"));
    } else if (strcmp(wait, "paused") == 0) {
        (void)snprintf(buf, size, "queued, its queue is paused");
    } else if (strcmp(wait, "lock") == 0 || strcmp(wait, "rate") == 0) {
        (void)snprintf(buf, size, "%s, waiting for %s %s", state, wait,
                       job_view_string(job, "wait_lock"));
    } else if (strcmp(wait, "hold") == 0) {
        (void)snprintf(buf, size, "queued, held %s",
                       held_text(job, "until `voltctl release`",
                                 "by an admin, until an admin releases it"));
    } else if (strcmp(wait, "replace") == 0) {
        (void)snprintf(buf, size, "queued, waiting for the end of the job it replaces");
    } else if (strcmp(wait, "dependency") == 0) {
        (void)snprintf(buf, size, "queued, waiting for other jobs (voltctl why %s)",
                       job_view_string(job, "id"));
    } else if (strcmp(wait, "time") == 0) {
        outcome_time(job, buf, size);
    } else if (strcmp(wait, "keeper") == 0) {
        (void)snprintf(buf, size, "%s, waiting for voltd-keeper, which does not answer",
                       state);
    } else if (strcmp(state, "queued") == 0 && *wait) {
        int n = snprintf(buf, size, "queued, waiting for %s %s",
                         strcmp(wait, "turn") == 0 ? "its" : "a", wait);
        if (n > 0 && (size_t)n < size)
            (void)snprintf(buf + n, size - (size_t)n, " (place %" PRId64 ")", before + 1);
    } else if (strcmp(wait, "survivors") == 0) {
        (void)snprintf(buf, size, "%s, waiting for processes that SIGKILL does not end",
                       state);
    } else {
        (void)snprintf(buf, size, "%s", state);
    }
}

void job_view_result_word(const json_t *job, char *buf, size_t size)
{
    const json_t *counts = json_object_get(job, "counts");
    const char *result = job_view_string(job, "result");
    if (json_is_object(counts) && job_view_int(counts, "failed") > 0)
        (void)snprintf(buf, size, "%" PRId64 " failed", job_view_int(counts, "failed"));
    else if (json_is_object(counts) && job_view_int(counts, "cancelled") > 0)
        (void)snprintf(buf, size, "%" PRId64 " cancelled",
                       job_view_int(counts, "cancelled"));
    else if (strcmp(result, "exit") == 0)
        (void)snprintf(buf, size, "exit %d", exit_status_of(job));
    else if (strcmp(result, "signal") == 0)
        signal_word(signal_of(job), buf, size);
    else
        (void)snprintf(buf, size, "%s", *result ? result : "-");
}

const char *const job_view_live_states[] = {"queued", "starting", "running",
                                            "paused", "stopping", NULL};

json_t *job_view_live(bool queued)
{
    json_t *states = json_array();

    for (const char *const *s = job_view_live_states + !queued; *s; s++)
        (void)json_array_append_new(states, json_string(*s));
    return states;
}

enum term_style job_view_style(const json_t *job)
{
    const json_t *counts = json_object_get(job, "counts");
    const char *state = job_view_string(job, "state");
    const char *result = job_view_string(job, "result");
    if (json_is_object(counts) && job_view_int(counts, "failed") > 0)
        return TERM_RED;
    if (strcmp(state, "running") == 0 || strcmp(state, "starting") == 0)
        return TERM_BOLD;
    if (strcmp(state, "paused") == 0 || strcmp(state, "stopping") == 0)
        return TERM_YELLOW;
    if (strcmp(state, "done") != 0)
        return TERM_PLAIN;
    if (strcmp(result, "cancelled") == 0)
        return TERM_YELLOW;
    return strcmp(result, "success") == 0 || json_is_object(counts) ? TERM_GREEN
                                                                    : TERM_RED;
}

bool job_view_is_lost(const json_t *job)
{
    return strcmp(job_view_string(job, "result"), "lost") == 0 &&
           !json_is_object(json_object_get(job, "counts"));
}

uint64_t job_view_runtime(const json_t *job, uint64_t now_usec)
{
    if (job_view_is_lost(job))
        return 0;
    uint64_t start = (uint64_t)job_view_int(job, "started_at_usec");
    uint64_t end = (uint64_t)job_view_int(job, "ended_at_usec");
    if (end == 0)
        end = now_usec;
    uint64_t since = (uint64_t)job_view_int(job, "paused_at_usec");
    uint64_t paused = (uint64_t)job_view_int(job, "paused_usec");
    if (since > 0 && end > since)
        paused += end - since;
    return start == 0 || end < start || end - start < paused ? 0 : end - start - paused;
}

void job_view_time(uint64_t at_usec, uint64_t now_usec, char *buf, size_t size)
{
    time_t t = (time_t)(at_usec / SEC);
    struct tm tm;
    size_t n = 0;
    if (localtime_r(&t, &tm))
        n = strftime(buf, size, "%a %Y-%m-%d %H:%M:%S %Z", &tm);
    if (n == 0)
        (void)snprintf(buf, size, "%" PRIu64, at_usec);
    if (n > 0 && now_usec >= at_usec && now_usec > 0) {
        char ago[32];
        duration_format(now_usec - at_usec, ago, sizeof(ago));
        (void)snprintf(buf + n, size - n, "; %s ago", ago);
    }
}

uint64_t job_view_now(void)
{
    struct timespec ts;
    (void)clock_gettime(CLOCK_REALTIME, &ts);
    return (uint64_t)ts.tv_sec * SEC + (uint64_t)ts.tv_nsec / 1000;
}

/* --- paths -------------------------------------------------------------------------- */

static void put_text(struct wire_buf *to, const char *text, size_t len)
{
    (void)wire_buf_append(to, text, len);
}

/* Writes the index of an element as in its texts. Returns false if the job is no
 * element. */
static bool index_text(const json_t *job, char buf[24])
{
    const char *index = strchr(job_view_string(job, "id"), '_');
    const json_t *array = json_object_get(json_object_get(job, "spec"), "array");
    if (index)
        (void)snprintf(buf, 24, "%0*" PRId64, (int)job_view_int(array, "width"),
                       (int64_t)strtoll(index + 1, NULL, 10));
    return index;
}

/* Replaces {id}, {i} or {name} at the beginning of text, as voltd does at the job's
 * start. Returns the text after it; NULL: none of them. For an array, which has no file
 * of its own, {i} stays. */
static const char *fill_in(struct wire_buf *to, const char *text, const json_t *job)
{
    const char *id = job_view_string(job, "id"), *name = job_view_string(job, "name");
    char index[24];
    size_t from = to->end;
    if (strncmp(text, "{id}", 4) == 0) {
        put_text(to, id, strlen(id));
        return text + 4;
    }
    if (strncmp(text, "{i}", 3) == 0 && index_text(job, index)) {
        put_text(to, index, strlen(index));
        return text + 3;
    }
    if (strncmp(text, "{name}", 6) != 0)
        return NULL;
    bool dots = strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
    put_text(to, name, strlen(name));
    for (size_t i = from; i < to->end; i++)
        if (to->data[i] == '/' || dots)
            to->data[i] = '_';
    return text + 6;
}

char *job_view_path(const json_t *job, const char *field)
{
    const char *text = job_view_string(json_object_get(job, "spec"), field);
    bool array = json_is_object(json_object_get(job, "counts"));
    struct wire_buf path = {0};
    if (!*text)
        return NULL;
    while (*text) {
        const char *next = array ? NULL : fill_in(&path, text, job);
        if (!next)
            put_text(&path, text, 1);
        text = next ? next : text + 1;
    }
    char *copy = wire_buf_append(&path, "", 1) == 0 ? strdup(wire_buf_at(&path)) : NULL;
    wire_buf_fini(&path);
    return copy;
}

bool job_view_is_program(const char *word)
{
    return strpbrk(word, " \t\n");
}

bool job_view_is_index(const char *word, const char *at)
{
    return strncmp(at, "{i}", 3) == 0 && (at == word || at[-1] != '$');
}

char *job_view_word(const json_t *job, const char *word)
{
    char index[24];
    const bool replaces = index_text(job, index) && !job_view_is_program(word);
    struct wire_buf text = {0};
    char *copy = NULL;
    for (const char *begin = word; *word;) {
        bool place = replaces && job_view_is_index(begin, word);
        put_text(&text, place ? index : word, place ? strlen(index) : 1);
        word += place ? 3 : 1;
    }
    if (wire_buf_append(&text, "", 1) == 0)
        copy = strdup(wire_buf_at(&text));
    wire_buf_fini(&text);
    return copy;
}
