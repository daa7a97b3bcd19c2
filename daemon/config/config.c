/* Reads the configuration: one table, with inih underneath.
 *
 * The table holds section, field, type, range and default of every key. Parsing,
 * defaults, messages and config_item() follow the table, so a new key is one line here
 * and one in config.h. inih (as Debian builds it) calls back per assignment without a
 * line number, so the reader that feeds inih counts lines. The first error ends
 * config_load(); config_check() goes on behind each error. */
#include "daemon/config/config.h"
#include "base/cpus.h"
#include "base/error.h"
#include "base/file.h"
#include "daemon/config/load.h"
#include "daemon/config/paths.h"
#include "wire/duration.h"
#include "wire/suggest.h"
#include "wire/user_dirs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ini.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>
#include <volt/runtime.h>

#define KIB (UINT64_C(1) << 10)
#define MIB (UINT64_C(1) << 20)
#define GIB (UINT64_C(1) << 30)
#define TIB (UINT64_C(1) << 40)
#define SEC UINT64_C(1000000)
#define DAY (86400 * SEC)

/* Test builds allow rare heartbeats, so that none hides a lost wake-up. */
#ifdef VOLT_CRASH_POINTS
#define HEARTBEAT_MAX (3600 * SEC)
#else
#define HEARTBEAT_MAX (40 * SEC)
#endif
#define FIELD(f)  offsetof(struct config, f)
#define CGROUP(f) offsetof(struct config, cgroup.f)

