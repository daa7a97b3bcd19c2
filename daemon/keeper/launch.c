/* The launch block: what a job is started with, in one sealed memfd. Format in
 * protocol.h. */
#include "daemon/keeper/protocol.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define LAUNCH_MAGIC UINT32_C(0x484e4c56) /* "VLNH" */
#define LAUNCH_PATHS 4

struct launch_head {
    uint32_t magic, version;
    uint64_t size; /* of the whole block */
    uint32_t argc, envc;
};
_Static_assert(sizeof(struct launch_head) % sizeof(char *) == 0,
               "the tables are aligned");

static bool is_assignment(const char *s)
{
    return s[0] != '=' && strchr(s, '=') != NULL;
}

/* Adds the string at *at when it still fits; *at counts on either way. */
static void put(void *buf, size_t size, size_t *at, const char *s)
{
    size_t n = strlen(s) + 1;
    if (*at <= size && n <= size - *at)
        memcpy((char *)buf + *at, s, n);
    *at += n;
}

long launch_encode(const struct launch *l, void *buf, size_t size)
{
    const char *paths[LAUNCH_PATHS] = {l->cwd, l->stdin_path, l->stdout_path,
                                       l->stderr_path};
    if (l->argc == 0 || l->argv[0][0] == '\0')
        return -EINVAL;
    if (l->argc > KEEPER_LAUNCH_MAX || l->envc > KEEPER_LAUNCH_MAX)
        return -E2BIG;
    size_t at = sizeof(struct launch_head) + (l->argc + l->envc + 2) * sizeof(char *);
    if (at <= size)
        memset(buf, 0, at);
    for (size_t i = 0; i < LAUNCH_PATHS; i++)
        put(buf, size, &at, paths[i] != NULL ? paths[i] : "");
    for (size_t i = 0; i < l->argc; i++)
        put(buf, size, &at, l->argv[i]);
    for (size_t i = 0; i < l->envc; i++) {
        if (!is_assignment(l->env[i]))
            return -EINVAL;
        put(buf, size, &at, l->env[i]);
    }
    if (at > KEEPER_LAUNCH_MAX)
        return -E2BIG;
    struct launch_head head = {LAUNCH_MAGIC, KEEPER_VERSION, at, (uint32_t)l->argc,
                               (uint32_t)l->envc};
    if (at <= size)
        memcpy(buf, &head, sizeof(head));
    return (long)at;
}

/* The string at *at, or NULL if it does not end inside the block. */
static char *take(char *buf, size_t len, size_t *at)
{
    char *s = buf + *at;
    char *nul = *at < len ? memchr(s, '\0', len - *at) : NULL;
    if (nul == NULL)
        return NULL;
    *at = (size_t)(nul - buf) + 1;
    return s;
}

static bool take_table(char *buf, size_t len, size_t *at, char **table, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        table[i] = take(buf, len, at);
        if (table[i] == NULL)
            return false;
    }
    table[n] = NULL;
    return true;
}

int launch_decode(void *buf, size_t len, struct launch *ret)
{
    struct launch_head head;
    char *path[LAUNCH_PATHS + 1];
    if (len < sizeof(head) || len > KEEPER_LAUNCH_MAX)
        return -EBADMSG;
    memcpy(&head, buf, sizeof(head));
    if (head.magic != LAUNCH_MAGIC || head.version != KEEPER_VERSION ||
        head.size != len || head.argc == 0)
        return -EBADMSG;
    size_t pointers = (size_t)head.argc + head.envc + 2;
    if (pointers > (len - sizeof(head)) / sizeof(char *))
        return -EBADMSG;

    size_t at = sizeof(head) + pointers * sizeof(char *);
    char **argv = (char **)((char *)buf + sizeof(head));
    char **env = argv + head.argc + 1;
    if (!take_table(buf, len, &at, path, LAUNCH_PATHS) ||
        !take_table(buf, len, &at, argv, head.argc) ||
        !take_table(buf, len, &at, env, head.envc) || at != len || argv[0][0] == '\0')
        return -EBADMSG;
    for (size_t i = 0; i < head.envc; i++)
        if (!is_assignment(env[i]))
            return -EBADMSG;
    *ret = (struct launch){
        .cwd = path[0][0] != '\0' ? path[0] : NULL,
        .stdin_path = path[1][0] != '\0' ? path[1] : NULL,
        .stdout_path = path[2][0] != '\0' ? path[2] : NULL,
        .stderr_path = path[3][0] != '\0' ? path[3] : NULL,
        .argv = argv,
        .argc = head.argc,
        .env = env,
        .envc = head.envc,
    };
    return 0;
}

static int fill_and_seal(int fd, const struct launch *l, size_t size)
{
    if (ftruncate(fd, (off_t)size) < 0)
        return -errno;
    void *map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (map == MAP_FAILED)
        return -errno;
    (void)launch_encode(l, map, size);
    (void)munmap(map, size);
    int seals = F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL;
    return fcntl(fd, F_ADD_SEALS, seals) < 0 ? -errno : 0;
}

int launch_memfd(const struct launch *l, uint64_t *ret_size)
{
    long size = launch_encode(l, NULL, 0);
    if (size < 0)
        return (int)size;
    int fd = memfd_create("volt-launch", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0)
        return -errno;
    int r = fill_and_seal(fd, l, (size_t)size);
    if (r < 0) {
        (void)close(fd);
        return r;
    }
    *ret_size = (uint64_t)size;
    return fd;
}
