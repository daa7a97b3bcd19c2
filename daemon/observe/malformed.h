/* Counts messages that are no calls; each closes its connection. Logs one a minute for
 * each user, as the author of a client sees only an end of file. Any thread. */
#ifndef VOLTD_OBSERVE_MALFORMED_H
#define VOLTD_OBSERVE_MALFORMED_H

#include <pthread.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/atomic.h"

/* Users that are logged in a minute; messages of further users are only counted. */
#define MALFORMED_USERS 16

struct malformed {
    vat_u64 count;        /* any thread, relaxed: an independent number */
    pthread_mutex_t lock; /* guards the rest */
    struct malformed_said {
        uid_t uid;
        uint64_t usec; /* 0: free entry */
    } said[MALFORMED_USERS];
};

void malformed_init(struct malformed *m);
/* Counts a message, and logs it if this user's minute is over. m NULL: does nothing. pid
 * 0: unknown. */
void malformed_note(struct malformed *m, uid_t uid, pid_t pid, const char *why);

#endif
