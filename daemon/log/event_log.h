/* The log: the durable events of all jobs by the store's numbers, the newest in a ring;
 * its subscribers; and up to which number what it has counts in the table.
 *
 * The store's writer puts events in, after each commit, and never waits for core.lock:
 * the ring has a lock of its own. A reader keeps its own place and reads by number, which
 * costs the writer nothing. */
#ifndef VOLTD_LOG_EVENT_LOG_H
#define VOLTD_LOG_EVENT_LOG_H

#include <volt/runtime.h>
#include "daemon/job/news.h"
#include "daemon/log/subscription.h"

struct asker;
struct event_log;

/* New; NULL: no memory. */
struct event_log *event_log_new(void);
/* After the runtime was shut down; no subscriber may be left. NULL is allowed. */
void event_log_free(struct event_log *log);
/* Its numbers begin behind `first` and go on behind `last`; the store's load fills in
 * what lies between. Before the next. */
void event_log_open(struct event_log *log, uint64_t first, uint64_t last);
/* Spawns the task that wakes subscribers. 0; -ENOMEM; -ESHUTDOWN. */
int event_log_start(struct event_log *log, struct volt_runtime *rt);

/* --- what is put in. Any thread. ---------------------------------------------------- */

/* Events with their numbers; n 0: the end of a commit, subscribers are notified. The
 * store calls it: commit_log.h. */
void event_log_put(void *log, const struct job_news *events, size_t n);
/* An event of an earlier voltd, if it is among the newest. */
void event_log_put_again(struct event_log *log, const struct job_news *event);
/* What it has counts now in the table. Never blocks, however many subscribe. */
void event_log_notify(struct event_log *log);

/* --- readers. Any thread. ----------------------------------------------------------- */

/* The newest number, and the one before the first of all. */
uint64_t event_log_newest(const struct event_log *log);
uint64_t event_log_first(const struct event_log *log);
/* The one before the oldest that can still be read. */
uint64_t event_log_oldest(const struct event_log *log);
/* event_ring_read(). */
size_t event_log_read(struct event_log *log, const struct asker *asker, uint64_t after,
                      struct job_news *buf, size_t max, size_t looks, uint64_t *ret_next,
                      uint64_t *ret_lost);
/* A task subscribes before it reads, in list 0. */
struct subscriptions *event_log_subscriptions(struct event_log *log);

/* --- beside the table: core.lock held ----------------------------------------------- */

/* Somebody watches: events are to come soon, starts as well. */
void event_log_watch(struct event_log *log);
void event_log_unwatch(struct event_log *log);
bool event_log_is_watched(const struct event_log *log);

/* log/watermark.h: a fact that counts later is about to be appended; it counts; up to
 * where all do. */
uint8_t event_log_fact_begin(struct event_log *log);
void event_log_fact_end(struct event_log *log, uint8_t ticket);
uint64_t event_log_counted(const struct event_log *log);

#endif
