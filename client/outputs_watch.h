/* Shared state of printing several outputs, and following all of them at once. */
#ifndef VOLT_CLIENT_OUTPUTS_WATCH_H
#define VOLT_CLIENT_OUTPUTS_WATCH_H

#include "client/outputs.h"

#include <sys/types.h>

enum source_state { SOURCE_WAITS = 0, SOURCE_RUNS, SOURCE_ENDED };

/* A source of output: a job or an element. */
struct source {
    uint64_t job;
    int64_t index;  /* -1: no element */
    off_t offset;   /* printed so far; -1: nothing */
    uint8_t state;  /* enum source_state, as reported so far */
    bool element;   /* element of an array that was named: it may have no output */
    bool finished;  /* all of it is printed */
    bool elsewhere; /* a file of the user has it, which is not read */
};

struct outputs {
    const struct outputs_request *rq;
    struct client **c;
    struct source *sources; /* in order */
    struct source **sorted;
    size_t n, room;
    bool prefixed, arrays, in_array, writing;
    bool unwatched;           /* the daemon has to send what grows */
    bool any;                 /* a source that may lack output had some */
    struct client_reply none; /* error reply of the first source that may lack output and
                               * has none; or empty */
    int code;
};

enum source_state outputs_state(const json_t *job);
/* Returns the source with this id; NULL: none. */
struct source *outputs_find(const struct outputs *o, const char *id);
void outputs_id(const struct source *s, char *buf, size_t size);
struct printer outputs_printer(const struct outputs *o, const char *prefix);
/* Reports an error reply and notes its code. Takes the reply. c: see outputs_request. */
void outputs_refused(struct outputs *o, struct client *c, struct client_reply *error);

/* Returns whether the source may lack output: then only the first of these is named, if
 * none of them has any. */
static inline bool outputs_may_lack(const struct outputs *o, const struct source *s)
{
    return s->element || o->rq->own;
}

/* Takes the error reply of such a source, which is reported if none has output. */
void outputs_skipped(struct outputs *o, struct client_reply *error);

enum { OUTPUTS_UNWATCHED = 1 };

/* Follows n sources, from `first` on, to their ends. Returns as outputs_print();
 * OUTPUTS_UNWATCHED: growth cannot be watched, as this user's inotify instances or
 * watches are used up, or voltd sends no descriptors. Each source then has its offset,
 * and the caller prints the rest; likewise with -ECONNRESET. */
int outputs_watch(struct outputs *o, struct source *first, size_t n);

#endif