static const struct key keys[] = {
    {"Daemon", "Workers", KEY_COUNT, FIELD(workers), 0, 256, 0,
     "a number from 0 (one per two CPUs) to 256", true},
    {"Daemon", "MaxBlockingThreads", KEY_COUNT, FIELD(max_blocking_threads), 1, 4096, 64,
     "a number from 1 to 4096", true},
    {"Daemon", "HeartbeatSec", KEY_SPAN, FIELD(heartbeat_usec), SEC, HEARTBEAT_MAX,
     15 * SEC, "a time from 1s to 40s", false},
    {"Store", "Sync", KEY_SWITCH, FIELD(sync), 0, 1, 1, "on or off", true},
    {"Store", "KeepEndedJobs", KEY_COUNT, FIELD(keep_ended_jobs), 0, 10000000, 2000,
     "a number from 0 to 10000000", false},
    {"Store", "KeepHistoryJobs", KEY_COUNT, FIELD(keep_history), 0, 100000000, 100000,
     "a number from 0 to 100000000", false},
    {"Store", "KeepHistorySec", KEY_LIMIT, FIELD(keep_history_usec), SEC, 36500 * DAY,
     30 * DAY, "a time from 1s to 36500d, or infinity", false},
    {"Store", "KeepKeysSec", KEY_LIMIT, FIELD(keep_keys_usec), SEC, 36500 * DAY, 7 * DAY,
     "a time from 1s to 36500d, or infinity", false},
    {"Store", "FoldOutput", KEY_SIZE, FIELD(fold_output), 0, 64 * KIB, 4 * KIB,
     "a size up to 64K", false},
    {"Queue", "Slots", KEY_COUNT, FIELD(slots), 0, 100000, 0,
     "a number from 0 (one per CPU, at least 2) to 100000", false},
    {"Queue", "StartAhead", KEY_COUNT, FIELD(start_ahead), 0, 16, 16,
     "a number from 0 to 16", false},
    {"Jobs", "KillAfterSec", KEY_LIMIT, FIELD(kill_after_usec), 0, DAY, 10 * SEC,
     "a time up to 1d, or infinity", false},
    {"Jobs", "OutputLimit", KEY_BYTES, FIELD(output_limit), KIB, TIB, CONFIG_INFINITY,
     "a size from 1K to 1T, or infinity", false},
    {"Limits", "MaxMessage", KEY_SIZE, FIELD(max_message), KIB, 16 * MIB, 256 * KIB,
     "a size from 1K to 16M", false},
    {"Limits", "MaxBatch", KEY_SIZE, FIELD(max_batch), KIB, 16 * MIB, 16 * MIB,
     "a size from 1K to 16M (the Varlink clients of systemd accept no more)", false},
    {"Limits", "MaxBatchJobs", KEY_COUNT, FIELD(max_batch_jobs), 1, 1000000, 200000,
     "a number from 1 to 1000000", false},
    {"Limits", "MaxDepth", KEY_COUNT, FIELD(max_depth), 4, 256, 32,
     "a number from 4 to 256", false},
    {"Limits", "MaxTokens", KEY_COUNT, FIELD(max_tokens), 64, 1000000, 20000,
     "a number from 64 to 1000000", false},
    {"Limits", "MaxBatchTokens", KEY_COUNT, FIELD(max_batch_tokens), 64, 8000000, 2000000,
     "a number from 64 to 8000000", false},
    {"Limits", "MaxParseMemory", KEY_SIZE, FIELD(max_parse_memory), 64 * KIB, GIB,
     8 * MIB, "a size from 64K to 1G", false},
    {"Limits", "MaxArray", KEY_COUNT, FIELD(max_array), 1, 10000000, 1000000,
     "a number from 1 to 10000000", false},
    {"Limits", "MaxStdin", KEY_SIZE, FIELD(max_stdin), 0, 8 * MIB, 128 * KIB,
     "a size up to 8M", false},
    {"Limits", "MaxPipelinedCalls", KEY_COUNT, FIELD(max_pipelined_calls), 1, 100000,
     1024, "a number from 1 to 100000", false},
    {"Limits", "MaxConnections", KEY_COUNT, FIELD(max_connections), 1, 1000000, 4096,
     "a number from 1 to 1000000", false},
    {"Limits", "MaxConnectionsPerUser", KEY_COUNT, FIELD(max_connections_per_user), 1,
     1000000, 1024, "a number from 1 to 1000000", false},
    {"Limits", "MaxBuffersPerUser", KEY_SIZE, FIELD(max_buffers_per_user), MIB, TIB,
     64 * MIB, "a size from 1M to 1T", false},
    {"Limits", "MaxStreamMemoryPerUser", KEY_SIZE, FIELD(max_stream_memory_per_user), MIB,
     TIB, 64 * MIB, "a size from 1M to 1T", false},
    {"Limits", "MaxJobs", KEY_COUNT, FIELD(max_jobs), 1, 100000000, 4000000,
     "a number from 1 to 100000000", false},
    {"Limits", "MaxJobsPerUser", KEY_COUNT, FIELD(max_jobs_per_user), 1, 100000000,
     2000000, "a number from 1 to 100000000", false},
    {"Limits", "MaxBytesPerUser", KEY_SIZE, FIELD(max_bytes_per_user), MIB, TIB, GIB,
     "a size from 1M to 1T", false},
    {"Limits", "MaxRunningPerUser", KEY_COUNT, FIELD(max_running_per_user), 0, 100000, 0,
     "a number from 0 (any number) to 100000", false},
    {"Limits", "MaxKeysPerUser", KEY_COUNT, FIELD(max_keys_per_user), 1, 100000000,
     1000000, "a number from 1 to 100000000", false},
    {"Limits", "MaxOutputBacklog", KEY_SIZE, FIELD(max_output_backlog), 64 * KIB, GIB,
     MIB, "a size from 64K to 1G", false},
    {"Limits", "MaxWatchBacklog", KEY_COUNT, FIELD(max_watch_backlog), 1, 1000000, 4096,
     "a number from 1 to 1000000", false},
    {"Limits", "FrameTimeoutSec", KEY_LIMIT, FIELD(frame_timeout_usec), SEC / 10, DAY,
     30 * SEC, "a time from 100ms to 1d, or infinity", false},
    {"Limits", "IdleTimeoutSec", KEY_LIMIT, FIELD(idle_timeout_usec), SEC / 10, 365 * DAY,
     3600 * SEC, "a time from 100ms to 365d, or infinity", false},
    {"Limits", "MemoryMax", KEY_BYTES, CGROUP(memory_max), MIB, INT64_MAX,
     CONFIG_INFINITY, "a size from 1M, or infinity", false},
    {"Limits", "MemoryHigh", KEY_BYTES, CGROUP(memory_high), MIB, INT64_MAX,
     CONFIG_INFINITY, "a size from 1M, or infinity", false},
    {"Limits", "MemorySwapMax", KEY_BYTES, CGROUP(swap_max), 0, INT64_MAX,
     CONFIG_INFINITY, "a size, or infinity", false},
    {"Limits", "PidsMax", KEY_MANY, CGROUP(pids_max), 1, 4194304, CONFIG_INFINITY,
     "a number from 1 to 4194304, or infinity", false},
    {"Limits", "CPUQuota", KEY_PERCENT, CGROUP(cpu_max), 1, 100000, CONFIG_INFINITY,
     "a percentage of one CPU from 1% to 100000%, or infinity", false},
    {"Limits", "CPUWeight", KEY_MANY, CGROUP(cpu_weight), 1, 10000, CONFIG_INFINITY,
     "a number from 1 to 10000, or infinity", false},
    {"Limits", "IOWeight", KEY_MANY, CGROUP(io_weight), 1, 10000, CONFIG_INFINITY,
     "a number from 1 to 10000, or infinity", false},
    {"Limits", "DrainTimeoutSec", KEY_LIMIT, FIELD(drain_timeout_usec), SEC / 10, DAY,
     30 * SEC, "a time from 100ms to 1d, or infinity", false},
};
enum { KEYS = sizeof(keys) / sizeof(keys[0]) };

