/* Checks messages from the keeper: voltd's half of protocol.c. A separate file keeps it
 * out of the privileged program. */
#include "daemon/keeper/protocol.h"

#include <errno.h>

#define ERRNO_LAST 4095 /* of the kernel */

/* Returns whether a keeper may answer that. The two others are voltd's own words for a
 * lost connection and for a call that was withdrawn (link/keeper_call.h). */
static bool is_status(int32_t status)
{
    return status <= 0 && status >= -ERRNO_LAST && status != -ECONNRESET &&
           status != -ECANCELED;
}

bool keeper_answer_is_valid(const union keeper_message *m, size_t len, int nfds)
{
    if (len < sizeof(m->head) || m->head.magic != KEEPER_MAGIC || nfds != 0)
        return false;
    if (m->head.op == KEEPER_WELCOME)
        return len == sizeof(m->welcome) && is_status(m->welcome.status);
    return m->head.op == KEEPER_REPLY && len == sizeof(m->reply) &&
           is_status(m->reply.status);
}
