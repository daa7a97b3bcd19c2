/* See list_columns.h. An empty cell is "-". */
#include "client/voltctl/list_columns.h"
#include "client/job_view.h"
#include "client/shell_words.h"
#include "wire/accounts.h"
#include "wire/duration.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

struct list_column {
    const char *name;
    struct table_column table;
    /* Appends the text, without a NUL; no text: "-". Returns 0 or -ENOMEM. */
    int (*cell)(struct wire_buf *to, const json_t *job, uint64_t now);
    /* The value to sort by; NULL: the text. */
    int64_t (*number)(const json_t *job, uint64_t now);
    const char *fields;      /* fields of the job except its id, separated by blanks */
    const char *spec_fields; /* NULL: none */
    bool by_default, wide;
};

/* --- texts -------------------------------------------------------------------------- */

static int add(struct wire_buf *to, const char *text)
{
    return wire_buf_append(to, text, strlen(text));
}

static int add_int(struct wire_buf *to, int64_t n)
{
    char text[24];
    (void)snprintf(text, sizeof(text), "%" PRId64, n);
    return add(to, text);
}

static int put_id(struct wire_buf *to, const json_t *job, uint64_t now)
{
    (void)now;
    return add(to, job_view_string(job, "id"));
}

/* Returns the index of an element, from its id. */
static const char *index_text(const json_t *job)
{
    const char *mark = strchr(job_view_string(job, "id"), '_');
    return mark ? mark + 1 : "";
}

static int put_index(struct wire_buf *to, const json_t *job, uint64_t now)
{
    (void)now;
    return add(to, index_text(job));
}

static int put_exit(struct wire_buf *to, const json_t *job, uint64_t now)
{
    const json_t *status = json_object_get(job, "exit_status");
    (void)now;
    return json_is_integer(status) ? add_int(to, json_integer_value(status)) : 0;
}

static int put_code(struct wire_buf *to, const json_t *job, uint64_t now)
{
    const json_t *code = json_object_get(job, "exit_code");
    (void)now;
    return json_is_integer(code) ? add_int(to, json_integer_value(code)) : 0;
}

static int put_name(struct wire_buf *to, const json_t *job, uint64_t now)
{
    (void)now;
    return add(to, job_view_string(job, "name"));
}

/* Appends a user's name from /etc/passwd, otherwise the number: these programs are
 * static, and cannot load other sources of the C library. */
static int put_user(struct wire_buf *to, const json_t *job, uint64_t now)
{
    static int64_t known = -1; /* mostly all jobs are one user's */
    static char name[256];
    int64_t uid = job_view_int(job, "uid");
    (void)now;
    if (uid != known) {
        (void)accounts_user((uid_t)uid, name, sizeof(name));
        known = uid;
    }
    return add(to, name);
}

static int put_state(struct wire_buf *to, const json_t *job, uint64_t now)
{
    (void)now;
    return add(to, job_view_string(job, "state"));
}

static int put_wait(struct wire_buf *to, const json_t *job, uint64_t now)
{
    (void)now;
    return add(to, job_view_string(job, "wait"));
}

/* Returns its place in the line, from 1; 0: not in the line. */
static int64_t place_of(const json_t *job, uint64_t now)
{
    (void)now;
    return json_object_get(job, "wait_position") ? job_view_int(job, "wait_position") + 1
                                                 : 0;
}

static int put_place(struct wire_buf *to, const json_t *job, uint64_t now)
{
    const int64_t place = place_of(job, now);
    return place > 0 ? add_int(to, place) : 0;
}

static int put_result(struct wire_buf *to, const json_t *job, uint64_t now)
{
    char word[48];
    (void)now;
    job_view_result_word(job, word, sizeof(word));
    return add(to, word);
}

static int put_done(struct wire_buf *to, const json_t *job, uint64_t now)
{
    const json_t *counts = json_object_get(job, "counts");
    char text[48];
    (void)now;
    if (!json_is_object(counts))
        return 0;
    (void)snprintf(text, sizeof(text), "%" PRId64 "/%" PRId64,
                   job_view_int(counts, "done"), job_view_int(counts, "total"));
    return add(to, text);
}