_Static_assert(sizeof(struct config) == KEYS * sizeof(uint64_t),
               "every field of struct config has a key");

static uint64_t *field(struct config *cfg, const struct key *k)
{
    return (uint64_t *)(void *)((char *)cfg + k->offset);
}

void config_defaults(struct config *ret)
{
    for (size_t i = 0; i < KEYS; i++)
        *field(ret, &keys[i]) = keys[i].fallback;
}

/* --- values ------------------------------------------------------------------------- */

/* Reads decimal digits at *p into *ret and moves *p behind them. Returns false without a
 * digit or on overflow. */
static bool digits(const char **p, uint64_t *ret)
{
    const char *s = *p;
    uint64_t v = 0;
    for (; *s >= '0' && *s <= '9'; s++)
        if (__builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, *s - '0', &v))
            return false;
    bool any = s != *p;
    *p = s;
    *ret = v;
    return any;
}

bool config_number(const char *text, bool is_size, uint64_t *ret)
{
    static const char letters[] = "BKMGT";

    if (!digits(&text, ret))
        return false;
    if (is_size) {
        const char *unit;

        text += strspn(text, " ");
        unit = *text ? strchr(letters, *text) : NULL;
        if (unit) {
            if (__builtin_mul_overflow(*ret, UINT64_C(1) << 10 * (unit - letters), ret))
                return false;
            text++;
        }
    }
    return *text == '\0';
}

bool config_flag(const char *text, uint64_t *ret)
{
    static const char *const words[][2] = {
        {"no", "yes"}, {"off", "on"}, {"false", "true"}, {"0", "1"}};

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        for (uint64_t v = 0; v < 2; v++)
            if (strcmp(text, words[i][v]) == 0) {
                *ret = v;
                return true;
            }
    return false;
}

