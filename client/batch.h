/* Many specs from one input: NDJSON (one object a line), or one JSON array of objects.
 *
 * The whole input is read and checked before anything is submitted, so that a slip in the
 * last line does not leave half a batch behind. Then entries go out in batches below the
 * limits of one message, a few in flight at a time; in one message where there are local
 * names, which count in it alone. */
#ifndef VOLT_CLIENT_BATCH_H
#define VOLT_CLIENT_BATCH_H

#include "client/client.h"

#include <stdio.h>

struct batch_entry {
    size_t offset, len; /* in the input */
    unsigned line;      /* where it begins, from 1 */
};

struct batch {
    char *text;
    size_t len;
    struct batch_entry *entries;
    size_t count, room;
    bool named; /* an entry has a local name, or waits for one by it: they go in one
                 * message, all or none */
    bool tries; /* an entry says when its job is tried again */
    bool keyed; /* an entry has a key */
};

/* Reads and splits the input; a mark of byte order before it is passed over. 0; -EINVAL
 * with "line N: what" (several lines of text are never merged into one); -EFBIG; -ENOMEM;
 * errno of reading. */
int batch_read(struct batch *b, FILE *in, struct volt_error *err);
void batch_fini(struct batch *b);

/* Entry i as an object, with the members of defaults that it does not have itself; env is
 * merged variable by variable. New reference; NULL with the reason. */
json_t *batch_spec(const struct batch *b, size_t i, const json_t *defaults,
                   struct volt_error *err);

struct batch_sink {
    /* An accepted entry; id is borrowed. */
    void (*accepted)(void *arg, const char *id);
    void (*rejected)(void *arg, unsigned line, const char *parameter, const char *reason);
    void (*durable)(void *arg, bool durable);
    void *arg;
};

/* Submits all. 0; 1: an error reply in *error that is about no single entry: no more was
 * sent, and what was on its way has been told; -EFBIG: it has local names, and needs more
 * than one message; negative as client_call(). Of a batch with local names those entries
 * are told that are at fault. */
int batch_submit(const struct batch *b, const json_t *defaults, struct client *c,
                 const struct batch_sink *sink, struct client_reply *error);

#endif
