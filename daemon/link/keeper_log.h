/* Log lines about the keeper: it has ended, cannot be reached, or does not answer. Each
 * comes once until a keeper answers. Another line then reports the answer. Jobs wait
 * meanwhile, and no other message explains why. Used by one task. */
#ifndef VOLTD_LINK_KEEPER_LOG_H
#define VOLTD_LINK_KEEPER_LOG_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct keeper_log {
    const char *socket_path; /* of this keeper, borrowed; the rest zero: it answers */
    bool gone, silent;
    bool sent_away; /* a keeper of another version was found, and leaves */
    int why;        /* logged error; 0: none */
};

/* Reports the end of a connection. broke: a message broke the protocol. */
void keeper_log_gone(struct keeper_log *log, bool broke);
/* Reports -errno of finding or starting a keeper. -EPROTO: it has another version. After
 * an upgrade the first such keeper leaves, and a keeper of the new version follows. So
 * only the second is reported, also after another error. */
void keeper_log_unreachable(struct keeper_log *log, int r);
/* Reports that the keeper did not answer at voltd's start. */
void keeper_log_late(struct keeper_log *log);
/* Reports that the keeper has not answered for usec, while requests wait. */
void keeper_log_silent(struct keeper_log *log, uint32_t pid, uint64_t usec,
                       unsigned requests);
/* Reports that a keeper, which was stopped again and again, was killed. */
void keeper_log_killed(pid_t pid);
/* Reports an answer, if a problem was reported before. */
void keeper_log_well(struct keeper_log *log);

#endif