bool config_value(const struct key *k, const char *text, uint64_t *ret)
{
    bool endless = k->type == KEY_BYTES || k->type == KEY_LIMIT || k->type == KEY_MANY ||
                   k->type == KEY_PERCENT;
    char number[32];
    uint64_t v = 0;
    bool ok = false;
    if (endless && strcmp(text, "infinity") == 0) {
        *ret = CONFIG_INFINITY;
        return true;
    }
    switch (k->type) {
    case KEY_COUNT:
    case KEY_MANY:
        ok = config_number(text, false, &v);
        break;
    case KEY_PERCENT:
        (void)snprintf(number, sizeof(number), "%.*s", (int)strcspn(text, "%"), text);
        ok = strcmp(text + strcspn(text, "%"), "%") == 0 &&
             config_number(number, false, &v);
        break;
    case KEY_SIZE:
    case KEY_BYTES:
        ok = config_number(text, true, &v);
        break;
    case KEY_LIMIT:
    case KEY_SPAN:
        ok = duration_parse(text, &v) == 0;
        break;
    case KEY_SWITCH:
        ok = config_flag(text, &v);
        break;
    }
    if (!ok || v < k->min || v > k->max)
        return false;
    *ret = v;
    return true;
}

/* Writes v in the largest listed unit that divides it, so that the text reads back as
 * v. */
static void format_units(uint64_t v, const char *const names[], const uint64_t factors[],
                         char *buf, size_t size)
{
    size_t i = 0;
    while (factors[i] > 1 && (v == 0 || v % factors[i]))
        i++;
    (void)snprintf(buf, size, "%llu%s", (unsigned long long)(v / factors[i]), names[i]);
}

static void describe(const struct key *k, uint64_t v, struct config_item *ret)
{
    static const char *const size_names[] = {"G", "M", "K", ""};
    static const uint64_t size_factors[] = {GIB, MIB, KIB, 1};
    static const char *const span_names[] = {"d", "h", "min", "s", "ms", "us"};
    static const uint64_t span_factors[] = {DAY, 3600 * SEC, 60 * SEC, SEC, 1000, 1};

    *ret = (struct config_item){.section = k->section,
                                .name = k->name,
                                .help = k->help,
                                .needs_restart = k->needs_restart,
                                .value = v};
    if (v == CONFIG_NOT_SAID)
        return;
    if (k->type == KEY_SWITCH)
        (void)snprintf(ret->text, sizeof(ret->text), "%s", v ? "on" : "off");
    else if (v == CONFIG_INFINITY)
        (void)snprintf(ret->text, sizeof(ret->text), "infinity");
    else if (k->type == KEY_SIZE || k->type == KEY_BYTES)
        format_units(v, size_names, size_factors, ret->text, sizeof(ret->text));
    else if (k->type == KEY_SPAN || k->type == KEY_LIMIT)
        format_units(v, span_names, span_factors, ret->text, sizeof(ret->text));
    else
        (void)snprintf(ret->text, sizeof(ret->text), "%llu%s", (unsigned long long)v,
                       k->type == KEY_PERCENT ? "%" : "");
}

int config_item(const struct config *cfg, size_t index, struct config_item *ret)
{
    uint64_t v;

    if (index >= KEYS)
        return -ENOENT;
    memcpy(&v, (const char *)cfg + keys[index].offset, sizeof(v));
    describe(&keys[index], v, ret);
    return 0;
}

int config_limits_item(const struct config_limits *limits, size_t index,
                       struct config_item *ret)
{
    const size_t offset = offsetof(struct config, cgroup) + index * sizeof(uint64_t);
    struct job_cgroup cgroup = limits->cgroup;

    if (index >= JOB_CGROUP_LIMITS)
        return -ENOENT;
    for (size_t i = 0; i < KEYS; i++)
        if (keys[i].offset == offset)
            describe(&keys[i], *job_cgroup_at(&cgroup, index), ret);
    return 0;
}

/* --- files -------------------------------------------------------------------------- */

