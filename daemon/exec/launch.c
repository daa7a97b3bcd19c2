/* argv with {i}, the path of the output, the environment with VOLT_*, output files, all
 * into keeper_start_args. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "daemon/exec/launch.h"

#define OUR_VARIABLES 5

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

void launch_close(struct keeper_start_args *args)
{
    free(args->launch);
    args->launch = NULL;
    close_fd(&args->launch_fd);
    close_fd(&args->stdin_fd);
    close_fd(&args->stdout_fd);
    close_fd(&args->stderr_fd);
}

char *launch_expand(const char *text, int64_t index)
{
    char number[24];
    size_t len = (size_t)snprintf(number, sizeof(number), "%lld", (long long)index);
    size_t places = 0;

    for (const char *p = text; (p = strstr(p, "{i}")); p += 3)
        places++;

    char *out = malloc(strlen(text) + places * len + 1), *at = out;
    if (!out)
        return NULL;
    for (const char *p; (p = strstr(text, "{i}")); text = p + 3) {
        at = mempcpy(at, text, (size_t)(p - text));
        at = mempcpy(at, number, len);
    }
    strcpy(at, text);
    return out;
}

/* Appends n bytes to a path that is being made; a path that is too long stays so, and
 * cannot be opened. */
static void put_path(char path[static PATH_MAX + 1], size_t *len, const char *text,
                     size_t n)
{
    size_t room = PATH_MAX - *len;

    n = n < room ? n : room;
    memcpy(path + *len, text, n);
    *len += n;
}

/* The name of a job as a part of a path: one part, and none that is a folder above. */
static void name_in_path(const struct job_spec *spec, char ret[static JOB_NAME_BYTES + 1])
{
    (void)snprintf(ret, JOB_NAME_BYTES + 1, "%s", job_spec_display_name(spec));
    for (char *slash = ret; (slash = strchr(slash, '/'));)
        *slash = '_';
    if (strcmp(ret, ".") == 0 || strcmp(ret, "..") == 0)
        memset(ret, '_', strlen(ret));
}

/* Replaces {i} of an element, {id} and {name}; all else is as it is. Returns ret; NULL
 * for no text. */
static const char *expand_path(const struct job_spec *spec, const struct job_key *key,
                               const char *text, char ret[static PATH_MAX + 1])
{
    char id[JOB_KEY_TEXT_MAX], index[24], name[JOB_NAME_BYTES + 1];
    const struct {
        const char *word, *value;
    } words[] = {{"{id}", id}, {"{name}", name}, {"{i}", key->index < 0 ? "{i}" : index}};
    size_t len = 0;

    if (!text)
        return NULL;
    (void)job_key_format_job(key, id);
    (void)snprintf(index, sizeof(index), "%lld", (long long)key->index);
    name_in_path(spec, name);
    while (*text) {
        size_t i = 0, count = sizeof(words) / sizeof(words[0]);

        while (i < count && strncmp(text, words[i].word, strlen(words[i].word)) != 0)
            i++;
        if (i < count) {
            put_path(ret, &len, words[i].value, strlen(words[i].value));
            text += strlen(words[i].word);
        } else {
            put_path(ret, &len, text++, 1);
        }
    }
    ret[len] = '\0';
    return ret;
}

static void strings_free(char **v, size_t n)
{
    for (size_t i = 0; v && i < n; i++)
        free(v[i]);
    free(v);
}

/* Returns new; elements of arrays get their index. */
static char **expanded_argv(const struct job_spec *spec, int64_t index, size_t *ret_n)
{
    size_t n = 0;

    while (spec->argv[n])
        n++;
    char **argv = calloc(n + 1, sizeof(*argv));
    for (size_t i = 0; argv && i < n; i++) {
        argv[i] =
            index >= 0 ? launch_expand(spec->argv[i], index) : strdup(spec->argv[i]);
        if (!argv[i]) {
            strings_free(argv, i);
            return NULL;
        }
    }
    *ret_n = n;
    return argv;
}

static bool is_ours(const char *entry)
{
    static const char *const names[OUR_VARIABLES] = {
        "VOLT_JOB_ID=", "VOLT_ATTEMPT=", "VOLT_ADDRESS=", "VOLT_ARRAY_ID=",
        "VOLT_ARRAY_INDEX="};

    for (size_t i = 0; i < OUR_VARIABLES; i++)
        if (strncmp(entry, names[i], strlen(names[i])) == 0)
            return true;
    return false;
}