static int put_queue(struct wire_buf *to, const json_t *job, uint64_t now)
{
    (void)now;
    return add(to, job_view_string(job, "queue"));
}

static int put_priority(struct wire_buf *to, const json_t *job, uint64_t now)
{
    (void)now;
    return add_int(to, job_view_int(job, "priority"));
}

static int put_attempt(struct wire_buf *to, const json_t *job, uint64_t now)
{
    int64_t n = job_view_int(job, "attempt");
    (void)now;
    return n > 0 ? add_int(to, n) : 0;
}

static int put_pid(struct wire_buf *to, const json_t *job, uint64_t now)
{
    int64_t pid = job_view_int(job, "pid");
    (void)now;
    return pid > 0 ? add_int(to, pid) : 0;
}

static int put_runtime(struct wire_buf *to, const json_t *job, uint64_t now)
{
    uint64_t usec = job_view_runtime(job, now);
    char text[32];
    if (usec == 0)
        return 0;
    duration_format(usec, text, sizeof(text));
    return add(to, text);
}

/* Appends the time of day; with the date unless it is today. */
static int put_time(struct wire_buf *to, const json_t *job, const char *member,
                    uint64_t now)
{
    static time_t known = -1; /* many jobs have the same second */
    static char text[32];
    time_t t = (time_t)(job_view_int(job, member) / 1000000);
    time_t today = (time_t)(now / 1000000);
    struct tm a, b;
    if (t == 0)
        return 0;
    if (t != known && localtime_r(&t, &a) && localtime_r(&today, &b)) {
        bool same = a.tm_yday == b.tm_yday && a.tm_year == b.tm_year;
        (void)strftime(text, sizeof(text), same ? "%H:%M:%S" : "%Y-%m-%d %H:%M", &a);
        known = t;
    }
    return add(to, text);
}

static int put_submitted(struct wire_buf *to, const json_t *job, uint64_t now)
{
    return put_time(to, job, "submitted_at_usec", now);
}

static int put_started(struct wire_buf *to, const json_t *job, uint64_t now)
{
    return put_time(to, job, "started_at_usec", now);
}

static int put_ended(struct wire_buf *to, const json_t *job, uint64_t now)
{
    return put_time(to, job, "ended_at_usec", now);
}

static int put_labels(struct wire_buf *to, const json_t *job, uint64_t now)
{
    json_t *labels = json_object_get(json_object_get(job, "spec"), "labels");
    const char *name, *gap = "";
    json_t *value;
    int r = 0;
    (void)now;
    json_object_foreach(labels, name, value)
    {
        const char *const parts[] = {gap, name, "=", json_string_value(value)};
        for (size_t i = 0; i < 4 && r == 0; i++)
            r = add(to, parts[i]);
        gap = ",";
    }
    return r;
}

static int put_directory(struct wire_buf *to, const json_t *job, uint64_t now)
{
    (void)now;
    return add(to, job_view_string(json_object_get(job, "spec"), "cwd"));
}

/* Appends a shell text, its lines joined to one. */
static int put_line(struct wire_buf *to, const char *line)
{
    int r = 0;
    while (*line && r == 0) {
        size_t n = strcspn(line, "\n\t"), blanks = strspn(line + n, "\n\t ");
        r = wire_buf_append(to, line, n);
        line += n + blanks;
        if (r == 0 && blanks > 0 && *line)
            r = add(to, " ");
    }
    return r;
}

static int put_command(struct wire_buf *to, const json_t *job, uint64_t now)
{
    const json_t *spec = json_object_get(job, "spec"), *argv, *word;
    const char *shell = json_string_value(json_object_get(spec, "shell"));
    const char *kind = job_view_string(job, "kind");
    size_t i;
    int r = 0;
    (void)now;
    if (shell)
        return put_line(to, shell);
    if (*kind && strcmp(kind, "exec") != 0) {
        r = add(to, "--kind=");
        if (r == 0)
            r = add(to, kind);
    }
    argv = json_object_get(spec, "argv");
    json_array_foreach(argv, i, word)
    {
        if (r == 0 && i > 0)
            r = add(to, " ");
        char *as_run = job_view_word(job, json_string_value(word));
        if (r == 0)
            r = as_run ? shell_word(to, as_run) : -ENOMEM;
        free(as_run);
    }
    return r;
}