int config_fail(struct load *l, int status, const char *format, ...)
{
    va_list args;

    if (l->status)
        return l->status;
    struct volt_error here = {""};
    va_start(args, format);
    int r = error_vset(l->report ? &here : l->err, status, format, args);
    va_end(args);
    if (l->report) {
        l->report->mistakes++;
        l->report->tell(l->report->arg, here.text);
    } else {
        l->status = r;
    }
    return status;
}

/* --- lines -------------------------------------------------------------------------- */

/* Returns whether inih accepts the line: empty, a comment, a section or an assignment. An
 * indented line continues the value before it. */
static bool has_form(const char *line)
{
    if (strncmp(line, "\xef\xbb\xbf", 3) == 0) /* byte order mark */
        line += 3;
    if (!*line || strchr(" \t\r\n;#", *line))
        return true;
    return *line == '[' ? strchr(line, ']') != NULL : strpbrk(line, "=:") != NULL;
}

/* Hands inih one line. Two kinds of line are errors, as inih would misread them: a line
 * longer than the buffer comes back as two, and a NUL byte, which disks may leave after a
 * crash, hides the rest of its line. */
static char *read_line(char *buf, int size, void *user)
{
    struct load *l = user;
    int len = 0, ch = '\0';
    while (!l->status && !l->over && ch != '\n' && len < size - 1 &&
           (ch = getc(l->file)) != EOF) {
        buf[len++] = (char)ch;
        if (ch == '\0') {
            (void)config_fail(l, -EINVAL, "%s:%u: a NUL byte: the file is damaged",
                              l->path, l->line + 1);
            l->over = true;
        }
    }
    if (l->status || l->over || len == 0)
        return NULL;
    buf[len] = '\0';
    l->line++;
    if (len == size - 1 && ch != '\n') {
        (void)config_fail(l, -EINVAL, "%s:%u: the line is longer than %d bytes", l->path,
                          l->line, size - 2);
        l->over = true;
        return NULL;
    }
    if (*buf == '[')
        l->lost = !strchr(buf, ']');
    if (*buf == '[' && !l->lost)
        section_see(l, buf);
    if (!has_form(buf))
        (void)config_fail(l, -EINVAL, "%s:%u: neither [Section] nor Key=Value", l->path,
                          l->line);
    return l->status ? NULL : buf;
}

const struct key *config_key(const char *section, const char *name)
{
    for (size_t i = 0; i < KEYS; i++)
        if (strcmp(keys[i].section, section) == 0 && strcmp(keys[i].name, name) == 0)
            return &keys[i];
    return NULL;
}

/* Reports an assignment before the first section. */
static int outside(struct load *l, const char *name)
{
    for (size_t i = 0; i < KEYS; i++)
        if (strcasecmp(keys[i].name, name) == 0)
            return config_fail(
                l, -EINVAL, "%s:%u: %s= stands before any [Section]; it belongs in [%s]",
                l->path, l->line, name, keys[i].section);
    return config_fail(l, -EINVAL, "%s:%u: %s= stands before any [Section]", l->path,
                       l->line, name);
}

/* Returns the key with the nearest name in a section (NULL: in all), or NULL. */
static const struct key *nearest_key(const char *section, const char *name)
{
    const char *names[KEYS + 1], *near;
    size_t n = 0;

    for (size_t i = 0; i < KEYS; i++)
        if (!section || strcmp(keys[i].section, section) == 0)
            names[n++] = keys[i].name;
    names[n] = NULL;
    near = suggest(name, names);
    for (size_t i = 0; near && i < KEYS; i++)
        if (keys[i].name == near)
            return &keys[i];
    return NULL;
}

static int unknown_key(struct load *l, const char *section, const char *name)
{
    const struct key *near = nearest_key(section, name);

    if (near)
        return config_fail(l, -EINVAL,
                           "%s:%u: unknown key %s= in [%s]; did you mean %s=?", l->path,
                           l->line, name, section, near->name);
    near = nearest_key(NULL, name);
    if (near)
        return config_fail(l, -EINVAL,
                           "%s:%u: unknown key %s= in [%s]; did you mean %s= of [%s]?",
                           l->path, l->line, name, section, near->name, near->section);
    return config_fail(l, -EINVAL,
                       "%s:%u: unknown key %s= in [%s]; voltd.conf lists every key",
                       l->path, l->line, name, section);
}

