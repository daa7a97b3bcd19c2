/* Events as JSON, encoded by the first stream that sends one and copied by the others: an
 * event may go to a thousand watchers. */
#ifndef VOLTD_METHOD_EVENT_TEXTS_H
#define VOLTD_METHOD_EVENT_TEXTS_H

#include "daemon/job/news.h"
#include "wire/writer.h"

struct event_texts;

/* Returns new; NULL: no memory. */
struct event_texts *event_texts_new(void);
void event_texts_free(struct event_texts *t); /* NULL allowed */
/* Both write an event of the log as an array entry. Any thread. */
/* False: not encoded yet, or replaced by later events. */
bool event_texts_copy(struct event_texts *t, uint64_t seq, struct wire_writer *to);
/* name: of its job; NULL: not known. */
void event_texts_put(struct event_texts *t, const struct job_news *ev, const char *name,
                     struct wire_writer *to);

#endif