/* --- numbers ------------------------------------------------------------------------ */

static int64_t id_of(const json_t *job, uint64_t now)
{
    (void)now;
    return (int64_t)strtoull(job_view_string(job, "id"), NULL, 10);
}

static int64_t index_of(const json_t *job, uint64_t now)
{
    (void)now;
    return (int64_t)strtoull(index_text(job), NULL, 10);
}

static int64_t exit_of(const json_t *job, uint64_t now)
{
    (void)now;
    return job_view_int(job, "exit_status");
}

static int64_t code_of(const json_t *job, uint64_t now)
{
    (void)now;
    return job_view_int(job, "exit_code");
}

static int64_t user_of(const json_t *job, uint64_t now)
{
    (void)now;
    return job_view_int(job, "uid");
}

/* Returns the state's number, in the usual order. */
static int64_t state_of(const json_t *job, uint64_t now)
{
    const char *state = job_view_string(job, "state");
    int64_t i = 0;
    (void)now;
    while (job_view_live_states[i] && strcmp(job_view_live_states[i], state) != 0)
        i++;
    return i;
}

static int64_t done_of(const json_t *job, uint64_t now)
{
    (void)now;
    return job_view_int(json_object_get(job, "counts"), "done");
}

static int64_t priority_of(const json_t *job, uint64_t now)
{
    (void)now;
    return job_view_int(job, "priority");
}

static int64_t attempt_of(const json_t *job, uint64_t now)
{
    (void)now;
    return job_view_int(job, "attempt");
}

static int64_t pid_of(const json_t *job, uint64_t now)
{
    (void)now;
    return job_view_int(job, "pid");
}

static int64_t runtime_of(const json_t *job, uint64_t now)
{
    return (int64_t)job_view_runtime(job, now);
}

static int64_t submitted_of(const json_t *job, uint64_t now)
{
    (void)now;
    return job_view_int(job, "submitted_at_usec");
}

static int64_t started_of(const json_t *job, uint64_t now)
{
    (void)now;
    return job_view_int(job, "started_at_usec");
}

static int64_t ended_of(const json_t *job, uint64_t now)
{
    (void)now;
    return job_view_int(job, "ended_at_usec");
}

/* --- the set ------------------------------------------------------------------------ */

#define LEFT     .align = TABLE_LEFT
#define RIGHT    .align = TABLE_RIGHT
#define FLEXIBLE .align = TABLE_LEFT, .flexible = true
#define OPTIONAL .optional = true