/* Reports an unknown section once, for all its assignments. */
static int unknown_section(struct load *l, const char *section)
{
    static const char *const sections[] = {"Daemon", "Store",  "Queue",
                                           "Jobs",   "Limits", NULL};
    const char *near = suggest(section, sections);

    if (strncmp(l->unknown, section, sizeof(l->unknown) - 1) == 0)
        return -EINVAL;
    (void)snprintf(l->unknown, sizeof(l->unknown), "%s", section);
    if (near)
        return config_fail(l, -EINVAL, "%s:%u: unknown section [%s]; did you mean [%s]?",
                           l->path, l->line, section, near);
    return config_fail(
        l, -EINVAL,
        "%s:%u: unknown section [%s]; there are [Daemon], [Store], [Queue], "
        "[Jobs] and [Limits]",
        l->path, l->line, section);
}

/* Reports an unknown key, with the known sections or the section that has the key. */
static int unknown(struct load *l, const char *section, const char *name)
{
    bool known = false;
    if (!*section)
        return outside(l, name);
    for (size_t i = 0; i < KEYS; i++)
        known |= strcmp(keys[i].section, section) == 0;
    if (!known)
        return unknown_section(l, section);
    for (size_t i = 0; i < KEYS; i++)
        if (strcasecmp(keys[i].name, name) == 0 && strcmp(keys[i].section, section) != 0)
            return config_fail(l, -EINVAL,
                               "%s:%u: %s= does not belong in [%s] but in [%s]", l->path,
                               l->line, name, section, keys[i].section);
    return unknown_key(l, section, name);
}

/* A key of earlier versions. -ENOENT: it is none. */
static int assign_old(struct load *l, const char *section, const char *name,
                      const char *value)
{
    if (strcmp(section, "Store") != 0 || strcmp(name, "Backend") != 0)
        return -ENOENT;
    if (strcmp(value, "memory") != 0)
        return 0;
    return config_fail(
        l, -EINVAL,
        "%s:%u: Backend=memory is no more: write Sync=off, which does not wait "
        "for the disk either, and keeps jobs over a restart of voltd",
        l->path, l->line);
}

/* inih's handler: 1 to go on, 0 on an error. */
static int assign(void *user, const char *section, const char *name, const char *value)
{
    struct load *l = user;
    if (l->status || l->lost)
        return 0;
    const struct key *k = config_key(section, name);
    if (!k) {
        int r = section_assign(l, section, name, value);
        if (r == -ENOENT)
            r = assign_old(l, section, name, value);
        if (r == -ENOENT)
            (void)unknown(l, section, name);
        return r == 0;
    }
    uint64_t v = k->fallback;
    if (*value && !config_value(k, value, &v)) {
        (void)config_fail(l, -EINVAL, "%s:%u: %s=%.60s: it must be %s", l->path, l->line,
                          name, value, k->help);
        return 0;
    }
    *field(l->cfg, k) = v;
    return 1;
}

