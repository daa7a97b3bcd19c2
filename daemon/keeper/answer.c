/* Checking what comes from the keeper: voltd's half of protocol.c. A file of its own, so
 * that the privileged program does not contain it. */
#include "daemon/keeper/protocol.h"

#include <errno.h>

int keeper_answer_check(const union keeper_message *m, size_t len, int nfds)
{
    if (len < sizeof(m->head) || m->head.magic != KEEPER_MAGIC || nfds != 0)
        return -EBADMSG;
    switch (m->head.op) {
    case KEEPER_REPLY:
        return len == sizeof(m->reply) && m->reply.status <= 0 ? 0 : -EBADMSG;
    case KEEPER_WELCOME:
        return len == sizeof(m->welcome) && m->welcome.status <= 0 ? 0 : -EBADMSG;
    default:
        return -EBADMSG;
    }
}