/* In the order of -o wide. */
static const struct list_column set[] = {
    {"id", {"ID", LEFT}, put_id, id_of, "", NULL, true, true},
    {"index", {"INDEX", RIGHT}, put_index, index_of, "", NULL, false, false},
    {"name", {"NAME", FLEXIBLE, .rank = 3}, put_name, NULL, "name", NULL, true, true},
    {"user", {"USER", LEFT}, put_user, user_of, "uid", NULL, false, true},
    {"state", {"STATE", LEFT}, put_state, state_of, "state", NULL, true, true},
    {"wait",
     {"WAIT", LEFT, OPTIONAL, .rank = 7},
     put_wait,
     NULL,
     "wait",
     NULL,
     true,
     true},
    {"place",
     {"PLACE", RIGHT, OPTIONAL},
     put_place,
     place_of,
     "wait_position",
     NULL,
     false,
     true},
    {"result",
     {"RESULT", LEFT, OPTIONAL, .rank = 2},
     put_result,
     NULL,
     "result exit_status signal counts",
     NULL,
     true,
     true},
    {"exit", {"EXIT", RIGHT}, put_exit, exit_of, "exit_status", NULL, false, false},
    {"code", {"CODE", RIGHT}, put_code, code_of, "exit_code", NULL, false, false},
    {"done",
     {"DONE", RIGHT, OPTIONAL, .rank = 4},
     put_done,
     done_of,
     "counts",
     NULL,
     true,
     true},
    {"queue", {"QUEUE", LEFT}, put_queue, NULL, "queue", NULL, false, true},
    {"prio", {"PRIO", RIGHT}, put_priority, priority_of, "priority", NULL, false, true},
    {"attempt",
     {"ATTEMPT", RIGHT},
     put_attempt,
     attempt_of,
     "attempt",
     NULL,
     false,
     false},
    {"pid", {"PID", RIGHT}, put_pid, pid_of, "pid", NULL, false, false},
    {"runtime",
     {"RUNTIME", RIGHT, OPTIONAL, .rank = 5},
     put_runtime,
     runtime_of,
     "started_at_usec ended_at_usec paused_at_usec paused_usec result counts",
     NULL,
     true,
     true},
    {"submitted",
     {"SUBMITTED", LEFT, .rank = 6},
     put_submitted,
     submitted_of,
     "submitted_at_usec",
     NULL,
     true,
     true},
    {"started",
     {"STARTED", LEFT},
     put_started,
     started_of,
     "started_at_usec",
     NULL,
     false,
     true},
    {"ended", {"ENDED", LEFT}, put_ended, ended_of, "ended_at_usec", NULL, false, true},
    {"labels", {"LABELS", FLEXIBLE}, put_labels, NULL, "", "labels", false, true},
    {"directory", {"DIRECTORY", FLEXIBLE}, put_directory, NULL, "", "cwd", false, false},
    {"command",
     {"COMMAND", FLEXIBLE, .rank = 1},
     put_command,
     NULL,
     "kind",
     "argv shell array",
     true,
     true},
};
enum { SET = sizeof(set) / sizeof(set[0]) };

/* Returns the column as one that is never left out. */
static const struct table_column *whole_column(const struct list_column *c)
{
    static struct table_column whole[SET];
    struct table_column *t = &whole[c - set];
    *t = c->table;
    t->optional = false;
    t->rank = 0;
    return t;
}

static const struct list_column *find(const char *name, size_t len)
{
    for (size_t i = 0; i < SET; i++)
        if (strlen(set[i].name) == len && strncasecmp(set[i].name, name, len) == 0)
            return &set[i];
    return NULL;
}

static bool has(const struct list_columns *columns, const struct list_column *c)
{
    for (size_t i = 0; i < columns->n; i++)
        if (columns->column[i] == c)
            return true;
    return false;
}

int list_columns_parse(const char *text, bool sorts, struct list_columns *ret, char *bad,
                       size_t bad_size)
{
    struct list_columns columns = {.n = 0};
    for (;;) {
        size_t len = strcspn(text, ",");
        bool down = sorts && *text == '-';
        const struct list_column *c = find(text + down, len - down);
        if (!c || has(&columns, c)) {
            (void)snprintf(bad, bad_size, "%.*s", (int)(len < 64 ? len : 64), text);
            return -EINVAL;
        }
        columns.down[columns.n] = down;
        columns.column[columns.n++] = c;
        if (!text[len])
            break;
        text += len + 1;
    }
    *ret = columns;
    return 0;
}

void list_columns_default(struct list_columns *ret, bool of_all)
{
    *ret = (struct list_columns){.n = 0};
    for (size_t i = 0; i < SET; i++)
        if (set[i].by_default || (of_all && set[i].cell == put_user))
            ret->column[ret->n++] = &set[i];
}

void list_columns_wide(struct list_columns *ret)
{
    *ret = (struct list_columns){.n = 0};
    for (size_t i = 0; i < SET; i++)
        if (set[i].wide)
            ret->column[ret->n++] = &set[i];
}

void list_columns_names(char *buf, size_t size)
{
    size_t n = 0;
    for (size_t i = 0; i < SET && n < size; i++)
        n += (size_t)snprintf(buf + n, size - n, "%s%s", i > 0 ? ", " : "", set[i].name);
}

