/* Packs for the shim all that the keeper needs to run a job: argv with {i}, paths, the
 * environment with VOLT_*, limits. */
#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/job/env.h"
#include "daemon/job/script_line.h"
#include "daemon/run/hook.h"
#include "daemon/run/launch.h"
#include "daemon/run/slurm_env.h"
#include "daemon/run/state.h"

#define OUR_VARIABLES 6
/* Bytes of each at most, without the socket. */
#define OUR_TEXT (sizeof("VOLT_ARRAY_INDEX=") + JOB_KEY_TEXT_MAX)

char *launch_expand(const char *word, const char *index)
{
    const size_t len = strlen(index);
    size_t places = 0;

    if (strpbrk(word, " \t\n"))
        return strdup(word);
    for (const char *p = word; (p = strstr(p, "{i}")); p += 3)
        places++;

    char *out = malloc(strlen(word) + places * len + 1), *at = out;
    if (!out)
        return NULL;
    for (const char *begin = word; *word;) {
        const bool place =
            strncmp(word, "{i}", 3) == 0 && (word == begin || word[-1] != '$');

        at = mempcpy(at, place ? index : word, place ? len : 1);
        word += place ? 3 : 1;
    }
    *at = '\0';
    return out;
}

/* Appends n bytes to a path. A path that is too long stays so, and cannot be opened. */
static void put_path(char path[static PATH_MAX + 1], size_t *len, const char *text,
                     size_t n)
{
    size_t room = PATH_MAX - *len;

    n = n < room ? n : room;
    memcpy(path + *len, text, n);
    *len += n;
}

/* Writes the job's name as one component of a path, which is neither "." nor "..". */
static void name_in_path(const struct job_spec *spec, int64_t index,
                         char ret[static JOB_NAME_BYTES + 1])
{
    const char *name = job_spec_element_name(spec, index, ret);

    if (name != ret)
        (void)snprintf(ret, JOB_NAME_BYTES + 1, "%s", name);
    for (char *slash = ret; (slash = strchr(slash, '/'));)
        *slash = '_';
    if (strcmp(ret, ".") == 0 || strcmp(ret, "..") == 0)
        memset(ret, '_', strlen(ret));
}

