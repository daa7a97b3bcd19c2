/* Waits for the end of attempts. The source of notifications is an inotify watch on the
 * record directory (log/subscription.h). Each attempt has a leaf future.
 *
 * The shim's close of a record is the end of its attempt, even if the shim was killed. So
 * IN_CLOSE_WRITE is the exit event of a job. voltd needs neither the keeper nor to be the
 * parent. The kernel reports the close just before it drops the lock. So a record that is
 * still locked is read again after 1 ms, then after longer and longer rests. After
 * IN_Q_OVERFLOW all awaited records are read; without an inotify instance, ten times a
 * second (inotify.h). */
#ifndef DAEMON_LINK_RECORD_WATCH_H
#define DAEMON_LINK_RECORD_WATCH_H

#include <volt/error.h>
#include <volt/task.h>
#include <volt/time.h>
#include "base/siphash.h"
#include "daemon/keeper/record.h"
#include "daemon/log/subscription.h"

struct record_watch;

/* Opens a watch. Borrows dir_fd for its life, copies the secret. Returns 0 with *ret, for
 * record_watch_free(); -errno with a text in *err. */
int record_watch_open(int dir_fd, const uint8_t boot_id[RECORD_ID_SIZE],
                      const struct siphash_key *secret, struct volt_error *err,
                      struct record_watch **ret);
/* Spawns the task. Returns 0, -ENOMEM or -ESHUTDOWN. */
int record_watch_start(struct record_watch *w, struct volt_runtime *rt);
/* Frees the watch; NULL is allowed. After the runtime was shut down and before it is
 * freed. No wait may be left. */
void record_watch_free(struct record_watch *w);

/* Logs if the directory of records was removed. To be called when no record could be
 * made. Any thread. */
void record_watch_check(struct record_watch *w);

/* Waits for the end of one attempt: a leaf future. Must not move between _init and _fini.
 * Zero-initialised: no wait, may be finished. */
struct record_wait {
    struct record_watch *watch; /* the rest is private */
    struct job_key key;
    struct subscriber subscriber;
    struct subscription subscription; /* to the end of the attempt */
    uint32_t list;                    /* list of that subscription */
    struct volt_sleep retry;          /* armed while tries > 0 */
    unsigned tries;
    bool over;
    int status;
    struct record record;
};

void record_wait_init(struct record_wait *w, struct record_watch *watch,
                      const struct job_key *key);
/* Arms the wait before START is sent. From then on the end is an event, and the first
 * poll does not read the record. */
void record_wait_arm(struct volt_cx *cx, struct record_wait *w);
/* READY when the record's verdict is not RUNNING. An end before the first poll is not
 * missed: unless armed, the first poll subscribes, then reads. ABSENT is READY too, so
 * poll only after the answer to START. */
enum volt_poll record_wait_poll(struct volt_cx *cx, struct record_wait *w);
/* Makes the next poll read the record, without an event. Before READY. */
void record_wait_look(struct record_wait *x);
/* Returns whether slot 1 was valid at the latest look, with its content. */
bool record_wait_started(const struct record_wait *x, struct record_started *ret);
/* Returns 0 with *ret, or -errno of the file system. After READY. */
int record_wait_result(const struct record_wait *w, struct record *ret);
void record_wait_fini(struct record_wait *w);

#endif
