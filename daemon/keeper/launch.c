/* The launch block, the keeper's half: decodes how a job is started. Format:
 * protocol.h. */
#include "daemon/keeper/protocol.h"

#include <errno.h>
#include <string.h>

_Static_assert(sizeof(struct launch_head) % sizeof(char *) == 0 &&
                   sizeof(struct launch_rlimit) % sizeof(char *) == 0,
               "the tables are aligned");

bool launch_is_assignment(const char *s)
{
    return s[0] != '=' && strchr(s, '=') != NULL;
}

/* Returns the string at *at, and moves *at behind it. NULL: it does not end in the
 * block. */
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

static bool rlimits_are_valid(const struct launch_rlimit *l, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (l[i].resource >= LAUNCH_RLIMITS_MAX || l[i].zero != 0 ||
            l[i].soft > l[i].hard)
            return false;
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
        head.size != len || head.argc == 0 || head.nrlimits > LAUNCH_RLIMITS_MAX ||
        head.flags / LAUNCH_SCRIPT_AT_1 > LAUNCH_SCRIPT_MAX ||
        head.flags / LAUNCH_SCRIPT_AT_1 >= head.argc)
        return -EBADMSG;
    const struct launch_rlimit *rlimits =
        (const struct launch_rlimit *)(const void *)((char *)buf + sizeof(head));
    size_t at = sizeof(head) + head.nrlimits * sizeof(*rlimits);
    size_t pointers = (size_t)head.argc + head.envc + 2 +
                      (head.flags & LAUNCH_ACCOUNT ? LAUNCH_ACCOUNT_MAX : 0);
    if (at > len || pointers > (len - at) / sizeof(char *) ||
        !rlimits_are_valid(rlimits, head.nrlimits))
        return -EBADMSG;

    char **argv = (char **)(void *)((char *)buf + at);
    at += pointers * sizeof(char *);
    char **env = argv + head.argc + 1;
    if (!take_table(buf, len, &at, path, LAUNCH_PATHS) ||
        !take_table(buf, len, &at, argv, head.argc) ||
        !take_table(buf, len, &at, env, head.envc) || at != len || argv[0][0] == '\0')
        return -EBADMSG;
    for (size_t i = 0; i < head.envc; i++)
        if (!launch_is_assignment(env[i]))
            return -EBADMSG;
    *ret = (struct launch){
        .cwd = path[0][0] != '\0' ? path[0] : NULL,
        .stdin_path = path[1][0] != '\0' ? path[1] : NULL,
        .stdout_path = path[2][0] != '\0' ? path[2] : NULL,
        .stderr_path = path[3][0] != '\0' ? path[3] : NULL,
        .truncate = head.flags & LAUNCH_TRUNCATE,
        .script_at = head.flags / LAUNCH_SCRIPT_AT_1,
        .argv = argv,
        .argc = head.argc,
        .env = env,
        .envc = head.envc,
        .adds_account = head.flags & LAUNCH_ACCOUNT,
        .rlimits = rlimits,
        .nrlimits = head.nrlimits,
    };
    return 0;
}