static int load_file(const char *path, bool must_exist, struct config *cfg,
                     struct config_queues *queues, struct report *report,
                     struct volt_error *err)
{
    struct load l = {.path = path,
                     .cfg = cfg,
                     .queues = queues,
                     .err = err,
                     .report = report,
                     .before = report ? report->mistakes : 0};
    int fd = file_open_regular(AT_FDCWD, path, O_RDONLY, 0, NULL);
    if (fd == -ENOENT && !must_exist)
        return 0;
    if (fd < 0)
        return config_fail(&l, fd, "%s: %s", path, file_text(fd));
    l.file = fdopen(fd, "r");
    if (!l.file) {
        (void)close(fd);
        return config_fail(&l, -ENOMEM, "%s: %s", path, strerror(ENOMEM));
    }
    int r = ini_parse_stream(read_line, &l, assign, &l);
    if (report)
        report->files++;
    bool told = report && report->mistakes > l.before;
    if (r > 0 && !told) /* an error that has_form() misses */
        (void)config_fail(&l, -EINVAL, "%s:%d: neither [Section] nor Key=Value", path, r);
    else if (r < 0)
        (void)config_fail(&l, -ENOMEM, "%s: %s", path, strerror(ENOMEM));
    if (ferror(l.file))
        (void)config_fail(&l, -EIO, "%s: reading failed", path);
    (void)fclose(l.file);
    return l.status;
}

static int is_dropin(const struct dirent *e)
{
    size_t len = strlen(e->d_name);
    return e->d_name[0] != '.' && len > 5 && strcmp(e->d_name + len - 5, ".conf") == 0;
}

static int by_bytes(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

/* A growing list of strings; strings_pack() turns it into one allocation. */
struct strings {
    char **items;
    size_t count;
};

static int strings_add(struct strings *l, const char *dir, const char *separator,
                       const char *name)
{
    char **items = reallocarray(l->items, l->count + 1, sizeof(*items));
    if (!items)
        return -ENOMEM;
    l->items = items;
    if (asprintf(&items[l->count], "%s%s%s", dir, separator, name) < 0)
        return -ENOMEM;
    l->count++;
    return 0;
}

static void strings_fini(struct strings *l)
{
    for (size_t i = 0; i < l->count; i++)
        free(l->items[i]);
    free(l->items);
}

static int strings_pack(const struct strings *l, char ***ret)
{
    size_t bytes = (l->count + 1) * sizeof(char *);
    for (size_t i = 0; i < l->count; i++)
        bytes += strlen(l->items[i]) + 1;
    char **packed = malloc(bytes);
    if (!packed)
        return -ENOMEM;
    char *text = (char *)(packed + l->count + 1);
    for (size_t i = 0; i < l->count; i++) {
        packed[i] = text;
        text = stpcpy(text, l->items[i]) + 1;
    }
    packed[l->count] = NULL;
    *ret = packed;
    return 0;
}

/* Lists the drop-ins of the main file, in the order in which they are read. */
static int list_dropins(const char *main_path, struct strings *l, struct volt_error *err)
{
    char dir[PATH_MAX];
    struct dirent **found = NULL;
    if ((size_t)snprintf(dir, sizeof(dir), "%s.d", main_path) >= sizeof(dir))
        return config_fail(&(struct load){.err = err}, -ENAMETOOLONG, "%.100s.d: %s",
                           main_path, strerror(ENAMETOOLONG));
    int n = scandir(dir, &found, is_dropin, by_bytes);
    if (n < 0 && (errno == ENOENT || errno == ENOTDIR))
        return 0;
    if (n < 0)
        return config_fail(&(struct load){.err = err}, -errno, "%s: %s", dir,
                           strerror(errno));
    int r = 0;
    for (int i = 0; i < n; i++) {
        if (r == 0)
            r = strings_add(l, dir, "/", found[i]->d_name);
        free(found[i]);
    }
    free(found);
    return r;
}

/* Checks that the queues' own slots (Nominal=) are no more than there are. */
static int prove_queues(const struct config *cfg, const struct config_queues *queues,
                        struct load *l)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < queues->n; i++)
        sum += queues->all[i].value[QUEUE_NOMINAL];
    if (!cfg->slots || sum <= cfg->slots)
        return 0;
    return config_fail(l, -EINVAL,
                       "%s: Nominal= of all queues is %llu, and Slots= of [Queue] %llu",
                       l->path, (unsigned long long)sum, (unsigned long long)cfg->slots);
}

