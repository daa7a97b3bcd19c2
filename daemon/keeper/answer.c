/* Checks messages from the keeper: voltd's half of protocol.c. A separate file keeps it
 * out of the privileged program. */
#include "daemon/keeper/protocol.h"

bool keeper_answer_is_valid(const union keeper_message *m, size_t len, int nfds)
{
    if (len < sizeof(m->head) || m->head.magic != KEEPER_MAGIC || nfds != 0)
        return false;
    if (m->head.op == KEEPER_WELCOME)
        return len == sizeof(m->welcome) && m->welcome.status <= 0;
    return m->head.op == KEEPER_REPLY && len == sizeof(m->reply) && m->reply.status <= 0;
}
