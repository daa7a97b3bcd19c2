/* See malformed.h. */
#include "daemon/observe/malformed.h"

#include <stdbool.h>
#include <string.h>

#include <volt/time.h>

#include "daemon/observe/log.h"

#define SAY_AGAIN UINT64_C(60000000)

void malformed_init(struct malformed *m)
{
    memset(m, 0, sizeof(*m));
    pthread_mutex_init(&m->lock, NULL);
}

/* Returns whether the log may mention this user now, and notes that it does. Lock
 * held. */
static bool may_say(struct malformed *m, uid_t uid, uint64_t now)
{
    struct malformed_said *oldest = &m->said[0];

    for (size_t i = 0; i < MALFORMED_USERS; i++) {
        struct malformed_said *s = &m->said[i];

        if (s->usec && s->uid == uid) {
            oldest = s;
            break;
        }
        if (s->usec < oldest->usec)
            oldest = s;
    }
    if (oldest->usec && now - oldest->usec < SAY_AGAIN)
        return false;
    *oldest = (struct malformed_said){uid, now};
    return true;
}

void malformed_note(struct malformed *m, uid_t uid, pid_t pid, const char *why)
{
    if (!m)
        return;
    (void)vat_u64_add(&m->count, 1, VAT_RLX);
    pthread_mutex_lock(&m->lock);
    const bool say = may_say(m, uid, volt_now_usec());
    pthread_mutex_unlock(&m->lock);
    if (say)
        log_warning("a connection of uid %u (pid %d) is closed, its message is no call: %s",
                    (unsigned)uid, (int)pid, why);
}