/* Replaces {i} of an element, {id} and {name}. Returns ret; NULL for no text. */
static const char *expand_path(const struct job_spec *spec, const struct job_key *key,
                               const char *text, char ret[static PATH_MAX + 1])
{
    char id[JOB_KEY_TEXT_MAX], index[JOB_INDEX_TEXT], name[JOB_NAME_BYTES + 1];
    const struct {
        const char *word, *value;
    } words[] = {{"{id}", id}, {"{name}", name}, {"{i}", key->index < 0 ? "{i}" : index}};
    size_t len = 0;

    if (!text)
        return NULL;
    (void)job_key_format_job(key, id);
    (void)job_spec_index_text(spec, key->index, index);
    name_in_path(spec, key->index, name);
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

static size_t count(char *const *strings)
{
    size_t n = 0;

    while (strings[n])
        n++;
    return n;
}

static void strings_free(char **v, size_t n)
{
    for (size_t i = 0; v && i < n; i++)
        free(v[i]);
    free(v);
}

/* Returns the number of words in front of a script: interpreter, argument, and an empty
 * place for the path. The first line was checked at submission. */
static size_t script_words(const struct job_spec *spec, const char *ret[static 3],
                           struct script_line *line)
{
    size_t n = 0;

    if (!spec->script || script_line(spec->script, line))
        return 0;
    ret[n++] = line->interpreter;
    if (line->argument[0])
        ret[n++] = line->argument;
    ret[n++] = "";
    return n;
}

/* Returns new; elements of arrays have their index. *ret_script: index of the script's
 * path; 0: no script. */
static char **expanded_argv(const struct job_spec *spec, int64_t index, size_t *ret_n,
                            size_t *ret_script)
{
    const char *before[3];
    struct script_line line;
    const size_t nbefore = script_words(spec, before, &line), skipped = nbefore > 0;
    size_t n = nbefore - skipped;

    n += count(spec->argv);
    char **argv = calloc(n + 1, sizeof(*argv)), number[JOB_INDEX_TEXT];
    (void)job_spec_index_text(spec, index, number);
    for (size_t i = 0; argv && i < n; i++) {
        const char *word = i < nbefore ? before[i] : spec->argv[i - nbefore + skipped];

        argv[i] = i >= nbefore && index >= 0 && !spec->shell ? launch_expand(word, number)
                                                             : strdup(word);
        if (!argv[i]) {
            strings_free(argv, i);
            return NULL;
        }
    }
    *ret_n = n;
    *ret_script = nbefore - skipped;
    return argv;
}

/* Returns whether the variable says where a process runs. The submitter's values of these
 * are dropped: it may have been another job, or the command of a volt-lock
 * (VOLT_LEASE=). */
static bool is_ours(const char *entry)
{
    static const char *const names[] = {
        "VOLT_JOB_ID=",   "VOLT_ATTEMPT=",     "VOLT_ADDRESS=", "VOLT_JOB=",
        "VOLT_ARRAY_ID=", "VOLT_ARRAY_INDEX=", "VOLT_LEASE="};

    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        if (strncmp(entry, names[i], strlen(names[i])) == 0)
            return true;
    return false;
}

static bool is_pwd(const char *entry)
{
    return strncmp(entry, "PWD=", 4) == 0;
}

/* Returns whether the strings have the variable of that entry. */
static bool has_name_of(char *const *strings, const char *entry)
{
    const size_t len = strcspn(entry, "=") + 1;

    for (; *strings; strings++)
        if (strncmp(*strings, entry, len) == 0)
            return true;
    return false;
}

/* A block: pointers, followed by the texts made here. */
struct made_env {
    char **env;
    size_t n;
    char *at;
};

static void put(struct made_env *m, const char *name, const char *value)
{
    m->env[m->n++] = m->at;
    m->at = stpcpy(stpcpy(m->at, name), value) + 1;
}

static void put_number(struct made_env *m, const char *name, uint64_t value)
{
    char text[JOB_KEY_TEXT_MAX];

    (void)job_key_put(text, value);
    put(m, name, text);
}

/* Writes the id and the socket: another voltd may have a job with this id. */
static void put_job(struct made_env *m, const char *id, const char *socket)
{
    put(m, "VOLT_JOB=", id);
    m->at[-1] = ' ';
    m->at = stpcpy(m->at, socket) + 1;
}

char **launch_env(char *const *given, char *const *more, const char *cwd,
                  const struct job_key *key, const char *socket)
{
    char job[JOB_KEY_TEXT_MAX];
    const size_t most = count(given) + count(more) + OUR_VARIABLES;
    size_t room = OUR_VARIABLES * OUR_TEXT + 2 * strlen(socket);

    for (size_t i = 0; given[i]; i++)
        if (is_pwd(given[i]) && cwd)
            room += sizeof("PWD=") + strlen(cwd);
    char **env = malloc((most + 1) * sizeof(*env) + room);
    if (!env)
        return NULL;
    struct made_env m = {env, 0, (char *)(env + most + 1)};

    for (; *given; given++)
        if (is_pwd(*given) && cwd)
            put(&m, "PWD=", cwd);
        else if (is_pwd(*given))
            continue;
        else if (!is_ours(*given) && !has_name_of(more, *given))
            env[m.n++] = *given;
    for (; *more; more++)
        env[m.n++] = *more;
    (void)job_key_format_job(key, job);
    put(&m, "VOLT_JOB_ID=", job);
    put_number(&m, "VOLT_ATTEMPT=", key->attempt);
    put(&m, "VOLT_ADDRESS=unix:", socket);
    put_job(&m, job, socket);
    if (key->index >= 0) {
        put_number(&m, "VOLT_ARRAY_ID=", key->id);
        put_number(&m, "VOLT_ARRAY_INDEX=", (uint64_t)key->index);
    }
    assert(m.n <= most && m.at <= (char *)(env + most + 1) + room);
    env[m.n] = NULL;
    return env;
}

/* Encodes a small block for the message, a large one into a memfd. */
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

static char **env_of(const struct preparing *p, char *const *more, const char *cwd)
{
    static char *const none[] = {NULL};
    const struct job_spec *spec = p->spec;

    return launch_env(spec->env ? job_env_strings(spec->env) : none, more, cwd, p->key,
                      parts_of(p->core)->run->socket);
}

static int pack(const struct preparing *p)
{
    const struct job_spec *spec = p->spec;
    const struct job_key *key = p->key;
    struct launch_rlimit rlimits[JOB_RLIMITS];
    struct launch l = {.cwd = spec->cwd,
                       .stdin_path = spec->stdin_path,
                       .adds_account = !spec->env || spec->env_adds};
    char output[PATH_MAX + 1], error[PATH_MAX + 1];
    struct slurm_env slurm;
    int r = -ENOMEM;

    l.stdout_path = expand_path(spec, key, spec->output_path, output);
    l.stderr_path = expand_path(spec, key, spec->error_path, error);
    /* A later attempt appends: the output of a lost one says why. */
    l.truncate = spec->open_mode == JOB_OPEN_TRUNCATE && key->attempt <= 1;
    l.rlimits = rlimits;
    l.nrlimits = list_rlimits(spec->rlimits, rlimits);
    l.argv = expanded_argv(spec, key->index, &l.argc, &l.script_at);
    slurm_env(spec, key, &slurm);
    l.env = env_of(p, slurm.strings, l.cwd);
    if (l.argv && l.env) {
        while (l.env[l.envc])
            l.envc++;
        r = encode(&l, p->args);
    }
    strings_free(l.argv, l.argc);
    free(l.env);
    return r;
}

_Static_assert(JOB_NO_LIMIT == KEEPER_NO_LIMIT, "copied as it is");

/* Sets the limits of the job's cgroup, if it has any. */
static int set_limits(const struct job_spec *spec, struct keeper_start_args *args)
{
    struct job_cgroup cgroup;

    if (!job_spec_cgroup(spec, &cgroup))
        return 0;
    struct keeper_limits *limits = malloc(sizeof(*limits));
    if (!limits)
        return -ENOMEM;
    *limits = (struct keeper_limits){
#define SPEC_CGROUP(member, ...) .member = cgroup.member,
#include "daemon/job/spec_fields.def"
    };
    args->limits = limits;
    return 0;
}

static int prepare(struct volt_cx *cx, const struct preparing *p)
{
    const struct job_spec *spec = p->spec;
    int r = set_limits(spec, p->args);

    (void)cx;
    p->args->umask = spec->umask == JOB_NO_UMASK ? 022 : spec->umask;
    p->args->kill_mode =
        spec->kill_mode == JOB_KILL_MAIN ? KEEPER_KILL_MAIN : KEEPER_KILL_TREE;
    return r < 0 ? r : pack(p);
}

const struct hook hook_launch = {.step = "launch", .prepare = prepare};
