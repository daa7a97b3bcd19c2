/* The state that printing several outputs shares; following all of them at once. */
#ifndef VOLT_CLIENT_OUTPUTS_WATCH_H
#define VOLT_CLIENT_OUTPUTS_WATCH_H

#include "client/outputs.h"

#include <sys/types.h>

enum source_state { SOURCE_WAITS = 0, SOURCE_RUNS, SOURCE_ENDED };

/* Where output comes from: a job, or an element. */
struct source {
    uint64_t job;
    int64_t index; /* -1: no element */
    off_t offset;  /* printed so far; -1: nothing yet */
    uint8_t state; /* enum source_state, as far as told */
    bool element;  /* of an array that was named: it may have none */
    bool finished; /* all of it is printed */
};

struct outputs {
    const struct outputs_request *rq;
    struct client **c;
    struct source *sources; /* in order */
    struct source **sorted;
    size_t n, room;
    bool prefixed, arrays, in_array, writing;
    bool any;                 /* one that may lack an output had one */
    struct client_reply none; /* why the first element without one has none; empty */
    int code;
};

enum source_state outputs_state(const json_t *job);
/* NULL: it is none of ours. */
struct source *outputs_find(const struct outputs *o, const char *id);
void outputs_id(const struct source *s, char *buf, size_t size);
struct printer outputs_printer(const struct outputs *o, const char *prefix);
/* Takes an error reply: says it, and keeps its code. c: see outputs_request. */
void outputs_refused(struct outputs *o, struct client *c, struct client_reply *error);

/* Whether no output of it is no error by itself: of all that may lack one the first is
 * named, if none of them has an output. */
static inline bool outputs_may_lack(const struct outputs *o, const struct source *s)
{
    return s->element || o->rq->own;
}

/* Takes the error of an element that has no output, which is said if none has any. */
void outputs_skipped(struct outputs *o, struct client_reply *error);

enum { OUTPUTS_UNWATCHED = 1 };

/* Follows all of them to their ends. As outputs_print(); OUTPUTS_UNWATCHED: growth cannot
 * be watched, as this user's inotify instances or watches are used up. Each source then
 * says how far it is printed; the rest of them is the caller's to print. */
int outputs_watch(struct outputs *o);

#endif
