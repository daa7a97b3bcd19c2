/* See env.h. An environment is one allocation: the struct, the pointers, the strings and
 * the packed form. */
#include "daemon/job/env.h"

#include <stdlib.h>
#include <string.h>

#include "base/atomic.h"

struct job_env {
    vat_u32 refs; /* specs, calls and caches, on any thread */
    bool valid;
    size_t bytes; /* of the whole allocation */
    size_t packed_n;
    const uint8_t *packed;
    char *strings[];
};

/* Skips n strings. Returns their bytes, each with a NUL. */
static size_t skip_strings(struct unpack *u, size_t n)
{
    size_t bytes = 0;

    for (size_t i = 0; i < n && !u->failed; i++) {
        size_t len = unpack_number(u);

        (void)unpack_raw(u, len);
        bytes += len + 1;
    }
    return bytes;
}

/* Copies the next string to `to`, with a NUL. Returns its end. */
static char *take_string(struct unpack *u, struct job_env *env, char *to)
{
    size_t len = unpack_number(u);
    const uint8_t *from = unpack_raw(u, len);
    const char *equals = memchr(from, '=', len);

    u->failed |= memchr(from, '\0', len) != NULL;
    env->valid &= equals && equals != (const char *)from;
    to = mempcpy(to, from, len);
    *to = '\0';
    return to + 1;
}

struct job_env *job_env_unpack(struct unpack *u)
{
    struct unpack again = *u;
    size_t n = unpack_number_max(u, unpack_left(u)); /* each string takes a byte at
                                                      * least */
    size_t strings = skip_strings(u, n), packed = (size_t)(u->at - again.at);
    size_t head = sizeof(struct job_env) + (n + 1) * sizeof(char *);
    struct job_env *env;

    if (u->failed)
        return NULL;
    env = malloc(head + strings + packed);
    if (!env) {
        u->failed = u->no_memory = true;
        return NULL;
    }
    *env = (struct job_env){
        .valid = true, .bytes = head + strings + packed, .packed_n = packed};
    vat_u32_init(&env->refs, 1);
    env->packed = memcpy((char *)env + head + strings, again.at, packed);
    char *to = (char *)env + head;
    (void)unpack_number(&again);
    for (size_t i = 0; i < n && !again.failed; i++) {
        env->strings[i] = to;
        to = take_string(&again, env, to);
    }
    env->strings[n] = NULL;
    u->failed |= again.failed;
    if (!u->failed)
        return env;
    free(env);
    return NULL;
}

struct job_env *job_env_new(char *const *strings)
{
    struct pack p = {0};
    struct job_env *env = NULL;

    pack_strings(&p, strings);
    if (!p.failed) {
        struct unpack u = unpack_of(p.bytes, p.n);
        env = job_env_unpack(&u);
    }
    pack_fini(&p);
    return env;
}

/* Relaxed: the caller already has a reference. */
struct job_env *job_env_ref(struct job_env *env)
{
    (void)vat_u32_add(&env->refs, 1, VAT_RLX);
    return env;
}

/* acq_rel: the reads of every other holder happen before the free. */
void job_env_unref(struct job_env *env)
{
    if (env && vat_u32_sub(&env->refs, 1, VAT_AR) == 1)
        free(env);
}

char *const *job_env_strings(const struct job_env *env)
{
    return env->strings;
}

bool job_env_is_valid(const struct job_env *env)
{
    return env->valid;
}

bool job_env_equal(const struct job_env *a, const struct job_env *b)
{
    if (!a || !b)
        return a == b;
    return a == b ||
           (a->packed_n == b->packed_n && memcmp(a->packed, b->packed, a->packed_n) == 0);
}

void job_env_pack(const struct job_env *env, struct pack *to)
{
    pack_raw(to, env->packed, env->packed_n);
}

static bool is_compared(const char *entry)
{
    static const char *const left_out[] = {"_=", "SHLVL=", "OLDPWD=", "PWD="};

    for (size_t i = 0; i < sizeof(left_out) / sizeof(left_out[0]); i++)
        if (strncmp(entry, left_out[i], strlen(left_out[i])) == 0)
            return false;
    return true;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool has_name(const char *entry, char *const *names)
{
    const size_t len = strcspn(entry, "=");

    for (; *names; names++)
        if (strlen(*names) == len && strncmp(*names, entry, len) == 0)
            return true;
    return false;
}

/* Packs the variables with these names; NULL: all that are compared. */
static void pack_sorted(const struct job_env *env, char *const *names, struct pack *to)
{
    size_t n = 0, kept = 0;

    while (env->strings[n])
        n++;
    char **sorted = calloc(n + 1, sizeof(*sorted));
    if (!sorted) {
        to->failed = true;
        return;
    }
    for (size_t i = 0; i < n; i++)
        if (names ? has_name(env->strings[i], names) : is_compared(env->strings[i]))
            sorted[kept++] = env->strings[i];
    qsort(sorted, kept, sizeof(*sorted), by_text);
    pack_strings(to, sorted);
    free(sorted);
}

void job_env_pack_compared(const struct job_env *env, struct pack *to)
{
    pack_sorted(env, NULL, to);
}

void job_env_pack_named(const struct job_env *env, char *const *names, struct pack *to)
{
    pack_sorted(env, names, to);
}

size_t job_env_bytes(const struct job_env *env)
{
    return env->bytes;
}