char **launch_env(const struct job_spec *spec, const struct job_key *key,
                  const char *address)
{
    char job[JOB_KEY_TEXT_MAX];
    size_t given = 0, n = 0, room = 256 + strlen(address);

    while (spec->env && spec->env[given])
        given++;

    char **env = malloc((given + OUR_VARIABLES + 1) * sizeof(*env) + room);
    if (!env)
        return NULL;
    char *at = (char *)(env + given + OUR_VARIABLES + 1), *end = at + room;

    for (size_t i = 0; i < given; i++)
        if (!is_ours(spec->env[i]))
            env[n++] = spec->env[i];
#define PUT(...)                                                                         \
    do {                                                                                 \
        env[n++] = at;                                                                   \
        at += snprintf(at, (size_t)(end - at), __VA_ARGS__) + 1;                         \
    } while (0)
    (void)job_key_format_job(key, job);
    PUT("VOLT_JOB_ID=%s", job);
    PUT("VOLT_ATTEMPT=%u", key->attempt);
    PUT("VOLT_ADDRESS=%s", address);
    if (key->index >= 0) {
        PUT("VOLT_ARRAY_ID=%llu", (unsigned long long)key->id);
        PUT("VOLT_ARRAY_INDEX=%lld", (long long)key->index);
    }
#undef PUT
    env[n] = NULL;
    return env;
}

struct making {
    struct outputs *outputs;
    const struct job_key *key;
    enum job_stream stream;
    bool again;
    int fd;
};

static void make_output(void *arg)
{
    struct making *n = arg;

    n->fd = n->again ? output_append(n->outputs, n->key, n->stream) : -ENOENT;
    if (n->fd == -ENOENT) /* an earlier daemon may have died before it made the file */
        n->fd = output_create(n->outputs, n->key, n->stream);
}

/* What is no spare file is made, or looked for, while the worker goes on elsewhere. */
static int open_output(struct volt_cx *cx, struct manager *m, const struct job_spec *spec,
                       const struct job_key *key, bool again, enum job_stream stream,
                       int *ret_fd)
{
    struct making n = {&m->outputs, key, stream, again, -ENFILE};

    if (spec->output != JOB_OUTPUT_FILE || (stream == JOB_STDERR && !spec->output_split))
        return 0;
    if (!again)
        n.fd = output_create_spare(&m->outputs, key, stream);
    if (n.fd < 0 && cx)
        volt_block_in_place(cx, make_output, &n);
    else if (n.fd < 0)
        make_output(&n);
    if (n.fd < 0)
        return n.fd;
    *ret_fd = n.fd;
    return 0;
}

/* The input that the spec brings, if there is some, as a file that nobody can change. */
static int open_input(const struct job_input *input, int *ret_fd)
{
    const int seals = F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL;
    size_t done = 0;
    int fd;

    if (!input)
        return 0;
    fd = memfd_create("volt-stdin", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0)
        return -errno;
    while (done < input->n) {
        ssize_t n = pwrite(fd, input->bytes + done, input->n - done, (off_t)done);

        if (n < 0) {
            int r = -errno;
            (void)close(fd);
            return r;
        }
        done += (size_t)n;
    }
    (void)fcntl(fd, F_ADD_SEALS, seals);
    *ret_fd = fd;
    return 0;
}

/* A small block goes with the message, a large one into a memfd. */
static int encode(const struct launch *l, struct keeper_start_args *args)
{
    long size = launch_encode(l, NULL, 0);

    if (size < 0)
        return (int)size;
    if ((size_t)size > KEEPER_INLINE_MAX) {
        int fd = launch_memfd(l, &args->launch_size);

        args->launch_fd = fd < 0 ? -1 : fd;
        return fd < 0 ? fd : 0;
    }
    args->launch = malloc((size_t)size);
    if (!args->launch)
        return -ENOMEM;
    args->launch_size = (uint64_t)launch_encode(l, args->launch, (size_t)size);
    return 0;
}

_Static_assert(JOB_RLIMITS == LAUNCH_RLIMITS_MAX, "all of them fit");

static size_t list_rlimits(const struct job_rlimits *from,
                           struct launch_rlimit ret[static JOB_RLIMITS])
{
    size_t n = 0;

    for (uint32_t i = 0; from && i < JOB_RLIMITS; i++)
        if (from->given >> i & 1)
            ret[n++] = (struct launch_rlimit){
                .resource = i, .soft = from->soft[i], .hard = from->hard[i]};
    return n;
}