int config_load(const char *path, bool must_exist, struct config *ret,
                struct config_queues *ret_queues, struct volt_error *err)
{
    struct config_queues *queues = malloc(sizeof(*queues));
    struct load l = {.path = path, .err = err};
    struct strings dropins = {0};
    struct config cfg;

    if (!queues)
        return config_fail(&l, -ENOMEM, "%s: %s", path, strerror(ENOMEM));
    config_defaults(&cfg);
    config_default_queues(queues);
    int r = load_file(path, must_exist, &cfg, queues, NULL, err);
    if (r == 0)
        r = list_dropins(path, &dropins, err);
    for (size_t i = 0; r == 0 && i < dropins.count; i++)
        r = load_file(dropins.items[i], true, &cfg, queues, NULL, err);
    strings_fini(&dropins);
    if (r == 0)
        r = prove_queues(&cfg, queues, &l);
    if (r == 0 && ret)
        *ret = cfg;
    if (r == 0 && ret_queues)
        *ret_queues = *queues;
    free(queues);
    return r;
}

int config_check(const char *path, bool must_exist, config_tell_fn *tell, void *arg,
                 size_t *ret_files)
{
    struct report report = {.tell = tell, .arg = arg};
    struct strings dropins = {0};
    struct config_queues *queues = malloc(sizeof(*queues));
    struct volt_error err = {""};
    struct config cfg;

    if (!queues)
        return -ENOMEM;
    config_defaults(&cfg);
    config_default_queues(queues);
    (void)load_file(path, must_exist, &cfg, queues, &report, NULL);
    int r = list_dropins(path, &dropins, &err);
    if (r < 0) {
        report.mistakes++;
        tell(arg, err.text);
    }
    for (size_t i = 0; i < dropins.count; i++)
        (void)load_file(dropins.items[i], true, &cfg, queues, &report, NULL);
    strings_fini(&dropins);
    (void)prove_queues(&cfg, queues, &(struct load){.path = path, .report = &report});
    free(queues);
    *ret_files = report.files;
    return report.mistakes;
}

int config_files(const char *path, char ***ret)
{
    struct strings files = {0};
    int r = access(path, F_OK) == 0 ? strings_add(&files, path, "", "") : 0;
    if (r == 0)
        r = list_dropins(path, &files, NULL);
    if (r == 0)
        r = strings_pack(&files, ret);
    strings_fini(&files);
    return r;
}

int config_needs_restart(const struct config *before, const struct config *after,
                         char ***ret)
{
    struct strings names = {0};
    struct config_item a, b;
    int r = 0;
    for (size_t i = 0; r == 0 && config_item(before, i, &a) == 0; i++)
        if (config_item(after, i, &b) == 0 && a.needs_restart && a.value != b.value)
            r = strings_add(&names, a.section, ".", a.name);
    if (r == 0)
        r = strings_pack(&names, ret);
    strings_fini(&names);
    return r;
}

/* With two workers on two CPUs, most of voltd's time per job is one worker waking the
 * other: 923 and 785 us of the whole machine per /bin/true with one worker, 1,047 and 848
 * us with two, measured in turns. */
unsigned config_workers(const struct config *cfg)
{
    unsigned n = cfg->workers ? (unsigned)cfg->workers : (cpus_usable() + 1) / 2;

    return n < VOLT_MAX_WORKERS ? n : VOLT_MAX_WORKERS;
}

int config_default_path(bool user, char *buf, size_t size)
{
    const char *base = getenv("XDG_CONFIG_HOME");
    const char *home = paths_home();
    int n;
    if (!user)
        n = snprintf(buf, size, "/etc/voltd/voltd.conf");
    else if (base && base[0] == '/' && !user_is_anothers(base))
        n = snprintf(buf, size, "%s/voltd/voltd.conf", base);
    else if (home)
        n = snprintf(buf, size, "%s/.config/voltd/voltd.conf", home);
    else
        return -ENOENT;
    return (size_t)n < size ? 0 : -ENAMETOOLONG;
}
