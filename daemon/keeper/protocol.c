/* The fixed messages of the link: packing, and checking requests. Pure. The format is in
 * protocol.h. */
#include "daemon/keeper/protocol.h"

_Static_assert(sizeof(union keeper_message) == KEEPER_MESSAGE_MAX, "messages fit");
_Static_assert(sizeof(struct keeper_start) == 64, "no padding");
_Static_assert(sizeof(struct keeper_signal) == 48, "no padding");

struct keeper_key keeper_key_pack(const struct job_key *key)
{
    return (struct keeper_key){key->id, key->index, key->attempt, 0};
}

struct job_key keeper_key_unpack(const struct keeper_key *key)
{
    return (struct job_key){key->id, key->index, key->attempt};
}

static bool key_is_valid(const struct keeper_key *key)
{
    return key->index >= JOB_NO_INDEX && key->attempt > 0 && key->zero == 0;
}

static bool start_is_valid(const struct keeper_start *s, int nfds)
{
    return key_is_valid(&s->key) &&
           s->fds <= (KEEPER_FD_STDIN | KEEPER_FD_STDOUT | KEEPER_FD_STDERR) &&
           nfds == 1 + __builtin_popcount(s->fds) && s->umask <= 0777 &&
           s->kill_mode <= KEEPER_KILL_MAIN && s->zero == 0 && s->launch_size > 0 &&
           s->launch_size <= KEEPER_LAUNCH_MAX;
}

bool keeper_request_is_valid(const union keeper_message *m, size_t len, int nfds)
{
    if (len < sizeof(m->head) || m->head.magic != KEEPER_MAGIC)
        return false;
    if (m->head.op == KEEPER_START)
        return len == sizeof(m->start) && start_is_valid(&m->start, nfds);
    if (nfds != 0)
        return false;
    switch (m->head.op) {
    case KEEPER_HELLO:
        return len == sizeof(m->hello);
    case KEEPER_SIGNAL:
        return len == sizeof(m->signal) && key_is_valid(&m->signal.key) &&
               m->signal.signal >= 1 && m->signal.signal <= 64 &&
               m->signal.scope <= KEEPER_SCOPE_MAIN;
    case KEEPER_REMOVE:
        return len == sizeof(m->remove) && key_is_valid(&m->remove.key);
    case KEEPER_BYE:
        return len == sizeof(m->bye) && m->bye.settled <= 1 && m->bye.zero == 0;
    default:
        return false;
    }
}
