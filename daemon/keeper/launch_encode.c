/* The launch block, voltd's half: encodes it into a sealed memfd. Format: protocol.h. A
 * separate file keeps it out of the privileged program. */
#include "daemon/keeper/protocol.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Adds the string at *at if it fits. Advances *at in any case. */
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
    if (l->nrlimits > LAUNCH_RLIMITS_MAX || l->script_at > LAUNCH_SCRIPT_MAX ||
        (l->script_at > 0 && l->script_at >= l->argc))
        return -EINVAL;
    if (l->argc > KEEPER_LAUNCH_MAX || l->envc > KEEPER_LAUNCH_MAX)
        return -E2BIG;
    size_t limits = l->nrlimits * sizeof(*l->rlimits);
    size_t pointers = l->argc + l->envc + 2 + (l->adds_account ? LAUNCH_ACCOUNT_MAX : 0);
    size_t at = sizeof(struct launch_head) + limits + pointers * sizeof(char *);
    if (at <= size) {
        memset(buf, 0, at);
        if (limits > 0)
            memcpy((char *)buf + sizeof(struct launch_head), l->rlimits, limits);
    }
    for (size_t i = 0; i < LAUNCH_PATHS; i++)
        put(buf, size, &at, paths[i] != NULL ? paths[i] : "");
    for (size_t i = 0; i < l->argc; i++)
        put(buf, size, &at, l->argv[i]);
    for (size_t i = 0; i < l->envc; i++) {
        if (!launch_is_assignment(l->env[i]))
            return -EINVAL;
        put(buf, size, &at, l->env[i]);
    }
    if (at > KEEPER_LAUNCH_MAX)
        return -E2BIG;
    struct launch_head head = {.magic = LAUNCH_MAGIC,
                               .version = KEEPER_VERSION,
                               .size = at,
                               .argc = (uint32_t)l->argc,
                               .envc = (uint32_t)l->envc,
                               .nrlimits = (uint32_t)l->nrlimits,
                               .flags = (l->truncate ? LAUNCH_TRUNCATE : 0) |
                                        (l->adds_account ? LAUNCH_ACCOUNT : 0) |
                                        (uint32_t)l->script_at * LAUNCH_SCRIPT_AT_1};
    if (at <= size)
        memcpy(buf, &head, sizeof(head));
    return (long)at;
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
