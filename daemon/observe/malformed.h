/* Messages that are no calls, each of which closes its connection: counted, and said in
 * the log once a minute and user. A client that is being written sees nothing but an end
 * of file. Any thread. */
#ifndef VOLTD_OBSERVE_MALFORMED_H
#define VOLTD_OBSERVE_MALFORMED_H

#include <pthread.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/atomic.h"

/* Users of one minute; further ones are counted, and not said. */
#define MALFORMED_USERS 16

struct malformed {
    vat_u64 count;        /* any thread, relaxed: a number by itself */
    pthread_mutex_t lock; /* guards the rest */
    struct malformed_said {
        uid_t uid;
        uint64_t usec; /* 0: nobody */
    } said[MALFORMED_USERS];
};

void malformed_init(struct malformed *m);
void malformed_fini(struct malformed *m);
/* m NULL: nothing is noted. pid 0: not known. */
void malformed_note(struct malformed *m, uid_t uid, pid_t pid, const char *why);

#endif