/* The launch block itself. */
static int pack(struct manager *m, const struct job_spec *spec, const struct job_key *key,
                struct keeper_start_args *args)
{
    struct launch_rlimit rlimits[JOB_RLIMITS];
    struct launch l = {.cwd = spec->cwd, .stdin_path = spec->stdin_path};
    char output[PATH_MAX + 1], error[PATH_MAX + 1];
    int r = -ENOMEM;

    l.stdout_path = expand_path(spec, key, spec->output_path, output);
    l.stderr_path = expand_path(spec, key, spec->error_path, error);
    /* What an attempt that was lost has written says why. */
    l.truncate = spec->open_mode == JOB_OPEN_TRUNCATE && key->attempt <= 1;
    l.rlimits = rlimits;
    l.nrlimits = list_rlimits(spec->rlimits, rlimits);
    l.argv = expanded_argv(spec, key->index, &l.argc);
    l.env = launch_env(spec, key, m->address);
    if (l.argv && l.env) {
        while (l.env[l.envc])
            l.envc++;
        r = encode(&l, args);
    }
    strings_free(l.argv, l.argc);
    free(l.env);
    return r;
}

int launch_prepare(struct volt_cx *cx, struct manager *m, const struct job_spec *spec,
                   const struct job_key *key, bool again, struct keeper_start_args *args,
                   const char **ret_step)
{
    int r;

    args->umask = spec->umask == JOB_NO_UMASK ? 022 : spec->umask;
    args->kill_mode =
        spec->kill_mode == JOB_KILL_MAIN ? KEEPER_KILL_MAIN : KEEPER_KILL_TREE;
    *ret_step = "stdin";
    r = open_input(spec->input, &args->stdin_fd);
    if (r == 0) {
        *ret_step = "output";
        r = open_output(cx, m, spec, key, again, JOB_STDOUT, &args->stdout_fd);
    }
    if (r == 0)
        r = open_output(cx, m, spec, key, again, JOB_STDERR, &args->stderr_fd);
    if (r == 0) {
        *ret_step = "launch";
        r = pack(m, spec, key, args);
    }
    if (r < 0)
        launch_close(args);
    return r;
}

static enum job_result result_of(const struct record_exited *x)
{
    switch ((enum record_end)x->end) {
    case RECORD_END_EXIT:
        return x->status == 0 ? JOB_RESULT_SUCCESS : JOB_RESULT_EXIT;
    case RECORD_END_SIGNAL:
        return JOB_RESULT_SIGNAL;
    case RECORD_END_EXEC_FAILED:
        return JOB_RESULT_EXEC_FAILED;
    }
    return JOB_RESULT_LOST;
}

/* Why the end of an attempt is not known. */
static const char *lost_cause(enum record_verdict verdict)
{
    switch (verdict) {
    case RECORD_SHIM_KILLED:
        return "shim killed";
    case RECORD_OTHER_BOOT:
        return "reboot";
    case RECORD_DAMAGED:
        return "record damaged";
    case RECORD_NEVER_RAN:
        return "never started";
    case RECORD_ABSENT:
    case RECORD_RUNNING:
    case RECORD_DONE:
        break;
    }
    return "record missing";
}

struct job_event launch_end_event(const struct record *rec)
{
    struct job_event ev = {.type = JOB_EV_EXITED, .result = JOB_RESULT_LOST};
    const struct record_exited *x = &rec->exited;

    if (rec->verdict != RECORD_DONE) {
        ev.at_usec = jobs_now_usec();
        ev.step = lost_cause(rec->verdict);
        return ev;
    }
    ev.at_usec = x->real_usec;
    ev.result = result_of(x);
    ev.code = x->status;
    ev.step = ev.result == JOB_RESULT_EXEC_FAILED ? child_step_name(x->step) : NULL;
    ev.usage = (struct job_usage){.user_usec = x->user_usec,
                                  .system_usec = x->system_usec,
                                  .max_rss_bytes = x->max_rss_kib * 1024};
    ev.survivors = x->survivors;
    ev.named = (const struct job_named *)(const void *)x->survivor;
    return ev;
}

void launch_end_survivors(struct job_event *lost, const struct survivors *left)
{
    lost->survivors = left->n;
    lost->named = &left->named;
    if (left->n == JOB_SURVIVORS_UNKNOWN)
        lost->step = "shim and keeper killed";
}