/* Adds names separated by blanks. */
static void add_names(const char *names, json_t *to)
{
    while (names && *names) {
        size_t len = strcspn(names, " ");
        (void)json_array_append_new(to, json_stringn(names, len));
        names += len + strspn(names + len, " ");
    }
}

void list_columns_need(const struct list_columns *columns, json_t *fields,
                       json_t *spec_fields)
{
    for (size_t i = 0; i < columns->n; i++) {
        add_names(columns->column[i]->fields, fields);
        add_names(columns->column[i]->spec_fields, spec_fields);
    }
}

/* --- rows --------------------------------------------------------------------------- */

struct table *list_columns_table(const struct list_columns *columns, bool whole,
                                 unsigned width, bool legend)
{
    const struct table_column *shown[TABLE_MOST];
    for (size_t i = 0; i < columns->n; i++)
        shown[i] = whole ? whole_column(columns->column[i]) : &columns->column[i]->table;
    return table_new(shown, columns->n, width, legend);
}

/* Appends a cell and its NUL. */
static int put_cell(struct wire_buf *to, const struct list_column *c, const json_t *job,
                    uint64_t now)
{
    size_t before = wire_buf_len(to);
    int r = c->cell(to, job, now);
    if (r == 0 && wire_buf_len(to) == before)
        r = add(to, "-");
    return r == 0 ? wire_buf_append(to, "", 1) : r;
}

int list_columns_add(const struct list_columns *columns, struct table *t,
                     const json_t *job, uint64_t now)
{
    static struct wire_buf text; /* reused for each row */
    const char *cells[TABLE_MOST];
    int r = 0;
    wire_buf_consume(&text, wire_buf_len(&text));
    for (size_t i = 0; i < columns->n && r == 0; i++)
        r = put_cell(&text, columns->column[i], job, now);
    const char *at = wire_buf_at(&text);
    for (size_t i = 0; i < columns->n && r == 0; i++) {
        cells[i] = at;
        at += strlen(at) + 1;
    }
    if (r == 0)
        r = table_add(t, cells, job_view_style(job));
    return r;
}

/* --- orders ------------------------------------------------------------------------- */

struct sorted {
    json_t *job;
    size_t at; /* original position */
};

struct order {
    const struct list_columns *by;
    uint64_t now;
    bool failed; /* no memory for the text of a cell */
};

static int compare_texts(struct order *o, const struct list_column *c, const json_t *a,
                         const json_t *b)
{
    struct wire_buf one = {0}, other = {0};
    int r = 0;
    if (put_cell(&one, c, a, o->now) < 0 || put_cell(&other, c, b, o->now) < 0)
        o->failed = true;
    else
        r = strcmp(wire_buf_at(&one), wire_buf_at(&other));
    wire_buf_fini(&one);
    wire_buf_fini(&other);
    return r;
}

static int compare(const void *left, const void *right, void *arg)
{
    const struct sorted *a = left, *b = right;
    struct order *o = arg;
    for (size_t i = 0; i < o->by->n; i++) {
        const struct list_column *c = o->by->column[i];
        int r;
        if (c->number) {
            int64_t m = c->number(a->job, o->now), n = c->number(b->job, o->now);
            r = m < n ? -1 : m > n;
        } else {
            r = compare_texts(o, c, a->job, b->job);
        }
        if (r != 0)
            return o->by->down[i] ? -r : r;
    }
    return a->at < b->at ? -1 : 1;
}

int list_columns_sort(const struct list_columns *by, json_t *jobs, uint64_t now)
{
    struct order o = {.by = by, .now = now};
    size_t n = json_array_size(jobs);
    struct sorted *all = calloc(n + 1, sizeof(*all));
    if (!all)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++)
        all[i] = (struct sorted){json_incref(json_array_get(jobs, i)), i};
    qsort_r(all, n, sizeof(*all), compare, &o);
    for (size_t i = 0; i < n; i++)
        (void)json_array_set_new(jobs, i, all[i].job);
    free(all);
    return o.failed ? -ENOMEM : 0;
}
