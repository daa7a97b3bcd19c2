/* The fixed messages of the link: packing, and checking requests. Pure. The format is in
 * protocol.h. */
#include "daemon/keeper/protocol.h"

#include <errno.h>

_Static_assert(sizeof(union keeper_message) == KEEPER_MESSAGE_MAX, "messages fit");
_Static_assert(sizeof(struct keeper_start) == 272, "no padding");
_Static_assert(sizeof(struct keeper_signal) == 48, "no padding");

struct keeper_key keeper_key_pack(const struct job_key *key)
{
    return (struct keeper_key){key->id, key->index, key->attempt, 0};
}

struct job_key keeper_key_unpack(const struct keeper_key *key)
{
    return (struct job_key){key->id, key->index, key->attempt};
}

static int key_check(const struct keeper_key *key)
{
    return key->index >= JOB_NO_INDEX && key->attempt > 0 && key->zero == 0 ? 0
                                                                            : -EBADMSG;
}

static int start_check(const struct keeper_start *s, int nfds)
{
    int want = 1 + __builtin_popcount(s->fds);
    if (s->fds > (KEEPER_FD_STDIN | KEEPER_FD_STDOUT | KEEPER_FD_STDERR) ||
        nfds != want || s->umask > 0777 || s->kill_mode > KEEPER_KILL_MAIN ||
        s->launch_size == 0 || s->launch_size > KEEPER_LAUNCH_MAX ||
        s->groups_n > KEEPER_GROUPS_MAX)
        return -EBADMSG;
    if (s->flags != 0 || s->uid != KEEPER_SAME_ID || s->gid != KEEPER_SAME_ID ||
        s->groups_n != 0 || s->cgroup_flags != 0)
        return -EOPNOTSUPP;
    for (size_t i = 0; i < KEEPER_GROUPS_MAX; i++)
        if (s->groups[i] != 0)
            return -EBADMSG;
    for (size_t i = 0; i < sizeof(s->cgroup_limits) / sizeof(s->cgroup_limits[0]); i++)
        if (s->cgroup_limits[i] != 0)
            return -EOPNOTSUPP;
    return key_check(&s->key);
}

int keeper_request_check(const union keeper_message *m, size_t len, int nfds)
{
    if (len < sizeof(m->head) || m->head.magic != KEEPER_MAGIC)
        return -EBADMSG;
    switch (m->head.op) {
    case KEEPER_HELLO:
        return len == sizeof(m->hello) && nfds == 0 ? 0 : -EBADMSG;
    case KEEPER_START:
        return len == sizeof(m->start) ? start_check(&m->start, nfds) : -EBADMSG;
    case KEEPER_SIGNAL:
        if (len != sizeof(m->signal) || nfds != 0 || m->signal.signal < 1 ||
            m->signal.signal > 64 || m->signal.scope > KEEPER_SCOPE_MAIN)
            return -EBADMSG;
        return key_check(&m->signal.key);
    case KEEPER_REMOVE:
        return len == sizeof(m->remove) && nfds == 0 ? key_check(&m->remove.key)
                                                     : -EBADMSG;
    case KEEPER_BYE:
        return len == sizeof(m->bye) && nfds == 0 && m->bye.settled <= 1 &&
                       m->bye.zero == 0
                   ? 0
                   : -EBADMSG;
    default:
        return -EBADMSG;
    }
}
