/* The log: the newest durable events of all jobs in a ring, by the store's numbers; its
 * subscribers; and the number up to which the table has all events.
 *
 * The store's writer adds events after each commit and never waits for core.lock: the
 * ring has a lock of its own. A reader keeps its own place and reads by number, which
 * costs the writer nothing. */
#ifndef VOLTD_LOG_EVENT_LOG_H
#define VOLTD_LOG_EVENT_LOG_H

#include <volt/runtime.h>
#include "daemon/job/news.h"
#include "daemon/log/subscription.h"

struct asker;
struct event_log;

/* Returns a new log. NULL: no memory. */
struct event_log *event_log_new(void);
/* Frees the log, after the runtime was shut down. No subscriber may be left. NULL
 * allowed. */
void event_log_free(struct event_log *log);
/* Sets the numbers, before events are put: `first` is before the first event of all,
 * `last` is the newest. The store's load fills in the events between them. */
void event_log_open(struct event_log *log, uint64_t first, uint64_t last);
/* Spawns the task that wakes subscribers. Returns 0, -ENOMEM or -ESHUTDOWN. */
int event_log_start(struct event_log *log, struct volt_runtime *rt);

/* --- adding events. Any thread. ----------------------------------------------------- */

/* Adds events, which have their numbers. n 0: the commit ends, and subscribers are
 * notified. Called by the store (commit_log.h). */
void event_log_put(void *log, const struct job_news *events, size_t n);
/* Adds an event of an earlier voltd, if it is among the newest. */
void event_log_put_again(struct event_log *log, const struct job_news *event);
/* Notifies subscribers: events in the log now count in the table. Never blocks, however
 * many subscribe. */
void event_log_notify(struct event_log *log);

/* --- readers. Any thread. ----------------------------------------------------------- */

/* Return the newest number, and the number before the first event of all. */
uint64_t event_log_newest(const struct event_log *log);
uint64_t event_log_first(const struct event_log *log);
/* Returns the number before the oldest event that can still be read. */
uint64_t event_log_oldest(const struct event_log *log);
/* Does event_ring_read(). */
size_t event_log_read(struct event_log *log, const struct asker *asker, uint64_t after,
                      struct job_news *buf, size_t max, size_t looks, uint64_t *ret_next,
                      uint64_t *ret_lost);
/* Returns the table in which tasks subscribe, in list 0, before they read. */
struct subscriptions *event_log_subscriptions(struct event_log *log);

/* --- numbers that count in the table: core.lock held -------------------------------- */

/* Count watchers. While there are any, events are committed soon, starts too. */
void event_log_watch(struct event_log *log);
void event_log_unwatch(struct event_log *log);
bool event_log_is_watched(const struct event_log *log);

/* Begin and end a fact that counts after its commit; return the number up to which all
 * count (log/watermark.h). */
uint8_t event_log_fact_begin(struct event_log *log);
void event_log_fact_end(struct event_log *log, uint8_t ticket);
uint64_t event_log_counted(const struct event_log *log);

#endif
