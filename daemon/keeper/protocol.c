/* The fixed messages of the link: packing, and checking requests. Pure. The format is in
 * protocol.h. */
#include "daemon/keeper/protocol.h"

#include <signal.h>

_Static_assert(sizeof(union keeper_message) == KEEPER_MESSAGE_MAX, "messages fit");
_Static_assert(sizeof(struct keeper_start) == 128, "no padding");
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

static bool start_is_valid(const struct keeper_start *s, size_t len, int nfds)
{
    bool is_inline = s->flags == KEEPER_START_INLINE;
    return len == sizeof(*s) + (is_inline ? s->launch_size : 0) &&
           s->flags <= KEEPER_START_INLINE && key_is_valid(&s->key) &&
           s->fds < 1u << KEEPER_FDS_NAMED &&
           nfds == 1 + !is_inline + __builtin_popcount(s->fds) && s->umask <= 0777 &&
           s->kill_mode <= KEEPER_KILL_MAIN && s->launch_size > 0 &&
           s->launch_size <= KEEPER_LAUNCH_MAX && s->zero == 0;
}

static bool signal_is_valid(const struct keeper_signal *s, int nfds)
{
    return nfds <= 1 && key_is_valid(&s->key) && s->signal >= 1 && s->signal <= 64 &&
           (s->scope <= (KEEPER_SCOPE_MAIN | KEEPER_SCOPE_WAKE) ||
            (s->scope == KEEPER_SCOPE_FREEZE && s->signal == SIGSTOP));
}

bool keeper_request_is_valid(const union keeper_message *m, size_t len, int nfds)
{
    if (len < sizeof(m->head) || m->head.magic != KEEPER_MAGIC)
        return false;
    if (m->head.op == KEEPER_START)
        return len >= sizeof(m->start) && start_is_valid(&m->start, len, nfds);
    if (m->head.op == KEEPER_SIGNAL)
        return len == sizeof(m->signal) && signal_is_valid(&m->signal, nfds);
    if (nfds != 0)
        return false;
    switch (m->head.op) {
    case KEEPER_HELLO:
        return len == sizeof(m->hello);
    case KEEPER_BYE:
        return len == sizeof(m->bye) && m->bye.settled <= 1 && m->bye.zero == 0;
    default:
        return false;
    }
}
