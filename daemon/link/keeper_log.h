/* What the log says of the keeper: that it has gone, cannot be had or stands still, each
 * once until one answers, and then once that one does. Jobs wait for it meanwhile, and
 * nobody else says why. One task's. */
#ifndef VOLTD_LINK_KEEPER_LOG_H
#define VOLTD_LINK_KEEPER_LOG_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct keeper_log { /* zero-initialised: it answers */
    bool gone, silent;
    int why; /* it cannot be had; 0: not said */
};

void keeper_log_gone(struct keeper_log *log);
/* r: -errno of finding or starting one; -EPROTO, it is of another version, is said also
 * after another reason. */
void keeper_log_unreachable(struct keeper_log *log, const char *socket_path, int r);
/* At the start of voltd the keeper stands still. */
void keeper_log_late(struct keeper_log *log, const char *socket_path);
/* The keeper pid has been silent for usec, and requests wait for it. */
void keeper_log_silent(struct keeper_log *log, uint32_t pid, uint64_t usec,
                       unsigned requests);
/* Somebody has stopped it again and again, and it was killed. */
void keeper_log_killed(pid_t pid);
/* It has answered a request. */
void keeper_log_well(struct keeper_log *log);

#endif
