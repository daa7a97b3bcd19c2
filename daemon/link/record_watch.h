/* Waiting for the end of attempts: one inotify watch on the record dir as the source of
 * notifications (log/subscription.h), and a leaf future per attempt.
 *
 * The shim's close of a record is the end of its attempt, whatever ended the shim, so
 * IN_CLOSE_WRITE is the exit event of a job: it needs neither the keeper nor being the
 * parent. The kernel reports the close just before it drops the lock, so a record that is
 * still held is looked at again 1, 2, 4, ... ms later. After IN_Q_OVERFLOW every attempt
 * that is waited for is looked at, and so it is from time to time where no inotify
 * instance is to be had (inotify.h). */
#ifndef DAEMON_LINK_RECORD_WATCH_H
#define DAEMON_LINK_RECORD_WATCH_H

#include <volt/error.h>
#include <volt/task.h>
#include <volt/time.h>
#include "base/siphash.h"
#include "daemon/keeper/record.h"
#include "daemon/log/subscription.h"

struct record_watch;

/* dir_fd is borrowed for the life of the watch, the secret copied. 0 and *ret (free with
 * record_watch_free); -errno with a text in *err. */
int record_watch_open(int dir_fd, const uint8_t boot_id[RECORD_ID_SIZE],
                      const struct siphash_key *secret, struct volt_error *err,
                      struct record_watch **ret);
/* Spawns the task. 0; -ENOMEM; -ESHUTDOWN. */
int record_watch_start(struct record_watch *w, struct volt_runtime *rt);
/* After the runtime was shut down and before it is freed; no wait may be left. NULL is
 * allowed. */
void record_watch_free(struct record_watch *w);

/* After the keeper could make no record: says in the log if somebody has removed the
 * directory of them. Any thread. */
void record_watch_check(struct record_watch *w);

/* The end of one attempt: a leaf future. Must not move between _init and _fini. Zero-
 * initialised is "no wait" and may be finished. */
struct record_wait {
    struct record_watch *watch; /* the rest is private */
    struct job_key key;
    struct subscriber subscriber;
    struct subscription subscription; /* to the end of its attempt */
    uint32_t list;                    /* that it is in */
    struct volt_sleep retry;          /* armed while tries > 0 */
    unsigned tries;
    bool over;
    int status;
    struct record record;
};

void record_wait_init(struct record_wait *w, struct record_watch *watch,
                      const struct job_key *key);
/* Before START is sent: from here on the end is an event, and the first poll need not
 * look. */
void record_wait_arm(struct volt_cx *cx, struct record_wait *w);
/* READY: the record's verdict is not RUNNING. An end before the first poll is seen: the
 * first poll registers, then looks, unless the wait was armed. ABSENT too is READY, so
 * wait after START was answered. */
enum volt_poll record_wait_poll(struct volt_cx *cx, struct record_wait *w);
/* Not READY yet: the next poll looks, though nothing has happened. */
void record_wait_look(struct record_wait *x);
/* Whether the latest look has seen slot 1: its content. */
bool record_wait_started(const struct record_wait *x, struct record_started *ret);
/* After READY: 0 and *ret, or -errno of the file system. */
int record_wait_result(const struct record_wait *w, struct record *ret);
void record_wait_fini(struct record_wait *w);

#endif
